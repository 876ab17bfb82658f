// fs/writeFile.
import assert from 'node:assert/strict';
import {execFileSync} from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import {after, test} from 'node:test';
import {
	EISDIR, ELOOP, ENOENT, ENOTDIR, INTERNAL, INVALID_PARAMS,
	INVALID_REQUEST, notAFile, pattern, scratch, sha256,
} from './lib/files.mjs';
import {
	Server, binary, fileUri, foreignSkip, freshDirectory, rootSkip, withServer,
} from './lib/server.mjs';
import {until} from './lib/wait.mjs';

const KIB = 1024;
const MIB = 1024 * KIB;

const atomic = await Server.start({set: foreignSkip ? {} :
	{'fs.atomic_writes': 'true'}});
const inPlace = await Server.start();
after(() => Promise.all([atomic.stop(), inPlace.stop()]));
const own = {skip: foreignSkip};
const servers = new Map([
	['in place', [inPlace, await inPlace.connect()]],
	['atomically', [atomic, await atomic.connect()]],
]);

/** The same in both ways of writing. */
const both = (what, body, options = {}) => {
	for (const [how, [server, client]] of servers)
		test(`${how}: ${what}`, options, () => body(server, client, how));
};

const modeOf = (file) => fs.lstatSync(file).mode & 0o7777;

both('a new file, a shorter one, a longer one, an empty one',
	async (server, client) => {
		const files = scratch(server, client);
		for (const text of ['first', 'x', 'longer than the first', '']) {
			assert.deepEqual(await files.write('f', text), {});
			assert.equal(fs.readFileSync(files.at('f'), 'utf8'), text);
		}
		assert.deepEqual(fs.readdirSync(files.dir), ['f']);
	});

for (const size of [
	1, 65535, 65536, 65537, 192 * KIB - 1, 192 * KIB, 192 * KIB + 1, MIB - 1,
	MIB, MIB + 1, 3 * MIB,
])
	both(`${size} bytes are written as they are`, async (server, client) => {
		const data = pattern(size, size);
		const files = scratch(server, client);
		assert.deepEqual(await files.write('f', data), {});
		assert.equal(sha256(fs.readFileSync(files.at('f'))), sha256(data));
		assert.equal(sha256(await files.read('f')), sha256(data));
		assert.deepEqual(await files.write('f', 'short'), {});
		assert.equal(String(await files.read('f')), 'short');
	});

test('in place: inode, mode and hard links are kept', async () => {
	const [server, client] = servers.get('in place');
	const files = scratch(server, client, {f: 'old'});
	fs.chmodSync(files.at('f'), 0o750);
	fs.linkSync(files.at('f'), files.at('other'));
	const before = fs.statSync(files.at('f'));
	await files.write('f', 'new');
	const now = fs.statSync(files.at('f'));
	assert.deepEqual([now.ino, now.mode, now.nlink],
		[before.ino, before.mode, 2]);
	assert.equal(fs.readFileSync(files.at('other'), 'utf8'), 'new');
});

test('atomically: a new inode, the old mode, nothing left beside', own,
	async () => {
		const [server, client] = servers.get('atomically');
		const files = scratch(server, client, {f: 'old'});
		fs.chmodSync(files.at('f'), 0o750);
		fs.linkSync(files.at('f'), files.at('other'));
		const held = fs.openSync(files.at('f'));
		await files.write('f', 'new');
		assert.notEqual(fs.statSync(files.at('f')).ino,
			fs.statSync(files.at('other')).ino);
		assert.equal(modeOf(files.at('f')), 0o750);
		assert.equal(fs.readFileSync(held, 'utf8'), 'old');
		assert.equal(fs.readFileSync(files.at('f'), 'utf8'), 'new');
		assert.deepEqual(fs.readdirSync(files.dir).sort(), ['f', 'other']);
		fs.closeSync(held);
	});

both('a link is written through and stays, a dangling one makes its target',
	async (server, client) => {
		const files = scratch(server, client, {
			'dot/cfg': 'old', cfg: {link: 'dot/cfg'},
			dang: {link: 'dot/new'}, l1: {link: 'l2'}, l2: {link: 'l1'},
		});
		assert.deepEqual(await files.write('cfg', 'new'), {});
		assert.deepEqual(await files.write('dang', 'made'), {});
		await files.fails('writeFile', {path: 'l1', dataBase64: 'eA=='}, ELOOP);
		assert.equal(fs.readlinkSync(files.at('cfg')), 'dot/cfg');
		assert.equal(fs.readFileSync(files.at('dot/cfg'), 'utf8'), 'new');
		assert.equal(fs.readFileSync(files.at('dot/new'), 'utf8'), 'made');
		assert.deepEqual(fs.readdirSync(files.dir).sort(),
			['cfg', 'dang', 'dot', 'l1', 'l2']);
		assert.deepEqual(fs.readdirSync(files.at('dot')).sort(),
			['cfg', 'new']);
	});

