// Paths as URIs: what is one, what it names, and names of any bytes.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import {after, test} from 'node:test';
import {
	ENOENT, INVALID_PARAMS, INVALID_REQUEST, scratch,
} from './lib/files.mjs';
import {Server, fileUri, foreignSkip} from './lib/server.mjs';

const server = await Server.start();
after(() => server.stop());
const client = await server.connect();
const own = {skip: foreignSkip};

const files = scratch(server, client, {
	f: 'plain', 'a b': 'blank', 'é': 'accent', 'h#a': 'hash', 'q?m': 'mark',
	'p%25': 'percent', 'p%': 'bare', '%zz': 'no digits', 'd/e/f': 'deep',
	'C:': 'drive', 'b\\s': 'backslash',
});
const D = files.dir;

async function readUri(uri) {
	const {dataBase64} = await client.call('fs/readFile', {path: uri});
	return Buffer.from(dataBase64, 'base64').toString();
}

for (const [what, uri, content] of [
	['three slashes', `file://${D}/f`, 'plain'],
	['one slash', `file:${D}/f`, 'plain'],
	['no slash', `file:${D.slice(1)}/f`, 'plain'],
	['capital letters', `FILE://${D}/f`, 'plain'],
	['localhost', `file://localhost${D}/f`, 'plain'],
	['LOCALHOST', `file://LOCALHOST${D}/f`, 'plain'],
	['blanks around', `  file://${D}/f  `, 'plain'],
	['doubled slashes', `file://${D}//d///e/f`, 'deep'],
	['dot segments', `file://${D}/./d/./e/../e/f`, 'deep'],
	['encoded dot segments', `file://${D}/%2e/d/%2E%2e/f`, 'plain'],
	['dots above the root', `file:///../../..${D}/f`, 'plain'],
	['dots over what does not exist', `file://${D}/no/../f`, 'plain'],
	['an encoded slash', `file://${D}/d%2Fe%2ff`, 'deep'],
	['an encoded backslash', `file://${D}/b%5Cs`, 'backslash'],
	['a blank, raw', `file://${D}/a b`, 'blank'],
	['a blank, encoded', `file://${D}/a%20b`, 'blank'],
	['an accent, raw', `file://${D}/é`, 'accent'],
	['an accent, encoded', `file://${D}/%C3%A9`, 'accent'],
	['an accent, in small letters', `file://${D}/%c3%a9`, 'accent'],
	['a hash, encoded', `file://${D}/h%23a`, 'hash'],
	['a question mark, encoded', `file://${D}/q%3Fm`, 'mark'],
	['a percent sign, encoded', `file://${D}/p%2525`, 'percent'],
	['a percent sign at the end', `file://${D}/p%`, 'bare'],
	['a percent sign without digits', `file://${D}/%zz`, 'no digits'],
])
	test(`${what}: names the file`, async () => {
		assert.equal(await readUri(uri), content);
	});

test('the root, trailing slashes of a directory', async () => {
	for (const uri of ['file://', 'file:///', 'file:', `file://${D}/d/`,
		`file://${D}/d//`])
		assert.equal((await client.call('fs/getMetadata',
			{path: uri})).isDirectory, true, uri);
});

const quoted = (uri) => `'${uri}' is invalid on 'linux'`;

