// fs/watchMissing, environmentConfig/read and what is not offered.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import {after, test} from 'node:test';
import {INVALID_PARAMS, INVALID_REQUEST, scratch} from './lib/files.mjs';
import {Server, fileUri, foreignSkip} from './lib/server.mjs';
import {pause, until} from './lib/wait.mjs';

const server = await Server.start();
after(() => server.stop());
const client = await server.connect();
const own = {skip: foreignSkip};

const watch = (files, watchId, missing, present) =>
	files.client.call('fs/watchMissing', {
		watchId, missing: missing.map((name) => files.uri(name)),
		present: present === undefined ? undefined : files.uri(present),
	});

const fired = (c, watchId) => c.received.filter((m) =>
	m.method === 'fs/missingChanged' && m.params.watchId === watchId);

const firing = (c, watchId, ms) => c.wait(`notification of ${watchId}`,
	() => fired(c, watchId)[0], ms);

test('a path that appears is told, once', async () => {
	const files = scratch(server, client);
	assert.deepEqual(await watch(files, 1, ['later']), {watching: true});
	fs.writeFileSync(files.at('unrelated'), '');
	await client.status();
	assert.deepEqual(fired(client, 1), []);
	fs.writeFileSync(files.at('later'), '');
	assert.deepEqual(await firing(client, 1),
		{method: 'fs/missingChanged', params: {watchId: 1}});
	fs.rmSync(files.at('later'));
	fs.writeFileSync(files.at('later'), 'again');
	// The order of a worker's messages is the order of what it saw.
	assert.deepEqual(await watch(files, 2, ['more']), {watching: true});
	fs.writeFileSync(files.at('more'), '');
	await firing(client, 2);
	assert.equal(fired(client, 1).length, 1);
});

for (const [what, name, appear] of [
	['a directory', 'd', (at) => fs.mkdirSync(at('d'))],
	['a link', 'l', (at) => fs.symlinkSync('dir', at('l'))],
	['by renaming', 'f', (at) => fs.renameSync(at('old'), at('f'))],
	['below directories that are missing too', 'a/b/c', (at) => {
		fs.mkdirSync(at('a/b'), {recursive: true});
		fs.writeFileSync(at('a/b/c'), '');
	}],
	['below one that is moved there', 'm/in', (at) =>
		fs.renameSync(at('dir'), at('m'))],
])
	test(`what appears is seen: ${what}`, async () => {
		const files = scratch(server, client, {'dir/in': '', old: ''});
		const id = `${what}`.length + 1000;
		assert.deepEqual(await watch(files, id, ['never', name]),
			{watching: true});
		appear((n) => files.at(n));
		await firing(client, id);
	});

test('what a command makes in /tmp is seen', async () => {
	const files = scratch(server, client);
	assert.deepEqual(await watch(files, 3, ['/tmp/x/y']), {watching: true});
	await client.shell('mkdir /tmp/x; echo > /tmp/x/y');
	await firing(client, 3);
});

for (const [what, id, change] of [
	['written', 10, (file) => fs.appendFileSync(file, 'x')],
	['removed', 11, (file) => fs.rmSync(file)],
	['replaced', 12, (file) => {
		fs.writeFileSync(`${file}.new`, 'y');
		fs.renameSync(`${file}.new`, file);
	}],
])
	test(`the present path that is ${what} is told`, async () => {
		const files = scratch(server, client, {here: 'x'});
		assert.deepEqual(await watch(files, id, ['later'], 'here'),
			{watching: true});
		change(files.at('here'));
		await firing(client, id);
	});

test('nothing is watched when a path exists or the list is empty', async () => {
	const files = scratch(server, client, {f: 'x', here: 'x'});
	assert.deepEqual(await watch(files, 20, ['no', 'f']), {watching: false});
	assert.deepEqual(await watch(files, 21, []), {watching: false});
	assert.deepEqual(await watch(files, 22, [], 'here'), {watching: false});
	fs.writeFileSync(files.at('no'), '');
	fs.appendFileSync(files.at('here'), 'x');
	assert.deepEqual(await watch(files, 23, ['other']), {watching: true});
	fs.writeFileSync(files.at('other'), '');
	await firing(client, 23);
	for (const id of [20, 21, 22])
		assert.deepEqual(fired(client, id), []);
});

test('a watchId of 2^63-1 comes back as it is', async () => {
	const files = scratch(server, client);
	const max = '9223372036854775807';
	let text = '';
	client.socket.on('message', (data) => {
		if (data.includes(max))
			text = data.toString();
	});
	client.raw(`{"id":"max","method":"fs/watchMissing","params":{"watchId":` +
		`${max},"missing":["${files.uri('later')}"]}}`);
	await client.wait('answer', () => client.stray.some(
		(m) => m.id === 'max' && m.result?.watching === true));
	fs.writeFileSync(files.at('later'), '');
	await until(5000, 'notification', () => text !== '');
	assert.equal(text, '{"method":"fs/missingChanged",' +
		`"params":{"watchId":${max}}}`);
});

