// A small client of the protocol: requests, notifications, and waiting.
import WebSocket from 'ws';
import {until, within} from './wait.mjs';

const CALL_MS = 10000;

export const plainPath = '/usr/local/bin:/usr/bin:/bin';

/** An error answer. */
export class RpcError extends Error {
	constructor({code, message, data}) {
		super(`${code} ${message}`);
		this.code = code;
		this.text = message;
		this.data = data;
	}
}

export const encode = (data) => Buffer.from(data).toString('base64');
export const decode = (text) => Buffer.from(text, 'base64');

export class Client {
	#last = 0;
	#waiting = new Map();
	#listeners = new Set();
	#processes = new Map();

	/**
	 * options: initialize (false: stop after the upgrade), params (of
	 * initialize), initialized (false: leave that notification out),
	 * headers, protocols, cwd (of the processes started).
	 */
	static async connect(url, options = {}) {
		const client = new Client(url, options);
		await within(CALL_MS, 'WebSocket upgrade', client.opened);
		if (options.initialize === false)
			return client;
		try {
			await client.initialize(options.params);
		} catch (e) {
			client.socket.terminate();
			throw e;
		}
		if (options.initialized !== false)
			client.notify('initialized', {});
		return client;
	}

	constructor(url, {headers, protocols, cwd} = {}) {
		this.cwd = cwd;
		this.received = []; // everything, in the order it came
		this.stray = []; // answers that nobody waits for
		this.socket = new WebSocket(url, protocols ?? [], {
			headers,
			perMessageDeflate: false,
			maxPayload: 0,
		});
		this.opened = new Promise((resolve, reject) => {
			this.socket.once('open', resolve);
			this.socket.once('error', reject);
		});
		this.opened.catch(() => {});
		this.closed = new Promise((resolve) => {
			this.socket.on('close', (code, reason) => {
				this.isClosed = true;
				this.#failAll(code);
				resolve({code, reason: reason.toString()});
			});
		});
		this.socket.on('error', () => {});
		this.socket.on('message', (data, binary) =>
			this.#take(data, binary));
	}

	#failAll(code) {
		for (const {reject, method} of this.#waiting.values())
			reject(new Error(`${method}: connection closed (${code})`));
		this.#waiting.clear();
		this.#listeners.forEach((poke) => poke());
	}

	#take(data, binary) {
		const message = JSON.parse(data);
		this.sawBinary ||= binary;
		this.received.push(message);
		if (message.method === undefined)
			this.#answer(message);
		else if (message.method.startsWith('process/'))
			this.#note(message);
		this.#listeners.forEach((poke) => poke());
	}

	#record(processId) {
		if (!this.#processes.has(processId))
			this.#processes.set(processId, {events: [], first: {}});
		return this.#processes.get(processId);
	}

