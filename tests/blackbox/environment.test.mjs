import assert from 'node:assert/strict';
import {after, test} from 'node:test';
import fs from 'node:fs';
import path from 'node:path';
import {Server, fileUri, foreignSkip, freshDirectory} from './lib/server.mjs';
import {inTime} from './lib/wait.mjs';

const server = await Server.start();
after(() => server.stop());
const own = {skip: foreignSkip};

test('status is exactly ready, whatever the params', async () => {
	const client = await server.connect();
	for (const params of [{}, null, undefined])
		assert.deepEqual(await client.call('environment/status', params),
			{status: 'ready'});
	await client.close();
});

test('info answers with null, empty and absent params alike', async () => {
	const client = await server.connect();
	const first = await client.call('environment/info', null);
	assert.deepEqual(await client.call('environment/info', {}), first);
	assert.deepEqual(await client.call('environment/info'), first);
	await client.close();
});

test('info describes the world that a command sees', async () => {
	const client = await server.connect();
	const info = await client.call('environment/info', null);
	assert.equal(info.cwd, server.workspaceUri);
	assert.equal(info.platformOs, 'linux');
	assert.match(info.providerId, /^sha256:[\da-f]{64}$/);
	assert.match(info.userHomeDir, /^file:\/\/\//);
	assert.match(info.tempDir, /^file:\/\/\//);
	assert.ok(Array.isArray(info.prependPathDirs));
	assert.ok(Array.isArray(info.temporaryDirectories));
	const {exitCode} = await client.shell(
		`[ -x "${info.shell.path}" ] && [ -d "$TMPD" ] && [ -w "$TMPD" ]`,
		{env: {PATH: '/usr/bin:/bin',
			TMPD: decodeURIComponent(info.tempDir.slice(7))}});
	assert.equal(exitCode, 0);
	await client.close();
});

test('the shell is bash where there is one', own, async () => {
	const client = await server.connect();
	const {shell} = await client.call('environment/info', null);
	assert.deepEqual(shell, fs.existsSync('/bin/bash') ?
		{name: 'bash', path: '/bin/bash'} : {name: 'sh', path: '/bin/sh'});
	await client.close();
});

test('version and capabilities are those that are there', own, async () => {
	const client = await server.connect();
	const info = await client.call('environment/info', null);
	assert.equal(info.executorVersion, '0.171.0');
	const {processCloseStdin, processResize, ...others} = info.capabilities;
	assert.equal(processCloseStdin, true);
	assert.equal(processResize, true);
	assert.equal(others.networkProxyLaunch, false);
	for (const [name, value] of Object.entries(others))
		assert.equal(typeof value, 'boolean', name);
	await client.close();
});

test('providerId is the same for the same policy, another for another', own,
	async () => {
		const ids = [];
		const {workspace} = server;
		for (const args of [[], [], ['--preset', 'strict']]) {
			const s = await Server.start({args, workspace, keep: true});
			const client = await s.connect();
			ids.push((await client.call('environment/info')).providerId);
			await s.stop();
		}
		assert.equal(ids[0], ids[1]);
		assert.notEqual(ids[0], ids[2]);
	});

test('the first workspace is the cwd, its name encoded', own, async () => {
	const dir = path.join(freshDirectory(), 'sp ace #1 100% ö');
	fs.mkdirSync(dir);
	const second = freshDirectory();
	const s = await Server.start(
		{workspace: dir, args: ['--workspace', second]});
	try {
		const client = await s.connect();
		const info = await client.call('environment/info');
		assert.equal(info.cwd, fileUri(dir));
		const {stdout} = await client.shell('pwd', {cwd: info.cwd});
		assert.equal(stdout, `${dir}\n`);
	} finally {
		await s.stop();
	}
});

test('info runs no start-up file and is quick', async () => {
	const home = freshDirectory('home');
	for (const name of ['.profile', '.bashrc', '.zshenv'])
		fs.writeFileSync(path.join(home, name), 'touch ~/ran; read x\n');
	const s = await Server.start({env: {HOME: home}});
	try {
		const client = await s.connect();
		await inTime(1000, () => client.call('environment/info'));
		assert.ok(!fs.existsSync(path.join(home, 'ran')));
	} finally {
		await s.stop();
		fs.rmSync(home, {recursive: true});
	}
});

test('a login shell that the client asks for gets end of input', async () => {
	const client = await server.connect();
	const process = await client.start(
		['/bin/bash', '-lc', 'read x; echo ok']);
	assert.equal((await process.end(5000)).stdout, 'ok\n');
	await client.close();
});
