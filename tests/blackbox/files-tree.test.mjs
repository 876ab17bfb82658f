// fs/createDirectory, fs/readDirectory, fs/walk, fs/remove and fs/copy.
import assert from 'node:assert/strict';
import {execFileSync} from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import {after, test} from 'node:test';
import {
	EEXIST, EISDIR, ENOENT, ENOTDIR, ENOTEMPTY, INTERNAL, INVALID_PARAMS,
	INVALID_REQUEST, pattern, scratch, sha256,
} from './lib/files.mjs';
import {Server, fileUri, foreignSkip, isSanitized} from './lib/server.mjs';

const server = await Server.start();
after(() => server.stop());
const client = await server.connect();
const own = {skip: foreignSkip};
const MIB = 1024 * 1024;

const modeOf = (file) => fs.lstatSync(file).mode & 0o7777;
const text = (file) => fs.readFileSync(file, 'utf8');
const fifo = (file) => execFileSync('mkfifo', ['-m', '666', file]);

test('createDirectory makes parents, one that exists is fine', async () => {
	const files = scratch(server, client, {f: 'x'});
	const make = (name, recursive) =>
		files.call('createDirectory', {path: name, recursive});
	assert.deepEqual(await make('a/b/c', true), {});
	assert.deepEqual(await make('a/b/c', true), {});
	assert.deepEqual(await make('dflt/one'), {});
	assert.deepEqual(await make('alone', false), {});
	assert.deepEqual(await make('/', true), {});
	await files.write('a/b/c/f', '1');
	for (const name of ['f', 'a/b/c/f'])
		await files.fails('createDirectory',
			{path: name, recursive: true}, EEXIST);
	await files.fails('createDirectory', {path: 'f/x'}, ENOTDIR);
	await files.fails('createDirectory',
		{path: 'x/y', recursive: false}, ENOENT);
	await files.fails('createDirectory',
		{path: 'a', recursive: false}, EEXIST);
	assert.equal(text(files.at('a/b/c/f')), '1');
	assert.ok(!fs.existsSync(files.at('x')));
});

test('createDirectory passes no setgid bit on', async () => {
	const files = scratch(server, client, {d: null});
	fs.chmodSync(files.at('d'), 0o2777);
	await files.call('createDirectory', {path: 'd/sub/deep'});
	await files.call('createDirectory', {path: 'd/one', recursive: false});
	for (const name of ['d/sub', 'd/sub/deep', 'd/one'])
		assert.equal(modeOf(files.at(name)) & 0o7000, 0);
});

test('createDirectory outside the workspace is an error', own, async () => {
	const files = scratch(server, client);
	await files.fails('createDirectory', {path: '/etc/sallyport/x'},
		[INTERNAL, 'Read-only file system (os error 30)']);
	assert.ok(!fs.existsSync('/etc/sallyport/x'));
});

test('readDirectory tells kinds through links, and leaves dead links out',
	async () => {
		const files = scratch(server, client, {
			f: 'x', '.hidden': 'x', d: null, lf: {link: 'f'}, ld: {link: 'd'},
			dead: {link: 'no'}, loop: {link: 'loop'},
		});
		fifo(files.at('p'));
		const entries = await files.list('');
		const told = Object.fromEntries(entries.map((e) =>
			[e.fileName, [e.isDirectory, e.isFile]]));
		assert.deepEqual(told, {
			f: [false, true], '.hidden': [false, true], d: [true, false],
			lf: [false, true], ld: [true, false], p: [false, false],
		});
		assert.equal(entries.length, 6);
		assert.deepEqual(await files.list('d'), []);
		assert.deepEqual(await files.list('ld'), []);
		await files.fails('readDirectory', {path: 'f'}, ENOTDIR);
		await files.fails('readDirectory', {path: 'no'}, ENOENT);
		await files.fails('readDirectory', {path: 'dead'}, ENOENT);
	});

const MANY = isSanitized ? 4000 : 20000;

