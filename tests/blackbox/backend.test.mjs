// Programs that a command of the administrator's starts: what it is given,
// which commands follow, and what a client learns.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import {test} from 'node:test';
import {
	COMMAND, FINALIZE, START, count, note, noted, serveNoted,
} from './lib/backend.mjs';
import {startParams} from './lib/client.mjs';
import {uniqueWord, withArgument} from './lib/proc.mjs';
import {
	Server, binary, build, fileUri, foreignSkip, freshDirectory, rootSkip,
	withServer,
} from './lib/server.mjs';
import {pause, until} from './lib/wait.mjs';

const INTERNAL = -32603;

const start = (client, argv, members) => client.refusal('process/start',
	startParams(argv, client.cwd, {processId: 'p', ...members}));

/** Run body against a backend of type command with these keys. */
function backend(what, keys, body, args = []) {
	test(what, {skip: foreignSkip}, () => withServer({args, set: {
		'backend.type': 'command', 'backend.start': START,
		...keys,
	}}, async (server) => {
		const client = await server.connect();
		try {
			await body(client, server);
		} finally {
			await client.close();
		}
	}));
}

/** A server on a unix socket of this host, open to all; body gets its name. */
async function listening(base, body) {
	const directory = fs.mkdtempSync(`${base}/sallyport-sock-`);
	fs.chmodSync(directory, 0o755);
	const name = path.join(directory, 's');
	const server = net.createServer((socket) => socket.end('reached'));
	try {
		await new Promise((resolve) => server.listen(name, resolve));
		fs.chmodSync(name, 0o777);
		await body(name);
	} finally {
		server.close();
		fs.rmSync(directory, {recursive: true, force: true});
	}
}

/** What a program of a client hears there. */
async function hears(client, name) {
	const script = 'import socket,sys\ns=socket.socket(socket.AF_UNIX)\n' +
		'try:\n s.connect(sys.argv[1]); print(s.recv(9).decode())\n' +
		'except OSError as e: print(type(e).__name__)';
	const process =
		await client.start(['/usr/bin/python3', '-c', script, name]);
	return (await process.end()).all.trim();
}

/** What a server with these keys lets a program hear at name. */
const ask = (more, name) => withServer({set: {...COMMAND, ...more}},
	async (server) => hears(await server.connect(), name));

for (const base of ['/var/tmp', '/tmp', ...(rootSkip ? [] : ['/run'])])
	test(`a socket in ${base} is for commands if it is named`,
		{skip: foreignSkip}, () => listening(base, (named) =>
			listening(base, async (other) => {
				const socket = {'backend.socket': named};
				assert.equal(await ask(socket, named), 'reached');
				assert.match(await ask({}, named), /Error$/);
				assert.match(await ask(socket, other), /Error$/);
			})));

test('the preset strict has no unix sockets, named or not',
	{skip: foreignSkip}, () => listening('/var/tmp', async (name) =>
		assert.match(await ask({'backend.socket': name,
			'sandbox.preset': 'strict'}, name), /PermissionError/)));

test('a named socket stays open to the commands that follow',
	{skip: foreignSkip}, () => listening('/var/tmp', (name) =>
		withServer({set: {...COMMAND, 'backend.socket': name}},
			async (server) => {
				const client = await server.connect();
				for (let i = 0; i < 3; i++)
					assert.equal(await hears(client, name), 'reached');
				// A connection is listed by the same name.
				const held = net.connect(name);
				await pause(300);
				assert.equal(await hears(client, name), 'reached');
				held.destroy();
			})));

