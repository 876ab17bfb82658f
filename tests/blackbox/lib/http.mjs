// Origins that note what they see, requests to them, and a name server.
import dgram from 'node:dgram';
import http from 'node:http';
import net from 'node:net';
import {decode} from './client.mjs';

let last = 0;

/** http/request; more are members of its params. */
export function request(client, url, more = {}, options) {
	return client.call('http/request', params(url, more), options);
}

/** The error that one is answered with. */
export function refusal(client, url, more = {}) {
	return client.refusal('http/request', params(url, more));
}

function params(url, more) {
	return {method: 'GET', url, requestId: `r${++last}`, headers: [], ...more};
}

export const bodyOf = (result) => decode(result.bodyBase64).toString();

export function headerOf(result, name) {
	return result.headers.filter((h) => h.name === name).map((h) => h.value);
}

/** The bodyDelta notifications of a stream so far. */
export function deltas(client, requestId) {
	return client.received
		.filter((m) => m.method === 'http/request/bodyDelta' &&
			m.params.requestId === requestId)
		.map((m) => m.params);
}

/** All of them, once the last has come. */
export async function wholeStream(client, requestId, ms) {
	await client.wait(`end of ${requestId}`, () => client.received.some(
		(m) => m.method === 'http/request/bodyDelta' &&
			m.params.requestId === requestId && m.params.done), ms);
	return deltas(client, requestId);
}

export const bytesOf = (list) =>
	Buffer.concat(list.map((d) => decode(d.deltaBase64)));

/**
 * An HTTP server: routes maps a path to a function of request and response.
 * requests holds what came, sockets how many connections were made.
 */
export class Origin {
	static async start(routes = {}, {host = '127.0.0.1', port = 0} = {}) {
		const origin = new Origin(routes);
		await new Promise((resolve, reject) => {
			origin.server.on('error', reject);
			origin.server.listen(port, host, resolve);
		});
		origin.port = origin.server.address().port;
		origin.url = `http://127.0.0.1:${origin.port}`;
		return origin;
	}

	constructor(routes) {
		this.requests = [];
		this.connections = [];
		this.server = http.createServer((q, r) => {
			const parts = [];
			q.on('data', (d) => parts.push(d));
			q.on('end', () => {
				this.requests.push({method: q.method, url: q.url,
					headers: q.headers, raw: q.rawHeaders,
					body: Buffer.concat(parts)});
				const route = routes[q.url] ?? (() => r.end('body'));
				route(q, r);
			});
		});
		this.server.on('connection', (socket) =>
			this.connections.push(socket.localAddress));
	}

	get last() {
		return this.requests.at(-1);
	}

	stop() {
		this.server.closeAllConnections();
		this.server.close();
	}
}

const TYPES = {1: 4, 28: 16};

function readName(query) {
	const labels = [];
	let at = 12;
	while (query[at] !== 0) {
		labels.push(query.subarray(at + 1, at + 1 + query[at]).toString());
		at += query[at] + 1;
	}
	return {name: labels.join('.').toLowerCase(), end: at + 1};
}

function encodeName(name) {
	return Buffer.concat([...name.split('.').map((label) =>
		Buffer.concat([Buffer.from([label.length]), Buffer.from(label)])),
	Buffer.from([0])]);
}

function record(owner, type, data) {
	const head = Buffer.from([0, type, 0, 1, 0, 0, 0, 0, 0, 0]);
	head.writeUInt16BE(data.length, 8);
	return Buffer.concat([encodeName(owner), head, data]);
}

/** The records of one type; after an alias they belong to what it stands for. */
function recordsOf(name, list, type) {
	let owner = name;
	return list.flatMap((item) => {
		if (item.cname) {
			const alias = record(owner, 5, encodeName(item.cname));
			owner = item.cname;
			return [alias];
		}
		return item.length === TYPES[type]
			? [record(owner, type, Buffer.from(item))] : [];
	});
}

/**
 * A name server. answers maps a name to a list, or to a function of how often
 * it was asked before that gives one; an item is the bytes of an address, or
 * {cname}. A list whose member tcp is set is told over TCP alone.
 */
export async function nameServer(answers) {
	const socket = dgram.createSocket('udp4');
	const asked = new Map();
	const answer = (query, tcp) => {
		const {name, end} = readName(query);
		const type = query.readUInt16BE(end);
		const key = `${name} ${type}`;
		const times = asked.get(key) ?? 0;
		asked.set(key, times + 1);
		const found = answers[name];
		const list = (typeof found === 'function' ? found(times) : found) ?? [];
		const cut = list.tcp && !tcp;
		const records = cut ? [] : recordsOf(name, list, type);
		const head = Buffer.from(query.subarray(0, 12));
		head.writeUInt16BE(found ? cut ? 0x8380 : 0x8180 : 0x8183, 2);
		head.writeUInt16BE(records.length, 6);
		head.writeUInt32BE(0, 8);
		return Buffer.concat([head, query.subarray(12, end + 4), ...records]);
	};
	socket.on('message', (query, from) =>
		socket.send(answer(query, false), from.port, from.address));
	await new Promise((resolve) => socket.bind(0, '127.0.0.1', resolve));
	const server = net.createServer((stream) => {
		let data = Buffer.alloc(0);
		stream.on('error', () => {});
		stream.on('data', (d) => {
			data = Buffer.concat([data, d]);
			while (data.length > 2 &&
				data.length >= 2 + data.readUInt16BE(0)) {
				const len = data.readUInt16BE(0);
				const text = answer(data.subarray(2, 2 + len), true);
				data = data.subarray(2 + len);
				stream.write(Buffer.from([text.length >> 8, text.length & 255]));
				stream.write(text);
			}
		});
	});
	await new Promise((resolve) =>
		server.listen(socket.address().port, '127.0.0.1', resolve));
	return {
		address: `127.0.0.1:${socket.address().port}`,
		asked,
		stop: () => {
			socket.close();
			server.close();
		},
	};
}
