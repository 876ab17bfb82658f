// The wire form that --compat openclaw speaks.
import assert from 'node:assert/strict';
import {after, test} from 'node:test';
import fs from 'node:fs';
import path from 'node:path';
import {decode, encode, plainPath, startParams} from './lib/client.mjs';
import {uniqueWord, withArgument} from './lib/proc.mjs';
import {Server, fileUri, foreignSkip, freshDirectory} from './lib/server.mjs';
import {until, within} from './lib/wait.mjs';
import {frameHeader, http, upgrade} from './lib/wire.mjs';

if (foreignSkip) {
	test('openclaw', {skip: foreignSkip}, () => {});
	process.exit();
}

const compat = {args: ['--compat', 'openclaw']};
const server = await Server.start(compat);
after(() => server.stop());

async function connected(body, options) {
	const client = await server.connect(options);
	try {
		await body(client);
	} finally {
		await client.close();
	}
}

const bare = {params: {}, initialized: false};

/** Params with no more than what is needed. */
const barely = (argv, client, more = {}) => ({
	processId: 'p', argv, cwd: client.cwd, tty: false, ...more,
});

test('initialize takes {} and answers exactly {sessionId}', () =>
	connected(async (client) => {
		const result = await client.call('initialize', {});
		assert.deepEqual(Object.keys(result), ['sessionId']);
		assert.equal(typeof result.sessionId, 'string');
	}, {initialize: false}));

test('every message says jsonrpc 2.0', () => connected(async (client) => {
	await client.shell('echo x');
	await client.refusal('no/such', {});
	assert.ok(client.received.length > 3);
	for (const message of client.received)
		assert.equal(message.jsonrpc, '2.0');
}));

test('2a: environment/info is exactly shell, cwd and one capability', () =>
	connected(async (client) => {
		assert.deepEqual(await client.call('environment/info', null), {
			shell: {name: 'sh', path: '/bin/sh'},
			cwd: server.workspaceUri,
			capabilities: {networkProxyLaunch: false},
		});
		assert.deepEqual(await client.status(), {status: 'ready'});
	}, bare));

test('2b: a workspace with blanks and # is encoded in cwd', async () => {
	const dir = path.join(freshDirectory(), 'space #project');
	fs.mkdirSync(dir);
	const s = await Server.start({...compat, workspace: dir});
	const client = await s.connect();
	const {cwd} = await client.call('environment/info', null);
	assert.equal(cwd, fileUri(dir));
	assert.match(cwd, /space%20%23project$/);
	await s.stop();
});

test('before initialize methods are -32600, after it they are served', () =>
	connected(async (client) => {
		const error = await client.refusal('process/terminate',
			{processId: 'x'});
		assert.equal(error.code, -32600);
		await client.initialize({});
		await client.status();
		assert.equal((await client.refusal('initialize', {})).code, -32600);
	}, {initialize: false}));

test('5: a command runs with the policy of the environment, ids and all', () =>
	connected(async (client) => {
		const result = await client.call('process/start', startParams(
			['/usr/bin/env'], client.cwd, {
				processId: 'p',
				env: {A: 'env', OPENAI_API_KEY: 'x', PATH: plainPath},
				envPolicy: {
					inherit: 'none', ignoreDefaultExcludes: true, exclude: [],
					set: {A: 'set', B: 'set', CODEX_API_KEY: 'x',
						CODEX_ACCESS_TOKEN: 'x'},
					includeOnly: [],
				},
			}));
		assert.deepEqual(result, {processId: 'p', sandboxType: 'none'});
		const read = await until(5000, 'closed', async () => {
			const answer = await client.call(
				'process/read', {processId: 'p', afterSeq: 0});
			return answer.closed && answer;
		});
		assert.equal(read.exited, true);
		assert.equal(read.exitCode, 0);
		const text = decode(read.chunks[0].chunk).toString();
		assert.match(text, /^A=env$/m);
		assert.match(text, /^B=set$/m);
		assert.match(text, /^CODEX_SANDBOX_EXEC_ID=.+$/m);
		assert.doesNotMatch(text, /API_KEY|ACCESS_TOKEN/);
		for (const name of ['output', 'exited', 'closed'])
			await client.event('p', name);
	}, bare));

