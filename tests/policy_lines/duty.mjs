// Everything that one process is there for, in about a second: what lines.py
// runs with a line of its policy gone. Ends with 0 if all was done and nobody
// died on the way.
//
// usage: SALLYPORT_BUILD=DIR node duty.mjs ROLE
import assert from 'node:assert/strict';
import {spawnSync} from 'node:child_process';
import fs from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import net from 'node:net';
import path from 'node:path';
import zlib from 'node:zlib';
import {encode} from '../blackbox/lib/client.mjs';
import {scratch} from '../blackbox/lib/files.mjs';
import {
	Origin, bodyOf, nameServer, request, wholeStream,
} from '../blackbox/lib/http.mjs';
import {descendants, isAlive, status} from '../blackbox/lib/proc.mjs';
import {Server, freshDirectory} from '../blackbox/lib/server.mjs';
import {until} from '../blackbox/lib/wait.mjs';

const KIB = 1024, MIB = 1024 * KIB;
const role = process.argv[2];

/** The two roles, not what they start: these must be there at the end. */
function census(server) {
	return [...server.rolePids('net'), ...server.rolePids('exec')]
		.filter((pid) => Number(status(pid)?.PPid) === server.pid).sort();
}

async function served(options, body) {
	const server = await Server.start({...options,
		set: {'log.level': 'debug', ...options.set}});
	try {
		const client = await server.connect();
		const before = census(server);
		await body(server, client);
		assert.deepEqual(census(server), before, server.stderr);
		assert.doesNotMatch(server.stderr,
			/role_ended|role_died|crash|SIGSYS|signal=31/);
	} finally {
		const {code} = await server.stop();
		assert.equal(code, 0, server.stderr);
	}
}

/** One that is traced stops with a small t. */
const stateOf = (pid) => fs.readFileSync(`/proc/${pid}/stat`, 'latin1')
	.split(') ')[1][0].toUpperCase();

/** A poll with a time-out that is stopped and goes on is a call of its own. */
async function interrupt(pid) {
	for (let i = 0; i < 3; i++) {
		process.kill(pid, 'SIGSTOP');
		try {
			await until(5000, 'the stop', () => stateOf(pid) === 'T');
		} finally {
			process.kill(pid, 'SIGCONT');
		}
		await until(5000, 'the end of it', () => stateOf(pid) !== 'T');
	}
	assert.ok(isAlive(pid));
}

/** What an HTTP client that is no WebSocket is answered. */
function plain(server, headers = {}) {
	return new Promise((resolve, reject) => {
		http.get({host: '127.0.0.1', port: server.port, path: '/', headers,
			agent: false}, (r) => {
			r.resume();
			r.on('end', () => resolve(r.statusCode));
		}).on('error', reject);
	});
}

/** body(server, client) tells the processes of a session that end as the
 * channels to net do, if exec does not kill them first. */
async function endByItself(set, body) {
	const server = await Server.start({set});
	try {
		const pids = await body(server, await server.connect());
		const [exec] = server.rolePids('exec');
		assert.ok(pids.length > 0 && !pids.includes(exec));
		process.kill(exec, 'SIGSTOP');
		try {
			process.kill(server.rolePids('net')[0], 'SIGKILL');
			await until(5000, 'the end of them', () => !pids.some(isAlive));
		} finally {
			process.kill(exec, 'SIGCONT');
		}
		await until(5000, 'another net', () =>
			server.stderr.match(/serving/g)?.length > 1);
	} finally {
		assert.equal((await server.stop()).code, 0, server.stderr);
	}
}

// --- net -------------------------------------------------------------------

