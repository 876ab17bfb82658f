// fs/open, fs/readBlock, fs/writeBlock and fs/close.
import assert from 'node:assert/strict';
import {execFileSync} from 'node:child_process';
import fs from 'node:fs';
import {after, test} from 'node:test';
import {decode, encode} from './lib/client.mjs';
import {
	EBADF, ENOENT, INVALID_PARAMS, INVALID_REQUEST, NOT_FOUND, notAFile,
	pattern, scratch, sha256,
} from './lib/files.mjs';
import {residentKib} from './lib/proc.mjs';
import {Server, foreignSkip} from './lib/server.mjs';
import {until} from './lib/wait.mjs';

const MIB = 1024 * 1024;

const server = await Server.start();
after(() => server.stop());
const own = {skip: foreignSkip};

/** A test on a connection of its own, with files of its own. */
const connected = (what, tree, body, options = {}) =>
	test(what, options, async () => {
		const client = await server.connect();
		const files = scratch(server, client, tree);
		await body(files, client);
		await client.close();
	});

const unknown = (id) => [NOT_FOUND, `unknown file handle \`${id}\``];

connected('blocks are read from where they are asked', {f: pattern(5 * MIB)},
	async (files) => {
		const all = pattern(5 * MIB);
		assert.deepEqual(await files.open('h', 'f'), {handleId: 'h'});
		for (const [offset, len] of [
			[0, 1], [0, MIB], [MIB - 1, MIB], [4 * MIB, MIB],
			[5 * MIB - 10, 10], [12345, 65535], [3, 65536], [3, 65537],
		]) {
			const {chunk, eof} = await files.readBlock('h', offset, len);
			assert.equal(sha256(decode(chunk)),
				sha256(all.subarray(offset, offset + len)));
			assert.equal(eof, false, `${len} at ${offset}`);
		}
		const last = await files.readBlock('h', 5 * MIB - 10, 11);
		assert.deepEqual([decode(last.chunk).length, last.eof], [10, true]);
	});

connected('at or past the end a block is empty and eof', {f: 'abc'},
	async (files) => {
		await files.open('h', 'f', 'read');
		for (const offset of [
			3, 4, MIB, 2 ** 53 - 1,
		])
			assert.deepEqual(await files.readBlock('h', offset, 5),
				{chunk: '', eof: true});
	});

connected('offsets up to 2^64-1 are offsets, beyond and below they are none',
	{f: 'abc'}, async (files, client) => {
		await files.open('h', 'f');
		client.raw('{"id":"big","method":"fs/readBlock","params":' +
			'{"handleId":"h","offset":9223372036854775807,"len":1}}');
		const {result} = await client.wait('answer', () =>
			client.stray.find((m) => m.id === 'big'));
		assert.deepEqual(result, {chunk: '', eof: true});
		for (const offset of [-1, 0.5, '0', null])
			await files.fails('readBlock', {handleId: 'h', offset, len: 1},
				[INVALID_PARAMS]);
	});

connected('a length is 1 to 1048576', {f: 'abc'}, async (files) => {
	await files.open('h', 'f');
	await files.open('w', 'w', 'replace');
	assert.equal((await files.readBlock('h', 0, 1)).chunk, encode('a'));
	assert.equal((await files.readBlock('h', 0, MIB)).eof, true);
	for (const len of [0, MIB + 1])
		await files.fails('readBlock', {handleId: 'no', offset: 0, len},
			[INVALID_REQUEST,
				'file read block length must be between 1 and 1048576']);
	for (const len of [-1, 1.5, '1', undefined])
		await files.fails('readBlock', {handleId: 'h', offset: 0, len},
			[INVALID_PARAMS]);
	assert.deepEqual(await files.writeBlock('w', 0, pattern(MIB)), {});
	for (const len of [0, MIB + 1])
		await files.fails('writeBlock',
			{handleId: 'no', offset: 0, chunk: encode(Buffer.alloc(len))},
			[INVALID_REQUEST,
				'file write block length must be between 1 and 1048576']);
	assert.equal(fs.statSync(files.at('w')).size, MIB);
	assert.equal((await files.readBlock('h', 0, 3)).chunk, encode('abc'));
});

