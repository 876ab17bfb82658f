// The built-in types of backend against what they are for: containers of
// docker and podman, and a host behind ssh, configured as their pages say. What
// is left there is looked for there.
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {farChecks} from './lib/farfiles.mjs';
import {ENOENT, Files} from './lib/files.mjs';
import {places} from './lib/places.mjs';
import {uniqueWord, withArgument} from './lib/proc.mjs';
import {Server, foreignSkip} from './lib/server.mjs';
import {until, within} from './lib/wait.mjs';

const SLOW_MS = 20000;

async function connected(place, set, body) {
	const server = await Server.start({workspace: place.work, keep: true,
		args: ['--config', place.config], set});
	try {
		const client = await server.connect(
			place.cwd === undefined ? {} : {cwd: place.cwd});
		await body(client, server);
	} finally {
		await server.stop();
	}
}

const gone = (place, word) => until(SLOW_MS, `end of ${word}`,
	() => place.living(word) === 0);

const FOREVER = 'while :; do /bin/sleep 1; done';

/** A tree that no polite signal ends, two of it away from their parents, and
 * one of them without any variable. */
async function stubborn(client, place, options) {
	const word = uniqueWord();
	const process = await client.start(['/bin/sh', '-c',
		`trap "" TERM INT HUP; (setsid sh -c "${FOREVER}" ${word} &); ` +
		`(env -i /bin/setsid /bin/sh -c "${FOREVER}" ${word} &); ` +
		`echo running; ${FOREVER}`], options);
	await process.prints(/running/, SLOW_MS);
	await until(SLOW_MS, `${word} inside`, () => place.living(word) > 2);
	return {process, word};
}

const checks = {
	'output, directory, variables and exit code': async (client) => {
		const end = await client.shell('echo out; echo err >&2; pwd; ' +
			'echo "$A"; exit 7', {ms: SLOW_MS, env: {A: "x 'y'  z"}});
		assert.equal(end.stderr, 'err\n');
		assert.equal(end.stdout,
			`out\n${decodeURI(new URL(client.cwd).pathname)}\nx 'y'  z\n`);
		assert.equal(end.exitCode, 7);
	},
	'a program that a signal ended': async (client) => {
		const process = await client.start(['/bin/sh', '-c', 'kill -9 $$']);
		const {exitCode} = await process.end(SLOW_MS);
		assert.equal(exitCode, 137);
		assert.equal((await process.read({afterSeq: 0})).failure, null);
	},
	'input': async (client) => {
		const process = await client.start(['/bin/sh', '-c', 'wc -c; exit 3'],
			{pipeStdin: true});
		for (let i = 0; i < 4; i++)
			await process.write(Buffer.alloc(262144, 'x'));
		await process.closeStdin();
		const end = await process.end(SLOW_MS);
		assert.equal(end.stdout.trim(), '1048576');
		assert.equal(end.exitCode, 3);
	},
	'a terminal, its size and Ctrl-C': async (client) => {
		const process = await client.start(['/bin/sh', '-c',
			'trap "echo caught; exit 42" INT; test -t 0 && echo terminal; ' +
			'while :; do stty size; sleep 0.1; done'], {tty: true});
		await process.prints(/terminal/, SLOW_MS);
		await process.prints(/^24 80/m, SLOW_MS);
		// A busy daemon of podman may lose one; the same again is none.
		let rows = 30;
		await until(SLOW_MS, 'its size', async () => {
			await process.resize(++rows, 101);
			return process.prints(/^3\d 101/m, 3000)
				.then(() => true, () => false);
		});
		await process.write('\x03');
		const end = await process.end(SLOW_MS);
		assert.match(end.pty, /caught/);
		assert.equal(end.exitCode, 42);
	},
	'interrupt': async (client) => {
		const process = await client.start(['/bin/sh', '-c',
			'trap "echo caught; exit 42" INT; echo running; ' +
			'while :; do sleep 0.1; done']);
		await process.prints(/running/, SLOW_MS);
		await process.interrupt();
		const end = await process.end(SLOW_MS);
		assert.match(end.stdout, /caught/);
		assert.equal(end.exitCode, 42);
	},
	'terminate, and nothing is left': async (client, place) => {
		for (const options of [{}, {tty: true}]) {
			const {process, word} = await stubborn(client, place, options);
			assert.deepEqual(await process.terminate(), {running: true});
			await process.end(SLOW_MS);
			await gone(place, word);
		}
	},
	'ended before it is there': async (client, place) => {
		for (let i = 0; i < 4; i++) {
			const word = uniqueWord();
			const process = await client.start(['/bin/sh', '-c',
				'trap "" TERM INT HUP; while :; do sleep 1; done', word]);
			await process.terminate();
			await process.end(SLOW_MS);
			// One that were still on its way would be there before this.
			await client.shell('true', {ms: SLOW_MS});
			await gone(place, word);
		}
	},
	'a program that ends leaves nothing': async (client, place) => {
		const word = uniqueWord();
		const {exitCode} = await client.shell('trap "" TERM HUP; (setsid ' +
			`sh -c "while :; do sleep 1; done" ${word} >&- 2>&- <&- &); exit 5`,
		{ms: SLOW_MS});
		assert.equal(exitCode, 5);
		await gone(place, word);
	},
};

