// What the seed's tests ask of a backend, by their rows: docs/seed-checklist.md.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import {test} from 'node:test';
import {startParams} from './lib/client.mjs';
import {uniqueWord, withArgument} from './lib/proc.mjs';
import {Server, foreignSkip, freshDirectory} from './lib/server.mjs';
import {until} from './lib/wait.mjs';

const options = {skip: foreignSkip};
const START = 'sh -c {command}';
const bare = {params: {}, initialized: false};
const managed = (network) => ({permissions:
	{type: 'managed', file_system: {type: 'unrestricted'}, network}});
const external = (network) => ({permissions: {type: 'external', network}});

/** A server with these keys, in a workspace that its commands may write to. */
async function backend(set, body, args = []) {
	const directory = fs.mkdtempSync('/var/tmp/sallyport-rows-');
	fs.chmodSync(directory, 0o777);
	const notes = () => {
		try {
			// Lines that are whole: the file may be new and empty.
			return fs.readFileSync(path.join(directory, 'notes'), 'utf8')
				.split('\n').slice(0, -1);
		} catch {
			return [];
		}
	};
	const named = (keys) => Object.fromEntries(Object.entries(keys).map(
		([key, value]) => [key, value.replaceAll('%W', directory.slice(1))]));
	const server = await Server.start({workspace: directory, keep: true,
		args: ['--compat', 'openclaw', ...args],
		set: named({'backend.type': 'command', 'backend.start': START,
			'limits.shutdown_timeout': '30s',
			'backend.finalize': 'sh -c "echo {status} {exit_code} ' +
				'{timed_out} >>/%W/notes"', ...set})});
	try {
		await body(server, notes);
	} finally {
		await server.stop();
		fs.rmSync(directory, {recursive: true, force: true});
	}
}

const noted = (notes, n) => until(20000, `${n} notes`, () => notes().length >= n);

const start = (client, argv, members) => client.call('process/start',
	startParams(argv, client.cwd, {processId: 'p', ...members}));

async function isRefused(client, sandbox) {
	const word = uniqueWord();
	const error = await client.refusal('process/start', startParams(
		['/bin/sleep', word], client.cwd, {processId: 'p', sandbox}));
	assert.match(error.text, /network restrictions.*cannot be enforced/i);
	assert.deepEqual(withArgument(word), []);
}

async function isServed(client, sandbox, processId = 'p') {
	assert.deepEqual(await start(client, ['/bin/true'], {processId, sandbox}),
		{processId, sandboxType: 'none'});
	assert.equal((await client.event(processId, 'closed')).processId, processId);
}

test('10e, 10f: no network is refused where there may be one', options, () =>
	backend({}, async (server) => {
		const client = await server.connect(bare);
		await isRefused(client, external('restricted'));
		await isRefused(client, managed('restricted'));
	}));

test('11a, 11c, 11d, 11g: what restricts nothing is served', options, () =>
	backend({}, async (server) => {
		const client = await server.connect(bare);
		const sandboxes = [null, {permissions: {type: 'disabled'}},
			managed('enabled'), external('enabled')];
		for (const [i, sandbox] of sandboxes.entries())
			await isServed(client, sandbox, `p${i}`);
	}));

test('11b, 11e: no network is served where there is none', options, () =>
	backend({'backend.isolated': 'true'}, async (server) => {
		const client = await server.connect(bare);
		await isServed(client, external('restricted'), 'b');
		await isServed(client, managed('restricted'), 'e');
	}));

for (const [row, before, after] of [['10g', 'false', 'true'],
	['11h', 'true', 'false']])
	test(`${row}: isolation is what it was when the server started`, options,
		async () => {
			const config =
				path.join(freshDirectory('conf'), 'sallyport.conf');
			const write = (isolated) => fs.writeFileSync(config,
				`[backend]\nisolated = ${isolated}\n`);
			const check = (client, isolated, id) => isolated === 'true' ?
				isServed(client, managed('restricted'), id) :
				isRefused(client, managed('restricted'));
			write(before);
			await backend({}, async (server) => {
				const old = await server.connect(bare);
				await check(old, before, 'one');
				write(after);
				process.kill(server.pid, 'SIGHUP');
				await until(5000, 'a reload', () =>
					/reload_kept keys="backend.isolated"/.test(server.stderr));
				await check(old, before, 'two');
				await check(await server.connect(bare), before, 'three');
			}, ['--config', config]);
		});

test('15: a killed terminal process is finalized with exit code 1', options,
	() => backend({}, async (server, notes) => {
		const client = await server.connect(bare);
		await start(client, ['/bin/sh', '-c', 'kill -KILL $$'], {tty: true});
		assert.equal((await client.event('p', 'exited')).exitCode, 1);
		await noted(notes, 1);
		assert.deepEqual(notes(), ['completed 1 false']);
	}));

const STUBBORN = 'trap "" TERM INT HUP; (setsid sh -c ' +
	'"while :; do sleep 0.1; done" $0 &); echo up; while :; do sleep 0.1; done';

async function stubborn(server) {
	const word = uniqueWord();
	const client = await server.connect(bare);
	await start(client, ['/bin/sh', '-c', STUBBORN, word]);
	await client.event('p', 'output');
	return {client, word};
}

test('23a: a lost socket ends the tree and finalizes it once, exit code 1',
	options, () => backend({}, async (server, notes) => {
		const {client, word} = await stubborn(server);
		await client.drop();
		await until(3000, 'end of the tree', () =>
			withArgument(word).length === 0);
		await noted(notes, 1);
		await server.stop();
		assert.deepEqual(notes(), ['completed 1 false']);
	}));

test('23b: a release does so before it returns', options, () =>
	backend({}, async (server, notes) => {
		const {word} = await stubborn(server);
		await server.stop();
		assert.deepEqual(withArgument(word), []);
		assert.deepEqual(notes(), ['completed 1 false']);
	}));

test('L1: a transport that failed is told at the end, as a failure', options,
	() => backend({'backend.lost_status': '23',
		'backend.start': 'sh -c "echo gone >&2; until [ -e /%W/go ]; ' +
			'do sleep 0.02; done; exit 23"'},
	async (server, notes) => {
		const client = await server.connect(bare);
		await start(client, ['/bin/true']);
		await client.event('p', 'output');
		const read = () => client.call('process/read',
			{processId: 'p', afterSeq: 0});
		const early = await read();
		assert.deepEqual([early.exited, early.closed], [false, false]);
		fs.writeFileSync(path.join(server.workspace, 'go'), '');
		await client.event('p', 'closed');
		assert.deepEqual(client.events('p').map((m) => m.method).slice(-2),
			['process/exited', 'process/closed']);
		const late = await read();
		assert.equal(late.exitCode, 23);
		assert.match(late.failure, /backend's command failed/);
		await noted(notes, 1);
		assert.deepEqual(notes(), ['failed 23 false']);
	}));

for (const [row, command, text] of [
	['L2a: an empty command', '""', /did not provide a command/],
	['L2b: a command that cannot be started', '/nonexistent {argv}',
		/os error 2/],
])
	test(`${row} fails the start and is finalized once`, options, () =>
		backend({'backend.start': command}, async (server, notes) => {
			const client = await server.connect(bare);
			const error = await client.refusal('process/start', startParams(
				['/bin/true'], client.cwd, {processId: 'p'}));
			assert.match(error.text, text);
			await noted(notes, 1);
			await server.stop();
			assert.deepEqual(notes(), ['failed null false']);
		}));
