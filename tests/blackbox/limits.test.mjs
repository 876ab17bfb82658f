// Every limit that a client can reach, at its maximum and one above.
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {startParams} from './lib/client.mjs';
import {Server, foreignSkip} from './lib/server.mjs';
import {until} from './lib/wait.mjs';
import {Wire} from './lib/wire.mjs';

const own = {skip: foreignSkip};

const limited = (what, set, body) => test(what, own, async () => {
	const server = await Server.start({set: Object.fromEntries(
		Object.entries(set).map(([key, value]) => [`limits.${key}`, value]))});
	try {
		await body(server);
	} finally {
		await server.stop();
	}
});

limited('connections_max are served, one more is not, a free place is',
	{connections_max: 4}, async (server) => {
		const clients = [];
		for (let i = 0; i < 4; i++)
			clients.push(await server.connect());
		await assert.rejects(server.connect());
		for (const client of clients)
			await client.status();
		await clients[0].close();
		await until(3000, 'a free place', () =>
			server.connect().catch(() => undefined));
	});

limited('connections that never speak count too', {connections_max: 3},
	async (server) => {
		const silent = [];
		for (let i = 0; i < 3; i++)
			silent.push(await Wire.open(server.port));
		await assert.rejects(server.connect());
		silent.forEach((wire) => wire.destroy());
		await until(3000, 'a free place', () =>
			server.connect().catch(() => undefined));
	});

limited('session_processes_max run, one more is refused, a free place is not',
	{session_processes_max: 3}, async (server) => {
		const [client, other] = [
			await server.connect(), await server.connect()];
		const running = [];
		for (let i = 0; i < 3; i++)
			running.push(await client.start(['/bin/sleep', '100']));
		const more = startParams(['/bin/true'], client.cwd, {processId: 'x'});
		const error = await client.refusal('process/start', more);
		assert.equal(error.code, -32600);
		assert.equal((await other.shell('exit 0')).exitCode, 0);
		await running[0].terminate();
		await running[0].end();
		assert.deepEqual(await client.call('process/start', more),
			{processId: 'x', sandboxType: 'none'});
		await client.event('x', 'closed');
	});

limited('finished_max finished processes are kept, the newest of them',
	{finished_max: 3}, async (server) => {
		const client = await server.connect();
		for (let i = 0; i < 5; i++)
			await client.shell(`exit ${i}`, {processId: `p${i}`});
		for (const i of [0, 1])
			assert.equal((await client.refusal('process/read',
				{processId: `p${i}`})).text, `unknown process id p${i}`);
		for (const i of [2, 3, 4])
			assert.equal((await client.call('process/read',
				{processId: `p${i}`})).exitCode, i);
	});

limited('processes_max over all sessions', {processes_max: 4},
	async (server) => {
		const [a, b] = [await server.connect(), await server.connect()];
		for (const client of [a, a, b, b])
			await client.start(['/bin/sleep', '100']);
		for (const client of [a, b])
			await client.refusal('process/start', startParams(
				['/bin/true'], client.cwd, {processId: 'x'}));
		await a.status();
	});

limited('pending_requests_max long polls wait, one more is refused',
	{pending_requests_max: 8}, async (server) => {
		const client = await server.connect();
		const process = await client.start(['/bin/sleep', '100']);
		const polls = [...Array(8)].map(() =>
			process.read({waitMs: 30000}));
		const error = await client.refusal('process/read',
			{processId: process.id, waitMs: 30000});
		assert.equal(error.code, -32600);
		await client.status();
		await process.terminate();
		for (const answer of await Promise.all(polls))
			assert.equal(answer.exited, true);
	});

limited('queued_write_max bytes are held for a process that does not read',
	{queued_write_max: 65536}, async (server) => {
		const client = await server.connect();
		const process = await client.start(
			['/bin/sleep', '100'], {pipeStdin: true});
		// The pipe itself takes 64 KiB.
		for (let i = 0; i < 8; i++)
			process.write('x'.repeat(32768)).catch(() => {});
		await client.status();
		assert.deepEqual(await process.terminate(), {running: true});
		await process.end();
		await client.status();
	});