async function dutyOfNet() {
	const origin = await Origin.start({'/big': (q, r) =>
		r.end(Buffer.alloc(2 * MIB, 'x'))});
	await served({set: {'http.allow_private': 'true'}}, async (server, client) => {
		assert.equal(await plain(server), 404);
		const cat = await client.start(['/bin/cat'], {pipeStdin: true});
		await cat.write('x'.repeat(512 * KIB));
		await cat.closeStdin();
		assert.equal((await cat.end()).all.length, 512 * KIB);
		const tty = await client.start(['/bin/sh'], {tty: true});
		await tty.resize(10, 20);
		await tty.write('stty size; exit\n');
		await tty.end();
		// argv in a memfd; bodies in memfds both ways.
		const words = Array.from({length: 40}, () => 'y'.repeat(KIB));
		await (await client.start(['/bin/true', ...words])).end();
		const files = scratch(server, client, {});
		await files.write('f', Buffer.alloc(8 * MIB, 1));
		assert.equal((await files.read('f')).length, 8 * MIB);
		assert.ok((await files.read('/proc/version')).length > 0);
		await files.walk('/usr/share/doc', {maxEntries: 1000});
		assert.equal((await request(client, `${origin.url}/big`, {
			method: 'POST', bodyBase64: encode(Buffer.alloc(MIB))})).status, 200);
		const sleeper = await client.start(['/bin/sleep', '1000']);
		// Text that is no body is kept as it comes.
		await client.call('environment/status', {junk: 'z'.repeat(3 * MIB)});
		const poll = sleeper.read({waitMs: 300});
		await interrupt(server.rolePids('net')[0]);
		await poll;
		await sleeper.terminate();
		await sleeper.end();
		const dropped = await server.connect();
		await dropped.drop();
		// Half a line, and gone.
		const socket = net.connect(server.port, '127.0.0.1');
		await new Promise((resolve) => socket.write('GET / HT', resolve));
		socket.destroy();
		await client.close();
	});
	origin.stop();
}

// --- file worker -----------------------------------------------------------

async function useFiles(server, client) {
	const files = scratch(server, client, {
		dir: null, 'dir/a': 'a', 'dir/sub/b': 'b', link: {link: 'dir/a'},
		'dir/l': {link: 'a'},
	});
	const data = Buffer.alloc(3 * MIB, 7);
	await files.write('f', data);
	await files.write('f', data.subarray(10));
	assert.equal((await files.read('f')).length, 3 * MIB - 10);
	assert.ok((await files.read('/proc/version')).length > 0);
	await files.call('createDirectory', {path: 'x/y/z', recursive: true});
	await files.stat('link');
	await files.call('canonicalize', {path: 'link'});
	await files.list('/usr/bin');
	await files.walk('/usr/share/doc', {maxEntries: 2000});
	await files.copy('f', 'g');
	fs.truncateSync(files.at('g'), 8 * MIB);
	await files.copy('g', 'sparse');
	await files.copy('dir', 'copied', true);
	await files.open('h', 'new', 'write').catch(() => {});
	await files.writeBlock('h', 0, Buffer.alloc(100)).catch(() => {});
	await files.close('h').catch(() => {});
	await files.open('r', 'f');
	await files.readBlock('r', 0, 1000);
	await files.close('r');
	for (let i = 0; i < 300; i++)
		fs.writeFileSync(files.at(`copied/${i}`), '');
	await files.call('remove', {path: 'copied', recursive: true, force: true});
	assert.ok(!fs.existsSync(files.at('copied')));
	const watch = (watchId, missing) => client.call('fs/watchMissing', {watchId,
		missing: [files.uri(missing)]});
	await watch(1, 'later');
	await watch(2, 'a/b/c');
	fs.mkdirSync(files.at('a'));
	fs.mkdirSync(files.at('a/b'));
	fs.writeFileSync(files.at('later'), '');
	await client.wait('the watch', () => client.received.some(
		(m) => m.method === 'fs/missingChanged'));
	return files;
}

const workersOf = (server) => server.rolePids('exec').filter((pid) =>
	/sallyport-exec/.test(fs.readFileSync(`/proc/${pid}/comm`)));

