// sallyport attach: one server for a runtime id, shared by leases.
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {spawn} from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import {Attach, END_MS, RELEASED_MS, START_MS, answersAt, app, failing, fileOf,
	keeperOf, keyOf, processesOf, runtime, serverOf, untilRefused,
	workspace} from './lib/attach.mjs';
import {Client} from './lib/client.mjs';
import {commandLine, environmentOf, fdCount, status, uniqueWord,
	withArgument} from './lib/proc.mjs';
import {binary, fileUri, foreignSkip, freshDirectory,
	rootSkip} from './lib/server.mjs';
import {slow, until, within} from './lib/wait.mjs';

/** A server that takes longer to end is killed, and no longer in order. */
const ORDERLY_MS = 500;
const own = {skip: foreignSkip};
const asRoot = {skip: foreignSkip || rootSkip};

test('5: the environment is registered and told in one line', own, async () => {
	const id = uniqueWord();
	const attach = await Attach.start(id);
	const key = keyOf(id);
	assert.deepEqual(attach.told, {
		environmentId: `sallyport-sandbox-${key}`,
		execServerUrl: attach.url, cwd: workspace});
	assert.match(attach.url, /^ws:\/\/127\.0\.0\.1:\d+\/[0-9a-f]{32}$/);
	const [hello] = app.called('initialize').slice(-1);
	assert.equal(hello.params.capabilities.experimentalApi, true);
	assert.ok(app.called('initialized').length > 0);
	const [added] = app.called('environment/add').slice(-1);
	assert.deepEqual(added.params, {
		environmentId: `sallyport-sandbox-${key}`,
		execServerUrl: attach.url});
	for (const [file, mode] of [['', 0o700], [`attach-${key}.sock`, 0o600],
		[`attach-${key}.lock`, 0o600]])
		assert.equal(fs.statSync(path.join(runtime, 'sallyport', file)).mode &
			0o777, mode, file);
	await (await answersAt(attach.url)).close();
	const {code, stdout} = await attach.release();
	assert.equal(code, 0);
	assert.equal(stdout.split('\n').length, 2);
});

test('22: two share a server; it ends within a second of the last one, with 1001',
	own, async () => {
		const id = uniqueWord();
		const [first, second] = await Promise.all(
			[Attach.start(id), Attach.start(id)]);
		assert.equal(first.url, second.url);
		const client = await answersAt(first.url);
		const keeper = keeperOf(id);
		const held = fdCount(keeper);
		assert.equal((await first.release()).code, 0);
		await until(END_MS, 'one lease less', () => fdCount(keeper) < held);
		assert.deepEqual(await client.call('environment/status', null),
			{status: 'ready'});
		const begin = Date.now();
		second.child.stdin.end();
		const closed = await within(END_MS, 'close', client.closed);
		await untilRefused(second.url);
		const took = Date.now() - begin;
		assert.ok(took < RELEASED_MS * slow, `${took} ms`);
		if (took < ORDERLY_MS)
			assert.deepEqual(closed, {code: 1001, reason: 'shutdown'});
		assert.equal((await second.end).code, 0);
		assert.deepEqual(processesOf(id), []);
	});

test('SIGINT and SIGTERM give the lease back, status 0', own, async () => {
	const id = uniqueWord();
	for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
		const attach = await Attach.start(id);
		attach.child.kill(signal);
		const {code} = await within(END_MS, 'end', attach.end);
		assert.equal(code, 0, signal);
		await untilRefused(attach.url);
	}
});

test('what is written to its standard input does not matter', own, async () => {
	const attach = await Attach.start(uniqueWord());
	attach.child.stdin.write('x'.repeat(100000));
	await (await answersAt(attach.url)).close();
	assert.equal((await attach.release()).code, 0);
});

test('with /dev/null as standard input the lease is given back at once', own,
	async () => {
		const {code, stdout} = await failing(uniqueWord(), {stdin: 'ignore'});
		assert.equal(code, 0);
		assert.ok(JSON.parse(stdout).execServerUrl);
	});

test('ten at once share one server', own, async () => {
	const id = uniqueWord();
	const all = await Promise.all(
		Array.from({length: 10}, () => Attach.start(id)));
	assert.equal(new Set(all.map(({url}) => url)).size, 1);
	assert.equal(withArgument(keyOf(id)).length, 1, 'one keeper');
	const last = all.pop();
	const ends = await Promise.all(all.map((attach) => attach.release()));
	assert.ok(ends.every(({code}) => code === 0));
	await (await answersAt(last.url)).close();
	await last.release();
});

