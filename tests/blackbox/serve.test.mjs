// The command line of sallyport serve.
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {spawn} from 'node:child_process';
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import {Client} from './lib/client.mjs';
import {
	Server, binary, foreignSkip, freshDirectory, ipv6Skip,
} from './lib/server.mjs';
import {until, within} from './lib/wait.mjs';

const own = {skip: foreignSkip};

/** Run sallyport to its end. */
async function run(args, options = {}) {
	const child = spawn(binary, args, {stdio: ['ignore', 'pipe', 'pipe'],
		...options});
	let stdout = '';
	let stderr = '';
	child.stdout.on('data', (d) => { stdout += d; });
	child.stderr.on('data', (d) => { stderr += d; });
	const code = await within(5000, 'end of sallyport', new Promise((resolve) =>
		child.on('close', resolve))).catch((e) => {
		child.kill('SIGKILL');
		throw new Error(`${e.message}: ${stderr}`);
	});
	return {code, stdout, stderr};
}

test('--help and --version go to stdout and exit 0', own, async () => {
	for (const args of [['--help'], ['serve', '--help'], ['--version']]) {
		const {code, stdout} = await run(args);
		assert.equal(code, 0, args.join(' '));
		assert.ok(stdout.length > 0);
	}
	assert.match((await run(['--version'])).stdout, /libwebsockets/);
});

for (const args of [
	[], ['no-such-command'], ['serve', '--no-such'], ['serve', 'extra'],
	['serve', '--listen', 'ws://example.test:1'], ['serve', '--listen', 'x'],
	['serve', '--listen', 'wss://127.0.0.1:0'],
	['serve', '--listen', 'ws://0.0.0.0:0'],
	['serve', '--listen', 'ws://[::]:0'],
	['serve', '--listen', 'ws://192.0.2.1:0'],
	['serve', '--workspace', '/no/such/directory'],
	['serve', '--workspace', '/etc/passwd'],
	['serve', '--preset', 'none'], ['serve', '--compat', 'other'],
	['serve', '--config', '/no/such/file'], ['serve', '--set', 'x'],
])
	test(`"sallyport ${args.join(' ')}" exits 2 and says why`, own, async () => {
		const {code, stdout, stderr} = await run(args,
			{cwd: freshDirectory()});
		assert.equal(code, 2, stderr);
		assert.equal(stdout, '');
		assert.ok(stderr.length > 0);
	});

test('a port in use exits 1 and says so', own, async () => {
	const taken = net.createServer().listen(0, '127.0.0.1');
	await new Promise((resolve) => taken.once('listening', resolve));
	const {port} = taken.address();
	const {code, stderr} = await run(
		['serve', '--listen', `ws://127.0.0.1:${port}`, '--workspace',
			freshDirectory()]);
	assert.equal(code, 1);
	assert.match(stderr, /already in use/i);
	taken.close();
});

for (const [listen, skip] of [['ws://127.0.0.1:0', false],
	['ws://127.0.0.2:0', false], ['ws://[::1]:0', ipv6Skip]])
	test(`${listen} is the address`, {skip: foreignSkip || skip}, async () => {
		const s = await Server.start({args: ['--listen', listen]});
		assert.ok(s.url.startsWith(listen.slice(0, -1)), s.url);
		const client = await s.connect();
		await client.status();
		await s.stop();
	});

test('each start has another secret', own, async () => {
	const paths = new Set();
	for (let i = 0; i < 3; i++) {
		const s = await Server.start();
		paths.add(s.path);
		await s.stop();
	}
	assert.equal(paths.size, 3);
});

test('--url-file writes the URL there, mode 0600, and none to stdout', own,
	async () => {
		const file = path.join(freshDirectory(), 'url');
		const workspace = freshDirectory();
		const child = spawn(binary,
			['serve', '--workspace', workspace, '--url-file', file],
			{stdio: ['ignore', 'pipe', 'pipe']});
		let stdout = '';
		let stderr = '';
		child.stdout.on('data', (d) => { stdout += d; });
		child.stderr.on('data', (d) => { stderr += d; });
		try {
			const url = await until(10000, 'URL file', () =>
				fs.existsSync(file) && fs.readFileSync(file, 'utf8').trim());
			assert.equal(fs.statSync(file).mode & 0o777, 0o600);
			const client = await Client.connect(url);
			await client.status();
		} finally {
			child.kill('SIGTERM');
			await new Promise((resolve) => { child.on('close', resolve); });
		}
		assert.equal(stdout, '', stderr);
	});

test('the current directory is the workspace when none is named', own,
	async () => {
		const cwd = freshDirectory();
		const s = await Server.start({cwd,
			command: `${binary} serve`});
		const client = await s.connect();
		const info = await client.call('environment/info');
		assert.equal(info.cwd, `file://${cwd}`);
		await s.stop();
	});

test('every line on stderr is one event', own, async () => {
	const s = await Server.start();
	const client = await s.connect();
	await client.shell('echo x; echo y >&2');
	await s.stop();
	for (const line of s.stderr.trim().split('\n'))
		assert.match(line, /^(\w+: )?(error|warn|info|debug) \w+/);
});

test('values of --set win over the file', own, async () => {
	const config = path.join(freshDirectory('config'), 'sallyport.conf');
	fs.writeFileSync(config, '[limits]\nconnections_max = 1\n');
	const s = await Server.start({args: ['--config', config],
		set: {'limits.connections_max': '3'}});
	for (let i = 0; i < 3; i++)
		await s.connect();
	await assert.rejects(s.connect());
	await s.stop();
});

for (const text of ['[nowhere]\nx = 1\n', '[limits]\nno_such = 1\n',
	'[limits]\nconnections_max = many\n', 'connections_max\n',
	'[limits\nx=1\n'])
	test(`a configuration ${JSON.stringify(text)} is refused with its line`,
		own, async () => {
			const dir = freshDirectory('config');
			const config = path.join(dir, 'sallyport.conf');
			fs.writeFileSync(config, text);
			const {code, stderr} = await run(['serve', '--config', config,
				'--workspace', freshDirectory()]);
			assert.equal(code, 2);
			assert.match(stderr, /sallyport\.conf/);
			assert.match(stderr, /[12]/);
		});