test('CODEX_SANDBOX_EXEC_ID is another for each process', () =>
	connected(async (client) => {
		const ids = new Set();
		for (let i = 0; i < 5; i++)
			ids.add((await client.shell('echo $CODEX_SANDBOX_EXEC_ID')).stdout);
		assert.equal(ids.size, 5);
		assert.ok(!ids.has('\n'));
	}));

test('16: inherit all adds nothing of the server, and the id alone', () =>
	connected(async (client) => {
		const process = await client.start(['/usr/bin/env'], {
			env: {},
			envPolicy: {inherit: 'all', ignoreDefaultExcludes: true,
				exclude: [], set: {}, includeOnly: []},
		});
		const names = (await process.end()).stdout.trim().split('\n')
			.map((line) => line.split('=')[0]);
		assert.ok(names.includes('CODEX_SANDBOX_EXEC_ID'));
		for (const name of names)
			assert.match(name, /^(CODEX_SANDBOX_EXEC_ID|PATH|HOME|LANG|LC_ALL|LC_CTYPE|SHELL|TMPDIR|USER|LOGNAME|TERM)$/);
	}));

test('start needs neither env nor arg0, and initialized is not needed', () =>
	connected(async (client) => {
		assert.deepEqual(await client.call('process/start',
			barely(['/bin/true'], client)),
		{processId: 'p', sandboxType: 'none'});
		const exited = await client.event('p', 'exited');
		assert.equal(exited.exitCode, 0);
		assert.equal(exited.sandboxDenied, false);
	}, bare));

test('9: arg0 as a string is refused, and nothing is launched', () =>
	connected(async (client) => {
		const error = await client.refusal('process/start',
			startParams(['/bin/sh', '-c', 'echo x > launched'], client.cwd,
				{processId: 'p', arg0: 'other'}));
		assert.equal(error.text,
			'Codex sandbox exec-server does not support arg0 overrides.');
		assert.ok(!fs.existsSync(path.join(server.workspace, 'launched')));
		assert.deepEqual((await client.call('process/write',
			{processId: 'p', chunk: encode('x')})), {status: 'unknownProcess'});
	}));

for (const [row, cwd] of [
	['7a', '/workspace'], ['7b', 'workspace'],
	['7c', 'https://remote.example.test/workspace'],
	['7d', 'file://remote.example.test/workspace'],
	['7e', 'file:///workspace?query=1'], ['7f', 'file:///workspace#fragment'],
	['7g', 'file:///C:/workspace'], ['7h', 'file:///%43:/workspace'],
	['7i', 'file:///workspace%00'],
])
	test(`${row}: cwd ${cwd} is refused with the words "process cwd"`, () =>
		connected(async (client) => {
			const error = await client.refusal('process/start',
				startParams(['/bin/true'], cwd, {processId: 'p'}));
			assert.match(error.text, /process cwd/);
			assert.equal((await client.call('process/terminate',
				{processId: 'p'})).running, false);
		}));

test('6: an encoded cwd is decoded', () => connected(async (client) => {
	fs.mkdirSync(path.join(server.workspace, 'example repo'));
	const {stdout} = await client.shell(
		'pwd', {cwd: `${server.workspaceUri}/example%20repo`});
	assert.equal(stdout, `${server.workspace}/example repo\n`);
}));

const managed = (file, network) => ({
	permissions: {type: 'managed', file_system: file, network},
});
const refused = {
	'10a: restricted entries': [{sandbox: managed({
		type: 'restricted', entries: [],
	}, 'enabled')}, /filesystem sandbox.*cannot be enforced/i],
	'10b: enforceManagedNetwork': [{enforceManagedNetwork: true},
		/managed network.*cannot be enforced/i],
	'10c: managedNetwork': [{enforceManagedNetwork: true,
		managedNetwork: {loopbackPorts: [], allowLocalBinding: false}},
	/managed network.*cannot be enforced/i],
	'10d: networkProxy': [{networkProxy: {policyDecisionTimeoutMs: 1000}},
		/network proxy.*not supported/i],
};
for (const [what, [members, text]] of Object.entries(refused))
	test(`${what} in a start is refused before anything is launched`, () =>
		connected(async (client) => {
			const error = await client.refusal('process/start', startParams(
				['/bin/sh', '-c', 'echo x > launched'], client.cwd,
				{processId: 'p', ...members}));
			assert.match(error.text, text);
			assert.ok(!fs.existsSync(path.join(server.workspace, 'launched')));
		}, bare));

