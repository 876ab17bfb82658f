// What every file method does by a worker that serves in another place, seen
// through the protocol alone: files is below an empty directory there.
import assert from 'node:assert/strict';
import {
	EBADF, EEXIST, EISDIR, ENOENT, ENOTDIR, ENOTEMPTY, INVALID_REQUEST,
	notAFile, pattern, sha256,
} from './files.mjs';

const KIB = 1024;
const MIB = 1024 * KIB;
const LARGE_MS = 150000;
/** What still fits one record, a frame, and what takes another. */
const SIZES = [0, 1, 32 * KIB, 32 * KIB + 1, 64 * KIB - 1, 64 * KIB,
	64 * KIB + 1, 3 * MIB];

export const farChecks = {
	'files are written and read, whatever their size': async (files) => {
		for (const size of SIZES) {
			const data = pattern(size, size);
			assert.deepEqual(await files.write('f', data), {});
			assert.equal(sha256(await files.read('f')), sha256(data), size);
			assert.equal((await files.stat('f')).size, size);
		}
		await files.call('remove', {path: 'f'});
	},
	'errors have the codes and texts that they have here': async (files) => {
		await files.write('f', 'x');
		await files.call('createDirectory', {path: 'd'});
		await files.fails('readFile', {path: 'none'}, ENOENT);
		await files.fails('readFile', {path: 'd'}, notAFile(files.at('d')));
		await files.fails('readFile', {path: 'f/x'}, ENOTDIR);
		await files.fails('writeFile', {path: 'd', dataBase64: ''}, EISDIR);
		await files.fails('writeFile', {path: 'none/f', dataBase64: ''}, ENOENT);
		await files.fails('createDirectory', {path: 'd', recursive: false},
			EEXIST);
		await files.write('d/in', 'x');
		await files.fails('remove', {path: 'd', recursive: false}, ENOTEMPTY);
		await files.fails('copy',
			{sourcePath: 'd', destinationPath: 'e', recursive: false},
			[INVALID_REQUEST, /^fs\/copy requires recursive/]);
		await files.fails('readDirectory', {path: 'f'}, ENOTDIR);
	},
	'directories, walks, names and metadata': async (files) => {
		await files.call('createDirectory', {path: 't/a/b'});
		await files.write('t/a/file', 'four');
		assert.deepEqual(await files.names('t/a'), ['b', 'file']);
		const {entries, errors, truncated} = await files.walk('t');
		assert.deepEqual(entries.map((e) => [e.path, e.kind]), [
			[files.uri('t/a'), 'directory'],
			[files.uri('t/a/b'), 'directory'],
			[files.uri('t/a/file'), 'file'],
		]);
		assert.deepEqual([errors, truncated], [[], false]);
		const stat = await files.stat('t/a/file');
		assert.ok(stat.isFile && stat.size === 4 && stat.modifiedAtMs > 0);
		assert.deepEqual(
			await files.call('canonicalize', {path: 't/a/../a/file'}),
			{path: files.uri('t/a/file')});
	},
	'a listing too long for a record': async (files) => {
		await files.call('createDirectory', {path: 'many'});
		const name = (i) => `${i}-${'n'.repeat(200)}`;
		for (let i = 0; i < 400; i += 50)
			await Promise.all(Array.from({length: 50}, (_, k) =>
				files.write(`many/${name(i + k)}`, '')));
		assert.equal((await files.list('many')).length, 400);
		assert.equal((await files.walk('many')).entries.length, 400);
	},
	'copies and removals': async (files) => {
		await files.call('createDirectory', {path: 'c/d'});
		await files.write('c/d/f', 'text');
		await files.copy('c', 'copy', true);
		assert.equal(String(await files.read('copy/d/f')), 'text');
		await files.copy('c/d/f', 'g');
		assert.equal(String(await files.read('g')), 'text');
		await files.call('remove', {path: 'copy'});
		await files.fails('getMetadata', {path: 'copy'}, ENOENT);
		assert.deepEqual(await files.call('remove', {path: 'copy'}), {});
	},
	'handles': async (files) => {
		const data = pattern(MIB + 5);
		await files.open('w', 'h', 'replace');
		await files.writeBlock('w', 0, data.subarray(0, MIB));
		await files.writeBlock('w', MIB, data.subarray(MIB));
		await files.fails('readBlock', {handleId: 'w', offset: 0, len: 1}, EBADF);
		await files.close('w');
		await files.open('r', 'h');
		const {chunk} = await files.readBlock('r', 0, MIB);
		assert.equal(sha256(Buffer.from(chunk, 'base64')),
			sha256(data.subarray(0, MIB)));
		const rest = await files.readBlock('r', MIB, 100);
		assert.equal(Buffer.from(rest.chunk, 'base64').length, 5);
		assert.equal(rest.eof, true);
		await files.close('r');
	},
	'a path that appears is told': async (files, client) => {
		assert.deepEqual(await client.call('fs/watchMissing',
			{watchId: 7, missing: [files.uri('later')]}), {watching: true});
		await files.write('later', 'x');
		await client.wait('notification', () => client.received.find((m) =>
			m.method === 'fs/missingChanged' && m.params.watchId === 7), 20000);
	},
	'large files, both ways': async (files) => {
		const data = pattern(64 * MIB);
		await files.write('large', data, {ms: LARGE_MS});
		const back = await files.read('large', {ms: LARGE_MS});
		assert.equal(sha256(back), sha256(data));
		await files.call('remove', {path: 'large'});
	},
};
