// sallyport attach, run on a runtime directory and a workspace of the test file.
import assert from 'node:assert/strict';
import {after, afterEach} from 'node:test';
import {spawn} from 'node:child_process';
import {createHash} from 'node:crypto';
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import {AppServer} from './appserver.mjs';
import {Client} from './client.mjs';
import {commandLine, descendants, withArgument} from './proc.mjs';
import {binary, freshDirectory} from './server.mjs';
import {until, within} from './wait.mjs';

export const START_MS = 15000;
export const END_MS = 8000;
export const RELEASED_MS = 1000;
export const app = await AppServer.start();
after(() => app.stop());

export const workspace = freshDirectory();
export const runtime = freshDirectory('run');
fs.chmodSync(runtime, 0o700);
const started = new Set();

export const keyOf = (id) => createHash('sha256').update(id).digest('hex').slice(0, 16);
export const fileOf = (id, kind, base = runtime) =>
	path.join(base, `sallyport/attach-${keyOf(id)}.${kind}`);

/** The keeper of a runtime id, or undefined. */
export function keeperOf(id) {
	return withArgument(keyOf(id)).find(
		(pid) => commandLine(pid)[1] === 'attach-keeper');
}

export const serverOf = (id) => descendants(keeperOf(id)).find(
	(pid) => commandLine(pid)[1] === 'serve');

/** Processes that were started to serve a runtime id. */
export function processesOf(id) {
	const keeper = keeperOf(id);
	return keeper ? [keeper, ...descendants(keeper)] : [];
}

export class Attach {
	stdout = '';
	stderr = '';

	constructor(id, {
		where = app.where, args = [], env = {}, command = [], dir = workspace,
		stdin = 'pipe', prefix = [], base = runtime, whole,
	} = {}) {
		const line = [...prefix, binary, 'attach', ...whole ?? ['--app-server',
			where, '--workspace', dir, ...(id ? ['--runtime-id', id] : []),
			...args, ...(command.length > 0 ? ['--', ...command] : [])]];
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

	/** With these arguments and no others. */
	static run(whole) {
		return Attach.start(undefined, {whole});
	}

	/** Close its standard input; tell how it ended. */
	release() {
		this.child.stdin.end();
		return within(END_MS, 'end of attach', this.end);
	}
}

/** How an attach ends that is not to succeed. */
export const failing = (id, options) =>
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
export async function untilRefused(url) {
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

export async function answersAt(url) {
	const client = await Client.connect(url);
	const got = await client.call('environment/status', null);
	assert.deepEqual(got, {status: 'ready'});
	return client;
}