test('ids, workspaces and users have servers of their own', own, async () => {
	const other = freshDirectory();
	const [one, two, third] = await Promise.all([Attach.start(uniqueWord()),
		Attach.start(uniqueWord()), Attach.start(undefined, {dir: other})]);
	assert.equal(new Set([one.url, two.url, third.url]).size, 3);
	assert.equal(third.told.environmentId,
		`sallyport-sandbox-${keyOf(other)}`);
	await Promise.all([one, two, third].map((attach) => attach.release()));
});

test('24: a reacquire during release keeps server and URL', own, async () => {
	const id = uniqueWord();
	const first = await Attach.start(id);
	const client = await answersAt(first.url);
	// Stopped before it gives the lease back, so both happen together.
	first.child.kill('SIGSTOP');
	first.child.stdin.end();
	const keeper = keeperOf(id);
	process.kill(keeper, 'SIGSTOP');
	first.child.kill('SIGCONT');
	const peers = peersOf(id);
	const second = new Attach(id);
	// It has asked when it waits for the keeper; the lock is free again.
	await until(START_MS, 'its request', () =>
		peersOf(id) > peers && isWaiting(second.pid));
	process.kill(keeper, 'SIGCONT');
	await within(START_MS, 'line of attach', second.attached);
	assert.equal((await within(END_MS, 'end', first.end)).code, 0);
	assert.equal(JSON.parse(second.stdout).execServerUrl, first.url);
	assert.deepEqual(await client.call('environment/status', null),
		{status: 'ready'});
	const fresh = await Client.connect(first.url, {initialize: false});
	const hello = await fresh.call('initialize', {clientName: 'again'});
	assert.equal(typeof hello.sessionId, 'string');
	await second.release();
});

/** How many sockets there are at a keeper's, those not yet taken included. */
const peersOf = (id) => fs.readFileSync('/proc/net/unix', 'utf8').split('\n')
	.filter((line) => line.endsWith(`/attach-${keyOf(id)}.sock`)).length;

/** Whether a process waits with a socket of the runtime directory. */
function isWaiting(pid) {
	return status(pid)?.State?.[0] === 'S' &&
		fs.readdirSync(`/proc/${pid}/fd`).some((fd) => {
			try {
				return fs.readlinkSync(`/proc/${pid}/fd/${fd}`)
					.endsWith('/sallyport');
			} catch {
				return false;
			}
		});
}

test('after the release a new lease starts a new server', own, async () => {
	const id = uniqueWord();
	const first = await Attach.start(id);
	assert.equal((await first.release()).code, 0);
	await untilRefused(first.url);
	const second = await Attach.start(id);
	assert.notEqual(second.url, first.url);
	await second.release();
});

test('23b: a release ends what TERM does not, before it returns', own, async () => {
	const id = uniqueWord();
	const attach = await Attach.start(id);
	const client = await answersAt(attach.url);
	const word = uniqueWord();
	client.cwd = fileUri(workspace);
	await client.start(['sh', '-c', 'trap "" TERM HUP INT; ' +
		'(trap "" TERM; sleep 600) & while :; do sleep 0.1; done', word]);
	await until(END_MS, 'the command', () => withArgument(word).length > 0);
	const begin = Date.now();
	attach.child.stdin.end();
	await within(END_MS, 'end', attach.end);
	const took = Date.now() - begin;
	const left = withArgument(word);
	assert.ok(took < RELEASED_MS * slow, `${took} ms`);
	if (took < ORDERLY_MS)
		assert.deepEqual(left, []);
	await until(END_MS, 'its end', () => withArgument(word).length === 0);
});

test('a killed attach has given its lease back', own, async () => {
	const id = uniqueWord();
	const [killed, other] = await Promise.all(
		[Attach.start(id), Attach.start(id)]);
	const keeper = keeperOf(id);
	const held = fdCount(keeper);
	killed.child.kill('SIGKILL');
	await killed.end;
	await until(END_MS, 'one lease less', () => fdCount(keeper) < held);
	await (await answersAt(other.url)).close();
	other.child.kill('SIGKILL');
	assert.ok(await untilRefused(other.url) < RELEASED_MS * slow);
});

