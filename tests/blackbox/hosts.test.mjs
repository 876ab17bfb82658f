// What is served where the host lacks a layer of the sandbox, and what the
// doctor says of it: tests/sandbox/without.c is the host.
import assert from 'node:assert/strict';
import {spawn, spawnSync} from 'node:child_process';
import {once} from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import {test} from 'node:test';
import {plainPath, startParams} from './lib/client.mjs';
import {uniqueWord} from './lib/proc.mjs';
import {
	Server, binary, build, fileUri, foreignSkip, freshDirectory, rootSkip,
} from './lib/server.mjs';
import {slow} from './lib/wait.mjs';

const without = path.join(build, 'tests', 'sandbox', 'without');
const skip = foreignSkip || (fs.existsSync(without) ? rootSkip :
	'without is not built');
const USER = 1234;
const asUser = `setpriv --reuid ${USER} --regid ${USER} --clear-groups `;
const whos = [['root', ''], ['a user', asUser]];

// The sandbox object of a client that restricts the network alone.
const restricting = {
	permissions: {
		type: 'managed',
		file_system: {type: 'unrestricted'},
		network: 'restricted',
	},
	cwd: null,
	workspaceRoots: [],
	windowsSandboxLevel: 'disabled',
};

function workspaceOf(uid) {
	const dir = freshDirectory();
	fs.chownSync(dir, uid, uid);
	return dir;
}

const command = (layer, who) =>
	`${who}${without} ${layer} -- ${binary} serve --workspace {workspace}`;

async function serving(layer, who, options, check) {
	const server = await Server.start({
		command: command(layer, who), workspace: workspaceOf(USER), ...options,
	});
	try {
		await check(server, await server.connect());
	} finally {
		await server.stop();
	}
}

function run(layer, who, args, uid = USER) {
	const workspace = workspaceOf(uid);
	const [file, ...rest] = `${who}${without} ${layer} -- ${binary}`.split(' ');
	const result = spawnSync(file, [...rest, ...args, '--workspace', workspace],
		{encoding: 'utf8', timeout: 20000 * slow});
	fs.rmSync(workspace, {recursive: true});
	return result;
}

function doctor(layer, who, args = []) {
	const {status, stdout} = run(layer, who, ['doctor', '--json', ...args]);
	const report = JSON.parse(stdout);
	assert.equal(report.exit, status);
	report.missing = report.layers.filter((l) => l.needed && !l.works)
		.map((l) => l.key);
	return report;
}

/** It works, it is confined, and its files are the workspace's owner's. */
async function checkCommands(server, client) {
	const {stdout, stderr} = await client.shell(
		'id -u; echo x > made && cat made; ' +
		'echo y > /etc/made; test -e /etc/made; echo $?; ' +
		'echo z > /tmp/made && cat /tmp/made; ' +
		'/bin/bash -c "echo > /dev/tcp/127.0.0.1/1" 2>&1 | grep -om1 refused',
		{cwd: server.workspaceUri});
	assert.equal(stdout, `${USER}\nx\n1\nz\nrefused\n`, stderr);
	assert.equal(fs.statSync(path.join(server.workspace, 'made')).uid, USER);
	const restricted = await client.start(['/bin/echo', 'ok'],
		{sandbox: restricting});
	assert.equal((await restricted.end()).stdout, 'ok\n');
	const file = await client.call('fs/readFile',
		{path: fileUri(path.join(server.workspace, 'made'))});
	assert.equal(Buffer.from(file.dataBase64, 'base64').toString(), 'x\n');
}

for (const [name, who] of whos)
	for (const layer of ['clone3', 'landlock', 'landlock=1', 'linux-6.1'])
		test(`commands and files are served without ${layer} by ${name}`,
			{skip}, () => serving(layer, who, {}, checkCommands));

test('root serves without user namespaces what others own', {skip},
	() => serving('userns', '', {}, checkCommands));

