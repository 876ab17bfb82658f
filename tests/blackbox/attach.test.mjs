// sallyport attach: one server for a runtime id, shared by leases.
import assert from 'node:assert/strict';
import {after, afterEach, test} from 'node:test';
import {spawn} from 'node:child_process';
import {createHash} from 'node:crypto';
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import {fileURLToPath} from 'node:url';
import {AppServer} from './lib/appserver.mjs';
import {Client} from './lib/client.mjs';
import {commandLine, descendants, fdCount, isAlive, status, uniqueWord,
	withArgument} from './lib/proc.mjs';
import {binary, fileUri, foreignSkip, freshDirectory,
	rootSkip} from './lib/server.mjs';
import {pause, slow, until, within} from './lib/wait.mjs';

const own = {skip: foreignSkip};
const asRoot = {skip: foreignSkip || rootSkip};
const START_MS = 15000;
const END_MS = 8000;
const RELEASED_MS = 1000;
const fake = fileURLToPath(new URL('lib/appserver.mjs', import.meta.url));
const app = await AppServer.start();
after(() => app.stop());

const workspace = freshDirectory();
const runtime = freshDirectory('run');
fs.chmodSync(runtime, 0o700);
const started = new Set();

const keyOf = (id) => createHash('sha256').update(id).digest('hex').slice(0, 16);
const fileOf = (id, kind, base = runtime) =>
	path.join(base, `sallyport/attach-${keyOf(id)}.${kind}`);

/** The keeper of a runtime id, or undefined. */
function keeperOf(id) {
	return withArgument(keyOf(id)).find(
		(pid) => commandLine(pid)[1] === 'attach-keeper');
}

const serverOf = (id) => descendants(keeperOf(id)).find(
	(pid) => commandLine(pid)[1] === 'serve');

/** Processes that were started to serve a runtime id. */
function processesOf(id) {
	const keeper = keeperOf(id);
	return keeper ? [keeper, ...descendants(keeper)] : [];
}

class Attach {
	stdout = '';
	stderr = '';

	constructor(id, {
		where = app.where, args = [], env = {}, command = [], dir = workspace,
		stdin = 'pipe', prefix = [], base = runtime,
	} = {}) {
		const line = [...prefix, binary, 'attach', '--app-server', where,
			'--workspace', dir, ...(id ? ['--runtime-id', id] : []), ...args,
			...(command.length > 0 ? ['--', ...command] : [])];
		this.child = spawn(line[0], line.slice(1), {
			env: {...process.env, XDG_RUNTIME_DIR: base, ...env},
			stdio: [stdin, 'pipe', 'pipe'],
		});
		this.pid = this.child.pid;
		this.child.stdin?.on('error', () => {});
		this.child.stderr.on('data', (d) => { this.stderr += d; });
		this.end = new Promise((resolve) => this.child.on('close',
			(code, signal) => {
				started.delete(this);
				resolve({code, signal, stderr: this.stderr,
					stdout: this.stdout});
			}));
		this.attached = new Promise((resolve, reject) => {
			this.child.stdout.on('data', (d) => {
				this.stdout += d;
				if (this.stdout.endsWith('\n'))
					resolve(JSON.parse(this.stdout));
			});
			this.end.then(({code}) => reject(
				new Error(`attach ended with ${code}\n${this.stderr}`)));
		});
		this.attached.catch(() => {});
		started.add(this);
	}

	static async start(id, options) {
		const attach = new Attach(id, options);
		attach.told = await within(START_MS, 'line of attach', attach.attached);
		attach.url = attach.told.execServerUrl;
		return attach;
	}

	/** Close its standard input; tell how it ended. */
	release() {
		this.child.stdin.end();
		return within(END_MS, 'end of attach', this.end);
	}
}

/** How an attach ends that is not to succeed. */
const failing = (id, options) =>
	within(START_MS, 'end of attach', new Attach(id, options).end);

