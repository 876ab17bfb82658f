// What policy explain says of a path is what a command and fs/* find there:
// random profiles over a small tree, each path tried by doing.
//
// AGREE_PATHS (100) is how many to try, AGREE_SEED (1) what they follow from.
import assert from 'node:assert/strict';
import {spawnSync} from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import {after, test} from 'node:test';
import {
	Server, binary, fileUri, foreignSkip, freshDirectory,
} from './lib/server.mjs';
import {slow} from './lib/wait.mjs';

const PATHS = Number(process.env.AGREE_PATHS ?? 100);
const SEED = Number(process.env.AGREE_SEED ?? 1);
const EACH = 20; // paths of a profile

/** Numbers below n, the same ones for the same seed. */
function randomOf(seed) {
	let state = seed >>> 0;
	return (n) => {
		state = (state + 0x6d2b79f5) >>> 0;
		let t = Math.imul(state ^ (state >>> 15), state | 1);
		t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
		return ((t ^ (t >>> 14)) >>> 0) % n;
	};
}

// Outside of /tmp, which is a session's own, everybody may do anything: only
// the policy is left to refuse.
const outside = fs.mkdtempSync('/var/tmp/sallyport-agree-');
after(() => fs.rmSync(outside, {recursive: true, force: true}));
const places = {
	in: freshDirectory('agree'), // below the session's /tmp
	on: path.join(outside, 'workspace'),
	off: path.join(outside, 'other'),
};
const dirs = ['', 'a', 'a/b', 'a/b/c', 'd'];

function make() {
	fs.chmodSync(outside, 0o755);
	for (const place of Object.values(places))
		for (const dir of dirs) {
			const at = path.join(place, dir);
			fs.mkdirSync(at, {recursive: true});
			fs.writeFileSync(path.join(at, 'f'), 'planted\n');
			fs.chmodSync(path.join(at, 'f'), 0o666);
			fs.chmodSync(at, 0o777);
		}
	fs.writeFileSync(path.join(outside, 'f'), 'planted\n');
	for (const place of [places.in, places.on]) {
		fs.symlinkSync(path.join(place, 'a/b/f'), path.join(place, 'inner'));
		fs.symlinkSync(path.join(places.off, 'a/f'),
			path.join(place, 'd/outer'));
		if (process.getuid() === 0)
			spawnSync('chown', ['-Rh', '1234:1234', place]);
	}
}

const tree = Object.values(places).flatMap((place) => dirs.flatMap((dir) =>
	[path.join(place, dir), path.join(place, dir, 'f')]));
const links = [places.in, places.on].flatMap((place) =>
	[path.join(place, 'inner'), path.join(place, 'd/outer')]);
const system = ['/etc/passwd', '/usr/bin/env', '/bin/sh', '/dev/null',
	'/dev/zero', '/dev/mem', '/dev/kmsg', '/proc/self/status', '/proc/version',
	'/proc/sys/kernel/hostname', '/sys/kernel/mm/transparent_hugepage/enabled',
	'/sys/devices/system/cpu/online', '/sys/fs/cgroup/cgroup.procs',
	'/var/lib/dpkg/status', '/tmp/made', '/dev/shm/made'];
// Those above what rules give, which may be nothing but the way to it.
const above = ['/tmp', '/var', '/var/tmp', outside, '/run', '/sys',
	'/sys/kernel', '/usr', '/etc', '/home'];
const probes = [...tree, ...tree, ...links, ...system, ...above];
// What the session makes itself can be read only after it was written.
const isMade = (file) => file.endsWith('/made');

/** [section lines, words for a message] */
function randomProfile(random) {
	const pick = (list) => list[random(list.length)];

	if (random(8) === 0)
		return `[sandbox]\npreset = ${pick(['workspace', 'strict'])}\n`;
	const writable = ['{workspace}', '{workspace}/a', '{workspace}/a/b',
		'{workspace}/d', '{workspace}/a/b/f', '{tmp}',
		places.on, path.join(places.on, 'a'), path.join(places.in, 'd'),
		'{workspace}/inner', path.join(places.on, 'd/outer')];
	const others = [places.off, path.join(places.off, 'a'),
		path.join(places.off, 'a/b/f'), '/usr', '/etc', '/var', outside,
		'/etc/passwd', '/sys', '/sys/kernel/mm', '/run', '/proc', '/home'];
	const rules = new Map();

	if (random(3) > 0)
		rules.set('/', 'read');
	for (let n = 1 + random(7); n > 0; n--) {
		const at = pick([...writable, ...writable, ...others]);
		// Without /usr there is no shell to try anything.
		const access = at === '/usr' ? 'read' : pick(writable.includes(at) ?
			['write', 'write', 'read', 'deny'] : ['read', 'read', 'deny']);
		rules.set(at, access);
	}
	return '[sandbox]\nprofile = p\n[profile "p"]\n' +
		[...rules].map(([at, access]) => `${access} = ${at}\n`).join('');
}

const config = path.join(outside, 'sallyport.conf');
const options = ['--config', config, '--workspace', places.in,
	'--workspace', places.on];