test('a killed keeper takes the server along; the next attach starts anew',
	own, async () => {
		const id = uniqueWord();
		const attach = await Attach.start(id);
		const client = await answersAt(attach.url);
		process.kill(keeperOf(id), 'SIGKILL');
		const {code, stderr} = await within(END_MS, 'end', attach.end);
		assert.equal(code, 9, stderr);
		assert.match(stderr, /keeper is gone/);
		assert.equal((await within(END_MS, 'close', client.closed)).code, 1001);
		await untilRefused(attach.url);
		// What it left is in the way of nobody.
		assert.ok(fs.existsSync(fileOf(id, 'sock')));
		const next = await Attach.start(id);
		await (await answersAt(next.url)).close();
		await next.release();
	});

test('a killed server ends every attach with status 9', own, async () => {
	const id = uniqueWord();
	const all = await Promise.all([Attach.start(id), Attach.start(id)]);
	process.kill(serverOf(id), 'SIGKILL');
	for (const attach of all) {
		const {code, stderr} = await within(END_MS, 'end', attach.end);
		assert.equal(code, 9, stderr);
		assert.match(stderr, /signal 9 ended the server/);
	}
	const next = await Attach.start(id);
	await next.release();
});

test('leftovers of a dead keeper are taken over', own, async () => {
	const id = uniqueWord();
	fs.mkdirSync(path.join(runtime, 'sallyport'),
		{recursive: true, mode: 0o700});
	fs.writeFileSync(fileOf(id, 'lock'), '');
	fs.writeFileSync(fileOf(id, 'sock'), 'not even a socket');
	const attach = await Attach.start(id);
	assert.equal(fs.statSync(fileOf(id, 'sock')).mode & 0o777, 0o600);
	await attach.release();
});

test('the URL is in no argument, file or log', own, async () => {
	const id = uniqueWord();
	const attach = await Attach.start(id, {args: ['--verbose']});
	await (await answersAt(attach.url)).close();
	const secret = new URL(attach.url).pathname.slice(1);
	for (const pid of [attach.pid, keeperOf(id)])
		assert.notEqual(environmentOf(pid), '');
	// Those of the server's own may end meanwhile.
	for (const pid of [attach.pid, ...processesOf(id)]) {
		assert.ok(!commandLine(pid).join(' ').includes(secret));
		assert.ok(!environmentOf(pid).includes(secret));
	}
	for (const kind of ['sock', 'lock'])
		assert.equal(fs.statSync(fileOf(id, kind)).size, 0);
	const {stderr} = await attach.release();
	assert.match(stderr, /serving address=/, 'the log of the server');
	assert.ok(!stderr.includes(secret));
});

test('a standard error that nobody reads holds nobody up', own, async () => {
	const full = path.join(freshDirectory('full'), 'pipe');
	const attach = await Attach.start(uniqueWord(), {prefix: ['sh', '-c',
		'mkfifo "$0" && exec 3<>"$0" && head -c 65536 /dev/zero >&3 && ' +
		'exec "$@" 2>&3', full], args: ['--verbose']});
	await (await answersAt(attach.url)).close();
	assert.equal((await attach.release()).code, 0);
});

test('the keeper holds nothing of the attach that made it', own, async () => {
	const id = uniqueWord();
	const maker = await Attach.start(id);
	const joiner = await Attach.start(id);
	// Its pipes close although the keeper lives on: "close" would not come.
	await maker.release();
	const keeper = keeperOf(id);
	assert.equal(fs.readlinkSync(`/proc/${keeper}/cwd`), '/');
	for (const fd of [0, 1, 2])
		assert.equal(fs.readlinkSync(`/proc/${keeper}/fd/${fd}`), '/dev/null');
	assert.equal(Number(status(keeper).PPid) === joiner.pid, false);
	assert.ok(fdCount(keeper) < 12, String(fdCount(keeper)));
	await joiner.release();
});