connected('blocks are written where they are told, gaps are zeros', {f: 'old'},
	async (files) => {
		await files.open('w', 'f', 'replace');
		assert.equal(fs.readFileSync(files.at('f'), 'utf8'), '');
		await files.writeBlock('w', 5, 'five');
		assert.equal(fs.readFileSync(files.at('f'), 'utf8'),
			'\0\0\0\0\0five');
		await files.writeBlock('w', 0, 'start');
		assert.equal(fs.readFileSync(files.at('f'), 'utf8'), 'startfive');
		for (const size of [65535, 65536, 65537, MIB])
			await files.writeBlock('w', 9, pattern(size, 3));
		assert.deepEqual(await files.close('w'), {});
		assert.equal(sha256(fs.readFileSync(files.at('f'))), sha256(
			Buffer.concat([Buffer.from('startfive'), pattern(MIB, 3)])));
	});

connected('a new file by replace, inode and mode of an old one, links through',
	{f: 'old', l: {link: 'made'}}, async (files) => {
		fs.chmodSync(files.at('f'), 0o640);
		const {ino} = fs.statSync(files.at('f'));
		await files.open('a', 'f', 'replace');
		await files.open('b', 'l', 'replace');
		await files.writeBlock('b', 0, 'through');
		assert.equal(fs.statSync(files.at('f')).ino, ino);
		assert.equal(fs.statSync(files.at('f')).mode & 0o7777, 0o640);
		assert.equal(fs.readFileSync(files.at('made'), 'utf8'), 'through');
		assert.ok(fs.lstatSync(files.at('l')).isSymbolicLink());
	});

connected('a handle is for one way only, and outlives errors', {f: 'abc'},
	async (files) => {
		await files.open('r', 'f');
		await files.open('w', 'w', 'replace');
		await files.fails('writeBlock',
			{handleId: 'r', offset: 0, chunk: 'eA=='}, EBADF);
		await files.fails('readBlock',
			{handleId: 'w', offset: 0, len: 1}, EBADF);
		await files.fails('writeBlock',
			{handleId: 'w', offset: 0, chunk: 'eA='}, [INVALID_REQUEST]);
		assert.equal((await files.readBlock('r', 0, 9)).chunk, encode('abc'));
		assert.deepEqual(await files.writeBlock('w', 0, 'x'), {});
	});

connected('an unknown handle is -32004, closing one is fine', {f: 'abc'},
	async (files) => {
		await files.fails('readBlock',
			{handleId: 'no', offset: 0, len: 1}, unknown('no'));
		await files.fails('writeBlock',
			{handleId: 'no', offset: 0, chunk: 'eA=='}, unknown('no'));
		assert.deepEqual(await files.close('no'), {});
		await files.open('h', 'f');
		assert.deepEqual(await files.close('h'), {});
		assert.deepEqual(await files.close('h'), {});
		await files.fails('readBlock',
			{handleId: 'h', offset: 0, len: 1}, unknown('h'));
		await files.open('h', 'f');
	});

connected('an id has at most 32 bytes, and may be empty', {f: 'abc'},
	async (files) => {
		for (const id of ['', 'x'.repeat(32), 'é'.repeat(16), ' \n"\\'])
			assert.deepEqual(await files.open(id, 'f'), {handleId: id});
		for (const id of ['x'.repeat(33), 'é'.repeat(17), 'x'.repeat(100000)])
			for (const [method, more] of [['open', {path: 'f'}], ['close', {}],
				['readBlock', {offset: 0, len: 0}],
				['writeBlock', {offset: 0, chunk: '*'}]])
				await files.fails(method, {handleId: id, ...more},
					[INVALID_REQUEST,
						'file handle ID must not exceed 32 bytes']);
		await files.fails('open', {handleId: '', path: 'f'},
			[INVALID_REQUEST, 'file handle `` already exists']);
	});

connected('an id in use is refused, and nothing is truncated', {f: 'abc'},
	async (files) => {
		await files.open('h', 'f');
		await files.fails('open', {handleId: 'h', path: 'f', mode: 'replace'},
			[INVALID_REQUEST, 'file handle `h` already exists']);
		assert.equal(fs.readFileSync(files.at('f'), 'utf8'), 'abc');
	});

connected('128 handles are open, one more is refused, one closed makes room',
	{f: 'abc'}, async (files) => {
		const ids = [...Array(128)].map((_, i) => `h${i}`);
		await Promise.all(ids.map((id) => files.open(id, 'f')));
		await files.fails('open', {handleId: 'more', path: 'f'},
			[INVALID_REQUEST,
				'at most 128 file handles may be open per connection']);
		await files.close('h7');
		await files.open('more', 'f');
		for (const id of ['h0', 'h127', 'more'])
			assert.equal((await files.readBlock(id, 1, 1)).chunk, encode('b'));
	});