afterEach(async () => {
	for (const attach of started) {
		attach.child.kill('SIGKILL');
		await attach.end;
	}
	await until(END_MS, 'no keeper', () =>
		withArgument('attach-keeper').every((pid) => !isOwn(pid)));
	assert.deepEqual(fs.existsSync(path.join(runtime, 'sallyport')) ?
		fs.readdirSync(path.join(runtime, 'sallyport')) : [], []);
});

const isOwn = (pid) => commandLine(pid).some((a) => a.includes(workspace));

/** Resolves to how many ms it took for connections to be refused. */
async function untilRefused(url) {
	const begin = Date.now();
	const port = Number(new URL(url).port);
	await until(END_MS, 'the end of the server', () =>
		new Promise((resolve) => {
			const socket = net.connect(port, '127.0.0.1');
			socket.on('connect', () => { socket.destroy(); resolve(false); });
			socket.on('error', () => resolve(true));
		}));
	return Date.now() - begin;
}

async function answersAt(url) {
	const client = await Client.connect(url);
	const got = await client.call('environment/status', null);
	assert.deepEqual(got, {status: 'ready'});
	return client;
}

test('the environment is registered and told in one line', own, async () => {
	const id = uniqueWord();
	const attach = await Attach.start(id);
	const key = keyOf(id);
	assert.deepEqual(attach.told, {
		environmentId: `sallyport-sandbox-${key}`,
		execServerUrl: attach.url, cwd: workspace});
	assert.match(attach.url, /^ws:\/\/127\.0\.0\.1:\d+\/[0-9a-f]{32}$/);
	const [hello] = app.called('initialize').slice(-1);
	assert.equal(hello.params.capabilities.experimentalApi, true);
	assert.ok(app.called('initialized').length > 0);
	const [added] = app.called('environment/add').slice(-1);
	assert.deepEqual(added.params, {
		environmentId: `sallyport-sandbox-${key}`,
		execServerUrl: attach.url});
	for (const [file, mode] of [['', 0o700], [`attach-${key}.sock`, 0o600],
		[`attach-${key}.lock`, 0o600]])
		assert.equal(fs.statSync(path.join(runtime, 'sallyport', file)).mode &
			0o777, mode, file);
	await (await answersAt(attach.url)).close();
	const {code, stdout} = await attach.release();
	assert.equal(code, 0);
	assert.equal(stdout.split('\n').length, 2);
});

test('two share a server; it ends within a second of the last one, with 1001',
	own, async () => {
		const id = uniqueWord();
		const [first, second] = await Promise.all(
			[Attach.start(id), Attach.start(id)]);
		assert.equal(first.url, second.url);
		const client = await answersAt(first.url);
		assert.equal((await first.release()).code, 0);
		await pause(400);
		assert.deepEqual(await client.call('environment/status', null),
			{status: 'ready'});
		const begin = Date.now();
		second.child.stdin.end();
		const closed = await within(END_MS, 'close', client.closed);
		await untilRefused(second.url);
		assert.ok(Date.now() - begin < RELEASED_MS * slow,
			`${Date.now() - begin} ms`);
		assert.deepEqual(closed, {code: 1001, reason: 'shutdown'});
		assert.equal((await second.end).code, 0);
		assert.deepEqual(processesOf(id), []);
	});

test('SIGINT and SIGTERM give the lease back, status 0', own, async () => {
	const id = uniqueWord();
	for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
		const attach = await Attach.start(id);
		attach.child.kill(signal);
		const {code} = await within(END_MS, 'end', attach.end);
		assert.equal(code, 0, signal);
		await untilRefused(attach.url);
	}
});

test('what is written to its standard input does not matter', own, async () => {
	const attach = await Attach.start(uniqueWord());
	attach.child.stdin.write('x'.repeat(100000));
	await (await answersAt(attach.url)).close();
	assert.equal((await attach.release()).code, 0);
});

test('with /dev/null as standard input the lease is given back at once', own,
	async () => {
		const {code, stdout} = await failing(uniqueWord(), {stdin: 'ignore'});
		assert.equal(code, 0);
		assert.ok(JSON.parse(stdout).execServerUrl);
	});

