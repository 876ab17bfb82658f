// sallyport serve as a process: its command line, its roles, their ends. The
// roles are stand-ins (tests/fake_role.c) that misbehave as they are told, so
// what is seen here is the supervisor's doing.
import assert from 'node:assert/strict';
import {spawn, spawnSync} from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import {after, test} from 'node:test';
import {commandLine, descendants, isAlive, status} from './lib/proc.mjs';
import {
	binary, build, foreignSkip, freshDirectory, ipv6Skip, rootSkip,
} from './lib/server.mjs';
import {inTime, slow, until, within} from './lib/wait.mjs';

const fake = path.join(build, 'tests', 'fake-role');
const skip = foreignSkip ||
	(fs.existsSync(fake) ? false : 'tests/fake-role is not built');
const EXIT_MS = 15000;
const isRoot = process.getuid() === 0;

// A build tree of its own, with the stand-ins in the places of the roles.
const tree = freshDirectory('tree');
const workspace = freshDirectory();
after(() => [tree, workspace].forEach(
	(dir) => fs.rmSync(dir, {recursive: true, force: true})));
if (!skip) {
	fs.copyFileSync(binary, path.join(tree, 'sallyport'));
	for (const role of ['net', 'exec', 'http']) {
		fs.mkdirSync(path.join(tree, role));
		fs.copyFileSync(fake, path.join(tree, role, `sallyport-${role}`));
	}
}
const serveBinary = path.join(tree, 'sallyport');

// Those of tests that failed half-way.
const running = new Set();
after(() => running.forEach((s) => s.child.kill('SIGKILL')));

class Supervisor {
	constructor(args = [], options = {}) {
		this.stdout = '';
		this.stderr = '';
		this.child = spawn(serveBinary, ['serve', ...args], {
			cwd: workspace, stdio: ['ignore', 'pipe', 'pipe'], ...options,
		});
		this.pid = this.child.pid;
		this.child.stdout.on('data', (d) => { this.stdout += d; });
		this.child.stderr.on('data', (d) => { this.stderr += d; });
		this.exit = new Promise((resolve) =>
			this.child.on('close', (code, signal) =>
				resolve(code ?? signal)));
		running.add(this);
		this.child.on('close', () => running.delete(this));
	}

	/** mode: what a stand-in is to do wrong. */
	static async serving(mode = 'nothing', args = []) {
		const s = new Supervisor(
			['--set', `env.set=HOME=/fake/${mode}`, ...args]);
		await s.line(/serving/);
		// What is told on one stream says nothing of the other.
		if (!args.includes('--url-file'))
			await until(5000, 'URL', () => s.stdout.endsWith('\n'));
		return s;
	}

	line(pattern) {
		return until(EXIT_MS, `${pattern}\n${this.stderr}`,
			() => pattern.exec(this.stderr));
	}

	exited() {
		return within(EXIT_MS, 'exit', this.exit);
	}

	role(name, other) {
		return until(5000, name, () => descendants(this.pid).find(
			(pid) => pid !== other && isAlive(pid) &&
				commandLine(pid)[0] === `sallyport-${name}`));
	}

	async stop(signal = 'SIGTERM') {
		this.child.kill(signal);
		return this.exited();
	}
}

function run(args, options = {}) {
	return spawnSync(serveBinary, args,
		{encoding: 'utf8', cwd: workspace, timeout: 10000 * slow, ...options});
}

test('a role that nobody has given a channel says so and ends', {skip},
	() => {
		for (const [role, words] of [['net', 'start_failed'],
			['exec', 'exec_failed errno=9'],
			['http', 'http_failed errno=9 no channel']]) {
			const {status: code, stderr} = spawnSync(
				path.join(build, role, `sallyport-${role}`), [],
				{encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'],
					timeout: 10000 * slow});
			assert.equal(code, 1, role);
			assert.ok(stderr.startsWith(`error ${words}`), stderr);
		}
	});

function assertRefused(args, pattern, options) {
	const {status: code, stdout, stderr} = run(['serve', ...args], options);
	assert.match(stderr, pattern);
	assert.equal(stdout, '');
	assert.equal(code, 2);
}

