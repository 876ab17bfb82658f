// A client that does not read hurts itself alone, and loses nothing.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import {after, test} from 'node:test';
import {fdCount, residentKib} from './lib/proc.mjs';
import {Server, fileUri, foreignSkip, memorySkip} from './lib/server.mjs';
import {inTime, pause, until} from './lib/wait.mjs';

const BURST = 200 * 1024;
const runs = Number(process.env.SALLYPORT_RUNS ?? 25);

const server = await Server.start();
after(() => server.stop());
const own = {skip: foreignSkip};

function assertSmall(kib) {
	if (!memorySkip)
		assert.ok(kib < 32 * 1024, `net grew by ${kib} KiB`);
}

for (const tty of [false, true])
	test(`200 KiB and exit, ${tty ? 'pty' : 'pipe'}: every byte arrives ` +
		`after a pause, ${runs} times`, async () => {
		const client = await server.connect();
		const burst = `${tty ? 'stty raw; ' : ''}head -c ${BURST} /dev/zero`;
		const started = [];
		for (let i = 0; i < runs; i++)
			started.push(await client.start(
				['/bin/sh', '-c', `read go; ${burst}`],
				{tty, pipeStdin: true}));
		client.socket.pause();
		// Nobody reads the answers for now.
		const writes = started.map((process) => process.write('\n'));
		await pause(2000);
		client.socket.resume();
		await Promise.all(writes);
		for (const process of started) {
			const end = await process.end(30000);
			const all = Buffer.from(end.all, 'latin1');
			// A terminal echoes the line that started it.
			const zeros = all.filter((byte) => byte === 0).length;
			assert.equal(zeros, BURST);
			assert.deepEqual(end.seqs, end.seqs.map((_, i) => i + 1));
			assert.equal(end.exitCode, 0);
		}
		await client.close();
	});

test('answers that nobody reads are not made without end', own, async () => {
	const net = await server.role('net');
	const [slow, other] = [await server.connect(), await server.connect()];
	const file = path.join(server.workspace, 'large');
	fs.writeFileSync(file, Buffer.alloc(256 * 1024));
	const before = residentKib(net);
	slow.socket.pause();
	const params = {path: fileUri(file)};
	for (let i = 0; i < 20000; i++)
		slow.send({id: `r${i}`, method: 'fs/readFile', params});
	await pause(1500);
	await other.status();
	assert.equal((await other.shell('echo hi')).stdout, 'hi\n');
	assert.ok(fdCount(net) < 1500, `net has ${fdCount(net)} descriptors`);
	if (!memorySkip)
		assert.ok(residentKib(net) - before < 64 * 1024,
			`net grew by ${residentKib(net) - before} KiB`);
	await slow.drop();
	await until(5000, 'descriptors closed', () => fdCount(net) < 200);
	await other.close();
});

test('a flood that nobody reads stops at the source, others are served', own,
	async () => {
		const net = await server.role('net');
		const [slow, other] = [await server.connect(), await server.connect()];
		const before = residentKib(net);
		const flood = await slow.start(['/bin/cat', '/dev/zero']);
		await until(5000, 'some output', () => flood.events().length > 10);
		slow.socket.pause();
		await pause(1500);
		await inTime(1000, async () =>
			assert.equal((await other.shell('echo hi')).stdout, 'hi\n'));
		assertSmall(residentKib(net) - before);
		slow.socket.resume();
		assert.deepEqual(await flood.terminate(), {running: true});
		await slow.drop();
		await other.close();
	});

test('a flood that is read can be terminated at once', own, async () => {
	const client = await server.connect();
	const flood = await client.start(['/bin/cat', '/dev/zero']);
	await until(5000, 'some output', () => flood.events().length > 50);
	assert.deepEqual(await flood.terminate(), {running: true});
	const end = await client.event(flood.id, 'closed', 10000);
	assert.equal(end.seq, flood.events().length);
	await client.close();
});

test('a detached flood keeps the newest output and blocks nobody', own,
	async () => {
		const net = await server.role('net');
		const before = residentKib(net);
		const client = await server.connect();
		const flood = await client.start(['/bin/cat', '/dev/zero']);
		await until(5000, 'some output', () => flood.events().length > 10);
		await client.drop();
		await pause(1000);
		const other = await server.connect();
		assert.equal((await other.shell('echo hi')).stdout, 'hi\n');
		assertSmall(residentKib(net) - before);
		const again = await until(5000, 'resume', () => server.connect({
			params: {clientName: 'x', resumeSessionId: client.sessionId},
		}).catch(() => undefined));
		assert.deepEqual(await again.call('process/terminate',
			{processId: flood.id}), {running: true});
		await again.close();
		await other.close();
	});
