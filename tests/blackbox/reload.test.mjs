// SIGHUP: the configuration is read again, for the sessions to come.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import {test} from 'node:test';
import {AuditLog} from './lib/audit.mjs';
import {Server, foreignSkip, freshDirectory} from './lib/server.mjs';
import {until} from './lib/wait.mjs';

const options = {skip: foreignSkip};

/** A server with a configuration that can be written anew. */
class Reloadable {
	static async start(text, set = {}) {
		const r = new Reloadable();
		r.config = path.join(freshDirectory('conf'), 'sallyport.conf');
		fs.writeFileSync(r.config, text);
		r.log = new AuditLog();
		r.server = await Server.start({args: ['--config', r.config],
			set: {...r.log.set, ...set}});
		r.reloads = 0;
		return r;
	}

	logs(pattern) {
		return until(5000, `${pattern}\n${this.server.stderr}`,
			() => pattern.test(this.server.stderr));
	}

	/** Send SIGHUP; the record of what came of it. */
	async reload(text) {
		if (text !== undefined)
			fs.writeFileSync(this.config, text);
		process.kill(this.server.pid, 'SIGHUP');
		this.reloads++;
		return until(5000, `reload\n${this.server.stderr}`, () =>
			this.log.records('reload')[this.reloads - 1]);
	}
}

async function withReloadable(text, body, set) {
	const r = await Reloadable.start(text, set);
	try {
		await body(r, r.server);
	} finally {
		await r.server.stop();
	}
}

const everything = {envPolicy: {inherit: 'all', ignoreDefaultExcludes: true,
	exclude: [], set: {}, includeOnly: []}};
const info = (client) => client.call('environment/info', {});

test('limits and environment are new in a new session, not in an old one',
	options, () => withReloadable(
		'[limits]\nchild_open_files = 100\n[env]\nset = WHICH=old\n',
		async (r, server) => {
			const script = 'ulimit -n; echo $WHICH; printenv TMPDIR';
			const run = async (client) => (await client.shell(script, everything)).stdout;
			const one = await server.connect();
			const before = await info(one);

			assert.equal(await run(one), '100\nold\n/tmp\n');
			const record = await r.reload('[limits]\nchild_open_files = 200\n' +
				'[env]\nset = WHICH=new\nset = TMPDIR=/tmp/home\n');
			assert.deepEqual([record.outcome, record.changed, record.kept],
				['done', 'env.set limits.child_open_files', '']);
			const two = await server.connect();
			assert.equal(await run(two), '200\nnew\n/tmp/home\n');
			assert.equal(await run(one), '100\nold\n/tmp\n');
			const after = await info(two);
			assert.deepEqual(await info(one), before);
			assert.notEqual(after.providerId, before.providerId);
			assert.match(after.tempDir, /\/tmp\/home$/);
			// An old session that was lost is resumed as it was.
			await one.drop();
			const again = await until(5000, 'resume', () => server.connect({
				params: {clientName: 'blackbox', resumeSessionId: one.sessionId},
			}).catch(() => undefined));
			assert.equal(await run(again), '100\nold\n/tmp\n');
			assert.deepEqual(await info(again), before);
		}));

test('a profile, a filter and http change', options, () => withReloadable(
	'[http]\nenabled = true\n', async (r, server) => {
		const write = (client) => client.shell(
			`echo x > ${server.workspace}/f; chmod 600 ${server.workspace}/f`);
		const request = (client) => client.refusal('http/request', {
			method: 'GET', url: 'http://127.0.0.1:1/', headers: [],
			requestId: 'r', timeoutMs: 1000, streamResponse: false});
		const filter = path.join(path.dirname(r.config), 'child.policy');
		const builtin = new URL('../../policy/syscalls/child.policy',
			import.meta.url);
		const one = await server.connect();

		assert.equal((await write(one)).exitCode, 0);
		fs.writeFileSync(filter, fs.readFileSync(builtin, 'utf8')
			.replace(/^(chmod|fchmodat2?)\b.*\n/gm, ''));
		const {changed} = await r.reload('[http]\nenabled = false\n' +
			`[sandbox]\nprofile = look\nchild_policy = ${filter}\n` +
			'[profile "look"]\nread = /\nread = {workspace}\nwrite = {tmp}\n');
		assert.equal(changed,
			'sandbox.profile sandbox.child_policy http.enabled');
		const two = await server.connect();
		assert.match((await write(two)).stderr, /Read-only file system/);
		const {stderr} = await two.shell('echo > /tmp/f; chmod 600 /tmp/f');
		assert.match(stderr, /chmod/);
		assert.match((await request(two)).text, /http\.enabled decides/);
		assert.equal((await write(one)).exitCode, 0);
		assert.doesNotMatch((await request(one)).text, /http\.enabled/);
		// The rules of a profile may change under its name.
		const third = await r.reload('[http]\nenabled = false\n' +
			'[sandbox]\nprofile = look\n' +
			'[profile "look"]\nread = /\nwrite = {tmp}\n' +
			'write = {workspace}\n');
		assert.equal(third.changed, 'sandbox.child_policy profile.look');
		assert.equal((await write(await server.connect())).exitCode, 0);
	}));

