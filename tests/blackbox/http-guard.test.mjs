// The guard of http/request, in a network of our own where every forbidden
// address is this machine: what gets through is seen, not guessed.
import assert from 'node:assert/strict';
import {spawnSync} from 'node:child_process';
import {after, before, test} from 'node:test';
import {fileURLToPath} from 'node:url';
import {Origin, bodyOf, nameServer, request} from './lib/http.mjs';
import {Server, foreignSkip, rootSkip} from './lib/server.mjs';

const INSIDE = 'SALLYPORT_TEST_NETWORK';
const PUBLIC4 = '93.184.216.34';
const PUBLIC6 = '2606:4700::1';
const ADDRESSES = [PUBLIC4, PUBLIC6, '10.0.0.1', '172.16.0.1', '192.168.0.1',
	'100.64.0.1', '169.254.1.1', '169.254.169.254', '169.254.170.2',
	'100.100.100.200', '168.63.129.16', '192.0.0.192', '192.0.0.1',
	'192.0.2.1', '198.51.100.1', '203.0.113.1', '198.18.0.1', '192.88.99.1',
	'240.0.0.1', 'fd00:ec2::254', 'fd20:ce::254', 'fc00::1', 'fec0::1',
	'::7f00:1', '64:ff9b::7f00:1', '64:ff9b::a00:1', '64:ff9b:1::1', '100::1',
	'2001::1', '2001:2::1', '2001:db8::1', '2002:7f00:1::1', '3fff::1',
	'4000::1', '2600::5efe:a00:1', '2600::200:5efe:7f00:1'];

const four = (text) => text.split('.').map(Number);
const six = (...words) => words.flatMap((w) => [w >> 8, w & 255]);
const LOOP6 = six(0, 0, 0, 0, 0, 0, 0, 1);
const MAPPED = six(0, 0, 0, 0, 0, 0xffff, 0x7f00, 1);
const METADATA6 = six(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254);
const NAT64 = six(0x64, 0xff9b, 0, 0, 0, 0, 0xa00, 1);
const SIXTOFOUR = six(0x2002, 0x7f00, 1, 0, 0, 0, 0, 1);

const names = {
	'public.test': [four(PUBLIC4)],
	'both.test': [four(PUBLIC4), six(0x2606, 0x4700, 0, 0, 0, 0, 0, 1)],
	'tcp.test': Object.assign([four(PUBLIC4)], {tcp: true}),
	'loop.test': [four('127.0.0.1')],
	'loop6.test': [LOOP6],
	'mapped.test': [MAPPED],
	'zero.test': [four('0.0.0.0')],
	'private.test': [four('10.0.0.1')],
	'metadata.test': [four('169.254.169.254')],
	'metadata6.test': [METADATA6],
	'nat64.test': [NAT64],
	'sixtofour.test': [SIXTOFOUR],
	'good-then-bad.test': [four(PUBLIC4), four('127.0.0.1')],
	// What is nearer is sorted to the front, but this is not.
	'good-then-private.test': [four(PUBLIC4), four('10.0.0.1')],
	'bad-then-good.test': [four('127.0.0.1'), four(PUBLIC4)],
	'good4-bad6.test': [four(PUBLIC4), LOOP6],
	'alias.test': [{cname: 'localhost'}, four('127.0.0.1')],
	'alias-private.test': [{cname: 'intern.corp'}, four('192.168.0.1')],
	// The first answer is fine; every later one is not.
	'rebind.test': (times) => [four(times === 0 ? PUBLIC4 : '127.0.0.1')],
};

const literals = [
	'127.0.0.1', '127.0.0.2', '127.1', '127.0.1', '2130706433', '0x7f000001',
	'0x7f.1', '0x7f.0.0.1', '017700000001', '0177.0.0.1', '0177.0.0.01',
	'127.0.0.1.', '0.0.0.0', '0', '0x0', '10.0.0.1', '0xa000001', '167772161',
	'012.0.0.1', '10.1', '172.16.0.1', '192.168.0.1', '0xc0a80001',
	'192.168.1', '100.64.0.1', '169.254.1.1', '169.254.169.254', '0xa9fea9fe',
	'2852039166', '0251.0376.0251.0376', '169.254.43518', '169.254.170.2',
	'100.100.100.200', '168.63.129.16', '192.0.0.192', '192.0.0.1',
	'192.0.2.1', '198.51.100.1', '203.0.113.1', '198.18.0.1', '192.88.99.1',
	'240.0.0.1', '[::1]', '[0:0:0:0:0:0:0:1]', '[0000::0001]',
	'[::ffff:127.0.0.1]', '[::ffff:7f00:1]', '[::FFFF:169.254.169.254]',
	'[0:0:0:0:0:ffff:10.0.0.1]', '[::127.0.0.1]', '[::7f00:1]',
	'[64:ff9b::7f00:1]', '[64:ff9b::10.0.0.1]', '[64:ff9b:1::1]',
	'[2002:7f00:1::1]', '[2001::1]', '[2001:2::1]', '[2001:db8::1]',
	'[100::1]', '[3fff::1]', '[4000::1]', '[fc00::1]', '[fec0::1]',
	'[fd00:ec2::254]', '[fd20:ce::254]', '[2600::5efe:a00:1]',
	'[2600::200:5efe:7f00:1]',
];
const hosts = [
	'localhost', 'LOCALHOST', 'localhost.', 'a.localhost',
	...Object.keys(names).filter((n) =>
		!['public.test', 'both.test', 'tcp.test', 'rebind.test']
			.includes(n)),
];
// Forms that mean 127.0.0.1 only to those who take them for a host.
const tricks = [
	'127。0。0。1', '１２７.0.0.1', 'ⓛocalhost', 'l%6fcalhost', '%31%32%37.0.0.1',
];