for (const [layer, who, uid, pattern] of [
	['userns', '', 0,
		/no user namespaces \(EPERM\).*chown.*user\.max_user_namespaces/],
	['userns', asUser, USER,
		/no user namespaces \(EPERM\): start as root.*CLONE_NEWUSER/],
	['netns', '', USER, /no network namespaces \(EINVAL\).*CONFIG_NET_NS/],
	['netns', asUser, USER, /no network namespaces \(EINVAL\)/],
	['proc', '', USER, /no fresh mounts of \/proc \(EPERM\).*sandbox\.degraded=allow/],
	['proc', asUser, USER, /no fresh mounts of \/proc \(EPERM\)/],
])
	test(`serve does not start without ${layer} as ${who ? 'a user' : 'root'}, ` +
		`workspace of ${uid}`, {skip}, () => {
		const {status, stdout, stderr} = run(layer, who, ['serve'], uid);
		assert.equal(status, 3, stderr);
		assert.equal(stdout, '');
		assert.match(stderr, pattern);
	});

for (const [name, who] of whos)
	test(`degraded, /proc is empty for ${name}`, {skip}, () =>
		serving('proc', who, {set: {'sandbox.degraded': 'allow'}},
			async (server, client) => {
				const {stdout, stderr} = await client.shell(
					'ls -A /proc; echo > /proc/x; echo y > made; cat made',
					{cwd: server.workspaceUri});
				assert.equal(stdout, 'y\n', stderr);
				assert.match(stderr, /x: Read-only|x: .*denied/);
			}));

// Without a network of its own a program has no socket but a local one.
const sockets = `python3 - <<'.'
import os, socket
for family in socket.AF_UNIX, socket.AF_INET, socket.AF_INET6, 16:
	try:
		socket.socket(family, socket.SOCK_DGRAM)
		print(int(family))
	except OSError:
		pass
s = socket.socket(socket.AF_UNIX)
try:
	s.connect("\\0" + os.environ["ABSTRACT"])
	print("reached")
except OSError as e:
	print(e.strerror)
.`;

for (const [name, who] of whos)
	test(`degraded, programs have no socket for want of netns by ${name}`,
		{skip}, async () => {
			const abstract = uniqueWord();
			// Node pads such names with zeros.
			const listener = spawn('python3', ['-c',
				'import socket, sys; s = socket.socket(socket.AF_UNIX); ' +
				's.bind("\\0" + sys.argv[1]); s.listen(); print("on"); ' +
				'sys.stdout.flush(); sys.stdin.read()', abstract]);
			await once(listener.stdout, 'data');
			const env = {PATH: plainPath, ABSTRACT: abstract};
			await serving('netns', who, {set: {'sandbox.degraded': 'allow'}},
				async (server, client) => {
					for (const sandbox of [null, restricting]) {
						const {stdout, stderr} =
							await client.shell(sockets, {env, sandbox});
						assert.equal(stdout, '1\nOperation not permitted\n',
							stderr);
					}
				});
			listener.stdin.end();
		});

for (const [name, who] of whos)
	test(`degraded, neither netns nor Landlock: no local socket by ${name}`,
		{skip}, () => serving('netns landlock=5', who,
			{set: {'sandbox.degraded': 'allow'}},
			async (server, client) => {
				const {stdout} = await client.shell('python3 -c "import socket; ' +
					'socket.socketpair(); print(1); socket.socket(1)"');
				assert.equal(stdout, '1\n');
			}));

