// fs/readFile, fs/getMetadata and fs/canonicalize.
import assert from 'node:assert/strict';
import {execFileSync} from 'node:child_process';
import fs from 'node:fs';
import net from 'node:net';
import {after, test} from 'node:test';
import {
	ELOOP, ENOENT, ENOTDIR, INTERNAL, INVALID_PARAMS, INVALID_REQUEST,
	notAFile, pattern, scratch, sha256,
} from './lib/files.mjs';
import {Server, fileUri, foreignSkip} from './lib/server.mjs';
import {inTime} from './lib/wait.mjs';

const KIB = 1024;
const MIB = 1024 * KIB;

const server = await Server.start();
after(() => server.stop());
const client = await server.connect();
const own = {skip: foreignSkip};

test('a file is read byte by byte, an empty one too', async () => {
	const bytes = Buffer.from('\ufeffa\r\nb\r\n\r\nc \t');
	const files = scratch(server, client,
		{'crlf.txt': bytes, empty: '', 'all': pattern(256)});
	assert.deepEqual(await files.read('crlf.txt'), bytes);
	assert.deepEqual(await files.read('all'), pattern(256));
	assert.deepEqual(await files.call('readFile', {path: 'empty'}),
		{dataBase64: ''});
});

for (const size of [
	1, 2, 3, 65533, 65534, 65535, 64 * KIB, 64 * KIB + 1, 98303, 98304,
	98305, 192 * KIB - 1, 192 * KIB, 192 * KIB + 1, MIB - 1, MIB, MIB + 1,
	3 * MIB + 1,
])
	test(`${size} bytes are read as they are`, async () => {
		const data = pattern(size, size);
		const files = scratch(server, client, {f: data});
		assert.equal(sha256(await files.read('f')), sha256(data));
	});

test('a second reader gets its file while a first one reads a large one',
	async () => {
		const files = scratch(server, client,
			{large: pattern(24 * MIB), small: 'small'});
		const other = await server.connect();
		const large = files.read('large', {ms: 30000});
		const small = scratch(server, other, {});
		assert.equal(
			String(await small.read(files.at('small'))), 'small');
		assert.equal(sha256(await large), sha256(pattern(24 * MIB)));
		await other.close();
	});

test('a long poll holds no read up', async () => {
	const files = scratch(server, client, {a: 'alpha'});
	const process = await client.start(['/bin/sleep', '100']);
	let woken = false;
	const poll = process.read({waitMs: 250000});
	poll.then(() => { woken = true; }, () => {});
	assert.equal(String(await files.read('a')), 'alpha');
	assert.ok(!woken);
	assert.deepEqual(await process.terminate(), {running: true});
	assert.equal((await poll).exited, true);
});

test('links are followed, those inside by a relative or absolute target',
	async () => {
		const files = scratch(server, client, {
			'd/f': 'content', rel: {link: 'd/f'}, dir: {link: 'd'},
			dangling: {link: 'nowhere'}, l1: {link: 'l2'}, l2: {link: 'l1'},
		});
		fs.symlinkSync(files.at('d/f'), files.at('abs'));
		for (const name of ['rel', 'abs', 'dir/f'])
			assert.equal(String(await files.read(name)), 'content');
		await files.fails('readFile', {path: 'dangling'}, ENOENT);
		await files.fails('readFile', {path: 'l1'}, ELOOP);
	});

test('a missing file is -32004, a file as a directory an error', async () => {
	const files = scratch(server, client, {f: 'x'});
	await files.fails('readFile', {path: 'no'}, ENOENT);
	await files.fails('readFile', {path: 'no/such/file'}, ENOENT);
	await files.fails('readFile', {path: 'f/child'}, ENOTDIR);
	await files.fails('getMetadata', {path: 'no'}, ENOENT);
	await files.fails('getMetadata', {path: 'f/child'}, ENOTDIR);
	await files.fails('canonicalize', {path: 'no'}, ENOENT);
});

test('what is no regular file is refused and nobody waits', async () => {
	const files = scratch(server, client, {d: null});
	execFileSync('mkfifo', ['-m', '666', files.at('fifo')]);
	fs.symlinkSync('fifo', files.at('link'));
	const listener = net.createServer().listen(files.at('socket'));
	await new Promise((resolve) => listener.once('listening', resolve));
	await inTime(2000, async () => {
		for (const name of ['d', 'fifo', 'link', 'socket', '/dev/zero',
			'/dev/null', '/dev/tty', '/'])
			await files.fails('readFile', {path: name},
				notAFile(files.at(name)));
	});
	listener.close();
});

