// sallyport attach: where the app-server is, and what it may answer.
import assert from 'node:assert/strict';
import {test} from 'node:test';
import fs from 'node:fs';
import path from 'node:path';
import {fileURLToPath} from 'node:url';
import {AppServer} from './lib/appserver.mjs';
import {Attach, END_MS, RELEASED_MS, START_MS, answersAt, app, failing,
	keeperOf, keyOf, untilRefused, workspace} from './lib/attach.mjs';
import {blocksOf} from './lib/example.mjs';
import {uniqueWord} from './lib/proc.mjs';
import {foreignSkip, freshDirectory, rootSkip} from './lib/server.mjs';
import {slow, until, within} from './lib/wait.mjs';

const own = {skip: foreignSkip};
const asRoot = {skip: foreignSkip || rootSkip};
const fake = fileURLToPath(new URL('lib/appserver.mjs', import.meta.url));

for (const [name, where] of [
	['3: remote app-server', 'wss://codex.example.test'],
	['3: remote app-server without TLS', 'ws://codex.example.test:4500'],
	['4: DNS name 127.example.test', 'ws://127.example.test:4500'],
	['4: an address of another host', 'ws://192.0.2.1:4500'],
	['4: every address', 'ws://0.0.0.0:4500'],
	['4: an address mapped into IPv6', 'ws://[::ffff:127.0.0.1]:4500'],
])
	test(`${name}: refused before anything is started`, own, async () => {
		const id = uniqueWord();
		const {code, stdout, stderr} = await failing(id, {where});
		assert.equal(code, 3, stderr);
		assert.equal(stdout, '');
		assert.match(stderr, /not on this host/);
		assert.equal(keeperOf(id), undefined);
	});

test('localhost and ::1 are this host', own, async (t) => {
	const port = new URL(app.where).port;
	const attach = await Attach.start(uniqueWord(),
		{where: `ws://localhost:${port}`});
	await attach.release();
	let six;
	try {
		six = await AppServer.start({}, {host: '::1'});
	} catch {
		t.diagnostic('no IPv6 here');
		return;
	}
	await (await Attach.start(uniqueWord(), {where: six.where})).release();
	six.stop();
});

test('the command of docs/hosts.md, and the line that it shows', own, async () => {
	const [command, line] = blocksOf('hosts.md');
	const at = path.join(freshDirectory('app'), 'app.sock');
	const other = await AppServer.start({}, at);
	const config = path.join(freshDirectory('conf'), 'conf');
	fs.writeFileSync(config, '[log]\nlevel = warn\n');
	const names = {'unix:/run/user/1000/codex.sock': `unix:${at}`,
		'/etc/sallyport/box-7.conf': config, '/srv/box-7': workspace};
	const [program, attach, ...args] = command.replaceAll('\\\n', ' ').trim()
		.split(/\s+/).map((word) => names[word] ?? word);
	assert.deepEqual([program, attach], ['sallyport', 'attach']);
	for (const name of Object.values(names))
		assert.ok(args.includes(name), name);
	const attached = await Attach.run(args);
	const shown = JSON.parse(line);
	assert.deepEqual(Object.keys(attached.told), Object.keys(shown));
	assert.equal(attached.told.environmentId, shown.environmentId);
	assert.equal(attached.told.environmentId,
		`sallyport-sandbox-${keyOf('box-7')}`);
	await attached.release();
	other.stop();
});

test('an app-server on a socket file', own, async () => {
	const at = path.join(freshDirectory('app'), 'app.sock');
	const other = await AppServer.start({}, at);
	const attach = await Attach.start(uniqueWord(), {where: `unix:${at}`});
	assert.equal(other.called('environment/add')[0].params.execServerUrl,
		attach.url);
	await attach.release();
	other.stop();
});

test('a socket file of root on which another user listens: status 3', asRoot,
	async () => {
		const dir = freshDirectory('app');
		const at = path.join(dir, 'app.sock');
		fs.chmodSync(dir, 0o777);
		let other;
		process.seteuid(1234);
		try {
			other = await AppServer.start({}, at);
		} finally {
			process.seteuid(0);
		}
		fs.chownSync(at, 0, 0);
		const {code, stdout, stderr} = await failing(uniqueWord(),
			{where: `unix:${at}`});
		assert.equal(code, 3, stderr);
		assert.equal(stdout, '');
		assert.match(stderr, /runs as another user, 1234/);
		assert.deepEqual(other.seen, []);
		other.stop();
	});

test('an app-server that is a child, on lines', own, async () => {
	const log = path.join(freshDirectory('app'), 'log');
	const attach = await Attach.start(uniqueWord(), {where: 'stdio',
		command: [process.execPath, fake, '{}', log]});
	// It answers before it writes down what it has seen.
	const seen = await until(END_MS, 'what it has seen', () => {
		const all = JSON.parse(fs.readFileSync(log, 'utf8') || '[]');
		return all.length === 3 && all;
	});
	assert.deepEqual(seen.map(({method}) => method),
		['initialize', 'initialized', 'environment/add']);
	assert.equal(seen[2].params.execServerUrl, attach.url);
	assert.equal((await attach.release()).code, 0);
	assert.match(fs.readFileSync(log, 'utf8'), /ended$/);
});

test('stdio and a command belong together', own, async () => {
	assert.equal((await failing(uniqueWord(), {where: 'stdio'})).code, 2);
	assert.equal((await failing(uniqueWord(), {command: ['true']})).code, 2);
	const {code, stderr} = await failing(uniqueWord(),
		{where: 'stdio', command: ['/no/such/program']});
	assert.equal(code, 4, stderr);
});