both('200 files through a link to a directory', async (server, client) => {
	const files = scratch(server, client,
		{'oc/memory': null, memory: {link: 'oc/memory'}});
	for (let i = 0; i < 200; i++)
		assert.deepEqual(await files.write(`memory/n${i}.md`, 'x'), {});
	assert.equal((await files.list('memory')).length, 200);
	assert.equal((await files.stat('memory')).isSymlink, true);
	assert.equal(
		(await files.call('canonicalize', {path: 'memory/n1.md'})).path,
		fileUri(fs.realpathSync(files.at('oc/memory/n1.md'))));
});

both('what cannot be written is an error', async (server, client) => {
	const files = scratch(server, client, {f: 'x', d: null});
	const data = {dataBase64: 'eA=='};
	execFileSync('mkfifo', ['-m', '666', files.at('fifo')]);
	await files.fails('writeFile', {path: 'no/f', ...data}, ENOENT);
	await files.fails('writeFile', {path: 'no/such/dir/f', ...data}, ENOENT);
	await files.fails('writeFile', {path: 'f/child', ...data}, ENOTDIR);
	await files.fails('writeFile', {path: 'd', ...data}, EISDIR);
	await files.fails('writeFile', {path: '/', ...data}, EISDIR);
	await files.fails('writeFile', {path: 'fifo', ...data},
		notAFile(files.at('fifo')));
	await files.fails('writeFile', {path: '/dev/null', ...data},
		notAFile('/dev/null'));
	assert.deepEqual(fs.readdirSync(files.dir).sort(), ['d', 'f', 'fifo']);
	assert.ok(!fs.existsSync(files.at('no')));
});

both('outside the workspace nothing is written', async (server, client) => {
	const files = scratch(server, client);
	const outside = freshDirectory('outside');
	fs.chmodSync(outside, 0o777);
	fs.writeFileSync(path.join(outside, 'f'), 'old');
	fs.chmodSync(path.join(outside, 'f'), 0o666);
	fs.symlinkSync(path.join(outside, 'f'), files.at('leak'));
	fs.symlinkSync(outside, files.at('leakdir'));
	for (const name of ['leak', 'leakdir/f', 'leakdir/new',
		path.join(outside, 'f'), path.join(outside, 'new')])
		await files.fails('writeFile', {path: name, dataBase64: 'eA=='},
			[(await client.refusal('fs/writeFile', {
				path: files.uri(name), dataBase64: 'eA==',
			})).code, /(Read-only|No such file)/]);
	await files.fails('writeFile', {path: '/etc/new', dataBase64: 'eA=='},
		[INTERNAL, /Read-only file system \(os error 30\)$/]);
	assert.deepEqual(fs.readdirSync(outside), ['f']);
	assert.equal(fs.readFileSync(path.join(outside, 'f'), 'utf8'), 'old');
	fs.rmSync(outside, {recursive: true});
}, own);

both('a read-only file is refused and stays', async (server, client) => {
	const files = scratch(server, client, {ro: 'r', key: 'k'});
	fs.chmodSync(files.at('ro'), 0o444);
	fs.chmodSync(files.at('key'), 0o600);
	await files.fails('writeFile', {path: 'ro', dataBase64: 'eA=='},
		[INTERNAL, 'Permission denied (os error 13)']);
	await files.write('key', 'k2');
	assert.equal(fs.readFileSync(files.at('ro'), 'utf8'), 'r');
	assert.equal(modeOf(files.at('ro')), 0o444);
	assert.equal(modeOf(files.at('key')), 0o600);
});

both('no setuid or setgid bit outlives a write', async (server, client) => {
	const files = scratch(server, client, {su: 'x', sg: 'x'});
	fs.chmodSync(files.at('su'), 0o4755);
	fs.chmodSync(files.at('sg'), 0o2755);
	await files.write('su', 'y');
	await files.write('sg', 'y');
	assert.equal(modeOf(files.at('su')), 0o755);
	assert.equal(modeOf(files.at('sg')), 0o755);
});

