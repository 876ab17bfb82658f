// Descriptors and processes return to where they were.
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {startParams} from './lib/client.mjs';
import {residentKib} from './lib/proc.mjs';
import {Server, foreignSkip, memorySkip} from './lib/server.mjs';
import {until} from './lib/wait.mjs';
import {Wire, frame, upgrade} from './lib/wire.mjs';

const own = {skip: foreignSkip};
const short = {set: {
	'limits.session_retention': '50ms', 'limits.process_retention': '50ms',
	'limits.worker_idle': '200ms',
}};

/** Do the work twice: what the first time warms up is not a leak. */
async function assertNothingLeaks(work) {
	const server = await Server.start(short);
	try {
		const idle = server.census();
		await work(server);
		const settle = () => until(5000, 'idle again', () => {
			const now = server.census();
			return now.processes === idle.processes && now;
		});
		const warm = await settle();
		for (let i = 0; i < 3; i++)
			await work(server);
		await settle();
		await until(5000, `descriptors back to ${warm.fds}`,
			() => server.census().fds <= warm.fds);
	} finally {
		await server.stop();
	}
}

const withClient = (body) => async (server) => {
	const client = await server.connect();
	await body(client, server);
	await client.close();
};

const works = {
	'commands that end': withClient(async (client) => {
		for (const tty of [false, true])
			for (const pipeStdin of [false, true])
				await client.shell('echo x; echo y >&2', {tty, pipeStdin});
	}),
	'commands that are terminated': withClient(async (client) => {
		for (const tty of [false, true]) {
			const process = await client.start(['/bin/sleep', '100'],
				{tty, pipeStdin: true});
			await process.terminate();
			await process.end();
		}
	}),
	'commands left behind by a connection': async (server) => {
		const client = await server.connect();
		for (let i = 0; i < 5; i++)
			await client.start(['/bin/sleep', '100'],
				{tty: i % 2 === 0, pipeStdin: true});
		await client.drop();
	},
	'starts that fail': withClient(async (client) => {
		for (const [argv, cwd] of [
			[['/no/such'], client.cwd], [['/bin/true'], 'file:///no/such'],
			[['/etc'], client.cwd], [['/bin/echo', '\0'], client.cwd],
		])
			for (const tty of [false, true])
				await client.refusal('process/start', startParams(
					argv, cwd, {processId: 'p', tty, pipeStdin: true}));
	}),
	'params that are refused': withClient(async (client) => {
		for (const change of [{argv: []}, {cwd: '/x'}, {env: 7}, {tty: 'x'}])
			await client.refusal('process/start', startParams(
				['/bin/true'], client.cwd, {processId: 'p', ...change}));
	}),
	'long polls cut off': async (server) => {
		const client = await server.connect();
		const process = await client.start(['/bin/sleep', '100']);
		for (let i = 0; i < 10; i++)
			process.read({waitMs: 60000}).catch(() => {});
		await client.status();
		await client.drop();
	},
	'writes that nobody reads': async (server) => {
		const client = await server.connect();
		const process = await client.start(
			['/bin/sleep', '100'], {pipeStdin: true});
		await process.write('x'.repeat(1000000));
		await client.drop();
	},
	'a large message': withClient(async (client) => {
		client.raw('{"id":1,"method":"environment/status"}' +
			' '.repeat(20000000));
		await client.wait('answer', () => client.stray.length > 0, 20000);
	}),
	'a large message cut off': async (server) => {
		const {wire} = await upgrade(server.port, server.path);
		await wire.write(frame(Buffer.alloc(5000000, ' '), {fin: false}));
		wire.destroy();
	},
	'connections without a handshake': async (server) => {
		for (let i = 0; i < 20; i++) {
			const wire = await Wire.open(server.port);
			await wire.write('GET / HT');
			wire.destroy();
		}
	},
	'handshakes that are refused': async (server) => {
		for (let i = 0; i < 10; i++) {
			const {wire} = await upgrade(server.port, '/wrong');
			wire.destroy();
		}
	},
	// Each is waited for by the server for a while.
	'violations of the framing': (server) => Promise.all(
		[...Array(10)].map(async () => {
			const {wire} = await upgrade(server.port, server.path);
			await wire.write(frame('{}', {mask: false}));
			await wire.end();
		})),
	'resumed sessions': async (server) => {
		let client = await server.connect();
		const {sessionId} = client;
		await client.start(['/bin/cat'], {pipeStdin: true});
		for (let i = 0; i < 3; i++) {
			await client.drop();
			client = await server.connect({
				params: {clientName: 'x', resumeSessionId: sessionId},
			}).catch(() => server.connect());
		}
		await client.close();
	},
};
for (const [what, work] of Object.entries(works))
	test(`nothing leaks: ${what}`, own, () => assertNothingLeaks(work));

test('hundreds of short connections leave no memory behind', {
	skip: memorySkip,
}, async () => {
	const server = await Server.start(short);
	const net = await server.role('net');
	const round = async () => {
		for (let i = 0; i < 100; i++) {
			const client = await server.connect();
			await client.drop();
		}
	};
	await round();
	const before = residentKib(net);
	await round();
	await round();
	assert.ok(residentKib(net) - before < 4096,
		`${before} KiB became ${residentKib(net)}`);
	await server.stop();
});
