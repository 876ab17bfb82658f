// What a backend's commands do before there is a program: prepare a start, and
// say whether there is a network.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import {test} from 'node:test';
import {AuditLog} from './lib/audit.mjs';
import {
	COMMAND, FINALIZE, count, named, note, noted, withNotes,
} from './lib/backend.mjs';
import {startParams} from './lib/client.mjs';
import {Origin, bodyOf, refusal, request} from './lib/http.mjs';
import {commandLine, uniqueWord, withArgument} from './lib/proc.mjs';
import {writeExample} from './lib/example.mjs';
import {
	Server, fileUri, foreignSkip, freshDirectory, withServer,
} from './lib/server.mjs';
import {until, within} from './lib/wait.mjs';

const own = {skip: foreignSkip};
const INTERNAL = -32603;
/** Longer than any test: what ends before has been ended. */
const PATIENT = {'limits.backend_timeout': '10m'};
const audit = new AuditLog();

const start = (client, argv = ['/bin/true']) => client.refusal('process/start',
	startParams(argv, client.cwd, {processId: 'p'}));

noted('prepare comes before each program, by the name that the program has', {
	...FINALIZE,
	'backend.prepare': note('prepare {id} {tag}'),
	'backend.terminate': note('terminate {id} {tag}'),
}, async (client, notes, server) => {
	for (let i = 0; i < 2; i++) {
		await client.shell(`echo "ran $SALLYPORT_EXEC_ID" ` +
			`>>${server.workspace}/notes; exit ${i}`);
		await count(notes, 4 * i + 4);
	}
	const names = new Set();
	for (let i = 0; i < 2; i++) {
		const [prepared, ran, terminated, finalized] =
			notes().slice(4 * i, 4 * i + 4);
		const [, id, tag] = prepared.match(/^prepare (\S+) (\d{16})$/);
		assert.equal(ran, `ran ${id}`);
		assert.equal(terminated, `terminate ${id} ${tag}`);
		assert.equal(finalized, `final completed ${i} false`);
		names.add(id).add(tag);
	}
	assert.equal(names.size, 4);
});

/** What a start is answered whose prepare is this; it is finalized once. */
function refused(what, keys, text, more = () => {}) {
	noted(what, {...FINALIZE, ...audit.set,
		'backend.start': `sh -c "echo ran >>/%W/notes"`, ...keys},
	async (client, notes, server) => {
		const error = await start(client);
		assert.equal(error.code, INTERNAL);
		assert.match(error.text, text);
		await count(notes, 1);
		await more(server, error);
		await server.stop();
		assert.deepEqual(notes(), ['final failed null false']);
	});
}

