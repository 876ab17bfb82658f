// Turns of the real client with our server as its environment.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import {test} from 'node:test';
import {AuditLog} from '../blackbox/lib/audit.mjs';
import {until} from '../blackbox/lib/wait.mjs';
import {Server, withServer} from '../blackbox/lib/server.mjs';
import {clientSkip, turn} from './codex.mjs';
import {command, parseResult, patch, runCommand, type} from './model.mjs';

const own = {skip: clientSkip};
const FULL = 'danger-full-access';
// Only commands of our server have this variable.
const marked = {set: {'env.set': 'SALLYPORT_MARK=on-the-server'}};

/** Do body(server, file) with file giving the path of a workspace file. */
function onServer(body) {
	return withServer(marked, (server) =>
		body(server, (name) => path.join(server.workspace, name)));
}

for (const [how, toml] of [
	['CODEX_EXEC_SERVER_URL', false], ['environments.toml', true],
])
	test(`${how}: output and exit code of a command reach the model`, own,
		() => onServer(async (server, file) => {
			let result;
			await turn(server.url, server.workspace, async function* () {
				result = yield* runCommand('echo "$SALLYPORT_MARK"; pwd; ' +
					'echo to-stderr >&2; echo made >made; exit 7');
			}, {sandbox: FULL, toml});
			assert.equal(result.code, 7, result.text);
			for (const line of ['on-the-server', server.workspace, 'to-stderr'])
				assert.ok(result.output.split('\n').includes(line),
					result.text);
			assert.equal(fs.readFileSync(file('made'), 'utf8'), 'made\n');
		}));

test('a dialogue on a terminal', own, () => onServer(async (server) => {
	let asked, answered, ended;
	await turn(server.url, server.workspace, async function* () {
		const wait = {tty: true, yield_time_ms: 1500};
		asked = parseResult((yield [command('test -t 0 && test -t 1 && ' +
			'printf "name? "; read -r n; echo "<$n> $SALLYPORT_MARK"; cat',
			wait)])[0]);
		answered = parseResult(
			(yield [type(asked.session, 'Ada\n', 1500)])[0]);
		ended = parseResult((yield [type(asked.session, '\x04', 3000)])[0]);
	}, {sandbox: FULL});
	assert.match(asked.output, /name\? /, asked.text);
	assert.match(answered.output, /<Ada> on-the-server/, answered.text);
	assert.equal(ended.code, 0, ended.text);
}));

test('patches add, change, move and delete files', own,
	() => onServer(async (server, file) => {
		let results;
		fs.writeFileSync(file('change'), 'one\ntwo\nthree\n');
		fs.writeFileSync(file('move'), 'left\nright\n');
		fs.writeFileSync(file('delete'), 'gone\n');
		await turn(server.url, server.workspace, async function* () {
			results = [
				...yield [patch('*** Add File: deep/down/new', '+fresh')],
				...yield [patch('*** Update File: change', '@@',
					' one', '-two', '+2', ' three')],
				...yield [patch('*** Update File: move',
					'*** Move to: moved', '@@', ' left', '-right', '+RIGHT')],
				...yield [patch('*** Delete File: delete')],
			];
		}, {sandbox: 'workspace-write'});
		results.forEach((text) => assert.match(text, /Success/));
		const text = (name) => fs.readFileSync(file(name), 'utf8');
		assert.equal(text('deep/down/new'), 'fresh\n');
		assert.equal(text('change'), 'one\n2\nthree\n');
		assert.equal(text('moved'), 'left\nRIGHT\n');
		for (const name of ['move', 'delete'])
			assert.ok(!fs.existsSync(file(name)), name);
	}));

test('by default a turn may read and cannot write', own,
	() => onServer(async (server, file) => {
		let read, written, patched;
		fs.writeFileSync(file('here'), 'readable\n');
		await turn(server.url, server.workspace, async function* () {
			read = yield* runCommand('echo "$SALLYPORT_MARK"; cat here');
			written = yield* runCommand('echo x >command');
			[patched] = yield [patch('*** Add File: patch', '+x')];
		});
		assert.equal(read.code, 0, read.text);
		assert.match(read.output, /on-the-server\nreadable/, read.text);
		assert.notEqual(written.code, 0, written.text);
		assert.doesNotMatch(patched, /Success/);
		assert.deepEqual(fs.readdirSync(server.workspace), ['here']);
	}));

