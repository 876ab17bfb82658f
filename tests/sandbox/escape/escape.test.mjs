// Programs attempt to get out of what a client's profile, or the preset alone,
// puts them in. What they say is compared with what the host sees.
//
// With SALLYPORT_ESCAPE_CONTROL=1, as root: the same attempts where nothing
// stops them. Each then has to succeed, or to say what the host lacks.
import assert from 'node:assert/strict';
import {spawn, spawnSync} from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import {test} from 'node:test';
import {RpcError} from '../../blackbox/lib/client.mjs';
import {residentKib, status, uniqueWord, withArgument}
	from '../../blackbox/lib/proc.mjs';
import {Server, fileUri, foreignSkip, rootSkip}
	from '../../blackbox/lib/server.mjs';
import {until} from '../../blackbox/lib/wait.mjs';
import {World, attempt} from './world.mjs';

const control = process.env.SALLYPORT_ESCAPE_CONTROL === '1';
const skip = foreignSkip || rootSkip ||
	(fs.existsSync(attempt) ? false : 'tests/sandbox/escape is not built');
const insideSkip = skip || (control && 'only the control half was asked for');
const controlSkip = skip || (!control && 'needs SALLYPORT_ESCAPE_CONTROL=1');

const IN_READ = 1, IN_WRITE = 2, IN_PLAIN = 4, IN_LIMITS = 8,
	IN_SWAP = 64;
// Those of which a host may lack what they need.
const MAY_NOT_TELL = new Set(['tcp-address', 'udp-address', 'setuid-tar',
	'unshare-program', 'shared-memory', 'unix-abstract', 'int80',
	'int80-socket']);

const special = (kind, access, more = {}, subpath = undefined) => ({
	path: {type: 'special', value: {kind, subpath}}, access, ...more,
});
const guarded = (name) =>
	special('project_roots', 'read', {missing_path_behavior: 'skip'}, name);
const READ = [special('root', 'read')];
const WRITE = [
	special('root', 'read'), special('project_roots', 'write'),
	special('slash_tmp', 'write'), special('tmpdir', 'write'),
	...['.git', '.agents', '.codex', '.aws'].map(guarded),
];

/** The sandbox object as the client sends it. */
function sandbox(entries, world) {
	return {
		permissions: {
			type: 'managed',
			file_system: {type: 'restricted', entries},
			network: 'restricted',
		},
		cwd: fileUri(world.first),
		workspaceRoots: [fileUri(world.first), fileUri(world.second)],
		windowsSandboxLevel: 'disabled',
		windowsSandboxProxySettingsMode: 'reconcile',
		useLegacyLandlock: false,
	};
}

function serve(world, set = {}) {
	return Server.start({
		workspace: world.first, keep: true, set,
		args: ['--workspace', world.second,
			'--config', path.join(world.first, 'etc/sallyport.conf')],
	});
}

/** One line each: name, verdict, layer, evidence. */
function parse(text) {
	return text.trim().split('\n').map((line) => {
		const [name, verdict, layer, evidence] = line.split('\t');
		return {name, verdict, layer, evidence};
	});
}

function show(rows) {
	if (process.env.SALLYPORT_VERBOSE)
		for (const r of rows)
			console.log(`  ${r.verdict.padEnd(12)}${r.name.padEnd(24)}${
				r.layer}: ${r.evidence}`);
}

function isBad({name, verdict}) {
	return verdict === 'escaped' ||
		(verdict !== 'contained' && !MAY_NOT_TELL.has(name));
}

function judge(rows, least) {
	show(rows);
	assert.deepEqual(rows.filter(isBad), []);
	assert.ok(rows.length >= least, `${rows.length} attempts`);
}

/** Make the attempts of a mask; what the host sees stays as it was. */
async function attempts(world, client, mask, entries) {
	const child = await client.start(['./attempt', 'in', `${mask}`], {
		env: {PATH: '/usr/bin:/bin', ...world.env({ESCAPE_TMP: '/tmp'})},
		sandbox: entries && sandbox(entries, world),
	});
	const end = await child.end(40000);
	assert.equal(end.exitCode, 0, end.stderr);
	return parse(end.stdout);
}

