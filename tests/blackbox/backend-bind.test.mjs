// The file methods of a backend that has a directory of this host under
// another path: workers of this host serve that one alone, under its name there.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import {test} from 'node:test';
import {EACCES, ENOENT, EROFS, Files, INTERNAL} from './lib/files.mjs';
import {farChecks} from './lib/farfiles.mjs';
import {
	fileUri, foreignSkip, freshDirectory, withServer,
} from './lib/server.mjs';

/** As programs know it; there is none of that name on this host. */
const GUEST = '/srv/guest-of-sallyport/work';

/** Everybody's, as sessions have ids of their own. */
function writable(directory) {
	fs.mkdirSync(directory, {recursive: true});
	fs.chmodSync(directory, 0o777);
	return directory;
}

const keysOf = (host, guest = GUEST) => ({'backend.type': 'command',
	'backend.start': 'sh -c {command}', 'backend.files': 'bind',
	'backend.bind': `${host}:${guest}`});

/** Body with files below GUEST, of a server that binds this in a workspace. */
const bound = (what, name, args, body) => test(what, {skip: foreignSkip},
	async (t) => {
		const workspace = writable(freshDirectory());
		const host = writable(path.join(workspace, name));
		fs.writeFileSync(path.join(workspace, 'beside'), 'secret');
		await withServer({workspace, args, set: keysOf(host)},
			async (server) => {
				const client = await server.connect();
				await body(new Files(client, GUEST), {client, host, server, t});
				await client.close();
			});
	});

const PRESETS = [['workspace', []], ['strict', ['--preset', 'strict']],
	['open', ['--preset', 'open', '--set', 'sandbox.allow_root=true']]];

for (const [preset, args] of PRESETS)
	for (const [what, name] of [['a workspace', ''], ['a part', 'in/it']])
		bound(`${what} under the preset ${preset}`, name, args,
			async (files, {client, host, t}) => {
				const checks = Object.entries(farChecks)
					.filter(([check]) => !check.startsWith('large'));
				for (const [i, [check, body]] of checks.entries())
					await t.test(check, async () => {
						const dir = path.join(GUEST, `d${i}`);
						writable(path.join(host, `d${i}`));
						await body(new Files(client, dir), client);
					});
				await nothingElse(files, host);
			});

/** Nothing of this host is there but the directory, and that by one name. */
async function nothingElse(files, host) {
	fs.writeFileSync(path.join(host, 'f'), 'text');
	assert.equal(String(await files.read('f')), 'text');
	for (const elsewhere of ['/etc/passwd', '/usr/bin/sh', '/bin/sh', host,
		path.join(host, 'f'), path.join(host, '..', 'beside'),
		path.join(GUEST, '..', 'beside'), '/tmp/x'])
		await files.fails('readFile', {path: elsewhere}, ENOENT);
	const parts = GUEST.split('/');
	for (let n = 2; n < parts.length; n++)
		assert.deepEqual(await files.names(parts.slice(0, n).join('/')),
			[parts[n]]);
	const top = await files.names('/');
	assert.deepEqual(top.filter((name) =>
		!['dev', 'proc', 'srv'].includes(name)), []);
}

bound('names are those of the place', '', [], async (files, {client, host}) => {
	await files.write('f', 'x');
	assert.equal(fs.readFileSync(path.join(host, 'f'), 'utf8'), 'x');
	assert.deepEqual(await files.call('canonicalize', {path: 'f'}),
		{path: fileUri(path.join(GUEST, 'f'))});
	const info = await client.call('environment/info', {});
	assert.equal(info.cwd, fileUri(GUEST));
});

bound('the first directory of a server that binds a part', 'part', [],
	async (files, {client}) => {
		const info = await client.call('environment/info', {});
		assert.equal(info.cwd, fileUri(GUEST));
	});

bound('links lead where they lead there, and not out', '', [],
	async (files, {host}) => {
		fs.writeFileSync(path.join(host, 'f'), 'text');
		for (const [name, target] of [['in', 'f'],
			['there', path.join(GUEST, 'f')], ['out', '/etc/passwd'],
			['here', path.join(host, 'f')], ['up', '../beside']])
			fs.symlinkSync(target, path.join(host, name));
		assert.equal(String(await files.read('in')), 'text');
		assert.equal(String(await files.read('there')), 'text');
		for (const name of ['out', 'here', 'up']) {
			await files.fails('readFile', {path: name}, ENOENT);
			await files.fails('writeFile', {path: `${name}/x`,
				dataBase64: ''}, ENOENT);
		}
	});

