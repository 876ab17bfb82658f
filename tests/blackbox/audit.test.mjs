// The audit log: everything is told, and no secret is in it.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import {test} from 'node:test';
import {fileURLToPath} from 'node:url';
import {
	Server, fileUri, foreignSkip, freshDirectory,
} from './lib/server.mjs';
import {until} from './lib/wait.mjs';

const page = fs.readFileSync(
	fileURLToPath(new URL('../../docs/audit.md', import.meta.url)), 'utf8');
const common = new Set(['time', 'role', 'event']);

/** {event: [names]} of the table in docs/audit.md. */
function documented() {
	const events = new Map();

	for (const [, event, names] of page.matchAll(
		/^\| `(\w+)` \| [^|]* \| [^|]* \| ([^|]*) \|$/gm))
		events.set(event, new Set(names.match(/\w+(?=`)/g) ?? []));
	return events;
}

function check(record, events) {
	assert.match(record.time, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
	const names = events.get(record.event);
	assert.ok(names, `${record.event} is not in docs/audit.md`);
	for (const [name, value] of Object.entries(record)) {
		assert.equal(typeof value, 'string');
		assert.ok(common.has(name) || names.has(name),
			`${record.event}.${name} is not in docs/audit.md`);
	}
}

test('every change is told, by the schema, and no planted secret is',
	{skip: foreignSkip}, async () => {
		const file = path.join(freshDirectory('audit'), 'audit.jsonl');
		const secret = 'planted-3f9a1c';
		const server = await Server.start({set: {
			'audit.file': file, 'env.set': `BASE=${secret}-base`}});
		const uri = (name) => fileUri(path.join(server.workspace, name));
		const records = () => fs.readFileSync(file, 'utf8').trim().split('\n')
			.map((line) => JSON.parse(line));
		try {
			const client = await server.connect();
			const program = await client.start(
				['/bin/sh', '-c', `: ${secret}-argv; cat; echo "$TOKEN"`],
				{pipeStdin: true, env: {API_TOKEN: `${secret}-token`,
					PLAIN: `${secret}-plain`}});
			await program.write(`${secret}-input`);
			await program.closeStdin();
			await program.end(10000);
			const base64 = Buffer.from(`${secret}-content`).toString('base64');
			await client.call('fs/writeFile',
				{path: uri('a'), dataBase64: base64, sandbox: null});
			await client.call('fs/copy', {sourcePath: uri('a'),
				destinationPath: uri('b'), recursive: false, sandbox: null});
			await client.call('fs/createDirectory',
				{path: uri('d'), recursive: false, sandbox: null});
			await client.call('fs/remove', {path: uri('a'), recursive: false,
				force: false, sandbox: null});
			await assert.rejects(client.call('fs/remove', {path: uri('none'),
				recursive: false, force: false, sandbox: null}));
			await client.call('fs/readFile', {path: uri('b'), sandbox: null});
			await until(5000, 'the end of the process', () =>
				records().some((r) => r.event === 'process_exit'));
			await until(5000, 'five changes', () =>
				records().filter((r) => r.event === 'file_change').length >= 5);
		} finally {
			await server.stop();
		}
		const all = records();
		const events = documented();
		const changes = all.filter((r) => r.event === 'file_change');
		const brief = changes.map((r) => [r.operation,
			path.basename(r.path), r.outcome]);

		for (const record of all)
			check(record, events);
		assert.deepEqual(brief, [['write', 'a', 'done'], ['copy', 'a', 'done'],
			['create_directory', 'd', 'done'], ['remove', 'a', 'done'],
			['remove', 'none', 'ENOENT']]);
		assert.equal(changes[0].bytes, String(`${secret}-content`.length));
		assert.equal(path.basename(changes[1].to), 'b');
		for (const event of ['role_ready', 'server_start', 'session_open',
			'process_start', 'process_exit', 'env_dropped', 'session_close',
			'server_stop'])
			assert.ok(all.some((r) => r.event === event), event);
		assert.match(all.find((r) => r.event === 'server_start').policy_sha256,
			/^[0-9a-f]{64}$/);
		assert.doesNotMatch(fs.readFileSync(file, 'utf8'), /planted/);
		assert.doesNotMatch(server.stderr, /planted/);
		assert.equal(fs.statSync(file).mode & 0o777, 0o600);
		fs.rmSync(path.dirname(file), {recursive: true});
	});