test('ten at once share one server', own, async () => {
	const id = uniqueWord();
	const all = await Promise.all(
		Array.from({length: 10}, () => Attach.start(id)));
	assert.equal(new Set(all.map(({url}) => url)).size, 1);
	assert.equal(withArgument(keyOf(id)).length, 1, 'one keeper');
	const last = all.pop();
	const ends = await Promise.all(all.map((attach) => attach.release()));
	assert.ok(ends.every(({code}) => code === 0));
	await (await answersAt(last.url)).close();
	await last.release();
});

test('ids, workspaces and users have servers of their own', own, async () => {
	const other = freshDirectory();
	const [one, two, third] = await Promise.all([Attach.start(uniqueWord()),
		Attach.start(uniqueWord()), Attach.start(undefined, {dir: other})]);
	assert.equal(new Set([one.url, two.url, third.url]).size, 3);
	assert.equal(third.told.environmentId,
		`sallyport-sandbox-${keyOf(other)}`);
	await Promise.all([one, two, third].map((attach) => attach.release()));
});

test('a reacquire during release keeps server and URL', own, async () => {
	const id = uniqueWord();
	const first = await Attach.start(id);
	const client = await answersAt(first.url);
	// Stopped before it gives the lease back, so both happen together.
	first.child.kill('SIGSTOP');
	first.child.stdin.end();
	const keeper = keeperOf(id);
	process.kill(keeper, 'SIGSTOP');
	first.child.kill('SIGCONT');
	const second = new Attach(id);
	// It has asked when it waits for the keeper; the lock is free again.
	await until(START_MS, 'its request', () =>
		fs.existsSync(`/proc/${second.pid}/wchan`) &&
		app.called('initialize').length > 0 && isWaiting(second.pid));
	process.kill(keeper, 'SIGCONT');
	await within(START_MS, 'line of attach', second.attached);
	assert.equal((await within(END_MS, 'end', first.end)).code, 0);
	assert.equal(JSON.parse(second.stdout).execServerUrl, first.url);
	assert.deepEqual(await client.call('environment/status', null),
		{status: 'ready'});
	const fresh = await Client.connect(first.url, {initialize: false});
	const hello = await fresh.call('initialize', {clientName: 'again'});
	assert.equal(typeof hello.sessionId, 'string');
	await second.release();
});

/** Whether a process waits with a socket of the runtime directory. */
function isWaiting(pid) {
	return status(pid)?.State?.[0] === 'S' &&
		fs.readdirSync(`/proc/${pid}/fd`).some((fd) => {
			try {
				return fs.readlinkSync(`/proc/${pid}/fd/${fd}`)
					.endsWith('/sallyport');
			} catch {
				return false;
			}
		});
}

test('after the release a new lease starts a new server', own, async () => {
	const id = uniqueWord();
	const first = await Attach.start(id);
	assert.equal((await first.release()).code, 0);
	await untilRefused(first.url);
	const second = await Attach.start(id);
	assert.notEqual(second.url, first.url);
	await second.release();
});

test('a release ends what TERM does not, before it returns', own, async () => {
	const id = uniqueWord();
	const attach = await Attach.start(id);
	const client = await answersAt(attach.url);
	const word = uniqueWord();
	client.cwd = fileUri(workspace);
	await client.start(['sh', '-c', 'trap "" TERM HUP INT; ' +
		'(trap "" TERM; sleep 600) & while :; do sleep 0.1; done', word]);
	await until(END_MS, 'the command', () => withArgument(word).length > 0);
	const begin = Date.now();
	attach.child.stdin.end();
	await within(END_MS, 'end', attach.end);
	assert.deepEqual(withArgument(word), []);
	assert.ok(Date.now() - begin < RELEASED_MS * slow,
		`${Date.now() - begin} ms`);
});

test('a killed attach has given its lease back', own, async () => {
	const id = uniqueWord();
	const [killed, other] = await Promise.all(
		[Attach.start(id), Attach.start(id)]);
	killed.child.kill('SIGKILL');
	await killed.end;
	await pause(400);
	await (await answersAt(other.url)).close();
	other.child.kill('SIGKILL');
	assert.ok(await untilRefused(other.url) < RELEASED_MS * slow);
});

