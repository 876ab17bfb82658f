import assert from 'node:assert/strict';
import {after, test} from 'node:test';
import fs from 'node:fs';
import path from 'node:path';
import {plainPath, startParams} from './lib/client.mjs';
import {descendants, status, uniqueWord, withArgument} from './lib/proc.mjs';
import {Server, fileUri, foreignSkip} from './lib/server.mjs';
import {until} from './lib/wait.mjs';

const server = await Server.start();
after(() => server.stop());
const own = {skip: foreignSkip};

async function connected(body) {
	const client = await server.connect();
	try {
		await body(client);
	} finally {
		await client.close();
	}
}

function put(name, text, mode = 0o644) {
	const file = path.join(server.workspace, name);
	fs.writeFileSync(file, text, {mode});
	fs.chmodSync(file, mode);
	return file;
}

test('start answers id and sandboxType, before any notification', own, () =>
	connected(async (client) => {
		for (let i = 0; i < 20; i++) {
			const from = client.received.length;
			const process = await client.start(['/bin/echo', 'x']);
			assert.deepEqual(process.result,
				{processId: process.id, sandboxType: 'none'});
			const end = await process.end();
			assert.equal(client.received.slice(from)[0].method, undefined);
			assert.equal(end.stdout, 'x\n');
		}
	}));

test('a processId may be empty, and long', () => connected(async (client) => {
	for (const processId of ['', 'x'.repeat(1024), 'é/..\u0000']) {
		const {exitCode} = await client.shell('exit 3', {processId});
		assert.equal(exitCode, 3);
	}
}));

test('a processId over 1024 bytes is -32602', own, () =>
	connected(async (client) => {
		const error = await client.refusal('process/start', startParams(
			['/bin/true'], client.cwd, {processId: 'x'.repeat(1025)}));
		assert.equal(error.code, -32602);
		assert.match(error.text, /processId/);
	}));

test('a processId is refused while running, and while retained', () =>
	connected(async (client) => {
		const sleeper = await client.start(
			['/bin/sleep', '100'], {processId: 'twice'});
		const again = startParams(
			['/bin/true'], client.cwd, {processId: 'twice'});
		const running = await client.refusal('process/start', again);
		assert.equal(running.code, -32600);
		assert.equal(running.text, 'process twice already exists');
		await sleeper.terminate();
		await sleeper.end();
		const retained = await client.refusal('process/start', again);
		assert.equal(retained.text, 'process twice already exists');
	}));

for (const code of [0, 1, 2, 126, 127, 255])
	test(`exit status ${code} is told`, () => connected(async (client) => {
		assert.equal((await client.shell(`exit ${code}`)).exitCode, code);
	}));

for (const [signal, code] of [['KILL', 137], ['TERM', 143], ['INT', 130]])
	test(`death by SIG${signal} is ${code} with pipes`, () =>
		connected(async (client) => {
			const {exitCode} = await client.shell(`kill -${signal} $$`);
			assert.equal(exitCode, code);
		}));

test('exited says sandboxDenied false', () => connected(async (client) => {
	const process = await client.start(['/bin/true']);
	assert.equal((await process.exited()).sandboxDenied, false);
}));

const spawnErrors = {
	'a missing program': [['/no/such'], {}, 'spawnNotFound',
		'No such file or directory (os error 2)'],
	'a program that PATH does not hold': [['no-such-program'], {},
		'spawnNotFound', 'No such file or directory (os error 2)'],
	'a program looked up in a bad PATH': [['ls'],
		{env: {PATH: '/no/such'}}, 'spawnNotFound',
		'No such file or directory (os error 2)'],
	'a missing cwd': [['/bin/true'], {cwd: 'file:///no/such'},
		'spawnNotFound', 'No such file or directory (os error 2)'],
	'a cwd that is a file': [['/bin/true'], {cwd: 'file:///etc/passwd'},
		'spawnFailed', 'Not a directory (os error 20)'],
	'a directory as program': [['/etc'], {}, 'spawnPermissionDenied',
		'Permission denied (os error 13)'],
	'a file without x': [['/etc/passwd'], {}, 'spawnPermissionDenied',
		'Permission denied (os error 13)'],
	'an empty program': [[''], {}, 'spawnFailed',
		'missing program for pipe spawn'],
	'an empty program in a missing cwd': [[''], {cwd: 'file:///no/such'},
		'spawnFailed', 'missing program for pipe spawn'],
	'a NUL in argv': [['/bin/echo', 'a\0b'], {}, 'spawnFailed',
		/nul byte/],
	'a NUL in env': [['/bin/true'], {env: {A: 'a\0b'}}, 'spawnFailed',
		/nul byte/],
};
for (const [what, [argv, options, kind, text]] of Object.entries(spawnErrors))
	test(`${what} is ${kind} and frees the id`, () =>
		connected(async (client) => {
			const error = await client.refusal('process/start', startParams(
				argv, client.cwd, {processId: 'p', ...options}));
			assert.equal(error.code, -32603);
			if (typeof text === 'string')
				assert.equal(error.text, text);
			else
				assert.match(error.text, text);
			assert.deepEqual(error.data, {kind});
			assert.deepEqual(client.events('p'), []);
			const {stdout} = await client.shell('echo ok', {processId: 'p'});
			assert.equal(stdout, 'ok\n');
		}));

