// A scripted Codex app-server: on a WebSocket, on a socket file, or, run as a
// program, on lines of standard input and output.
//
// options, all of them optional: version, userAgent, silent (a method that is
// never answered), error ({method: error}), raw ({method: text sent instead}),
// before ({method: messages sent first}).
import fs from 'node:fs';
import http from 'node:http';
import readline from 'node:readline';
import {fileURLToPath} from 'node:url';

/** The texts to send for a message; it is kept in seen. */
export function answers(options, seen, text) {
	const {id, method, params, ...rest} = JSON.parse(text);

	seen.push({id, method, params, ...rest});
	if (id === undefined || method === undefined || method === options.silent)
		return [];
	if (options.raw?.[method] !== undefined)
		return [options.raw[method]];
	const first = (options.before?.[method] ?? []).map((m) =>
		JSON.stringify(m));
	const error = options.error?.[method];
	const result = method === 'initialize' ? {
		userAgent: options.userAgent ??
			`${params.clientInfo.name}/${options.version ?? '0.171.0'} (test)`,
		codexHome: '/nowhere', platformFamily: 'unix', platformOs: 'linux',
	} : {};
	return [...first, JSON.stringify(error ? {id, error} : {id, result})];
}

export class AppServer {
	seen = [];
	sockets = new Set();

	/** at: a port of 127.0.0.1 (0: any), {host}, or the path of a socket. */
	static async start(options = {}, at = 0) {
		const {WebSocketServer} = await import('ws');
		const app = new AppServer();
		app.server = http.createServer();
		const sockets = new WebSocketServer({server: app.server});
		sockets.on('connection', (socket) => {
			app.sockets.add(socket);
			socket.on('close', () => app.sockets.delete(socket));
			socket.on('error', () => {});
			socket.on('message', (text) => answers(options, app.seen, text)
				.forEach((answer) => socket.send(answer)));
		});
		await new Promise((resolve) => typeof at === 'string' ?
			app.server.listen(at, resolve) :
			app.server.listen(at.port ?? 0, at.host ?? '127.0.0.1', resolve));
		app.where = typeof at === 'string' ? `unix:${at}` :
			`ws://${at.host === '::1' ? '[::1]' : '127.0.0.1'}:${
				app.server.address().port}`;
		return app;
	}

	called(method) {
		return this.seen.filter((message) => message.method === method);
	}

	stop() {
		this.sockets.forEach((socket) => socket.terminate());
		this.server.close();
	}
}

/** An open WebSocket to a real app-server. */
export async function openSocket(url) {
	const {WebSocket} = await import('ws');
	const socket = new WebSocket(url, {perMessageDeflate: false});
	await new Promise((resolve, reject) => {
		socket.on('open', resolve);
		socket.on('error', reject);
	});
	return socket;
}

// As a program: the options as JSON, and a file that gets all that is seen.
if (process.argv[1] === fileURLToPath(import.meta.url)) {
	const [options, log] = process.argv.slice(2);
	const seen = [];
	readline.createInterface({input: process.stdin}).on('line', (line) => {
		answers(JSON.parse(options), seen, line).forEach((text) =>
			process.stdout.write(`${text}\n`));
		fs.writeFileSync(log, JSON.stringify(seen));
	}).on('close', () => fs.appendFileSync(log, '\nended'));
}