test(`readDirectory of ${MANY} names tells each once`, async () => {
	const files = scratch(server, client, {many: null});
	const names = [...Array(MANY)].map((_, i) =>
		`${String(i).padStart(5, '0')}-a-name-of-some-length-${i}`);
	for (const name of names)
		fs.writeFileSync(path.join(files.at('many'), name), '');
	assert.deepEqual(await files.names('many'), names);
});

const walked = (files, result) => result.entries.map((e) =>
	`${e.kind[0]} ${path.relative(files.dir,
		decodeURIComponent(new URL(e.path).pathname))}`);

const forest = {
	'b/f': '', 'b/a/deep/x': '', '.h/in': '', a: '', 'Z/z': '',
	lf: {link: 'a'}, ld: {link: 'b'}, 'b/up': {link: '..'},
	dead: {link: 'no'},
};

test('walk goes breadth first, by name, and follows no links', async () => {
	const files = scratch(server, client, forest);
	fifo(files.at('p'));
	const result = await files.walk('');
	assert.deepEqual(walked(files, result), [
		'd .h', 'd Z', 'f a', 'd b', 'f .h/in', 'f Z/z', 'd b/a', 'f b/f',
		'd b/a/deep', 'f b/a/deep/x',
	]);
	assert.deepEqual([result.errors, result.truncated], [[], false]);
});

test('walk stays at its depth, and prunes hidden directories', async () => {
	const files = scratch(server, client, forest);
	const flat = await files.walk('', {maxDepth: 0});
	assert.deepEqual(walked(files, flat), ['d .h', 'd Z', 'f a', 'd b']);
	assert.equal(flat.truncated, false);
	const pruned = await files.walk('', {pruneHiddenDirectories: true});
	assert.ok(walked(files, pruned).includes('d .h'));
	assert.ok(!walked(files, pruned).includes('f .h/in'));
});

test('walk stops at its maxima and says so', async () => {
	const files = scratch(server, client, forest);
	const two = await files.walk('', {maxDirectories: 2});
	assert.deepEqual(walked(files, two),
		['d .h', 'd Z', 'f a', 'd b', 'f .h/in']);
	assert.equal(two.truncated, true);
	const three = await files.walk('', {maxEntries: 3});
	assert.deepEqual(walked(files, three), ['d .h', 'd Z', 'f a']);
	assert.equal(three.truncated, true);
	const all = await files.walk('', {maxDirectories: 6, maxEntries: 11});
	assert.equal(all.truncated, false);
});

test('walk that follows enters each directory once, loops and all',
	async () => {
		const files = scratch(server, client, forest);
		const result = await files.walk('', {followDirectorySymlinks: true});
		const names = walked(files, result);
		assert.ok(names.includes('d ld'));
		assert.equal(names.filter((n) => n.endsWith('/deep/x')).length, 1);
		assert.equal(names.filter((n) => n.endsWith('/up')).length, 1);
		assert.equal(result.truncated, false);
	});

test('walk: a missing root, one that is a file, bad options', async () => {
	const files = scratch(server, client, {f: 'x'});
	const options = {maxDepth: 1, maxDirectories: 1, maxEntries: 1,
		followDirectorySymlinks: false};
	await files.fails('walk', {path: 'no', options}, ENOENT);
	await files.fails('walk', {path: 'f/x', options}, ENOTDIR);
	assert.deepEqual(await files.walk('f'),
		{entries: [], errors: [], truncated: false});
	fs.symlinkSync('.', files.at('l'));
	assert.deepEqual((await files.walk('l')).entries, []);
	assert.equal((await files.walk('l',
		{followDirectorySymlinks: true})).entries.length, 2);
	for (const key of ['maxDirectories', 'maxEntries'])
		await files.fails('walk', {path: '', options: {...options, [key]: 0}},
			[INVALID_REQUEST,
				'filesystem walk limits must be greater than zero']);
	for (const [key, max] of [
		['maxDepth', 64], ['maxDirectories', 10000], ['maxEntries', 50000],
	]) {
		await files.call('walk',
			{path: '', options: {...options, [key]: max}});
		await files.fails('walk',
			{path: '', options: {...options, [key]: max + 1}},
			[INVALID_REQUEST, 'filesystem walk limits exceed maximums: ' +
				'depth=64, directories=10000, entries=50000']);
	}
	for (const key of Object.keys(options)) {
		await files.fails('walk',
			{path: '', options: {...options, [key]: undefined}},
			[INVALID_PARAMS, `missing field \`${key}\``]);
		await files.fails('walk',
			{path: '', options: {...options, [key]: 'x'}}, [INVALID_PARAMS]);
	}
	await files.fails('walk', {path: '', options: {...options, maxDepth: -1}},
		[INVALID_PARAMS]);
	await files.fails('walk', {path: ''}, [INVALID_PARAMS,
		'missing field `options`']);
});

