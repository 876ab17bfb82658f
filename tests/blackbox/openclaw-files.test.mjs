// The file operations in the other wire form: fewer of them, other texts.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import {after, test} from 'node:test';
import {Client, encode} from './lib/client.mjs';
import {
	INTERNAL, INVALID_PARAMS, INVALID_REQUEST, NOT_FOUND, pattern, scratch,
} from './lib/files.mjs';
import {Server, foreignSkip} from './lib/server.mjs';

if (foreignSkip) {
	test('openclaw files', {skip: foreignSkip}, () => {});
	process.exit();
}

const server = await Server.start({args: ['--compat', 'openclaw']});
after(() => server.stop());
const client = await Client.connect(server.url,
	{initialized: false, params: {}, cwd: server.workspaceUri});

const missing = [NOT_FOUND, 'file not found'];

test('19: what is missing is -32004 "file not found"', async () => {
	const files = scratch(server, client);
	for (const method of ['readFile', 'getMetadata', 'canonicalize',
		'readDirectory'])
		await files.fails(method, {path: 'no'}, missing);
	await files.fails('open', {handleId: 'h', path: 'no'}, missing);
	await files.fails('writeFile', {path: 'no/f', dataBase64: ''}, missing);
	await files.fails('remove', {path: 'no', force: false}, missing);
	await files.fails('copy', {sourcePath: 'no', destinationPath: 'x',
		recursive: false}, missing);
});

test('files are written, read, listed, copied and removed', async () => {
	const files = scratch(server, client);
	await files.call('createDirectory', {path: 'a/b', recursive: true});
	for (const size of [0, 1, 65537, 1048577]) {
		await files.write('a/f', pattern(size));
		assert.deepEqual(await files.read('a/f'), pattern(size));
	}
	assert.deepEqual((await files.list('a')).map((e) =>
		[e.fileName, e.isDirectory, e.isFile]).sort(),
	[['b', true, false], ['f', false, true]]);
	await files.copy('a', 'c', true);
	assert.deepEqual(await files.read('c/f'), pattern(1048577));
	await files.call('remove', {path: 'a'});
	assert.deepEqual(fs.readdirSync(files.dir), ['c']);
	assert.equal((await files.stat('c/f')).size, 1048577);
});

test('handles have this form\'s words', async () => {
	const files = scratch(server, client, {f: 'abc'});
	await files.open('h', 'f');
	await files.fails('open', {handleId: 'h', path: 'f'},
		[INVALID_REQUEST, 'file read handle `h` already exists']);
	await files.fails('open', {handleId: 'x'.repeat(33), path: 'f'},
		[INVALID_REQUEST, 'file read handle ID must not exceed 32 bytes']);
	await files.fails('readBlock', {handleId: 'no', offset: 0, len: 1},
		[NOT_FOUND, 'unknown file read handle `no`']);
	for (const len of [0, 1048577])
		await files.fails('readBlock', {handleId: 'h', offset: 0, len},
			[INVALID_REQUEST,
				'file read block length must be between 1 and 1048576']);
	assert.equal((await files.readBlock('h', 1, 2)).chunk, encode('bc'));
	for (let i = 1; i < 128; i++)
		await files.open(`h${i}`, 'f');
	await files.fails('open', {handleId: 'more', path: 'f'},
		[INVALID_REQUEST,
			'at most 128 file reads may be open per connection']);
	await files.close('h');
	await files.open('more', 'f');
});

test('fs/walk with a path walks, without one it is unknown', async () => {
	const files = scratch(server, client, {'d/f': 'x'});
	assert.equal((await files.walk('')).entries.length, 2);
	for (const params of [{}, undefined]) {
		const error = await client.refusal('fs/walk', params);
		assert.equal(error.code, -32601, JSON.stringify(params));
		assert.equal(error.text,
			'Unsupported OpenClaw sandbox exec-server method: fs/walk');
	}
});

test('what only the other form has is -32601', async () => {
	for (const method of ['fs/watchMissing', 'environmentConfig/read']) {
		const error = await client.refusal(method, {});
		assert.equal(error.code, -32601);
		assert.equal(error.text,
			`Unsupported OpenClaw sandbox exec-server method: ${method}`);
	}
});

test('errors of paths and base64 have the other form\'s codes', async () => {
	const files = scratch(server, client, {f: 'x', d: null});
	await files.fails('writeFile', {path: 'f', dataBase64: 'eA'},
		[INVALID_REQUEST, /valid base64/]);
	await files.fails('readFile', {path: 'd'},
		[INVALID_REQUEST, `path \`${files.at('d')}\` is not a file`]);
	await files.fails('createDirectory', {path: 'f'},
		[INTERNAL, 'File exists (os error 17)']);
	for (const path of ['x', 'https://x/y', 'file:///a?b'])
		assert.equal((await client.refusal('fs/readFile', {path})).code,
			INVALID_PARAMS);
	await files.copy('f', 'f');
	assert.equal(fs.readFileSync(files.at('f'), 'utf8'), 'x');
});
