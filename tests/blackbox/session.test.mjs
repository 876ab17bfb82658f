import assert from 'node:assert/strict';
import {after, test} from 'node:test';
import {Process, startParams} from './lib/client.mjs';
import {uniqueWord, withArgument} from './lib/proc.mjs';
import {Server, foreignSkip} from './lib/server.mjs';
import {inTime, pause, until, within} from './lib/wait.mjs';

const server = await Server.start();
after(() => server.stop());
const own = {skip: foreignSkip};

/** A connection that takes over the session of another. */
async function resume(from, s = server) {
	const client = await s.connect({
		params: {clientName: 'again', resumeSessionId: from.sessionId},
	});
	assert.equal(client.sessionId, from.sessionId);
	return client;
}

/** Resume as soon as the server has seen the old connection end. */
function resumeDropped(from, s = server) {
	return until(5000, 'resume', () => resume(from, s).catch((e) => {
		if (e.code !== -32010)
			throw e;
	}));
}

async function withServer(options, body) {
	const s = await Server.start(options);
	try {
		await body(s);
	} finally {
		await s.stop();
	}
}

test('initialize answers a uuid and the environment', async () => {
	const client = await server.connect({initialize: false});
	const result = await client.initialize();
	assert.match(result.sessionId,
		/^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/);
	client.notify('initialized', {});
	assert.deepEqual(result.environmentInfo,
		await client.call('environment/info', null));
	await client.close();
});

test('initialize without clientName is -32602, and may be tried again',
	async () => {
		const client = await server.connect({initialize: false});
		const error = await client.refusal('initialize', {});
		assert.equal(error.code, -32602);
		assert.match(error.text, /clientName/);
		await client.initialize();
		await client.close();
	});

test('a second initialize is -32600', async () => {
	const client = await server.connect();
	const error = await client.refusal('initialize', {clientName: 'x'});
	assert.equal(error.code, -32600);
	assert.equal(error.text, 'initialize may only be sent once per connection');
	await client.close();
});

test('before initialize every family of methods is refused', async () => {
	const client = await server.connect({initialize: false});
	const families = [
		['environment/status', {}, 'environment status'],
		['environment/info', {}, 'environment info'],
		['process/terminate', {processId: 'x'}, 'exec'],
	];
	for (const [method, params, family] of families) {
		const error = await client.refusal(method, params);
		assert.equal(error.code, -32600);
		assert.equal(error.text,
			`client must call initialize before using ${family} methods`);
	}
	await client.close();
});

test('between initialize and initialized methods are refused', async () => {
	const client = await server.connect({initialized: false});
	const error = await client.refusal('process/terminate', {processId: 'x'});
	assert.equal(error.code, -32600);
	assert.equal(error.text,
		'client must send initialized before using exec methods');
	client.notify('initialized', {});
	await client.status();
	await client.close();
});

test('initialized takes any params and may be repeated', async () => {
	const client = await server.connect();
	for (const params of [undefined, null, {}, [], 'x', 7])
		client.notify('initialized', params);
	await client.status();
	await client.close();
});

test('initialized before initialize ends the connection', async () => {
	const client = await server.connect({initialize: false});
	client.notify('initialized', {});
	await within(5000, 'end', client.closed);
});

test('an unknown session id is -32600, and initialize may be tried again',
	async () => {
		const client = await server.connect({initialize: false});
		for (const id of ['no-such-session', '',
			'00000000-0000-4000-8000-000000000000']) {
			const error = await client.refusal('initialize',
				{clientName: 'x', resumeSessionId: id});
			assert.equal(error.code, -32600);
			assert.equal(error.text, `unknown session id ${id}`);
		}
		await client.initialize({clientName: 'x', resumeSessionId: null});
		await client.close();
	});

test('an attached session is refused with -32010 and not disturbed',
	async () => {
		const first = await server.connect();
		const second = await server.connect({initialize: false});
		const error = await second.refusal('initialize',
			{clientName: 'x', resumeSessionId: first.sessionId});
		assert.equal(error.code, -32010);
		assert.equal(error.text,
			'session ID is already attached to another connection'
				.replace('ID', first.sessionId));
		await first.status();
		await first.close();
		await second.close();
	});

