// A host that gives no namespaces at all, with sandbox.degraded=allow: programs
// and file workers are held by Landlock and filters alone. What that can hold
// runs, and is held; the rest is refused. A plain user without user namespaces,
// and root in a container without CAP_SYS_ADMIN.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import {after, before, test} from 'node:test';
import {startParams} from './lib/client.mjs';
import {Origin, bodyOf, request} from './lib/http.mjs';
import {isAlive, uniqueWord, withArgument} from './lib/proc.mjs';
import {
	Server, binary, build, fileUri, foreignSkip, freshDirectory, rootSkip,
} from './lib/server.mjs';
import {until} from './lib/wait.mjs';

const without = path.join(build, 'tests', 'sandbox', 'without');
const skip = foreignSkip || (fs.existsSync(without) ? rootSkip :
	'without is not built');
const USER = 1234;
const serve = `${binary} serve --workspace {workspace}`;
const command = process.env.SALLYPORT_AS_ROOT ?
	`${without} namespaces -- setpriv --bounding-set -sys_admin ` +
		serve :
	`setpriv --reuid ${USER} --regid ${USER} --clear-groups ` +
		`${without} userns -- ${serve}`;

// A file of the same user in the host's /tmp, and a directory for it to be in.
const outside = skip ? '' : freshDirectory('outside');
const secret = path.join(outside, 'secret');
let server, client;

before(async () => {
	if (skip)
		return;
	const workspace = freshDirectory();
	fs.writeFileSync(secret, 'secret\n', {mode: 0o600});
	for (const file of [workspace, outside, secret])
		fs.chownSync(file, USER, USER);
	server = await Server.start({
		command, workspace,
		set: {'sandbox.degraded': 'allow', 'http.allow_private': 'true'},
	});
	client = await server.connect();
});

after(async () => {
	await server?.stop();
	if (!skip)
		fs.rmSync(outside, {recursive: true});
});

const root = {type: 'special', value: {kind: 'root'}};
const at = (...parts) => ({
	type: 'path', path: fileUri(path.join(server.workspace, ...parts)),
});

function restricted(entries, network = 'restricted') {
	return {
		permissions: {
			type: 'managed',
			file_system: {type: 'restricted', entries},
			network,
		},
		cwd: server.workspaceUri, workspaceRoots: [],
		windowsSandboxLevel: 'disabled',
	};
}

const all = {
	inherit: 'all', ignoreDefaultExcludes: true, exclude: [], set: {},
	includeOnly: [],
};
const readOnly = () => restricted([{path: root, access: 'read'}]);
const shell = (script, options = {}) =>
	client.shell(script, {cwd: server.workspaceUri, ...options});

/** What a shell says after a redirection that must fail. */
const denied = async (script, options) => {
	const {stdout, stderr} = await shell(`${script}; echo $?`, options);
	assert.notEqual(stdout.trim().split('\n').at(-1), '0', script);
	assert.match(stderr, /denied|not permitted|refused|cross-device/, script);
};

test('a command runs, and writes in the workspace alone', {skip}, async () => {
	const {stdout, stderr} = await shell('id -u; echo x > made; cat made; ' +
		'chmod 700 made; stat -c %a made; echo > /dev/null; ls / > /dev/null');
	assert.equal(stdout, `${USER}\nx\n700\n`, stderr);
	for (const file of ['/etc/made', '/tmp/made', '/dev/shm/made',
		`${outside}/made`, '/var/tmp/made'])
		await denied(`echo > ${file}`);
	await denied(`rm ${secret}`);
	await denied(`ln ${secret} linked`);
	await denied(`mv ${secret} moved`);
});

test('what lies in /tmp, /run and /dev of the host is not read', {skip},
	async () => {
		for (const name of [secret, '/dev/ptmx'])
			await denied(`cat ${name}`);
		const {stdout} = await shell('cat /etc/hostname > /dev/null; echo $?; ' +
			'ls /run/* 2>/dev/null | head -1; cat /run/* 2>/dev/null');
		assert.match(stdout, /^0\n/);
		const files = [secret, '/tmp/made'];
		await assert.rejects(client.call('fs/readFile',
			{path: fileUri(files[0])}), /Permission denied/);
		await assert.rejects(client.call('fs/writeFile',
			{path: fileUri(files[1]), dataBase64: ''}), /Permission denied/);
	});