const RETENTION = {'limits.session_retention': '0'};

async function loss(place) {
	await connected(place, RETENTION, async (client) => {
		const {word} = await stubborn(client, place);
		await client.drop();
		await gone(place, word);
	});
}

/** Two logins to a far host that is busy. */
const PATIENT = {'limits.shutdown_timeout': '6s'};

async function stopped(place) {
	let word;
	await connected(place, PATIENT, async (client) => {
		({word} = await stubborn(client, place));
	});
	assert.equal(place.living(word), 0);
}

const RESTRICTED = {sandbox: {windowsSandboxLevel: 'disabled', permissions:
	{type: 'external', network: 'restricted'}}};

/** No network is served in a container that has none, and only there. */
async function isolation(place) {
	const start = (client) => client.start(['/bin/true'], RESTRICTED);
	await connected(place, {}, async (client) => {
		assert.equal((await (await start(client)).end(SLOW_MS)).exitCode, 0);
	});
	await connected(place, {'backend.target': 'wide'}, (client) =>
		assert.rejects(start(client),
			/network restrictions cannot be enforced/));
	const server = new Server({workspace: place.work, keep: true,
		args: ['--config', place.config], set: {'backend.target': 'nobody'}});
	const {code} = await within(SLOW_MS, 'its end', server.exited);
	await server.stop();
	assert.equal(code, 1);
	assert.match(server.stderr, /inspect ended with status \d+: .*nobody/);
}

/** Where each program has its own container nothing has a way out. */
async function single(place) {
	await connected({...place, config: place.single}, RETENTION,
		async (client, server) => {
			const word = uniqueWord();
			const end = await client.shell('cat; echo "$A"; exit 7',
				{ms: SLOW_MS, env: {A: 'b'}});
			assert.deepEqual([end.stdout, end.exitCode], ['b\n', 7]);
			const process = await client.start(['/bin/sh', '-c',
				'(ulimit -m 1; trap "" TERM INT HUP; exec env -i /bin/setsid ' +
				`/bin/sh -c "${FOREVER}" ${word}) & echo running; wait`]);
			await process.prints(/running/, SLOW_MS);
			await until(SLOW_MS, word, () => withArgument(word).length > 0);
			await process.terminate();
			await process.end(SLOW_MS);
			await until(SLOW_MS, 'end of all', () =>
				withArgument(word).length === 0 &&
				place.run(['ps', '-aq', '--filter', 'name=run-']) === '');
			assert.doesNotMatch(server.stderr, /backend_command_failed/);
		});
}

/** A start that sets no limit leaves the program that has no variables. */
async function untagged(place) {
	await connected(place, {'backend.start':
		'docker exec {stdin:-i} {tty:-t} {target} sh -c "{command}"'},
	async (client) => {
		const {process, word} = await stubborn(client, place);
		await process.terminate();
		await process.end(SLOW_MS);
		await until(SLOW_MS, 'one left', () => place.living(word) === 1);
	});
}

