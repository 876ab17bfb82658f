// The file methods where a backend's programs are: by a program that is there,
// and by one that is sent there. There is here, by a command of a shell's.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import {test} from 'node:test';
import {
	ENOENT, Files, INTERNAL, INVALID_REQUEST, scratch,
} from './lib/files.mjs';
import {farChecks} from './lib/farfiles.mjs';
import {commandLine, uniqueWord, withArgument} from './lib/proc.mjs';
import {build, foreignSkip, freshDirectory, withServer} from './lib/server.mjs';
import {until} from './lib/wait.mjs';

const WAIT_MS = 20000;
const START = 'sh -c {command}';
const built = path.join(build, 'exec/sallyport-worker');

/** A place of its own for the program, as sessions do not see /tmp. */
const place = fs.mkdtempSync('/var/tmp/sallyport-worker-');
fs.chmodSync(place, 0o755);
const worker = path.join(place, uniqueWord());
if (!foreignSkip)
	fs.copyFileSync(built, worker);
process.on('exit', () => fs.rmSync(place, {recursive: true, force: true}));

const COMMAND = {'backend.type': 'command', 'backend.start': START};
const THERE = {...COMMAND, 'backend.files': 'worker',
	'backend.worker': worker};
const SENT = {...COMMAND, 'backend.files': 'send'};

/** Run body with a client of a server that has these keys. */
const far = (what, set, body) => test(what, {skip: foreignSkip}, () =>
	withServer({set}, async (server) => {
		const client = await server.connect();
		try {
			await body(client, server);
		} finally {
			await client.close();
		}
	}));

const filesOf = (client, server, name = '') =>
	new Files(client, path.join(server.workspace, name));

for (const [how, set] of [['a program there', THERE], ['one sent', SENT]])
	test(how, {skip: foreignSkip}, (t) => withServer({set}, async (server) => {
		const client = await server.connect();
		const checks = Object.entries(farChecks)
			.filter(([what]) => !what.startsWith('large'));
		for (const [i, [what, check]] of checks.entries())
			await t.test(`${how}: ${what}`, async () => {
				const dir = path.join(server.workspace, `d${i}`);
				fs.mkdirSync(dir);
				fs.chmodSync(dir, 0o777);
				await check(new Files(client, dir), client);
			});
		await client.close();
	}));

// The filter of programs leaves the worker there without openat2.
far('links are told from what they lead to, where openat2 is missing', THERE,
	async (client, server) => {
		const files = scratch(server, client, {'d/e/f': 'x',
			link: {link: 'd'}, 'd/to': {link: 'e/f'}});
		const plain = (name) =>
			files.call('getMetadata', {path: name, followSymlinks: false});
		const linked = [INVALID_REQUEST, 'path contains a symbolic link'];

		assert.equal((await plain('d/e/f')).isFile, true);
		assert.equal((await plain('d/e')).isDirectory, true);
		for (const path of ['link', 'link/e/f', 'd/to'])
			await files.fails('getMetadata', {path, followSymlinks: false},
				linked);
		await files.fails('getMetadata',
			{path: 'd/none', followSymlinks: false}, ENOENT);
		const walked = async (followDirectorySymlinks) => {
			const {entries} = await files.walk('', {followDirectorySymlinks});
			return entries.map((e) => e.path.slice(files.uri('').length))
				.sort();
		};
		assert.deepEqual(await walked(false), ['/d', '/d/e', '/d/e/f']);
		assert.deepEqual(await walked(true), ['/d', '/d/e', '/d/e/f', '/link']);
	});

const RESTRICTED = {type: 'managed', network: 'enabled',
	file_system: {type: 'restricted', entries: []}};
const FILES = 'Codex process filesystem sandbox restrictions cannot be ' +
	'enforced by the backend.';
const NETWORK = 'Codex network restrictions cannot be enforced by the ' +
	'sandbox backend.';