test('walk and remove survive a tree that changes under them', async () => {
	const files = scratch(server, client);
	const child = await client.start(['/bin/sh', '-c',
		'while :; do mkdir -p t/a/b/c t/d/e; : > t/a/b/f; mv t/d t/a/ 2>&-;' +
		' rm -rf t/a; done'], {cwd: fileUri(files.dir)});
	for (let i = 0; i < 40; i++) {
		await files.walk('');
		await files.call('remove', {path: 't'}).catch((error) =>
			assert.match(error.message, /os error/));
	}
	await child.terminate();
	await client.status();
});

test('remove takes files, trees and links, never what links lead to',
	async () => {
		const files = scratch(server, client, {
			f: 'x', 't/a/b': 'x', keep: 'k', 'kd/k': 'k', l: {link: 'keep'},
			ld: {link: 'kd'}, dead: {link: 'no'}, 'deep/l': {link: '../kd'},
			loop: {link: 'loop'},
		});
		fifo(files.at('p'));
		for (const name of ['f', 't', 'l', 'ld', 'dead', 'deep', 'p', 'loop'])
			assert.deepEqual(
				await files.call('remove', {path: name}), {}, name);
		assert.deepEqual(fs.readdirSync(files.dir).sort(), ['kd', 'keep']);
		assert.equal(text(files.at('kd/k')), 'k');
	});

test('remove: what is missing, what is not empty, what is no directory',
	async () => {
		const files = scratch(server, client, {f: 'x', 'd/f': 'x', e: null});
		assert.deepEqual(await files.call('remove', {path: 'no'}), {});
		assert.deepEqual(await files.call('remove',
			{path: 'no/such', force: true}), {});
		await files.fails('remove', {path: 'no', force: false}, ENOENT);
		await files.fails('remove', {path: 'no', recursive: false,
			force: false}, ENOENT);
		await files.fails('remove', {path: 'f/x', force: false}, ENOTDIR);
		await files.fails('remove', {path: 'd', recursive: false}, ENOTEMPTY);
		assert.deepEqual(
			await files.call('remove', {path: 'e', recursive: false}), {});
		assert.deepEqual(
			await files.call('remove', {path: 'f', recursive: false}), {});
		assert.deepEqual(fs.readdirSync(files.dir), ['d']);
	});

test('the workspace itself and the root cannot be removed', own, async () => {
	const files = scratch(server, client);
	await client.refusal('fs/remove', {path: 'file:///', recursive: false});
	await client.refusal('fs/remove', {path: 'file:///etc/passwd'});
	assert.ok(fs.existsSync(files.dir));
	assert.ok(fs.existsSync('/etc/passwd'));
});

test('copy of a file: bytes, mode and time; over what is there', async () => {
	const files = scratch(server, client,
		{f: pattern(3 * MIB), old: 'old', target: 't', l: {link: 'target'}});
	fs.chmodSync(files.at('f'), 0o751);
	fs.utimesSync(files.at('f'), 1600000000, 1600000000);
	for (const name of ['new', 'old', 'l']) {
		assert.deepEqual(await files.copy('f', name), {});
		assert.equal(sha256(fs.readFileSync(files.at(name))),
			sha256(pattern(3 * MIB)));
		assert.equal(fs.statSync(files.at(name)).mode & 0o777, 0o751);
		assert.equal(fs.statSync(files.at(name)).mtimeMs, 1600000000000);
	}
	assert.equal(fs.readlinkSync(files.at('l')), 'target');
});