test('on a terminal a missing cwd is spawnNotFound too', own, () =>
	connected(async (client) => {
		const error = await client.refusal('process/start', startParams(
			['/bin/true'], 'file:///no/such', {processId: 'p', tty: true}));
		assert.deepEqual(error.data, {kind: 'spawnNotFound'});
	}));

test('a program is looked up in PATH of the child, and relative to cwd', () =>
	connected(async (client) => {
		fs.mkdirSync(path.join(server.workspace, 'bin'), {recursive: true});
		put('bin/tool', '#!/bin/sh\necho tool\n', 0o755);
		const bin = path.join(server.workspace, 'bin');
		for (const [argv, env] of [
			[['tool'], {PATH: `/no:${bin}:/usr/bin`}],
			[['bin/tool'], {PATH: plainPath}],
			[['./bin/tool'], {}],
		]) {
			const process = await client.start(argv, {env});
			assert.equal((await process.end()).stdout, 'tool\n');
		}
		const process = await client.start(['true'], {env: {}});
		assert.equal((await process.end()).exitCode, 0);
	}));

test('arg0 is what the program sees, the file stays', () =>
	connected(async (client) => {
		const process = await client.start(
			['/bin/sh', '-c', 'tr "\\0" "\\n" </proc/$$/cmdline | head -1'],
			{arg0: 'other name'});
		assert.equal((await process.end()).stdout, 'other name\n');
	}));

test('argv arrives byte for byte', () => connected(async (client) => {
	const args = ['', ' ', 'a b', '$HOME', '"\'\\', '漢字\u{1f600}', '-n', '*',
		'\n\t\u001b'];
	const process = await client.start(['/usr/bin/printf', '<%s>', ...args]);
	assert.equal((await process.end()).stdout,
		args.map((a) => `<${a}>`).join(''));
}));

const cwds = {
	'an encoded name': ['sp ace #1 100% ö', '/sp%20ace%20%231%20100%25%20%C3%B6'],
	'lower-case hex and a trailing slash':
		['sp ace #1 100% ö', '/sp%20ace%20%231%20100%25%20%c3%b6/'],
	'dot segments': ['sp ace #1 100% ö',
		'/x/../sp%20ace%20%231%20100%25%20%C3%B6/./'],
	'an encoded slash': ['deep/er', '/deep%2Fer'],
	'repeated slashes': ['deep/er', '//deep///er'],
};
for (const [what, [name, uri]] of Object.entries(cwds))
	test(`cwd with ${what} is that directory`, () =>
		connected(async (client) => {
			const dir = path.join(server.workspace, name);
			fs.mkdirSync(dir, {recursive: true});
			const {stdout} = await client.shell(
				'pwd', {cwd: server.workspaceUri + uri});
			assert.equal(stdout, `${dir}\n`);
		}));

for (const uri of ['file://localhost/', 'FILE:///', 'file:/', 'file://'])
	test(`cwd ${uri} is the root`, () => connected(async (client) => {
		assert.equal((await client.shell('pwd', {cwd: uri})).stdout, '/\n');
	}));

const badCwds = {
	'a native path': '/tmp',
	'a relative path': 'tmp',
	'nothing': '',
	'another scheme': 'https://example.test/tmp',
	'a query': 'file:///tmp?x=1',
	'a fragment': 'file:///tmp#x',
	'a NUL': 'file:///tmp/a%00b',
	'a host': 'file://remote.example/tmp',
	'a host by address': 'file://127.0.0.1/tmp',
	'a drive letter': 'file:///C:/w',
	'a user': 'file://user@localhost/tmp',
};
for (const [what, cwd] of Object.entries(badCwds))
	test(`cwd with ${what} is -32602 and starts nothing`, () =>
		connected(async (client) => {
			const error = await client.refusal('process/start', startParams(
				['/bin/true'], cwd, {processId: 'p'}));
			assert.equal(error.code, -32602);
			assert.equal((await client.refusal('process/read',
				{processId: 'p'})).text, 'unknown process id p');
		}));

