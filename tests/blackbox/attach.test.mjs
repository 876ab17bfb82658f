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
	const client = await answersAt(attach.url);
	client.close();
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