test('a killed keeper takes the server along; the next attach starts anew',
	own, async () => {
		const id = uniqueWord();
		const attach = await Attach.start(id);
		const client = await answersAt(attach.url);
		process.kill(keeperOf(id), 'SIGKILL');
		const {code, stderr} = await within(END_MS, 'end', attach.end);
		assert.equal(code, 9, stderr);
		assert.match(stderr, /keeper is gone/);
		assert.equal((await within(END_MS, 'close', client.closed)).code, 1001);
		await untilRefused(attach.url);
		// What it left is in the way of nobody.
		assert.ok(fs.existsSync(fileOf(id, 'sock')));
		const next = await Attach.start(id);
		await (await answersAt(next.url)).close();
		await next.release();
	});

test('a killed server ends every attach with status 9', own, async () => {
	const id = uniqueWord();
	const all = await Promise.all([Attach.start(id), Attach.start(id)]);
	process.kill(serverOf(id), 'SIGKILL');
	for (const attach of all) {
		const {code, stderr} = await within(END_MS, 'end', attach.end);
		assert.equal(code, 9, stderr);
		assert.match(stderr, /signal 9 ended the server/);
	}
	const next = await Attach.start(id);
	await next.release();
});

test('leftovers of a dead keeper are taken over', own, async () => {
	const id = uniqueWord();
	fs.mkdirSync(path.join(runtime, 'sallyport'),
		{recursive: true, mode: 0o700});
	fs.writeFileSync(fileOf(id, 'lock'), '');
	fs.writeFileSync(fileOf(id, 'sock'), 'not even a socket');
	const attach = await Attach.start(id);
	assert.equal(fs.statSync(fileOf(id, 'sock')).mode & 0o777, 0o600);
	await attach.release();
});

test('the URL is in no argument, file or log', own, async () => {
	const id = uniqueWord();
	const attach = await Attach.start(id, {args: ['--verbose']});
	await (await answersAt(attach.url)).close();
	const secret = new URL(attach.url).pathname.slice(1);
	for (const pid of [attach.pid, ...processesOf(id)]) {
		assert.ok(!commandLine(pid).join(' ').includes(secret));
		assert.ok(!fs.readFileSync(`/proc/${pid}/environ`, 'latin1')
			.includes(secret));
	}
	for (const kind of ['sock', 'lock'])
		assert.equal(fs.statSync(fileOf(id, kind)).size, 0);
	const {stderr} = await attach.release();
	assert.match(stderr, /serving address=/, 'the log of the server');
	assert.ok(!stderr.includes(secret));
});

test('a standard error that nobody reads holds nobody up', own, async () => {
	const full = path.join(freshDirectory('full'), 'pipe');
	const attach = await Attach.start(uniqueWord(), {prefix: ['sh', '-c',
		'mkfifo "$0" && exec 3<>"$0" && head -c 65536 /dev/zero >&3 && ' +
		'exec "$@" 2>&3', full], args: ['--verbose']});
	await (await answersAt(attach.url)).close();
	assert.equal((await attach.release()).code, 0);
});

test('the keeper holds nothing of the attach that made it', own, async () => {
	const id = uniqueWord();
	const maker = await Attach.start(id);
	const joiner = await Attach.start(id);
	// Its pipes close although the keeper lives on: "close" would not come.
	await maker.release();
	const keeper = keeperOf(id);
	assert.equal(fs.readlinkSync(`/proc/${keeper}/cwd`), '/');
	for (const fd of [0, 1, 2])
		assert.equal(fs.readlinkSync(`/proc/${keeper}/fd/${fd}`), '/dev/null');
	assert.equal(Number(status(keeper).PPid) === joiner.pid, false);
	assert.ok(fdCount(keeper) < 12, String(fdCount(keeper)));
	await joiner.release();
});