async function dutyOfWorker() {
	await served({}, async (server, client) => {
		await useFiles(server, client);
		const workers = workersOf(server);
		assert.ok(workers.length > 1);
		for (const pid of workers)
			await interrupt(pid);
		await scratch(server, client, {f: 'f'}).read('f');
	});
	await served({set: {'fs.atomic_writes': 'true'}}, async (server, client) => {
		const files = scratch(server, client, {old: 'old'});
		await files.write('old', 'new');
		await files.write('fresh', Buffer.alloc(MIB));
		assert.equal(String(await files.read('old')), 'new');
		assert.equal(fs.readdirSync(files.dir).length, 2);
	});
	await endByItself({}, async (server, client) => {
		await scratch(server, client, {f: 'f'}).read('f');
		return workersOf(server).filter((pid) =>
			descendants(pid).length === 0);
	});
}

// --- bridge ----------------------------------------------------------------

/** What leads to the files of another place, which is this one. */
async function dutyOfBridge() {
	const set = {'backend.type': 'command', 'backend.files': 'send',
		'backend.start': 'sh -c {command}'};
	await served({set}, async (server, client) => {
		const files = scratch(server, client, {});
		const data = Buffer.alloc(3 * MIB, 7);
		await files.write('f', data);
		assert.equal((await files.read('f')).length, data.length);
		await files.open('h', 'g', 'replace');
		await files.writeBlock('h', 0, data.subarray(0, MIB));
		await files.close('h');
		await files.open('r', 'g');
		await files.readBlock('r', 0, MIB);
		await files.close('r');
		for (let i = 0; i < 600; i++)
			fs.writeFileSync(files.at(`${i}-${'n'.repeat(100)}`), '');
		assert.equal((await files.list('')).length, 602);
		for (const pid of workersOf(server))
			await interrupt(pid);
		assert.equal((await files.stat('f')).size, data.length);
	});
	await endByItself(set, async (server, client) => {
		await scratch(server, client, {f: 'f'}).read('f');
		const ours = workersOf(server);
		// It has the command below it, and nobody of ours.
		return ours.filter((pid) => descendants(pid).length > 0 &&
			!descendants(pid).some((below) => ours.includes(below)));
	});
}

// --- http ------------------------------------------------------------------

const pem = path.join(freshDirectory('duty'), 'pem');

async function secureOrigin() {
	spawnSync('openssl', ['req', '-x509', '-newkey', 'ec', '-pkeyopt',
		'ec_paramgen_curve:P-256', '-nodes', '-keyout', pem, '-out', `${pem}.crt`,
		'-subj', '/CN=a.example', '-addext', 'subjectAltName=DNS:a.example',
		'-days', '2']);
	fs.appendFileSync(pem, fs.readFileSync(`${pem}.crt`));
	fs.chmodSync(pem, 0o644);
	const server = https.createServer({cert: fs.readFileSync(pem),
		key: fs.readFileSync(pem)}, (q, r) => {
		q.resume();
		q.on('end', () => r.end('secure'));
	});
	await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
	return server;
}

