// The audit log: everything is told, and no secret is in it.
import assert from 'node:assert/strict';
import {spawn} from 'node:child_process';
import {createHash} from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import {test} from 'node:test';
import {AuditLog, checked, docs, schema, validate} from './lib/audit.mjs';
import {startParams} from './lib/client.mjs';
import {scratch} from './lib/files.mjs';
import {Origin, request} from './lib/http.mjs';
import {
	Server, binary, fileUri, foreignSkip, freshDirectory,
} from './lib/server.mjs';
import {until} from './lib/wait.mjs';

/** {event: [names]} of the table in docs/audit.md. */
function documented() {
	const page = fs.readFileSync(path.join(docs, 'audit.md'), 'utf8');
	const events = {};

	for (const [, event, names] of page.matchAll(
		/^\| `(\w+)` \| [^|]* \| [^|]* \| ([^|]*) \|$/gm))
		events[event] = [...names.replace(/\([^()]*\)/g, '')
			.matchAll(/`(\w+)`/g)].map(([, name]) => name).sort();
	return events;
}

test('the page and the schema tell the same events and names', () => {
	const described = {};

	for (const {$ref} of schema.oneOf) {
		const name = $ref.slice('#/$defs/'.length);
		const {event, role, ...more} = schema.$defs[name].properties;
		assert.equal(event.const, name);
		assert.ok(role);
		described[name] = Object.keys(more).sort();
	}
	assert.deepEqual(documented(), described);
});

test('the validator sees what is wrong', () => {
	const good = {v: 1, time: '2026-01-02T03:04:05.678Z', role: 'exec',
		event: 'session_open', session: '1', generation: '1'};
	const bad = [{v: 2}, {v: undefined}, {time: '2026-01-02'}, {role: 'net'},
		{event: 'none'}, {session: 1}, {session: '01'}, {session: undefined},
		{more: 'x'}, {hash: 'x'}];

	checked(JSON.stringify({...good, dropped: '3', seq: '4'}));
	for (const wrong of bad) {
		const record = JSON.parse(JSON.stringify({...good, ...wrong}));
		assert.ok(validate(schema, record).error, JSON.stringify(wrong));
	}
});

test('every change is told, by the schema, and no planted secret is',
	{skip: foreignSkip}, async () => {
		const log = new AuditLog();
		const secret = 'planted-3f9a1c';
		const server = await Server.start({set: {
			...log.set, 'env.set': `BASE=${secret}-base`}});
		const uri = (name) => fileUri(path.join(server.workspace, name));
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
			await log.one('process_exit');
			await until(5000, 'five changes', () =>
				log.records('file_change').length >= 5);
		} finally {
			await server.stop();
		}
		const all = log.records();
		const changes = log.records('file_change');
		const brief = changes.map((r) => [r.operation,
			path.basename(r.path), r.outcome]);

		assert.deepEqual(brief, [['write', 'a', 'done'], ['copy', 'a', 'done'],
			['create_directory', 'd', 'done'], ['remove', 'a', 'done'],
			['remove', 'none', 'ENOENT']]);
		assert.equal(changes[0].bytes, String(`${secret}-content`.length));
		assert.equal(path.basename(changes[1].to), 'b');
		for (const event of ['role_ready', 'server_start', 'session_open',
			'process_start', 'process_exit', 'process_gone', 'process_output',
			'connection_open', 'session_attach', 'env_dropped', 'session_close',
			'server_stop', 'server_end'])
			assert.ok(all.some((r) => r.event === event), event);
		assert.match(all.find((r) => r.event === 'server_start').policy_sha256,
			/^[0-9a-f]{64}$/);
		assert.doesNotMatch(log.text(), /planted/);
		assert.doesNotMatch(server.stderr, /planted/);
		assert.equal(fs.statSync(log.file).mode & 0o777, 0o600);
	});

test('SIGHUP opens the file anew, and the chain goes on', {skip: foreignSkip},
	async () => {
		const log = new AuditLog({'audit.chain': true});
		const old = `${log.file}.1`;
		const server = await Server.start({set: log.set});
		try {
			fs.renameSync(log.file, old);
			process.kill(server.pid, 'SIGHUP');
			const opened = await log.one('audit_open');
			const before = fs.readFileSync(old, 'utf8').trim().split('\n')
				.map(checked);
			assert.equal(opened.why, 'reopened');
			assert.equal(opened.prev, before.at(-1).hash);
			assert.equal(Number(opened.seq), before.length + 1);
			// One that cannot be opened leaves the old one in its place.
			fs.renameSync(log.file, `${log.file}.2`);
			fs.symlinkSync(old, log.file);
			process.kill(server.pid, 'SIGHUP');
			await until(5000, 'refusal', () =>
				/audit_reopen error=/.test(server.stderr));
			await (await server.connect()).shell(':');
		} finally {
			await server.stop();
		}
		const last = fs.readFileSync(`${log.file}.2`, 'utf8').trim()
			.split('\n').map(checked);
		assert.ok(last.some((r) => r.event === 'session_open'));
		assert.equal(last.at(-1).event, 'server_end');
		assert.match(server.stderr, new RegExp(
			`audit_chain seq=${last.at(-1).seq} hash=${last.at(-1).hash}`));
	});