test('cwd with an encoded drive letter is refused', own, () =>
	connected(async (client) => {
		const error = await client.refusal('process/start', startParams(
			['/bin/true'], 'file:///%43:/w', {processId: 'p'}));
		assert.equal(error.code, -32602);
	}));

test('encoded dots climb like plain ones, never into a name', () =>
	connected(async (client) => {
		const {stdout} = await client.shell(
			'pwd', {cwd: `${server.workspaceUri}/%2e%2e/%2E%2e/..`});
		assert.equal(stdout, '/\n');
	}));

test('the child leads its own session and process group', () =>
	connected(async (client) => {
		const {stdout} = await client.shell(
			'read -r pid comm state ppid pgid sid rest </proc/self/stat; ' +
			'ps -o pid=,pgid=,sid= -p $$ 2>/dev/null || ' +
			'cut -d" " -f1,5,6 /proc/$$/stat');
		const [pid, pgid, sid] = stdout.trim().split(/\s+/);
		assert.equal(pgid, pid);
		assert.equal(sid, pid);
	}));

test('the child has descriptors 0 to 2 and no others', () =>
	connected(async (client) => {
		for (const tty of [false, true]) {
			const process = await client.start(
				['/bin/ls', '-1', '/proc/self/fd'], {tty});
			// The fourth is the directory that ls itself reads.
			assert.equal((await process.end()).all.replaceAll('\r', ''),
				'0\n1\n2\n3\n');
		}
	}));

test('no signal is blocked or ignored in the child', () =>
	connected(async (client) => {
		const process = await client.start(
			['/bin/grep', '-E', '^Sig(Blk|Ign)', '/proc/self/status']);
		const {stdout} = await process.end();
		assert.match(stdout, /SigBlk:\t0+\n/);
		assert.match(stdout, /SigIgn:\t0+\n/);
	}));

test('oom_score_adj is at least 0, nice is 0, in a grandchild too', () =>
	connected(async (client) => {
		const ask = 'cat /proc/self/oom_score_adj; nice';
		const {stdout} = await client.shell(`${ask}; sh -c '${ask}'`);
		const [oom, nice, oom2, nice2] = stdout.trim().split('\n').map(Number);
		assert.ok(oom >= 0 && oom2 >= 0);
		assert.deepEqual([nice, nice2], [0, 0]);
	}));

test('the child has no capabilities, no_new_privs and a filter', own, () =>
	connected(async (client) => {
		const {stdout} = await client.shell('cat /proc/self/status');
		for (const set of ['CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb'])
			assert.match(stdout, new RegExp(`^${set}:\t0+$`, 'm'));
		assert.match(stdout, /^NoNewPrivs:\t1$/m);
		assert.match(stdout, /^Seccomp:\t2$/m);
	}));

test('interrupt reaches the whole process group', () =>
	connected(async (client) => {
		const process = await client.start(['/bin/bash', '-c',
			'trap "echo lead; exit 5" INT; ' +
			'bash -c \'trap "echo kid; exit 9" INT; echo ready; ' +
			'while :; do sleep 0.05; done\'']);
		await process.prints('ready');
		assert.deepEqual(await process.interrupt(), {});
		const {stdout, exitCode} = await process.end(5000);
		assert.match(stdout, /kid/);
		assert.match(stdout, /lead/);
		assert.equal(exitCode, 5);
	}));

test('interrupt runs a handler, or kills; afterwards it is harmless', () =>
	connected(async (client) => {
		const handled = await client.start(['/bin/bash', '-c',
			'trap "echo INTERRUPTED; exit 42" INT; echo up; ' +
			'while :; do sleep 0.05; done']);
		await handled.prints('up');
		await handled.interrupt();
		const end = await handled.end();
		assert.equal(end.stdout, 'up\nINTERRUPTED\n');
		assert.equal(end.exitCode, 42);
		assert.deepEqual(await handled.interrupt(), {});
		const plain = await client.start(['/bin/sleep', '100']);
		await plain.interrupt();
		assert.equal((await plain.end()).exitCode, 130);
	}));

