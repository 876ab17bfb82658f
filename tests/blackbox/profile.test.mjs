// A ceiling and a filter of the configuration, as programs meet them.
import assert from 'node:assert/strict';
import {spawnSync} from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import {test} from 'node:test';
import {
	Server, binary, fileUri, foreignSkip, freshDirectory,
} from './lib/server.mjs';
import {slow} from './lib/wait.mjs';

/** Serve with that configuration; {workspace} and {conf} stand in it. */
async function serve(text, body, extra = {}) {
	const conf = freshDirectory('conf');
	const workspace = freshDirectory();
	const file = path.join(conf, 'sallyport.conf');

	for (const [name, content] of Object.entries(extra))
		fs.writeFileSync(path.join(conf, name), content);
	fs.mkdirSync(path.join(workspace, 'secrets'));
	fs.writeFileSync(path.join(workspace, 'secrets/key'), 'planted');
	fs.mkdirSync(path.join(workspace, 'src'));
	fs.chmodSync(path.join(workspace, 'src'), 0o777);
	if (process.getuid() === 0)
		spawnSync('chown', ['-R', '1234:1234', workspace]);
	fs.writeFileSync(file, text.replaceAll('{conf}', conf));
	const server = await Server.start({workspace, args: ['--config', file]});
	try {
		await body(server, await server.connect());
	} finally {
		await server.stop();
		fs.rmSync(conf, {recursive: true});
		fs.rmSync(workspace, {recursive: true, force: true});
	}
}

async function sh(client, server, script) {
	const program = await client.start(['/bin/sh', '-c', script],
		{cwd: server.workspaceUri});
	const {exitCode, stdout, output} = await program.end(10000);

	return {exitCode, text: String(stdout ?? output)};
}

const careful = `[sandbox]
profile = careful
[profile "careful"]
read = /
write = {workspace}
write = {tmp}
deny = {workspace}/secrets
read = {workspace}/src
`;

test('a profile holds for programs that restrict nothing',
	{skip: foreignSkip}, () => serve(careful, async (server, client) => {
		const at = server.workspace;

		assert.equal((await sh(client, server,
			`cat ${at}/secrets/key`)).exitCode === 0, false);
		assert.equal((await sh(client, server,
			`touch ${at}/src/x`)).exitCode === 0, false);
		assert.equal((await sh(client, server,
			`touch ${at}/new && touch /tmp/x && cat /etc/passwd`))
			.exitCode, 0);
		assert.ok(fs.existsSync(path.join(at, 'new')));
	}));

test('and for file operations', {skip: foreignSkip}, () => serve(careful,
	async (server, client) => {
		const uri = (name) => fileUri(path.join(server.workspace, name));

		await assert.rejects(client.call('fs/readFile',
			{path: uri('secrets/key'), sandbox: null}));
		await assert.rejects(client.call('fs/writeFile',
			{path: uri('src/x'), dataBase64: '', sandbox: null}));
		await client.call('fs/writeFile',
			{path: uri('new'), dataBase64: '', sandbox: null});
	}));

test('without read = / the minimal root is all there is',
	{skip: foreignSkip}, () => serve('[sandbox]\nprofile = small\n' +
		'[profile "small"]\nwrite = {workspace}\n',
	async (server, client) => {
		assert.notEqual((await sh(client, server, 'ls /root')).exitCode, 0);
		assert.notEqual((await sh(client, server, 'ls /var/lib')).exitCode, 0);
		assert.equal((await sh(client, server,
			`touch ${server.workspace}/new`)).exitCode, 0);
	}));

test('a filter of the configuration takes the place of the built-in one',
	{skip: foreignSkip}, async () => {
		const policy = spawnSync(binary, ['policy', 'export', '--text',
			'child'], {encoding: 'utf8'}).stdout;

		await serve('[sandbox]\nchild_policy = {conf}/child.policy\n',
			async (server, client) => {
				assert.equal((await sh(client, server, 'mkdir a')).exitCode === 0,
					false);
				assert.equal((await sh(client, server, ': > b')).exitCode, 0);
			}, {'child.policy': policy.replaceAll(/^mkdir(at)?\b.*\n/gm, '')});
	});

test('serve refuses what cannot be', {skip: foreignSkip}, () => {
	const conf = freshDirectory('conf');
	const workspace = freshDirectory();
	const rows = [
		['[sandbox]\nprofile = none\n', /there is no \[profile "none"\]/],
		['[sandbox]\nprofile = a\npreset = open\n[profile "a"]\nread = /\n',
			/the preset open has no ceiling/],
		['[sandbox]\nprofile = a\n[profile "a"]\nwrite = /etc\n',
			/\.conf:4: write \/etc: lies in no workspace/],
		[`[sandbox]\nprofile = a\n[profile "a"]\nwrite = {workspace}\n` +
			`deny = ${workspace}\n`, /another access/],
		['[sandbox]\nchild_policy = /no/such.policy\n', /no\/such\.policy/],
		[`[sandbox]\nchild_policy = ${conf}/bad.policy\n`,
			/bad\.policy:2:1: no such system call: raed/],
	];

	fs.writeFileSync(path.join(conf, 'bad.policy'),
		'default EPERM\nraed # a: b\n');
	for (const [text, want] of rows) {
		const file = path.join(conf, 'sallyport.conf');

		fs.writeFileSync(file, text);
		const {status, stderr} = spawnSync(binary, ['serve', '--workspace',
			workspace, '--config', file], {encoding: 'utf8', timeout: 10000 * slow});
		assert.match(stderr, want);
		assert.equal(status, 2, text);
	}
	for (const dir of [conf, workspace])
		fs.rmSync(dir, {recursive: true});
});
