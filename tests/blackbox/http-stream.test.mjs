// Streams of http/request: without delay, without end, without a reader.
import assert from 'node:assert/strict';
import http from 'node:http';
import {after, test} from 'node:test';
import {decode} from './lib/client.mjs';
import {Origin, deltas, request} from './lib/http.mjs';
import {residentKib} from './lib/proc.mjs';
import {Server, foreignSkip, memorySkip} from './lib/server.mjs';
import {pause, slow, until, within} from './lib/wait.mjs';

const MIB = 1024 * 1024;
const EVENTS = 1000;
// Loaded machines are slow: only the strict run, alone, holds the promise.
const ABOVE_MS = process.env.SALLYPORT_STRICT ? 5 : 20;
// A sanitizer's build says nothing of memory, and is slow.
const TOTAL = (memorySkip ? 32 : 256) * MIB;
const own = {skip: foreignSkip};
const piece = Buffer.alloc(64 * 1024, 'x');

/** Write as fast as it is taken, total bytes; written tells how far it is. */
function pour(total, written) {
	return (q, r) => {
		const more = () => {
			while (written.bytes < total && !r.destroyed) {
				written.bytes += piece.length;
				if (!r.write(piece)) {
					r.once('drain', more);
					return;
				}
			}
			r.end();
		};
		more();
	};
}

const all = {bytes: 0};
const held = {bytes: 0};
const origin = await Origin.start({
	'/events': (q, r) => {
		r.writeHead(200, {'Content-Type': 'text/event-stream'});
		let n = 0;
		const timer = setInterval(() => {
			r.write(`data: ${process.hrtime.bigint()}\n\n`);
			if (++n === EVENTS) {
				clearInterval(timer);
				r.end();
			}
		}, 1);
	},
	'/all': pour(TOTAL, all),
	'/held': pour(Infinity, held),
});
const server = await Server.start({set: {'http.allow_private': 'true'}});
after(async () => {
	origin.stop();
	await server.stop();
});

/** Milliseconds that events took, sorted; text may hold several. */
function ages(text, into) {
	const now = process.hrtime.bigint();
	for (const [, sent] of text.matchAll(/data: (\d+)\n/g))
		into.push(Number(now - BigInt(sent)) / 1e6);
}

const p99 = (list) => list.sort((a, b) => a - b)[Math.floor(list.length * .99)];

function direct() {
	return new Promise((resolve, reject) => {
		const list = [];
		http.get(`${origin.url}/events`, (r) => {
			r.on('data', (d) => ages(d.toString(), list));
			r.on('end', () => resolve(list));
		}).on('error', reject);
	});
}

/** The same through the server, with a listener as small as the direct one. */
async function through(client, requestId) {
	const list = [];
	client.socket.removeAllListeners('message');
	const end = new Promise((resolve) => {
		client.socket.on('message', (data) => {
			const {params} = JSON.parse(data);
			if (params === undefined)
				return;
			ages(decode(params.deltaBase64).toString(), list);
			if (params.done)
				resolve();
		});
	});
	client.send({id: requestId, method: 'http/request', params: {
		method: 'GET', url: `${origin.url}/events`, requestId, headers: [],
		streamResponse: true}});
	await within(10000, 'end of the events', end);
	return list;
}

test(`${EVENTS} events, one a millisecond, are passed on at once`, async () => {
	const client = await server.connect();
	let best = Infinity;
	for (let i = 0; i < 10 && best > ABOVE_MS; i++) {
		const floor = await direct();
		const ours = await through(client, `sse${i}`);
		assert.equal(ours.length, EVENTS);
		best = Math.min(best, p99(ours) - p99(floor));
		console.log(`p99 ${p99(ours).toFixed(2)} ms, ` +
			`read directly ${p99(floor).toFixed(2)} ms`);
	}
	assert.ok(best <= ABOVE_MS * slow, `p99 ${best} ms above a direct reader`);
	await client.close();
});

test(`${TOTAL / MIB} MiB go through two small processes`, own, async () => {
	const client = await server.connect();
	let received = 0;
	// Kept messages would fill this process instead.
	client.socket.on('message', () => {
		const now = deltas(client, 'all');
		received += now.reduce(
			(sum, d) => sum + decode(d.deltaBase64).length, 0);
		client.received = client.received.filter((m) =>
			m.method !== 'http/request/bodyDelta' || m.params.done);
	});
	await request(client, `${origin.url}/all`,
		{requestId: 'all', streamResponse: true});
	const peak = {net: 0, http: 0};
	const look = setInterval(() => {
		for (const role of ['net', 'http'])
			for (const pid of server.rolePids(role))
				peak[role] = Math.max(peak[role], residentKib(pid));
	}, 200);
	await client.wait('the end', () => client.received.some(
		(m) => m.params?.requestId === 'all' && m.params.done), 60000);
	clearInterval(look);
	assert.equal(received, TOTAL);
	for (const [role, kib] of Object.entries(peak))
		assert.ok(memorySkip || kib < 32 * 1024, `${role}: ${kib} KiB`);
	await client.close();
});

test('a client that does not read stops the origin within 4 MiB', own,
	async () => {
		const client = await server.connect();
		await request(client, `${origin.url}/held`,
			{requestId: 'held', streamResponse: true});
		client.socket.pause();
		const begin = held.bytes;
		const stopped = await until(20000, 'it stops', async () => {
			const before = held.bytes;
			await pause(500);
			return held.bytes === before && before;
		});
		assert.ok(stopped - begin <= 4 * MIB,
			`${(stopped - begin) / MIB} MiB`);
		// Others of the session and of the server are served meanwhile.
		const other = await server.connect();
		assert.equal((await request(other, `${origin.url}/`)).status, 200);
		await other.close();
		client.socket.resume();
		await until(5000, 'it goes on',
			() => held.bytes > stopped + 8 * MIB);
		await client.drop();
		await until(3000, 'the end upstream', async () => {
			const now = held.bytes;
			await pause(50);
			return held.bytes === now;
		});
	});
