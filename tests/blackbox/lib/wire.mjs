// HTTP heads and WebSocket frames by hand, for what no library sends.
import net from 'node:net';
import {randomBytes} from 'node:crypto';
import {until, within} from './wait.mjs';

const REPLY_MS = 5000;

export class Wire {
	static async open(port, host = '127.0.0.1') {
		const wire = new Wire(net.connect(port, host));
		await within(REPLY_MS, 'TCP connection', new Promise(
			(resolve, reject) => {
				wire.socket.once('connect', resolve);
				wire.socket.once('error', reject);
			}));
		return wire;
	}

	constructor(socket) {
		this.socket = socket;
		this.input = Buffer.alloc(0);
		this.ended = false;
		socket.setNoDelay(true);
		socket.on('data', (d) => {
			this.input = Buffer.concat([this.input, d]);
		});
		socket.on('error', () => {});
		this.gone = new Promise((resolve) => {
			socket.on('end', () => { this.ended = true; resolve(); });
			socket.on('close', () => { this.ended = true; resolve(); });
		});
	}

	write(data) {
		return new Promise((resolve) => this.socket.write(data, resolve));
	}

	destroy() {
		this.socket.destroy();
	}

	/** The head of the answer: {status, headers, text}. */
	async head() {
		const end = await until(REPLY_MS, 'HTTP answer', () => {
			const i = this.input.indexOf('\r\n\r\n');
			if (i < 0 && this.ended)
				throw new Error('closed without an HTTP answer');
			return i < 0 ? undefined : i + 4;
		});
		const text = this.input.subarray(0, end).toString('latin1');
		this.input = this.input.subarray(end);
		const [first, ...lines] = text.trim().split('\r\n');
		return {
			status: Number(first.split(' ')[1]),
			headers: Object.fromEntries(lines.map((line) => {
				const at = line.indexOf(':');
				return [line.slice(0, at).toLowerCase(),
					line.slice(at + 1).trim()];
			})),
			text,
		};
	}

	/** The next frame of the server: {fin, opcode, masked, payload}. */
	async frame(ms = REPLY_MS) {
		const length = await until(ms, 'frame', () => {
			const need = frameLength(this.input);
			if (need > 0 && this.input.length >= need)
				return need;
			if (this.ended)
				throw new Error('closed without a frame');
			return undefined;
		});
		const raw = this.input.subarray(0, length);
		this.input = this.input.subarray(length);
		return {
			fin: (raw[0] & 0x80) !== 0,
			opcode: raw[0] & 0x0f,
			masked: (raw[1] & 0x80) !== 0,
			payload: raw.subarray(headerLength(raw)),
		};
	}

	/** The code of the close frame that ends the connection. */
	async closeCode(ms = REPLY_MS) {
		for (;;) {
			const frame = await this.frame(ms);
			if (frame.opcode === 8)
				return frame.payload.length < 2 ? 1005 :
					frame.payload.readUInt16BE(0);
		}
	}

	/** Wait until the server has ended the connection. */
	end(ms = REPLY_MS) {
		return within(ms, 'end of the connection', this.gone);
	}
}

function headerLength(raw) {
	const short = raw[1] & 0x7f;
	return short === 126 ? 4 : short === 127 ? 10 : 2;
}

function frameLength(raw) {
	if (raw.length < 2 || raw.length < headerLength(raw))
		return 0;
	const short = raw[1] & 0x7f;
	const payload = short === 126 ? raw.readUInt16BE(2) :
		short === 127 ? Number(raw.readBigUInt64BE(2)) : short;
	return headerLength(raw) + payload;
}

export function requestHead(method, path, headers) {
	const lines = Object.entries(headers).map(([k, v]) => `${k}: ${v}\r\n`);
	return `${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n`;
}

/** One plain HTTP request; its answer's head. */
export async function http(port, method, path, headers = {}) {
	const wire = await Wire.open(port);
	await wire.write(requestHead(method, path, {
		Host: `127.0.0.1:${port}`, ...headers,
	}));
	try {
		return await wire.head();
	} finally {
		wire.destroy();
	}
}

export function upgradeHeaders(port, more = {}) {
	return {
		Host: `127.0.0.1:${port}`,
		Connection: 'Upgrade',
		Upgrade: 'websocket',
		'Sec-WebSocket-Version': '13',
		'Sec-WebSocket-Key': randomBytes(16).toString('base64'),
		...more,
	};
}

/** Ask for an upgrade: {wire, answer}. A header of undefined is left out. */
export async function upgrade(port, path, more = {}) {
	const wire = await Wire.open(port);
	const headers = upgradeHeaders(port, more);
	for (const key of Object.keys(headers))
		if (headers[key] === undefined)
			delete headers[key];
	await wire.write(requestHead('GET', path, headers));
	return {wire, answer: await wire.head()};
}

export function frameHeader({
	opcode = 1, fin = true, rsv = 0, mask = true, length,
}) {
	const first = (fin ? 0x80 : 0) | (rsv << 4) | opcode;
	const bit = mask ? 0x80 : 0;
	if (length < 126)
		return Buffer.from([first, bit | length]);
	const head = Buffer.alloc(length < 65536 ? 4 : 10);
	head[0] = first;
	head[1] = bit | (length < 65536 ? 126 : 127);
	if (length < 65536)
		head.writeUInt16BE(length, 2);
	else
		head.writeBigUInt64BE(BigInt(length), 2);
	return head;
}

/** One whole frame. The mask is all zeros, which is a mask too. */
export function frame(payload, options = {}) {
	const body = Buffer.from(payload);
	const {mask = true} = options;
	return Buffer.concat([
		frameHeader({...options, length: body.length}),
		Buffer.alloc(mask ? 4 : 0), body,
	]);
}