for (const [name, who] of whos)
	test(`the host's network without Landlock's scope is refused to ${name}`,
		{skip}, async () => {
			const set = {'profile.network': 'enabled'};
			await serving('linux-6.1', who, {set}, async (server, client) => {
				const refusal = await client.refusal('process/start',
					startParams(['/bin/true'], server.workspaceUri,
						{processId: 'p'}));
				assert.match(refusal.message, /Landlock.*6\.12.*degraded=allow/);
				assert.deepEqual(refusal.data, {
					kind: 'sandboxUnavailable', stage: 'host', errno: 95,
					feature: 'Landlock\'s scope of sockets (ABI 6)',
					needed_by: 'network: enabled, and every command without ' +
						'namespaces',
				});
				const restricted = await client.start(['/bin/echo', 'ok'],
					{sandbox: restricting});
				assert.equal((await restricted.end()).stdout, 'ok\n');
			});
			set['sandbox.degraded'] = 'allow';
			await serving('linux-6.1', who, {set}, async (server, client) => {
				assert.equal((await client.shell('echo ok')).stdout, 'ok\n');
			});
		});

for (const [name, who] of whos) {
	test(`the doctor finds nothing missing here for ${name}`, {skip}, () => {
		const report = doctor('seals', who);
		assert.equal(report.exit, 0);
		assert.deepEqual(report.missing, []);
		assert.ok(Object.values(report.services).every((s) => s === true));
	});
	for (const [layer, exit, missing] of [
		['netns', 2, ['netns']],
		['proc', 2, ['proc']],
		['landlock', 1, ['landlock', 'scope']],
		['linux-6.1', 1, ['scope']],
		['clone3', 0, []],
	])
		test(`the doctor finds ${layer} missing for ${name}`, {skip}, () => {
			const report = doctor(layer, who);
			assert.deepEqual(report.missing, missing);
			assert.equal(report.exit, exit);
		});
}

/** Whether a server comes to serve, and its commands run. */
async function serves(layer, who, degraded) {
	try {
		await serving(layer, who, {set: {'sandbox.degraded': degraded}},
			async (server, client) => {
				assert.equal((await client.shell('echo ok')).stdout, 'ok\n');
			});
		return true;
	} catch (e) {
		assert.match(e.message, /"code":3/);
		return false;
	}
}

// The layers that are missing, and whether the preset workspace is served to
// root and to a user, each if that is refused and if that is allowed.
for (const [layer, root, user] of [
	['userns', [true, true], [false, true]],
	['userns landlock=5', [true, true], [false, false]],
	['namespaces', [false, true], [false, true]],
	['netns', [false, true], [false, true]],
	['proc', [false, true], [false, true]],
	['netns proc landlock', [false, true], [false, true]],
	['linux-6.1', [true, true], [true, true]],
])
	for (const [name, who] of whos)
		for (const [i, degraded] of ['refuse', 'allow'].entries())
			test(`what the doctor says is so without ${layer}, ${degraded}, ` +
				`for ${name}`, {skip}, async () => {
				const want = (who === '' ? root : user)[i];
				const {exit, services} = doctor(layer, who,
					['--set', `sandbox.degraded=${degraded}`]);
				assert.equal(services['preset.workspace'] === true, want);
				assert.equal(exit, want ? 1 : 2);
				assert.equal(await serves(layer, who, degraded), want);
			});

test('the doctor knows what root can do without user namespaces', {skip}, () => {
	const report = doctor('userns', '');
	assert.equal(report.exit, 1);
	assert.deepEqual(report.missing, ['userns', 'idmap']);
	assert.equal(report.services['preset.workspace'], true);
});

test('the doctor tells what to change, in words', {skip}, () => {
	const {status, stdout} = run('userns', asUser, ['doctor']);
	assert.equal(status, 2);
	assert.match(stdout, /^missing {2}user namespaces \(EPERM\)$/m);
	assert.match(stdout, /to change it: .*CLONE_NEWUSER/);
	assert.match(stdout, /^refused {2}preset workspace: needs user namespaces$/m);
});

test('the doctor refuses what it does not know', {skip}, () => {
	for (const args of [['here'], ['--nope'], ['--set', 'a.b=c']]) {
		const {status, stderr} = spawnSync(binary, ['doctor', ...args],
			{encoding: 'utf8'});
		assert.equal(status, 2);
		assert.match(stderr, /doctor --help/);
	}
});
