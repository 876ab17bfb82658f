// A command swaps directories, files and links to the outside as fast as it
// can while the file operations work on them: nothing outside the workspace is
// read, written or removed. SALLYPORT_RACE_MS is how long each race lasts;
// that this race is lost without a sandbox is shown by the unit test
// worker_race.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import {after, test} from 'node:test';
import {decode} from './lib/client.mjs';
import {scratch} from './lib/files.mjs';
import {
	Server, fileUri, foreignSkip, freshDirectory, isSanitized,
} from './lib/server.mjs';

const RACE_MS = Number(process.env.SALLYPORT_RACE_MS ??
	(isSanitized ? 500 : 1000));
const python = '/usr/bin/python3';
const skip = foreignSkip ||
	(fs.existsSync(python) ? false : `needs ${python}`);

if (skip) {
	test('races', {skip}, () => {});
	process.exit();
}

const server = await Server.start();
after(() => server.stop());

// Swaps each pair of names forever. Renaming is atomic, so a name is always
// one or the other.
const swapper = (pairs) => [python, '-c', `
import ctypes
libc = ctypes.CDLL(None)
swap = libc.renameat2
pairs = [(a.encode(), b.encode()) for a, b in ${JSON.stringify(pairs)}]
print("swapping" if swap(-100, pairs[0][0], -100, pairs[0][1], 2) == 0
      else "cannot", flush=True)
while True:
    for a, b in pairs:
        swap(-100, a, -100, b, 2)
`];

/** A directory that everybody may change, if only he could reach it. */
function outsideAt(parent) {
	const dir = fs.mkdtempSync(path.join(parent, 'sallyport-outside-'));
	fs.chmodSync(dir, 0o777);
	for (const name of ['deep', 'deep/er'])
		fs.mkdirSync(path.join(dir, name));
	for (const name of ['secret', 'deep/only-outside', 'deep/er/secret'])
		fs.writeFileSync(path.join(dir, name), 'CANARY');
	for (const name of ['deep', 'deep/er', 'secret', 'deep/only-outside',
		'deep/er/secret'])
		fs.chmodSync(path.join(dir, name), 0o777);
	return dir;
}

function listing(dir) {
	return fs.readdirSync(dir, {recursive: true}).sort().map((name) => {
		const file = path.join(dir, name);
		const st = fs.lstatSync(file);
		return [name, st.mode, st.ino, st.mtimeMs,
			st.isFile() ? fs.readFileSync(file, 'utf8') : ''];
	});
}

/*
 * Two outsides: one that the session does not see at all, of which nothing may
 * be read either, and one of the host's directories, which it sees read-only.
 */
const hidden = outsideAt('/tmp');
const seen = outsideAt('/var/tmp');
after(() => [hidden, seen].forEach((dir) =>
	fs.rmSync(dir, {recursive: true, force: true})));

/** The tree of a race: each name beside a link of another name. */
function arena(client, outside) {
	const files = scratch(server, client, {
		'w/d/secret': 'inside', 'w/d/deep/er/secret': 'inside',
		'w/f': 'inside', 'w/p/d/deep/er/secret': 'inside',
	});
	fs.symlinkSync(outside, files.at('w/l'));
	fs.symlinkSync(path.join(outside, 'secret'), files.at('w/lf'));
	fs.symlinkSync(path.join(outside, 'deep'), files.at('w/p/l'));
	for (let i = 0; i < 40; i++)
		fs.writeFileSync(files.at(`w/${i}`), '');
	return files;
}

const pairs = [['w/d', 'w/l'], ['w/f', 'w/lf'], ['w/p/d', 'w/p/l'],
	['w/d/deep', 'w/p/d']];

let wins = 0;
const attempt = async (call) => {
	try {
		const result = await call;
		wins++;
		return result;
	} catch (error) {
		assert.equal(typeof error.code, 'number', error.message);
		return undefined;
	}
};