for (const [what, uri, code, text] of [
	['nothing', '', INVALID_PARAMS,
		'invalid URI: relative URL without a base'],
	['a path', `${D}/f`, INVALID_PARAMS,
		'invalid URI: relative URL without a base'],
	['a name', 'f', INVALID_PARAMS,
		'invalid URI: relative URL without a base'],
	['https', 'https://x/f', INVALID_PARAMS,
		'unsupported path URI scheme `https`'],
	['a query', `file://${D}/f?x`, INVALID_PARAMS,
		'query parameters are not allowed in path URIs'],
	['an empty query', `file://${D}/f?`, INVALID_PARAMS,
		'query parameters are not allowed in path URIs'],
	['a fragment', `file://${D}/f#x`, INVALID_PARAMS,
		'fragments are not allowed in path URIs'],
	['a NUL', 'file:///a%00b', INVALID_PARAMS, quoted('file:///a%00b')],
	['another host', 'file://host/a', INVALID_REQUEST,
		quoted('file://host/a')],
	['an address', 'file://127.0.0.1/a', INVALID_REQUEST,
		quoted('file://127.0.0.1/a')],
	['a drive', 'file:///C:/w', INVALID_REQUEST, quoted('file:///C:/w')],
	['an encoded drive', 'file:///%43:/w', INVALID_REQUEST,
		quoted('file:///%43:/w')],
	['a user', 'file://me@localhost/a', INVALID_PARAMS, /./],
])
	for (const method of ['fs/readFile', 'fs/getMetadata',
		'fs/canonicalize', 'fs/readDirectory', 'fs/remove',
		'fs/createDirectory'])
		test(`${method}: ${what} is ${code}`, async () => {
			const error = await client.refusal(method, {path: uri});
			assert.equal(error.code, code, error.message);
			if (text instanceof RegExp)
				assert.match(error.text, text);
			else
				assert.equal(error.text, text);
		});

test('both paths of a copy are such URIs', async () => {
	for (const [sourcePath, destinationPath] of [
		['x', `file://${D}/new`], [`file://${D}/f`, 'x'],
	]) {
		const error = await client.refusal('fs/copy',
			{sourcePath, destinationPath, recursive: false});
		assert.equal(error.code, INVALID_PARAMS);
	}
	assert.ok(!fs.existsSync(`${D}/new`));
});

test('URIs sent back are encoded, in capital digits', async () => {
	const odd = scratch(server, client,
		{"A-z0.9_~ !#$%&'()*+,;=?@[]é": 'x'});
	const [{path}] = (await odd.walk('')).entries;
	assert.equal(path, fileUri(odd.dir) + '/A-z0.9_~%20%21%23%24%25%26%27' +
		'%28%29%2A%2B%2C%3B%3D%3F%40%5B%5D%C3%A9');
	assert.equal(await readUri(path), 'x');
});

test('names that are no UTF-8 are listed, read, written and removed',
	async () => {
		const odd = scratch(server, client, {'a.txt': 'a', 'u\u0308': 'nfd'});
		const raw = Buffer.concat(
			[Buffer.from(`${odd.dir}/bad-`), Buffer.from([0xff])]);
		fs.writeFileSync(raw, 'odd');
		fs.chmodSync(raw, 0o666);
		const uri = `file://${odd.dir}/bad-%FF`;
		assert.deepEqual(await odd.names(''),
			['a.txt', 'bad-\ufffd', 'u\u0308'].sort());
		assert.equal(await readUri(uri), 'odd');
		assert.equal(await readUri(`file://${odd.dir}/u%CC%88`), 'nfd');
		assert.equal((await client.call('fs/getMetadata', {path: uri})).size,
			3);
		await client.call('fs/writeFile', {path: uri, dataBase64: 'b2RkMg=='});
		assert.equal(fs.readFileSync(raw, 'utf8'), 'odd2');
		assert.equal((await client.call('fs/canonicalize', {path: uri})).path,
			uri);
		const {entries, errors} = await odd.walk('');
		assert.deepEqual(entries.map((e) => e.path),
			[`file://${odd.dir}/a.txt`, `file://${odd.dir}/u%CC%88`]);
		assert.equal(errors.length, 1);
		assert.deepEqual(await client.call('fs/remove', {path: uri}), {});
		assert.equal(fs.readdirSync(odd.dir).length, 2);
		await odd.fails('readFile', {path: uri}, ENOENT);
	});

test('a link to a name that is no UTF-8 has a target that can be told', own,
	async () => {
		const odd = scratch(server, client);
		fs.symlinkSync(Buffer.from([0x78, 0xff]), odd.at('l'));
		fs.writeFileSync(Buffer.concat(
			[Buffer.from(`${odd.dir}/x`), Buffer.from([0xff])]), 'y');
		assert.equal((await odd.stat('l')).linkTarget, 'x\ufffd');
	});
