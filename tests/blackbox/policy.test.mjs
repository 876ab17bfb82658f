// sallyport policy: what auditors ask.
import assert from 'node:assert/strict';
import {spawnSync} from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import {after, test} from 'node:test';
import {fileURLToPath} from 'node:url';
import {
	binary, foreignSkip, freshDirectory, plainPolicies,
} from './lib/server.mjs';
import {slow} from './lib/wait.mjs';

const source = fileURLToPath(new URL('../..', import.meta.url));
const data = path.join(source, 'tests/data/policy');

function policy(args, options = {}) {
	return spawnSync(binary, ['policy', ...args],
		{encoding: 'utf8', timeout: 10000 * slow, ...options});
}

const made = [];

after(() => made.forEach((dir) => fs.rmSync(dir, {recursive: true})));

/** Files in a new directory; returns it. */
function files(contents) {
	const dir = freshDirectory('policy');

	made.push(dir);
	for (const [name, text] of Object.entries(contents)) {
		fs.mkdirSync(path.dirname(path.join(dir, name)), {recursive: true});
		fs.writeFileSync(path.join(dir, name), text);
	}
	return dir;
}

test('check tells every mistake with its line', {skip: foreignSkip}, () => {
	const bad = fs.readdirSync(data).filter((f) => /^bad-.*\.policy$/.test(f));

	assert.ok(bad.length >= 40);
	for (const name of bad) {
		const {status, stderr} = policy(['check', name], {cwd: data});
		const want = fs.readFileSync(
			path.join(data, name.replace('.policy', '.want')), 'utf8');

		assert.equal(stderr, want, name);
		assert.equal(status, 1, name);
	}
});

test('check tells every mistake of a configuration with its line',
	{skip: foreignSkip}, () => {
		const dir = path.join(source, 'tests/data/config');
		const bad = fs.readdirSync(dir).filter((f) => /^bad-.*\.conf$/.test(f));

		assert.ok(bad.length >= 60);
		for (const name of bad) {
			const {status, stderr} = policy(['check', name], {cwd: dir});
			const want = fs.readFileSync(
				path.join(dir, name.replace('.conf', '.want')), 'utf8');

			assert.equal(stderr, want, name);
			assert.match(want, new RegExp(`^${name}:\\d+: `, 'm'), name);
			assert.equal(status, 1, name);
		}
	});

test('check finds nothing in what is shipped', {skip: foreignSkip}, () => {
	const dir = path.join(source, 'policy/syscalls');
	const shipped = fs.readdirSync(dir)
		.filter((name) => name !== 'sanitizer.policy')
		.map((name) => path.join(dir, name));
	const {status, stderr} = policy(['check', ...shipped,
		path.join(source, 'policy/sallyport.conf'),
		path.join(data, 'good-small.policy')]);

	assert.equal(stderr, '');
	assert.equal(status, 0);
});

test('check cannot answer for a file that is not there',
	{skip: foreignSkip}, () => {
		assert.equal(policy(['check', '/no/such']).status, 2);
		assert.equal(policy(['check']).status, 2);
		assert.equal(policy(['nothing']).status, 2);
	});

test('drop-ins follow the file, by name, and the command line wins',
	{skip: foreignSkip}, () => {
		const dir = files({
			'a.conf': '[limits]\nworkers_max = 1\ntmp_size = 1M\n' +
				'[env]\nallow = A\n[server]\nworkspace = /\n',
			'conf.d/10.conf': '[limits]\nworkers_max = 2\n[env]\nallow = B\n',
			'conf.d/20.conf': '[limits]\nworkers_max = 3\n' +
				'[server]\nworkspace = /usr\nworkspace = /bin\n',
			'conf.d/.30.conf': 'not read',
			'conf.d/note.txt': 'not read',
		});
		const {status, stdout, stderr} = policy(['show', '--json',
			'--config', 'a.conf', '--set', 'limits.pending_requests_max=7'],
		{cwd: dir});
		assert.equal(stderr, '');
		assert.equal(status, 0);
		const rows = JSON.parse(stdout).configuration;
		const get = (key) => rows.filter((r) => r.key === key)
			.map((r) => [r.value, r.origin]);

		assert.deepEqual(get('limits.workers_max'),
			[['3', 'conf.d/20.conf:2']]);
		assert.deepEqual(get('limits.tmp_size'), [['1M', 'a.conf:3']]);
		assert.deepEqual(get('env.allow'),
			[['A', 'a.conf:5'], ['B', 'conf.d/10.conf:4']]);
		assert.deepEqual(get('server.workspace'),
			[['/usr', 'conf.d/20.conf:4'], ['/bin', 'conf.d/20.conf:5']]);
		assert.deepEqual(get('limits.pending_requests_max'),
			[['7', '--set']]);
		assert.deepEqual(get('limits.sessions_max'), [['256', 'built-in']]);
		assert.deepEqual(get('profile.network'),
			[['restricted', 'preset workspace']]);
	});