/** Do step(files, i) again and again in a race, then look at the outside. */
function race(what, step) {
	for (const [kind, outside] of [['hidden', hidden], ['seen', seen]])
		test(`${what}: stays inside, the outside is ${kind}`, async () => {
			const client = await server.connect();
			const files = arena(client, outside);
			const before = listing(outside);
			const child = await client.start(swapper(pairs),
				{cwd: fileUri(files.dir)});
			await child.prints('swapping');
			const end = Date.now() + Math.min(RACE_MS, 10000);
			wins = 0;
			// On a busy machine it may take longer to get anywhere.
			for (let i = 0; Date.now() < end || (wins === 0 && i < 1000); i++)
				await step(files, i, kind);
			await child.terminate();
			assert.deepEqual(listing(outside), before);
			assert.ok(wins > 0, 'no operation succeeded');
			await client.close();
		});
}

race('fs/readFile and fs/open', async (files, i, kind) => {
	const reads = ['w/d/secret', 'w/f', 'w/d/deep/er/secret', 'w/p/d/er/secret']
		.map((name) => attempt(files.call('readFile', {path: name})));
	reads.push(attempt((async () => {
		await files.open(`h${i}`, 'w/f');
		const {chunk} = await files.readBlock(`h${i}`, 0, 100);
		await files.close(`h${i}`);
		return {dataBase64: chunk};
	})()));
	for (const answer of await Promise.all(reads))
		if (kind === 'hidden' && answer !== undefined)
			assert.notEqual(decode(answer.dataBase64).toString(), 'CANARY');
});

race('fs/writeFile and fs/open to replace', (files, i) => Promise.all([
	...['w/d/secret', 'w/f', 'w/d/deep/er/secret', 'w/p/d/new', 'w/d/new',
	].map((name) => attempt(files.write(name, 'written'))),
	attempt(files.open(`h${i}`, 'w/f', 'replace')
		.then(() => files.writeBlock(`h${i}`, 0, 'written'))
		.finally(() => files.close(`h${i}`))),
]));

race('fs/remove', async (files) => {
	await Promise.all(['w/d/secret', 'w/d/deep', 'w/p/d/er', 'w/d'].map(
		(name) => attempt(files.call('remove', {path: name}))));
	await Promise.all([
		attempt(files.call('createDirectory', {path: 'w/d/deep/er'})),
		attempt(files.call('createDirectory', {path: 'w/p/d/er'})),
	]);
	await Promise.all(['w/d/secret', 'w/d/deep/er/secret', 'w/p/d/er/secret']
		.map((name) => attempt(files.write(name, 'inside'))));
	// The links are taken away too, which ends their race.
	for (const [name, other] of [['w/l', 'w/d'], ['w/p/l', 'w/p/d']])
		if (!fs.existsSync(files.at(name)) && !fs.existsSync(files.at(other)))
			await attempt(files.call('createDirectory', {path: name}));
});

/** Whether a tree holds, not just links to, what only the outside has. */
function escaped(dir) {
	return fs.readdirSync(dir, {withFileTypes: true}).some((entry) =>
		entry.name === 'only-outside' ||
		(entry.isDirectory() && escaped(path.join(dir, entry.name))));
}

race('fs/copy of a tree', async (files) => {
	await attempt(files.copy('w', 'copy', true));
	if (fs.existsSync(files.at('copy')))
		assert.ok(!escaped(files.at('copy')));
	await attempt(files.call('remove', {path: 'copy'}));
});

race('fs/copy into a tree', async (files) => {
	await files.call('createDirectory', {path: 's/d/deep/er'});
	await files.write('s/d/secret', 'copied');
	await files.write('s/d/deep/er/new', 'copied');
	await attempt(files.copy('s', 'w', true));
	await attempt(files.copy('s/d/secret', 'w/f'));
	await attempt(files.copy('s/d/secret', 'w/d/secret'));
});

race('fs/walk and fs/readDirectory', async (files, i, kind) => {
	const {entries} = await attempt(files.walk('w')) ?? {entries: []};
	assert.ok(!entries.some((e) => e.path.endsWith('/only-outside')));
	const names = await attempt(files.names('w/p/d'));
	if (kind === 'hidden' && names !== undefined)
		assert.ok(!names.includes('only-outside'));
});

race('fs/createDirectory', (files, i) => Promise.all(
	[`w/d/m${i}/a/b`, `w/d/deep/m${i}`, `w/p/d/m${i}/c`, `w/l/m${i}`].map(
		(name) => attempt(files.call('createDirectory', {path: name})))));