test('help and version go to standard output', {skip}, () => {
	assert.match(run(['--help']).stdout, /serve/);
	assert.match(run(['--version']).stdout, /^sallyport \d.*\nfeatures: /);
	assert.match(run(['serve', '--help']).stdout, /exit codes: 0 /);
	assert.match(run(['serve', '--help-settings']).stdout,
		/limits\.shutdown_timeout = DURATION \(default 2s, /);
});

for (const [name, args, pattern] of [
	['an unknown option', ['--nope'], /nope/],
	['a word', ['here'], /here: not an option/],
	['an unknown setting', ['--set', 'a.b=c'], /no section \[a\]/],
	['a host name', ['--listen', 'ws://localhost:0'], /numeric address/],
	['an address of others', ['--listen', 'ws://0.0.0.0:0'],
		/0\.0\.0\.0:0 can be reached from other machines/],
	['a missing workspace', ['--workspace', '/nonexistent'],
		/\/nonexistent: No such file/],
	['a file as workspace', ['--workspace', '/etc/passwd'],
		/\/etc\/passwd: Not a directory/],
	['the whole host as workspace', ['--workspace', '/'], /preset open/],
	['a missing configuration', ['--config', '/nonexistent'],
		/\/nonexistent: cannot be read: No such file/],
	['its own binaries as workspace', ['--workspace', tree],
		/sallyport's own files are in it/],
	['a role binary as workspace', ['--workspace', path.join(tree, 'net')],
		/sallyport's own files are in it/],
	['an audit file in a workspace',
		['--set', `audit.file=${workspace}/audit`],
		/audit: must not lie in the workspace/],
	['a URL file in a workspace', ['--url-file', 'url'],
		/url: must not lie in the workspace/],
])
	test(`serve refuses ${name}`, {skip}, () => assertRefused(args, pattern));

test('serve refuses a configuration right in a workspace', {skip}, () => {
	const file = path.join(workspace, 'own.conf');

	fs.writeFileSync(file, '[server]\n');
	assertRefused(['--config', file],
		/own.conf: sallyport's own file, right in a workspace; put/);
	fs.rmSync(file);
});

test('serve refuses open as root unless told twice',
	{skip: skip || rootSkip}, () => {
		assertRefused(['--preset', 'open'], /sandbox\.allow_root=true/);
	});

test('serve refuses a configuration behind a link in a workspace', {skip},
	() => {
		const outside = freshDirectory();
		fs.writeFileSync(path.join(outside, 'real.conf'), '');
		fs.symlinkSync(path.join(outside, 'real.conf'),
			path.join(workspace, 'link.conf'));
		assertRefused(['--config', 'link.conf'], /link\.conf: a symbolic link/);
		fs.rmSync(outside, {recursive: true});
		fs.rmSync(path.join(workspace, 'link.conf'));
	});

test('serve tells every mistake of a file and of the command line', {skip},
	() => {
		const file = path.join(tree, 'bad.conf');
		fs.writeFileSync(file, '[server]\ncompat = x\n[nope]\na = b\n');
		const {status: code, stderr} = run(
			['serve', '--config', file, '--set', 'log.level=loud']);
		fs.rmSync(file);
		assert.equal(code, 2);
		assert.match(stderr, /bad\.conf:2: server\.compat: "x" is none/);
		assert.match(stderr, /bad\.conf:4: there is no section \[nope\]/);
		assert.match(stderr, /log\.level: "loud" is none/);
	});

test('the URL is the only line on standard output', {skip}, async () => {
	const s = await Supervisor.serving();
	assert.equal(await s.stop(), 0);
	assert.match(s.stdout, /^ws:\/\/127\.0\.0\.1:\d+\/[0-9a-f]{32}\n$/);
});

test('a server without standard descriptors opens none in their place',
	{skip}, async () => {
		const s = new Supervisor([], {stdio: ['ignore', 'pipe', 'pipe']});
		await s.line(/serving/);
		await s.stop();
		const closed = spawn('/bin/sh', ['-c',
			'exec "$0" serve --set env.set=HOME=/net-dies <&- >&-',
			serveBinary], {cwd: workspace, stdio: ['pipe', 'pipe', 'pipe']});
		const code = await within(EXIT_MS, 'exit', new Promise((resolve) =>
			closed.on('close', resolve)));
		assert.equal(code, 3);
	});

test('serve listens on IPv6', {skip: skip || ipv6Skip}, async () => {
	const s = await Supervisor.serving('nothing', ['--listen', 'ws://[::1]:0']);
	assert.equal(await s.stop(), 0);
	assert.match(s.stdout, /^ws:\/\/\[::1\]:\d+\/[0-9a-f]{32}\n$/);
});

test('a port in use is a failure of the system', {skip}, async () => {
	const s = await Supervisor.serving();
	const listen = /ws:\/\/[^/]*/.exec(s.stdout)[0];
	const {status: code, stderr} = run(['serve', '--listen', listen]);
	assert.equal(code, 1);
	assert.match(stderr, /Address already in use/);
	await s.stop();
});

test('the URL file is private and empty without a server', {skip}, async () => {
	const file = path.join(tree, 'url');
	fs.writeFileSync(file, 'old', {mode: 0o644});
	const s = await Supervisor.serving('nothing', ['--url-file', file]);
	assert.match(fs.readFileSync(file, 'utf8'), /^ws:\/\/.*\/[0-9a-f]{32}\n$/);
	assert.equal(fs.statSync(file).mode & 0o7777, 0o600);
	assert.equal(await s.stop(), 0);
	assert.equal(s.stdout, '');
	assert.equal(fs.readFileSync(file, 'utf8'), '');
	fs.rmSync(file);
	fs.symlinkSync('/etc/passwd', file);
	assertRefused(['--url-file', file], /is no regular file/);
	fs.rmSync(file);
});

test('own files in a workspace are made read-only and told', {skip},
	async () => {
		const parent = path.dirname(tree);
		const s = await Supervisor.serving('nothing', ['--workspace', parent]);
		assert.ok(s.stderr.includes(`read_only path=${tree} `));
		await s.stop();
	});

test('a role has its descriptors and no more', {skip}, async () => {
	const s = await Supervisor.serving();
	for (const [role, count] of [['net', 6], ['exec', 5]]) {
		const pid = await s.role(role);
		const fds = fs.readdirSync(`/proc/${pid}/fd`).map(Number);
		// exec keeps one end of net's channel, as the real one does.
		assert.deepEqual(fds.sort((a, b) => a - b),
			[...Array(count).keys()]);
		for (const fd of [0, 1])
			assert.equal(fs.readlinkSync(`/proc/${pid}/fd/${fd}`),
				'/dev/null');
		const env = fs.readFileSync(`/proc/${pid}/environ`, 'latin1');
		assert.deepEqual(env.split('\0').filter(
			(item) => item && !/^(AS|UBS)AN_OPTIONS=/.test(item)), ['TZ=UTC0']);
		assert.equal(status(pid).SigBlk, '0000000000000000');
		const stat = fs.readFileSync(`/proc/${pid}/stat`, 'latin1');
		assert.equal(Number(stat.split(') ')[1].split(' ')[3]), pid);
	}
	await s.stop();
});

test('the supervisor is locked down itself', {skip}, async () => {
	const s = await Supervisor.serving();
	const {Seccomp, NoNewPrivs, CapEff, CapPrm, CapInh, CapBnd} = status(s.pid);
	assert.deepEqual([Seccomp, NoNewPrivs, CapInh],
		['2', '1', '0000000000000000']);
	if (isRoot) {
		// Only CAP_KILL is in use; no CAP_DAC_*, CAP_FOWNER, CAP_NET_*.
		assert.equal(CapEff, '0000000000000020');
		for (const set of [CapPrm, CapBnd])
			assert.equal(BigInt(`0x${set}`) & ~0x802401e1n, 0n);
	}
	await s.stop();
});

for (const [mode, pattern] of [
	['net-unlocked', /net: lock-down is incomplete: seccomp/],
	['exec-unlocked', /exec: lock-down is incomplete: seccomp/],
	['net-dies', /not_serving reason="net: exited with status 9"/],
	['exec-dies', /not_serving reason="exec: exited with status 9"/],
])
	test(`serve exits with 3 for ${mode}`, {skip}, async () => {
		const s = new Supervisor(['--set', `env.set=HOME=/${mode}`]);
		assert.equal(await s.exited(), 3);
		assert.match(s.stderr, pattern);
		assert.equal(s.stdout, '');
	});

// Each waits longer and longer before it starts net again, all at the same time.
for (const [mode, pattern, supervisor] of [
	['net-breaks', /channel_broken role=net/],
	['net-forges', /channel_broken role=net reason="audit: malformed pairs"/],
	['net-repeats', /net: reported twice/],
	['net-crashes', /died role=net how="exited with status 9"/],
].map((row) => [...row, skip || Supervisor.serving(row[0])
	.catch((e) => ({exited() { throw e; }}))]))
	test(`serve stays down after ${mode} again and again`, {skip}, async () => {
		const s = await supervisor;
		assert.equal(await s.exited(), 4);
		assert.match(s.stderr, pattern);
		assert.match(s.stderr, /staying_down crashes=6/);
		assert.equal(s.stdout.split('\n').length, 2);
		assert.match(s.stderr, /exec: info gone generation=5/);
	});

test('a net that dies is replaced, exec stays', {skip}, async () => {
	const s = await Supervisor.serving();
	const [net, exec] = [await s.role('net'), await s.role('exec')];
	process.kill(net, 'SIGKILL');
	await s.line(/serving .* generation=2/);
	await s.line(/exec: info gone generation=1/);
	assert.equal(await s.role('exec'), exec);
	assert.notEqual(await s.role('net', net), net);
	assert.equal(await s.stop(), 0);
});

test('an exec that dies takes net with it, both are replaced', {skip},
	async () => {
		const s = await Supervisor.serving();
		const [net, exec] = [await s.role('net'), await s.role('exec')];
		process.kill(exec, 'SIGKILL');
		await s.line(/serving .* generation=2/);
		assert.ok(!isAlive(net));
		await s.role('exec', exec);
		await s.role('net', net);
		assert.equal(await s.stop(), 0);
	});

test('roles die with the supervisor', {skip}, async () => {
	const s = await Supervisor.serving('net-deaf');
	const roles = [await s.role('net'), await s.role('exec')];
	await s.stop('SIGKILL');
	await until(3000, 'end of the roles', () => !roles.some(isAlive));
});

for (const signal of ['SIGTERM', 'SIGINT'])
	test(`${signal} stops the server in order`, {skip}, async () => {
		const s = await Supervisor.serving();
		assert.equal(await s.stop(signal), 0);
		assert.match(s.stderr, /drained[^]*stopped leases/);
	});

// A SIGHUP that somebody sends is another matter: reload.test.mjs.
const terminal = `
import os, pty, sys
pid, fd = pty.fork()
if pid == 0:
    os.execv(sys.argv[1], sys.argv[1:])
def wait(what):
    out = b""
    while what not in out:
        out += os.read(fd, 4096)
wait(b"ws://")
os.kill(pid, 1)
wait(b"audit_reopened")
os.close(fd)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
`;
test('the end of its terminal stops the server in order', {skip}, () => {
	const {status, stderr} = spawnSync('python3',
		['-c', terminal, serveBinary, 'serve', '--workspace', workspace],
		{encoding: 'utf8', timeout: EXIT_MS * slow});
	assert.equal(status, 0, stderr);
});

for (const mode of ['net-deaf', 'exec-deaf'])
	test(`${mode} is killed after shutdown_timeout`, {skip}, async () => {
		// By default it would take 2 s.
		await inTime(2000, async () => {
			const s = await Supervisor.serving(
				mode, ['--set', 'limits.shutdown_timeout=300ms']);
			const roles = [await s.role('net'), await s.role('exec')];
			assert.equal(await s.stop(), 0);
			assert.ok(!roles.some(isAlive));
		});
	});

test('a second signal ends everything at once', {skip}, async () => {
	const s = await Supervisor.serving(
		'net-deaf', ['--set', 'limits.shutdown_timeout=60s']);
	s.child.kill('SIGTERM');
	await s.line(/stopping/);
	assert.equal(await s.stop(), 0);
});

test('a role cannot forge the origin of a log line', {skip}, async () => {
	const s = await Supervisor.serving('exec-scribbles');
	await s.stop();
	assert.match(s.stderr, /^exec: a\?\[2Jb$/m);
	assert.match(s.stderr, /^exec: net: c/m);
	assert.match(s.stderr, /^exec: last$/m);
});

test('a role that floods the log does not stop the server', {skip},
	async () => {
		const s = await Supervisor.serving('net-floods');
		assert.equal(await s.stop(), 0);
	});

test('a server whose log nobody reads can be stopped', {skip}, async () => {
	const s = new Supervisor(['--set', 'env.set=HOME=/net-floods'],
		{stdio: ['ignore', 'pipe', 'pipe']});
	s.child.stderr.pause();
	await until(EXIT_MS, 'URL', () => s.stdout);
	s.child.kill('SIGTERM');
	await until(EXIT_MS, 'exit', () => !isAlive(s.pid));
	s.child.stderr.resume();
	assert.equal(await s.exited(), 0);
});

test('the audit file gets the life of the server', {skip}, async () => {
	const file = path.join(tree, 'audit');
	const s = await Supervisor.serving(
		'nothing', ['--set', `audit.file=${file}`]);
	process.kill(await s.role('net'), 'SIGKILL');
	await s.line(/generation=2/);
	await s.stop();
	const events = fs.readFileSync(file, 'utf8').trim().split('\n').map(
		(line) => JSON.parse(line));
	assert.deepEqual(events.map((e) => e.event),
		['audit_open', 'role_ready', 'role_ready', 'server_start', 'crash',
			'role_ready', 'server_stop', 'server_end']);
	assert.deepEqual(events.filter((e) => e.process).map((e) => e.process),
		['exec', 'net', 'net', 'net']);
	assert.equal(fs.statSync(file).mode & 0o7777, 0o600);
	fs.rmSync(file);
});