const allowed = {
	'11a: no sandbox': null,
	'11b: external, restricted network': {permissions:
		{type: 'external', network: 'restricted'}},
	'11c: disabled': {permissions: {type: 'disabled'}},
};
for (const [what, sandbox] of Object.entries(allowed))
	test(`${what} in a start runs and reports sandboxType none`, () =>
		connected(async (client) => {
			const result = await client.call('process/start', startParams(
				['/bin/true'], client.cwd, {processId: 'p', sandbox}));
			assert.deepEqual(result, {processId: 'p', sandboxType: 'none'});
			assert.equal((await client.event('p', 'exited')).exitCode, 0);
		}, bare));

test('12: a write needs no writeId, and arrives', () =>
	connected(async (client) => {
		const process = await client.start(['/bin/sh', '-c',
			'read line; echo "echo:$line"'], {pipeStdin: true});
		assert.deepEqual(await client.call('process/write',
			{processId: process.id, chunk: encode('hello\n')}),
		{status: 'accepted'});
		const first = (await process.end()).events[0];
		assert.equal(decode(first.params.chunk).toString(), 'echo:hello\n');
	}));

test('13: a terminal, Ctrl-C without writeId, a handler that exits 42', () =>
	connected(async (client) => {
		const process = await client.start(['/bin/sh', '-c',
			'[ -t 0 ] && [ -t 1 ] && trap "exit 42" INT && echo up; ' +
			'while :; do sleep 0.05; done'], {tty: true});
		await process.prints('up');
		assert.equal(process.events()[0].params.stream, 'pty');
		assert.deepEqual(await client.call('process/write',
			{processId: process.id, chunk: encode('\x03')}),
		{status: 'accepted'});
		assert.equal((await process.end()).exitCode, 42);
	}));

test('14: interrupt without initialized, env and arg0', () =>
	connected(async (client) => {
		await client.call('process/start', barely(['/bin/sh', '-c',
			'trap "echo handled; exit 42" INT; echo up; ' +
			'while :; do sleep 0.05; done'], client));
		await client.event('p', 'output');
		assert.deepEqual(await client.call('process/signal',
			{processId: 'p', signal: 'interrupt'}), {});
		const exited = await client.event('p', 'exited');
		assert.equal(exited.exitCode, 42);
		assert.equal(exited.sandboxDenied, false);
		assert.deepEqual(await client.call('process/signal',
			{processId: 'nobody', signal: 'interrupt'}), {});
	}, bare));

test('15: a killed terminal process is exit code 1, in read and exited', () =>
	connected(async (client) => {
		await client.call('process/start', barely(
			['/bin/sh', '-c', 'kill -KILL $$'], client, {tty: true}));
		const exited = await client.event('p', 'exited');
		assert.equal(exited.exitCode, 1);
		assert.equal(exited.processId, 'p');
		await client.event('p', 'closed');
		assert.equal((await client.call('process/read',
			{processId: 'p', afterSeq: 0})).exitCode, 1);
	}, bare));

test('a killed piped process is 128+N', () => connected(async (client) => {
	assert.equal((await client.shell('kill -KILL $$')).exitCode, 137);
}));

test('18: statuses of write and terminate for unknown processes', () =>
	connected(async (client) => {
		assert.deepEqual(await client.call('process/write',
			{processId: 'no', chunk: encode('x')}),
		{status: 'unknownProcess'});
		assert.deepEqual(await client.call('process/terminate',
			{processId: 'no'}), {running: false});
	}, bare));

test('an id that exists is an error', () => connected(async (client) => {
	await client.start(['/bin/sleep', '100'], {processId: 'twice'});
	const error = await client.refusal('process/start', startParams(
		['/bin/true'], client.cwd, {processId: 'twice'}));
	assert.match(error.text, /process already exists: twice|already exists/);
}));

test('19: unknown methods have the text of this form, our extensions too', () =>
	connected(async (client) => {
		for (const method of ['fs/walk', 'unsupported/method',
			'process/closeStdin', 'process/resize']) {
			const error = await client.refusal(method, {});
			assert.equal(error.code, -32601);
			assert.equal(error.text, 'Unsupported OpenClaw sandbox ' +
				`exec-server method: ${method}`);
		}
		await client.status();
	}, bare));