/** With a world, a server, a session, and another one that leaves traces. */
async function inWorld(set, body) {
	const world = await World.make();
	let server;
	try {
		server = await serve(world, set);
		const [client, other] =
			[await server.connect(), await server.connect()];
		const trace = await other.start(['/bin/sh', '-c', 'echo x ' +
			'> /tmp/of-another-session && echo made; sleep 1000', world.word]);
		await trace.prints('made');
		await body({world, server, client, other});
	} finally {
		await server?.stop();
		await world.destroy();
	}
}

for (const [name, mask, entries, least] of [
	['a read-only profile', IN_READ, READ, 200],
	['a profile that writes the workspaces', IN_WRITE, WRITE, 200],
	['the preset alone', IN_PLAIN, undefined, 190],
])
	test(`attempts under ${name} are contained`, {skip: insideSkip}, () =>
		inWorld({}, async ({world, server, client}) => {
			const before = world.picture({plain: !entries});
			await world.makeLater();
			judge(await attempts(world, client, mask, entries), least);
			assert.deepEqual(world.picture({plain: !entries}), before);
			assert.match((await client.shell('echo alive')).stdout, /alive/);
			await server.stop();
		}));

const SWAPS = 12;

// The client asks to write below a path of the workspace, and a command of its
// own makes that a link out of it, before or while the view is made.
test('a writable path that becomes a link leads nowhere', {skip: insideSkip},
	() => inWorld({}, async ({world, client}) => {
		const before = world.picture();
		const swap = await client.start(['/bin/sh', '-c', 'mkdir -p real; while :; do ' +
			`ln -sfn ${world.host}/dir out; rm -f out; mv -T real out; ` +
			'mv -T out real; done']);
		const entries = [...READ, ...['out', 'real'].map((name) => ({
			path: {type: 'path', path: fileUri(path.join(world.first, name))},
			access: 'write',
		}))];
		let ran = 0;
		for (let i = 0; i < SWAPS; i++)
			try {
				judge(await attempts(world, client, IN_SWAP, entries), 10);
				ran++;
			} catch (e) {
				if (!(e instanceof RpcError))
					throw e;
			}
		await swap.terminate();
		await swap.end();
		assert.deepEqual(world.picture(), before);
		assert.ok(ran > 0, 'every start was refused');
	}));

test('commands that start at once hold what is missing together',
	{skip: insideSkip}, () => inWorld({}, async ({world, client}) => {
		for (let i = 0; i < 10; i++) {
			const both = await Promise.all([1, 2, 3, 4].map(() =>
				client.start(['/bin/sh', '-c',
					`ls -d ${world.second}/.agents; ` +
					`echo x > ${world.second}/.agents/planted`],
				{sandbox: sandbox(WRITE, world)})));
			for (const child of both) {
				const {stdout, stderr} = await child.end();
				assert.match(stdout, /agents/, stderr);
				assert.match(stderr, /Read-only|denied/);
			}
			await until(3000, 'end of the placeholder', () =>
				!fs.existsSync(path.join(world.second, '.agents')));
		}
	}));

// Small, and the bombs stop by themselves not far above.
const limits = {
	'limits.child_processes': 48, 'limits.child_open_files': 64,
	'limits.child_memory': '96M', 'limits.child_file_size': '2M',
	'limits.tmp_size': '8M', 'limits.tmp_inodes': 200,
	'limits.shm_size': '4M',
};

for (const [name, entries] of [
	['a profile that writes the workspaces', WRITE],
	['the preset alone', undefined],
])
	test(`bombs under ${name} are held while others are served`,
		{skip: insideSkip}, () =>
			inWorld(limits, async ({world, client, other}) => {
				let busy = true, served = 0;
				const rows = attempts(world, client, IN_LIMITS, entries)
					.finally(() => { busy = false; });
				while (busy) {
					const {stdout} = await other.shell('echo alive');
					assert.equal(stdout, 'alive\n');
					served++;
				}
				judge(await rows, 10);
				assert.ok(served > 0);
			}));

test('a flood of output that nobody reads is held back', {skip: insideSkip},
	() => inWorld({}, async ({world, server, client, other}) => {
		const net = await server.role('net');
		const before = residentKib(net);
		await client.start(['yes'], {sandbox: sandbox(READ, world)});
		client.socket.pause();
		const end = Date.now() + 1500;
		while (Date.now() < end)
			assert.equal((await other.shell('echo alive')).stdout, 'alive\n');
		assert.ok(residentKib(net) - before < 32 * 1024);
		client.socket.resume();
	}));