test('who joins with other options is refused', own, async () => {
	const id = uniqueWord();
	const first = await Attach.start(id, {args: ['--preset', 'strict']});
	for (const options of [{}, {args: ['--preset', 'open']},
		{args: ['--preset', 'strict', '--allow-network']},
		{args: ['--preset', 'strict'], dir: freshDirectory()}]) {
		const {code, stderr, stdout} = await failing(id, options);
		assert.equal(code, 8, stderr);
		assert.equal(stdout, '');
		assert.match(stderr, /has other options/);
	}
	await (await answersAt(first.url)).close();
	const same = await Attach.start(id, {args: ['--preset', 'strict'],
		dir: `${workspace}/../${path.basename(workspace)}/`});
	assert.equal(same.url, first.url);
	await Promise.all([first.release(), same.release()]);
});

test('a server that does not start is told with its own words', own,
	async () => {
		for (const [args, pattern] of [
			[['--set', 'no.such=key'], /no section \[no\]/],
			[['--preset', 'none'], /preset/],
		]) {
			const {code, stderr, stdout} = await failing(uniqueWord(), {args});
			assert.equal(code, 8, stderr);
			assert.equal(stdout, '');
			assert.match(stderr, pattern);
			assert.match(stderr, /the server ended with status 2/);
		}
	});

test('1: without a usable workspace nothing is registered', own, async () => {
	const id = uniqueWord();
	const before = app.called('environment/add').length;
	const {code} = await failing(id, {dir: path.join(workspace, 'missing')});
	assert.equal(code, 2);
	assert.equal(app.called('environment/add').length, before);
});

test('the runtime directory must be ours alone', asRoot, async () => {
	for (const spoil of [
		(dir) => fs.mkdirSync(dir, {mode: 0o755}),
		(dir) => {
			fs.mkdirSync(dir, {mode: 0o700});
			fs.chownSync(dir, 1234, 1234);
		},
		(dir) => fs.symlinkSync(runtime, dir),
		(dir) => fs.writeFileSync(dir, ''),
	]) {
		const base = freshDirectory('run');
		spoil(path.join(base, 'sallyport'));
		const {code, stderr} = await failing(uniqueWord(), {base});
		assert.equal(code, 1, stderr);
	}
	const {code} = await failing(uniqueWord(), {base: '/no/such/directory'});
	assert.equal(code, 1);
});

test('a plain user has servers of its own', asRoot, async () => {
	const user = ['setpriv', '--reuid', '1234', '--regid', '1234',
		'--clear-groups'];
	const base = freshDirectory('run');
	const dir = freshDirectory();
	for (const each of [base, dir])
		fs.chownSync(each, 1234, 1234);
	fs.chmodSync(base, 0o700);
	const id = uniqueWord();
	const attach = await Attach.start(id, {prefix: user, base, dir});
	await (await answersAt(attach.url)).close();
	assert.equal(status(keeperOf(id)).Uid.split('\t')[0], '1234');
	// Not even root joins: the keeper is not its own.
	fs.chownSync(path.join(base, 'sallyport'), 0, 0);
	const {code, stderr} = await failing(id, {base, dir});
	assert.equal(code, 1, stderr);
	assert.match(stderr, /another user's/);
	fs.chownSync(path.join(base, 'sallyport'), 1234, 1234);
	assert.equal((await attach.release()).code, 0);
	assert.deepEqual(fs.readdirSync(path.join(base, 'sallyport')), []);
});

test('usage errors are status 2', own, async () => {
	const bad = (args) => new Promise((resolve) =>
		spawn(binary, ['attach', ...args], {stdio: 'ignore',
			env: {...process.env, XDG_RUNTIME_DIR: runtime}})
			.on('close', resolve));
	const where = ['--app-server', app.where];
	const dir = ['--workspace', workspace];
	for (const args of [[], where, dir, [...where, ...dir, '--no-such'],
		[...where, ...dir, 'stray'], [...where, ...dir, '--timeout', '0'],
		[...where, ...dir, '--timeout', '3601'],
		[...where, ...dir, '--runtime-id', ''],
		[...where, ...dir, '--runtime-id', 'x'.repeat(1025)],
		[...where, ...dir, '--url-file', '/tmp/x'],
		['--app-server', 'http://127.0.0.1', ...dir],
		['--app-server', 'unix:/no/such', ...dir]])
		assert.equal(await bad(args), 2, args.join(' '));
	assert.equal(await bad(['--help']), 0);
});

test('a runtime id of 1024 bytes', own, async () => {
	const id = 'x'.repeat(1024);
	const attach = await Attach.start(id);
	assert.equal(attach.told.environmentId, `sallyport-sandbox-${keyOf(id)}`);
	await attach.release();
});
