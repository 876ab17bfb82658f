// sallyport policy test: what a command was denied, and by which line.
import assert from 'node:assert/strict';
import {spawn} from 'node:child_process';
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import {test} from 'node:test';
import {binary, foreignSkip, freshDirectory, rootSkip} from './lib/server.mjs';
import {within} from './lib/wait.mjs';

const own = {skip: foreignSkip};
const DEADLINE_MS = 20000;

/** Files in a new directory, which is the workspace, too. */
function place(contents = {}) {
	const dir = freshDirectory('ptest');
	for (const [name, text] of Object.entries(contents))
		fs.writeFileSync(path.join(dir, name), text);
	return dir;
}

/** {status, stdout, stderr, denied: {what: [why, line]}} */
async function policyTest(dir, args, {user, input = ''} = {}) {
	const front = user ? ['setpriv', '--reuid', user, '--regid', user,
		'--clear-groups'] : [];
	const [file, ...rest] = [...front, binary, 'policy', 'test', ...args];
	const child = spawn(file, rest, {cwd: dir});
	const got = {stdout: '', stderr: '', denied: {}};

	child.stdout.on('data', (d) => { got.stdout += d; });
	child.stderr.on('data', (d) => { got.stderr += d; });
	child.stdin.on('error', () => {});
	child.stdin.end(input);
	got.status = await within(DEADLINE_MS, 'end of policy test',
		new Promise((resolve) => child.on('close', resolve)))
		.finally(() => child.kill('SIGKILL'));
	for (const [, what, why, line] of got.stderr.matchAll(
		/^denied: (.*)\n {2}by (.*)\n {2}line: (.*)$/gm))
		got.denied[what.replace(/, \d+ times$/, '')] = [why, line];
	return got;
}

const sh = (script) => ['--', '/bin/sh', '-c', script];

test('a command runs as it would, and its status is ours', own, async () => {
	const dir = place();
	const got = await policyTest(dir, ['current',
		...sh('cat; echo out; echo x > made; exit 3')], {input: 'in\n'});

	assert.equal(got.stdout, 'in\nout\n');
	assert.equal(got.status, 3);
	assert.deepEqual(got.denied, {});
	assert.match(got.stderr, /^sallyport: 0 things were denied/m);
	assert.equal(fs.readFileSync(path.join(dir, 'made'), 'utf8'), 'x\n');
	assert.equal((await policyTest(dir, ['current', ...sh('kill -9 $$')])).status,
		137);
	assert.equal((await policyTest(dir, ['current', '--', 'no-such'])).status,
		127);
});

