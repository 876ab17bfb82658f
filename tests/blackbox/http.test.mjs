// http/request: what is sent, what comes back, and what goes wrong.
import assert from 'node:assert/strict';
import {spawnSync} from 'node:child_process';
import fs from 'node:fs';
import https from 'node:https';
import path from 'node:path';
import {after, test} from 'node:test';
import zlib from 'node:zlib';
import {encode} from './lib/client.mjs';
import {
	Origin, bodyOf, bytesOf, headerOf, refusal, request, wholeStream,
} from './lib/http.mjs';
import {fdCount, isAlive} from './lib/proc.mjs';
import {Server, foreignSkip, freshDirectory} from './lib/server.mjs';
import {until} from './lib/wait.mjs';

const own = {skip: foreignSkip};
const BIG = 3 * 1024 * 1024;
const compressed = {
	gzip: zlib.gzipSync('squeezed'),
	deflate: zlib.deflateSync('squeezed'),
	br: zlib.brotliCompressSync('squeezed'),
};
const redirect = (status, to) => (q, r) => {
	r.writeHead(status, {Location: to});
	r.end('go');
};

let other; // a second origin, to redirect to
let goOn; // with the body of /slow
const origin = await Origin.start({
	'/repeats': (q, r) => {
		r.setHeader('X-Multi', ['a', 'b']);
		r.setHeader('X-Latin', Buffer.from('caf\xe9', 'latin1').toString('latin1'));
		r.end('body');
	},
	'/big': (q, r) => r.end(Buffer.alloc(BIG, 'x')),
	'/bomb': (q, r) => {
		r.setHeader('Content-Encoding', 'gzip');
		r.end(zlib.gzipSync(Buffer.alloc(64 << 20)));
	},
	'/headers': (q, r) => {
		for (let i = 0; i < 60; i++)
			r.setHeader(`X-${i}`, 'v'.repeat(5000));
		r.end();
	},
	'/hang': () => {},
	'/drip': (q, r) => {
		const timer = setInterval(() => r.write('.'), 20);
		q.socket.on('close', () => clearInterval(timer));
	},
	'/303': redirect(303, '/after'),
	'/loop': redirect(302, '/loop'),
	'/ftp': redirect(302, 'ftp://127.0.0.1/'),
	'/away': (q, r) => redirect(307, `${other.url}/there`)(q, r),
	'/and-back': (q, r) => redirect(307, `${other.url}/back`)(q, r),
	'/no-content': (q, r) => { r.writeHead(204); r.end(); },
	'/slow': (q, r) => { r.write('one'); goOn = () => r.end('two'); },
	...Object.fromEntries(Object.entries(compressed).map(([name, data]) =>
		[`/${name}`, (q, r) => {
			r.setHeader('Content-Encoding', name);
			r.end(data);
		}])),
});
other = await Origin.start({
	'/back': (q, r) => redirect(307, `${origin.url}/after`)(q, r),
});
const audit = path.join(freshDirectory('audit'), 'audit.jsonl');
const server = await Server.start({set: {
	'http.allow_private': 'true', 'http.max_body': '4M',
	'http.max_concurrent': '3', 'http.env': 'MCP_TOKEN',
	'env.set': 'MCP_TOKEN=s3cret', 'audit.file': audit,
}});
after(async () => {
	origin.stop();
	other.stop();
	await server.stop();
});
const client = await server.connect();

test('headers are sent in their order, with repeats and defaults', async () => {
	const headers = [['X-B', '1'], ['x-a', ' 2'], ['X-B', '3'], ['X-Empty', '']];
	await request(client, `${origin.url}/#fragment`, {
		headers: headers.map(([name, value]) => ({name, value})),
	});
	const {raw, url} = origin.last;
	assert.equal(url, '/');
	const pairs = raw.flatMap((_, i) => i % 2 ? [] : [[raw[i], raw[i + 1]]]);
	assert.deepEqual(pairs.filter(([name]) => /^x-/i.test(name)),
		[['X-B', '1'], ['x-a', '2'], ['X-B', '3'], ['X-Empty', '']]);
	const names = pairs.map(([name]) => name.toLowerCase());
	assert.deepEqual(names.filter((n) => !n.startsWith('x-')).sort(),
		['accept', 'accept-encoding', 'host']);
});