/** How reading a file is answered with these permissions. */
const ask = (client, permissions) => client.refusal('fs/readFile', {
	path: 'file:///etc/passwd',
	sandbox: {permissions, windowsSandboxLevel: 'disabled'}});

test('what cannot be enforced there is refused before anything starts',
	{skip: foreignSkip}, async () => {
		const directory = freshDirectory();
		const notes = path.join(directory, 'notes');
		fs.chmodSync(directory, 0o777);
		const set = {...THERE,
			'backend.start': `sh -c "echo started >>${notes}"`};
		await withServer({workspace: directory, set}, async (server) => {
			const client = await server.connect();
			for (const [permissions, text] of [
				[RESTRICTED, FILES],
				[{...RESTRICTED, network: 'restricted'}, FILES],
				[{type: 'external', network: 'restricted'}, NETWORK],
				[{type: 'managed', network: 'restricted',
					file_system: {type: 'unrestricted'}}, NETWORK],
			]) {
				const error = await ask(client, permissions);
				assert.equal(error.code, INTERNAL);
				assert.equal(error.text, text);
			}
			assert.equal(fs.existsSync(notes), false);
		});
	});

far('without a network there, that of a file method is no matter',
	{...THERE, 'backend.isolated': 'true'}, async (client, server) => {
		fs.writeFileSync(path.join(server.workspace, 'f'), 'x');
		const {dataBase64} = await client.call('fs/readFile', {
			path: `${server.workspaceUri}/f`,
			sandbox: {permissions: {type: 'external', network: 'restricted'},
				windowsSandboxLevel: 'disabled'}});
		assert.equal(dataBase64, 'eA==');
	});

