import assert from 'node:assert/strict';
import {after, test} from 'node:test';
import {encode, startParams} from './lib/client.mjs';
import {residentKib} from './lib/proc.mjs';
import {Server, foreignSkip, isSanitized, memorySkip} from './lib/server.mjs';
import {until, within} from './lib/wait.mjs';

const server = await Server.start();
after(() => server.stop());
const own = {skip: foreignSkip};

/** Send raw data; the one error with id -1 that answers it. */
async function malformed(client, data) {
	client.raw(data);
	const {id, error} = await client.strayError();
	assert.equal(id, -1);
	assert.equal(error.code, -32600);
	assert.match(error.message, /^failed to parse websocket JSON-RPC message/);
	return error;
}

const malformedTexts = {
	'truncated JSON': '{"id":1,"meth',
	'an empty message': '',
	'blanks only': '  \n ',
	'a number': '17',
	'a string': '"initialize"',
	'null': 'null',
	'true': 'true',
	'an array': '[{"id":1,"method":"environment/status"}]',
	'an empty array': '[]',
	'an empty object': '{}',
	'two values': '{"id":1,"method":"a"}{"id":2,"method":"b"}',
	'trailing text': '{"id":1,"method":"environment/status"} x',
	'a trailing comma': '{"id":1,"method":"environment/status",}',
	'a comment': '{"id":1,/**/"method":"environment/status"}',
	'single quotes': "{'id':1,'method':'environment/status'}",
	'NaN': '{"id":NaN,"method":"environment/status"}',
	'an id of null': '{"id":null,"method":"environment/status"}',
	'an id of true': '{"id":true,"method":"environment/status"}',
	'an id with a fraction': '{"id":1.5,"method":"environment/status"}',
	'an id with an exponent': '{"id":1e3,"method":"environment/status"}',
	'an id beyond 2^63-1':
		'{"id":9223372036854775808,"method":"environment/status"}',
	'an id below -2^63':
		'{"id":-9223372036854775809,"method":"environment/status"}',
	'an id that is an array': '{"id":[1],"method":"environment/status"}',
	'an id that is an object': '{"id":{},"method":"environment/status"}',
	'a method that is no string': '{"id":1,"method":7}',
	'a request with a trace that is no object':
		'{"id":1,"method":"environment/status","trace":"x"}',
	'a repeated key':
		'{"id":1,"method":"environment/status","id":2}',
	'a repeated key deeper down':
		'{"id":1,"method":"environment/status","params":{"a":1,"a":2}}',
	'an id alone': '{"id":1}',
	'a raw newline in a string': '{"id":1,"method":"a\nb"}',
	'a lone surrogate': '{"id":1,"method":"\\ud83d"}',
	'an unpaired low surrogate': '{"id":1,"method":"\\ude00x"}',
};
for (const [what, text] of Object.entries(malformedTexts))
	test(`${what} is answered with id -1 and the connection lives on`,
		async () => {
			const client = await server.connect();
			await malformed(client, text);
			assert.deepEqual(await client.status(), {status: 'ready'});
			assert.deepEqual(client.stray, []);
			await client.close();
		});

test('invalid UTF-8 in a binary message is only malformed', async () => {
	const client = await server.connect();
	await malformed(client, Buffer.from([0, 0xff, 0xfe, 0x20, 0x67]));
	await malformed(client, Buffer.concat([
		Buffer.from('{"id":1,"method":"environment/'),
		Buffer.from([0xc3, 0x28]), Buffer.from('"}'),
	]));
	await client.status();
	await client.close();
});

test('malformed messages disturb no other connection', async () => {
	const bad = await server.connect();
	const good = await server.connect();
	for (let i = 0; i < 20; i++)
		await malformed(bad, '{"id":1,"meth');
	await good.status();
	await bad.close();
	await good.close();
});

for (const [what, open, inner, shut, count] of [
	['arrays', '[', '', ']', 200000],
	['objects', '{"a":', '1', '}', 100000],
])
	test(`${count} nested ${what} are refused cheaply`, own, async () => {
		const client = await server.connect();
		await malformed(
			client, open.repeat(count) + inner + shut.repeat(count));
		await client.status();
		await client.close();
	});