for (const [what, dataBase64] of [
	['a missing pad', 'eA'], ['half a pad', 'eA='], ['three pads', 'e==='],
	['a pad inside', 'eA==eA=='], ['a letter of another alphabet', 'e-A='],
	['a blank', 'eA ='], ['a line end', 'eA==\n'], ['set tail bits', 'eB=='],
	['set tail bits of two', 'eHl='], ['one letter more', 'eHh4e'],
	['a long text with a bad tail', `${'eHh4'.repeat(60000)}eA`],
	['a long text with a letter amiss', `${'eHh4'.repeat(60000)}e*A=`],
])
	both(`base64 with ${what} is refused, nothing is made`,
		async (server, client) => {
			const files = scratch(server, client, {f: 'old'});
			for (const name of ['f', 'new'])
				await files.fails('writeFile', {path: name, dataBase64},
					[INVALID_REQUEST, new RegExp('^fs/writeFile requires ' +
						'valid base64 dataBase64: ')]);
			assert.deepEqual(fs.readdirSync(files.dir), ['f']);
			assert.equal(fs.readFileSync(files.at('f'), 'utf8'), 'old');
		});

for (const params of [
	{}, {path: 'file:///x'}, {dataBase64: 'eA=='},
	{path: 'file:///x', dataBase64: null}, {path: 'file:///x', dataBase64: 7},
	{path: 'file:///x', dataBase64: ['eA==']},
	{path: null, dataBase64: 'eA=='},
])
	both(`${JSON.stringify(params)} is -32602`, async (server, client) => {
		assert.equal((await client.refusal('fs/writeFile', params)).code,
			INVALID_PARAMS);
	});

both('four large files at once, and what comes between', async (
	server, client) => {
	const files = scratch(server, client);
	const data = [1, 2, 3, 4].map((i) => pattern(6 * MIB + i, i));
	const writes = data.map((d, i) => files.write(`f${i}`, d, {ms: 30000}));
	assert.deepEqual(await client.status(), {status: 'ready'});
	for (const result of await Promise.all(writes))
		assert.deepEqual(result, {});
	data.forEach((d, i) => assert.equal(
		sha256(fs.readFileSync(files.at(`f${i}`))), sha256(d)));
});

for (const how of ['false', 'true'])
	test(`a full file system keeps the old content (atomic_writes=${how})`,
		own, () => withServer({set: {
			'fs.atomic_writes': how, 'limits.tmp_size': '4M',
		}}, async (server) => {
			const client = await server.connect();
			const files = scratch(server, client);
			await files.write('/tmp/f', pattern(MIB));
			const error = await files.fails('writeFile', {
				path: '/tmp/f',
				dataBase64: pattern(5 * MIB).toString('base64'),
			}, [INTERNAL, /No space left on device \(os error 28\)$/]);
			assert.equal(/as it was before/.test(error.text), how === 'true');
			assert.equal(sha256(await files.read('/tmp/f')),
				sha256(pattern(MIB)));
			assert.deepEqual((await client.shell(
				'find /tmp -xdev -type f')).stdout, '/tmp/f\n');
			await files.write('/tmp/f', 'now');
		}));

test('what a command writes is read by that session, /tmp by no other',
	async () => {
		const [server, client] = servers.get('in place');
		const other = await server.connect();
		const files = scratch(server, client);
		await client.shell('echo mine > /tmp/left; echo all > left',
			{cwd: fileUri(files.dir)});
		const theirs = scratch(server, other);
		assert.equal(String(await files.read('/tmp/left')), 'mine\n');
		assert.equal(String(await files.read('left')), 'all\n');
		await theirs.fails('readFile', {path: '/tmp/left'}, ENOENT);
		assert.equal(String(await theirs.read(files.at('left'))), 'all\n');
		await files.write('/tmp/back', 'written');
		assert.equal((await client.shell('cat /tmp/back')).stdout, 'written');
		await theirs.write('/tmp/back', 'theirs');
		assert.equal((await client.shell('cat /tmp/back')).stdout, 'written');
		assert.ok(!fs.existsSync('/tmp/back'));
		await other.close();
	});

test('the server\'s own files in a workspace cannot be replaced',
	{skip: foreignSkip || rootSkip}, async () => {
		const workspace = freshDirectory();
		const tree = path.join(workspace, 'build');
		for (const name of ['sallyport', 'net/sallyport-net',
			'exec/sallyport-exec', 'http/sallyport-http',
			'cli/sallyport-tool']) {
			const from = path.join(path.dirname(binary), name);
			const to = path.join(tree, name);
			fs.mkdirSync(path.dirname(to), {recursive: true});
			fs.copyFileSync(from, to);
		}
		fs.mkdirSync(path.join(workspace, 'etc'));
		fs.writeFileSync(path.join(workspace, 'etc/conf'), '[log]\n');
		await withServer({
			workspace, command: `${tree}/sallyport serve ` +
				`--workspace {workspace} --config ${workspace}/etc/conf`,
		}, ownFilesStay);
	});