test('what frames a message is not the client\'s to say', async () => {
	await request(client, `${origin.url}/`, {method: 'POST',
		bodyBase64: encode('four'), headers: [
			{name: 'Content-Length', value: '400'},
			{name: 'Transfer-Encoding', value: 'chunked'},
			{name: 'Host', value: 'chosen.example'}]});
	assert.equal(origin.last.body.toString(), 'four');
	assert.equal(origin.last.headers['content-length'], '4');
	assert.equal(origin.last.headers.host, 'chosen.example');
	assert.equal(origin.last.headers['content-type'], undefined);
});

for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])
	test(`${method} with and without a body`, async () => {
		const bodyBase64 = encode('hello');
		await request(client, `${origin.url}/`, {method, bodyBase64});
		assert.deepEqual([origin.last.method, origin.last.body.toString()],
			[method, 'hello']);
		await request(client, `${origin.url}/`, {method});
		assert.deepEqual([origin.last.method, origin.last.body.length],
			[method, 0]);
	});

test('HEAD has no body, 204 neither', async () => {
	const head = await request(client, `${origin.url}/big`, {method: 'HEAD'});
	assert.deepEqual([head.status, head.bodyBase64], [200, '']);
	const none = await request(client, `${origin.url}/no-content`);
	assert.deepEqual([none.status, none.bodyBase64], [204, '']);
});

test('names come back in lower case, unprintable values not at all',
	async () => {
		const result = await request(client, `${origin.url}/repeats`);
		assert.deepEqual(headerOf(result, 'x-multi'), ['a', 'b']);
		assert.deepEqual(headerOf(result, 'x-latin'), []);
		assert.equal(bodyOf(result), 'body');
	});

test('a body larger than a record goes out and comes in whole', async () => {
	const result = await request(client, `${origin.url}/big`, {
		method: 'POST', bodyBase64: encode(Buffer.alloc(BIG, 'y'))});
	assert.equal(origin.last.body.length, BIG);
	assert.equal(bodyOf(result), 'x'.repeat(BIG));
});

for (const name of Object.keys(compressed))
	test(`${name} is decoded`, async () => {
		const result = await request(client, `${origin.url}/${name}`);
		assert.equal(bodyOf(result), 'squeezed');
		assert.deepEqual(headerOf(result, 'content-encoding'), []);
		assert.deepEqual(headerOf(result, 'content-length'), []);
	});

test('a body that decodes to more than http.max_body is given up', async () => {
	const e = await refusal(client, `${origin.url}/bomb`);
	assert.equal(e.code, -32603);
	assert.match(e.text, /^failed to read http\/request response body: .*http\.max_body/);
});

test('headers without end are given up', async () => {
	const e = await refusal(client, `${origin.url}/headers`);
	assert.equal(e.code, -32603);
	assert.match(e.text, /^http\/request failed: .*headers/);
});

test('userinfo becomes Basic authorization and is not sent elsewhere',
	async () => {
		const at = origin.url.replace('//', '//us%20er:pa%3Ass@');
		await request(client, `${at}/303`);
		assert.equal(origin.last.url, '/after');
		assert.equal(origin.last.headers.authorization,
			`Basic ${encode('us er:pa:ss')}`);
		await request(client, `${at}/away`);
		assert.equal(other.last.headers.authorization, undefined);
	});

test('another origin sees no header of the client, not even on the way back',
	async () => {
		const headers = ['Authorization', 'Cookie', 'X-Api-Key', 'Accept']
			.map((name) => ({name, value: 'mine'}));
		await request(client, `${origin.url}/away`, {headers,
			method: 'POST', bodyBase64: encode('again')});
		const seen = (r) => [r.headers.authorization, r.headers.cookie,
			r.headers['x-api-key'], r.headers.accept, r.method,
			r.body.toString()];
		assert.deepEqual(seen(other.last), [undefined, undefined, undefined,
			'mine', 'POST', 'again']);
		await request(client, `${origin.url}/and-back`, {headers});
		assert.deepEqual(seen(origin.last).slice(0, 4),
			[undefined, undefined, undefined, 'mine']);
		assert.equal(origin.last.url, '/after');
	});