connected('open: what is missing, no regular file, a bad mode', {d: null},
	async (files) => {
		execFileSync('mkfifo', ['-m', '666', files.at('p')]);
		await files.fails('open', {handleId: 'h', path: 'no'}, ENOENT);
		await files.fails('open',
			{handleId: 'h', path: 'no/f', mode: 'replace'}, ENOENT);
		for (const mode of ['read', 'replace'])
			for (const name of ['d', 'p', '/dev/null'])
				await files.fails('open', {handleId: 'h', path: name, mode},
					notAFile(files.at(name)));
		for (const mode of ['write', '', 7, []])
			await files.fails('open', {handleId: 'h', path: 'f', mode},
				[INVALID_PARAMS]);
		await files.fails('open', {path: 'f'},
			[INVALID_PARAMS, 'missing field `handleId`']);
		await files.fails('open', {handleId: 'h'},
			[INVALID_PARAMS, 'missing field `path`']);
		// None of these took the id.
		await files.open('h', 'f', 'replace');
	});

connected('handles of another connection are not seen', {f: 'abc', g: 'xyz'},
	async (files) => {
		const other = await server.connect();
		const theirs = scratch(server, other);
		await files.open('h', 'f');
		await theirs.fails('readBlock',
			{handleId: 'h', offset: 0, len: 1}, unknown('h'));
		await theirs.open('h', files.at('g'));
		assert.equal((await theirs.readBlock('h', 0, 3)).chunk, encode('xyz'));
		await theirs.close('h');
		assert.equal((await files.readBlock('h', 0, 3)).chunk, encode('abc'));
		await other.close();
	});

test('handles die with the connection, what was written stays', own,
	async () => {
		const client = await server.connect();
		const files = scratch(server, client, {f: 'abc'});
		await files.open('r', 'f');
		await files.open('w', 'w', 'replace');
		await files.writeBlock('w', 2, 'left');
		await client.drop();
		const again = await until(5000, 'resume', () => server.connect({
			params: {clientName: 'x', resumeSessionId: client.sessionId},
		}).catch(() => undefined));
		const resumed = scratch(server, again);
		await resumed.fails('readBlock',
			{handleId: 'r', offset: 0, len: 1}, unknown('r'));
		await resumed.fails('writeBlock',
			{handleId: 'w', offset: 0, chunk: 'eA=='}, unknown('w'));
		await resumed.open('w', files.at('f'));
		assert.equal(fs.readFileSync(files.at('w'), 'utf8'), '\0\0left');
		await again.close();
	});

connected('an open file is read on after it was removed', {f: 'abc'},
	async (files) => {
		await files.open('h', 'f');
		await files.call('remove', {path: 'f'});
		assert.equal((await files.readBlock('h', 0, 3)).chunk, encode('abc'));
	});

connected('a file past the limit of readFile is read by blocks', {huge: ''},
	async (files, client) => {
		const net = foreignSkip ? process.pid : await server.role('net');
		const before = residentKib(net);
		fs.truncateSync(files.at('huge'), 700 * MIB);
		await files.open('h', 'huge');
		for (let i = 0; i < 40; i++) {
			const {chunk, eof} = await files.readBlock('h', i * MIB, MIB);
			assert.equal(eof, false);
			assert.equal(decode(chunk).equals(Buffer.alloc(MIB)), true);
		}
		assert.deepEqual(await files.readBlock('h', 700 * MIB - 1, 16),
			{chunk: 'AA==', eof: true});
		await client.status();
		// A sanitizer keeps what was freed.
		if (!foreignSkip && !process.env.SALLYPORT_SANITIZED)
			assert.ok(residentKib(net) - before < 48 * 1024);
	});

connected('an open file is no descriptor of a command', {f: 'abc'},
	async (files, client) => {
		await files.open('r', 'f');
		await files.open('w', 'w', 'replace');
		for (const tty of [false, true]) {
			const {all} = await (await client.start(
				['/bin/ls', '-1', '/proc/self/fd'], {tty})).end();
			assert.equal(all.replaceAll('\r', ''), '0\n1\n2\n3\n');
		}
	});