limited('message_budget holds what processes do not read, of all together',
	{message_budget: 1048576}, async (server) => {
		const client = await server.connect();
		const piece = 'x'.repeat(40000);
		const idle = await Promise.all([...Array(12)].map(() =>
			client.start(['/bin/sleep', '100'], {pipeStdin: true})));
		// A pipe and the free part of each queue take 128 KiB; the rest
		// counts, 192 KiB of each.
		const fill = async (process) => {
			for (let i = 0; i < 8; i++) {
				try {
					await process.write(piece);
				} catch (e) {
					assert.equal(e.code, -32600);
					assert.match(e.text, /busy.*message_budget/);
					return false;
				}
			}
			return true;
		};
		const written = [];
		for (const process of idle)
			written.push(await fill(process));
		assert.ok(written.some((all) => all), 'none got all of it');
		assert.ok(written.some((all) => !all), 'nothing was bounded');
		// What they free is there for others.
		await Promise.all(idle.map(async (process) => {
			await process.terminate();
			await process.end();
		}));
		const last = await client.start(['/bin/sleep', '100'],
			{pipeStdin: true});
		assert.equal(await fill(last), true);
	});

limited('message_budget: large messages beyond it hurt their sender alone',
	{message_budget: 1048576}, async (server) => {
		const [big, other] = [await server.connect(), await server.connect()];
		big.raw('{"id":1,"method":"environment/status"}' +
			' '.repeat(3 * 1048576));
		await other.status();
		await until(5000, 'refusal or end', () =>
			big.isClosed || big.stray.length > 0);
		await other.status();
	});

limited('child_open_files, child_processes and child_file_size are its rlimits',
	{child_open_files: 100, child_processes: 50, child_file_size: '64K'},
	async (server) => {
		const client = await server.connect();
		const {stdout} = await client.shell('cat /proc/self/limits');
		assert.match(stdout, /^Max open files +100 +100 /m);
		assert.match(stdout, /^Max processes +50 +50 /m);
		assert.match(stdout, /^Max file size +65536 +65536 /m);
	});

limited('tmp_size bounds what a session leaves in /tmp', {tmp_size: '1M'},
	async (server) => {
		const client = await server.connect();
		const {exitCode} = await client.shell(
			'head -c 900000 /dev/zero > /tmp/fits');
		assert.equal(exitCode, 0);
		const more = await client.shell(
			'head -c 900000 /dev/zero > /tmp/too-much');
		assert.notEqual(more.exitCode, 0);
		const other = await server.connect();
		assert.equal((await other.shell(
			'head -c 900000 /dev/zero > /tmp/fits')).exitCode, 0);
	});

test('argv and env up to what the kernel takes; more is an error', own,
	async () => {
		const server = await Server.start();
		const client = await server.connect();
		const one = await client.start(
			['/bin/sh', '-c', 'echo ${#1}', 'sh', 'x'.repeat(130000)]);
		assert.equal((await one.end()).stdout, '130000\n');
		const many = await client.start(
			['/bin/sh', '-c', 'echo $#', 'sh', ...Array(20000).fill('y')]);
		assert.equal((await many.end()).stdout, '20000\n');
		const tooLong = await client.refusal('process/start', startParams(
			['/bin/true', 'x'.repeat(200000)], client.cwd, {processId: 'p'}));
		assert.equal(tooLong.code, -32603);
		assert.deepEqual(tooLong.data, {kind: 'spawnFailed'});
		await client.refusal('process/start', startParams(
			['/bin/true', ...Array(50).fill('x'.repeat(100000))],
			client.cwd, {processId: 'p'}));
		await client.refusal('process/start', startParams(
			['/bin/true', ...Array(65537).fill('')], client.cwd,
			{processId: 'p'}));
		await client.status();
		assert.equal((await client.shell('exit 0')).exitCode, 0);
		await server.stop();
	});

test('a cwd of PATH_MAX bytes and more is an error, not a crash', own,
	async () => {
		const server = await Server.start();
		const client = await server.connect();
		for (const length of [4094, 4095, 4096, 4097, 100000]) {
			const error = await client.refusal('process/start', startParams(
				['/bin/true'], 'file:///' + 'x'.repeat(length),
				{processId: 'p'}));
			assert.ok([-32602, -32603].includes(error.code));
		}
		await client.status();
		await server.stop();
	});

for (const [key, value] of [
	['limits.session_retention', 'x'], ['limits.session_retention', '-1'],
	['limits.connections_max', '0'], ['limits.no_such', '1'],
	['nothing', '1'], ['limits.ping_interval', '0'],
])
	test(`serve refuses --set ${key}=${value}`, own, async () => {
		await assert.rejects(
			Server.start({set: {[key]: value}}), /"code":2/);
	});