test('redirects: a bound, another scheme, and none at all', async () => {
	const before = origin.requests.length;
	const e = await refusal(client, `${origin.url}/loop`);
	assert.deepEqual([e.code, e.text],
		[-32603, 'http/request failed: too many redirects']);
	assert.equal(origin.requests.length - before, 11);
	assert.match((await refusal(client, `${origin.url}/ftp`)).text,
		/^http\/request failed: error following redirect/);
	const stopped = await request(client, `${origin.url}/303`,
		{redirectPolicy: 'stop'});
	assert.deepEqual([stopped.status, bodyOf(stopped)], [303, 'go']);
});

test('a variable that the policy lists is appended, no other', async () => {
	const header = (valueEnvVar) =>
		[{name: 'X-Token', value: 'Bearer ', valueEnvVar}];
	await request(client, `${origin.url}/`, {headers: header('MCP_TOKEN')});
	assert.equal(origin.last.headers['x-token'], 'Bearer s3cret');
	const e = await refusal(client, `${origin.url}/`, {headers: header('PATH')});
	assert.deepEqual([e.code, e.text], [-32602, 'http/request header X-Token ' +
		'requires executor environment variable PATH']);
	const info = await client.call('environment/info', {});
	assert.equal(info.capabilities.httpHeaderEnvVars, true);
});

const wrong = [
	['a relative URL', {url: 'nope'}, /^http\/request url is invalid: /],
	['no host', {url: 'http:///'}, /^http\/request url is invalid: /],
	['a port past the last', {url: 'http://h:65536/'},
		/^http\/request url is invalid: /],
	['port 0', {url: 'http://h:0/'}, /^http\/request url is invalid: /],
	['a zone', {url: 'http://[fe80::1%25lo]/'},
		/^http\/request url is invalid: /],
	['a NUL byte', {url: 'http://h/\0'}, /^http\/request url is invalid: /],
	['a newline', {url: 'http://h/\n'}, /^http\/request url is invalid: /],
	['a number that is no address', {url: 'http://1.2.3.4.5/'},
		/^http\/request url is invalid: /],
	['another scheme', {url: 'gopher://h/'},
		/^http\/request only supports http and https URLs, got gopher$/],
	['a scheme in capitals', {url: 'FILE:///etc/passwd'}, /, got file$/],
	['no method', {method: ''}, /^http\/request method is invalid: /],
	['a method with a blank', {method: 'GE T'},
		/^http\/request method is invalid: /],
	['a nameless header', {headers: [{name: '', value: 'v'}]},
		/^http\/request header name is invalid: /],
	['a colon in a name', {headers: [{name: 'a:', value: 'v'}]},
		/^http\/request header name is invalid: /],
	['a line in a value', {headers: [{name: 'a', value: '1\r\nb: 2'}]},
		/^http\/request header value is invalid for a: /],
	['a NUL in a value', {headers: [{name: 'a', value: '\0'}]},
		/^http\/request header value is invalid for a: /],
	['headers that are null', {headers: null}, /headers/],
	['a body that is no base64', {bodyBase64: '***'}, /base64/],
	['an unknown policy', {redirectPolicy: 'maybe'}, /maybe/],
	['a negative timeout', {timeoutMs: -1}, /timeoutMs/],
	['no requestId', {requestId: undefined}, /requestId/],
];
for (const [name, more, pattern] of wrong)
	test(`refused: ${name}`, async () => {
		const e = await refusal(client, `${origin.url}/`, more);
		assert.equal(e.code, -32602);
		assert.match(e.text, pattern);
	});

test('timeoutMs is for all of it', async () => {
	const url = `${origin.url}/hang`;
	for (const timeoutMs of [0, 100])
		assert.deepEqual(await refusal(client, url, {timeoutMs})
			.then((e) => [e.code, e.text]), [-32603, 'http/request failed: ' +
				`error sending request for url (${url})`]);
	const e = await refusal(client, `${origin.url}/drip`, {timeoutMs: 1500});
	assert.match(e.text, /^failed to read http\/request response body: /);
});

test('more at a time than the policy lets is busy', own, async () => {
	const one = await server.connect();
	const hanging = () =>
		origin.requests.filter((r) => r.url === '/hang').length;
	const before = hanging();
	for (let i = 0; i < 3; i++)
		request(one, `${origin.url}/hang`).catch(() => {});
	await until(3000, 'three requests', () => hanging() === before + 3);
	const e = await refusal(one, `${origin.url}/`);
	assert.equal(e.code, -32600);
	assert.match(e.text, /^busy: .*http\.max_concurrent/);
	await one.close();
});