const KINDS = ['session', 'daemon', 'ignore', 'block', 'adopt', 'run-away',
	'stop'];

/** Start one of each kind; the words that their processes carry. */
function persistent(world, client, how, entries) {
	return Promise.all(KINDS.map(async (kind) => {
		const word = uniqueWord();
		const child = await client.start(
			['./attempt', 'persist', kind, how, word],
			{sandbox: entries && sandbox(entries, world)});
		await child.prints('ready');
		return {kind, word, child};
	}));
}

/** One that becomes another all the time is not always seen. */
async function gone(list) {
	for (const {kind, word} of list) {
		let unseen = 0;
		await until(4000, `end of ${kind}`, () => {
			unseen = withArgument(word).length === 0 ? unseen + 1 : 0;
			return unseen === (kind === 'run-away' ? 10 : 1);
		});
	}
}

for (const [name, entries] of [
	['a read-only profile', READ],
	['a profile that writes the workspaces', WRITE],
	['the preset alone', undefined],
])
	test(`nothing under ${name} outlives what it belongs to`,
		{skip: insideSkip}, () => inWorld({'limits.session_retention': 0},
			async ({world, server}) => {
				const first = await server.connect();
				const ended = await persistent(world, first, 'stay', entries);
				for (const {child} of ended)
					await child.terminate();
				await gone(ended);
				const left = await persistent(world, first, 'exit', entries);
				for (const {child} of left)
					assert.equal((await child.exited()).exitCode, 0);
				await first.close();
				await gone(left);
				const last = await server.connect();
				const both = [
					...await persistent(world, last, 'stay', entries),
					...await persistent(world, last, 'exit', entries)];
				await server.stop();
				await gone(both);
			}));

// --- the same with nothing in the way --------------------------------------

/** Each in a world of its own: they change it. */
async function outside(name) {
	const world = await World.make();
	try {
		await world.makeLater();
		const run = spawn('./attempt', ['outside', name], {
			cwd: world.first,
			env: {PATH: '/usr/sbin:/usr/bin:/bin', ...world.env()},
			// What is there from 3 on, and that 0 is a socket, is to be seen.
			stdio: ['pipe', 'pipe', 'inherit', 'pipe'],
		});
		let text = '';
		run.stdout.on('data', (d) => { text += d; });
		await new Promise((resolve) => run.once('close', resolve));
		return parse(text)[0];
	} finally {
		await world.destroy();
	}
}

test('every attempt succeeds where nothing stops it', {skip: controlSkip},
	async () => {
		const {stdout} = spawnSync(attempt, ['list'], {encoding: 'utf8'});
		const rows = [];
		for (const line of stdout.trim().split('\n'))
			rows.push(await outside(line.split('\t')[0]));
		show(rows);
		const count = (v) => rows.filter((r) => r.verdict === v).length;
		console.log(`${rows.length} attempts: ${count('escaped')} escaped, ${
			count('cannot-tell')} cannot tell`);
		assert.deepEqual(rows.filter((r) => r.verdict === 'contained'), []);
	});

test('a flood is more than is held back where somebody reads it',
	{skip: controlSkip}, async () => {
		const flood = spawn('yes', {stdio: ['ignore', 'pipe', 'ignore']});
		let bytes = 0;
		flood.stdout.on('data', (d) => { bytes += d.length; });
		try {
			await until(10000, 'a flood', () => bytes > 32 * 1024 * 1024);
		} finally {
			flood.kill('SIGKILL');
		}
	});

test('processes outlive their group where nothing ends them',
	{skip: controlSkip}, async () => {
		for (const kind of KINDS) {
			const word = uniqueWord();
			const run = spawn(attempt, ['persist', kind, 'stay', word],
				{detached: true, stdio: ['ignore', 'pipe', 'inherit']});
			await new Promise((resolve) => run.stdout.once('data', resolve));
			process.kill(-run.pid, 'SIGTERM');
			await new Promise((resolve) => run.once('exit', resolve));
			const group = await until(4000, `${kind} to be seen`, () =>
				withArgument(word).map((pid) => Number(status(pid)?.NSpgid))
					.find((id) => id > 1));
			process.kill(-group, 'SIGKILL');
			await gone([{kind, word}]);
		}
	});