for (const how of ['drop', 'close'])
	test(`after ${how} the session goes on: output, seq and processes`,
		async () => {
			const first = await server.connect();
			const process = await first.start(['/bin/sh', '-c',
				'i=0; while [ $i -lt 15 ]; do echo $i; i=$((i+1)); ' +
				'sleep 0.05; done']);
			await process.prints('3\n');
			await first[how]();
			const second = await resumeDropped(first);
			const again = new Process(second, process.id);
			const all = await again.drain();
			assert.equal(all.text,
				[...Array(15).keys()].map((i) => `${i}\n`).join(''));
			assert.equal(all.exitCode, 0);
			assert.equal(all.failure, null);
			const seqs = all.chunks.map((c) => c.seq);
			assert.deepEqual(seqs, seqs.map((_, i) => i + 1));
			await second.close();
		});

test('notifications go to the new connection, with the next seq', async () => {
	const first = await server.connect();
	const process = await first.start(['/bin/cat'], {tty: true});
	await process.write('one\n');
	await process.prints('one\r\none\r\n');
	const last = process.events().at(-1).params.seq;
	await first.drop();
	const second = await resumeDropped(first);
	const again = new Process(second, process.id);
	assert.deepEqual(await again.write('two\n', 'other'),
		{status: 'accepted'});
	await again.prints('two\r\ntwo\r\n');
	assert.equal(again.events()[0].params.seq, last + 1);
	await again.terminate();
	await second.close();
});

test('a write repeated after a resume is not written twice', async () => {
	const first = await server.connect();
	const process = await first.start(['/bin/cat'], {pipeStdin: true});
	await process.write('once\n', 'same');
	await process.prints('once\n');
	await first.drop();
	const second = await resumeDropped(first);
	const again = new Process(second, process.id);
	assert.deepEqual(await again.write('once\n', 'same'),
		{status: 'accepted'});
	await again.write('end\n', 'next');
	await again.prints('end\n');
	assert.equal((await again.read({afterSeq: 0})).chunks.length, 2);
	await again.terminate();
	await second.close();
});

test('a process that ends while detached can still be read', async () => {
	const first = await server.connect();
	const process = await first.start(
		['/bin/sh', '-c', 'read x; echo late; exit 6'], {pipeStdin: true});
	await process.write('go\n');
	await first.drop();
	const second = await resumeDropped(first);
	const all = await new Process(second, process.id).drain();
	assert.equal(all.text, 'late\n');
	assert.equal(all.exitCode, 6);
	await second.close();
});

test('initialized must be sent again after a resume', async () => {
	const first = await server.connect();
	await first.drop();
	const second = await until(5000, 'resume', async () => {
		const client = await server.connect({initialize: false});
		try {
			await client.initialize({clientName: 'x',
				resumeSessionId: first.sessionId});
			return client;
		} catch (e) {
			assert.equal(e.code, -32010);
			await client.close();
			return undefined;
		}
	});
	assert.equal((await second.refusal('process/terminate',
		{processId: 'x'})).code, -32600);
	second.notify('initialized', {});
	await second.status();
	await second.close();
});

test('another session does not see the process, and may use its id',
	async () => {
		const first = await server.connect();
		const second = await server.connect();
		await first.start(['/bin/sleep', '100'], {processId: 'same'});
		assert.equal((await second.refusal('process/read',
			{processId: 'same'})).code, -32600);
		assert.deepEqual(await second.call('process/terminate',
			{processId: 'same'}), {running: false});
		const {stdout} = await second.shell('echo mine', {processId: 'same'});
		assert.equal(stdout, 'mine\n');
		assert.deepEqual(await first.call('process/terminate',
			{processId: 'same'}), {running: true});
		await first.close();
		await second.close();
	});