test('streams: the result first, an id once at a time, an empty id', async () => {
	for (const requestId of ['', 'again']) {
		const more = {requestId, streamResponse: true};
		const from = client.received.length;
		const result = await request(client, `${origin.url}/slow`, more);
		assert.deepEqual([result.status, result.bodyBase64], [200, '']);
		const e = await refusal(client, `${origin.url}/`, more);
		assert.deepEqual([e.code, e.text], [-32602, 'http/request ' +
			`streamResponse requestId \`${requestId}\` is already active`]);
		assert.equal(bodyOf(await request(client, `${origin.url}/`,
			{requestId})), 'body');
		goOn();
		const list = await wholeStream(client, requestId);
		assert.deepEqual(list.map((d) => d.seq), list.map((_, i) => i + 1));
		assert.equal(bytesOf(list).toString(), 'onetwo');
		assert.deepEqual(list.at(-1), {requestId, seq: list.length,
			deltaBase64: '', done: true, error: null});
		const ours = client.received.slice(from);
		assert.ok(ours.findIndex((m) => m.result?.status === 200) <
			ours.findIndex((m) => m.method === 'http/request/bodyDelta'));
	}
});

test('a lost connection ends what is under way, and its process', own,
	async () => {
		let closed = 0;
		const held = await Origin.start({'/': (q, r) => {
			r.write('begun');
			q.socket.on('close', () => closed++);
		}});
		const one = await server.connect();
		await request(one, `${held.url}/`,
			{requestId: 's', streamResponse: true});
		const pids = server.rolePids('http');
		await one.drop();
		await until(3000, 'end upstream', () => closed === 1);
		await until(3000, 'end of the process', () =>
			pids.filter(isAlive).length < pids.length);
		held.stop();
	});

test('L3: a killed sallyport-http ends its requests, the next one works', own,
	async () => {
		const one = await server.connect();
		const before = new Set(server.rolePids('http'));
		const waiting = refusal(one, `${origin.url}/hang`);
		await request(one, `${origin.url}/drip`,
			{requestId: 'k', streamResponse: true});
		const [pid] = server.rolePids('http').filter((p) => !before.has(p));
		process.kill(pid, 'SIGKILL');
		const e = await waiting;
		assert.equal(e.code, -32603);
		assert.match(e.text, /^http\/request failed: /);
		const last = (await wholeStream(one, 'k')).at(-1);
		assert.deepEqual([last.deltaBase64, last.done, typeof last.error],
			['', true, 'string']);
		assert.equal(bodyOf(await request(one, `${origin.url}/`)), 'body');
		await one.close();
	});

const pem = path.join(freshDirectory('tls'), 'pem');
const made = spawnSync('openssl', ['req', '-x509', '-newkey', 'ec', '-pkeyopt',
	'ec_paramgen_curve:P-256', '-nodes', '-days', '2', '-subj', '/CN=localhost',
	'-addext', 'subjectAltName=DNS:localhost', '-keyout', `${pem}.key`,
	'-out', pem], {stdio: 'ignore'}).status === 0;

test('https: http.ca_file is trusted, for the right name alone',
	{skip: foreignSkip || (made ? false : 'needs openssl')}, async () => {
		const secure = https.createServer({cert: fs.readFileSync(pem),
			key: fs.readFileSync(`${pem}.key`)}, (q, r) => r.end('secret'));
		await new Promise((resolve) => secure.listen(0, '127.0.0.1', resolve));
		const url = (host) => `https://${host}:${secure.address().port}/`;
		const trusting = await Server.start({set: {
			'http.allow_private': 'true', 'http.ca_file': pem}});
		const one = await trusting.connect();
		for (const requestId of ['first', 'kept'])
			assert.equal(bodyOf(await request(one, url('localhost'),
				{requestId})), 'secret');
		for (const [who, host] of [[one, '127.0.0.1'], [client, 'localhost']])
			assert.match((await refusal(who, url(host))).text,
				/^http\/request failed: error sending request for url/);
		await one.close();
		await trusting.stop();
		secure.closeAllConnections();
		secure.close();
	});