test('a wrong file changes nothing, and says what is wrong', options, () =>
	withReloadable('[env]\nset = WHICH=old\n', async (r, server) => {
		const bad = ['[env]\nset = WHICH=new\n[limits]\nnone = 1\n',
			'[sandbox]\nprofile = none\n',
			'[sandbox]\nchild_policy = /none\n',
			'[env]\nset = WHICH=new\n[audit]\nchain = true\nsocket = /x\n' +
				'key_file = relative\n'];

		for (const text of bad) {
			const {outcome, reason} = await r.reload(text);
			assert.equal(outcome, 'refused');
			assert.match(reason, /see the log/);
		}
		await r.logs(/reload .*sallyport\.conf:4: .*there is no key none/);
		fs.rmSync(r.config);
		assert.equal((await r.reload()).outcome, 'refused');
		const client = await server.connect();
		const {stdout} = await client.shell('echo $WHICH', everything);
		assert.equal(stdout, 'old\n');
		assert.equal((await r.reload('[env]\nset = WHICH=new\n')).outcome,
			'done');
	}));

test('what needs a restart is named and kept', options, () => withReloadable(
	'[limits]\nsessions_max = 5\n', async (r, server) => {
		const {changed, kept} = await r.reload('[server]\n' +
			'listen = ws://127.0.0.1:1\ncompat = openclaw\n' +
			'[sandbox]\npreset = open\nuid_base = 0x70000000\n' +
			'[log]\nlevel = debug\n[limits]\nsessions_max = 6\n' +
			'[audit]\nrate = 7\n');
		assert.equal(changed, 'audit.rate log.level');
		assert.equal(kept, 'server.listen server.compat sandbox.preset ' +
			'sandbox.uid_base limits.sessions_max');
		await r.logs(/reload_kept keys="server\.listen/);
		await (await server.connect()).shell(':');
	}));

// What is read-only for commands was settled at the start.
test('a file that commands could have put there does not count', options,
	() => withReloadable('[env]\nset = WHICH=old\n', async (r, server) => {
		const file = path.join(server.workspace, 'own', 'child.policy');

		fs.mkdirSync(path.dirname(file));
		fs.copyFileSync(new URL('../../policy/syscalls/child.policy',
			import.meta.url), file);
		const {outcome} = await r.reload('[env]\nset = WHICH=new\n' +
			`[sandbox]\nchild_policy = ${file}\n`);
		assert.equal(outcome, 'refused');
		await r.logs(/own: in a workspace, and new: needs a restart/);
		const client = await server.connect();
		assert.equal((await client.shell('echo $WHICH', everything)).stdout,
			'old\n');
	}));

test('the new configuration outlives exec and net', options, () =>
	withReloadable('[env]\nset = WHICH=old\n', async (r, server) => {
		await r.reload('[env]\nset = WHICH=new\n');
		const exec = await server.role('exec');
		process.kill(exec, 'SIGKILL');
		await until(10000, 'a new pair', () =>
			/serving .*generation=2/.test(server.stderr));
		const client = await server.connect();
		assert.equal((await client.shell('echo $WHICH', everything)).stdout, 'new\n');
	}));

test('a second SIGHUP that exec died before is not lost', options, () =>
	withReloadable('[env]\nset = WHICH=old\n', async (r, server) => {
		const exec = await server.role('exec');
		const seen = () =>
			(server.stderr.match(/audit_reopened/g) ?? []).length;
		process.kill(exec, 'SIGSTOP');
		for (const [i, which] of ['first', 'second'].entries()) {
			fs.writeFileSync(r.config, `[env]\nset = WHICH=${which}\n`);
			process.kill(server.pid, 'SIGHUP');
			await until(5000, 'SIGHUP', () => seen() === i + 1);
		}
		process.kill(exec, 'SIGKILL');
		await until(10000, 'a new pair', () =>
			/serving .*generation=2/.test(server.stderr));
		const client = await server.connect();
		assert.equal((await client.shell('echo $WHICH', everything)).stdout,
			'second\n');
		assert.deepEqual(r.log.records('reload').map((x) => x.outcome),
			['refused', 'done']);
	}));