const outside = process.env[INSIDE] === undefined;
const skip = foreignSkip || rootSkip ||
	(spawnSync('unshare', ['-n', 'sh', '-c', 'ip link set lo up && ' +
		`ip addr add ${PUBLIC6}/128 dev lo nodad`]).status !== 0
		? 'needs unshare, ip and IPv6' : false);

if (outside)
	test('nothing forbidden is connected to', {skip}, () => {
		const adds = ADDRESSES.map((a) =>
			`ip addr add ${a}/${a.includes(':') ? 128 : 32} dev lo nodad`);
		const script = ['ip link set lo up', ...adds, 'exec "$@"'].join(' && ');
		const run = spawnSync('unshare', ['-n', 'sh', '-c', script, 'sh',
			process.execPath, '--test', '--test-reporter=tap',
			fileURLToPath(import.meta.url)],
		{env: {...process.env, [INSIDE]: '1', NODE_TEST_CONTEXT: undefined},
			timeout: 500000, encoding: 'utf8'});
		assert.equal(run.status, 0, run.stdout + run.stderr);
		assert.match(run.stdout, /\n# pass 9\n/);
	});
else
	inside();

function inside() {
	let origin, dns, guarded, open;
	const way = (host) => `http://${host}:${origin.port}/`;
	const to = (location) => (q, r) => {
		r.writeHead(302, {Location: location()});
		r.end();
	};

	before(async () => {
		const routes = {
			'/rebind': to(() => way('rebind.test')),
			...Object.fromEntries([...literals, ...hosts].map((host) =>
				[`/to?${host}`, to(() => way(host))])),
		};
		origin = await Origin.start(routes, {host: '::'});
		dns = await nameServer(names);
		const set = {'http.resolver': dns.address};
		guarded = await Server.start({set});
		open = await Server.start({set: {...set, 'http.allow_private': true},
			args: ['0.0.0.0/0', '::/0'].flatMap((all) =>
				['--set', `http.allow=${all}`])});
	});
	after(async () => {
		await guarded.stop();
		await open.stop();
		origin.stop();
		dns.stop();
	});

	/** How many connections there were while each was asked for. */
	async function reached(server, urls) {
		const client = await server.connect();
		const found = [];
		for (const url of urls) {
			const before = origin.connections.length;
			let text = '';
			try {
				await request(client, url, {timeoutMs: 30000});
			} catch (e) {
				text = e.text;
			}
			found.push({url, text,
				count: origin.connections.length - before});
			// Kept connections would hide the next one.
			origin.server.closeIdleConnections();
		}
		await client.close();
		return found;
	}

	const refusedAll = (found) => found.forEach(({url, text, count}) => {
		assert.equal(count, 0, `${url} was reached`);
		assert.match(text, /^Blocked hostname or private\/internal IP/, url);
	});

	test('without the guard every row reaches its address', async () => {
		const found = await reached(open, [...literals, ...hosts].map(way));
		assert.deepEqual(found.filter((f) => f.count === 0), []);
		assert.ok(found.length >= 80);
	});

	test('addresses in every form', async () =>
		refusedAll(await reached(guarded, literals.map(way))));

	test('names, whatever they resolve to', async () =>
		refusedAll(await reached(guarded, hosts.map(way))));

	test('other characters and escapes', async () => {
		for (const {url, count} of await reached(guarded, tricks.map(way)))
			assert.equal(count, 0, url);
	});

	test('userinfo does not hide a host', async () =>
		refusedAll(await reached(guarded,
			['127.0.0.1', '[::1]'].map((h) => way(`public.test@${h}`)))));

	test('public names and addresses are reached', async () => {
		const client = await guarded.connect();
		for (const host of [PUBLIC4, `[${PUBLIC6}]`, 'public.test', 'both.test',
			'PUBLIC.test.', 'tcp.test'])
			assert.equal(bodyOf(await request(client, way(host))), 'body');
		await client.close();
	});

	test('redirects to each of them', async () => {
		const client = await guarded.connect();
		for (const host of [...literals, ...hosts]) {
			const seen = origin.requests.length;
			let text = '';
			try {
				await request(client, `${way('public.test')}to?${host}`);
			} catch (e) {
				text = e.text;
			}
			assert.equal(origin.requests.length, seen + 1, host);
			assert.match(text, /^Blocked/, host);
		}
		await client.close();
	});

	test('a name is looked up once for a hop', async () => {
		const client = await guarded.connect();
		assert.equal(bodyOf(await request(client, way('rebind.test'))), 'body');
		assert.ok(origin.connections.at(-1).endsWith(PUBLIC4));
		assert.equal(dns.asked.get('rebind.test 1'), 1);
		// And again for the next, which gets the other answer.
		origin.server.closeIdleConnections();
		await assert.rejects(request(client, `${way('public.test')}rebind`),
			/Blocked/);
		await client.close();
	});

	test('localhost is never asked for outside', () => {
		assert.ok([...dns.asked.keys()].every((k) => !k.includes('localhost')));
	});
}
