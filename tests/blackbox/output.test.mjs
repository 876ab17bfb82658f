import assert from 'node:assert/strict';
import {after, test} from 'node:test';
import fs from 'node:fs';
import path from 'node:path';
import {decode} from './lib/client.mjs';
import {Server, foreignSkip} from './lib/server.mjs';
import {pause} from './lib/wait.mjs';

const RETAINED_MAX = 1024 * 1024;

const server = await Server.start();
after(() => server.stop());
const own = {skip: foreignSkip};

async function connected(body) {
	const client = await server.connect();
	try {
		await body(client);
	} finally {
		await client.close();
	}
}

/** 1, 2, 3 ... to the end, closed last. */
function assertGapless({seqs, events, closed}) {
	assert.deepEqual(seqs, seqs.map((_, i) => i + 1));
	assert.equal(events.at(-1).method, 'process/closed');
	assert.equal(closed.seq, seqs.length);
	assert.equal(events.filter((m) => m.method === 'process/exited').length, 1);
}

test('seq counts every event from 1 without a gap, closed last', () =>
	connected(async (client) => {
		for (const tty of [false, true]) {
			assertGapless(await client.shell(
				'for i in 1 2 3 4 5; do echo $i; echo e$i >&2; done', {tty}));
			assertGapless(await client.shell('exit 1', {tty}));
		}
	}));

test('what was written before the end is told before the end', own, () =>
	connected(async (client) => {
		for (let i = 0; i < 10; i++) {
			const {events} = await client.shell('echo x; sleep 0.1 &');
			assert.deepEqual(events.map((m) => m.method.slice(8)),
				['output', 'exited', 'closed']);
		}
		for (let i = 0; i < 100; i++) {
			const {events} = await client.shell('echo x');
			assert.deepEqual(events.map((m) => m.method.slice(8)),
				['output', 'exited', 'closed']);
		}
	}));

test('closed waits for the last stream, whichever that is', () =>
	connected(async (client) => {
		for (const [last, other] of [[1, 2], [2, 1]]) {
			const done = await client.shell(
				`(sleep 0.1; echo late >&${last}) ${other}>&- & exec ${other}>&-`);
			assertGapless(done);
			assert.equal(done.stdout + done.stderr, 'late\n');
		}
	}));

test('stdout and stderr are apart with pipes, one pty on a terminal', () =>
	connected(async (client) => {
		const script = 'echo o1; echo e1 >&2; echo o2; echo e2 >&2';
		const pipes = await client.shell(script);
		assert.equal(pipes.stdout, 'o1\no2\n');
		assert.equal(pipes.stderr, 'e1\ne2\n');
		assert.equal(pipes.pty, '');
		const tty = await client.shell(script, {tty: true});
		assert.equal(tty.pty, 'o1\r\ne1\r\no2\r\ne2\r\n');
		assert.equal(tty.stdout + tty.stderr, '');
	}));

test('bytes are not changed: all values, split and broken UTF-8', () =>
	connected(async (client) => {
		const process = await client.start(['/bin/sh', '-c',
			'i=0; while [ $i -lt 256 ]; do printf "\\\\$(printf %o $i)"; ' +
			'i=$((i+1)); done; printf "\\344\\272"; sleep 0.1; ' +
			'printf "\\206\\n"; printf "\\377\\376"']);
		await process.end();
		assert.deepEqual([...process.output('stdout')], [
			...Array(256).keys(), 0xe4, 0xba, 0x86, 0x0a, 0xff, 0xfe]);
	}));

test('5 MB arrive whole, by notification', () => connected(async (client) => {
	const process = await client.start(['/bin/sh', '-c',
		'head -c 5000000 /dev/zero | tr "\\0" x; echo end >&2']);
	const end = await process.end(30000);
	assertGapless(end);
	assert.equal(end.stdout.length, 5000000);
	assert.match(end.stdout, /^x+$/);
	assert.equal(end.stderr, 'end\n');
}));

test('about the newest 1 MiB is kept for read, in whole chunks', () =>
	connected(async (client) => {
		const process = await client.start(['/bin/sh', '-c',
			'head -c 3145728 /dev/zero | tr "\\0" h; echo TAIL; exit 9']);
		const {seqs} = await process.end(30000);
		const kept = await process.drain();
		assert.match(kept.text, /TAIL\n$/);
		assert.ok(kept.bytes.length <= RETAINED_MAX);
		assert.ok(kept.bytes.length >= RETAINED_MAX / 2);
		assert.equal(kept.exitCode, 9);
		assert.ok(kept.chunks[0].seq > 1);
		assert.equal(kept.nextSeq, seqs.length + 1);
		kept.chunks.reduce((before, {seq}) => {
			assert.ok(seq === before + 1 || seq === before + 2);
			return seq;
		}, kept.chunks[0].seq - 1);
	}));

test('output up to 1 MiB is kept whole', () => connected(async (client) => {
	const process = await client.start(
		['/bin/sh', '-c', `head -c ${RETAINED_MAX} /dev/zero`]);
	await process.end(30000);
	const kept = await process.drain();
	assert.equal(kept.bytes.length, RETAINED_MAX);
	assert.equal(kept.chunks[0].seq, 1);
}));

/** A process whose output is n chunks of 4 bytes. */
async function chunky(client, n) {
	const process = await client.start(['/bin/sh', '-c',
		'while read x; do printf "%4s" "$x"; done'], {pipeStdin: true});
	for (let i = 0; i < n; i++) {
		await process.write(`${i}\n`);
		await client.wait('chunk', () => process.events().length > i);
	}
	return process;
}

