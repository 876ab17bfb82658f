// sallyport audit verify: what was done to an audit file behind our back.
import assert from 'node:assert/strict';
import {spawnSync} from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import {test} from 'node:test';
import {AuditLog, checked} from './lib/audit.mjs';
import {Server, binary, foreignSkip, freshDirectory} from './lib/server.mjs';
import {slow} from './lib/wait.mjs';

const skip = foreignSkip;
const dir = freshDirectory('verify');
let last = 0;

function write(text, mode = 0o600) {
	const file = path.join(dir, `log${++last}`);
	fs.writeFileSync(file, text, {mode});
	return file;
}

function verify(...args) {
	const {status, stdout, stderr} = spawnSync(
		binary, ['audit', 'verify', ...args], {encoding: 'utf8', timeout: 10000 * slow});
	return {status, text: stdout + stderr};
}

/** The lines of a server that has run and ended. */
async function lines(set = {}) {
	const log = new AuditLog({'audit.chain': true, ...set});
	const server = await Server.start({set: log.set});
	await server.stop();
	return log.text().split('\n').slice(0, -1);
}

const whole = skip ? [] : await lines();
const text = (all) => all.join('\n') + '\n';

test('a whole chain is found whole, with and without its hash', {skip}, () => {
	const {seq, hash} = checked(whole.at(-1));
	const file = write(text(whole));
	const {status, text: said} = verify(file, '--head', hash);

	assert.equal(status, 2, 'options come first');
	assert.equal(verify('--head', hash, file).status, 0);
	assert.match(verify(file).text,
		new RegExp(`${whole.length} lines, seq 1 to ${seq}[^]*${hash}`));
	assert.match(said, /--head: cannot be read/);
});

const broken = {
	'an edited line': [(l) => { l[2] = l[2].replace('event', 'Event'); },
		/line 3: .*hash/],
	'an edited hash': [(l) => { l[2] = l[2].replace(/.("})$/,
		(all, end) => (all[0] === '0' ? '1' : '0') + end); }, /line 3: .*hash/],
	'an edited number': [(l) => { l[2] = l[2].replace('"3"', '"4"'); },
		/line 3: lines before it are missing/],
	'a line taken out': [(l) => { l.splice(2, 1); },
		/line 3: lines before it are missing/],
	'the first line taken out': [(l) => { l.splice(0, 1); },
		/line 1: .*missing/],
	'two lines that changed places': [(l) => {
		[l[1], l[2]] = [l[2], l[1]]; }, /line 2: lines before it are missing/],
	'a line that is there twice': [(l) => { l.splice(3, 0, l[2]); },
		/line 4: was moved, repeated or put in/],
	'a line put in': [(l) => { l.splice(2, 0, '{"v":1}'); },
		/line 3: has no hash/],
	'two lines put in': [(l) => { l.splice(2, 0, 'x', 'y'); },
		/line 4: has no hash/],
	'an empty line put in': [(l) => { l.splice(2, 0, ''); },
		/line 3: has no hash/],
	'a line put in at the end': [(l) => { l.push('{"v":1}'); },
		new RegExp(`line ${whole.length + 1}: has no hash`)],
	'a chain that was begun anew': [(l) => { l.splice(2, 0, ...whole); },
		/line 3: a new chain begins/],
};
for (const [what, [change, complaint]] of Object.entries(broken))
	test(`${what} is found`, {skip}, () => {
		const changed = [...whole];
		change(changed);
		const {status, text: said} = verify(write(text(changed)));
		assert.match(said, complaint);
		assert.equal(status, 1);
	});

test('a tail that was cut off is found as far as it can be', {skip}, () => {
	const all = text(whole);
	const {hash} = checked(whole.at(-1));
	const cut = verify(write(all.slice(0, -9)));
	const shorter = write(text(whole.slice(0, -1)));

	assert.equal(cut.status, 1);
	assert.match(cut.text, new RegExp(`line ${whole.length}: is cut off`));
	assert.equal(verify(write(all.slice(0, -1))).status, 1);
	assert.equal(verify(shorter).status, 0);
	assert.equal(verify('--head', hash, shorter).status, 1);
});

test('files are one chain, and a line torn by a crash is accounted for',
	{skip}, async () => {
		const log = new AuditLog({'audit.chain': true});
		const run = async () => (await Server.start({set: log.set})).stop();

		await run();
		fs.appendFileSync(log.file, '{"v":1,"time":"20');
		await run();
		const {torn} = log.text().split('\n').slice(1, -1)
			.filter((l) => l.includes('"audit_open"')).map(checked)[0];
		assert.equal(torn, '17');
		assert.equal(verify(log.file).status, 0);
		// Rotated while the server runs.
		const server = await Server.start({set: log.set});
		fs.renameSync(log.file, `${log.file}.1`);
		process.kill(server.pid, 'SIGHUP');
		await log.one('audit_open');
		await server.stop();
		assert.equal(verify(`${log.file}.1`, log.file).status, 0);
		assert.match(verify(log.file).text, /lines before seq \d+ are in files/);
		assert.match(verify(log.file, `${log.file}.1`).text,
			/line 1: a new chain begins/);
		// Another text in the place of the torn one has another length.
		fs.writeFileSync(`${log.file}.1`, fs.readFileSync(`${log.file}.1`,
			'utf8').replace('{"v":1,"time":"20\n', '{"v":1,"time":"201\n'));
		assert.match(verify(`${log.file}.1`).text, /has no hash, or was cut/);
	});

test('with a key, without it nothing can be made', {skip}, async () => {
	const key = write('0123456789abcdef');
	const other = write('0123456789abcdeF');
	const file = write(text(await lines({'audit.key_file': key})));

	assert.equal(verify('--key', key, file).status, 0);
	assert.equal(verify('--key', other, file).status, 1);
	assert.equal(verify(file).status, 1);
	assert.equal(verify('--key', write('short'), file).status, 2);
	assert.equal(verify('--key', write('0123456789abcdef', 0o644), file).status,
		2);
});

test('files that are none of ours do no harm', {skip}, () => {
	assert.match(verify(write('')).text, /empty/);
	for (const hostile of ['\n', '\0', 'x'.repeat(300000), '}\n'.repeat(1000),
		'"hash":"'.repeat(1000) + '\n', '\xff'.repeat(1000) + '\n'])
		assert.equal(verify(write(hostile)).status, 1, hostile.slice(0, 9));
	assert.equal(verify('/dev/zero').status, 2);
	assert.equal(verify(dir).status, 2);
	assert.equal(verify(path.join(dir, 'none')).status, 2);
	assert.equal(verify().status, 2);
});