async function dutyOfHttp() {
	const origin = await Origin.start({
		'/big': (q, r) => r.end(Buffer.alloc(3 * MIB, 'x')),
		'/br': (q, r) => {
			r.setHeader('Content-Encoding', 'br');
			r.end(zlib.brotliCompressSync(Buffer.alloc(4 * MIB)));
		},
		'/slow': (q, r) => { r.write('one'); setTimeout(() => r.end('two'), 50); },
		'/go': (q, r) => { r.writeHead(302, {Location: '/big'}); r.end(); },
	});
	const secure = await secureOrigin();
	const many = Object.assign([[127, 0, 0, 1]], {tcp: true});
	// More addresses than libc sorts without asking how much memory there is.
	const crowd = Array.from({length: 80}, () => [127, 0, 0, 1]);
	const names = await nameServer({'a.example': [[127, 0, 0, 1]],
		'crowd.example': Object.assign(crowd, {tcp: true}),
		'tcp.example': many});
	await served({set: {'http.allow_private': 'true', 'http.ca_file': pem,
		'http.resolver': names.address}}, async (server, client) => {
		assert.equal((await request(client, `${origin.url}/go`)).status, 200);
		await request(client, `http://tcp.example:${origin.port}/big`);
		await request(client, `${origin.url}/br`);
		await request(client, `http://crowd.example:${origin.port}/go`);
		await request(client, `${origin.url}/up`, {method: 'POST',
			bodyBase64: encode(Buffer.alloc(MIB))});
		const url = `https://a.example:${secure.address().port}/`;
		assert.equal(bodyOf(await request(client, url)), 'secure');
		assert.equal(bodyOf(await request(client, url)), 'secure');
		const requestId = 'stream';
		await request(client, `${origin.url}/slow`,
			{requestId, streamResponse: true});
		await wholeStream(client, requestId);
		await client.refusal('http/request', {method: 'GET', requestId: 'no',
			headers: [], url: 'http://127.0.0.1:1/'});
		await client.refusal('http/request', {method: 'GET', requestId: 'none',
			headers: [], url: 'http://none.example/'});
		await interrupt(server.rolePids('http')[0]);
		assert.equal((await request(client, `${origin.url}/big`)).status, 200);
	});
	await endByItself({'http.allow_private': 'true'}, async (server, client) => {
		await request(client, `${origin.url}/go`);
		return server.rolePids('http');
	});
	origin.stop();
	secure.closeAllConnections();
	secure.close();
	names.stop();
}

// --- init, child, exec, supervisor -----------------------------------------

async function useProcesses(server, client) {
	const sh = await client.shell('echo out; exit 3');
	assert.deepEqual([sh.all, sh.exitCode], ['out\n', 3]);
	const tty = await client.start(['/bin/sh'], {tty: true});
	await tty.resize(33, 44);
	// Input does not wait for the size, which goes another way.
	await tty.write('until stty size | grep 33.44; do :; done\n');
	await tty.prints(/33 44/);
	await tty.write('exit 5\n');
	assert.equal((await tty.end()).exitCode, 5);
	const trap = await client.start(['/bin/sh', '-c',
		'trap "echo caught; exit 7" INT; echo ready; while :; do sleep 0.05; done']);
	await trap.prints(/ready/);
	await trap.interrupt();
	assert.equal((await trap.end()).exitCode, 7);
	const tree = await client.start(['/bin/sh', '-c',
		'(sleep 1000 & echo $!) ; (exit 0) & wait; echo up; sleep 1000']);
	await tree.prints(/up/);
	await tree.terminate();
	await tree.end();
	const orphan = await client.start(['/bin/sh', '-c',
		'sh -c "sleep 0.1; exit 4" >/dev/null 2>&1 &']);
	assert.equal((await orphan.end()).exitCode, 0);
	assert.equal((await client.shell('cat /proc/self/status',
		{sandbox: null})).exitCode, 0);
	await assert.rejects(client.start(['/no/such']));
}

async function dutyOfInit() {
	await served({}, async (server, client) => {
		await useProcesses(server, client);
		const sleeper = await client.start(['/bin/sleep', '1000']);
		// Others may be about to end.
		const sleeping = server.pids().find((pid) =>
			status(pid)?.Name === 'sleep');
		await interrupt(Number(status(sleeping).PPid));
		await sleeper.terminate();
		await sleeper.end();
	});
}

const restricted = (server) => ({permissions: {type: 'managed', file_system: {
	type: 'restricted', entries: [
		{path: {type: 'special', value: {kind: 'root'}}, access: 'read'},
		{path: {type: 'path', path: server.workspaceUri}, access: 'write'},
	]}, network: 'restricted'}, cwd: server.workspaceUri, workspaceRoots: [],
windowsSandboxLevel: 'disabled'});