/** A way to port, {port, cut, count, close}, that can be cut. */
async function relay(port) {
	const sockets = new Set();
	const way = {count: 0};
	const listener = net.createServer((near) => {
		const far = net.connect(port, '127.0.0.1');
		way.count++;
		for (const [from, to] of [[near, far], [far, near]]) {
			sockets.add(from);
			from.on('error', () => {});
			from.on('close', () => {
				sockets.delete(from);
				to.destroy();
			});
			from.pipe(to);
		}
	});
	way.cut = () => sockets.forEach((socket) => socket.destroy());
	way.close = () => {
		listener.close();
		way.cut();
	};
	await new Promise((resolve) => listener.listen(0, '127.0.0.1', resolve));
	way.port = listener.address().port;
	return way;
}

test('a connection that breaks costs a running command nothing', own,
	() => onServer(async (server) => {
		const way = await relay(server.port);
		const url = server.url.replace(`:${server.port}`, `:${way.port}`);
		let first, last;
		let output = '';
		try {
			await turn(url, server.workspace, async function* () {
				first = last = parseResult((yield [command(
					'for i in 1 2 3 4 5 6 7 8; do echo "[$i]"; sleep 0.4; ' +
					'done; exit 5', {yield_time_ms: 800})])[0]);
				output += first.output;
				way.cut();
				for (let i = 0; last.session !== undefined && i < 20; i++) {
					const [text] = yield [type(last.session, '', 5000)];
					last = parseResult(text);
					output += last.output;
				}
			}, {sandbox: FULL});
		} finally {
			way.close();
		}
		assert.notEqual(first.session, undefined, first.text);
		assert.ok(way.count >= 2, 'the client came back');
		assert.equal(last.code, 5, last.text);
		assert.deepEqual(output.match(/\[\d\]/g),
			[1, 2, 3, 4, 5, 6, 7, 8].map((i) => `[${i}]`));
	}));

test('the audit log has every command and every change of a turn', own,
	async () => {
		const secret = 'planted-7c21';
		const log = new AuditLog({'audit.chain': true});
		const server = await Server.start({set: {
			...log.set, 'env.set': `API_TOKEN=${secret}-token`}});
		const file = (name) => path.join(server.workspace, name);
		try {
			await turn(server.url, server.workspace, async function* () {
				yield* runCommand(`echo ${secret}-argv`);
				yield* runCommand('exit 7');
				yield [patch('*** Add File: new', `+${secret}-content`)];
				yield [patch('*** Update File: new', '@@',
					`-${secret}-content`, '+short')];
				yield [patch('*** Delete File: new')];
			}, {sandbox: 'workspace-write'});
			await until(5000, `changes\n${log.text()}`, () =>
				log.records('file_change').some((r) =>
					r.operation === 'remove'));
			await log.one('process_exit', (r) => r.status === String(7 << 8));
		} finally {
			await server.stop();
		}
		const all = log.records();
		const of = (event) => all.filter((r) => r.event === event);
		const leases = (event) => of(event).map((r) => r.lease).sort();
		const changes = of('file_change').filter((r) =>
			r.path === file('new') && r.outcome === 'done');

		assert.ok(of('process_start').length >= 2);
		assert.deepEqual(leases('process_exit'), leases('process_start'));
		assert.deepEqual(leases('process_gone'), leases('process_start'));
		assert.deepEqual(leases('process_output'), leases('process_start'));
		assert.deepEqual(changes.map((r) => r.operation),
			['write', 'write', 'remove']);
		assert.deepEqual(changes.slice(0, 2).map((r) => r.bytes),
			[`${secret}-content\n`, 'short\n'].map((t) => String(t.length)));
		assert.equal(of('session_open').length, of('session_close').length);
		assert.doesNotMatch(log.text(), /planted/);
		assert.doesNotMatch(server.stderr, /planted/);
	});