for (const [what, make] of [
	['is a file', (name) => fs.writeFileSync(name, '')],
	['is a link', (name) => fs.symlinkSync('/usr', name)],
	['is a directory', (name) => fs.mkdirSync(name)],
])
	test(`a session is refused whose socket ${what}`, {skip: foreignSkip},
		async () => {
			const directory = fs.mkdtempSync('/var/tmp/sallyport-sock-');
			const name = path.join(directory, 's');
			fs.chmodSync(directory, 0o755);
			make(name);
			try {
				await withServer({set: {...COMMAND, 'backend.socket': name}},
					async (server) => {
						const client = await server.connect();
						const error = await start(client, ['/bin/true']);
						assert.match(error.text, /sandbox could not be made/);
						await until(5000, 'its reason', () =>
							/backend\.socket: \S+ is (no socket|really)/
								.test(server.stderr));
					});
			} finally {
				fs.rmSync(directory, {recursive: true, force: true});
			}
		});

test('a socket that is not there is left out', {skip: foreignSkip}, () =>
	withServer({set: {...COMMAND, 'backend.socket': '/run/nonexistent/s'}},
		async (server) => {
			const client = await server.connect();
			assert.equal((await client.shell('exit 3')).exitCode, 3);
		}));

backend('a program gets its arguments, directory, variables and input', {},
	async (client, server) => {
		const argv = ['/bin/sh', '-c',
			'printf "%s\\n" "$@"; pwd; echo "$A"; cat; exit 7', 'sh',
			'', "it's", 'a b', '$HOME', '*', '-x=1'];
		const process = await client.start(argv,
			{env: {A: "x 'y'\nz"}, pipeStdin: true});
		await process.write('input');
		await process.closeStdin();
		const end = await process.end();
		assert.equal(end.stdout, [...argv.slice(4), server.workspace,
			"x 'y'\nz", 'input'].join('\n'));
		assert.equal(end.exitCode, 7);
	});

backend('on a terminal too', {}, async (client) => {
	const process = await client.start(
		['/bin/sh', '-c', 'test -t 0 && test -t 1 && stty size'], {tty: true});
	const end = await process.end();
	assert.equal(end.pty.trim(), '24 80');
	assert.equal(end.exitCode, 0);
});

backend('it has nothing of our base, and a name that commands find it by',
	{'backend.start': 'env -i {env} {argv}', 'env.set': 'OURS=1'},
	async (client) => {
		const {stdout} = await (await client.start(['/usr/bin/env'],
			{env: {MINE: '2', API_KEY: 'secret'}})).end();
		const names = stdout.split('\n').map((line) => line.split('=')[0]);
		assert.deepEqual(names.sort(), ['', 'MINE', 'SALLYPORT_EXEC_ID']);
	});

backend('the command itself has nothing that a client chose',
	{'backend.start': 'sh -c "echo $MINE$OURS"', 'env.set': 'OURS=1'},
	async (client) => {
		const {stdout} = await (await client.start(['/bin/true'],
			{env: {MINE: '2'}})).end();
		assert.equal(stdout, '1\n');
	});

backend('what it cannot enforce is refused before anything is launched', {},
	async (client) => {
		const words = uniqueWord();
		const refused = async (members, text) => {
			const error =
				await start(client, ['/bin/sleep', words], members);
			assert.match(error.text, text);
			assert.deepEqual(withArgument(words), []);
		};
		const managed = (file_system, network) => ({sandbox: {
			windowsSandboxLevel: 'disabled',
			permissions: {type: 'managed', file_system, network}}});
		await refused({arg0: 'other'}, /arg0/);
		await refused({enforceManagedNetwork: true},
			/managed network restrictions cannot be enforced/);
		await refused(managed({type: 'restricted', entries: []}, 'enabled'),
			/filesystem sandbox restrictions cannot be enforced/);
		await refused(managed({type: 'unrestricted'}, 'restricted'),
			/network restrictions cannot be enforced/);
	});

backend('isolation is what the policy says', {'backend.isolated': 'true'},
	async (client) => {
		const {exitCode} = await (await client.start(['/bin/true'], {sandbox: {
			windowsSandboxLevel: 'disabled', permissions: {type: 'managed',
				file_system: {type: 'unrestricted'}, network: 'restricted'}}}))
			.end();
		assert.equal(exitCode, 0);
	});