/** A layer whose attempt fails is done without; here it must not. */
function assertLandlock(server) {
	const [kernel, tried] = server.stderr.match(/^.*ready role=exec.*$/m)[0]
		.match(/ landlock=\S+/g);

	assert.match(kernel, /=[1-9]/);
	assert.equal(tried, kernel);
}

/** What is given below a directory that the command may not search is left
 * out: it is looked for with the command's ids, in vain. */
async function assertLookedForAsCommand(server, client) {
	const dir = fs.mkdtempSync('/var/tmp/sallyport-duty-');
	process.on('exit', () => fs.rmSync(dir, {recursive: true}));
	const file = path.join(dir, 'f');
	const readable = (what) => ({path: what, access: 'read'});
	const sandbox = restricted(server);

	sandbox.permissions.file_system.entries = [
		readable({type: 'special', value: {kind: 'minimal'}}),
		readable({type: 'path', path: server.workspaceUri}),
		readable({type: 'path', path: `file://${file}`}),
	];
	fs.writeFileSync(file, 'f');
	// As one of others, neither as its owner nor of its group.
	for (const mode of [0o755, 0o700, 0o750]) {
		fs.chmodSync(dir, mode);
		const cat = await client.shell(`cat ${file}`, {sandbox});
		assert.equal(cat.exitCode === 0, mode === 0o755, cat.all);
	}
}

async function dutyOfExec() {
	const origin = await Origin.start({'/': (q, r) => r.end('here')});
	await served({set: {'http.allow_private': 'true'}}, async (server, client) => {
		assertLandlock(server);
		await assertLookedForAsCommand(server, client);
		assert.equal((await client.shell('umask')).all.trim(), '0022');
		await useProcesses(server, client);
		await useFiles(server, client);
		const more = await server.connect();
		await more.shell('true');
		await more.close();
		assert.equal((await client.shell('true',
			{sandbox: restricted(server)})).exitCode, 0);
		assert.equal((await request(client, `${origin.url}/`)).status, 200);
		const words = Array.from({length: 40}, () => 'y'.repeat(KIB));
		await (await client.start(['/bin/true', ...words])).end();
		await client.close();
		await until(5000, 'the last of them to be reaped', () =>
			descendants(server.pid).every((pid) =>
				status(pid)?.State[0] !== 'Z'));
	});
	origin.stop();
}

async function dutyOfSupervisor() {
	await served({}, async (server, client) => {
		assert.equal((await client.shell('echo x')).all, 'x\n');
		await client.close();
	});
	const audit = path.join(freshDirectory('duty'), 'audit');
	const server = await Server.start({set: {'audit.file': audit}});
	let stopped;
	try {
		const [pid] = server.rolePids('net');
		process.kill(pid, 'SIGKILL');
		await until(5000, 'another net', () =>
			server.rolePids('net').some((p) => p !== pid) &&
			server.stderr.match(/serving/g)?.length > 1);
		const client = await server.connect();
		await client.shell('true');
		process.kill(server.pid, 'SIGHUP');
		await client.shell('true').catch(() => {});
		// One that cannot end by itself.
		[stopped] = server.rolePids('net');
		process.kill(stopped, 'SIGSTOP');
		process.kill(server.rolePids('exec')[0], 'SIGKILL');
		await until(5000, 'another exec', () =>
			server.stderr.match(/serving/g)?.length > 2);
	} finally {
		// Where nobody killed it, nobody else lets it go on.
		if (stopped !== undefined && isAlive(stopped))
			process.kill(stopped, 'SIGKILL');
		assert.equal((await server.stop()).code, 0, server.stderr);
	}
	assert.match(fs.readFileSync(audit, 'utf8'), /"event"/);
}

const duties = {
	net: dutyOfNet,
	worker: dutyOfWorker,
	bridge: dutyOfBridge,
	http: dutyOfHttp,
	init: dutyOfInit,
	child: dutyOfInit,
	exec: dutyOfExec,
	supervisor: dutyOfSupervisor,
};

await duties[role]();
process.exit(0);