test('every mistake of file and drop-ins comes in one run',
	{skip: foreignSkip}, () => {
		const dir = files({
			'a.conf': '[limits]\nworkers_max = x\n',
			'conf.d/1.conf': '[nope]\nx = 1\n',
			'conf.d/2.conf': '[limits]\ntmp_size = 1M\ntmp_size = 2M\n',
		});
		const {status, stderr} = policy(['show', '--config', 'a.conf'],
			{cwd: dir});

		assert.equal(status, 2);
		assert.match(stderr, /^a\.conf:2: limits\.workers_max: /m);
		assert.match(stderr, /^conf\.d\/1\.conf:2: there is no section/m);
		assert.match(stderr, /^conf\.d\/2\.conf:3: .* given twice$/m);
	});

test('show hides values of variables and names every filter',
	{skip: foreignSkip}, () => {
		const {stdout} = policy(['show', '--json', '--set',
			'env.set=DB=hunter2']);
		const shown = JSON.parse(stdout);

		assert.doesNotMatch(stdout, /hunter2/);
		for (const name of ['supervisor', 'net', 'exec', 'worker', 'init',
			'child'])
			assert.match(shown.filters.find((f) => f.process === name).sha256,
				/^[0-9a-f]{64}$/);
		assert.ok(shown.processes.some((p) => p.process === 'net'));
		assert.deepEqual(shown.degraded, []);
	});

const careful = `[server]
workspace = /tmp
[sandbox]
profile = careful
[profile "careful"]
read = /
write = {workspace}/w
deny = {workspace}/w/secrets
[profile "blind"]
network = enabled
[env]
allow = APP_TOKEN
`;

