// How long environment/status takes while others keep the server busy, beside
// a bare TCP echo at the same time, and what that costs. With SALLYPORT_STRICT
// set the bound is the promised one; without, ten times that, since the machine
// may be busy with something else.
import assert from 'node:assert/strict';
import {createHash} from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import {test} from 'node:test';
import {scratch} from './lib/files.mjs';
import {latency} from './lib/helper.mjs';
import {residentKib} from './lib/proc.mjs';
import {fileUri, foreignSkip, withServer} from './lib/server.mjs';
import {hashFile} from './lib/stream.mjs';
import {pause, until} from './lib/wait.mjs';

/** A thousand connections are as many descriptors, here and in net. */
const filesMax = Number(/^Max open files +\d+ +(\d+)/m.exec(
	fs.readFileSync('/proc/self/limits', 'utf8'))?.[1] ?? Infinity);
const own = {skip: foreignSkip || (filesMax < 4096 ?
	'needs the right to 4096 descriptors' : false)};
const MIB = 1024 * 1024;
const ABOVE_MS = process.env.SALLYPORT_STRICT ? 5 : 50;

const ms = (value) => value.toFixed(2);

function judge({count, echo, status}) {
	console.log(`p99 of status ${ms(status)} ms, of the echo ${ms(echo)} ms ` +
		`(${count} rounds)`);
	assert.ok(status - echo <= ABOVE_MS,
		`${ms(status - echo)} ms above the echo, at most ${ABOVE_MS}`);
}

async function crowd(server, count) {
	const clients = [];
	for (let i = 0; i < count; i += 50)
		clients.push(...await Promise.all(
			[...Array(50)].map(() => server.connect())));
	return clients;
}

test('1000 idle connections, 200 processes, a flood that nobody reads', own,
	() => withServer({set: {
		'limits.sessions_max': 1200, 'limits.session_retention': '50ms',
		'limits.process_retention': '50ms', 'limits.worker_idle': '200ms',
	}}, async (server) => {
		const net = await server.role('net');
		await (await server.connect()).close();
		const idle = await until(5000, 'idle', () => server.census());
		const clients = await crowd(server, 1000);
		for (let i = 0; i < 200; i++)
			await clients[i % 4].start(['/bin/sleep', '1000']);
		const flood = await clients[4].start(['/bin/cat', '/dev/zero']);
		await until(5000, 'some output', () => flood.events().length > 10);
		clients[4].socket.pause();
		await pause(500);
		judge(await latency(server.url, ABOVE_MS, () => pause(2000)));
		const kib = residentKib(net);
		console.log(`net holds ${Math.round(kib / 1024)} MiB`);
		assert.ok(kib < 64 * 1024, `net holds ${kib} KiB`);
		await Promise.all(clients.map((client) => client.drop()));
		await until(20000, 'idle again', () => {
			const now = server.census();
			return now.processes === idle.processes && now.fds <= idle.fds;
		});
	}));

/** A file of 512 MiB with something in it here and there; its SHA-256. */
async function makeLarge(file) {
	const fd = fs.openSync(file, 'w', 0o644);
	fs.ftruncateSync(fd, 512 * MIB);
	for (let i = 0; i < 64; i++)
		fs.writeSync(fd, `piece ${i}`, i * 8 * MIB + i * 12345);
	fs.writeSync(fd, 'end', 512 * MIB - 3);
	fs.closeSync(fd);
	const hash = createHash('sha256');
	for await (const chunk of fs.createReadStream(file))
		hash.update(chunk);
	return hash.digest('hex');
}

test('a file of 512 MiB is read, and one byte more is refused', own,
	() => withServer({}, async (server) => {
		const file = path.join(server.workspace, 'large');
		const sha256 = await makeLarge(file);
		judge(await latency(server.url, ABOVE_MS, async () => {
			assert.deepEqual(await hashFile(server, fileUri(file)),
				{size: 512 * MIB, sha256});
		}));
		fs.truncateSync(file, 512 * MIB + 1);
		assert.equal((await hashFile(server, fileUri(file))).error.message,
			'file is too large to read: limit is 536870912 bytes');
	}));

test('files of 64 MiB are written', own, () =>
	withServer({}, async (server) => {
		const clients = [await server.connect(), await server.connect()];
		const data = Buffer.alloc(64 * MIB, 7);
		judge(await latency(server.url, ABOVE_MS, (run) => Promise.all(
			clients.map(async (client, i) => {
				const files = scratch(server, client);
				await files.write(`f${run}${i}`, data, {ms: 60000});
				assert.equal(fs.statSync(files.at(`f${run}${i}`)).size,
					64 * MIB);
			}))));
	}));