refused('a prepare that fails is told with its status, and logged with its ' +
	'last words', {'backend.prepare':
	'sh -c "echo first >&2; echo \'disk is full\' >&2; exit 3"'},
/prepare ended with status 3$/, async (server, error) => {
	assert.doesNotMatch(error.text, /disk/);
	await until(5000, 'the log', () => server.stderr.match(
		/backend_prepare_failed .*status 3" said="disk is full"/));
	const record = await audit.one('backend_prepare_failed',
		(r) => r.said === 'disk is full');
	assert.equal(record.reason, 'ended with status 3');
});

refused('what it says is bounded and no line of its own', {'backend.prepare':
	'sh -c "head -c 300000 /dev/zero | tr \'\\0\' x >&2; ' +
	'printf \'a\\033[1m\\302\\240\\" b=c\\n\\n\' >&2; exit 1"'},
/status 1$/, async (server) => {
	const [, said] = await until(5000, 'the log', () => server.stderr.match(
		/backend_prepare_failed .* said="(.*)"\n/));
	assert.equal(said.length, 160);
	assert.match(said, /^x+$/);
});

refused('one that cannot be run', {'backend.prepare': '/nonexistent'},
	/prepare could not be started$/);
refused('one that a signal ends', {'backend.prepare': 'sh -c "kill -9 $$"'},
	/prepare was ended by signal 9$/);
refused('one that takes too long', {'backend.prepare': 'sleep 1000',
	'limits.backend_timeout': '2s'}, // finalize has to make it, too
/prepare took longer than limits.backend_timeout$/);

noted('an empty command is not prepared', {...FINALIZE,
	'backend.prepare': note('prepare'), 'backend.start': '""'},
async (client, notes, server) => {
	assert.match((await start(client)).text, /did not provide a command/);
	await count(notes, 1);
	await server.stop();
	assert.deepEqual(notes(), ['final failed null false']);
});

noted('a start that fails after it is finalized once', {...FINALIZE,
	'backend.prepare': note('prepare'), 'backend.start': '/nonexistent {argv}'},
async (client, notes, server) => {
	assert.match((await start(client)).text, /os error 2/);
	await count(notes, 2);
	await server.stop();
	assert.deepEqual(notes(), ['prepare', 'final failed null false']);
});

for (const [what, end] of [
	['terminate', async (client, server, notes, answer) => {
		assert.deepEqual(await client.call('process/terminate',
			{processId: 'p'}), {running: true});
		assert.match((await answer).text, /ended before it was started/);
	}],
	['a lost connection', (client) => client.drop()],
	['the end of the server', (client, server) => server.stop()],
]) {
	const word = uniqueWord();
	noted(`${what} ends a prepare, and it is finalized once`, {
		...FINALIZE, ...PATIENT, 'limits.session_retention': '0',
		'backend.prepare':
			`sh -c "echo prepare >>/%W/notes; sleep 1000; :" ${word}`,
		'backend.start': note('ran'),
	}, async (client, notes, server) => {
		const answer = start(client).catch(() => {});
		await count(notes, 1);
		await end(client, server, notes, answer);
		await count(notes, 2);
		await server.stop();
		assert.deepEqual(notes(), ['prepare', 'final failed null false']);
		assert.deepEqual(withArgument(word), []);
	});
}

noted('starts that are being prepared are no more than programs may be', {
	...PATIENT, 'limits.session_processes_max': '1',
	'backend.prepare': 'sh -c "echo prepare >>/%W/notes; sleep 1000; :"',
}, async (client, notes) => {
	const first = start(client);
	await count(notes, 1);
	const second = await client.refusal('process/start', startParams(
		['/bin/true'], client.cwd, {processId: 'q'}));
	assert.match(second.text, /^busy: the session has 1 processes/);
	await client.call('process/terminate', {processId: 'p'});
	await first;
});

for (const max of [1, 4])
	noted(`${max} prepared at once all start where ${max} may`, {
		...PATIENT, 'limits.session_processes_max': `${max}`,
		// Each waits until all of them are there.
		'backend.prepare': 'sh -c "echo prepare >>/%W/notes; ' +
			`until [ $(wc -l </%W/notes) -ge ${max} ]; ` +
			'do sleep 0.05; done"',
	}, async (client) => {
		const all = await Promise.all(Array.from({length: max}, () =>
			client.start(['/bin/sleep', '1000'])));
		assert.equal(all.length, max);
	});

// A deadline that nobody waits for: what is left would keep the start until then.
noted('what a command leaves behind ends with it', {
	...PATIENT, ...FINALIZE,
	'backend.prepare': 'sh -c "setsid sleep 1000 & exit 0"',
	'backend.terminate': 'sh -c "setsid sleep 1000 & exit 0"',
}, async (client, notes) => {
	assert.equal((await client.shell('exit 7')).exitCode, 7);
	await count(notes, 1);
	assert.deepEqual(notes(), ['final completed 7 false']);
});

// --- inspect ---------------------------------------------------------------

const RESTRICTED = {sandbox: {windowsSandboxLevel: 'disabled', permissions:
	{type: 'external', network: 'restricted'}}};

/** Whether a program without a network is served. */
async function isIsolated(server) {
	const client = await server.connect();
	const params = startParams(['/bin/true'], client.cwd,
		{processId: 'p', ...RESTRICTED});
	try {
		return await client.call('process/start', params)
			.then(() => true, (e) => {
				assert.match(e.message,
					/network restrictions cannot be enforced/);
				return false;
			});
	} finally {
		await client.close();
	}
}

for (const [what, command, isolated] of [
	['none is none', 'echo none', true],
	['of each one', 'echo none none', true],
	['another one', 'echo bridge', false],
	['one beside it', 'sh -c "echo none; echo bridge"', false],
	['a word that begins so', 'echo nonesuch', false],
	['more than is read', 'sh -c "yes none | head -n 4000"', false],
])
	test(`inspect: ${what}`, own, () => withServer(
		{set: {...COMMAND, 'backend.inspect': command}}, async (server) =>
			assert.equal(await isIsolated(server), isolated)));

for (const [said, isolated] of [['true', true], ['false', false]])
	test(`inspect is not asked where isolated = ${said}`, own, () =>
		withServer({set: {...COMMAND, 'backend.isolated': said,
			'backend.inspect': 'false'}}, async (server) =>
			assert.equal(await isIsolated(server), isolated)));

for (const [what, keys, words] of [
	['fails', {'backend.inspect': 'sh -c "echo no such thing >&2; exit 4"'},
		/inspect ended with status 4: no such thing; backend\.isolated/],
	['says nothing', {'backend.inspect': 'true'}, /inspect named no network/],
	['cannot be run', {'backend.inspect': '/nonexistent'},
		/inspect could not be started/],
	['takes too long', {'backend.inspect': 'sleep 1000',
		'limits.backend_timeout': '300ms'},
	/inspect took longer than limits\.backend_timeout/],
])
	test(`a server does not start whose inspect ${what}`, own, async () => {
		const server = new Server({set: {...COMMAND, ...keys}});
		assert.deepEqual(await within(30000, 'its end', server.exited),
			{code: 1, signal: null});
		assert.match(server.stderr, words);
		assert.equal(server.stdout, '');
		await server.stop();
	});

test('a signal ends a server that inspects, in order', own, async () => {
	const word = uniqueWord();
	const server = new Server({set: {...COMMAND, ...PATIENT,
		'backend.inspect': `sh -c "sleep 1000; :" ${word}`}});
	// Not the server itself, whose settings hold the word as well.
	await until(20000, 'inspect', () => withArgument(word).some(
		(pid) => commandLine(pid).includes(word)));
	assert.deepEqual(await server.stop(), {code: 0, signal: null});
	assert.deepEqual(withArgument(word), []);
});

test('what inspect has said stays, also for another exec', own, () =>
	withNotes(async (directory) => {
		const file = path.join(directory, 'network');
		fs.writeFileSync(file, 'none\n');
		await withServer({workspace: directory, keep: true, set: named(
			{'backend.inspect': 'cat /%W/network'}, directory)},
		async (server) => {
			assert.equal(await isIsolated(server), true);
			fs.writeFileSync(file, 'bridge\n');
			process.kill(await server.role('exec'), 'SIGKILL');
			await until(20000, 'service', () =>
				isIsolated(server).catch(() => false));
		});
	}));

// --- the page of the type command ------------------------------------------

test('the example of docs/backends/command.md', own, () => withNotes(
	async (workspace, notes) => {
		const config = writeExample(path.join(freshDirectory('conf'), 'conf'),
			'backends/command.md', 0, {'/srv/project': workspace});
		await withServer({workspace, keep: true, args: ['--config', config]},
			async (server) => {
				const client = await server.connect();
				assert.equal((await client.shell('exit 3')).exitCode, 3);
				await count(notes, 1);
				assert.deepEqual(notes(), ['completed 3 false']);
				assert.deepEqual(await client.call('fs/readDirectory',
					{path: fileUri(workspace), sandbox: null}), {entries: [
					{fileName: 'notes', isDirectory: false, isFile: true}]});
			});
	}));

// --- http ------------------------------------------------------------------

const LOCAL = {'http.allow_private': 'true'};
const SSH = {'backend.type': 'ssh', 'backend.target': 'nowhere'};

for (const [what, keys, served] of [
	['the type command makes requests from here', COMMAND, true],
	['if they are not refused', {...COMMAND, 'backend.http': 'refuse'}, false],
	['another type refuses them', SSH, false],
	['if they are not local', {...SSH, 'backend.http': 'local'}, true],
])
	test(`http/request: ${what}`, own, async () => {
		const origin = await Origin.start({'/': (q, r) => r.end('here')});
		try {
			await withServer({set: {...LOCAL, ...keys}}, async (server) => {
				const client = await server.connect();
				if (served) {
					const answer = await request(client, origin.url);
					assert.equal(bodyOf(answer), 'here');
					return;
				}
				const error = await refusal(client, origin.url);
				assert.equal(error.code, INTERNAL);
				assert.match(error.text, /refused.*\(backend\.http\)/);
				assert.deepEqual(server.rolePids('http'), []);
			});
			assert.equal(origin.requests.length, served ? 1 : 0);
		} finally {
			origin.stop();
		}
	});