test('who joins with other options is refused', own, async () => {
	const id = uniqueWord();
	const first = await Attach.start(id, {args: ['--preset', 'strict']});
	for (const options of [{}, {args: ['--preset', 'open']},
		{args: ['--preset', 'strict', '--allow-network']},
		{args: ['--preset', 'strict'], dir: freshDirectory()}]) {
		const {code, stderr, stdout} = await failing(id, options);
		assert.equal(code, 8, stderr);
		assert.equal(stdout, '');
		assert.match(stderr, /has other options/);
	}
	await (await answersAt(first.url)).close();
	const same = await Attach.start(id, {args: ['--preset', 'strict'],
		dir: `${workspace}/../${path.basename(workspace)}/`});
	assert.equal(same.url, first.url);
	await Promise.all([first.release(), same.release()]);
});

test('a server that does not start is told with its own words', own,
	async () => {
		for (const [args, pattern] of [
			[['--set', 'no.such=key'], /no section \[no\]/],
			[['--preset', 'none'], /preset/],
		]) {
			const {code, stderr, stdout} = await failing(uniqueWord(), {args});
			assert.equal(code, 8, stderr);
			assert.equal(stdout, '');
			assert.match(stderr, pattern);
			assert.match(stderr, /the server ended with status 2/);
		}
	});

test('1: without a usable workspace nothing is registered', own, async () => {
	const id = uniqueWord();
	const before = app.called('environment/add').length;
	const {code} = await failing(id, {dir: path.join(workspace, 'missing')});
	assert.equal(code, 2);
	assert.equal(app.called('environment/add').length, before);
});

for (const [name, where] of [
	['3: remote app-server', 'wss://codex.example.test'],
	['3: remote app-server without TLS', 'ws://codex.example.test:4500'],
	['4: DNS name 127.example.test', 'ws://127.example.test:4500'],
	['4: an address of another host', 'ws://192.0.2.1:4500'],
	['4: every address', 'ws://0.0.0.0:4500'],
	['4: an address mapped into IPv6', 'ws://[::ffff:127.0.0.1]:4500'],
])
	test(`${name}: refused before anything is started`, own, async () => {
		const id = uniqueWord();
		const {code, stdout, stderr} = await failing(id, {where});
		assert.equal(code, 3, stderr);
		assert.equal(stdout, '');
		assert.match(stderr, /not on this host/);
		assert.equal(keeperOf(id), undefined);
	});

test('localhost and ::1 are this host', own, async (t) => {
	const port = new URL(app.where).port;
	const attach = await Attach.start(uniqueWord(),
		{where: `ws://localhost:${port}`});
	await attach.release();
	let six;
	try {
		six = await AppServer.start({}, {host: '::1'});
	} catch {
		t.diagnostic('no IPv6 here');
		return;
	}
	await (await Attach.start(uniqueWord(), {where: six.where})).release();
	six.stop();
});

test('an app-server on a socket file', own, async () => {
	const at = path.join(freshDirectory('app'), 'app.sock');
	const other = await AppServer.start({}, at);
	const attach = await Attach.start(uniqueWord(), {where: `unix:${at}`});
	assert.equal(other.called('environment/add')[0].params.execServerUrl,
		attach.url);
	await attach.release();
	other.stop();
});

test('an app-server that is a child, on lines', own, async () => {
	const log = path.join(freshDirectory('app'), 'log');
	const attach = await Attach.start(uniqueWord(), {where: 'stdio',
		command: [process.execPath, fake, '{}', log]});
	// It answers before it writes down what it has seen.
	const seen = await until(END_MS, 'what it has seen', () => {
		const all = JSON.parse(fs.readFileSync(log, 'utf8') || '[]');
		return all.length === 3 && all;
	});
	assert.deepEqual(seen.map(({method}) => method),
		['initialize', 'initialized', 'environment/add']);
	assert.equal(seen[2].params.execServerUrl, attach.url);
	assert.equal((await attach.release()).code, 0);
	assert.match(fs.readFileSync(log, 'utf8'), /ended$/);
});

test('stdio and a command belong together', own, async () => {
	assert.equal((await failing(uniqueWord(), {where: 'stdio'})).code, 2);
	assert.equal((await failing(uniqueWord(), {command: ['true']})).code, 2);
	const {code, stderr} = await failing(uniqueWord(),
		{where: 'stdio', command: ['/no/such/program']});
	assert.equal(code, 4, stderr);
});

