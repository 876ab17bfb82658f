import assert from 'node:assert/strict';
import {after, test} from 'node:test';
import {plainPath} from './lib/client.mjs';
import {Server, foreignSkip} from './lib/server.mjs';
import {inTime} from './lib/wait.mjs';

const secrets = {
	HOST_SECRET_TOKEN: 'leak-hs', HOMEBREW_X: 'leak-hb', AWS_PROFILE: 'leak-aws',
	CODEX_API_KEY: 'leak-k1', SERVICE_DATABASE_PASSWORD: 'leak-k2',
	SIGNING_PRIVATE_KEY: 'leak-k3', HARMLESS_VARIABLE: 'leak-h',
};
const server = await Server.start({env: secrets});
after(() => server.stop());
const own = {skip: foreignSkip};

const policy = (change) => ({
	inherit: 'none', ignoreDefaultExcludes: true, exclude: [], set: {},
	includeOnly: [], ...change,
});

/** The environment that a command gets, as an object. */
async function environment(options, s = server) {
	const client = await s.connect();
	try {
		const process = await client.start(
			['/usr/bin/env', '-0'], {env: {}, ...options});
		const {all} = await process.end();
		return Object.fromEntries(all.split('\0').slice(0, -1).map((line) => {
			const at = line.indexOf('=');
			return [line.slice(0, at), line.slice(at + 1)];
		}));
	} finally {
		await client.close();
	}
}

test('without envPolicy the environment is exactly env', async () => {
	assert.deepEqual(await environment({env: {}}), {});
	const env = {PATH: plainPath, A: '1', B: '', C: 'a=b', 'é': 'ö\n'};
	assert.deepEqual(await environment({env}), env);
	assert.deepEqual(await environment({env, envPolicy: null}), env);
});

test('names are not validated', async () => {
	const env = {'1A': 'x', 'A B': 'y', 'a.b': 'z'};
	assert.deepEqual(await environment({env}), env);
});

test('set and env, of which env wins', async () => {
	assert.deepEqual(await environment({
		env: {B: 'env', C: 'env'},
		envPolicy: policy({set: {A: 'set', B: 'set'}}),
	}), {A: 'set', B: 'env', C: 'env'});
});

test('exclude comes before set, includeOnly after it, env is not filtered',
	async () => {
		assert.deepEqual(await environment({
			env: {PLAIN: 'p'},
			envPolicy: policy({
				exclude: ['*_B'],
				set: {MYAPP_A: '1', MYAPP_B: '2', CI_X: '3', CI_XY: '4',
					OTHER: '5'},
				includeOnly: ['MYAPP_*', 'ci_?'],
			}),
		}), {PLAIN: 'p', MYAPP_A: '1', MYAPP_B: '2', CI_X: '3'});
	});

test('patterns match the whole name, without case', async () => {
	const set = {ABC: '1', xABC: '2', ABCx: '3', 'A*C': '4'};
	for (const [pattern, names] of [
		['abc', ['ABC']], ['a?c', ['A*C', 'ABC']], ['*', Object.keys(set)],
		['*abc*', ['ABC', 'ABCx', 'xABC']], ['', []], ['b', []],
		['?abc', ['xABC']], ['a*', ['A*C', 'ABC', 'ABCx']],
	]) {
		const got = await environment(
			{envPolicy: policy({set, includeOnly: [pattern]})});
		assert.deepEqual(Object.keys(got).sort(), [...names].sort(), pattern);
	}
});

test('a pattern that could take forever does not', own, async () => {
	await inTime(3000, () => environment({envPolicy: policy({
		set: {['A'.repeat(2000)]: 'x'},
		exclude: ['*A'.repeat(200) + 'B'], includeOnly: ['*a'.repeat(300) + 'b'],
	})}));
});