test('files are served as commands see them', {skip}, async () => {
	const uri = fileUri(path.join(server.workspace, 'by-client'));
	await client.call('fs/writeFile', {path: uri, dataBase64: 'eAo='});
	assert.equal((await shell('cat by-client')).stdout, 'x\n');
	const sandbox = readOnly();
	await assert.rejects(client.call('fs/writeFile',
		{path: uri, dataBase64: '', sandbox}), /Permission denied/);
	const {dataBase64} = await client.call('fs/readFile', {path: uri, sandbox});
	assert.equal(dataBase64, 'eAo=');
});

test('a read-only profile changes nothing, not even modes and times', {skip},
	async () => {
		fs.writeFileSync(path.join(server.workspace, 'mine'), 'm\n');
		fs.chownSync(path.join(server.workspace, 'mine'), USER, USER);
		const sandbox = readOnly();
		assert.equal((await shell('cat mine', {sandbox})).stdout, 'm\n');
		for (const script of ['echo > mine', 'rm mine', 'chmod 600 mine',
			'touch -d @0 mine', 'chgrp 1234 mine', 'mkdir made-too'])
			await denied(script, {sandbox});
	});

test('a profile of whole roots runs', {skip}, async () => {
	fs.mkdirSync(path.join(server.workspace, 'part'));
	fs.chownSync(path.join(server.workspace, 'part'), USER, USER);
	const sandbox = restricted([{path: root, access: 'read'},
		{path: at('part'), access: 'write'}]);
	const {stdout} = await shell('echo y > part/y && cat part/y', {sandbox});
	assert.equal(stdout, 'y\n');
	await denied('echo > beside', {sandbox});
});