const UNKNOWN = {code: -32600, message: 'Invalid request: unknown variant ' +
	'`environment/add`, expected one of `initialize`, `thread/start`'};
const noise = Array.from({length: 100}, (_, i) =>
	({method: 'noise/made', params: {i}}));

/** Ways in which an app-server can answer, and what becomes of it. */
const rows = [
	['an older version', {version: '0.170.9'}, 5, /is 0\.170\.9.*0\.171\.0/],
	['a version before the release', {version: '0.171.0-alpha.1'}, 5, /alpha/],
	['no version', {userAgent: 'something'}, 5, /does not tell its version/],
	['a user agent that is no text', {userAgent: 17}, 5, /version/],
	['unknown variant', {error: {'environment/add': UNKNOWN}}, 6,
		/does not know the method environment\/add/],
	['method not found', {error: {'environment/add':
		{code: -32601, message: 'what?'}}}, 6, /does not know/],
	['Unknown method', {error: {'environment/add':
		{code: -1, message: 'Unknown method: x'}}}, 6, /does not know/],
	['another error', {error: {'environment/add':
		{code: -32603, message: 'no room\x1b[2J'}}}, 7, /no room\?\[2J/],
	['an error of initialize', {error: {initialize:
		{code: -32600, message: 'not you'}}}, 7, /not you/],
	['an error without a text', {error: {'environment/add': {}}}, 7,
		/without a message/],
	['garbage', {raw: {initialize: 'garbage'}}, 4, /no JSON-RPC/],
	['an array', {raw: {'environment/add': '[]'}}, 4, /no JSON-RPC/],
	['a repeated key', {raw: {initialize: '{"id":1,"id":1,"result":{}}'}}, 4,
		/no JSON-RPC/],
	['neither result nor error', {raw: {'environment/add': '{"id":2}'}}, 4,
		/without a result/],
	['depth', {raw: {initialize: `{"id":1,"result":${'['.repeat(9999)}`}}, 4,
		/no JSON-RPC/],
	['another id', {raw: {initialize: '{"id":7,"result":{}}'}}, 4, /in time/],
	['no answer to initialize', {silent: 'initialize'}, 4, /in time/],
	['no answer to environment/add', {silent: 'environment/add'}, 4,
		/in time/],
];

for (const [name, options, want, pattern] of rows)
	test(`app-server: ${name} is status ${want}`, own, async () => {
		const id = uniqueWord();
		const other = await AppServer.start(options);
		const {code, stdout, stderr} = await failing(id, {where: other.where,
			args: /in time/.test(pattern) ? ['--timeout', '1'] : []});
		assert.equal(code, want, stderr);
		assert.equal(stdout, '');
		assert.match(stderr.trim().split('\n').at(-1), pattern);
		other.stop();
		await until(RELEASED_MS + START_MS, 'no keeper',
			() => keeperOf(id) === undefined);
	});

test('an app-server that is too old costs no server', own, async () => {
	const id = uniqueWord();
	const other = await AppServer.start({version: '0.1.0'});
	const {stderr} = await failing(id, {where: other.where});
	assert.doesNotMatch(stderr, /serving|ready role/);
	other.stop();
});

for (const [name, text] of [
	['a message of 33 MiB', 'x'.repeat(33 * 1024 * 1024)],
	['33 MiB without an end', ' '.repeat(33 * 1024 * 1024)],
])
	test(`app-server: ${name} is too large`, own, async () => {
		const options = {raw: {initialize: text}};
		const other = await AppServer.start(options);
		const got = await failing(uniqueWord(), {where: other.where});
		assert.equal(got.code, 4, got.stderr);
		assert.match(got.stderr, /too large/);
		other.stop();
	});

test('notifications and requests before an answer are taken', own, async () => {
	const other = await AppServer.start({before: {
		initialize: noise,
		'environment/add': [...noise, {id: 2, method: 'currentTime/read'}],
	}});
	const attach = await Attach.start(uniqueWord(), {where: other.where});
	const refused = await until(END_MS, 'the refusal',
		() => other.seen.find(({error}) => error));
	assert.deepEqual([refused.id, refused.error.code], [2, -32601]);
	other.sockets.forEach((socket) => noise.forEach((message) =>
		socket.send(JSON.stringify(message))));
	await (await answersAt(attach.url)).close();
	assert.equal((await attach.release()).code, 0);
	other.stop();
});

test('an app-server that ends takes the lease along', own, async () => {
	const other = await AppServer.start();
	const attach = await Attach.start(uniqueWord(), {where: other.where});
	other.stop();
	const {code} = await within(END_MS, 'end', attach.end);
	assert.equal(code, 4);
	assert.ok(await untilRefused(attach.url) < RELEASED_MS * slow);
});

test('nobody listens: status 4', own, async () => {
	const other = await AppServer.start();
	other.stop();
	const {code} = await failing(uniqueWord(), {where: other.where});
	assert.equal(code, 4);
});

test('the runtime directory must be ours alone', asRoot, async () => {
	for (const spoil of [
		(dir) => fs.mkdirSync(dir, {mode: 0o755}),
		(dir) => {
			fs.mkdirSync(dir, {mode: 0o700});
			fs.chownSync(dir, 1234, 1234);
		},
		(dir) => fs.symlinkSync(runtime, dir),
		(dir) => fs.writeFileSync(dir, ''),
	]) {
		const base = freshDirectory('run');
		spoil(path.join(base, 'sallyport'));
		const {code, stderr} = await failing(uniqueWord(), {base});
		assert.equal(code, 1, stderr);
	}
	const {code} = await failing(uniqueWord(), {base: '/no/such/directory'});
	assert.equal(code, 1);
});

test('a plain user has servers of its own', asRoot, async () => {
	const user = ['setpriv', '--reuid', '1234', '--regid', '1234',
		'--clear-groups'];
	const base = freshDirectory('run');
	const dir = freshDirectory();
	for (const each of [base, dir])
		fs.chownSync(each, 1234, 1234);
	fs.chmodSync(base, 0o700);
	const id = uniqueWord();
	const attach = await Attach.start(id, {prefix: user, base, dir});
	await (await answersAt(attach.url)).close();
	assert.equal(status(keeperOf(id)).Uid.split('\t')[0], '1234');
	// Not even root joins: the keeper is not its own.
	fs.chownSync(path.join(base, 'sallyport'), 0, 0);
	const {code, stderr} = await failing(id, {base, dir});
	assert.equal(code, 1, stderr);
	assert.match(stderr, /another user's/);
	fs.chownSync(path.join(base, 'sallyport'), 1234, 1234);
	assert.equal((await attach.release()).code, 0);
	assert.deepEqual(fs.readdirSync(path.join(base, 'sallyport')), []);
});

test('usage errors are status 2', own, async () => {
	const bad = (args) => new Promise((resolve) =>
		spawn(binary, ['attach', ...args], {stdio: 'ignore',
			env: {...process.env, XDG_RUNTIME_DIR: runtime}})
			.on('close', resolve));
	const where = ['--app-server', app.where];
	const dir = ['--workspace', workspace];
	for (const args of [[], where, dir, [...where, ...dir, '--no-such'],
		[...where, ...dir, 'stray'], [...where, ...dir, '--timeout', '0'],
		[...where, ...dir, '--timeout', '3601'],
		[...where, ...dir, '--runtime-id', ''],
		[...where, ...dir, '--runtime-id', 'x'.repeat(1025)],
		[...where, ...dir, '--url-file', '/tmp/x'],
		['--app-server', 'http://127.0.0.1', ...dir],
		['--app-server', 'unix:/no/such', ...dir]])
		assert.equal(await bad(args), 2, args.join(' '));
	assert.equal(await bad(['--help']), 0);
});

test('a runtime id of 1024 bytes', own, async () => {
	const id = 'x'.repeat(1024);
	const attach = await Attach.start(id);
	assert.equal(attach.told.environmentId, `sallyport-sandbox-${keyOf(id)}`);
	await attach.release();
});