const UNKNOWN = {code: -32600, message: 'Invalid request: unknown variant ' +
	'`environment/add`, expected one of `initialize`, `thread/start`'};
const noise = Array.from({length: 100}, (_, i) =>
	({method: 'noise/made', params: {i}}));

/** Ways in which an app-server can answer, and what becomes of it. */
const rows = [
	['an older version', {version: '0.170.9'}, 5, /is 0\.170\.9.*0\.171\.0/],
	['a version before the release', {version: '0.171.0-alpha.1'}, 5, /alpha/],
	['no version', {userAgent: 'something'}, 5, /does not tell its version/],
	['a user agent that is no text', {userAgent: 17}, 5, /version/],
	['unknown variant', {error: {'environment/add': UNKNOWN}}, 6,
		/does not know the method environment\/add/],
	['method not found', {error: {'environment/add':
		{code: -32601, message: 'what?'}}}, 6, /does not know/],
	['Unknown method', {error: {'environment/add':
		{code: -1, message: 'Unknown method: x'}}}, 6, /does not know/],
	['another error', {error: {'environment/add':
		{code: -32603, message: 'no room\x1b[2J'}}}, 7, /no room\?\[2J/],
	['an error of initialize', {error: {initialize:
		{code: -32600, message: 'not you'}}}, 7, /not you/],
	['an error without a text', {error: {'environment/add': {}}}, 7,
		/without a message/],
	['garbage', {raw: {initialize: 'garbage'}}, 4, /no JSON-RPC/],
	['an array', {raw: {'environment/add': '[]'}}, 4, /no JSON-RPC/],
	['a repeated key', {raw: {initialize: '{"id":1,"id":1,"result":{}}'}}, 4,
		/no JSON-RPC/],
	['neither result nor error', {raw: {'environment/add': '{"id":2}'}}, 4,
		/without a result/],
	['depth', {raw: {initialize: `{"id":1,"result":${'['.repeat(9999)}`}}, 4,
		/no JSON-RPC/],
	['another id', {raw: {initialize: '{"id":7,"result":{}}'}}, 4, /in time/],
	['no answer to initialize', {silent: 'initialize'}, 4, /in time/],
	['no answer to environment/add', {silent: 'environment/add'}, 4,
		/in time/],
];

for (const [name, options, want, pattern] of rows)
	test(`app-server: ${name} is status ${want}`, own, async () => {
		const id = uniqueWord();
		const other = await AppServer.start(options);
		const {code, stdout, stderr} = await failing(id, {where: other.where,
			args: /in time/.test(pattern) ? ['--timeout', '1'] : []});
		assert.equal(code, want, stderr);
		assert.equal(stdout, '');
		assert.match(stderr.trim().split('\n').at(-1), pattern);
		other.stop();
		await until(RELEASED_MS + START_MS, 'no keeper',
			() => keeperOf(id) === undefined);
	});

test('an app-server that is too old costs no server', own, async () => {
	const id = uniqueWord();
	const other = await AppServer.start({version: '0.1.0'});
	const {stderr} = await failing(id, {where: other.where});
	assert.doesNotMatch(stderr, /serving|ready role/);
	other.stop();
});

for (const [name, text] of [
	['a message of 33 MiB', 'x'.repeat(33 * 1024 * 1024)],
	['33 MiB without an end', ' '.repeat(33 * 1024 * 1024)],
])
	test(`app-server: ${name} is too large`, own, async () => {
		const options = {raw: {initialize: text}};
		const other = await AppServer.start(options);
		const got = await failing(uniqueWord(), {where: other.where});
		assert.equal(got.code, 4, got.stderr);
		assert.match(got.stderr, /too large/);
		other.stop();
	});

test('notifications and requests before an answer are taken', own, async () => {
	const other = await AppServer.start({before: {
		initialize: noise,
		'environment/add': [...noise, {id: 2, method: 'currentTime/read'}],
	}});
	const attach = await Attach.start(uniqueWord(), {where: other.where});
	const refused = await until(END_MS, 'the refusal',
		() => other.seen.find(({error}) => error));
	assert.deepEqual([refused.id, refused.error.code], [2, -32601]);
	other.sockets.forEach((socket) => noise.forEach((message) =>
		socket.send(JSON.stringify(message))));
	await (await answersAt(attach.url)).close();
	assert.equal((await attach.release()).code, 0);
	other.stop();
});

test('an app-server that ends takes the lease along', own, async () => {
	const other = await AppServer.start();
	const attach = await Attach.start(uniqueWord(), {where: other.where});
	other.stop();
	const {code} = await within(END_MS, 'end', attach.end);
	assert.equal(code, 4);
	assert.ok(await untilRefused(attach.url) < RELEASED_MS * slow);
});

for (const method of ['initialize', 'environment/add'])
	test(`SIGTERM before the answer to ${method}: an orderly end`, own,
		async () => {
			const id = uniqueWord();
			const other = await AppServer.start({silent: method});
			const attach = new Attach(id, {where: other.where});
			await until(START_MS, method,
				() => other.called(method).length > 0);
			attach.child.kill('SIGTERM');
			const {code, signal, stdout} =
				await within(END_MS, 'end', attach.end);
			assert.deepEqual([code, signal, stdout], [0, null, '']);
			other.stop();
			await until(RELEASED_MS + START_MS, 'no keeper',
				() => keeperOf(id) === undefined);
		});

test('nobody listens: status 4', own, async () => {
	const other = await AppServer.start();
	other.stop();
	const {code} = await failing(uniqueWord(), {where: other.where});
	assert.equal(code, 4);
});