test('malformed JSON is answered with id -1', () =>
	connected(async (client) => {
		client.raw('{"id":1,"meth');
		const {id, error} = await client.strayError();
		assert.equal(id, -1);
		assert.equal(error.code, -32600);
		await client.status();
	}));

test('20: a wrong path is upgraded, then closed with 1008 unauthorized',
	async () => {
		await Promise.all(['/wrong', '/', `${server.path}x`].map(async (wrong) => {
			const {wire, answer} = await upgrade(server.port, wrong);
			assert.equal(answer.status, 101);
			const close = await wire.frame();
			assert.equal(close.opcode, 8);
			assert.equal(close.payload.readUInt16BE(0), 1008);
			assert.equal(close.payload.subarray(2).toString(), 'unauthorized');
			await wire.end();
		}));
	});

test('21: an oversize frame on a wrong path is 1008 or 1009', async () => {
	const {wire} = await upgrade(server.port, '/wrong');
	await wire.write(Buffer.concat([
		frameHeader({opcode: 2, length: 100 * 1024 * 1024 + 1}),
		Buffer.alloc(4 + 100),
	]));
	assert.ok([1008, 1009].includes(await wire.closeCode()));
	wire.destroy();
	await connected((client) => client.status());
});

test('8: 100 MiB + 1 byte in a binary frame is 1009', async () => {
	const {wire} = await upgrade(server.port, server.path);
	await wire.write(Buffer.concat([
		frameHeader({opcode: 2, length: 100 * 1024 * 1024 + 1}),
		Buffer.alloc(4 + 100),
	]));
	assert.equal(await wire.closeCode(), 1009);
	wire.destroy();
});

test('an Origin is 403 in this form as well', async () => {
	const {wire, answer} = await upgrade(
		server.port, server.path, {Origin: 'https://evil.example'});
	wire.destroy();
	assert.equal(answer.status, 403);
	assert.equal((await http(server.port, 'GET', '/readyz')).status, 200);
});

test('waitMs is cut to 30 s', async () => {
	const s = await Server.start(
		{...compat, set: {'limits.long_poll_max': '100ms'}});
	const client = await s.connect();
	const process = await client.start(['/bin/sleep', '100']);
	assert.deepEqual((await process.read({waitMs: 60000})).chunks, []);
	await s.stop();
});

test('17: two chunks of 4 bytes: the byte limit moves the cursor', () =>
	connected(async (client) => {
		const process = await client.start(
			['/bin/sh', '-c', 'printf one-; read x; printf two-'],
			{pipeStdin: true});
		await process.prints('one-');
		await process.write('\n');
		await process.end();
		const first = await process.read({afterSeq: 0, maxBytes: 4});
		assert.equal(first.chunks.length, 1);
		assert.equal(first.nextSeq, first.chunks[0].seq + 1);
		const rest = await process.read({afterSeq: first.nextSeq - 1});
		assert.ok(rest.chunks.length >= 1);
		assert.ok(first.nextSeq < rest.nextSeq);
	}));

test('23a: losing the socket ends a tree that ignores signals within 3 s',
	async () => {
		const word = uniqueWord();
		const client = await server.connect();
		const process = await client.start(['/bin/sh', '-c',
			`trap '' TERM INT HUP; setsid sh -c 'sleep 1000; :' ${word} & ` +
			'echo up; while :; do sleep 0.1; done', word]);
		await process.prints('up');
		assert.ok(withArgument(word).length > 0);
		await client.drop();
		await until(3000, 'end of the tree',
			() => withArgument(word).length === 0);
	});

test('a session is not resumed', async () => {
	const first = await server.connect();
	await first.drop();
	const second = await server.connect({
		params: {resumeSessionId: first.sessionId},
	}).catch((e) => e);
	assert.notEqual(second.sessionId, first.sessionId);
});

test('22: release: trees are gone and new connections refused', async () => {
	const s = await Server.start(
		{...compat, set: {'limits.shutdown_timeout': '30s'}});
	const word = uniqueWord();
	const client = await s.connect();
	await (await client.start(['/bin/sh', '-c',
		'trap "" TERM; echo up; while :; do sleep 0.1; done', word]))
		.prints('up');
	await s.stop();
	assert.deepEqual(withArgument(word), []);
	assert.deepEqual(await within(5000, 'close', client.closed),
		{code: 1001, reason: 'shutdown'});
	await assert.rejects(s.connect());
});