test('nesting is taken up to a depth of 64', own, async () => {
	const client = await server.connect();
	const nested = (depth, text = '') =>
		`{"id":"deep","text":"${text}","method":"environment/status",` +
		`"params":${'['.repeat(depth - 1)}${']'.repeat(depth - 1)}}`;
	const taken = async (message) => {
		client.raw(message);
		await client.wait('answer', () =>
			client.stray.find((m) => m.id === 'deep' && m.result));
		client.stray.length = 0;
	};
	await taken(nested(64));
	await malformed(client, nested(65));
	// Brackets of a string do not count, those behind an escaped quote do.
	await taken(nested(64, `\\"${'['.repeat(100)}`));
	await malformed(client, nested(65, '\\"'));
	await client.close();
});

test('a text of more values than any request needs is not parsed', own,
	async () => {
		const client = await server.connect();
		const values = (count) => `{"id":"many","method":` +
			`"environment/status","params":[${'1,'.repeat(count)}1]}`;
		client.raw(values(500000));
		await client.wait('answer', () =>
			client.stray.find((m) => m.id === 'many' && m.result));
		client.stray.length = 0;
		const net = await server.role('net');
		const before = residentKib(net);
		await malformed(client,
			`[${'[],'.repeat((isSanitized ? 2 : 20) << 20)}1]`);
		// The text itself is freed with the message.
		if (!memorySkip)
			assert.ok(residentKib(net) - before < 32 * 1024);
		await client.status();
		await client.close();
	});

for (const id of ['', 'a', 'é\u{1f600}', '0', 0, -1, -(2 ** 31), 2 ** 53 - 1])
	test(`the id ${JSON.stringify(id)} comes back as it was`, async () => {
		const client = await server.connect();
		assert.deepEqual(await client.call('environment/status', {}, {id}),
			{status: 'ready'});
		await client.close();
	});

for (const id of ['9223372036854775807', '-9223372036854775808'])
	test(`the id ${id} comes back digit by digit`, async () => {
		const client = await server.connect();
		let text;
		client.socket.on('message', (d) => { text = d.toString(); });
		client.raw(`{"id":${id},"method":"environment/status"}`);
		await until(5000, 'answer', () => text);
		assert.ok(text.includes(`"id":${id}`), text);
		await client.close();
	});

test('a string id is taken up to 1024 bytes', own, async () => {
	const client = await server.connect();
	await client.call('environment/status', {}, {id: 'x'.repeat(1024)});
	await malformed(client, JSON.stringify(
		{id: 'x'.repeat(1025), method: 'environment/status'}));
	await client.close();
});

test('a parameter is taken up to its bound', async () => {
	const client = await server.connect();
	const terminate = (length) => client.call('process/terminate',
		{processId: 'x'.repeat(length)});
	assert.deepEqual(await terminate(1024), {running: false});
	await assert.rejects(terminate(1025), {code: -32602});
	await client.close();
});

test('an id may be used again', async () => {
	const client = await server.connect();
	await client.call('environment/status', {}, {id: 5});
	await client.call('environment/status', {}, {id: 5});
	await client.close();
});

test('unknown members and jsonrpc are ignored, in any order', async () => {
	const client = await server.connect();
	for (const version of ['2.0', '1.0', 7, null]) {
		client.raw(JSON.stringify({
			params: {}, jsonrpc: version, extra: {},
			method: 'environment/status', trace: null, id: 'o',
		}));
		const answer = await client.wait(
			'answer', () => client.stray.shift());
		assert.deepEqual(answer, {id: 'o', result: {status: 'ready'}});
	}
	await client.close();
});

test('a trace object is accepted', async () => {
	const client = await server.connect();
	client.send({id: 't', method: 'environment/status',
		trace: {traceparent: '00-0-0-01', tracestate: 'a=b'}});
	await client.wait('answer', () => client.stray.find((m) => m.result));
	await client.close();
});