/** Of docs/seed-checklist.md. */
const ROWS = {docker: '10e, 11b: ', podman: '11f: '};

/** Every file method by a worker there; the large files by one way alone. */
async function files(t, name, place, how, set) {
	const patient = {...set, 'limits.fs_deadline': '150s'};
	await connected(place, patient, async (client) => {
		const top = new Files(client, place.files);
		const checks = Object.entries(farChecks).filter(([what]) =>
			how === 'worker' || !what.startsWith('large'));
		for (const [i, [what, check]] of checks.entries())
			await t.test(`${name}: ${how}: ${what}`, async () => {
				await top.call('createDirectory', {path: `${how}${i}`});
				await check(new Files(client, top.at(`${how}${i}`)), client);
			});
	});
}

/** The workspace of this host by its name there: both see one file. */
async function bound(t, name, place) {
	const set = {'backend.files': 'bind',
		'backend.bind': `${place.work}:${place.bound}`};
	await connected(place, {...set, 'limits.fs_deadline': '150s'},
		async (client) => {
			const top = new Files(client, place.bound);
			for (const [i, [what, check]] of
				Object.entries(farChecks).entries())
				await t.test(`${name}: bind: ${what}`, async () => {
					await top.call('createDirectory', {path: `bind${i}`});
					await check(new Files(client, top.at(`bind${i}`)), client);
				});
			await t.test(`${name}: bind: programs and clients see one file`,
				async () => {
					const {cwd} = await client.call('environment/info', {});
					assert.equal(cwd, top.uri());
					await top.write('f', 'from here');
					const end = await client.shell(
						'cat f; echo from there >g; rm f', {cwd, ms: SLOW_MS});
					assert.equal(end.stdout, 'from here');
					assert.equal(String(await top.read('g')), 'from there\n');
					await top.fails('getMetadata', {path: 'f'}, ENOENT);
					await top.fails('readFile', {path: '/bin/busybox'}, ENOENT);
				});
		});
}

/** A worker there that is killed is replaced, and none outlives its client. */
async function lostWorker(place, set) {
	await connected(place, {...set, ...RETENTION}, async (client) => {
		const top = new Files(client, place.files);
		await top.write('f', 'text');
		await top.open('h', 'f');
		assert.ok(place.workers() > 0);
		place.killWorkers();
		const error = await client.refusal('fs/readBlock',
			{handleId: 'h', offset: 0, len: 1});
		assert.match(error.text, /worker has gone|unknown file handle/);
		assert.equal(String(await top.read('f', {ms: SLOW_MS})), 'text');
		await client.drop();
		await until(SLOW_MS, 'the end of the worker',
			() => place.workers() === 0);
	});
}

const only = process.env.SALLYPORT_PLACES?.split(',');
for (const {name, skip, start} of places.filter((place) =>
	only?.includes(place.name) ?? true))
	test(name, {skip: foreignSkip || skip}, async (t) => {
		const place = await start();
		try {
			await connected(place, {}, async (client) => {
				for (const [what, check] of Object.entries(checks))
					await t.test(`${name}: ${what}`,
						() => check(client, place));
			});
			if (place.run !== undefined)
				await t.test(`${ROWS[name]}${name}: its network`,
					() => isolation(place));
			if (place.single) {
				await t.test(`${name}: a container for each program`,
					() => single(place));
				await t.test(`${name}: the limit is what finds some`,
					() => untagged(place));
			}
			await t.test(`${name}: a lost connection`, () => loss(place));
			await t.test(`${name}: the server's end`, () => stopped(place));
			const there = {'backend.files': 'worker',
				'backend.worker': place.worker};
			await files(t, name, place, 'worker', there);
			await files(t, name, place, 'send', {'backend.files': 'send'});
			if (place.bound !== undefined)
				await bound(t, name, place);
			await t.test(`${name}: a worker that is lost`,
				() => lostWorker(place, there));
		} finally {
			await place.stop();
		}
	});
