// A connection that asks for one large file and hashes it as it comes, since
// its base64 is longer than a JavaScript string may be.
import {createHash} from 'node:crypto';
import {within} from './wait.mjs';
import {frame, upgrade} from './wire.mjs';

/** Takes bytes in pieces of any size, gives the payloads of their frames. */
class Deframer {
	#head = Buffer.alloc(0);
	#left = 0;

	*push(data) {
		let rest = data;
		while (rest.length > 0) {
			if (this.#left === 0) {
				rest = this.#takeHead(rest);
				continue;
			}
			const payload = rest.subarray(0, this.#left);
			this.#left -= payload.length;
			rest = rest.subarray(payload.length);
			yield payload;
		}
	}

	/* A byte of the head at a time: it may come in pieces too. */
	#takeHead(data) {
		this.#head = Buffer.concat([this.#head, data.subarray(0, 1)]);
		const short = this.#head.length < 2 ? 0 : this.#head[1] & 0x7f;
		const need = short === 127 ? 10 : short === 126 ? 4 : 2;
		if (this.#head.length === need) {
			this.#left = short === 127 ?
				Number(this.#head.readBigUInt64BE(2)) :
				short === 126 ? this.#head.readUInt16BE(2) : short;
			this.#head = Buffer.alloc(0);
		}
		return data.subarray(1);
	}
}

/** Takes the text of an answer in pieces, hashes what its base64 means. */
class Hasher {
	#text = '';
	#hash = createHash('sha256');
	#inData = false;
	size = 0;

	/** Whether the answer is complete: {size, sha256} or {error}. */
	push(payload) {
		this.#text += payload.toString('latin1');
		if (!this.#inData) {
			const at = this.#text.indexOf('"dataBase64":"');
			if (at < 0)
				return this.#text.includes('"error"') &&
					{error: JSON.parse(this.#text).error};
			this.#text = this.#text.slice(at + 14);
			this.#inData = true;
		}
		const end = this.#text.indexOf('"');
		const whole = end < 0 ? this.#text.length & ~3 : end;
		const bytes = Buffer.from(this.#text.slice(0, whole), 'base64');
		this.#hash.update(bytes);
		this.size += bytes.length;
		this.#text = this.#text.slice(whole);
		return end >= 0 &&
			{size: this.size, sha256: this.#hash.digest('hex')};
	}
}

/** fs/readFile of a file of any size: {size, sha256}, or {error}. */
export async function hashFile(server, uri, ms = 60000) {
	const {wire} = await upgrade(server.port, server.path);
	const send = (message) => wire.write(frame(JSON.stringify(message)));
	await send({id: 1, method: 'initialize', params: {clientName: 'hash'}});
	await wire.frame();
	wire.socket.removeAllListeners('data');
	const deframer = new Deframer();
	const hasher = new Hasher();
	const answer = new Promise((resolve, reject) => {
		const take = (data) => {
			for (const payload of deframer.push(data)) {
				const result = hasher.push(payload);
				if (result)
					resolve(result);
			}
		};
		if (wire.input.length > 0)
			take(wire.input);
		wire.socket.on('data', take);
		wire.socket.on('close', () => reject(new Error('closed')));
	});
	await send({method: 'initialized', params: {}});
	await send({id: 2, method: 'fs/readFile', params: {path: uri}});
	try {
		return await within(ms, 'the whole file', answer);
	} finally {
		wire.destroy();
	}
}
