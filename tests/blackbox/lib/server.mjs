// A server of our own on a fresh workspace.
//
// SALLYPORT_BUILD names the build directory. SALLYPORT_COMMAND, a command line
// with {workspace} in it, puts another exec-server in its place. With
// SALLYPORT_VERBOSE set what the server logs is shown.
import {spawn} from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import readline from 'node:readline';
import {after} from 'node:test';
import {Client} from './client.mjs';
import {commandLine, descendants, fdCount, isAlive} from './proc.mjs';
import {until, within} from './wait.mjs';

const START_MS = 10000;
const STOP_MS = 8000;

export const build = process.env.SALLYPORT_BUILD ?? path.resolve('build');
export const binary = path.join(build, 'sallyport');
const foreign = process.env.SALLYPORT_COMMAND;

/** false, or why a test that is only about sallyport itself is skipped. */
export const foreignSkip = foreign ? 'SALLYPORT_COMMAND is another server' : false;
/**
 * Roles whose policy is as written. A sanitizer's run-time adds to those of the
 * others, and what it adds overlaps.
 */
export const plainPolicies = process.env.SALLYPORT_SANITIZED ?
	['supervisor', 'exec'] :
	['supervisor', 'net', 'exec', 'worker', 'init'];

/** A build with sanitizers: it is slow, and uses memory of its own. */
export const isSanitized = process.env.SALLYPORT_SANITIZED !== undefined;
/** false, or why memory is not measured here. */
export const memorySkip = foreignSkip || (isSanitized ?
	'sanitizers use memory of their own' : false);
export const rootSkip = process.getuid() === 0 ? false : 'needs root';
export const ipv6Skip = fs.existsSync('/proc/net/if_inet6') &&
	/^0{31}1 /m.test(fs.readFileSync('/proc/net/if_inet6', 'utf8')) ?
	false : 'needs IPv6';

function commandLineFor(template, workspace, args) {
	if (template !== undefined)
		return [...template.replaceAll('{workspace}', workspace).split(' '),
			...(foreign ? [] : args)];
	return [binary, 'serve', '--workspace', workspace, ...args];
}

export function fileUri(file) {
	return 'file://' + file.split('/').map(encodeURIComponent).join('/');
}

const made = new Set();
process.on('exit', () => made.forEach((dir) =>
	fs.rmSync(dir, {recursive: true, force: true})));

/** A new directory that every user may enter, gone when the tests are over. */
export function freshDirectory(name = 'work') {
	const dir = fs.mkdtempSync(path.join(os.tmpdir(), `sallyport-${name}-`));
	fs.chmodSync(dir, 0o755);
	made.add(dir);
	return dir;
}

// Those that a failing test has left behind.
const running = new Set();
after(() => Promise.all([...running].map((server) => server.stop())));

export class Server {
	/**
	 * options: args (further options of serve), set ({'limits.x': value}),
	 * env (of the server process), cwd, workspace, keep (true: the workspace
	 * outlives the server), command (in the place of our binary, as
	 * SALLYPORT_COMMAND).
	 */
	static async start(options = {}) {
		const server = new Server(options);
		try {
			await server.#announced();
		} catch (e) {
			await server.stop();
			throw new Error(`${e.message}\n${server.stderr}`);
		}
		return server;
	}

	constructor({
		args = [], set = {}, env = {}, cwd, workspace, keep = false,
		command = foreign,
	} = {}) {
		this.workspace = workspace ?? freshDirectory();
		this.keep = keep;
		this.workspaceUri = fileUri(this.workspace);
		this.stderr = '';
		this.stdout = '';
		const sets = Object.entries(set).flatMap(
			([key, value]) => ['--set', `${key}=${value}`]);
		const [file, ...rest] = commandLineFor(
			command, this.workspace, [...args, ...sets]);
		this.child = spawn(file, rest, {
			cwd: cwd ?? this.workspace,
			env: {...process.env, ...env},
			stdio: ['ignore', 'pipe', 'pipe'],
		});
		this.pid = this.child.pid;
		this.child.stderr.on('data', (d) => { this.stderr += d; });
		this.child.stdout.on('data', (d) => { this.stdout += d; });
		this.exited = new Promise((resolve) => {
			this.child.on('error', (e) => resolve({error: e}));
			this.child.on('close', (code, signal) =>
				resolve({code, signal}));
		});
		this.#killer = () => this.child.kill('SIGKILL');
		process.on('exit', this.#killer);
		running.add(this);
	}

	#killer;

	async #announced() {
		const line = new Promise((resolve) => {
			const lines = readline.createInterface(
				{input: this.child.stdout});
			lines.once('line', resolve);
		});
		const ended = this.exited.then((how) => {
			throw new Error(`the server ended: ${JSON.stringify(how)}`);
		});
		ended.catch(() => {});
		this.url = await within(
			START_MS, 'URL from the server', Promise.race([line, ended]));
		this.port = Number(new URL(this.url).port);
		this.path = new URL(this.url).pathname;
	}

	/** Ask it to end and tell how it did; force it after the deadline. */
	async stop() {
		running.delete(this);
		process.removeListener('exit', this.#killer);
		if (process.env.SALLYPORT_VERBOSE)
			console.log(this.stderr);
		this.child.kill('SIGTERM');
		try {
			return await within(
				STOP_MS, 'end of the server', this.exited);
		} catch (e) {
			this.child.kill('SIGKILL');
			await this.exited;
			throw e;
		} finally {
			if (!this.keep)
				fs.rmSync(this.workspace, {recursive: true, force: true});
		}
	}

	/** A connected client, initialized unless told otherwise. */
	connect(options = {}) {
		return Client.connect(this.url, {cwd: this.workspaceUri, ...options});
	}

	/** The process ids of one role, "net" or "exec". */
	rolePids(role) {
		return descendants(this.pid).filter((pid) => isAlive(pid) &&
			path.basename(commandLine(pid)[0] ?? '') === `sallyport-${role}`);
	}

	/** The one process of a role, once it is there. */
	role(role) {
		return until(START_MS, `sallyport-${role}`, () => {
			const pids = this.rolePids(role);
			return pids.length > 0 ? pids[0] : undefined;
		});
	}

	/** All processes below and with the supervisor. */
	pids() {
		return [this.pid, ...descendants(this.pid).filter(isAlive)];
	}

	/** Processes and descriptors now, to be compared later. */
	census() {
		const pids = this.pids();
		return {
			processes: pids.length,
			fds: pids.reduce((sum, p) => sum + (fdCount(p) ?? 0), 0),
		};
	}
}

/** Do body with a server of these options, which ends with it. */
export async function withServer(options, body) {
	const server = await Server.start(options);
	try {
		return await body(server);
	} catch (e) {
		e.stack += `\nits log, at the end:\n${server.stderr.slice(-2000)}`;
		throw e;
	} finally {
		await server.stop();
	}
}