/** A file worker's frame of that message with one number, as a file. */
function frame(name, number) {
	const table = fs.readFileSync(
		new URL('../../privsep/msg.def', import.meta.url), 'utf8');
	const names = [...table.matchAll(/^MSG\((\w+)/gm)].map((m) => m[1]);
	const file = path.join(place, uniqueWord());
	const bytes = Buffer.alloc(13);
	bytes.writeUInt8(1, 0);
	bytes.writeUInt32LE(8, 1);
	bytes.writeUInt32LE(names.indexOf(name) + 1, 5);
	bytes.writeUInt32LE(number, 9);
	fs.writeFileSync(file, bytes);
	return file;
}

/** What a client and the log hear of a start that leads to no worker. */
for (const [what, start, words, log] of [
	['ends', `printf 'no such\\233 "place\\\\' >&2; exit 3`,
		"the backend's command has not started the file worker",
		/worker_lost .*reason=0 said="no such\? \?place\?"\n/],
	['says something else', 'echo Welcome; cat',
		"what the backend's command has started is no file worker",
		/worker_lost .*reason=1 said="Welcome/],
	['says too little', 'echo sallyport-work',
		"what the backend's command has started is no file worker",
		/worker_lost .*reason=1 said="sallyport-work/],
	['is of another build',
		`printf 'sallyport-worker 1 %064d\\n' 5; cat`,
		"the backend's file worker is of another build of sallyport",
		/worker_lost .*reason=2 said="sallyport-worker 1 0+5/],
	['breaks the contract',
		`${worker} </dev/null | head -c 84; echo garbage; cat`,
		"the backend's file worker broke the contract",
		/worker_lost .*reason=4 said="no frame: kind 103/],
	['tells of a watch that nobody asked for',
		`${worker} </dev/null | head -c 84; cat ${frame('FS_CHANGED', 7)} -`,
		"the file worker broke the contract",
		/worker_changes_unasked .*watch=7\n/],
])
	test(`a command that ${what}`, {skip: foreignSkip}, async () => {
		const script = path.join(place, uniqueWord());
		fs.writeFileSync(script, start);
		await withServer({set: {...THERE,
			'backend.start': `sh ${script} {argv}`}}, async (server) => {
			const client = await server.connect();
			const error = await client.refusal('fs/readFile',
				{path: 'file:///etc/passwd'});
			assert.equal(error.code, INTERNAL);
			assert.equal(error.text, words);
			await until(WAIT_MS, 'its reason', () => log.test(server.stderr));
		});
	});

/** What leads to a worker, and is one. The server names it, too. */
const workers = () => withArgument(worker).filter((pid) =>
	path.basename(commandLine(pid)[0] ?? '') !== 'sallyport');

const gone = () => until(WAIT_MS, 'the end of the worker',
	() => workers().length === 0);

/** That it serves, and processes of it are there. */
async function serves(client, server) {
	await filesOf(client, server).write('f', 'text');
	assert.ok(workers().length > 0);
}

far('a worker that is killed fails its call, and another one follows', THERE,
	async (client, server) => {
		await serves(client, server);
		const files = filesOf(client, server);
		await files.open('h', 'f');
		for (const pid of workers())
			try {
				process.kill(pid, 'SIGKILL');
			} catch {
				// Its parent's end was its own.
			}
		const error = await client.refusal('fs/readBlock',
			{handleId: 'h', offset: 0, len: 1});
		assert.match(error.text, /worker has gone|unknown file handle/);
		assert.equal(String(await files.read('f')), 'text');
	});

test('it ends with its connection, when it is idle, and with the server',
	{skip: foreignSkip}, async () => {
		await withServer({set: {...THERE, 'limits.session_retention': '0'}},
			async (server) => {
				const client = await server.connect();
				await serves(client, server);
				await client.drop();
				await gone();
				await serves(await server.connect(), server);
			});
		await gone();
		await withServer({set: {...THERE, 'limits.worker_idle': '1ms'}},
			async (server) => {
				await filesOf(await server.connect(), server)
					.write('f', 'text');
				await gone();
			});
	});

test('terminate follows a worker, finalize does not', {skip: foreignSkip},
	async () => {
		const directory = freshDirectory();
		const notes = path.join(directory, 'notes');
		fs.chmodSync(directory, 0o777);
		const note = (word) => `sh -c "echo ${word} {id} >>${notes}"`;
		await withServer({workspace: directory, set: {...THERE,
			'backend.terminate': note('terminate'),
			'backend.finalize': note('finalize'),
			'limits.worker_idle': '1ms'}}, async (server) => {
			const files = filesOf(await server.connect(), server);
			await files.write('f', 'text');
			await until(WAIT_MS, 'terminate', () => fs.existsSync(notes) &&
				fs.readFileSync(notes, 'utf8').endsWith('\n'));
			assert.match(fs.readFileSync(notes, 'utf8'),
				/^terminate [0-9a-f]{32}-\d+\n$/);
		});
	});

test('what is sent is opened once, and must be a program',
	{skip: foreignSkip}, async () => {
		const copy = path.join(place, uniqueWord());
		const set = {...SENT, 'backend.worker': copy};
		await assert.rejects(withServer({set}, () => {}),
			/backend\.worker: \S+: No such file/);
		fs.writeFileSync(copy, '');
		await assert.rejects(withServer({set}, () => {}),
			/backend\.worker: \S+ is no file of 1 to 33554432 bytes/);
		fs.copyFileSync(built, copy);
		await withServer({set}, async (server) => {
			fs.rmSync(copy);
			server.child.kill('SIGHUP');
			await until(WAIT_MS, 'the reload',
				() => / reloaded /.test(server.stderr));
			const files = filesOf(await server.connect(), server);
			await files.write('f', 'text');
			assert.equal(String(await files.read('f')), 'text');
		});
	});

test('nothing is left of a program that was sent', {skip: foreignSkip}, () =>
	withServer({set: SENT}, async (server) => {
		const client = await server.connect();
		await filesOf(client, server).write('f', 'text');
		for (const directory of ['/tmp', '/var/tmp', '/dev/shm']) {
			const {entries} = await client.call('fs/readDirectory',
				{path: `file://${directory}`});
			assert.deepEqual(entries.filter((e) =>
				e.fileName.startsWith('.sallyport-')), []);
		}
	}));
