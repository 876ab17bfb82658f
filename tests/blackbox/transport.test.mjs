import assert from 'node:assert/strict';
import {after, test} from 'node:test';
import {Client} from './lib/client.mjs';
import {Server, foreignSkip, isSanitized} from './lib/server.mjs';
import {pause, until, within} from './lib/wait.mjs';
import {
	Wire, frame, frameHeader, http, requestHead, upgrade,
} from './lib/wire.mjs';

const MESSAGE_MAX = 100 * 1024 * 1024;

const server = await Server.start();
after(() => server.stop());
const own = {skip: foreignSkip};

/** Every refusal must leave the server serving. */
async function assertServes() {
	const client = await server.connect();
	assert.deepEqual(await client.status(), {status: 'ready'});
	await client.close();
}

async function upgraded(more) {
	const {wire, answer} = await upgrade(server.port, server.path, more);
	assert.equal(answer.status, 101);
	return wire;
}

for (const path of ['/readyz', '/livez'])
	for (const method of ['GET', 'HEAD'])
		test(`${method} ${path} answers 200 without credentials`, own,
			async () => {
				const answer = await http(server.port, method, path);
				assert.equal(answer.status, 200);
				assert.equal(answer.headers['content-length'] ?? '0', '0');
			});

test('another method on /readyz is 405 and told which are allowed', async () => {
	const answer = await http(server.port, 'POST', '/readyz',
		{'Content-Length': '0'});
	assert.equal(answer.status, 405);
	assert.match(answer.headers.allow, /GET/);
});

test('any other path answers 404', own, async () => {
	for (const path of ['/healthz', '/', '/x', '/readyz/'])
		assert.equal((await http(server.port, 'GET', path)).status, 404, path);
});

test('the path of the URL without an upgrade is 400', async () => {
	const answer = await http(server.port, 'GET', server.path);
	assert.equal(answer.status, 400);
});

for (const origin of ['https://evil.example', 'null', 'http://127.0.0.1'])
	test(`a request with Origin ${origin} is 403`, async () => {
		const {wire, answer} = await upgrade(
			server.port, server.path, {Origin: origin});
		wire.destroy();
		assert.equal(answer.status, 403);
		const ready = await http(
			server.port, 'GET', '/readyz', {Origin: origin});
		assert.equal(ready.status, 403);
	});

test('an Origin is refused before the path is looked at', async () => {
	const {wire, answer} = await upgrade(
		server.port, '/wrong', {Origin: 'https://evil.example'});
	wire.destroy();
	assert.equal(answer.status, 403);
});

test('a Host that is a foreign name is 403, as under DNS rebinding', own,
	async () => {
		const {wire, answer} = await upgrade(server.port, server.path,
			{Host: `rebind.example:${server.port}`});
		wire.destroy();
		assert.equal(answer.status, 403);
	});

test('a Host of localhost is served', async () => {
	(await upgraded({Host: `localhost:${server.port}`})).destroy();
});

test('a missing Host is refused', own, async () => {
	const {wire, answer} = await upgrade(
		server.port, server.path, {Host: undefined});
	wire.destroy();
	assert.equal(answer.status, 400);
});

test('a wrong path is 404 before the upgrade', own, async () => {
	const secret = server.path;
	const other = secret.endsWith('0') ? '1' : '0';
	const wrong = ['/', '/wrong', `${secret}x`, secret.slice(0, -1),
		`${secret}/`, secret.slice(0, -1) + other];
	for (const path of wrong) {
		const {wire, answer} = await upgrade(server.port, path);
		wire.destroy();
		assert.equal(answer.status, 404, path);
	}
});

test('a query after the path is ignored', async () => {
	const {wire, answer} = await upgrade(
		server.port, `${server.path}?a=b&token=c`);
	wire.destroy();
	assert.equal(answer.status, 101);
});

test('no subprotocol and no extension is chosen', async () => {
	const {wire, answer} = await upgrade(server.port, server.path, {
		'Sec-WebSocket-Extensions': 'permessage-deflate',
	});
	wire.destroy();
	assert.equal(answer.status, 101);
	assert.equal(answer.headers['sec-websocket-protocol'], undefined);
	assert.equal(answer.headers['sec-websocket-extensions'], undefined);
});

test('an upgrade to h2c is not taken', async () => {
	const wire = await Wire.open(server.port);
	await wire.write(requestHead('GET', '/readyz', {
		Host: `127.0.0.1:${server.port}`,
		Connection: 'Upgrade, HTTP2-Settings',
		Upgrade: 'h2c',
		'HTTP2-Settings': 'AAMAAABkAARAAAAAAAIAAAAA',
	}));
	await until(5000, 'refusal', () => wire.ended || wire.input.length > 0);
	assert.doesNotMatch(wire.input.toString('latin1'), / 101 /);
	wire.destroy();
	const prior = await Wire.open(server.port);
	await prior.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
	await until(5000, 'refusal of HTTP/2', () =>
		prior.ended || prior.input.length > 0);
	assert.doesNotMatch(prior.input.toString('latin1'), /^\0/);
	prior.destroy();
	await assertServes();
});