function explain(file) {
	const {status, stdout, stderr} = spawnSync(binary, ['policy', 'explain',
		...options, 'current', file], {encoding: 'utf8', timeout: 10000 * slow});

	return status === 2 ? {error: stderr} :
		{access: stdout.split(':')[0], why: stdout};
}

// A directory can be read if the file in it is seen, listed if nothing but that
// is missing, and written if another can be made. No program but the shell is
// run.
const prober = `
for p; do
	r=-; w=-
	if [ -d "$p" ]; then
		[ -r "$p" ] && r=l
		for x in "$p"/*; do [ "$x" = "$p/f" ] && r=r; done
		( : > "$p/.probe" ) 2>/dev/null && w=w
	else
		( : >> "$p" ) 2>/dev/null && w=w
		( : < "$p" ) 2>/dev/null && r=r
	fi
	echo "$r$w"
done`;

async function probeByProgram(client, files) {
	const program = await client.start(['/bin/sh', '-c', prober, 'sh', ...files],
		{cwd: 'file:///'});
	const {exitCode, stdout, output} = await program.end(10000);

	assert.equal(exitCode, 0);
	return String(stdout ?? output).trim().split('\n');
}

const ok = (promise) => promise.then(() => true, () => false);

async function probeByFs(client, file) {
	const uri = fileUri(file);
	const info = await client.call('fs/getMetadata', {path: uri})
		.catch(() => ({isDirectory: fs.existsSync(file) &&
			fs.statSync(file).isDirectory()}));
	const inside = `${uri}/.probe-fs`;
	const list = () => client.call('fs/readDirectory', {path: uri})
		.then(({entries}) => entries.some((entry) =>
			entry.fileName === 'f') ? 'r' : 'l', () => '-');
	const write = (to) => ok(client.call('fs/writeFile',
		{path: to, dataBase64: 'eA=='}));

	// Special files are refused by fs/*, whatever the policy says.
	if (file.startsWith('/dev/') && !isMade(file))
		return undefined;
	const w = await write(info.isDirectory ? inside : uri);
	const r = info.isDirectory ? await list() :
		await ok(client.call('fs/readFile', {path: uri})) ? 'r' : '-';
	return `${r}${w ? 'w' : '-'}`;
}

function isAsSaid({access, why}, file, found) {
	const canRead = access === 'read' || access === 'write';

	// It may be the way to the file that is looked for, or to another.
	if (why.includes('on the way to'))
		return found[0] !== '-' && found[1] === '-';

	if (found[1] !== (access === 'write' ? 'w' : '-'))
		return false;
	// A host may lack a file, or its mode may not let anybody read it.
	if (isMade(file) || !fs.existsSync(file) || file === '/dev/mem' ||
	    file === '/dev/kmsg')
		return access === 'write' || found[0] === '-' || canRead;
	if (!canRead)
		return found[0] === '-';
	return found[0] === (above.includes(file) && file !== outside ? 'l' : 'r');
}

async function compare(server, files, said) {
	const client = await server.connect();
	const byProgram = await probeByProgram(client, files);

	for (const [i, file] of files.entries()) {
		const byFs = await probeByFs(client, file);
		const about = `${file}: a command ${byProgram[i]}, fs/* ${byFs}, ` +
			`said ${said[i].why}${fs.readFileSync(config)}`;
		assert.ok(isAsSaid(said[i], file, byProgram[i]), about);
		if (byFs !== undefined)
			assert.ok(isAsSaid(said[i], file, byFs), about);
	}
	await client.close();
}

test(`explain, programs and fs/* agree on ${PATHS} paths (seed ${SEED})`,
	{skip: foreignSkip}, async () => {
		const random = randomOf(SEED);
		let tried = 0, profiles = 0, refused = 0;
		const seen = {read: 0, write: 0, deny: 0, none: 0};

		make();
		while (tried < PATHS) {
			fs.writeFileSync(config, randomProfile(random));
			const files = [...new Set(Array.from({length: EACH},
				() => probes[random(probes.length)]))];
			const said = files.map(explain);
			const bad = said.find((answer) => answer.error);
			const args = ['--config', config, '--workspace', places.on];
			if (bad) {
				// A server does not start with what cannot be explained.
				assert.equal(spawnSync(binary, ['serve', '--workspace',
					places.in, ...args], {timeout: 10000 * slow}).status, 2,
				bad.error + fs.readFileSync(config));
				refused++;
				assert.ok(refused < 20 + profiles, bad.error);
				continue;
			}
			const server = await Server.start({workspace: places.in,
				keep: true, args});
			try {
				await compare(server, files, said);
			} catch (e) {
				e.message += `\n${fs.readFileSync(config)}${server.stderr}`;
				throw e;
			} finally {
				await server.stop();
			}
			tried += files.length;
			profiles++;
			for (const {access} of said)
				seen[access]++;
		}
		console.log(`# ${tried} paths of ${profiles} profiles: ` +
			JSON.stringify(seen) + `, ${refused} profiles refused`);
		assert.ok(Object.values(seen).every((n) => n > 0));
	});
