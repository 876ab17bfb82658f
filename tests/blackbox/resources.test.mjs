// What a command inherits of the server's rights and what it may use up.
import assert from 'node:assert/strict';
import {execFileSync} from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import {test} from 'node:test';
import {
	Server, binary, foreignSkip, freshDirectory, rootSkip,
} from './lib/server.mjs';
import {until} from './lib/wait.mjs';

const python = '/usr/bin/python3';

/** A server that a script has prepared the ground for. */
async function prepared(script, body) {
	const dir = freshDirectory('launcher');
	const file = path.join(dir, 'launch');
	fs.writeFileSync(file, `#!/bin/sh\n${script}\n` +
		`exec ${binary} serve --workspace "$1"\n`, {mode: 0o755});
	const server = await Server.start({command: `${file} {workspace}`});
	try {
		await body(server);
	} finally {
		await server.stop();
		fs.rmSync(dir, {recursive: true});
	}
}

/** Whether this host lets us do what a test needs. */
function canRun(script) {
	try {
		execFileSync('/bin/sh', ['-c', script], {stdio: 'ignore'});
		return true;
	} catch {
		return false;
	}
}

const favourSkip = foreignSkip || rootSkip ||
	(canRun('echo -900 > /proc/self/oom_score_adj') ? false :
		'needs the right to lower oom_score_adj');

test('a favoured server passes neither oom_score_adj nor nice on',
	{skip: favourSkip}, () => prepared(
		'echo -900 > /proc/self/oom_score_adj; renice -n -5 -p $$ >/dev/null',
		async (server) => {
			const client = await server.connect();
			const ask = 'cat /proc/self/oom_score_adj; nice';
			for (let i = 0; i < 20; i++) {
				const {all} = await client.shell(
					`${ask}; sh -c '${ask}'`, {tty: i % 2 === 1});
				const [oom, nice, oom2, nice2] =
					all.trim().split(/\s+/).map(Number);
				assert.ok(oom >= 0 && oom2 >= 0, all);
				assert.deepEqual([nice, nice2], [0, 0]);
			}
		}));

test('signals that the server ignores are not ignored in a command',
	{skip: foreignSkip}, () => prepared('trap "" INT QUIT PIPE USR1',
		async (server) => {
			const client = await server.connect();
			const {stdout} = await client.shell(
				'grep -E "^Sig(Blk|Ign)" /proc/self/status');
			assert.match(stdout, /SigBlk:\t0+\nSigIgn:\t0+\n/);
		}));

test('descriptors and directory of the launcher do not reach a command',
	{skip: foreignSkip}, () => prepared(
		'exec 7</etc/passwd 8>/dev/null; cd /usr', async (server) => {
			const client = await server.connect();
			const {stdout} = await client.shell('ls /proc/self/fd');
			assert.equal(stdout, '0\n1\n2\n3\n');
			assert.equal((await client.shell('pwd')).stdout,
				`${server.workspace}\n`);
		}));

test('the umask of the server is that of commands', {skip: foreignSkip},
	() => prepared('umask 027', async (server) => {
		const client = await server.connect();
		assert.equal((await client.shell('umask')).stdout.slice(-4), '027\n');
	}));

const group = `/sys/fs/cgroup/sallyport-blackbox-${process.pid}`;
const groupSkip = foreignSkip || rootSkip ||
	(!fs.existsSync(python) ? `needs ${python}` :
		canRun(`mkdir ${group} && [ -e ${group}/memory.max ] && ` +
			`sh -c 'echo $$ > ${group}/cgroup.procs'; r=$?; ` +
			`rmdir ${group}; exit $r`) ? false :
			'needs the right to make a cgroup with a memory limit');

test('a command that eats all memory ends alone', {skip: groupSkip},
	async () => {
		fs.mkdirSync(group);
		fs.writeFileSync(path.join(group, 'memory.max'), '536870912');
		// A host with swap would let it go on for long.
		if (fs.existsSync(path.join(group, 'memory.swap.max')))
			fs.writeFileSync(path.join(group, 'memory.swap.max'), '0');
		try {
			await prepared(`echo $$ > ${group}/cgroup.procs || exit`,
				async (server) => {
					const client = await server.connect();
					const kept = await client.start(['/bin/sh', '-c',
						'read x; echo kept'], {pipeStdin: true});
					const hog = await client.start([python, '-c',
						'a=[]\nwhile True: a.append(bytearray(16<<20))']);
					assert.notEqual((await hog.end(30000)).exitCode, 0);
					await client.status();
					await kept.write('\n');
					assert.equal((await kept.end()).stdout, 'kept\n');
				});
		} finally {
			await until(5000, 'an empty control group', () =>
				canRun(`rmdir ${group}`));
		}
	});
