// File operations under a request's own sandbox: what its entries grant, deny
// and leave out, through links and over what is equally specific.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import {after, test} from 'node:test';
import {scratch} from './lib/files.mjs';
import {Server, fileUri, foreignSkip, freshDirectory} from './lib/server.mjs';

const server = await Server.start();
after(() => server.stop());
const client = await server.connect();
const own = {skip: foreignSkip};
const text = (file) => fs.readFileSync(file, 'utf8');

/** entries: [name or special kind, access], names below the directory. */
const managed = (files, ...entries) => ({
	permissions: {
		type: 'managed', network: 'restricted',
		file_system: {type: 'restricted', entries: entries.map(
			([name, access]) => ({
				path: name === 'minimal' ?
					{type: 'special', value: {kind: 'minimal'}} :
					{type: 'path', path: files.uri(name)},
				access,
			}))},
	},
	cwd: files.uri(''), windowsSandboxLevel: 'disabled',
});

/** Names that hide inside the file system, for methods of one path. */
function under(files, sandbox) {
	const call = (method, params) => files.call(method, {...params, sandbox});
	const refused = async (method, params) => {
		const error = await files.client.refusal(`fs/${method}`, {
			...params, sandbox,
			...('path' in params ? {path: files.uri(params.path)} : {
				sourcePath: files.uri(params.sourcePath),
				destinationPath: files.uri(params.destinationPath),
			}),
		});
		assert.ok([-32004, -32600, -32603].includes(error.code),
			error.message);
	};
	return {call, refused};
}

const write = (name) => ({path: name, dataBase64: 'cHdu'});

test('links lead to what is granted, and not outside of it', own, async () => {
	const outside = freshDirectory('outside');
	fs.writeFileSync(path.join(outside, 'secret.txt'), 'top');
	const files = scratch(server, client, {
		'in/real.txt': 'in', ok: {link: 'in/real.txt'},
		leak: {link: path.join(outside, 'secret.txt')},
		leakdir: {link: outside},
	});
	const {call, refused} = under(files, managed(files, ['', 'write']));
	await refused('readFile', {path: 'leak'});
	await refused('readFile', {path: 'leakdir/secret.txt'});
	await refused('writeFile', write('leak'));
	await refused('writeFile', write('leakdir/new.txt'));
	await refused('readDirectory', {path: 'leakdir'});
	await refused('readFile',
		{path: `file://${files.dir}/../../${path.basename(outside)}/secret.txt`});
	await call('copy', {sourcePath: 'leak', destinationPath: 'c.txt',
		recursive: false});
	assert.ok(fs.lstatSync(files.at('c.txt')).isSymbolicLink());
	assert.deepEqual(await call('readFile', {path: 'ok'}),
		{dataBase64: 'aW4='});
	assert.equal(text(path.join(outside, 'secret.txt')), 'top');
	assert.deepEqual(fs.readdirSync(outside), ['secret.txt']);
	fs.rmSync(outside, {recursive: true});
});

test('200 files through a link inside what is granted', own, async () => {
	const files = scratch(server, client,
		{'oc/memory': null, memory: {link: 'oc/memory'}});
	const {call} = under(files, managed(files, ['', 'write']));
	for (let i = 0; i < 200; i++)
		assert.deepEqual(await call('writeFile', write(`memory/n${i}`)), {});
	assert.equal(fs.readdirSync(files.at('oc/memory')).length, 200);
});

test('the most specific entry decides, deny beats write beats read', own,
	async () => {
		const files = scratch(server, client, {
			top: 't', 'repo/x': 'x', 'repo/.git/HEAD': 'h',
			'repo/.git/wt/w1/HEAD': 'w', 'repo/.git/wt/w1/locked/k': 'k',
		});
		const {call, refused} = under(files, managed(files, ['', 'read'],
			['repo', 'write'], ['repo/.git', 'read'],
			['repo/.git/wt/w1', 'write'], ['repo/.git/wt/w1/locked', 'deny']));
		await refused('writeFile', write('top'));
		assert.deepEqual(await call('writeFile', write('repo/x')), {});
		await refused('writeFile', write('repo/.git/HEAD'));
		assert.deepEqual(
			await call('writeFile', write('repo/.git/wt/w1/HEAD')), {});
		await refused('readFile', {path: 'repo/.git/wt/w1/locked/k'});
		const tie = under(files, managed(files,
			['repo/x', 'read'], ['repo/x', 'deny']));
		await tie.refused('readFile', {path: 'repo/x'});
	});

test('a tree with something read-only in it is not removed', own, async () => {
	const files = scratch(server, client,
		{'repo/x': 'x', 'repo/.git/HEAD': 'h'});
	const {refused} = under(files, managed(files, ['', 'read'],
		['repo', 'write'], ['repo/.git', 'read']));
	await refused('remove', {path: 'repo', recursive: true});
	assert.equal(text(files.at('repo/.git/HEAD')), 'h');
	assert.equal(text(files.at('repo/x')), 'x');
});

test('what is denied is read by no call', own, async () => {
	const files = scratch(server, client,
		{'ok/a': 'ok', 'denied/f': 'SECRET'});
	const {call, refused} = under(files, managed(files, ['', 'write'],
		['denied', 'deny']));
	assert.deepEqual(await call('readFile', {path: 'ok/a'}),
		{dataBase64: 'b2s='});
	await refused('readFile', {path: 'denied/f'});
	await refused('readFile', {path: 'ok/../denied/f'});
	await refused('copy', {sourcePath: 'denied/f', destinationPath: 'got',
		recursive: false});
	assert.ok(!fs.existsSync(files.at('got')));
});

test('createDirectory under what is granted is as without', own, async () => {
	const files = scratch(server, client);
	const {call, refused} = under(files, managed(files, ['', 'write']));
	for (const name of ['a/b/c', 'a/b/c', 'dflt/one'])
		assert.deepEqual(await call('createDirectory', {path: name}), {});
	assert.deepEqual(await call('writeFile', write('a/b/c/f')), {});
	await refused('createDirectory', {path: 'x/y', recursive: false});
	await refused('createDirectory', {path: 'a/b/c/f'});
});

test('an entry on a link to the outside hurts nothing else', own, async () => {
	const outside = freshDirectory('outside');
	fs.writeFileSync(path.join(outside, 'HEAD'), 'h');
	const files = scratch(server, client, {'.git': {link: outside}, a: 'a'});
	const {call, refused} = under(files, managed(files, ['', 'write'],
		['.git', 'read']));
	assert.deepEqual(await call('readFile', {path: 'a'}),
		{dataBase64: 'YQ=='});
	assert.deepEqual(await call('writeFile', write('a')), {});
	await refused('writeFile', write('.git/HEAD'));
	assert.equal(text(path.join(outside, 'HEAD')), 'h');
	fs.rmSync(outside, {recursive: true});
});

test('an unknown kind of permissions is no permission', async () => {
	const files = scratch(server, client, {f: 'x'});
	await client.refusal('fs/readFile', {
		path: fileUri(files.at('f')),
		sandbox: {permissions: {type: 'brand-new-kind'}},
	});
});