for (const [name, entries] of [
	['a denied path', () => [{path: root, access: 'read'},
		{path: {type: 'path', path: fileUri('/etc/ssh')}, access: 'none'}]],
	['a path that is read-only inside a writable one', () => [
		{path: root, access: 'read'}, {path: at(), access: 'write'},
		{path: at('docs'), access: 'read'}]],
	['a missing .git that is protected', () => [{path: root, access: 'read'},
		{path: at(), access: 'write'},
		{path: at('.git'), access: 'read', missing_path_behavior: 'skip'}]],
	['a denied pattern', () => [{path: root, access: 'read'},
		{path: {type: 'glob_pattern', pattern: '/etc/**/*.key'},
			access: 'none'}]],
	['a minimal root', () => [
		{path: {type: 'special', value: {kind: 'minimal'}}, access: 'read'}]],
])
	test(`${name} is refused, with what it takes`, {skip}, async () => {
		const sandbox = restricted(entries());
		const refusal = await client.refusal('process/start', startParams(
			['/bin/true'], server.workspaceUri, {sandbox, processId: 'p'}));
		assert.match(refusal.message,
			/mounts of a program's own \(EPERM\).*user_namespaces\(7\)/);
		assert.deepEqual(refusal.data, {
			kind: 'sandboxUnavailable', stage: 'host', errno: 1,
			feature: 'mounts of a program\'s own',
			needed_by: 'less access to a path than to the directory around ' +
				'it, denied patterns, and any root but the host\'s',
		});
		await assert.rejects(client.call('fs/readFile', {
			path: fileUri('/etc/hostname'), sandbox,
		}), /mounts of a program's own/);
	});

test('no socket can be had but a pair', {skip}, async () => {
	const {stdout} = await shell(`python3 - <<'.'
import socket
for family in socket.AF_UNIX, socket.AF_INET, socket.AF_INET6, 16, 17, 38, 40:
	for kind in socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW:
		try:
			print(family, kind, socket.socket(family, kind))
		except OSError as e:
			pass
print(len(socket.socketpair()))
.`);
	assert.equal(stdout, '2\n');
});

test('other processes of the user are out of reach', {skip}, async () => {
	const {pid} = server;
	const {stdout} = await shell(`kill -0 ${pid}; echo $?; kill -0 $PPID; ` +
		`echo $?; prlimit --pid ${pid} --core=0; echo $?; ` +
		`renice 19 ${pid}; echo $?; cat /proc/${pid}/environ; echo $?; ` +
		`echo 1000 > /proc/${pid}/oom_score_adj; echo $?`);
	assert.doesNotMatch(stdout, /^0$/m);
});

test('a whole tree ends, whatever became of it', {skip}, async () => {
	const word = uniqueWord();
	const wait = (n) => `sh -c 'sleep 1000; :' ${word}${n}`;
	const p = await client.start(['/bin/sh', '-c', `trap '' TERM HUP; ` +
		`setsid ${wait(1)} & (setsid setsid ${wait(2)} &); ${wait(3)} & ` +
		`exec ${wait(4)}`], {processId: 'tree'});
	const names = [1, 2, 3, 4].map((n) => `${word}${n}`);
	await until(5000, 'the tree', () =>
		names.every((name) => withArgument(name).length > 0));
	const pids = names.flatMap((name) => withArgument(name));
	assert.deepEqual(await client.call('process/terminate',
		{processId: 'tree'}), {running: true});
	assert.equal((await p.end()).exitCode, 137);
	await until(5000, 'its end', () => !pids.some((pid) => isAlive(pid)));
});

test('a terminal is the only one in reach', {skip}, async () => {
	const p = await client.start(['/bin/sh', '-c', 'echo hi > /dev/tty; ' +
		'stty size; cat /dev/ptmx || echo none'], {tty: true});
	assert.match((await p.end()).pty, /^hi\r\n24 80\r\n[^]*none\r\n$/);
});

test('requests are made', {skip}, async () => {
	const origin = await Origin.start({'/': (req, res) => res.end('here')});
	try {
		const result = await request(client, `${origin.url}/`);
		assert.equal(bodyOf(result), 'here');
	} finally {
		await origin.stop();
	}
});

test('when exec dies, so does every tree', {skip}, async () => {
	const other = await server.connect();
	const word = uniqueWord();
	await other.start(['/bin/sh', '-c',
		`setsid sh -c 'sleep 1000; :' ${word}1 & exec sh -c 'sleep 1000; :' ` +
		`${word}2`]);
	const names = [1, 2].map((n) => `${word}${n}`);
	await until(5000, 'the tree', () =>
		names.every((name) => withArgument(name).length > 0));
	process.kill(await server.role('exec'), 'SIGKILL');
	await until(5000, 'its end', () =>
		names.every((name) => withArgument(name).length === 0));
	client = await until(5000, 'the next', () =>
		server.connect().catch(() => undefined));
});

test('programs have a HOME and a TMPDIR, which go with the server', {skip},
	async () => {
		const {stdout, stderr} = await shell('echo $TMPDIR; cd && pwd; ' +
			'mktemp > /dev/null && echo made; umask 0; ' +
			'mkdir -p a/b/c/d && echo > a/b/c/d/e; ln -s /etc link; ' +
			'chmod 0 a/b/c; python3 -c "import os\n' +
			'for i in range(200):\n os.mkdir(str(i)); os.chdir(str(i))"',
			{envPolicy: all});
		const [tmp, home, made] = stdout.trim().split('\n');
		assert.equal(home, `${tmp}/home`, stderr);
		assert.equal(made, 'made');
		assert.match(tmp, /^\/tmp\/sallyport-\w{6}$/);
		assert.equal(fs.statSync(tmp).mode & 0o7777, 0o700);
		const info = await client.call('environment/info', {});
		assert.equal(info.userHomeDir, fileUri(home));
		assert.equal(info.tempDir, fileUri(tmp));
		const options = {sandbox: readOnly(), envPolicy: all};
		await denied('echo > $HOME/x', options);
		assert.equal((await shell('cd && ls -d link', options))
			.stdout, 'link\n');
		const {pid} = server;
		await server.stop();
		await until(5000, 'its removal', () => !fs.existsSync(tmp));
		assert.ok(!isAlive(pid));
	});