test('explain says what decides', {skip: foreignSkip}, () => {
	const dir = files({'a.conf': careful});
	const rows = [
		['current /tmp/w/x', 0, /^write: .*\n {2}by a\.conf:7: write = /],
		['current /tmp/w/secrets/x', 1, /^deny: .*\n {2}by a\.conf:8: /],
		['current /etc/passwd', 0, /^read: .*\n {2}by a\.conf:6: /],
		['blind /etc/shadow', 1, /^none: .*\n {2}by no rule/],
		['blind /usr/bin/env', 0, /^read: .*\n {2}by the minimal root/],
		['strict /tmp/x', 0, /^write: .*\n {2}by preset strict/],
		['open /etc/x', 0, /^write: .*preset open/s],
		['current env GITHUB_TOKEN', 1, /built-in: env\.scrub = TOKEN/],
		['current env APP_TOKEN', 0, /a\.conf:12: env\.allow = APP_TOKEN/],
		['current env CODEX_API_KEY', 1, /never pass/],
		['current env MONKEY', 0, /no pattern of env\.scrub/],
		['current /dev/null', 0, /^write: .*\n {2}by built-in: .* own \/dev/],
		['current /dev/sda', 1, /^none: .*\n {2}by built-in: /],
		['current /sys/kernel', 1, /^none: .*\n {2}by built-in: /],
		['open /dev/sda', 0, /^write: .*\n {2}by preset open, for \/$/m],
		['blind /proc/self', 0, /^read: .*\n {2}by built-in: .* own \/proc/],
		['net syscall execve', 1, /^kill: execve\n {2}by net\.policy: default/],
		['worker syscall execve', 1, /^kill: .*by worker\.policy: default/s],
		['strict syscall socket arg0=AF_UNIX', 1,
			/^EPERM: socket\n {2}by child_no_unix\.policy:\d+: socket/],
		['child syscall read', 0, /by child\.policy:\d+: read {2}# /],
		['exec syscall mount', 0, /by exec\.policy:\d+: mount/],
		['exec syscall mkdirat', 0, /by child\.policy:\d+: /],
		['current syscall clone3', 1, /^ENOSYS: .*child\.policy:\d+/s],
		['current syscall socket arg0=AF_UNIX', 0, /arg0 == AF_UNIX/],
		['current syscall socket arg0=AF_PACKET', 2, /^$/],
		['current syscall socket arg0=17', 1, /^EPERM: /],
		['current syscall nothing', 2, /^$/],
		['none /x', 2, /^$/], ['current x', 2, /^$/],
		['current net x', 2, /^$/], ['current net x:0', 2, /^$/],
		['current net a/b:1', 2, /^$/], ['net /x', 2, /^$/],
	];

	for (const [args, status, want] of rows) {
		const got = policy(['explain', '--config', 'a.conf',
			...args.split(' ')], {cwd: dir});

		assert.equal(got.status, status, `${args}: ${got.stdout}${got.stderr}`);
		assert.match(got.stdout, want, args);
	}
});

test('explain knows the way to what is given inside what is denied',
	{skip: foreignSkip}, () => {
		const dir = files({'work/a/b/f': '', 'work/x': ''});
		const work = path.join(dir, 'work');
		const way = /^read.*\n.*an empty directory on the way to .*\/f$/m;
		const rest = 'write = {workspace}/a/b/f\n' +
			'read = {workspace}/link/b/f\nread = {workspace}/no/f\n';

		fs.symlinkSync('a', path.join(work, 'link'));
		// What lies around the denied is masked, what leads nowhere not made.
		for (const [rules, between, beside] of [
			['deny = {tmp}\n', way, /^deny/],
			['deny = {tmp}\ndeny = {workspace}/a/b\n', way, /^deny/],
			['read = /\ndeny = {tmp}\n', /^deny/, /^deny/],
			['read = {workspace}/a\ndeny = {workspace}/a/b\n', /^deny/,
				/^none/],
			['', way, /^none/],
		]) {
			fs.writeFileSync(path.join(dir, 'p.conf'), '[sandbox]\n' +
				'profile = p\n[profile "p"]\n' + rules + rest);
			for (const [name, want] of [['a/b', between], ['a/b/f', /^write/],
				['no', beside], ['link', beside], ['link/b', beside]]) {
				const {stdout, stderr} = policy(['explain', '--config',
					path.join(dir, 'p.conf'), '--workspace', work,
					'current', path.join(work, name)]);
				assert.match(stdout, want,
					`${rules}${name}: ${stdout}${stderr}`);
			}
		}
	});

test('explain tells what degraded mode refuses besides',
	{skip: foreignSkip}, () => {
		const explain = (degraded, ...call) => policy(['explain', '--set',
			`sandbox.degraded=${degraded}`, 'current', 'syscall', ...call]);
		const rows = [
			[['prlimit64', 'arg0=5'],
				/  but EPERM where the host gives no namespaces, by child_bare\.policy:\d+: prlimit64: arg0 != 0/],
			[['chmod'], /nothing can be written, by child_no_attributes\.policy:\d+: chmod/],
			[['socket', 'arg0=AF_INET', 'arg1=1'],
				/  but EPERM where the host gives no network namespace, by child_no_network\.policy:\d+: socket/],
		];

		for (const [call, want] of rows) {
			const got = explain('allow', ...call);
			assert.equal(got.status, 0, got.stdout + got.stderr);
			assert.match(got.stdout, want);
			assert.doesNotMatch(explain('refuse', ...call).stdout, /but/);
		}
		assert.doesNotMatch(explain('allow', 'read').stdout, /but/);
	});

const guarded = `[http]
allow = 10.1.0.0/16
allow = db.internal:5432
allow = *.corp.example
deny = evil.example
deny = 8.8.8.8
ports = 80
ports = 5432
`;

test('explain knows both ways to a host', {skip: foreignSkip}, () => {
	const dir = files({
		'a.conf': careful, 'h.conf': guarded,
		'private.conf': '[http]\nallow_private = true\n' +
			'allow_public = false\n',
		'off.conf': '[http]\nenabled = false\n[profile]\nnetwork = enabled\n',
	});
	const rows = [
		// configuration and target, exit code, commands, http/request
		['a.conf a.example:443', 0, /^refused.* preset workspace: network = /,
			/^allowed.* built-in: http\.allow_public = true; the address/],
		['a.conf 127.0.0.1:80', 0, /^allowed.* session's own loopback/,
			/^refused.* built-in: loopback address; http\.allow or /],
		['a.conf localhost:80', 0, /^allowed/, /^refused.* local name/],
		['a.conf 0x7f.1:80', 1, /^refused/, /^refused.* loopback address/],
		['a.conf 169.254.169.254:80', 1, /^refused/, /cloud metadata/],
		['a.conf 8.8.8.8:53', 0, /^refused/, /^allowed.*allow_public = true/],
		['h.conf 10.1.2.3:80', 0, /^refused/,
			/^allowed.* h\.conf:2: http\.allow = 10\.1\.0\.0\/16/],
		['h.conf 10.2.2.3:80', 1, /^refused/, /^refused.* private address/],
		['h.conf db.internal:5432', 0, /^refused/,
			/^allowed.* h\.conf:3: http\.allow = db\.internal:5432/],
		['h.conf db.internal:80', 1, /^refused/, /^refused.* local name/],
		['h.conf X.CORP.example.:80', 0, /^refused/, /^allowed.* h\.conf:4: /],
		['h.conf evil.example:80', 1, /^refused/,
			/^refused.* h\.conf:5: http\.deny = evil\.example/],
		['h.conf 8.8.8.8:80', 1, /^refused/, /^refused.* h\.conf:6: /],
		['h.conf a.example:443', 1, /^refused/,
			/^refused.* h\.conf:8: http\.ports = .*in no line/],
		['private.conf [::1]:80', 0, /^allowed/,
			/^allowed.* private\.conf:2: http\.allow_private = true/],
		['private.conf 169.254.169.254:80', 1, /^refused/, /^refused/],
		['private.conf a.example:80', 1, /^refused/,
			/^refused.* private\.conf:3: http\.allow_public = false/],
		['off.conf a.example:80', 0, /^allowed.* off\.conf:4: network = enab/,
			/^refused.* off\.conf:2: http\.enabled = false/],
	];

	for (const [args, status, command, http] of rows) {
		const [conf, target] = args.split(' ');
		const got = policy(['explain', '--config', conf, 'current', 'net',
			target], {cwd: dir});
		const [a, b, ...none] = got.stdout.split(/^(?=http\/request )/m)
			.map((part) => part.replaceAll('\n', '')
				.replace(/^(commands|http\/request) /, ''));

		assert.equal(got.status, status, `${args}: ${got.stdout}${got.stderr}`);
		assert.match(a, command, args);
		assert.match(b, http, args);
		assert.deepEqual(none, [], args);
	}
});

test('explain knows links, workspaces and files of its own',
	{skip: foreignSkip}, () => {
		const dir = files({
			'w/sub/a.conf': '[server]\nworkspace = W\n',
			'out/secret': '',
		});
		const config = path.join(dir, 'w/sub/a.conf');

		fs.writeFileSync(config, `[server]\nworkspace = ${dir}/w\n`);
		fs.symlinkSync('/etc/passwd', path.join(dir, 'w/link'));
		const rows = [
			[`${dir}/w/x`, /^write: .*\n.* preset workspace, for .*a\.conf:2: /],
			[config, /^read: .*\n.* built-in: .*w\/sub is sallyport's own/],
			[`${dir}/w/link`, /^read: .*\n.* \/etc\/passwd, where a link/],
			['/tmp/none', /^write: .*\n.* for \/tmp, the session's own/],
		];
		for (const [file, want] of rows)
			assert.match(policy(['explain', '--config', config, 'current',
				file]).stdout, want, file);
	});

test('a profile cannot deny what every command has', {skip: foreignSkip}, () => {
	const dir = files({});
	const ask = (lines) => {
		fs.writeFileSync(path.join(dir, 'a.conf'),
			`[sandbox]\nprofile = p\n[profile "p"]\n${lines}`);
		return policy(['explain', '--config', 'a.conf', 'current',
			'/proc/self/status'], {cwd: dir});
	};

	for (const place of ['/proc', '/proc/self', '/dev', '/dev/null'])
		assert.match(ask(`deny = ${place}\n`).stderr,
			/a\.conf:4: deny .*: every command has that, unless read = \//);
	assert.equal(ask('deny = /proc\nread = /\n').stdout.split(':')[0], 'deny');
	assert.equal(ask('deny = /dev/shm\n').status, 0);
});

test('explain asks every filter that holds for a command',
	{skip: foreignSkip}, () => {
		const dir = files({'all.policy': 'default allow\n'});
		const ask = (...call) => policy(['explain', '--set',
			`sandbox.child_policy=${dir}/all.policy`, 'current', 'syscall',
			...call]);

		assert.match(ask('mount').stdout, /^allow: .*all\.policy: default/s);
		assert.match(ask('bpf').stdout, /^EPERM: .*by exec\.policy: default/s);
	});

test('diff tells what is widened and nothing else', {skip: foreignSkip}, () => {
	const small = 'default EPERM\nread # a: b\n';
	const dir = files({
		'a.conf': careful,
		'wider.conf': careful.replace('deny =', 'read =')
			.replace('allow = APP_TOKEN',
				'allow = APP_TOKEN\nallow = OTHER_KEY') +
			'[limits]\nworkers_max = 9\n',
		'narrower.conf': careful.replace('write =', 'read ='),
		'a.policy': small + 'socket: arg0 == AF_UNIX # a: b\n',
		'mask.policy': small + 'socket: arg0 & 0xff == AF_UNIX # a: b\n',
		'narrow.policy': small +
			'socket: arg0 == AF_UNIX && arg2 == 0 # a: b\n',
		'more.policy': small + 'socket: arg0 == AF_UNIX # a: b\n' +
			'write # a: b\n',
		'default.policy': 'default allow\n',
	});
	const rows = [
		['a.conf a.conf', 0, /^$/], ['a.conf narrower.conf', 0, /^$/],
		['narrower.conf a.conf', 1, /^\/tmp\/w: write \(was read\)$/m],
		['a.conf wider.conf', 1, /^\/tmp\/w\/secrets: read \(was deny\)$/m],
		['a.conf wider.conf', 1, /^env\.allow OTHER_KEY: in the list/m],
		['a.conf wider.conf', 1, /^limits\.workers_max: 9 \(was 4\)$/m],
		['wider.conf a.conf', 0, /^$/],
		['a.policy a.policy', 0, /^$/], ['a.policy narrow.policy', 0, /^$/],
		['narrow.policy a.policy', 1, /^socket arg0=0x1 arg2=/m],
		['a.policy mask.policy', 1, /^socket arg0=0x101/m],
		['mask.policy a.policy', 0, /^$/],
		['a.policy more.policy', 1, /^write: allowed/m],
		['a.policy default.policy', 1, /^default: allow/m],
		['a.policy a.conf', 2, /^$/], ['a.policy /no.policy', 2, /^$/],
	];

	for (const [args, status, want] of rows) {
		const got = policy(['diff', ...args.split(' ')], {cwd: dir});

		assert.equal(got.status, status, `${args}: ${got.stdout}${got.stderr}`);
		assert.match(got.stdout, want, args);
	}
});

// What B has and A has not, [key, value in A, value in B, a line of the answer
// or null where nothing is wider]; the other way round is null unless a fifth
// member says otherwise. Lists are arrays.
const settings = [
	['env.set', ['A=1'], ['A=1', 'B=2'], /^env\.set B: in the list/m],
	['env.set', ['PATH=/a'], ['PATH=/b'], /^env\.set PATH: another value/m,
		/^env\.set PATH: another value/m],
	['env.allow', [], ['X_KEY'], /^env\.allow X_KEY: in the list/m],
	['env.scrub', ['A', 'B'], ['A'], /^env\.scrub B: not in the list/m],
	['sandbox.preset', 'strict', 'workspace', /^\/: read \(was none\)$/m],
	['sandbox.preset', 'workspace', 'open', /^sandbox\.preset: open/m],
	['sandbox.allow_root', 'false', 'true', /^sandbox\.allow_root: true/m],
	['sandbox.degraded', 'refuse', 'allow', /^sandbox\.degraded: allow/m],
	['sandbox.net_uid', '200000', '1000', /^sandbox\.net_uid: 1000/m],
	['sandbox.http_uid', '200001', '1001', /^sandbox\.http_uid: 1001/m],
	['sandbox.uid_base', '300000', '2000', /^sandbox\.uid_base: 2000/m],
	['sandbox.net_uid', '200000', '200002', null],
	['profile.network', 'restricted', 'enabled', /^profile\.network: ena/m],
	['fs.atomic_writes', 'false', 'true', null],
	['log.level', 'info', 'error', null],
	['server.compat', 'codex', 'openclaw', null],
	['server.workspace', ['/usr'], ['/usr', '/var'], /^\/var: write/m],
	['backend.uid', '0', '1000', /^backend\.uid: 1000/m, /^backend\.uid: 0/m],
	['backend.gid', '0', '998', /^backend\.gid: 998/m, /^backend\.gid: 0/m],
	['http.enabled', 'false', 'true', /^http\.enabled: true/m],
	['http.allow', ['a.example'], ['a.example', '10.0.0.0/8'],
		/^http\.allow 10\.0\.0\.0\/8: in the list/m],
	['http.allow', ['10.0.0.0/8'], ['10.1.0.0/16', '10.2.3.4:80'], null,
		/^http\.allow 10\.0\.0\.0\/8: /m],
	['http.allow', ['10.1.2.3:80'], ['10.1.2.3'], /^http\.allow 10\.1\.2\.3: /m],
	['http.allow', ['*.a.example'], ['b.a.example:1', '*.c.a.example'], null,
		/^http\.allow \*\.a\.example/m],
	['http.allow', ['*.a.example'], ['a.example'], /^http\.allow a\.exam/m,
		/^http\.allow \*\.a/m],
	['http.allow', ['a.example'], ['*.a.example'], /^http\.allow \*\.a\.exam/m,
		/^http\.allow a\.exam/m],
	['http.allow', ['0.0.0.0/0'], ['a.example', '::1'], /^http\.allow ::1/m,
		/^http\.allow 0\.0\.0\.0\/0/m],
	['http.deny', ['a.example', '10.0.0.0/8'], ['10.0.0.0/8'],
		/^http\.deny a\.example: not in the list/m],
	['http.deny', ['10.1.0.0/16'], ['10.0.0.0/8'], null,
		/^http\.deny 10\.0\.0\.0\/8: /m],
	['http.allow_private', 'false', 'true', /^http\.allow_private: true/m],
	['http.allow_public', 'false', 'true', /^http\.allow_public: true/m],
	['http.ports', ['443'], [], /^http\.ports: every port/m],
	['http.ports', ['443'], ['443', '80'], /^http\.ports 80: in the list/m],
	['http.env', [], ['PATH'], /^http\.env PATH: in the list/m],
	['http.resolver', '127.0.0.1:53', '127.0.0.2:53', /^http\.resolver: /m,
		/^http\.resolver: /m],
	['http.proxy', [], 'http://127.0.0.1:1', /^http\.proxy: http.* nothing/m,
		/^http\.proxy: nothing/m],
	['http.ca_file', [], '/etc/ca.pem', /^http\.ca_file: /m,
		/^http\.ca_file: nothing/m],
	['http.max_body', '1M', '2M', /^http\.max_body: 2M/m],
	['http.max_concurrent', '1', '2', /^http\.max_concurrent: 2/m],
	['http.max_redirects', '0', '1', /^http\.max_redirects: 1/m],
	['audit.file', '/var/a', [], /^audit\.file: nothing \(was \/var\/a\)$/m],
	['audit.socket', '/var/a', [], /^audit\.socket: nothing/m],
	['audit.stderr', 'true', 'false', /^audit\.stderr: false/m],
	['audit.on_error', 'stop', 'continue', /^audit\.on_error: continue/m],
	['audit.rate', '0', '500', /^audit\.rate: 500 \(was 0\)$/m],
	['audit.rate', '2', '1', /^audit\.rate: 1/m],
	['audit.burst', '2', '1', /^audit\.burst: 1/m],
	['audit.argv', 'full', 'hash', /^audit\.argv: hash/m],
	['limits.child_memory', '1M', '0', /^limits\.child_memory: 0/m],
	['limits.child_cpu_time', '10s', '0', /^limits\.child_cpu_time: 0/m],
	['limits.session_retention', '0', '1s', /^limits\.session_retention: /m],
	['limits.tmp_size', '1M', '2M', /^limits\.tmp_size: /m],
];

test('diff knows of every key what makes it wider', {skip: foreignSkip}, () => {
	const write = (dir, name, key, value) => {
		const [section, word] = key.split('.');
		const lines = [value].flat().map((v) => `${word} = ${v}\n`);

		fs.writeFileSync(path.join(dir, name),
			`[${section}]\n${lines.join('')}`);
	};
	const dir = files({});

	for (const [key, a, b, wider, back = null] of settings) {
		write(dir, 'a.conf', key, a);
		write(dir, 'b.conf', key, b);
		for (const [pair, want] of [[['a.conf', 'b.conf'], wider],
			[['b.conf', 'a.conf'], back]]) {
			const got = policy(['diff', ...pair], {cwd: dir});
			const about = `${key} ${a} ${b} ${pair}: ${got.stdout}${got.stderr}`;

			assert.equal(got.status, want === null ? 0 : 1, about);
			assert.match(got.stdout, want ?? /^$/, about);
		}
	}
	assert.doesNotMatch(policy(['diff', 'a.conf', 'b.conf']).stdout, /A=1/);
});

test('diff tells of programs that run elsewhere', {skip: foreignSkip}, () => {
	const dir = files({'a.conf': '[backend]\n',
		'b.conf': '[backend]\ntype = docker\ntarget = box\n'});
	const got = policy(['diff', 'a.conf', 'b.conf'], {cwd: dir});

	assert.equal(got.status, 1, got.stderr);
	assert.match(got.stdout, /^backend\.type: docker \(was native\)$/m);
	assert.match(got.stdout, /^backend\.target: box \(was nothing\)$/m);
	assert.equal(policy(['diff', 'b.conf', 'a.conf'], {cwd: dir}).status, 1);
});

test('the filters of exec and the supervisor contain those below',
	{skip: foreignSkip}, () => {
		const dir = files({});

		for (const name of ['supervisor', 'exec', 'child'])
			fs.writeFileSync(path.join(dir, `${name}.policy`),
				policy(['export', '--text', name]).stdout);
		for (const pair of [['exec', 'child'], ['supervisor', 'exec'],
			['supervisor', 'child']]) {
			const got = policy(['diff', ...pair.map((n) => `${n}.policy`)],
				{cwd: dir});
			assert.equal(got.status, 0, got.stdout + got.stderr);
		}
	});

test('export --text is a policy that allows the same', {skip: foreignSkip}, () => {
	const dir = files({});

	for (const name of [...plainPolicies, 'child']) {
		const {status, stdout} = policy(['export', '--text', name]);
		const file = path.join(dir, `${name}.policy`);

		assert.equal(status, 0, name);
		fs.writeFileSync(file, stdout);
		assert.equal(policy(['check', file]).stderr, '', name);
	}
	assert.deepEqual(
		JSON.parse(policy(['show', '--json', '--set',
			`sandbox.child_policy=${dir}/child.policy`]).stdout)
			.filters.find((f) => f.process === 'child').sha256,
		JSON.parse(policy(['show', '--json']).stdout)
			.filters.find((f) => f.process === 'child').sha256);
});