async function ownFilesStay(server) {
	const {workspace} = server;
	const client = await server.connect();
	const size = fs.statSync(path.join(workspace, 'build/sallyport')).size;
	const at = (name) => fileUri(path.join(workspace, name));
	for (const name of ['build/sallyport', 'build/net/sallyport-net',
		'build/exec/sallyport-exec', 'etc/conf']) {
		await client.refusal('fs/writeFile',
			{path: at(name), dataBase64: 'eA=='});
		await client.refusal('fs/remove', {path: at(name)});
		await client.refusal('fs/open',
			{handleId: name, path: at(name), mode: 'replace'});
		await client.refusal('fs/copy', {sourcePath: 'file:///etc/passwd',
			destinationPath: at(name), recursive: false});
	}
	await client.refusal('fs/remove', {path: at('build')});
	assert.equal(fs.statSync(path.join(workspace, 'build/sallyport')).size, size);
	assert.equal(fs.readFileSync(path.join(workspace, 'etc/conf'), 'utf8'),
		'[log]\n');
	// An editor puts a new file in the old one's place: that is held as well.
	const program = await client.start(['/bin/sh', '-c', 'read x; cat etc/conf; ' +
		'echo x > etc/conf; echo x > etc/new; mv etc gone; rm -f etc/conf'],
	{cwd: server.workspaceUri, pipeStdin: true});
	fs.writeFileSync(path.join(workspace, 'etc/next'), '[new]\n');
	fs.renameSync(path.join(workspace, 'etc/next'),
		path.join(workspace, 'etc/conf'));
	await program.write('\n');
	assert.equal((await program.end()).stdout, '[new]\n');
	assert.deepEqual(fs.readdirSync(path.join(workspace, 'etc')), ['conf']);
	assert.equal(fs.readFileSync(path.join(workspace, 'etc/conf'), 'utf8'),
		'[new]\n');
	await client.call('fs/writeFile',
		{path: at('mine'), dataBase64: 'eA=='});
}

test('new files take their mode from the umask', own, () => withServer({
	command: '/bin/sh -c umask${IFS}027;exec${IFS}' +
		`${binary}\${IFS}serve\${IFS}--workspace\${IFS}{workspace}`,
}, async (server) => {
	const client = await server.connect();
	const files = scratch(server, client, {'run.sh': '#!/bin/sh\n'});
	fs.chmodSync(files.at('run.sh'), 0o755);
	await files.write('run.sh', '#!/bin/sh\necho hi\n');
	await files.write('fresh', 'n');
	await files.call('createDirectory', {path: 'dir/sub'});
	await files.copy('run.sh', 'run2.sh');
	assert.equal(modeOf(files.at('run.sh')), 0o755);
	assert.equal(modeOf(files.at('fresh')), 0o640);
	assert.equal(modeOf(files.at('dir/sub')), 0o750);
	assert.equal(modeOf(files.at('run2.sh')), 0o755);
}));

test('a command sees the bytes that were written', async () => {
	const [server, client] = servers.get('in place');
	const files = scratch(server, client);
	await files.write('crlf.txt', '\ufeffa\r\nb\r\n\r\nc \t');
	assert.equal((await client.shell('od -An -v -tx1 crlf.txt',
		{cwd: fileUri(files.dir)})).stdout.trim(),
	'ef bb bf 61 0d 0a 62 0d 0a 0d 0a 63 20 09');
});

test('a write in 500 fragments, with a ping in between', async () => {
	const [server, client] = servers.get('in place');
	const files = scratch(server, client);
	const data = pattern(3 * MIB, 7);
	const message = Buffer.from(JSON.stringify({
		id: 'fragments', method: 'fs/writeFile', params: {
			path: files.uri('many'), dataBase64: data.toString('base64'),
		},
	}));
	const step = Math.ceil(message.length / 500);
	const order = [];
	client.socket.once('pong', () => order.push('pong'));
	for (let at = 0; at < message.length; at += step) {
		if (at === 250 * step) {
			client.socket.ping();
			await until(5000, 'pong', () => order.length > 0);
		}
		client.socket.send(message.subarray(at, at + step),
			{binary: false, fin: at + step >= message.length});
	}
	assert.deepEqual((await client.wait('answer', () => client.stray.find(
		(m) => m.id === 'fragments'))).result, {});
	assert.equal(sha256(await files.read('many')), sha256(data));
});