backend('a name that looks like an option is refused', {}, async (client) => {
	assert.match((await start(client, ['-c', 'x'])).text, /begins with '-'/);
	assert.match((await start(client, ['/bin/true'], {env: {'-S': 'sh'}})).text,
		/variable begins with '-'/);
	assert.deepEqual(await client.status(), {status: 'ready'});
});

backend('files are refused unless they are said to be the same', {},
	async (client, server) => {
		const error = await client.refusal('fs/readFile',
			{path: fileUri(server.workspace), sandbox: null});
		assert.equal(error.code, INTERNAL);
		assert.match(error.text, /backend\.files/);
	});

backend('and served where they are', {'backend.files': 'local'},
	async (client, server) => {
		fs.writeFileSync(path.join(server.workspace, 'f'), 'abc');
		const {dataBase64} = await client.call('fs/readFile',
			{path: fileUri(path.join(server.workspace, 'f')), sandbox: null});
		assert.equal(dataBase64, 'YWJj');
	});

backend('a start that has not come to the program is told apart',
	{'backend.start': 'sh -c "exit 255"', 'backend.lost_status': '255'},
	async (client) => {
		const process = await client.start(['/bin/true']);
		await process.end();
		const read = await process.read({afterSeq: 0});
		assert.equal(read.exitCode, 255);
		assert.match(read.failure, /backend's command failed/);
	});

backend('an empty command is no command', {'backend.start': '""'},
	async (client) => {
		const error = await start(client, ['/bin/true']);
		assert.match(error.text, /did not provide a command/);
	});

noted('finalize is told once what became of a program', FINALIZE,
	async (client, notes) => {
		await client.shell('exit 3');
		await count(notes, 1);
		await client.shell('kill -9 $$');
		await count(notes, 2);
		await client.shell('true');
		await count(notes, 3);
		assert.deepEqual(notes(), ['final completed 3 false',
			'final completed 137 false', 'final completed 0 false']);
	});

noted('also if it could not be started',
	{...FINALIZE, 'backend.start': '/nonexistent {argv}'},
	async (client, notes) => {
		const error = await start(client, ['/bin/true']);
		assert.match(error.text, /os error 2/);
		await count(notes, 1);
		assert.deepEqual(notes(), ['final failed null false']);
	});

noted('an empty command is finalized', {...FINALIZE, 'backend.start': '""'},
	async (client, notes) => {
		await start(client, ['/bin/true']);
		await count(notes, 1);
		assert.deepEqual(notes(), ['final failed null false']);
	});

const ALL = {...FINALIZE, 'backend.terminate': note('terminate {id}'),
	'backend.signal': note('signal {signal} {id}')};

/** A sleeper, and the name its commands know it by. */
async function sleeper(client) {
	const process = await client.start(
		['/bin/sh', '-c', 'echo $SALLYPORT_EXEC_ID; exec sleep 1000']);
	const [id] = await process.prints(/\S+(?=\n)/);
	return {process, id};
}

/** What is noted of a program that only the kill of its start ends: it may come
 * to be while terminate looks for it, and something may while it is ended. */
const ended = (id) => [...Array(4).fill(`terminate ${id}`),
	'final completed 137 false'];

noted('interrupt and terminate run their commands, with its name', ALL,
	async (client, notes) => {
		const {process, id} = await sleeper(client);
		await process.interrupt();
		await count(notes, 1);
		assert.deepEqual(await process.terminate(), {running: true});
		await process.end();
		await count(notes, 6);
		assert.deepEqual(notes(), [`signal INT ${id}`, ...ended(id)]);
	});

noted('interrupts that come while one is under way add nothing',
	{...ALL, 'backend.signal': 'sh -c "echo signal >>/%W/notes; ' +
		'until [ -e /%W/go ]; do sleep 0.02; done"'},
	async (client, notes, server) => {
		const {process} = await sleeper(client);
		await Promise.all(Array.from({length: 50}, () =>
			process.interrupt()));
		await count(notes, 1);
		fs.writeFileSync(path.join(server.workspace, 'go'), '');
		await process.terminate();
		await process.end();
		await until(20000, 'the last', () => /^final/.test(notes().at(-1)));
		const signals = notes().filter((line) => line.startsWith('signal'));
		assert.equal(signals.length, 1);
	});

for (const end of ['drop', 'close'])
	noted(`a connection lost by ${end} ends its programs there`,
		{...ALL, 'limits.session_retention': '0'},
		async (client, notes) => {
			const {id} = await sleeper(client);
			await client[end]();
			await count(notes, 5);
			assert.deepEqual(notes(), ended(id));
		});

noted('so does the end of the server', {...ALL, 'limits.shutdown_timeout': '30s'},
	async (client, notes, server) => {
		await sleeper(client);
		await server.stop();
		assert.equal(notes().length, 5);
	});

noted('what is left behind is ended after the program too', ALL,
	async (client, notes) => {
		await client.shell('true');
		await count(notes, 2);
		assert.match(notes()[0], /^terminate /);
		assert.equal(notes()[1], 'final completed 0 false');
	});

noted('time that is over is told', {...ALL, 'limits.child_wall_time': '500ms'},
	async (client, notes) => {
		// It may be over before the program has said a word.
		await (await client.start(['/bin/sleep', '1000'])).end();
		await count(notes, 5);
		assert.equal(notes().at(-1), 'final completed 137 true');
	});

test('a command that hangs is given up', {skip: foreignSkip}, async () => {
	const isGivenUp = (timeout) => serveNoted({...FINALIZE,
		'backend.terminate': 'sleep 1000', 'limits.backend_timeout': timeout},
	async (client, notes) => {
		const {process} = await sleeper(client);
		await process.terminate();
		await process.end();
		await count(notes, 1);
		assert.deepEqual(notes(), ['final completed 137 false']);
	});
	// On a busy machine that may be too little for finalize as well.
	await isGivenUp('300ms').catch(() => isGivenUp('5s'));
});

backend('commands for refused starts are no more than programs may be',
	{'backend.finalize': 'sleep 1000',
		'limits.session_processes_max': '1'},
	async (client) => {
		assert.match((await start(client, ['-c'])).text, /begins with '-'/);
		assert.match((await start(client, ['-c'])).text, /too many processes/);
	});

noted('a program that comes to be while it is ended is found', {
	'backend.start': 'sh -c "until [ -e /%W/looked ]; do sleep 0.02; done; ' +
		'echo up >>/%W/notes; exec sleep 1000"',
	'backend.terminate': 'sh -c "if [ -e /%W/looked ]; then ' +
		'until grep -qs up /%W/notes; do sleep 0.02; done; ' +
		'echo found >>/%W/notes; else : >/%W/looked; fi"',
}, async (client, notes) => {
	const process = await client.start(['/bin/true']);
	await process.terminate();
	await process.end();
	// The first is from before start was killed.
	await count(notes, 3);
	assert.deepEqual(notes().slice(0, 3), ['up', 'found', 'found']);
});

noted('a command that cannot be run ends a program all the same',
	{...FINALIZE, 'backend.terminate': '/nonexistent',
		'backend.signal': '/nonexistent'},
	async (client, notes) => {
		const {process} = await sleeper(client);
		await process.interrupt();
		await process.terminate();
		await process.end();
		await count(notes, 1);
		assert.deepEqual(notes(), ['final completed 137 false']);
	});

noted('starts cut off by the end of their connection leave nothing',
	{...FINALIZE, 'limits.session_retention': '0'},
	async (client, notes, server) => {
		const word = uniqueWord();
		const before = server.pids().length;
		for (let i = 0; i < 8; i++)
			client.send({id: `s${i}`, method: 'process/start',
				params: startParams(['/bin/sh', '-c', 'sleep 1000', word],
					client.cwd, {processId: `p${i}`})});
		client.raw('{}');
		await client.drop();
		await until(8000, 'the end of all', () =>
			withArgument(word).length === 0 && server.pids().length <= before);
		assert.ok(notes().length <= 8, 'each is finalized once');
		const next = await server.connect();
		assert.equal((await next.shell('exit 4')).exitCode, 4);
	});

noted('what is longer than the kernel takes is refused and finalized', FINALIZE,
	async (client, notes) => {
		const error = await start(client, ['/bin/true', 'x'.repeat(140000)]);
		assert.match(error.text, /os error 7/);
		await count(notes, 1);
		assert.deepEqual(notes(), ['final failed null false']);
	});

backend('variables of any name, and a PATH without a shell, are passed', {},
	async (client) => {
		const env = {'a.b-c': '1', 'PATH': '/nonexistent', 'F()': 'x\ny'};
		const {stdout} =
			await (await client.start(['/usr/bin/env'], {env})).end();
		for (const [name, value] of Object.entries(env))
			assert.ok(stdout.includes(`${name}=${value}\n`), name);
	});

backend('a program whose name looks like a variable is run', {},
	async (client, server) => {
		const name = path.join(server.workspace, 'a=b');
		fs.copyFileSync('/bin/echo', name);
		fs.chmodSync(name, 0o755);
		const {stdout} = await (await client.start([name, 'c=d'])).end();
		assert.equal(stdout, 'c=d\n');
	});

test('a program ends with its time while terminate hangs at the server\'s end',
	{skip: foreignSkip}, async () => {
		const word = uniqueWord();
		const server = await Server.start({set: {...COMMAND,
			'backend.terminate': 'sleep 1000',
			'limits.shutdown_timeout': '500ms'}});
		const client = await server.connect();
		await client.start(['/bin/sh', '-c', 'sleep 1000', word]);
		await until(5000, word, () => withArgument(word).length > 0);
		await server.stop();
		assert.deepEqual(withArgument(word), []);
	});

// A host that gives no namespaces: init, not the kernel, ends a command's tree.
const without = path.join(build, 'tests', 'sandbox', 'without');
const USER = 1234;
for (const [who, command] of [
	['root', `${without} namespaces -- setpriv --bounding-set -sys_admin `],
	['a user', `setpriv --reuid ${USER} --regid ${USER} --clear-groups ` +
		`${without} userns -- `],
])
	test(`a degraded host runs and ends programs so, for ${who}`, {
		skip: foreignSkip || (fs.existsSync(without) ? rootSkip :
			'without is not built'),
	}, async () => {
		const workspace = freshDirectory();
		fs.chownSync(workspace, USER, USER);
		const notes = path.join(workspace, 'notes');
		const add = (words) => `sh -c "echo ${words} >>${notes}"`;
		const word = uniqueWord();
		const server = await Server.start({
			command: `${command}${binary} serve --workspace {workspace}`,
			workspace, set: {...COMMAND, 'sandbox.degraded': 'allow',
				'backend.terminate': add('terminate'),
				'backend.finalize': add('{status} {exit_code}')}});
		try {
			const client = await server.connect();
			const ends = (text) => until(5000, text, () =>
				fs.existsSync(notes) &&
				fs.readFileSync(notes, 'utf8').endsWith(text));
			assert.equal((await client.shell('exit 3')).exitCode, 3);
			await ends('completed 3\n');
			const process = await client.start(['/bin/sh', '-c',
				'trap "" TERM; (setsid sleep 1000 &); echo up; sleep 1000', word]);
			await process.prints(/up/);
			await process.terminate();
			assert.equal((await process.end()).exitCode, 137);
			await ends('completed 137\n');
			assert.deepEqual(withArgument(word), []);
			assert.match(fs.readFileSync(notes, 'utf8'),
				/^terminate\ncompleted 3\n(terminate\n){4}completed 137\n$/);
		} finally {
			await server.stop();
		}
	});