test('copy of a file onto itself, also by links, changes nothing', async () => {
	const files = scratch(server, client, {f: 'whole', l: {link: 'f'}});
	fs.linkSync(files.at('f'), files.at('hard'));
	for (const [from, to] of [['f', 'f'], ['f', 'l'], ['f', 'hard']])
		assert.deepEqual(await files.copy(from, to), {});
	assert.equal(text(files.at('f')), 'whole');
	assert.equal(fs.readlinkSync(files.at('l')), 'f');
});

test('copy keeps holes as holes, and no setuid bit', async () => {
	const files = scratch(server, client, {holes: ''});
	fs.truncateSync(files.at('holes'), 64 * MIB);
	const fd = fs.openSync(files.at('holes'), 'r+');
	fs.writeSync(fd, 'middle', 32 * MIB);
	fs.closeSync(fd);
	fs.chmodSync(files.at('holes'), 0o4755);
	await files.copy('holes', 'copy');
	const st = fs.statSync(files.at('copy'));
	assert.equal(st.size, 64 * MIB);
	assert.ok(st.blocks * 512 < 4 * MIB, `${st.blocks} blocks`);
	assert.equal(st.mode & 0o7777, 0o755);
});

test('copy refuses what it cannot copy', async () => {
	const files = scratch(server, client,
		{f: 'x', d: null, 'd2/in': 'x', l: {link: 'f'}});
	fifo(files.at('p'));
	const refuse = (from, to, recursive, why) => files.fails('copy',
		{sourcePath: from, destinationPath: to, recursive}, why);
	await refuse('f', 'd', false, EISDIR);
	await refuse('f', 'no/x', false, ENOENT);
	await refuse('no', 'x', false, ENOENT);
	await refuse('f/x', 'x', false, ENOTDIR);
	await refuse('d', 'x', false, [INVALID_REQUEST,
		'fs/copy requires recursive: true when sourcePath is a directory']);
	for (const to of ['d2', 'd2/in2', 'd2/a/b'])
		await refuse('d2', to, true, [INVALID_REQUEST, 'fs/copy cannot copy ' +
			'a directory to itself or one of its descendants']);
	await refuse('d2', 'f', true, EEXIST);
	await refuse('l', 'f', false, EEXIST);
	await refuse('p', 'x', false, [INVALID_REQUEST, 'fs/copy only supports ' +
		'regular files, directories, and symlinks']);
	await files.fails('copy', {sourcePath: 'f', destinationPath: 'x'},
		[INVALID_PARAMS, 'missing field `recursive`']);
	assert.deepEqual(fs.readdirSync(files.dir).sort(),
		['d', 'd2', 'f', 'l', 'p']);
	assert.equal(text(files.at('f')), 'x');
});

test('copy of a tree merges, keeps links, skips special files', async () => {
	const files = scratch(server, client, {
		's/f': 'new', 's/sub/g': 'g', 's/l': {link: 'f'},
		's/dead': {link: 'no'}, 's/e': null, 'to/f': 'old', 'to/mine': 'm',
		l: {link: 's'}, d: {link: 'no'},
	});
	fifo(files.at('s/p'));
	assert.deepEqual(await files.copy('s', 'to', true), {});
	assert.deepEqual(fs.readdirSync(files.at('to')).sort(),
		['dead', 'e', 'f', 'l', 'mine', 'sub']);
	assert.equal(text(files.at('to/f')), 'new');
	assert.equal(text(files.at('to/mine')), 'm');
	assert.equal(fs.readlinkSync(files.at('to/l')), 'f');
	assert.equal(fs.readlinkSync(files.at('to/dead')), 'no');
	assert.deepEqual(await files.copy('s', 'deep/new/to', true), {});
	assert.equal(text(files.at('deep/new/to/sub/g')), 'g');
	assert.deepEqual(await files.copy('l', 'l2'), {});
	assert.deepEqual(await files.copy('d', 'd2'), {});
	assert.equal(fs.readlinkSync(files.at('l2')), 's');
	assert.equal(fs.readlinkSync(files.at('d2')), 'no');
});