test('what is protected in it stays so under the other name',
	{skip: foreignSkip}, async () => {
		const workspace = writable(freshDirectory());
		const inside = writable(path.join(workspace, 'inside'));
		writable(path.join(workspace, '.git'));
		fs.writeFileSync(path.join(workspace, '.git', 'config'), 'x');
		for (const name of ['denied', 'kept'])
			fs.writeFileSync(path.join(writable(path.join(inside, name)),
				'f'), 'x', {mode: 0o666});
		const config = path.join(freshDirectory(), 'conf');
		fs.writeFileSync(config, '[sandbox]\nprofile = p\n[profile "p"]\n' +
			'read = /\nwrite = {workspace}\n' +
			`deny = ${inside}/denied\nread = ${inside}/kept\n` +
			`read = ${workspace}/.git\n`);
		const args = ['--config', config];
		const set = keysOf(workspace);
		await withServer({workspace, args, set}, async (server) => {
			const files = new Files(await server.connect(), GUEST);
			await files.write('inside/f', 'x');
			await files.fails('readFile', {path: 'inside/denied/f'}, EACCES);
			const protectedFrom = (file) =>
				files.fails('writeFile', {path: file, dataBase64: ''}, EROFS);
			assert.equal(String(await files.read('inside/kept/f')), 'x');
			await protectedFrom('inside/kept/f');
			assert.equal(String(await files.read('.git/config')), 'x');
			await protectedFrom('.git/config');
			await protectedFrom('.git/hooks');
			fs.rmSync(path.dirname(config), {recursive: true});
		});
	});

bound('what cannot be enforced there is refused', '', [],
	async (files, {client}) => {
		for (const [permissions, text] of [
			[{type: 'managed', network: 'enabled',
				file_system: {type: 'restricted', entries: []}},
			'Codex process filesystem sandbox restrictions cannot be ' +
				'enforced by the backend.'],
			[{type: 'external', network: 'restricted'},
				'Codex network restrictions cannot be enforced by the ' +
				'sandbox backend.'],
		]) {
			const error = await client.refusal('fs/readFile', {
				path: files.uri('f'),
				sandbox: {permissions, windowsSandboxLevel: 'disabled'}});
			assert.equal(error.code, INTERNAL);
			assert.equal(error.text, text);
		}
	});

test('what is no workspace and lies in none is not bound',
	{skip: foreignSkip}, async () => {
		const workspace = writable(freshDirectory());
		fs.symlinkSync('/etc', path.join(workspace, 'link'));
		for (const host of ['/etc', path.dirname(workspace),
			`${workspace}-beside`])
			await assert.rejects(
				withServer({workspace, keep: true, set: keysOf(host)}, () => {}),
				/backend\.bind: \S+ is no workspace and lies in none/);
		await withServer({workspace,
			set: keysOf(path.join(workspace, 'link'))}, async (server) => {
			const files = new Files(await server.connect(), GUEST);
			await files.fails('readFile', {path: 'passwd'}, ENOENT);
		});
	});

test('it has any name there', {skip: foreignSkip}, async () => {
	for (const guest of ['/tmp/there', '/usr', '/etc', '/home/a', '/beside']) {
		const workspace = writable(freshDirectory());
		const host = writable(path.join(workspace, 'in'));
		const name = guest === '/beside' ?
			path.join(workspace, 'beside') : guest;
		await withServer({workspace, set: keysOf(host, name)},
			async (server) => {
				const files = new Files(await server.connect(), name);
				await files.write('f', 'x');
				assert.equal(String(await files.read('f')), 'x');
				assert.deepEqual(await files.names(name), ['f']);
				const around = path.dirname(name);
				const others = (await files.names(around)).filter((n) =>
					around !== '/' || !['dev', 'proc'].includes(n));
				assert.deepEqual(others, [path.basename(name)]);
				await files.fails('readFile', {path: path.join(host, 'f')},
					ENOENT);
			});
	}
});

bound('one that has gone, or is another thing now, is not there', 'in', [],
	async (files, {host, server}) => {
		const again = async () => new Files(await server.connect(), GUEST);

		await files.write('f', 'x');
		fs.rmSync(host, {recursive: true});
		await files.fails('readFile', {path: 'f'}, ENOENT);
		await (await again()).fails('readFile', {path: 'f'}, ENOENT);
		fs.symlinkSync('/etc', host);
		for (const name of ['', 'passwd'])
			await (await again()).fails('getMetadata', {path: name}, ENOENT);
		fs.rmSync(host);
		fs.writeFileSync(host, 'file');
		assert.equal(String(await (await again()).read('')), 'file');
		fs.rmSync(host);
		writable(host);
		fs.writeFileSync(path.join(host, 'f'), 'y');
		assert.equal(String(await (await again()).read('f')), 'y');
	});

test('without it, the preset open shows all of this host',
	{skip: foreignSkip}, async () => {
		const set = {...keysOf('/'), 'backend.files': 'local',
			'sandbox.allow_root': 'true'};
		delete set['backend.bind'];
		await withServer({args: ['--preset', 'open'], set}, async (server) => {
			const files = new Files(await server.connect(), '/');
			assert.ok((await files.read('/etc/passwd')).length > 0);
			await files.fails('readFile', {path: GUEST}, ENOENT);
		});
	});
