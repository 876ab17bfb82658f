// File workers as processes: they come and go, are killed, and hang.
import assert from 'node:assert/strict';
import {spawn} from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import {test} from 'node:test';
import {INTERNAL, INVALID_REQUEST, NOT_FOUND, scratch} from './lib/files.mjs';
import {commandLine, descendants, isAlive, status} from './lib/proc.mjs';
import {
	build, foreignSkip, freshDirectory, rootSkip, withServer,
} from './lib/server.mjs';
import {inTime, pause, until, within} from './lib/wait.mjs';

const own = {skip: foreignSkip};

/** The file workers of a server: below exec, each the child of an init. */
async function workers(server) {
	const exec = await server.role('exec');
	return descendants(exec).filter((pid) => isAlive(pid) &&
		status(pid)?.PPid !== String(exec) &&
		commandLine(pid)[0] === 'sallyport-exec');
}

const gone = (pids) => until(5000, `end of ${pids}`,
	() => !pids.some(isAlive));

const served = (what, set, body, options = own) => test(what, options, () =>
	withServer({set: Object.fromEntries(Object.entries(set).map(
		([key, value]) => [`limits.${key}`, value]))}, body));

async function everything(server) {
	const client = await server.connect();
	const files = scratch(server, client, {f: 'x', d: null});
	await files.read('f');
	await files.read('/proc/version');
	await files.write('big', Buffer.alloc(300000));
	await files.call('createDirectory', {path: 'a/b'});
	await files.stat('f');
	await files.list('');
	await files.walk('');
	await files.copy('d', 'd2', true);
	await files.open('r', 'f');
	await files.open('w', 'w', 'replace');
	await files.readBlock('r', 0, 1);
	await files.writeBlock('w', 0, Buffer.alloc(100000));
	await files.call('watchMissing',
		{watchId: 1, missing: [files.uri('later')]});
	await files.call('remove', {path: 'a'});
	for (const name of ['no', 'd', '/dev/null'])
		await client.refusal('fs/readFile', {path: files.uri(name)});
	await Promise.all([...Array(20)].map(() => files.read('big')));
	return client;
}

served('idle workers end, descriptors and processes are as before',
	{worker_idle: '200ms', session_retention: '50ms'}, async (server) => {
		const idle = server.census();
		const settled = () => until(5000, 'idle again', () => {
			const now = server.census();
			return now.processes === idle.processes && now;
		});
		await (await everything(server)).close();
		const warm = await settled();
		for (let i = 0; i < 3; i++)
			await (await everything(server)).close();
		await settled();
		await until(5000, `${warm.fds} descriptors`,
			() => server.census().fds <= warm.fds);
	});

served('an idle worker ends while its session goes on, a next one comes',
	{worker_idle: '1s'}, async (server) => {
		const client = await server.connect();
		const files = scratch(server, client, {f: 'x'});
		const found = async () => {
			assert.equal(String(await files.read('f')), 'x');
			return workers(server);
		};
		const first = await inTime(1000, found);
		assert.equal(first.length, 1);
		await gone(first);
		assert.equal((await inTime(1000, found)).length, 1);
	});

served('workers that have ended count no more',
	{processes_max: 2, session_retention: '0'}, async (server) => {
		for (let i = 0; i < 4; i++) {
			const client = await server.connect();
			const files = scratch(server, client, {f: 'x'});
			await files.read('f');
			const pids = await workers(server);
			await client.close();
			await gone(pids);
		}
	});

served('a worker with a handle or a watch does not end when idle',
	{worker_idle: '100ms'}, async (server) => {
		const client = await server.connect();
		const files = scratch(server, client, {f: 'abc'});
		await files.open('h', 'f');
		const [worker] = await workers(server);
		await pause(500);
		assert.ok(isAlive(worker));
		assert.equal((await files.readBlock('h', 0, 3)).eof, false);
		await files.call('watchMissing',
			{watchId: 7, missing: [files.uri('later')]});
		await files.close('h');
		await pause(500);
		assert.ok(isAlive(worker));
		fs.writeFileSync(files.at('later'), '');
		await client.wait('notification', () => client.received.some(
			(m) => m.method === 'fs/missingChanged'));
		await gone([worker]);
	});

