// In the place of the model: a streaming Responses endpoint on loopback whose
// answers come from a script.
//
// A script is an async generator. It yields the calls of one answer, gets back
// what the client made of each, as texts in the same order, and with its end
// ends the turn.
import http from 'node:http';

let last = 0;

function name(kind) {
	return `${kind}_${++last}`;
}

/** A call of a function tool. */
export function call(tool, args) {
	return {type: 'function_call', id: name('fc'), call_id: name('call'),
		name: tool, arguments: JSON.stringify(args)};
}

/** A shell command; options as exec_command has them. */
export function command(cmd, options = {}) {
	return call('exec_command', {cmd, login: false, ...options});
}

/** Type into a running command, and wait for what it says. */
export function type(session, chars, waitMs) {
	return call('write_stdin',
		{session_id: session, chars, yield_time_ms: waitMs});
}

/** An edit, as the lines between the markers of a patch. */
export function patch(...lines) {
	return {type: 'custom_tool_call', id: name('ct'), call_id: name('call'),
		name: 'apply_patch',
		input: ['*** Begin Patch', ...lines, '*** End Patch', ''].join('\n')};
}

function message(text) {
	return {type: 'message', id: name('msg'), role: 'assistant',
		content: [{type: 'output_text', text}]};
}

/** What the model is told of a command: {text, output, code, session}. */
export function parseResult(text) {
	const number = (pattern) => {
		const match = pattern.exec(text);
		return match ? Number(match[1]) : undefined;
	};
	const mark = '\nOutput:\n';
	const at = text.indexOf(mark);
	return {
		text,
		output: at < 0 ? '' : text.slice(at + mark.length),
		code: number(/^Process exited with code (-?\d+)$/m),
		session: number(/^Process running with session ID (\d+)$/m),
	};
}

/** Part of a script: a command, waited for to its end. */
export async function* runCommand(cmd, options) {
	let result = parseResult((yield [command(cmd, options)])[0]);
	let output = result.output;
	for (let i = 0; result.session !== undefined && i < 20; i++) {
		const [text] = yield [type(result.session, '', 5000)];
		result = parseResult(text);
		output += result.output;
	}
	return {...result, output};
}

function plain(output) {
	if (typeof output === 'string')
		return output;
	const parts = Array.isArray(output) ? output : output?.content ?? [];
	return Array.isArray(parts) ?
		parts.map((part) => part.text ?? '').join('\n') : String(parts);
}

async function bodyOf(request) {
	const chunks = [];
	for await (const chunk of request)
		chunks.push(chunk);
	return JSON.parse(Buffer.concat(chunks).toString());
}

function stream(response, items) {
	const id = name('resp');
	const send = (event, fields) => response.write(
		`event: ${event}\ndata: ${JSON.stringify({type: event, ...fields})}\n\n`);

	response.writeHead(200, {'content-type': 'text/event-stream'});
	send('response.created', {response: {id}});
	items.forEach((item, index) => send('response.output_item.done',
		{output_index: index, item}));
	send('response.completed', {response: {id, usage: {
		input_tokens: 1, input_tokens_details: null, output_tokens: 1,
		output_tokens_details: null, total_tokens: 2}}});
	response.end();
}

export class Model {
	#script;
	#server;
	#asked = [];

	/** The first thing that went wrong in the script or here. */
	error;

	constructor(script) {
		this.#script = script();
		this.#server = http.createServer((request, response) =>
			this.#answer(request, response).catch((e) => {
				this.error ??= e;
				response.destroy();
			}));
	}

	/** Resolves to the base URL for the client's configuration. */
	listen() {
		return new Promise((resolve) =>
			this.#server.listen(0, '127.0.0.1', () => resolve(
				`http://127.0.0.1:${this.#server.address().port}/v1`)));
	}

	close() {
		this.#server.close();
		this.#server.closeAllConnections();
	}

	async #answer(request, response) {
		const {pathname} = new URL(request.url, 'http://localhost');

		if (pathname !== '/v1/responses') {
			response.writeHead(404).end();
			return;
		}
		const body = await bodyOf(request);
		stream(response, await this.#next(body.input ?? []));
	}

	async #next(input) {
		const outputs = new Map(input
			.filter((item) => item.type?.endsWith('_call_output'))
			.map((item) => [item.call_id, plain(item.output)]));
		const results = this.#asked.map(
			(item) => outputs.get(item.call_id) ?? '');
		const {done, value} = await this.#script.next(results);

		this.#asked = done ? [] : value;
		return done ? [message('done')] : value;
	}
}
