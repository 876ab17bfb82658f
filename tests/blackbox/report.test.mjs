// sallyport policy report: one page that says what is enforced, and nothing
// that is secret.
import assert from 'node:assert/strict';
import {spawnSync} from 'node:child_process';
import {createHash} from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import {after, test} from 'node:test';
import {fileURLToPath} from 'node:url';
import {parse} from './lib/html.mjs';
import {binary, foreignSkip, freshDirectory} from './lib/server.mjs';
import {slow} from './lib/wait.mjs';

const own = {skip: foreignSkip};
const source = fileURLToPath(new URL('../..', import.meta.url));
const made = [];

after(() => made.forEach((dir) => fs.rmSync(dir, {recursive: true})));

function directory(files = {}) {
	const dir = freshDirectory('report');

	made.push(dir);
	for (const [name, text] of Object.entries(files)) {
		fs.mkdirSync(path.dirname(path.join(dir, name)), {recursive: true});
		fs.writeFileSync(path.join(dir, name), text);
	}
	return dir;
}

function run(args, options = {}) {
	return spawnSync(binary, ['policy', ...args],
		{encoding: 'utf8', timeout: 20000 * slow, maxBuffer: 1 << 25, ...options});
}

/** The page for these options, as text. */
function pageOf(args, options) {
	const {status, stdout, stderr} = run(
		['report', '--no-host', ...args, '-'], options);

	assert.equal(stderr, '');
	assert.equal(status, 0);
	return stdout;
}

const workspace = directory();
const plain = foreignSkip ? '' : pageOf(['--workspace', workspace]);

/** {key: [[value, origin], ...]} of all keys of a page. */
function settingsOf(page) {
	const rows = page.classed('settings')
		.flatMap((table) => table.named('tbody')[0].named('tr'));

	return Object.fromEntries(rows.map((row) => [
		row.named('th')[0].named('code')[0].text,
		row.named('li').map((li) => [
			(li.named('code')[0] ?? li.named('span')[0]).text,
			li.classed('origin')[0]?.text]),
	]));
}

/* --- the file ------------------------------------------------------------ */

test('the page is written whole, for everybody to read', own, () => {
	const dir = directory({'old.html': 'old'});

	for (const name of ['new.html', 'old.html']) {
		const file = path.join(dir, name);
		const {status, stdout, stderr} = run(
			['report', '--no-host', '--workspace', workspace, file]);

		assert.deepEqual([status, stdout, stderr], [0, '', '']);
		assert.equal(fs.readFileSync(file, 'utf8'), plain);
		assert.equal(fs.statSync(file).mode & 0o7777, 0o644);
	}
	assert.deepEqual(fs.readdirSync(dir).sort(), ['new.html', 'old.html']);
});

test('what is no regular file is not replaced', own, () => {
	const dir = directory({'target': 'kept', 'bad.conf': 'nonsense\n'});
	const link = path.join(dir, 'link.html');

	fs.symlinkSync('target', link);
	spawnSync('mkfifo', [path.join(dir, 'fifo')]);
	for (const name of ['link.html', 'fifo', '.']) {
		const {status, stderr} = run(['report', '--no-host', '--workspace',
			workspace, path.join(dir, name)]);

		assert.equal(status, 2, name);
		assert.match(stderr, /no regular file/);
	}
	assert.equal(fs.readlinkSync(link), 'target');
	assert.equal(fs.readFileSync(path.join(dir, 'target'), 'utf8'), 'kept');
	assert.equal(run(['report', '--no-host', '--workspace', workspace,
		path.join(dir, 'no/such.html')]).status, 2);
	assert.equal(run(['report', '--config', path.join(dir, 'bad.conf'),
		path.join(dir, 'target')]).status, 2);
	assert.equal(fs.readFileSync(path.join(dir, 'target'), 'utf8'), 'kept');
	assert.equal(fs.readdirSync(dir).length, 4);
});

test('one file is wanted', own, () => {
	for (const args of [[], ['a.html', 'b.html'], ['--nothing', 'a.html']])
		assert.equal(run(['report', ...args], {cwd: workspace}).status, 2);
	assert.deepEqual(fs.readdirSync(workspace), []);
});

test('two pages of one policy are the same bytes', own, () => {
	assert.equal(pageOf(['--workspace', workspace]), plain);
	assert.doesNotMatch(plain, /<time>/);
	assert.match(pageOf(['--date', '--workspace', workspace]),
		/Made <time>20\d\d-\d\d-\d\d \d\d:\d\d UTC<\/time>/);
});