const limits = [
	// maxBytes, chunks that come, nextSeq
	[0, 1, 2], [1, 1, 2], [4, 1, 2], [5, 1, 2], [7, 1, 2],
	[8, 2, 3], [9, 2, 3], [12, 3, 4], [100, 4, 5], [null, 4, 5],
	[undefined, 4, 5],
];
for (const [maxBytes, count, nextSeq] of limits)
	test(`read with maxBytes ${maxBytes} gives ${count} of 4 chunks`, () =>
		connected(async (client) => {
			const process = await chunky(client, 4);
			const answer = await process.read({afterSeq: 0, maxBytes});
			assert.equal(answer.chunks.length, count);
			assert.equal(answer.nextSeq, nextSeq);
			assert.equal(answer.exited, false);
			assert.equal(answer.exitCode, null);
			assert.equal(answer.failure, null);
			assert.equal(answer.sandboxDenied, false);
			await process.terminate();
		}));

test('a cursor with a byte limit sees every chunk once', () =>
	connected(async (client) => {
		const process = await client.start(['/bin/sh', '-c',
			'for i in 1 2 3 4 5 6 7 8 9 0; do printf "漢字漢字"; ' +
			'sleep 0.01; done']);
		await process.end();
		for (const maxBytes of [1, 12, 40, 1000]) {
			const all = await process.drain({maxBytes});
			assert.equal(all.text, '漢字'.repeat(20));
		}
	}));

test('read defaults to everything kept, at once', () =>
	connected(async (client) => {
		const process = await client.start(
			['/bin/sh', '-c', 'echo hi; exit 5']);
		await process.end();
		const answer = await process.read();
		assert.equal(decode(answer.chunks[0].chunk).toString(), 'hi\n');
		assert.equal(answer.chunks[0].stream, 'stdout');
		assert.deepEqual({...answer, chunks: []}, {
			chunks: [], nextSeq: 4, exited: true, exitCode: 5, closed: true,
			failure: null, sandboxDenied: false,
		});
		assert.deepEqual((await process.read({afterSeq: 1})).chunks, []);
		assert.deepEqual((await process.read({afterSeq: 1000})).chunks, []);
		assert.deepEqual((await process.read({afterSeq: null, waitMs: null}))
			.chunks, answer.chunks);
	}));

test('a long poll waits for output and returns with it', () =>
	connected(async (client) => {
		const process = await client.start(['/bin/cat'], {pipeStdin: true});
		const begin = Date.now();
		const empty = await process.read({afterSeq: 0, waitMs: 300});
		assert.ok(Date.now() - begin >= 250);
		assert.deepEqual(empty.chunks, []);
		assert.equal(empty.nextSeq, 1);
		if (!foreignSkip) {
			const poll = process.read({afterSeq: 0, waitMs: 9000});
			await pause(100);
			await process.write('now\n');
			assert.equal(decode((await poll).chunks[0].chunk).toString(),
				'now\n');
		}
		await process.terminate();
	}));

test('several long polls of one process all wake', own, () =>
	connected(async (client) => {
		const process = await client.start(['/bin/cat'], {pipeStdin: true});
		const polls = [...Array(5)].map(() =>
			process.read({afterSeq: 0, waitMs: 9000}));
		await process.write('x');
		for (const answer of await Promise.all(polls))
			assert.equal(answer.chunks.length, 1);
		await process.terminate();
	}));

test('a long poll wakes for exit and for closed', own, () =>
	connected(async (client) => {
		const process = await client.start(['/bin/sh', '-c', 'read x; ' +
			'(until [ -e let-go ]; do sleep 0.02; done) & exit 7'],
		{pipeStdin: true});
		const poll = process.read({afterSeq: 0, waitMs: 9000});
		await process.write('\n');
		const exited = await poll;
		assert.equal(exited.exited, true);
		assert.equal(exited.exitCode, 7);
		assert.equal(exited.nextSeq, 2);
		const last = process.read({afterSeq: 1, waitMs: 250000});
		fs.writeFileSync(path.join(server.workspace, 'let-go'), '');
		assert.equal((await last).closed, true);
	}));

test('a process that has closed never waits', () =>
	connected(async (client) => {
		const process = await client.start(['/bin/true']);
		await process.end();
		const answer = await process.read({afterSeq: 2, waitMs: 250000});
		assert.equal(answer.closed, true);
	}));

test('an exit not yet seen returns at once, though not closed', () =>
	connected(async (client) => {
		const process = await client.start(['/bin/sh', '-c', 'sleep 100 &']);
		await process.exited();
		const answer = await process.read({afterSeq: 0, waitMs: 250000});
		assert.equal(answer.exited, true);
		assert.equal(answer.closed, false);
		await process.terminate();
		await process.end();
	}));

for (const [member, value] of [
	['afterSeq', -1], ['afterSeq', 1.5], ['afterSeq', '1'],
	['maxBytes', -1], ['maxBytes', 0.5], ['waitMs', -1], ['waitMs', 'x'],
	['processId', 7], ['processId', null],
])
	test(`read with ${member} ${JSON.stringify(value)} is -32602`, () =>
		connected(async (client) => {
			const process = await client.start(['/bin/true']);
			const error = await client.refusal('process/read',
				{processId: process.id, [member]: value});
			assert.equal(error.code, -32602);
		}));

test('read of an unknown process is -32600', () =>
	connected(async (client) => {
		const error = await client.refusal(
			'process/read', {processId: 'no such'});
		assert.equal(error.code, -32600);
		assert.equal(error.text, 'unknown process id no such');
	}));

test('waitMs is cut to long_poll_max', own, async () => {
	const s = await Server.start({set: {'limits.long_poll_max': '200ms'}});
	try {
		const client = await s.connect();
		const process = await client.start(['/bin/sleep', '100']);
		const answer = await process.read({afterSeq: 0, waitMs: 250000});
		assert.deepEqual(answer.chunks, []);
	} finally {
		await s.stop();
	}
});