test('after session_retention the id is unknown and its tree is gone', own,
	() => withServer({set: {'limits.session_retention': '300ms'}},
		async (s) => {
			const word = uniqueWord();
			const client = await s.connect();
			const process = await client.start(['/bin/sh', '-c',
				'trap "" TERM HUP INT; setsid sleep 5011 & echo up; ' +
				'while :; do sleep 1; done', word]);
			await process.prints('up');
			assert.ok(withArgument(word).length > 0);
			await client.drop();
			await until(3000, 'end of the tree',
				() => withArgument(word).length === 0);
			const late = await s.connect({initialize: false});
			const error = await until(3000, 'refusal', async () => {
				const e = await late.refusal('initialize', {clientName: 'x',
					resumeSessionId: client.sessionId});
				return e.code === -32010 ? undefined : e;
			});
			assert.equal(error.text,
				`unknown session id ${client.sessionId}`);
		}));

test('within session_retention a detached session is kept', own,
	() => withServer({set: {'limits.session_retention': '1500ms'}},
		async (s) => {
			let process, second;
			await inTime(1500, async () => {
				const client = await s.connect();
				process = await client.start(['/bin/sleep', '100']);
				await client.drop();
				await pause(300);
				second = await resumeDropped(client, s);
			});
			assert.equal((await new Process(second, process.id)
				.read({afterSeq: 0})).exited, false);
			// Attached again, the clock has stopped.
			await pause(1700);
			assert.deepEqual(await new Process(second, process.id)
				.terminate(), {running: true});
		}));

test('with session_retention 0 nothing survives the connection', own,
	() => withServer({set: {'limits.session_retention': '0'}}, async (s) => {
		const word = uniqueWord();
		const client = await s.connect();
		const process = await client.start(
			['/bin/sh', '-c', 'echo up; sleep 5012 & sleep 5012', word]);
		await process.prints('up');
		await client.drop();
		await until(3000, 'end of the tree',
			() => withArgument(word).length === 0);
		const late = await s.connect({initialize: false});
		assert.equal((await late.refusal('initialize', {clientName: 'x',
			resumeSessionId: client.sessionId})).code, -32600);
	}));

test('a finished process is forgotten after process_retention', own,
	() => withServer({set: {'limits.process_retention': '300ms'}},
		async (s) => {
			const client = await s.connect();
			let i = 0;
			await inTime(300, async () => {
				const processId = `p${++i}`;
				await client.shell('exit 0', {processId});
				assert.equal((await client.refusal('process/start', startParams(
					['/bin/true'], client.cwd, {processId}))).text,
				`process ${processId} already exists`);
			});
			await until(3000, 'free id', () => client.call(
				'process/start', startParams(['/bin/true'], client.cwd,
					{processId: `p${i}`})).then(() => true, () => false));
		}));

test('one detached session too many ends the one detached longest', own,
	() => withServer({set: {'limits.detached_sessions_max': '2'}},
		async (s) => {
			const clients = [];
			for (let i = 0; i < 3; i++) {
				clients.push(await s.connect());
				await clients[i].start(['/bin/sleep', '100']);
			}
			for (const client of clients) {
				await client.drop();
				await until(3000, 'detached', async () => {
					const probe = await resume(client, s).catch(() => null);
					await probe?.drop();
					return probe;
				});
			}
			const late = await s.connect({initialize: false});
			const error = await until(3000, 'end of the oldest', async () => {
				const e = await late.call('initialize', {clientName: 'x',
					resumeSessionId: clients[0].sessionId}).catch((x) => x);
				return e.code === -32600 ? e : undefined;
			});
			assert.match(error.text, /^unknown session id/);
			await resumeDropped(clients[2], s);
		}));

test('sessions are counted: sessions_max works, one more is refused', own,
	() => withServer({set: {'limits.sessions_max': '3'}}, async (s) => {
		const clients = [];
		for (let i = 0; i < 3; i++)
			clients.push(await s.connect());
		const extra = await s.connect({initialize: false});
		await extra.refusal('initialize', {clientName: 'x'});
		for (const client of clients)
			await client.status();
	}));