test('interrupt of an unknown process is {}, another signal is -32602', () =>
	connected(async (client) => {
		assert.deepEqual(await client.call('process/signal',
			{processId: 'nobody', signal: 'interrupt'}), {});
		for (const signal of ['kill', 'SIGINT', '', 9, null, undefined])
			assert.equal((await client.refusal('process/signal',
				{processId: 'nobody', signal})).code, -32602);
	}));

test('terminate answers running, then not; unknown is not running', () =>
	connected(async (client) => {
		const process = await client.start(['/bin/sleep', '100']);
		assert.deepEqual(await process.terminate(), {running: true});
		assert.equal((await process.end()).exitCode, 137);
		assert.deepEqual(await process.terminate(), {running: false});
		assert.deepEqual(await client.call('process/terminate',
			{processId: 'nobody'}), {running: false});
	}));

test('terminate ends a tree that ignores signals and has left the session',
	own, () => connected(async (client) => {
		const word = uniqueWord();
		const loop = 'trap "" TERM INT HUP; while :; do sleep 0.1; done';
		const process = await client.start(['/bin/sh', '-c',
			`trap '' TERM INT HUP; (setsid sh -c '${loop}' ${word} &) & ` +
			`sh -c '${loop}' ${word} & echo up; ${loop}`, word]);
		await process.prints('up');
		await until(5000, 'the tree', () => withArgument(word).length >= 3);
		assert.deepEqual(await process.terminate(), {running: true});
		const {exitCode} = await process.end(5000);
		assert.equal(exitCode, 137);
		assert.deepEqual(withArgument(word), []);
	}));

test('exited is told at once, closed when the pipe is let go', () =>
	connected(async (client) => {
		const process = await client.start(['/bin/sh', '-c', 'echo first; ' +
			'(until [ -e let-go ]; do sleep 0.02; done; echo second) &']);
		await process.exited();
		assert.equal((await process.read({afterSeq: 0})).closed, false);
		put('let-go', '');
		const end = await process.end();
		assert.equal(end.stdout, 'first\nsecond\n');
		assert.deepEqual(end.events.map((m) => m.method.slice(8)),
			['output', 'exited', 'output', 'closed']);
	}));

test('terminate after exited ends what holds the pipe, then closed comes',
	own, () => connected(async (client) => {
		const word = uniqueWord();
		const process = await client.start(
			['/bin/sh', '-c', `sh -c 'sleep 600; :' ${word} & echo up`]);
		const exited = await process.exited(2000);
		assert.equal(exited.exitCode, 0);
		const read = await process.read({afterSeq: 0});
		assert.equal(read.exited, true);
		assert.equal(read.closed, false);
		assert.deepEqual(await process.terminate(), {running: false});
		await process.end(5000);
		assert.deepEqual(withArgument(word), []);
	}));

test('a daemon that let go of the pipes outlives terminate after closed', own,
	() => connected(async (client) => {
		const word = uniqueWord();
		const process = await client.start(['/bin/sh', '-c',
			`setsid sh -c 'sleep 600; :' ${word} </dev/null >/dev/null 2>&1 &`]);
		await process.end();
		assert.deepEqual(await process.terminate(), {running: false});
		await client.status();
		assert.ok(withArgument(word).length > 0);
	}));

test('no zombie is left after many short processes', own, () =>
	connected(async (client) => {
		for (let i = 0; i < 20; i++)
			await Promise.all([...Array(8)].map(() => client.shell('(true) & exit 0')));
		await until(3000, 'no zombie', () => descendants(server.pid)
			.every((pid) => status(pid)?.State?.[0] !== 'Z'));
	}));

test('200 starts, 8 at a time, each answer its own', own, () =>
	connected(async (client) => {
		let next = 0;
		const worker = async () => {
			while (next < 200) {
				const i = next++;
				const process = await client.start(['/bin/echo', `n${i}`],
					{tty: i % 2 === 1, processId: `q${i}`});
				const end = await process.end(5000);
				assert.equal(end.all.trim(), `n${i}`);
				assert.equal(end.exitCode, 0);
			}
		};
		await Promise.all([...Array(8)].map(worker));
	}));

test('requests do not wait for a long poll before them', own, () =>
	connected(async (client) => {
		const sleeper = await client.start(['/bin/sleep', '100']);
		let woken = false;
		const poll = sleeper.read({afterSeq: 0, waitMs: 250000});
		poll.then(() => { woken = true; }, () => {});
		await client.status();
		await client.shell('exit 0');
		assert.ok(!woken);
		await sleeper.terminate();
		assert.equal((await poll).exited, true);
	}));