test('another WebSocket version is refused', async () => {
	const {wire, answer} = await upgrade(
		server.port, server.path, {'Sec-WebSocket-Version': '8'});
	wire.destroy();
	assert.ok(answer.status >= 400 && answer.status < 500);
});

test('a request head that is too large is refused', async () => {
	const wire = await Wire.open(server.port);
	await wire.write(requestHead('GET', server.path, {
		Host: `127.0.0.1:${server.port}`, 'X-Fill': 'x'.repeat(65536),
	}));
	await until(5000, 'refusal', () => wire.ended || wire.input.length > 0);
	assert.doesNotMatch(wire.input.toString('latin1'), / 101 /);
	wire.destroy();
	await assertServes();
});

test('text and binary messages are taken, and text comes back', async () => {
	const client = await server.connect();
	client.raw(Buffer.from(JSON.stringify(
		{id: 'bin', method: 'environment/status'})));
	await client.wait('answer to the binary message',
		() => client.stray.some((m) => m.id === 'bin'));
	await client.status();
	assert.ok(!client.sawBinary);
	await client.close();
});

test('a message in many fragments with pings between is put together',
	async () => {
		const wire = await upgraded();
		const text = Buffer.from(JSON.stringify({
			id: 7, method: 'initialize',
			params: {clientName: 'x'.repeat(5000)},
		}));
		for (let at = 0; at < text.length; at += 100) {
			const last = at + 100 >= text.length;
			await wire.write(frame(text.subarray(at, at + 100),
				{opcode: at === 0 ? 1 : 0, fin: last}));
			if (at === 2500)
				await wire.write(frame('mid', {opcode: 9}));
		}
		const pong = await wire.frame();
		assert.equal(pong.opcode, 10);
		assert.equal(pong.payload.toString(), 'mid');
		const answer = await wire.frame();
		assert.equal(answer.opcode, 1);
		assert.equal(answer.masked, false);
		assert.equal(JSON.parse(answer.payload).id, 7);
		wire.destroy();
	});

const violations = [
	['an unmasked frame', frame('{}', {mask: false})],
	['an unmasked ping', frame('', {opcode: 9, mask: false})],
	['RSV1', frame('{}', {rsv: 4})],
	['RSV2', frame('{}', {rsv: 2})],
	['RSV3', frame('{}', {rsv: 1})],
	['RSV1 on a continuation', Buffer.concat([
		frame('{', {fin: false}), frame('}', {opcode: 0, rsv: 4})])],
	['a reserved data opcode', frame('{}', {opcode: 3})],
	['a reserved control opcode', frame('', {opcode: 11})],
	['a fragmented ping', frame('', {opcode: 9, fin: false})],
	['a ping of 126 bytes', frame('x'.repeat(126), {opcode: 9})],
	['a continuation of nothing', frame('{}', {opcode: 0})],
	['a new message inside a fragmented one', Buffer.concat([
		frame('{', {fin: false}), frame('{}')])],
];

/** The code it is closed with. The server waits for our side for a second. */
async function closing(bytes) {
	const wire = await upgraded();
	await wire.write(bytes);
	const code = await wire.closeCode();
	await wire.end();
	return code;
}

for (const [what, code] of foreignSkip ? [] : violations.map(
	([name, bytes]) => [name, closing(bytes).catch((e) => e)]))
	test(`${what} closes with 1002`, async () => {
		assert.equal(await code, 1002);
		await assertServes();
	});

test('a violation right behind a good message still closes with 1002', own,
	async () => {
		const wire = await upgraded();
		await wire.write(Buffer.concat([
			frame('{"id":1,"method":"initialize","params":' +
				'{"clientName":"x"}}'),
			frame('{}', {mask: false}),
		]));
		assert.equal(await wire.closeCode(), 1002);
		wire.destroy();
	});

test('a violation in a header cut into single bytes is seen', own, async () => {
	const wire = await upgraded();
	// Two bytes of which the second breaks the rule.
	for (const byte of frame('', {mask: false}))
		await wire.write(Buffer.from([byte]));
	assert.equal(await wire.closeCode(), 1002);
	wire.destroy();
});

test('invalid UTF-8 in a text message closes with 1007', own, async () => {
	const wire = await upgraded();
	await wire.write(frame(Buffer.from([0xff, 0xfe, 0x7b]), {opcode: 1}));
	assert.equal(await wire.closeCode(), 1007);
	wire.destroy();
	await assertServes();
});

test('a text message of 100 MiB + 1 byte closes with 1009 by its header', own,
	async () => {
		const wire = await upgraded();
		await wire.write(Buffer.concat([
			frameHeader({length: MESSAGE_MAX + 1}), Buffer.alloc(4 + 100),
		]));
		assert.equal(await wire.closeCode(), 1009);
		wire.destroy();
		await assertServes();
	});

// A sanitizer's build says nothing of such bounds, and is slow.
const plain = {skip: foreignSkip || (isSanitized && 'takes too long')};