/* --- the page ------------------------------------------------------------ */

test('the page is well-formed and every reference leads somewhere', own,
	() => {
		const page = parse(plain);
		const ids = page.all((e) => 'id' in e.attributes)
			.map((e) => e.attributes.id);
		const wanted = page.all(() => true).flatMap((e) => [
			...(e.attributes['aria-describedby'] ?? '').split(' '),
			...(e.attributes['aria-labelledby'] ?? '').split(' '),
			e.attributes.href?.replace(/^#/, '') ?? '',
		]).filter((id) => id !== '');

		assert.equal(new Set(ids).size, ids.length);
		assert.deepEqual(wanted.filter((id) => !ids.includes(id)), []);
		assert.equal(page.named('h1').length, 1);
		for (const link of page.named('nav')[0].named('a'))
			assert.equal(link.text, page.byId(
				link.attributes.href.slice(1)).named('h2')[0].text);
	});

test('nothing is fetched, and nothing runs but what is in the page', own,
	() => {
		const page = parse(plain);
		const policy = page.named('meta').find((m) => m.attributes[
			'http-equiv'] === 'Content-Security-Policy').attributes.content;
		const hash = (name) => `'sha256-${createHash('sha256')
			.update(page.named(name)[0].text).digest('base64')}'`;

		assert.equal(policy, `default-src 'none'; style-src ${
			hash('style')}; script-src ${hash('script')}; ` +
			'base-uri \'none\'; form-action \'none\'');
		assert.equal(page.named('script').length, 1);
		assert.equal(page.named('style').length, 1);
		for (const element of page.all(() => true))
			for (const name of Object.keys(element.attributes))
				assert.ok(!/^(on.*|style|src|srcset|action|data)$/.test(name),
					`${element.name} ${name}`);
		assert.ok(page.all((e) => 'href' in e.attributes)
			.every((e) => e.attributes.href.startsWith('#')));
		assert.doesNotMatch(page.named('style')[0].text, /url\(|@import|@font/);
		assert.doesNotMatch(page.named('script')[0].text,
			/fetch|XMLHttp|import|eval|innerHTML|storage/i);
	});

/* --- processes and system calls ------------------------------------------ */

test('every process and every message is in it', own, () => {
	const page = parse(plain);
	const shown = JSON.parse(run(
		['show', '--json', '--workspace', workspace]).stdout);
	const messages = [...fs.readFileSync(
		path.join(source, 'privsep/msg.def'), 'utf8')
		.matchAll(/^MSG\(([A-Z_]+), /gm)].map(([, name]) => name);
	const told = page.classed('channels')[0].named('code').map((c) => c.text);

	assert.deepEqual(told.filter((m) => !messages.includes(m)), []);
	assert.deepEqual(messages.filter((m) => !told.includes(m)), []);
	for (const {process, lockdown} of shown.processes) {
		const card = page.byId(`p-${process}`);

		assert.ok(card.text.includes(lockdown), process);
		// The sweeper speaks with nobody.
		assert.equal(page.classed('picture').filter((svg) => svg.named('text')
			.some((t) => t.text === card.named('h3')[0].text)).length,
		process === 'sweeper' ? 0 : 2);
	}
	assert.match(page.byId('p-supervisor').text, /on SIGHUP/);
	assert.doesNotMatch(page.byId('p-supervisor').text, /Landlock|no path/);
	assert.match(page.byId('p-sweeper').text, /owner of the first workspace/);
	for (const cap of ['CAP_SYS_ADMIN', 'CAP_SETPCAP', 'CAP_KILL'])
		for (const process of ['supervisor', 'exec'])
			assert.ok(page.byId(`p-${process}`).text.includes(cap));
	// A line of the picture for each row of the table, and none beside.
	for (const svg of page.classed('picture'))
		assert.deepEqual(svg.classed('number').map((t) => t.text),
			page.classed('channels')[0].classed('number').map((t) => t.text));
});

test('the filters are those that policy show tells', own, () => {
	const rows = parse(plain).classed('filters')[0].named('tbody')[0]
		.named('tr');
	const shown = JSON.parse(run(
		['show', '--json', '--workspace', workspace]).stdout);

	assert.ok(rows.length >= 8);
	assert.deepEqual(
		rows.map((row) => [row.named('th')[0].text,
			row.classed('figure')[0].text,
			row.classed('hash')[0].text]).sort(),
		shown.filters.map((f) => [f.process, f.instructions, f.sha256])
			.sort());
});

/** The rules of a policy file, by a reader of our own. */
function rulesOf(file) {
	return fs.readFileSync(file, 'utf8').split('\n').flatMap((text, i) => {
		const [, name, arch, test, action, why] =
			/^(\w+)(?: \[(\w+)\])?(?:: (.*?))?(?: -> (\w+))?\s*# (.*)$/
				.exec(text) ?? [];

		return name === undefined || name === 'default' || name === 'unknown' ?
			[] : [{line: String(i + 1), name, arch: arch ?? '',
				test: test?.trim() ?? '', action: action ?? '', why}];
	});
}

test('every line of the system call policies is in it, as it is', own, () => {
	const page = parse(plain);
	const dir = path.join(source, 'policy/syscalls');
	let count = 0;

	for (const name of fs.readdirSync(dir)) {
		const stem = name.replace('.policy', '');
		const rows = page.all((e) => e.name === 'tr' &&
			e.attributes.id?.replace(/-\d+$/, '') === `r-${stem}`);

		if (name === 'sanitizer.policy' && rows.length === 0)
			continue;
		assert.deepEqual(rows.map((row) => {
			const [line, holds, why] = row.named('td');
			const [call] = row.named('th');

			return {line: line.text, name: call.named('code')[0].text,
				arch: (call.named('small')[0]?.text ?? '')
					.replace(' only', ''),
				test: holds.named('code')[0]?.text ?? '',
				action: holds.named('b')[0]?.text ?? '', why: why.text};
		}), rulesOf(path.join(dir, name)), name);
		count += rows.length;
	}
	assert.ok(count > 400);
});

test('the matrix says what policy explain says', own, () => {
	const page = parse(plain);
	const matrix = page.byId('matrix');
	const heads = matrix.named('thead')[0].named('a').map((a) => a.text);
	const rows = matrix.named('tbody')[0].named('tr');
	const cellOf = (call, role) => rows.find((row) =>
		row.named('th')[0].text === call).named('td')[heads.indexOf(role)];
	const explain = (role, ...rest) => run(
		['explain', role, 'syscall', ...rest]).stdout;

	for (const [role, call] of [['net', 'accept4'], ['net', 'read'],
		['http', 'connect'], ['child', 'mount'], ['init', 'wait4'],
		['worker', 'openat'], ['http', 'openat'], ['child', 'ptrace'],
		['exec', 'clone3'], ['supervisor', 'execveat']]) {
		const row = rows.find((r) => r.named('th')[0].text === call);
		const cell = row && cellOf(call, role);
		const words = explain(role, call);

		if (cell === undefined || cell.attributes.class === 'no') {
			assert.match(words, /\bdefault\b/, `${role} ${call}`);
			continue;
		}
		const ids = cell.named('a')[0].attributes['aria-describedby'];
		if (cell.attributes.class === 'yes')
			assert.match(words, /^allow/, `${role} ${call}`);
		const decides = / by ([\w-]+)\.policy:(\d+)/.exec(words);
		if (decides)
			assert.ok(ids.split(' ').includes(`r-${decides[1]}-${decides[2]}`),
				`${role} ${call}: ${words} ${ids}`);
	}
});

test('a filter of the configuration is shown in the place of the child\'s',
	own, () => {
		const dir = directory({'my.policy': 'default EPERM\n' +
			'read  # any program: reads <b>&amp;\n' +
			'write: arg0 == 1  # any program: writes\n' +
			'exit_group # libc: ends\n', 'bad.policy': 'default EPERM\nrea\n'});
		const file = path.join(dir, 'my.policy');
		const page = parse(pageOf(['--workspace', workspace, '--set',
			`sandbox.child_policy=${file}`]));

		assert.equal(page.byId('c-custom').text, file);
		assert.ok(page.byId('r-custom-2').text
			.endsWith('any program: reads <b>&amp;'));
		assert.equal(page.byId('f-child').named('a')[0].attributes.href,
			'#c-custom');
		assert.ok(page.byId('c-child'));
		const {status, stderr} = run(['report', '--no-host', '--workspace',
			workspace, '--set',
			`sandbox.child_policy=${path.join(dir, 'bad.policy')}`,
			path.join(dir, 'a.html')]);
		assert.equal(status, 2);
		assert.match(stderr, /bad\.policy:2:/);
		assert.ok(!fs.existsSync(path.join(dir, 'a.html')));
	});

/* --- files --------------------------------------------------------------- */

/** [path, words, decision] of each node of a tree. */
function nodesOf(tree, above = '') {
	return tree.elements.flatMap((li) => {
		const [node, below] = li.elements;
		const name = node.named('code')[0].text;
		const full = name.startsWith('/') ? name : `${above}/${name}`;

		return [[full, node.named('b')[0].text, node.named('small')[0].text],
			...below ? nodesOf(below, full) : []];
	});
}

const careful = `[sandbox]
profile = careful
[profile "careful"]
read = /
write = {workspace}
write = {tmp}
deny = {workspace}/secrets
deny = /root
read = /root/.cargo
network = enabled
[profile "tight"]
write = {workspace}
unix_sockets = deny
[profile "ways"]
deny = {workspace}
read = {workspace}/secrets/key
deny = /root
read = /usr/share
[profile "wrong"]
write = /etc
`;

test('the trees say what policy explain says', own, () => {
	const dir = directory({'a.conf': careful, 'ws/secrets/key': 'x'});
	const args = ['--config', path.join(dir, 'a.conf'), '--workspace',
		path.join(dir, 'ws')];
	const views = parse(pageOf(args)).classed('view');
	const words = {'read': 'read', 'read and write': 'write',
		'denied': 'deny', 'denied, but for what is below': 'deny',
		'read: empty but for what is below': 'read'};
	let count = 0;

	assert.deepEqual(views.map((view) => view.named('h3')[0].text), [
		'Profile careful in force', 'Profile tight', 'Profile ways',
		'Profile wrong',
		'Preset workspace', 'Preset strict', 'Preset open']);
	for (const view of views.filter((v) => !v.text.includes('wrong'))) {
		const name = view.named('q')[0].text;

		for (const [file, access, why] of
			nodesOf(view.classed('tree')[0])) {
			if (access === 'not there')
				continue;
			const said = run(['explain', ...args, name, file]).stdout;
			assert.equal(said.split(':')[0], words[access],
				`${name} ${file}: ${said}`);
			const place = /a\.conf:\d+|on the way to \S+/.exec(why)?.[0];
			if (place)
				assert.ok(said.includes(place), `${file}: ${said} ${why}`);
			count++;
		}
	}
	assert.ok(count > 20);
	assert.match(views[2].text, /empty but for what is below on the way to/);
	assert.match(views[3].text, /would be refused: .*a\.conf:20/);
	assert.match(views[0].text, /the host's .*a\.conf:10/);
	assert.match(views[1].text, /deny: none can be made/);
});

test('what the user\'s programs trust is protected', own, () => {
	const ws = fs.realpathSync(workspace);
	const [view] = parse(plain).classed('in-force');
	const usual = nodesOf(view.classed('tree')[1]);

	assert.equal(view.named('h3')[0].text, 'Preset workspace in force');
	for (const name of ['.git', '.agents', '.codex']) {
		const [, words, why] = usual.find(([p]) => p === `${ws}/${name}`);
		assert.equal(words, 'protected: read only, and cannot be made');
		assert.match(why, /^the request, for /);
	}
});

/* --- values -------------------------------------------------------------- */

test('every key has its value and where it is said', own, () => {
	const dir = directory({
		'a.conf': '[limits]\nworkers_max = 3\ntmp_size = 1M\n' +
			'[http]\nallow = a.example:8443\n[env]\nallow = A_*\n',
		'conf.d/10.conf': '[limits]\ntmp_size = 2M\n[env]\nallow = B_*\n',
	});
	const file = path.join(dir, 'a.conf');
	const args = ['--workspace', workspace, '--config', file, '--preset',
		'strict', '--set', 'limits.child_memory=64M', '--set',
		'audit.file=/nowhere/audit'];
	const page = parse(pageOf(args));
	const told = settingsOf(page);
	const shown = JSON.parse(run(['show', '--json', ...args]).stdout);
	const dropin = path.join(dir, 'conf.d/10.conf');

	assert.deepEqual(told['limits.workers_max'],
		[['3', `${file}:2`]]);
	assert.deepEqual(told['limits.tmp_size'], [['2M', `${dropin}:2`]]);
	assert.deepEqual(told['limits.child_memory'], [['64M', '--set']]);
	assert.deepEqual(told['env.allow'],
		[['A_*', `${file}:7`], ['B_*', `${dropin}:4`]]);
	assert.deepEqual(told['http.enabled'],
		[['false', 'preset strict']]);
	assert.deepEqual(told['http.deny'], [['none', undefined]]);
	for (const {key, value, origin} of shown.configuration)
		if (!key.startsWith('profile.') || key === 'profile.network')
			assert.ok(told[key].some(([v, o]) =>
				v === (value || 'none') && o === origin),
			`${key} ${value} ${origin}`);
	const facts = page.classed('facts')[0].named('dd').map((d) => d.text);
	assert.equal(facts[0], 'strict');
	assert.equal(facts.at(-2), 'in the sandbox here');
	assert.equal(facts.at(-1), 'on');
});

test('programs that run elsewhere are told at the top', own, () => {
	const page = parse(pageOf(['--set', 'backend.type=docker', '--set',
		'backend.target=box', '--no-host']));

	assert.match(page.classed('facts')[0].text, /Programs runelsewhere, /);
	assert.deepEqual(settingsOf(page)['backend.type'], [['docker', '--set']]);
});

test('no value of a variable is in it', own, () => {
	const secret = 'planted-6f1d2c';
	const dir = directory({
		'a.conf': `[env]\nset = DB_PASSWORD=${secret}-file\n` +
			`set = MCP_TOKEN=${secret}=x\n[http]\nenv = MCP_TOKEN\n`,
		'conf.d/b.conf': `[env]\nset = OTHER=${secret}-dropin\n`,
	});
	const page = pageOf(['--workspace', workspace, '--config',
		path.join(dir, 'a.conf'), '--set', `env.set=FLAG=${secret}-flag`],
	{env: {...process.env, API_KEY: `${secret}-own`}});
	const told = settingsOf(parse(page));

	assert.doesNotMatch(page, new RegExp(secret));
	for (const name of ['DB_PASSWORD', 'MCP_TOKEN', 'OTHER', 'FLAG'])
		assert.ok(told['env.set'].some(([v]) => v === name), name);
	assert.deepEqual(told['http.env'][0][0], 'MCP_TOKEN');
});

test('no name becomes markup, and none hides what it is', own, () => {
	const name = '"><img src=x onerror=alert(1)>\'&amp;<!--\u202egpj.\n\x01';
	const dir = directory({[`${name}/a.conf`]: `[sandbox]
profile = p
[profile "p"]
read = /
deny = /<script>alert("x")</script>&lt;
deny = /\u200b\u2066zero
`});
	const place = path.join(dir, name);
	const page = pageOf(['--workspace', place, '--config',
		path.join(place, 'a.conf')]);
	const tree = parse(page);
	const seen = name.replace('\u202e', '<U+202E>').replace('\n', '<U+000A>')
		.replace('\x01', '<U+0001>');

	assert.equal(tree.named('img').length, 0);
	assert.equal(tree.named('script').length, 1);
	assert.ok(tree.named('code').some((c) => c.text ===
		`${path.join(dir, seen)}`));
	assert.ok(tree.named('code').some((c) =>
		c.text === '/<script>alert("x")</script>&lt;'));
	assert.ok(tree.named('code').some((c) =>
		c.text === '/<U+200B><U+2066>zero'));
	assert.doesNotMatch(page, /[\u200b\u202e\u2066\x01]/);
});

/* --- the host ------------------------------------------------------------ */

test('the host\'s layers are those of the doctor', own, () => {
	const {stdout} = run(['report', '--workspace', workspace, '-']);
	const told = parse(stdout).byId('host').named('tbody')[0].named('tr')
		.map((row) => [row.named('th')[0].text, row.named('b')[0].text]);
	const doctor = JSON.parse(spawnSync(binary, ['doctor', '--json',
		'--workspace', workspace], {encoding: 'utf8'}).stdout);

	assert.deepEqual(told.slice(0, doctor.layers.length)
		.map(([name, state]) => [name, state === 'works']),
	doctor.layers.map(({name, works}) => [name, works]));
	assert.equal(told.length - doctor.layers.length,
		Object.keys(doctor.services).length);
	assert.match(parse(plain).byId('host').text, /was not asked/);
	const missing = run(['report', '--workspace', '/no/such', '-']);
	assert.equal(missing.status, 0);
	assert.match(parse(missing.stdout).byId('host').text,
		/could not be asked: .*\/no\/such/);
	assert.match(parse(missing.stdout).classed('in-force')[0].text,
		/would not start with it here: .*\/no\/such/);
	assert.doesNotMatch(stdout, /would not start/);
});