test('lines go to standard error instead', {skip: foreignSkip},
	async () => {
		const server = await Server.start({set: {'audit.stderr': true}});
		await server.stop();
		const lines = server.stderr.split('\n').filter((l) => l[0] === '{');
		assert.deepEqual(lines.map((l) => checked(l).event), ['audit_open',
			'role_ready', 'role_ready', 'server_start', 'server_stop',
			'server_end']);
	});

/** A datagram socket at a path, and what it was sent, a line each. */
async function listenAt(file) {
	const child = spawn('python3', ['-c', `
import os, socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(sys.argv[1])
os.chmod(sys.argv[1], 0o666)
print("bound", flush=True)
while True:
	print(s.recv(65536).decode(), end="", flush=True)
`, file]);
	let text = '';

	child.stdout.on('data', (data) => { text += data; });
	await until(5000, 'the socket', () => text.startsWith('bound\n'));
	return {lines: () => text.split('\n').slice(1, -1),
		stop: () => child.kill('SIGKILL')};
}

test('or to a datagram socket, one each, and its end is no harm',
	{skip: foreignSkip}, async () => {
		const file = path.join(freshDirectory('audit'), 'socket');
		const socket = await listenAt(file);
		const server = await Server.start({set: {'audit.socket': file}});
		try {
			const client = await server.connect();
			await client.shell(':');
			await until(5000, 'the exit', () => socket.lines().some(
				(line) => checked(line).event === 'process_exit'));
			socket.stop();
			fs.unlinkSync(file);
			assert.equal((await client.shell('echo on')).all, 'on\n');
		} finally {
			await server.stop();
			socket.stop();
		}
		const events = socket.lines().map((line) => checked(line).event);
		assert.equal(events[0], 'audit_open');
		assert.ok(events.includes('process_start'));
		assert.match(server.stderr, /audit_lost reason=/);
	});

test('what is written to an open file is told when it is closed',
	{skip: foreignSkip}, async () => {
		const log = new AuditLog();
		const server = await Server.start({set: log.set});
		try {
			const client = await server.connect();
			const files = scratch(server, client, {old: 'old'});
			const closed = (name, bytes) => log.one('file_change', (r) =>
				r.operation === 'close_after_writing' &&
				path.basename(r.path) === name && r.bytes === bytes &&
				r.outcome === 'done');

			await files.open('w', 'new', 'replace');
			await files.writeBlock('w', 0, Buffer.alloc(100));
			await files.writeBlock('w', 50, Buffer.alloc(11));
			await files.close('w');
			await closed('new', '111');
			// Of a reader nothing, of one that is left open at the end.
			await files.open('r', 'old');
			await files.open('left', 'other', 'replace');
			await files.close('r');
			await client.drop();
			await closed('other', '0');
			assert.equal(log.records('file_change').filter((r) =>
				r.operation === 'close_after_writing').length, 2);
		} finally {
			await server.stop();
		}
	});

test('the port of a request is told', {skip: foreignSkip}, async () => {
	const log = new AuditLog();
	const origin = await Origin.start({'/': (q, r) => r.end('here')});
	const server = await Server.start({
		set: {...log.set, 'http.allow_private': 'true'}});
	try {
		const client = await server.connect();
		await request(client, `${origin.url}/`);
		const done = await log.one('http_request');
		assert.deepEqual([done.host, done.port, done.status],
			['127.0.0.1', String(origin.port), '200']);
		await client.refusal('http/request', {method: 'GET',
			requestId: 'bad', headers: [], url: 'ftp://host/'});
		const bad = await log.one('http_request',
			(r) => r.outcome === 'invalid');
		assert.equal(bad.port, undefined);
	} finally {
		await server.stop();
		origin.stop();
	}
});

test('a refused file worker and limits of a client are told, each once',
	{skip: foreignSkip}, async () => {
		const log = new AuditLog();
		const server = await Server.start({set: {...log.set,
			'limits.pending_requests_max': 2}});
		try {
			const client = await server.connect();
			const sleeper = await client.start(['/bin/sleep', '1000']);
			const polls = [0, 1, 2, 3].map(() =>
				sleeper.read({waitMs: 500}).catch(() => {}));
			const hit = await log.one('limit_hit');
			assert.deepEqual([hit.limit, hit.session],
				['pending_requests_max', '1']);
			await Promise.all(polls);
			assert.equal(log.records('limit_hit').length, 1);
			const entries = [{path: {type: 'glob_pattern', pattern: '/etc/*.x'},
				access: 'read'}];
			await client.refusal('fs/getMetadata', {path: fileUri('/etc'),
				sandbox: {permissions: {type: 'managed', network: 'restricted',
					file_system: {type: 'restricted', entries}},
				cwd: server.workspaceUri, workspaceRoots: [],
				windowsSandboxLevel: 'disabled'}});
			assert.match((await log.one('worker_refused')).reason,
				/glob pattern can only deny/);
		} finally {
			await server.stop();
		}
	});

