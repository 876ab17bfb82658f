import assert from 'node:assert/strict';
import {after, test} from 'node:test';
import {Process, encode} from './lib/client.mjs';
import {Server, foreignSkip} from './lib/server.mjs';

const server = await Server.start();
after(() => server.stop());
const own = {skip: foreignSkip};
const accepted = {status: 'accepted'};

async function connected(body) {
	const client = await server.connect();
	try {
		await body(client);
	} finally {
		await client.close();
	}
}

test('without pipeStdin the child reads end of input at once', () =>
	connected(async (client) => {
		const process = await client.start(['/bin/cat']);
		assert.equal((await process.end(2000)).exitCode, 0);
		const {stdout} = await client.shell('readlink /proc/self/fd/0');
		assert.equal(stdout, '/dev/null\n');
	}));

test('with pipeStdin it waits, and gets what is written', () =>
	connected(async (client) => {
		const process = await client.start(['/bin/cat'], {pipeStdin: true});
		assert.equal((await process.read({waitMs: 200})).exited, false);
		assert.deepEqual(await process.write('hello\n'), accepted);
		await process.prints('hello\n');
		await process.terminate();
	}));

test('a repeated writeId is accepted and not written again', () =>
	connected(async (client) => {
		const process = await client.start(['/bin/cat'], {pipeStdin: true});
		for (const id of ['a', 'a', 'b', 'a', 'b'])
			assert.deepEqual(await process.write(id, id), accepted);
		await process.write('.', 'c');
		await process.prints('\\.');
		assert.equal(process.text(), 'ab.');
		await process.terminate();
	}));

test('writes sent without waiting arrive in order', () =>
	connected(async (client) => {
		const process = await client.start(['/bin/cat'], {pipeStdin: true});
		const words = [...Array(200).keys()].map((i) => `${i} `);
		await Promise.all(words.map((w) => process.write(w)));
		await process.prints('199 ');
		assert.equal(process.text(), words.join(''));
		await process.terminate();
	}));

test('an empty chunk is accepted and ends nothing', () =>
	connected(async (client) => {
		const process = await client.start(['/bin/cat'], {pipeStdin: true});
		assert.deepEqual(await process.write(''), accepted);
		await process.write('still\n');
		await process.prints('still');
		await process.terminate();
	}));

test('2 MB to a process that does not read are accepted at once', () =>
	connected(async (client) => {
		const process = await client.start(
			['/bin/sh', '-c', 'read go; wc -c'], {pipeStdin: true});
		const data = Buffer.alloc(2000000, 'k');
		data[0] = 10;
		assert.deepEqual(await process.write(data), accepted);
		await process.terminate();
	}));

test('3 MB in one write arrive whole', own, () => connected(async (client) => {
	const process = await client.start(['/usr/bin/cksum'], {pipeStdin: true});
	const data = Buffer.alloc(3000000);
	for (let i = 0; i < data.length; i++)
		data[i] = (i * 7 + (i >> 8) * 13) & 255;
	const local = await client.start(['/bin/sh', '-c', 'cat | cksum'],
		{pipeStdin: true});
	for (const p of [process, local]) {
		assert.deepEqual(await p.write(data), accepted);
		await p.closeStdin();
	}
	const [a, b] = [await process.end(), await local.end()];
	assert.match(a.stdout, / 3000000\n$/);
	assert.equal(a.stdout, b.stdout);
}));

test('closeStdin is end of input, after all that was written', own, () =>
	connected(async (client) => {
		const process = await client.start(
			['/usr/bin/wc', '-c'], {pipeStdin: true});
		process.write('x'.repeat(300000)).catch(() => {});
		assert.deepEqual(await process.closeStdin(), {});
		assert.match((await process.end()).stdout, /^300000\n/);
	}));

test('after closeStdin writes answer stdinClosed; closing again is fine', own,
	() => connected(async (client) => {
		const process = await client.start(
			['/bin/sleep', '100'], {pipeStdin: true});
		await process.closeStdin();
		assert.deepEqual(await process.write('x'), {status: 'stdinClosed'});
		assert.deepEqual(await process.closeStdin(), {});
		await process.terminate();
	}));

test('closeStdin of an unknown process is -32600', own, () =>
	connected(async (client) => {
		const error = await client.refusal(
			'process/closeStdin', {processId: 'nobody'});
		assert.equal(error.code, -32600);
		assert.equal((await client.refusal('process/closeStdin', {})).code,
			-32602);
	}));

test('closeStdin survives a resume: the end came through', own, () =>
	connected(async (client) => {
		const process = await client.start(['/bin/cat'], {pipeStdin: true});
		await process.write('a');
		await process.closeStdin();
		assert.equal((await process.end()).stdout, 'a');
	}));

test('statuses: no stdin, finished, unknown', () =>
	connected(async (client) => {
		const none = await client.start(['/bin/sleep', '100']);
		assert.deepEqual(await none.write('x'), {status: 'stdinClosed'});
		await none.terminate();
		assert.deepEqual(await new Process(client, 'nobody').write('x'),
			{status: 'unknownProcess'});
		if (foreignSkip)
			return;
		const done = await client.start(['/bin/true'], {pipeStdin: true});
		await done.end();
		assert.deepEqual(await done.write('x'), {status: 'stdinClosed'});
	}));

test('writing to a child that closed its stdin disturbs nobody', () =>
	connected(async (client) => {
		const process = await client.start(
			['/bin/sh', '-c', 'exec <&-; echo shut; sleep 100'],
			{pipeStdin: true});
		await process.prints('shut');
		for (let i = 0; i < 5; i++)
			assert.match((await process.write('x'.repeat(100000))).status,
				/^(accepted|stdinClosed)$/);
		await client.status();
		await process.terminate();
	}));

const badWrites = {
	'no writeId': {writeId: undefined},
	'an empty writeId': {writeId: ''},
	'a writeId that is a number': {writeId: 7},
	'no chunk': {chunk: undefined},
	'text that is not base64': {chunk: 'not base64!'},
	'base64 without padding': {chunk: 'eHg'},
	'base64 with a newline': {chunk: 'eHh4\n'},
	'the URL alphabet': {chunk: '_-__'},
	'bits behind the end': {chunk: 'eB=='},
};
for (const [what, change] of Object.entries(badWrites))
	test(`a write with ${what} is -32602`, () => connected(async (client) => {
		const process = await client.start(['/bin/cat'], {pipeStdin: true});
		const error = await client.refusal('process/write', {
			processId: process.id, chunk: encode('x'), writeId: 'w', ...change,
		});
		assert.equal(error.code, -32602);
		await process.write('ok');
		await process.prints('ok');
		assert.equal(process.text(), 'ok');
		await process.terminate();
	}));

test('a writeId is taken up to 1024 bytes', own, () =>
	connected(async (client) => {
		const process = await client.start(['/bin/cat'], {pipeStdin: true});
		assert.deepEqual(await process.write('x', 'w'.repeat(1024)), accepted);
		const error = await client.refusal('process/write', {
			processId: process.id, chunk: encode('y'),
			writeId: 'w'.repeat(1025),
		});
		assert.equal(error.code, -32602);
		await process.terminate();
	}));