test('files of /proc, of which none tells its size, are read whole',
	async () => {
		const files = scratch(server, client);
		assert.match(String(await files.read('/proc/version')),
			/^Linux version .*\n$/);
		assert.match(String(await files.read('/proc/cpuinfo')), /processor/);
		const uptime = String(await files.read('/proc/uptime'));
		assert.match(uptime, /^[\d.]+ [\d.]+\n$/);
	});

const SYMBOLS = '/proc/kallsyms';
const symbolsSkip = fs.existsSync(SYMBOLS) ? false : `needs ${SYMBOLS}`;

test('one that is longer than a pipe holds is collected, within message_budget',
	{skip: symbolsSkip}, async (t) => {
		const lines = (text) => String(text).split('\n').length;
		const files = scratch(server, client);
		assert.equal(lines(await files.read(SYMBOLS)),
			lines(fs.readFileSync(SYMBOLS)));
		const small = await Server.start(
			{set: {'limits.message_budget': '1M'}});
		t.after(() => small.stop());
		const other = await small.connect();
		for (let i = 0; i < 2; i++)
			await scratch(small, other).fails('readFile', {path: SYMBOLS},
				[INVALID_REQUEST, /^busy: the message budget is used up/]);
		assert.deepEqual(await other.status(), {status: 'ready'});
	});

test('the memory of a file worker is no file to read', own, async () => {
	const files = scratch(server, client);
	await files.fails('readFile', {path: '/proc/self/mem'},
		[INTERNAL, /\(os error \d+\)$/]);
	assert.deepEqual(await client.status(), {status: 'ready'});
});

test('a file that shrinks and grows while it is read ends no connection',
	async () => {
		const files = scratch(server, client, {f: pattern(8 * MIB)});
		const child = await client.start(['/bin/sh', '-c',
			'while :; do : > f; head -c 8388608 /dev/zero > f; done'],
		{cwd: fileUri(files.dir)});
		for (let i = 0; i < 20; i++) {
			const other = await server.connect();
			const racing = scratch(server, other);
			// Cut short it cannot be told any more, so that is an end.
			await racing.read(files.at('f')).catch((error) =>
				assert.match(error.message, /closed|os error/));
			await other.close().catch(() => {});
		}
		await child.terminate();
		await client.status();
	});

test('past 512 MiB a file is refused, with the limit told', async () => {
	const files = scratch(server, client, {huge: ''});
	fs.truncateSync(files.at('huge'), 512 * MIB + 1);
	await files.fails('readFile', {path: 'huge'}, [INVALID_REQUEST,
		'file is too large to read: limit is 536870912 bytes']);
	await client.status();
});

test('a file without permission is an error', {skip: foreignSkip},
	async () => {
		const files = scratch(server, client, {f: 'x'});
		fs.chmodSync(files.at('f'), 0);
		await files.fails('readFile', {path: 'f'},
			[INTERNAL, 'Permission denied (os error 13)']);
		fs.chmodSync(files.dir, 0);
		await files.fails('getMetadata', {path: 'f'},
			[INTERNAL, 'Permission denied (os error 13)']);
	});

test('metadata tells kind, size, times, and further mode, owner and target',
	async () => {
		const files = scratch(server, client,
			{f: 'four', d: null, l: {link: 'f'}, dl: {link: 'd'}});
		fs.chmodSync(files.at('f'), 0o640);
		fs.utimesSync(files.at('f'), 1700000000, 1700000000.25);
		const st = fs.statSync(files.at('f'));
		const file = await files.stat('f');
		assert.deepEqual(file, {
			isDirectory: false, isFile: true, isSymlink: false, size: 4,
			createdAtMs: file.createdAtMs, modifiedAtMs: 1700000000250,
			mode: 0o100640, uid: file.uid, gid: file.gid,
		});
		assert.ok(Number.isInteger(file.createdAtMs));
		assert.ok(Math.abs(file.createdAtMs - st.birthtimeMs) < 2 ||
			file.createdAtMs === 0);
		const {isDirectory, isFile, mode} = await files.stat('d');
		assert.deepEqual([isDirectory, isFile, mode], [true, false, 0o40777]);
		assert.deepEqual(await files.stat('l'),
			{...file, isSymlink: true, linkTarget: 'f'});
		const link = await files.stat('dl');
		assert.deepEqual(
			[link.isDirectory, link.isSymlink, link.linkTarget],
			[true, true, 'd']);
	});