test('a proxy is used for all but loopback, and looks names up', own,
	async () => {
		const proxy = await Origin.start({
			'http://far.test/way': (q, r) => r.end('fetched')});
		const proxied = await Server.start({
			set: {'http.proxy': proxy.url},
			args: ['--set', `http.allow=127.0.0.1:${origin.port}`]});
		const one = await proxied.connect();
		assert.equal(bodyOf(await request(one, 'http://far.test/way')),
			'fetched');
		await request(one, `${origin.url}/`);
		assert.equal(proxy.requests.length, 1);
		for (const url of ['http://10.0.0.1/', 'http://a.local/', proxy.url])
			assert.match((await refusal(one, url)).text, /^Blocked/);
		await one.close();
		await proxied.stop();
		proxy.stop();
	});

test('an idle client of ours ends, and no descriptor stays', own, async () => {
	const brief = await Server.start({set: {
		'http.allow_private': 'true', 'limits.worker_idle': '100ms'}});
	const one = await brief.connect();
	await request(one, `${origin.url}/`);
	await until(3000, 'end of the process',
		() => brief.rolePids('http').length === 0);
	const fds = () => ['net', 'exec'].map((role) =>
		fdCount(brief.rolePids(role)[0]));
	const before = fds();
	await request(one, `${origin.url}/big`);
	await until(3000, 'end of the process',
		() => brief.rolePids('http').length === 0);
	await until(3000, 'descriptors as before',
		() => fds().every((count, i) => count <= before[i]));
	await one.close();
	await brief.stop();
});

test('every request leaves a line in the audit log, without secrets', own,
	async () => {
		await until(3000, 'lines', () => fs.readFileSync(audit, 'utf8')
			.includes('"http_request"'));
		const text = fs.readFileSync(audit, 'utf8');
		const lines = text.trim().split('\n').map((l) => JSON.parse(l))
			.filter((l) => l.event === 'http_request');
		assert.ok(lines.some((l) => l.method === 'GET' &&
			l.host === '127.0.0.1' && l.status === '200'));
		assert.ok(!/s3cret|pa:ss|fragment/.test(text));
	});

test('the presets: guarded, and off with strict', own, async () => {
	const guarded = await Server.start({set: {'audit.file': `${audit}2`}});
	const one = await guarded.connect();
	const before = origin.connections.length;
	const e = await refusal(one, `${origin.url}/`);
	assert.equal(e.code, -32603);
	assert.match(e.text, new RegExp('^Blocked hostname or private/internal IP ' +
		'in sandbox http/request: 127\\.0\\.0\\.1 .*http\\.allow_private'));
	assert.equal(origin.connections.length, before);
	await until(3000, 'audit line', () => /"outcome":"blocked".*loopback/.test(
		fs.readFileSync(`${audit}2`, 'utf8')));
	await one.close();
	await guarded.stop();
	const strict = await Server.start({args: ['--set', 'sandbox.preset=strict']});
	const two = await strict.connect();
	assert.match((await refusal(two, `${origin.url}/`)).text, /http\.enabled/);
	await two.close();
	await strict.stop();
});

test('bodies count on message_budget until they are sent or over', async (t) => {
	const small = await Server.start({set: {
		'http.allow_private': 'true', 'limits.message_budget': '4M'}});
	t.after(() => small.stop());
	const [one, two] = [await small.connect(), await small.connect()];
	const body = {bodyBase64: encode(Buffer.alloc(2 << 20, 'x')),
		method: 'POST'};

	// A request that is under way holds its body.
	one.call('http/request', {url: `${origin.url}/hang`,
		requestId: 'held', headers: [], ...body}).catch(() => {});
	await until(5000, 'the first request', () =>
		origin.requests.some((q) => q.url === '/hang' && q.method === 'POST'));
	const crowded = await refusal(two, `${origin.url}/big`);
	assert.equal(crowded.code, -32600);
	assert.match(crowded.text, /^busy: .*streamResponse/);
	await two.status();
	await one.close();

	// With it gone there is room, again and again.
	for (let i = 0; i < 4; i++) {
		const result = await request(two, `${origin.url}/big`);
		assert.equal(bodyOf(result).length, BIG);
	}
	await two.close();
});