for (const [params, message] of [
	[{watchId: 1}, 'missing field `missing`'],
	[{missing: []}, 'missing field `watchId`'],
	[{watchId: -1, missing: []}, /./], [{watchId: 'x', missing: []}, /./],
	[{watchId: 1, missing: 'x'}, /invalid type/],
	[{watchId: 1, missing: [7]}, /invalid type/],
	[{watchId: 1, missing: ['x']}, 'invalid URI: relative URL without a base'],
	[{watchId: 1, missing: ['file:///later'], present: []}, /invalid type/],
	[{watchId: 1, missing: ['file:///later'], present: '/x'},
		'invalid URI: relative URL without a base'],
])
	test(`fs/watchMissing of ${JSON.stringify(params)} is -32602`, async () => {
		const error = await client.refusal('fs/watchMissing', params);
		assert.equal(error.code, INVALID_PARAMS, error.message);
		if (message instanceof RegExp)
			assert.match(error.text, message);
		else
			assert.equal(error.text, message);
	});

test('128 watches of a connection, one more is refused', own, async () => {
	const other = await server.connect();
	const files = scratch(server, other);
	for (let i = 0; i < 128; i++)
		assert.deepEqual(await watch(files, i, [`later${i}`]),
			{watching: true});
	const error = await other.refusal('fs/watchMissing',
		{watchId: 999, missing: [files.uri('x')]});
	assert.equal(error.code, INVALID_REQUEST);
	fs.writeFileSync(files.at('later77'), '');
	await firing(other, 77);
	assert.deepEqual(await watch(files, 999, ['x']), {watching: true});
	await other.close();
});

test('watches end with the connection, a resumed one is not told', own,
	async () => {
		const other = await server.connect();
		const files = scratch(server, other);
		await watch(files, 5, ['later']);
		await other.drop();
		const again = await until(5000, 'resume', () => server.connect({
			params: {clientName: 'x', resumeSessionId: other.sessionId},
		}).catch(() => undefined));
		fs.writeFileSync(files.at('later'), '');
		const resumed = scratch(server, again);
		await watch(resumed, 6, ['probe']);
		fs.writeFileSync(resumed.at('probe'), '');
		await firing(again, 6);
		await pause(100);
		assert.deepEqual(fired(again, 5), []);
		await again.close();
	});

test('environmentConfig/read tells homes, host and no layers', async () => {
	const result = await client.call('environmentConfig/read', {
		cwd: fileUri(server.workspace), configPaths: [['model']],
		requirementsPaths: [],
	});
	const {userHomeDir} = await client.call('environment/info', {});
	const none = {layers: [], cloudInsertionIndex: 0};
	assert.deepEqual(result, {
		userHomeDir, codexHomeDir: `${userHomeDir}/.codex`,
		hostname: result.hostname, config: none, requirements: none,
	});
	assert.match(result.hostname, /./);
	assert.deepEqual(await client.call('environmentConfig/read', {
		cwd: fileUri(server.workspace), configPaths: [],
		requirementsPaths: [['x', 'y']],
	}), result);
});

for (const [params, message] of [
	[{cwd: 'file:///'}, 'missing field `configPaths`'],
	[{cwd: 'file:///', configPaths: []}, 'missing field `requirementsPaths`'],
	[{configPaths: [], requirementsPaths: []}, 'missing field `cwd`'],
	[{cwd: 'file:///', configPaths: [], requirementsPaths: []},
		'at least one config or requirements path is required'],
	[{cwd: '/x', configPaths: [['x']], requirementsPaths: []},
		/invalid URI/],
	[{cwd: 'file:///', configPaths: 'x', requirementsPaths: []},
		/invalid type/],
	[{cwd: 'file:///', configPaths: ['x'], requirementsPaths: []}, /./],
	[{cwd: 'file:///', configPaths: [[7]], requirementsPaths: []}, /./],
])
	test(`environmentConfig/read of ${JSON.stringify(params)} is -32602`,
		async () => {
			const error = await client.refusal(
				'environmentConfig/read', params);
			assert.equal(error.code, INVALID_PARAMS, error.message);
			if (message instanceof RegExp)
				assert.match(error.text, message);
			else
				assert.equal(error.text, message);
		});

test('what is not offered is -32601, and the capabilities say so', own,
	async () => {
		for (const method of ['capabilities/discoverV2',
			'capabilityRoots/discoverV1', 'fs/watch', 'fileTransfer/start'])
			assert.equal((await client.refusal(method,
				{cwd: 'file:///', roots: []})).code, -32601);
		const {capabilities} = await client.call('environment/info', {});
		assert.equal(capabilities.fsWatchMissing, true);
		assert.equal(capabilities.environmentConfigRead, true);
		assert.equal(capabilities.capabilityDiscoveryV2, false);
	});