test('fragments of 100 MiB + 1 byte in all close with 1009', plain, async () => {
	const wire = await upgraded();
	// Without it there is but a time.
	await wire.write(frame(
		'{"id":1,"method":"initialize","params":{"clientName":"x"}}'));
	await wire.frame();
	const part = 1024 * 1024;
	const blanks = Buffer.alloc(part, ' ');
	for (let sent = 0; sent < MESSAGE_MAX; sent += part)
		await wire.write(frame(blanks,
			{opcode: sent === 0 ? 1 : 0, fin: false}));
	assert.ok(!wire.ended, 'the maximum itself is allowed');
	await wire.write(frame(' ', {opcode: 0}));
	assert.equal(await wire.closeCode(20000), 1009);
	wire.destroy();
	await assertServes();
});

test('a message of exactly 100 MiB is taken', plain, async () => {
	const client = await server.connect();
	const text = '{"id":1,"method":"environment/status"}';
	client.raw(text + ' '.repeat(MESSAGE_MAX - text.length));
	const answer = await client.wait('answer',
		() => client.received.find((m) => m.result?.status), 30000);
	assert.equal(answer.id, 1);
	await client.close();
});

test('a ping is answered with its payload while a long poll waits', own, async () => {
	const client = await server.connect();
	const sleeper = await client.start(['/bin/sleep', '100']);
	const poll = sleeper.read({afterSeq: 0, waitMs: 250000});
	const pong = new Promise((resolve) =>
		client.socket.once('pong', (d) => resolve(d.toString())));
	client.socket.ping('x1');
	assert.equal(await within(5000, 'pong', pong), 'x1');
	await sleeper.terminate();
	assert.equal((await poll).exited, true);
	await client.close();
});

test('a close frame is answered and ends the connection', own, async () => {
	const wire = await upgraded();
	await wire.write(frame(Buffer.from([0x03, 0xe8]), {opcode: 8}));
	assert.equal(await wire.closeCode(), 1000);
	await wire.end();
});

test('quiet connections get a ping every ping_interval', own, async () => {
	const s = await Server.start({set: {'limits.ping_interval': '100ms'}});
	try {
		const client = await s.connect();
		let pings = 0;
		client.socket.on('ping', () => { pings++; });
		await until(5000, 'ten pings', () => pings >= 10);
		await client.status();
	} finally {
		await s.stop();
	}
});

// A client that sleeps for a while keeps its connection, as with the reference:
// losing it could cost it the session.
test('a client that answers no ping for a while is not dropped', own,
	async () => {
		const s = await Server.start({set: {'limits.ping_interval': '50ms'}});
		try {
			const client = await s.connect();
			client.socket.pause();
			await pause(1000);
			client.socket.resume();
			await client.status();
		} finally {
			await s.stop();
		}
	});

test('slow handshakes end at handshake_timeout, a proper client is served',
	own, async () => {
		const s = await Server.start(
			{set: {'limits.handshake_timeout': '500ms'}});
		try {
			const slow = [];
			for (let i = 0; i < 32; i++)
				slow.push(await Wire.open(s.port));
			const drip = setInterval(() => slow.forEach((w) =>
				!w.ended && w.socket.write('G')), 100);
			// On a busy machine it may itself be too slow at first.
			const client = await until(5000, 'a proper client', () =>
				s.connect().catch(() => undefined));
			await client.status();
			await Promise.all(slow.map((w) => w.end()));
			clearInterval(drip);
			await client.status();
		} finally {
			await s.stop();
		}
	});

test('a connection without initialize ends at initialize_timeout', own,
	async () => {
		const s = await Server.start(
			{set: {'limits.initialize_timeout': '200ms'}});
		try {
			const idle = await s.connect({initialize: false});
			const used = await until(5000, 'one that is used', () =>
				s.connect().catch(() => undefined));
			await within(5000, 'end of the idle one', idle.closed);
			await used.status();
		} finally {
			await s.stop();
		}
	});

test('stdout is the URL alone, and its secret is told nowhere else', own,
	async () => {
		const s = await Server.start();
		const refused = await upgrade(s.port, '/guess');
		refused.wire.destroy();
		const client = await s.connect();
		await client.shell('echo x');
		await client.close();
		const {code} = await s.stop();
		assert.equal(code, 0);
		assert.equal(s.stdout, `${s.url}\n`);
		assert.match(s.url, /^ws:\/\/127\.0\.0\.1:\d+\/[\w-]{22,}$/);
		assert.ok(!s.stderr.includes(s.path.slice(1)), 'the secret is logged');
		assert.ok(!s.stderr.includes('/guess'), 'a tried path is logged');
	});

test('SIGTERM closes connections with 1001 and the server exits 0', own,
	async () => {
		const s = await Server.start(
			{set: {'limits.shutdown_timeout': '30s'}});
		const client = await s.connect();
		const {code} = await s.stop();
		assert.deepEqual(await within(5000, 'close', client.closed),
			{code: 1001, reason: 'shutdown'});
		assert.equal(code, 0);
		await assert.rejects(Client.connect(s.url));
	});