test('inherit all gives PATH and HOME of the configuration, no secret', own,
	async () => {
		const got = await environment({envPolicy: policy({inherit: 'all'})});
		assert.match(got.PATH, /\/bin/);
		assert.match(got.HOME, /^\//);
		for (const [name, value] of Object.entries(secrets)) {
			assert.ok(!(name in got), name);
			assert.ok(!Object.values(got).includes(value), name);
		}
	});

test('inherit core has PATH, and no more than all', own, async () => {
	const all = await environment({envPolicy: policy({inherit: 'all'})});
	const core = await environment({envPolicy: policy({inherit: 'core'})});
	assert.equal(core.PATH, all.PATH);
	for (const name of Object.keys(core)) {
		assert.ok(name in all);
		assert.match(name, /^(HOME|LANG|LC_ALL|LC_CTYPE|LOGNAME|PATH|SHELL|TEMP|TMP|TMPDIR|USER)$/i);
	}
	assert.deepEqual(
		await environment({envPolicy: policy({inherit: 'none'})}), {});
});

test('exclude takes away what is inherited', own, async () => {
	const got = await environment(
		{envPolicy: policy({inherit: 'all', exclude: ['pa?h']})});
	assert.ok(!('PATH' in got));
	assert.ok('HOME' in got);
});

test('the markers of a sandbox are not set without one', own, async () => {
	const got = await environment({envPolicy: policy({inherit: 'all'})});
	assert.ok(!Object.keys(got).some((n) => n.startsWith('CODEX_')));
});

for (const [what, value] of Object.entries({
	'an unknown inherit': policy({inherit: 'some'}),
	'no inherit': policy({inherit: undefined}),
	'no ignoreDefaultExcludes': policy({ignoreDefaultExcludes: undefined}),
	'no exclude': policy({exclude: undefined}),
	'no set': policy({set: undefined}),
	'no includeOnly': policy({includeOnly: undefined}),
	'a number in set': policy({set: {A: 1}}),
	'a number in exclude': policy({exclude: [1]}),
	'an empty object': {},
}))
	test(`envPolicy with ${what} is -32602`, async () => {
		const client = await server.connect();
		const error = await client.refusal('process/start', {
			processId: 'p', argv: ['/bin/true'], cwd: client.cwd, env: {},
			tty: false, envPolicy: value,
		});
		assert.equal(error.code, -32602);
		await client.close();
	});

// The scrub list takes whole words of a name, split at "_", and some globs.
const scrubbed = [
	'KEY', 'KEYS', 'APIKEY', 'SECRET', 'SECRETS', 'TOKEN', 'TOKENS', 'PASSWORD',
	'PASSWD', 'CREDENTIAL', 'CREDENTIALS', 'PRIVATE', 'API_KEY', 'SSH_KEYS',
	'MY_SECRET_VALUE', 'github_token', 'NPM_TOKEN', 'DB_PASSWORD', 'db_passwd',
	'GOOGLE_APPLICATION_CREDENTIALS', 'SIGNING_PRIVATE_PEM', '_KEY', 'KEY_',
	'AWS_PROFILE', 'aws_region', 'OPENAI_BASE_URL', 'OPENAI_API_KEY',
	'CODEX_API_KEY', 'CODEX_API_BASE', 'CODEX_ACCESS_TOKEN',
	'CODEX_ACCESS_LEVEL', 'GITHUB_ACTIONS', 'SSH_AUTH_SOCK', 'SENTRY_DSN',
	'DATABASE_URL', 'MYAPIKEY', 'MYAPIKEY2', 'THEPASSWORDS',
];
const passed = [
	'MONKEY', 'KEYBOARD_LAYOUT', 'TOKENIZERS_PARALLELISM', 'KEYRING', 'HOTKEYS',
	'SECRETARY', 'TOKENIZE', 'PASS', 'PASSAGE', 'CREDENTIALED', 'PRIVATELY',
	'AWSOME', 'OPENAI', 'CODEX_CI', 'CODEX_THREAD_ID', 'GITHUB', 'SSH_AGENT_PID',
	'DSN', 'DATABASE_URLS', 'API', 'PUBLIC', 'PATH', 'HOME', 'LANG',
];

test(`${scrubbed.length + passed.length} names through the scrub list`, own,
	async () => {
		assert.ok(scrubbed.length + passed.length >= 60);
		const env = Object.fromEntries(
			[...scrubbed, ...passed].map((name) => [name, 'value']));
		const want = Object.fromEntries(
			passed.map((name) => [name, 'value']));
		assert.deepEqual(await environment({env}), want);
		assert.deepEqual(
			await environment({envPolicy: policy({set: env})}), want);
	});

test('dropped names are logged, values never', own, async () => {
	const s = await Server.start();
	await environment({env: {APP_DEPLOY_TOKEN: 'value-t1', MONKEY: 'm'}}, s);
	await s.stop();
	assert.match(s.stderr, /APP_DEPLOY_TOKEN/);
	assert.doesNotMatch(s.stderr, /value-t1/);
});

test('[env] allow exempts names, but never the three of the agent', own,
	async () => {
		const s = await Server.start({set: {'env.allow': 'APP_*_TOKEN'}});
		const env = {
			APP_DEPLOY_TOKEN: 't-1', OTHER_TOKEN: 't-2', OPENAI_API_KEY: 'sk',
		};
		assert.deepEqual(await environment({env}, s),
			{APP_DEPLOY_TOKEN: 't-1'});
		await s.stop();
		const all = await Server.start({set: {'env.allow': '*'}});
		assert.deepEqual(await environment({env: {
			...env, CODEX_API_KEY: 'a', CODEX_ACCESS_TOKEN: 'b',
		}}, all), {APP_DEPLOY_TOKEN: 't-1', OTHER_TOKEN: 't-2'});
		await all.stop();
	});

test('no process that a command sees holds the secrets of the server', own,
	async () => {
		const client = await server.connect();
		const {stdout} = await client.shell(
			'for p in $(ls /proc | grep "^[0-9]"); do ' +
			'tr "\\0" "\\n" < /proc/$p/environ 2>/dev/null; done | ' +
			'grep -c leak-');
		assert.equal(stdout, '0\n');
		await client.close();
	});