served('at most workers_max serve a session, all requests are answered',
	{workers_max: 4}, async (server) => {
		const client = await server.connect();
		const files = scratch(server, client, {f: Buffer.alloc(100000)});
		let most = 0;
		const reads = [...Array(200)].map(() => files.read('f'));
		const all = Promise.all(reads).then(() => 'done');
		while (await Promise.race([all, pause(5)]) !== 'done')
			most = Math.max(most, (await workers(server)).length);
		most = Math.max(most, (await workers(server)).length);
		assert.ok(most >= 1 && most <= 4, `${most} workers`);
	});

served('a killed worker: handles unknown, watches fire, others go on',
	{}, async (server) => {
		const [client, other] = [await server.connect(), await server.connect()];
		const files = scratch(server, client, {f: 'abc'});
		const theirs = scratch(server, other, {f: 'abc'});
		const command = await client.start(['/bin/cat'], {pipeStdin: true});
		await files.open('w', 'w', 'replace');
		await files.writeBlock('w', 0, 'before');
		await files.call('watchMissing',
			{watchId: 3, missing: [files.uri('later')]});
		const mine = await workers(server);
		assert.equal(mine.length, 1);
		await theirs.open('h', 'f');
		process.kill(mine[0], 'SIGKILL');
		assert.deepEqual(await client.wait('notification', () =>
			client.received.find((m) => m.method === 'fs/missingChanged')),
		{method: 'fs/missingChanged', params: {watchId: 3}});
		await files.fails('writeBlock', {
			handleId: 'w', offset: 0, chunk: 'eA==',
		}, [NOT_FOUND, 'unknown file handle `w`']);
		assert.equal(fs.readFileSync(files.at('w'), 'utf8'), 'before');
		assert.equal(String(await files.read('f')), 'abc');
		await files.open('w', 'w', 'replace');
		assert.equal((await theirs.readBlock('h', 0, 3)).chunk, 'YWJj');
		await command.write('still here\n');
		await command.prints('still here');
	});

served('a worker killed at work: that call fails, waiting ones are served',
	{workers_max: 1}, async (server) => {
		const client = await server.connect();
		const files = scratch(server, client, {f: 'abc'});
		await files.read('f');
		const [worker] = await workers(server);
		process.kill(worker, 'SIGSTOP');
		const atWork = client.refusal('fs/readFile', {path: files.uri('f')});
		const waiting = files.read('f');
		await client.status();
		process.kill(worker, 'SIGKILL');
		const error = await atWork;
		assert.equal(error.code, INTERNAL);
		assert.match(error.text, /file worker/);
		assert.equal(String(await waiting), 'abc');
	});

served('a worker that stops is ended at the deadline', {fs_deadline: '1500ms'},
	async (server) => {
		const client = await server.connect();
		const files = scratch(server, client, {f: 'abc'});
		await files.open('h', 'f');
		const [worker] = await workers(server);
		process.kill(worker, 'SIGSTOP');
		await files.fails('readBlock', {handleId: 'h', offset: 0, len: 1},
			[INTERNAL, 'the file operation took longer than ' +
				'limits.fs_deadline and was ended']);
		await files.fails('readBlock', {handleId: 'h', offset: 0, len: 1},
			[NOT_FOUND, 'unknown file handle `h`']);
		await gone([worker]);
		assert.equal(String(await files.read('f')), 'abc');
	});

served('a connection lost while a worker is at work leaves nothing behind',
	{session_retention: '50ms'}, async (server) => {
		const idle = server.census();
		const client = await server.connect();
		const files = scratch(server, client, {f: 'abc'});
		await files.read('f');
		const [worker] = await workers(server);
		process.kill(worker, 'SIGSTOP');
		for (let i = 0; i < 5; i++)
			files.open(`h${i}`, 'f').catch(() => {});
		await client.status();
		await client.drop();
		await gone([worker]);
		await until(5000, 'idle again',
			() => server.census().processes === idle.processes);
	});