	#note(message) {
		const record = this.#record(message.params.processId);
		record.events.push(message);
		record.first[message.method] ??= message.params;
	}

	#answer(message) {
		const waiting = this.#waiting.get(message.id);
		if (waiting === undefined) {
			this.stray.push(message);
			return;
		}
		this.#waiting.delete(message.id);
		if (message.error)
			waiting.reject(new RpcError(message.error));
		else
			waiting.resolve(message.result);
	}

	/** Send a request; its result, or an RpcError. */
	call(method, params, {id = ++this.#last, ms = CALL_MS} = {}) {
		const answer = new Promise((resolve, reject) =>
			this.#waiting.set(id, {resolve, reject, method}));
		this.send({id, method, params});
		return within(ms, `answer to ${method}`, answer);
	}

	/** The error that a request is answered with. */
	async refusal(method, params, options) {
		let result;
		try {
			result = await this.call(method, params, options);
		} catch (e) {
			if (e instanceof RpcError)
				return e;
			throw e;
		}
		throw new Error(`${method} succeeded: ${JSON.stringify(result)}`);
	}

	notify(method, params) {
		this.send({method, params});
	}

	send(message) {
		this.raw(JSON.stringify(message));
	}

	/** A string as a text message, a Buffer as a binary one. */
	raw(data) {
		this.socket.send(data, {binary: typeof data !== 'string'});
	}

	async initialize(params = {clientName: 'blackbox'}) {
		const result = await this.call('initialize', params);
		this.sessionId = result.sessionId;
		return result;
	}

	/** Wait until check returns something truthy for what has come in. */
	async wait(what, check, ms = CALL_MS) {
		const first = check();
		if (first)
			return first;
		let poke;
		const found = new Promise((resolve, reject) => {
			poke = () => {
				const value = check();
				if (value)
					resolve(value);
				else if (this.isClosed)
					reject(new Error(`closed before ${what}`));
			};
			this.#listeners.add(poke);
			poke();
		});
		return within(ms, what, found).finally(
			() => this.#listeners.delete(poke));
	}

	/** The notifications of a process so far. */
	events(processId) {
		return this.#record(processId).events;
	}

	/** The params of the process's first notification of that name. */
	event(processId, name, ms) {
		const {first} = this.#record(processId);
		return this.wait(`${name} of ${processId}`,
			() => first[`process/${name}`], ms);
	}

	/** Wait for an error answer that no request waits for, and take it. */
	async strayError(ms) {
		await this.wait('error answer', () => this.stray.length > 0, ms);
		return this.stray.shift();
	}

	/** Cut the connection without a close frame, and see it cut. */
	async drop() {
		this.socket.terminate();
		await this.closed;
	}

	async close(code = 1000) {
		this.socket.close(code);
		await within(CALL_MS, 'close of the connection', this.closed);
	}

	/** Answer for "is it alive": a request that needs nobody else. */
	status() {
		return this.call('environment/status', {});
	}

	/** Start a process; options are members of process/start's params. */
	async start(argv, options = {}) {
		const processId = options.processId ?? `p${++this.#last}`;
		const process = new Process(this, processId);
		process.result = await this.call(
			'process/start', startParams(argv, this.cwd, {
				...options, processId,
			}));
		return process;
	}

	/** Start with sh -c and wait for the end. */
	async shell(script, options) {
		const process = await this.start(['/bin/sh', '-c', script], options);
		return process.end(options?.ms);
	}
}

export function startParams(argv, cwd, options = {}) {
	const {ms, ...members} = options;
	return {
		argv, cwd, env: {PATH: plainPath}, tty: false, pipeStdin: false,
		arg0: null, ...members,
	};
}

/** A started process, seen through the notifications. */
export class Process {
	#writes = 0;

	constructor(client, id) {
		this.client = client;
		this.id = id;
	}

	#params(more) {
		return {processId: this.id, ...more};
	}

	events() {
		return this.client.events(this.id);
	}

	/** The bytes of one stream so far, or of all. */
	output(stream) {
		return Buffer.concat(this.events()
			.filter((m) => m.method === 'process/output' &&
				(stream === undefined || m.params.stream === stream))
			.map((m) => decode(m.params.chunk)));
	}

	text(stream) {
		return this.output(stream).toString();
	}

	/** Wait until the output matches. */
	prints(pattern, ms) {
		return this.client.wait(`${pattern} from ${this.id}`,
			() => this.text().match(pattern), ms);
	}

	exited(ms) {
		return this.client.event(this.id, 'exited', ms);
	}

	/** Wait for closed, and tell all there is to tell. */
	async end(ms) {
		const closed = await this.client.event(this.id, 'closed', ms);
		const events = this.events();
		return {
			closed,
			events,
			exitCode: (await this.exited()).exitCode,
			seqs: events.map((m) => m.params.seq),
			all: this.text(),
			stdout: this.text('stdout'),
			stderr: this.text('stderr'),
			pty: this.text('pty'),
		};
	}

	read(more) {
		return this.client.call('process/read', this.#params(more));
	}

	/** Read with a cursor until it is closed: the other way to the output. */
	async drain({maxBytes, ms = 10000} = {}) {
		const chunks = [];
		let afterSeq = 0;
		let answer;
		await until(ms, `end of ${this.id}`, async () => {
			answer = await this.read({afterSeq, maxBytes, waitMs: 1000});
			chunks.push(...answer.chunks);
			const before = afterSeq;
			afterSeq = answer.nextSeq - 1;
			return answer.closed && answer.chunks.length === 0 &&
				afterSeq === before;
		});
		const bytes = Buffer.concat(chunks.map((c) => decode(c.chunk)));
		return {...answer, chunks, bytes, text: bytes.toString()};
	}

	write(data, writeId = `w${++this.#writes}`) {
		return this.client.call('process/write',
			this.#params({chunk: encode(data), writeId}));
	}

	closeStdin() {
		return this.client.call('process/closeStdin', this.#params());
	}

	resize(rows, cols) {
		return this.client.call(
			'process/resize', this.#params({rows, cols}));
	}

	interrupt() {
		return this.client.call(
			'process/signal', this.#params({signal: 'interrupt'}));
	}

	terminate() {
		return this.client.call('process/terminate', this.#params());
	}
}
