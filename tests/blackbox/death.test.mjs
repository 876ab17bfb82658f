import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import {after, test} from 'node:test';
import {
	commandLine, isAlive, uniqueWord, withArgument,
} from './lib/proc.mjs';
import {
	Server, binary, fileUri, foreignSkip, freshDirectory, rootSkip,
} from './lib/server.mjs';
import {until, within} from './lib/wait.mjs';

const own = {skip: foreignSkip};
const SESSIONS = 20;
const GONE_MS = 3000;
/** On a busy machine it would kill before all has ended in order. */
const PATIENT = {set: {'limits.shutdown_timeout': '30s'}};

/** Sessions that run trees which ignore every polite request to end. */
async function stubborn(server, count, word) {
	const clients = [];
	for (let i = 0; i < count; i++) {
		const client = await server.connect();
		clients.push(client);
		const process = await client.start(['/bin/sh', '-c',
			`trap '' TERM INT HUP; setsid sh -c 'trap "" TERM INT HUP; ` +
			`sleep 1000; :' ${word} & (setsid sh -c 'sleep 1000; :' ${word} &); ` +
			'echo up; wait; sleep 1000', word], {tty: i % 2 === 1});
		await process.prints('up');
	}
	await until(10000, 'all trees',
		() => withArgument(word).length >= 3 * count);
	return clients;
}

function assertGone(word) {
	return until(GONE_MS, 'end of every tree',
		() => withArgument(word).length === 0);
}

for (const role of ['net', 'exec'])
	test(`kill -9 of ${role}: no tree is left, and the same URL serves again`,
		own, async () => {
			const server = await Server.start();
			const word = uniqueWord();
			const clients = await stubborn(server, SESSIONS, word);
			const pid = await server.role(role);
			process.kill(pid, 'SIGKILL');
			await Promise.all([assertGone(word), ...clients.map((c) =>
				within(GONE_MS, 'disconnect', c.closed))]);
			const again = await until(5000, 'service', () =>
				server.connect().catch(() => undefined));
			assert.equal((await again.shell('echo ok')).stdout, 'ok\n');
			const error = await (await server.connect({initialize: false}))
				.refusal('initialize', {clientName: 'x',
					resumeSessionId: clients[0].sessionId});
			assert.equal(error.code, -32600);
			assert.notEqual(await server.role(role), pid);
			await server.stop();
		});

test('kill -9 of the supervisor: nothing at all is left', own, async () => {
	const server = await Server.start();
	const word = uniqueWord();
	const clients = await stubborn(server, SESSIONS, word);
	const pids = server.pids();
	process.kill(server.pid, 'SIGKILL');
	await Promise.all([assertGone(word), ...clients.map((c) =>
		within(GONE_MS, 'disconnect', c.closed))]);
	await until(GONE_MS, 'end of the roles', () => !pids.some(isAlive));
	await server.exited;
});

const serve = `${binary} serve --workspace {workspace}`;
const user = 1234;
for (const [who, command, skip] of [
	['as it is', serve, foreignSkip],
	['as a plain user', `setpriv --reuid ${user} --regid ${user} ` +
		`--clear-groups ${serve}`, foreignSkip || rootSkip],
])
	test(`kill -9 of the supervisor, ${who}: what is stopped ends as well`,
		{skip}, async () => {
			const workspace = freshDirectory();
			fs.writeFileSync(path.join(workspace, 'f'), 'x');
			if (!rootSkip)
				fs.chownSync(workspace, user, user);
			const server = await Server.start({command, workspace});
			const client = await server.connect();
			await client.start(['/bin/sleep', '1000']);
			await client.start(['/bin/cat'], {tty: true});
			await client.call('fs/readFile',
				{path: fileUri(path.join(workspace, 'f'))});
			await client.refusal('http/request', {requestId: 'r',
				method: 'GET', url: 'http://127.0.0.1:1/', headers: []});
			const pids = server.pids().filter((pid) => pid !== server.pid);
			assert.deepEqual([...new Set(pids.map((pid) =>
				path.basename(commandLine(pid)[0])))].sort(), ['cat', 'sallyport-exec',
				'sallyport-http', 'sallyport-net', 'sleep']);
			for (const pid of pids)
				process.kill(pid, 'SIGSTOP');
			process.kill(server.pid, 'SIGKILL');
			await until(10000, 'end of all', () => !pids.some(isAlive))
				.finally(() => pids.forEach(killIfThere));
			await server.exited;
		});

/** A role may have followed its supervisor already. */
function killIfThere(pid) {
	try {
		process.kill(pid, 'SIGKILL');
	} catch (e) {
		if (e.code !== 'ESRCH')
			throw e;
	}
}

test('kill -9 of everything at once: nothing is left', own, async () => {
	const server = await Server.start();
	const word = uniqueWord();
	await stubborn(server, 3, word);
	const roles = [server.pid, ...server.rolePids('net'),
		...server.rolePids('exec')];
	for (const pid of roles)
		killIfThere(pid);
	await assertGone(word);
	await server.exited;
});

test('SIGTERM and SIGINT: trees are gone when the server has exited with 0',
	own, async () => {
		for (const signal of ['SIGTERM', 'SIGINT']) {
			const server = await Server.start(PATIENT);
			const word = uniqueWord();
			const clients = await stubborn(server, 3, word);
			process.kill(server.pid, signal);
			const {code} = await within(GONE_MS, 'exit', server.exited);
			assert.equal(code, 0);
			assert.deepEqual(withArgument(word), []);
			for (const client of clients)
				assert.deepEqual(await client.closed,
					{code: 1001, reason: 'shutdown'});
			await server.stop();
		}
	});

test('roles that keep dying end the server with a status other than 0', own,
	async () => {
		const server = await Server.start();
		let deaths = 0;
		const killer = (async () => {
			while (server.child.exitCode === null && deaths < 50) {
				const [pid] = server.rolePids('net');
				if (pid !== undefined) {
					process.kill(pid, 'SIGKILL');
					deaths++;
					await until(5000, 'its end', () => !isAlive(pid));
				} else {
					await new Promise((r) => { setTimeout(r, 10); });
				}
			}
		})();
		const how = await within(20000, 'end of the server', server.exited);
		await killer;
		assert.ok(deaths > 1);
		assert.notEqual(how.code, 0);
		await server.stop();
	});

test('a child that kills all it can reach ends only itself', own, async () => {
	const server = await Server.start();
	after(() => server.stop());
	const [bad, good] = [await server.connect(), await server.connect()];
	const sleeper = await good.start(['/bin/cat'], {pipeStdin: true});
	const pids = server.pids().filter((p) => p === server.pid ||
		server.rolePids('net').includes(p) || server.rolePids('exec').includes(p));
	await bad.shell('kill -9 -1; kill -9 1; exit 0');
	await bad.status();
	await sleeper.write('here\n');
	await sleeper.prints('here');
	assert.ok(pids.every(isAlive));
});