test('a message over what all may take together is told', {skip: foreignSkip},
	async () => {
		const log = new AuditLog();
		const server = await Server.start({set: {...log.set,
			'limits.message_budget': '1M'}});
		try {
			const client = await server.connect();
			client.raw('{"id":1,"method":"environment/status"}' +
				' '.repeat(3 * 1048576));
			const {code} = await log.one('connection_close');
			const [hit, ...more] = log.records('limit_hit');
			assert.deepEqual([hit.limit, hit.session, code],
				['message_budget', '1', '1013']);
			assert.deepEqual(more, []);
		} finally {
			await server.stop();
		}
	});

test('a flood does not hide the end of what was told to begin',
	{skip: foreignSkip}, async () => {
		const log = new AuditLog();
		const server = await Server.start({set: {...log.set,
			'audit.rate': 1, 'audit.burst': 10}});
		let lease;
		try {
			const client = await server.connect();
			const cat = await client.start(['/bin/cat'], {pipeStdin: true});
			({lease} = await log.one('process_start'));
			await Promise.all(Array.from({length: 30}, (_, i) =>
				client.refusal('process/start', {
					...startParams(['/none'], server.workspaceUri),
					processId: `none${i}`})));
			await cat.closeStdin();
			await cat.end(10000);
			await log.one('process_gone');
			await client.close();
			await log.one('connection_close');
		} finally {
			await server.stop();
		}
		const leases = (event) => log.records(event).map((r) => r.lease)
			.sort();
		const started = leases('process_start');
		assert.ok(started.length < 30, `${started.length} of a flood`);
		assert.deepEqual(leases('process_failed'),
			started.filter((l) => l !== lease));
		for (const [event, count] of [['process_exit', 1],
			['process_gone', 1], ['connection_close', 1],
			['session_close', 1]])
			assert.equal(log.records(event).filter((r) =>
				(r.lease ?? lease) === lease).length, count, event);
	});

test('a full disk ends the server if the policy says so', {skip: foreignSkip},
	async () => {
		const log = new AuditLog({'audit.on_error': 'stop'});
		const server = await Server.start({
			command: `prlimit --fsize=4096 ${binary} serve --workspace ` +
				`{workspace} ${Object.entries(log.set).map(([k, v]) =>
					`--set ${k}=${v}`).join(' ')}`});
		const client = await server.connect();
		for (let i = 0; i < 50 && !client.isClosed; i++)
			await client.refusal('process/start', {
				...startParams(['/none'], server.workspaceUri),
				processId: `p${i}`}).catch(() => {});
		assert.equal((await server.exited).code, 1);
		assert.match(server.stderr, /the audit log cannot be written/);
		log.records();
	});

for (const [how, wanted] of [['none', {}],
	['full', {argv: "/bin/sh -c 'echo '\\''a b'\\''; exit 3' ''"}],
	['hash', {argv_sha256: createHash('sha256').update(
		"/bin/sh\0-c\0echo 'a b'; exit 3\0\0").digest('hex')}]])
	test(`a program's life is told, its arguments: ${how}`,
		{skip: foreignSkip}, async () => {
			const log = new AuditLog({'audit.argv': how});
			const server = await Server.start({set: log.set});
			try {
				const client = await server.connect();
				const program = await client.start(
					['/bin/sh', '-c', "echo 'a b'; exit 3", '']);
				await program.end();
				const start = await log.one('process_start');
				const {lease} = start;
				const mine = (r) => r.lease === lease;
				const {argv, argv_sha256} = start;

				assert.deepEqual(
					JSON.parse(JSON.stringify({argv, argv_sha256})), wanted);
				assert.equal(start.program, 'sh');
				assert.deepEqual([start.asked, start.network],
					['ceiling', 'restricted']);
				assert.ok(start.writable.split(' ').includes(server.workspace));
				assert.equal((await log.one('process_exit', mine)).status,
					String(3 << 8));
				assert.deepEqual([(await log.one('process_output', mine)).bytes,
					Number((await log.one('process_gone', mine)).max_rss_kib) >
						100], ['4', true]);
				await client.close();
				const {connection} = await log.one('session_attach');
				assert.equal((await log.one('connection_close')).connection,
					connection);
				await fetch(`http://127.0.0.1:${server.port}/none`);
			} finally {
				await server.stop();
			}
			log.records();
		});