test('an unknown method is -32601 and named, before initialize too',
	async () => {
		const client = await server.connect({initialize: false});
		for (const method of ['fs/unknown', 'process/list', '', 'x'.repeat(200)]) {
			const error = await client.refusal(method, {});
			assert.equal(error.code, -32601);
			assert.equal(error.text,
				`exec-server stub does not implement \`${method}\` yet`);
		}
		await client.close();
	});

test('the name of an unknown method is cut in the answer', own, async () => {
	const client = await server.connect();
	const error = await client.refusal('x'.repeat(100000), {});
	assert.equal(error.code, -32601);
	assert.ok(error.text.length < 1000);
	await client.close();
});

const endings = {
	'an unknown notification': {method: 'no/such'},
	'a result': {id: 1, result: {}},
	'an error': {id: 1, error: {code: 1, message: 'x'}},
};
for (const [what, message] of Object.entries(endings))
	test(`${what} from the client ends the connection unanswered`, async () => {
		const client = await server.connect();
		const before = client.received.length;
		client.send(message);
		await within(5000, 'end', client.closed);
		assert.equal(client.received.length, before);
	});

// A wrong value for each member of process/start, and the word that the
// message must hold.
const wrongStarts = {
	'processId missing': {processId: undefined},
	'processId a number': {processId: 7},
	'argv missing': {argv: undefined},
	'argv a string': {argv: '/bin/true'},
	'argv with a number in it': {argv: ['/bin/true', 1]},
	'argv null': {argv: null},
	'argv empty': {argv: []},
	'cwd missing': {cwd: undefined},
	'cwd a number': {cwd: 1},
	'env missing': {env: undefined},
	'env an array': {env: []},
	'env with a number in it': {env: {A: 1}},
	'tty missing': {tty: undefined},
	'tty a string': {tty: 'true'},
	'pipeStdin a number': {pipeStdin: 1},
	'arg0 a number': {arg0: 1},
	'envPolicy a string': {envPolicy: 'all'},
	'sandbox a string': {sandbox: 'none'},
	'enforceManagedNetwork a string': {enforceManagedNetwork: 'no'},
};
for (const [what, change] of Object.entries(wrongStarts))
	test(`process/start with ${what} is -32602 and starts nothing`, async () => {
		const client = await server.connect();
		const params = startParams(['/bin/sh', '-c', 'echo x > started'],
			client.cwd, {processId: 'p', ...change});
		const error = await client.refusal('process/start', params);
		assert.equal(error.code, -32602);
		if (!foreignSkip)
			assert.ok(error.text.includes(what.split(' ')[0]), error.text);
		const read = await client.refusal('process/read', {processId: 'p'});
		assert.equal(read.code, -32600);
		await client.close();
	});

test('absent and null params are -32602 where members are required',
	async () => {
		const client = await server.connect();
		for (const params of [undefined, null, {}, 'x', 7])
			assert.equal((await client.refusal(
				'process/start', params)).code, -32602);
		await client.close();
	});

test('params are judged before the state of the connection', async () => {
	const client = await server.connect({initialize: false});
	assert.equal(
		(await client.refusal('process/start', {})).code, -32602);
	assert.equal((await client.refusal('process/start',
		startParams(['/bin/true'], client.cwd, {processId: 'p'}))).code,
	-32600);
	await client.close();
});

test('a lone surrogate in argv is refused, a pair arrives', async () => {
	const client = await server.connect();
	const text = JSON.stringify({
		id: 'pair', method: 'process/start',
		params: startParams(['/bin/echo', 'SMILE'], client.cwd,
			{processId: 's'}),
	});
	client.raw(text.replace('SMILE', '\\ud83d'));
	const {error} = await client.strayError();
	assert.ok([-32600, -32602].includes(error.code));
	client.raw(text.replace('SMILE', '\\ud83d\\ude00'));
	await client.event('s', 'closed');
	const output = client.events('s').find((m) =>
		m.method === 'process/output');
	assert.equal(output.params.chunk, encode('\u{1f600}\n'));
	await client.close();
});

test('unknown members of params are ignored', async () => {
	const client = await server.connect();
	const {exitCode} = await client.shell('exit 4', {futureField: {x: 1}});
	assert.equal(exitCode, 4);
	await client.close();
});