const hangFs = path.join(build, 'tests', 'hang-fs');
const hangSkip = foreignSkip || rootSkip ||
	(fs.existsSync('/dev/fuse') ? false : 'needs /dev/fuse') ||
	(fs.existsSync(hangFs) ? false : 'tests/hang-fs is not built');

/** A workspace of an ordinary user with a file system that never answers. */
async function hanging(set, body) {
	const workspace = freshDirectory();
	const mount = path.join(workspace, 'hang');
	fs.mkdirSync(mount);
	// Root's would need a map of ids, which this file system lacks.
	fs.chownSync(workspace, 1234, 1234);
	const helper = spawn(hangFs, [mount], {stdio: ['pipe', 'pipe', 'inherit']});
	const ended = new Promise((resolve) => helper.on('close', resolve));
	const end = async () => {
		helper.stdin.end();
		await within(5000, 'end of hang-fs', ended);
	};
	try {
		const ready = await within(5000, 'mount', Promise.race([
			new Promise((resolve) => helper.stdout.once('data', resolve)),
			ended]));
		assert.equal(String(ready), 'ready\n', 'hang-fs did not mount');
		await withServer({workspace, keep: true, set}, async (server) => {
			try {
				await body(server, end);
			} finally {
				await end();
			}
		});
	} finally {
		await end();
		fs.rmSync(workspace, {recursive: true, force: true});
	}
}

const hang = (what, set, body) => test(what, {skip: hangSkip}, () =>
	hanging(Object.fromEntries(Object.entries(set).map(
		([key, value]) => [`limits.${key}`, value])), body));

hang('a file system that hangs costs its reader the deadline, others nothing',
	{fs_deadline: '1500ms'}, async (server) => {
		const client = await server.connect();
		const files = scratch(server, client, {f: 'abc'});
		const hung = path.join(server.workspace, 'hang', 'x');
		assert.equal((await files.stat(hung)).size, 4096);
		const begin = Date.now();
		let isStuck = true, reads = 0;
		const stuck = files.fails('readFile', {path: hung}, [INTERNAL,
			'the file operation took longer than limits.fs_deadline and ' +
			'was ended']).finally(() => { isStuck = false; });
		for (; isStuck; reads++)
			assert.equal(String(await files.read('f')), 'abc');
		await stuck;
		assert.ok(Date.now() - begin >= 1400);
		assert.ok(reads > 1, `${reads} reads meanwhile`);
		assert.equal(String(await files.read('f')), 'abc');
	});

hang('with four workers hung a fifth request waits, one past the limit is busy',
	{fs_deadline: '100s', pending_requests_max: 6}, async (server, end) => {
		const [client, other] = [await server.connect(), await server.connect()];
		const files = scratch(server, client, {f: 'abc'});
		const hung = path.join(server.workspace, 'hang', 'x');
		await files.open('pre', hung);
		const stuck = [1, 2, 3, 4].map((i) => client.refusal('fs/readFile',
			{path: files.uri(`${hung}${i}`)}));
		await until(5000, 'four workers at work', async () => {
			const pids = await workers(server);
			return pids.length === 4 && pids.every((pid) =>
				['D', 'S'].includes(status(pid)?.State?.[0])) && pids;
		});
		let waited = true;
		const fifth = [files.read('f'), files.read('f')];
		fifth[0].then(() => { waited = false; });
		const busy = await client.refusal('fs/readFile', {path: files.uri('f')});
		assert.equal(busy.code, INVALID_REQUEST);
		assert.match(busy.text, /pending|busy|too many/);
		const theirs = scratch(server, other);
		assert.equal(String(await theirs.read(files.at('f'))), 'abc');
		assert.deepEqual(await client.status(), {status: 'ready'});
		assert.ok(waited);
		await end();
		for (const data of await Promise.all(fifth))
			assert.equal(String(data), 'abc');
		for (const error of await Promise.all(stuck))
			assert.equal(error.code, INTERNAL);
		await files.read('f');
	});