test('files: which path, which rule, which line', own, async () => {
	const dir = place();
	const secret = path.join(dir, 'secrets');
	fs.mkdirSync(secret);
	fs.writeFileSync(path.join(secret, 'a'), '');
	fs.symlinkSync('/etc', path.join(dir, 'link'));
	fs.mkdirSync(path.join(dir, 'conf'));
	fs.writeFileSync(path.join(dir, 'conf/p.conf'), '[sandbox]\nprofile = p\n' +
		'[profile "p"]\nread = /\nwrite = {workspace}\n' +
		'deny = {workspace}/secrets\n');
	const {denied} = await policyTest(dir, ['--config', 'conf/p.conf', 'current',
		...sh('echo > /etc/x; cat secrets/a; ls /sys/kernel; echo >> conf/p.conf; ' +
			'cd link; echo > y; cat /no/such; true')]);

	assert.deepEqual(denied['openat /etc/x (to change it): EROFS'],
		['conf/p.conf:4: read = /', 'write = /etc/x in [profile "p"]; it must ' +
			'lie in a workspace or {tmp}']);
	assert.deepEqual(denied['openat /etc/y (to change it): EROFS']?.[0],
		'conf/p.conf:4: read = /');
	const hidden = Object.entries(denied)
		.filter(([what]) => what.includes(`${secret}/a`));
	assert.equal(hidden.length, 1);
	assert.match(hidden[0][0], /^openat .*: (EACCES|ENOENT)$/);
	assert.deepEqual(hidden[0][1], ['conf/p.conf:6: deny = {workspace}/secrets',
		'take that line away']);
	assert.match(denied['statx /sys/kernel: ENOENT'][0], /own \/sys/);
	assert.match(denied[`openat ${dir}/conf/p.conf (to change it): EROFS`][0],
		/sallyport's own/);
	assert.doesNotMatch(Object.keys(denied).join(), /no\/such/);
});

test('the line that it names is the one that helps', own, async () => {
	const dir = place(), other = freshDirectory('other');
	const write = sh(`echo 1 > ${other}/x`);
	const before = await policyTest(dir, ['--workspace', dir, 'workspace',
		...write]);
	const [line] = Object.values(before.denied).map((item) => item[1]);

	if (!other.startsWith('/tmp/')) {
		const [, workspace] = /^workspace = (.*) in \[server\]$/.exec(line);
		assert.equal(workspace, other);
	}
	const after = await policyTest(dir, ['--workspace', dir, '--workspace',
		other, 'workspace', ...write]);
	assert.equal(after.status, 0, after.stderr);
	assert.deepEqual(after.denied, {});
});

test('system calls: the filter that refused', own, async () => {
	const dir = place();
	const python = (...lines) => ['--', 'python3', '-c', lines.join('\n')];
	const {denied} = await policyTest(dir, ['strict', ...python(
		'import ctypes, socket',
		'libc = ctypes.CDLL(None)',
		'libc.ptrace(0, 0, 0, 0)',
		'libc.unshare(0x10000000)',
		'libc.chmod(b"/tmp", 0o4755)',
		'try: socket.socket(socket.AF_UNIX)',
		'except OSError: pass')]);
	const find = (word) => Object.entries(denied)
		.find(([what]) => what.startsWith(word)) ?? [];

	assert.deepEqual(find('ptrace'), ['ptrace: EPERM', [
		'child.policy: default EPERM, as no line of the call fits',
		'none: the filter of exec, which holds for every command, refuses ' +
			'it too']]);
	assert.match(find('unshare')[1][1], /^unshare {2}# in a copy of /);
	assert.match(find('chmod')[0], /arg1=0x9ed: EPERM$/);
	assert.match(find('socket')[0], /arg0=0x1 .*: EPERM$/);
	assert.match(find('socket')[1][0], /^child_no_unix\.policy:\d+: socket/);
	assert.match(find('socket')[1][1], /^unix_sockets = private/);
});

test('the network: whom it could not reach', own, async () => {
	const dir = place();
	const server = net.createServer();
	// The view has no /tmp and no /run of the host: nothing to find there.
	const socket = path.join(dir, 'sock');
	await new Promise((resolve) => server.listen(socket, resolve));
	const {denied} = await policyTest(freshDirectory('ptest'), ['workspace',
		'--', 'python3', '-c', [
			'import socket',
			'def go(family, address):',
			'  try: socket.socket(family).connect(address)',
			'  except OSError: pass',
			'go(socket.AF_INET, ("192.0.2.7", 443))',
			'go(socket.AF_INET, ("127.0.0.1", 9))',
			`go(socket.AF_UNIX, "${socket}")`,
		].join('\n')]);
	await new Promise((resolve) => server.close(resolve));

	assert.deepEqual(denied['connect 192.0.2.7:443: ENETUNREACH'], [
		'preset workspace: network = restricted',
		'network = enabled in [profile]']);
	assert.match(denied['connect 127.0.0.1:9: ECONNREFUSED'][0],
		/own loopback has nobody there/);
	const unix = Object.entries(denied)
		.filter(([what]) => what.includes(socket));
	assert.equal(unix.length, 1);
	assert.match(unix[0][1][1], /^unix_sockets = host/);
});

test('a whole tree is watched, and nobody outlives it', own, async () => {
	const dir = place();
	const {denied, stderr} = await policyTest(dir, ['current', ...sh(
		'for i in 1 2 3 4 5 6 7 8; do (sh -c "echo > /usr/x$i") 2>&- & done; ' +
		'wait; sleep 1000 >&- 2>&- <&- &')]);

	assert.equal(Object.keys(denied)
		.filter((what) => /^openat \/usr\/x\d /.test(what)).length, 8, stderr);
});

test('a filter cannot be told from outside: nothing is weaker', own, async () => {
	const dir = place();
	const {stdout} = await policyTest(dir, ['current', ...sh(
		'grep -E "^(NoNewPrivs|Seccomp|Cap...|CapBnd):" /proc/self/status')]);

	assert.match(stdout, /NoNewPrivs:\s*1/);
	assert.match(stdout, /Seccomp:\s*2/);
	for (const set of ['CapInh', 'CapPrm', 'CapEff', 'CapBnd'])
		assert.match(stdout, new RegExp(`${set}:\\s*0{16}`));
});

test('a plain user can ask, too', {skip: foreignSkip || rootSkip}, async () => {
	const dir = place();
	fs.chownSync(dir, 1234, 1234);
	const {status, denied} = await policyTest(dir,
		['current', ...sh('echo > x; echo > /usr/x')], {user: '1234'});

	assert.equal(status, 2);
	assert.match(denied['openat /usr/x (to change it): EROFS'][0],
		/^preset workspace/);
});

test('what cannot be run says why', own, async () => {
	const dir = place();
	const rows = [
		[['current'], /want policy test PROFILE -- COMMAND/],
		[[], /want policy test PROFILE/],
		[['net', '--', 'true'], /under a profile or a preset/],
		[['nobody', '--', 'true'], /there is no \[profile "nobody"\]/],
		[['--set', 'limits.tmp_size=x', 'current', '--', 'true'], /tmp_size/],
		[['--workspace', '/', 'workspace', '--', 'true'],
			/workspace \/: only the preset open/],
	];
	for (const [args, want] of rows) {
		const got = await policyTest(dir, args);
		assert.equal(got.status, 125, args.join(' '));
		assert.match(got.stderr, want);
	}
});

test('a path cannot speak to the terminal, or pass for a line of ours', own,
	async () => {
		const file = '/etc/a\\033]0;t\\007\\302\\233m\\n  line: write = x';
		const got = await policyTest(place(), ['current', ...sh(
			`{ echo x >"$(printf '${file}')"; } 2>/dev/null`)]);

		assert.doesNotMatch(got.stderr, /[\x00-\x09\x0b-\x1f\x7f-\x9f]/);
		assert.doesNotMatch(got.stderr, /^ {2}line: write = x$/m);
		assert.match(got.stderr,
			/^denied: openat \/etc\/a\?\]0;t\?\?\?m\? {2}line: write = x /m);
	});