test('without following links, one anywhere in the path is refused',
	async () => {
		const files = scratch(server, client, {
			'd/f': 'x', l: {link: 'd/f'}, dl: {link: 'd'},
			dangling: {link: 'no'},
		});
		const plain = {followSymlinks: false};
		assert.deepEqual(await files.stat('d/f', plain), await files.stat('d/f'));
		for (const name of ['l', 'dl', 'dl/f', 'dangling'])
			await files.fails('getMetadata', {path: name, ...plain},
				[INVALID_REQUEST, 'path contains a symbolic link']);
		await files.fails('getMetadata', {path: 'no', ...plain}, ENOENT);
		await files.fails('getMetadata', {path: 'dangling'}, ENOENT);
	});

test('metadata of what is neither file nor directory', async () => {
	const files = scratch(server, client);
	execFileSync('mkfifo', ['-m', '666', files.at('fifo')]);
	for (const name of ['fifo', '/dev/null']) {
		const {isDirectory, isFile, isSymlink} = await files.stat(name);
		assert.deepEqual([isDirectory, isFile, isSymlink],
			[false, false, false]);
	}
	assert.equal((await files.stat('/')).isDirectory, true);
});

test('canonicalize follows all links of what exists', async () => {
	const files = scratch(server, client, {
		'in/real/f': 'x', 'a b#%': 'y', l: {link: 'in/real'},
		ll: {link: 'l/f'}, loop: {link: 'loop'}, dangling: {link: 'no'},
	});
	const real = fs.realpathSync(files.dir);
	const canonical = async (name) =>
		(await files.call('canonicalize', {path: name})).path;
	assert.equal(await canonical('l/f'), fileUri(`${real}/in/real/f`));
	assert.equal(await canonical('ll'), fileUri(`${real}/in/real/f`));
	assert.equal(await canonical('in/../l'), fileUri(`${real}/in/real`));
	assert.equal(await canonical('a b#%'),
		`${fileUri(real)}/a%20b%23%25`);
	assert.equal(await canonical('/'), 'file:///');
	await files.fails('canonicalize', {path: 'loop'}, ELOOP);
	await files.fails('canonicalize', {path: 'dangling'}, ENOENT);
	await files.fails('canonicalize', {path: 'a b#%/x'}, ENOTDIR);
});

test('a path of 4095 bytes is missing, a longer one no path; a name of 255',
	async () => {
		const files = scratch(server, client);
		const name = 'n'.repeat(255);
		await files.write(name, 'long');
		assert.equal(String(await files.read(name)), 'long');
		await files.fails('readFile', {path: `${name}n`},
			[INTERNAL, 'File name too long (os error 36)']);
		const ofLength = (length) => 'file://' + '/x'.repeat(
			Math.floor(length / 2)) + 'y'.repeat(length % 2);
		await files.fails('readFile', {path: ofLength(4095)}, ENOENT);
		for (const length of [4096, 4097, 100000]) {
			const error = await client.refusal('fs/readFile',
				{path: ofLength(length)});
			assert.ok([INVALID_PARAMS, INVALID_REQUEST, INTERNAL].includes(
				error.code), error.message);
		}
	});

for (const [method, params, text] of [
	['readFile', {}, 'missing field `path`'],
	['readFile', undefined, /./],
	['readFile', {path: null}, /invalid type: null|missing field/],
	['readFile', {path: 7}, /invalid type/],
	['readFile', {path: ['file:///x']}, /invalid type/],
	['readFile', {path: 'file:///x', sandbox: 7}, /./],
	['getMetadata', {}, 'missing field `path`'],
	['getMetadata', {path: 'file:///', followSymlinks: 'x'}, /invalid type/],
	['canonicalize', {}, 'missing field `path`'],
])
	test(`fs/${method} of ${JSON.stringify(params)} is -32602`, async () => {
		const error = await client.refusal(`fs/${method}`, params);
		assert.equal(error.code, INVALID_PARAMS, error.message);
		assert.match(error.text, text instanceof RegExp ? text :
			new RegExp(`^${text}$`));
	});

test('optional members may be null, unknown ones are ignored', async () => {
	const files = scratch(server, client, {f: 'x'});
	assert.equal((await files.stat('f',
		{followSymlinks: null, sandbox: null, more: {x: 1}})).size, 1);
	assert.deepEqual(await files.call('readFile', {
		path: 'f', sandbox: {permissions: {type: 'disabled'},
			windowsSandboxLevel: 'disabled'},
	}), {dataBase64: 'eA=='});
});
