// The real app-server, with environments that sallyport attach registers.
import assert from 'node:assert/strict';
import net from 'node:net';
import path from 'node:path';
import {spawn} from 'node:child_process';
import {test} from 'node:test';
import {openSocket} from '../blackbox/lib/appserver.mjs';
import {binary, freshDirectory} from '../blackbox/lib/server.mjs';
import {until, within} from '../blackbox/lib/wait.mjs';
import {clientSkip, startAppServer} from './codex.mjs';
import {runCommand} from './model.mjs';

const own = {skip: clientSkip};
const CALL_MS = 30000;
const TURN_MS = 60000;

/** The app-server's interface, as a host uses it. */
class Host {
	#last = 0;
	#waiting = new Map();
	#told = [];

	static async connect(url) {
		const host = new Host();
		host.socket = await within(CALL_MS, 'connection', openSocket(url));
		host.socket.on('message', (text) => host.#take(JSON.parse(text)));
		await host.call('initialize', {
			clientInfo: {name: 'host', version: '1'},
			capabilities: {experimentalApi: true}});
		host.socket.send(JSON.stringify({method: 'initialized'}));
		return host;
	}

	#take(message) {
		if (message.method !== undefined)
			this.#told.push(message);
		else
			this.#waiting.get(message.id)?.(message);
	}

	async call(method, params) {
		const id = ++this.#last;
		const {result, error} = await within(CALL_MS, method,
			new Promise((resolve) => {
				this.#waiting.set(id, resolve);
				this.socket.send(JSON.stringify({id, method, params}));
			}));
		if (error)
			throw new Error(`${method}: ${error.message}`);
		return result;
	}

	/** Let a new thread do a turn in an environment. */
	async turn(environment) {
		const {thread} = await this.call('thread/start', {
			environments: [environment], approvalPolicy: 'never',
			sandbox: 'danger-full-access'});
		const {turn} = await this.call('turn/start', {threadId: thread.id,
			input: [{type: 'text', text: 'do as the script says',
				text_elements: []}]});
		const done = await until(TURN_MS, 'end of the turn', () =>
			this.#told.find(({method, params}) => method === 'turn/completed' &&
				params.turn.id === turn.id));
		return done.params.turn.status;
	}
}

/** What attach told, and the end of it. */
async function attach(where, workspace, runtime, command = []) {
	const child = spawn(binary, ['attach', '--app-server', where,
		'--runtime-id', 'box', '--workspace', workspace,
		'--set', 'env.set=SALLYPORT_MARK=on-the-server',
		...(command.length > 0 ? ['--', ...command] : [])],
	{env: {...process.env, XDG_RUNTIME_DIR: runtime},
		stdio: ['pipe', 'pipe', 'pipe']});
	let out = '', err = '';
	child.stdout.on('data', (d) => { out += d; });
	child.stderr.on('data', (d) => { err += d; });
	const end = new Promise((resolve) =>
		child.on('close', (code) => resolve(code)));
	const told = await within(CALL_MS, 'line of attach', Promise.race([
		until(CALL_MS, 'line', () => out.endsWith('\n') && JSON.parse(out)),
		end.then((code) => { throw new Error(`status ${code}\n${err}`); })]));
	return {...told, release: () => {
		child.stdin.end();
		return within(CALL_MS, 'end of attach', end);
	}};
}

const refused = (url) => new Promise((resolve) => {
	const socket = net.connect(new URL(url).port, '127.0.0.1');
	socket.on('connect', () => { socket.destroy(); resolve(false); });
	socket.on('error', () => resolve(true));
});

for (const [how, listen] of [
	['a WebSocket', () => undefined],
	['a socket file', (home) => path.join(home, 'app.sock')],
])
	test(`turns in an environment that is registered over ${how}`, own,
		async () => {
			const results = [];
			const workspace = freshDirectory();
			const runtime = freshDirectory('run');
			const app = await startAppServer(listen, async function* () {
				results.push(yield* runCommand(
					'echo "$SALLYPORT_MARK"; pwd; exit 7'));
			});
			try {
				const one = await attach(app.where, workspace, runtime);
				const two = await attach(app.where, workspace, runtime);
				assert.equal(one.execServerUrl, two.execServerUrl);
				const host = await Host.connect(app.url);
				const {environmentId, cwd} = one;
				const info = await host.call('environment/info',
					{environmentId});
				assert.equal(typeof info.shell.path, 'string');
				assert.equal((await host.call('environment/status',
					{environmentId})).status, 'ready');
				assert.equal(await one.release(), 0);
				assert.equal(await host.turn({environmentId, cwd}),
					'completed');
				assert.equal(app.model.error, undefined);
				assert.equal(results.length, 1);
				assert.equal(results[0].code, 7, results[0].text);
				assert.deepEqual(results[0].output.trim().split('\n'),
					['on-the-server', workspace]);
				const begin = Date.now();
				assert.equal(await two.release(), 0);
				assert.ok(await refused(two.execServerUrl));
				assert.ok(Date.now() - begin < 1000,
					`${Date.now() - begin} ms`);
			} finally {
				app.stop();
			}
		});

test('the app-server as a child of attach', own, async () => {
	const app = await startAppServer(null, async function* () {});
	try {
		const one = await attach('stdio', freshDirectory(),
			freshDirectory('run'), app.command);
		assert.match(one.environmentId, /^sallyport-sandbox-[0-9a-f]{16}$/);
		assert.equal(await one.release(), 0);
	} finally {
		app.stop();
	}
});
