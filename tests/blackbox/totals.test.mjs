// Totals of a session and of a command with all that it started, and the clock.
import assert from 'node:assert/strict';
import {spawnSync} from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import {after, test} from 'node:test';
import {startParams} from './lib/client.mjs';
import {isAlive} from './lib/proc.mjs';
import {
	Server, binary, fileUri, foreignSkip, freshDirectory, rootSkip,
} from './lib/server.mjs';
import {inTime, until} from './lib/wait.mjs';

if (foreignSkip) {
	test('totals', {skip: foreignSkip}, () => {});
	process.exit();
}

const place = freshDirectory('totals');
after(() => fs.rmSync(place, {recursive: true}));

const USER = 1234;
const asUser = `setpriv --reuid ${USER} --regid ${USER} --clear-groups `;

/** Our own groups, as directories: only those of controllers that count. */
function ownGroups() {
	const found = [];
	for (const line of fs.readFileSync('/proc/self/cgroup', 'utf8').trim()
		.split('\n')) {
		const [, names, own] = /^\d+:([^:]*):(.*)$/.exec(line);
		const tops = names === '' ? ['', 'unified'] :
			/^(memory|pids|cpu)(,|$)/.test(names) ? [names] : [];
		for (const top of tops) {
			const dir = path.join('/sys/fs/cgroup', top, own);
			if (fs.existsSync(path.join(dir, 'cgroup.procs')))
				found.push(dir);
		}
	}
	return found;
}

/** Groups for a server of that user, as a service manager gives them. */
class Delegation {
	constructor(uid) {
		const name = `sallyport-blackbox-${process.pid}-${uid}`;
		this.dirs = ownGroups().map((dir) => path.join(dir, name));
		for (const dir of this.dirs) {
			fs.mkdirSync(dir);
			for (const file of ['', 'cgroup.procs', 'cgroup.threads',
				'cgroup.subtree_control']) {
				if (fs.existsSync(path.join(dir, file)))
					fs.chownSync(path.join(dir, file), uid, uid);
			}
		}
		const enter = path.join(place, `enter-${uid}`);
		fs.writeFileSync(enter, '#!/bin/sh\n' + this.dirs.map(
			(dir) => `echo $$ > ${dir}/cgroup.procs\n`).join('') +
			'exec "$@"\n', {mode: 0o755});
		this.launch = `${enter} `;
	}

	remove() {
		return until(5000, 'empty control groups', () =>
			this.dirs.every((dir) => {
				try {
					fs.rmdirSync(dir);
				} catch (e) {
					return e.code === 'ENOENT';
				}
				return true;
			}) || undefined);
	}
}

/** What the doctor says of control groups, if it is started like that. */
function groupsAre(launch) {
	const [file, ...rest] = `${launch}${binary} doctor --json`.split(' ');
	const {stdout} = spawnSync(file, rest, {encoding: 'utf8', cwd: '/tmp'});
	return JSON.parse(stdout).layers.find((l) => l.key === 'cgroup');
}

/** The delegation to a user, or why this host lets us give none. */
function delegate(uid) {
	try {
		return {to: new Delegation(uid)};
	} catch (e) {
		return {why: `no control group can be made here (${e.code})`};
	}
}

const asked = {
	root: {who: '', ...delegate(0)},
	user: {who: asUser, ...delegate(USER)},
};
for (const row of Object.values(asked)) {
	row.launch = `${row.to?.launch}${row.who}`;
	const given = row.to && groupsAre(row.launch);
	row.skip = rootSkip || row.why || (given.works ? false :
		`this host's control groups have no limits (${given.value})`);
	after(() => row.to?.remove());
}
const lackSkip = rootSkip || (groupsAre(asUser).works ?
	`user ${USER} has control groups here` : false);
const {skip, launch} = asked.root;
const serve = `${launch}${binary} serve --workspace {workspace}`;

async function serving(set, body, options = {command: serve}) {
	const server = await Server.start({...options, set});
	try {
		await body(await server.connect(), server);
	} finally {
		await server.stop();
	}
}

async function finish(program, ms = 20000) {
	const {exitCode, stdout, stderr} = await program.end(ms);
	const {failure} = await program.read();
	return {exitCode, stdout, stderr, failure};
}

const sh = (text) => ['/bin/sh', '-c', text];
const hog = 'tail /dev/zero';
/** Processes that wait, one after the other, until told. */
const crowd = (count) => `i=0; p=; while [ $i -lt ${count} ]; do ` +
	'sleep 9 >/dev/null 2>&1 & p="$p $!" i=$((i+1)); done; kill $p; echo all';

test('memory over a session\'s total ends the command, and no other session\'s',
	{skip}, () => serving({'limits.session_memory_total': '96M'},
		async (client, server) => {
			const other = await server.connect();
			const kept = await other.start(sh('read x; echo kept'),
				{pipeStdin: true});
			const {exitCode, failure} = await finish(
				await client.start(sh(hog)));
			assert.notEqual(exitCode, 0);
			assert.match(failure, /memory/);
			assert.equal((await client.shell('echo on')).stdout, 'on\n');
			await kept.write('\n');
			assert.equal((await kept.end()).stdout, 'kept\n');
		}));

test('files in /tmp and /dev/shm count as a session\'s memory', {skip},
	() => serving({'limits.session_memory_total': '64M'}, async (client) => {
		for (const dir of ['/tmp', '/dev/shm']) {
			const {exitCode, failure} = await finish(await client.start(
				sh(`dd if=/dev/zero of=${dir}/x bs=1M count=128; r=$?; ` +
					`rm ${dir}/x; exit $r`)));
			assert.notEqual(exitCode, 0);
			assert.match(failure, /memory/);
		}
	}));

test('memory over a command\'s total ends that command alone', {skip},
	() => serving({'limits.child_memory_total': '64M'}, async (client) => {
		const kept = await client.start(sh('read x; echo kept'),
			{pipeStdin: true});
		const {failure} = await finish(await client.start(sh(hog)));
		assert.match(failure, /memory/);
		await kept.write('\n');
		assert.deepEqual(await finish(kept),
			{exitCode: 0, stdout: 'kept\n', stderr: '', failure: null});
	}));

for (const [whose, key] of [
	['session', 'limits.session_processes_total'],
	['command', 'limits.child_processes_total'],
])
	test(`a ${whose} has as many processes as its total, and not one more`,
		{skip}, () => serving({[key]: '8'}, async (client) => {
			// Our init and the shell are two of them.
			assert.deepEqual(await finish(await client.start(sh(crowd(6)))),
				{exitCode: 0, stdout: 'all\n', stderr: '', failure: null});
			const {exitCode, failure} = await finish(
				await client.start(sh(crowd(7))));
			assert.notEqual(exitCode, 0);
			assert.match(failure, /processes/);
		}));

test('a start that finds no room for a process is refused as busy', {skip},
	() => serving({'limits.session_processes_total': '4'}, async (client) => {
		const first = await client.start(sh('read x'), {pipeStdin: true});
		const second = await client.start(sh('read x'), {pipeStdin: true});
		const refusal = await client.refusal('process/start',
			startParams(['/bin/true'], client.cwd, {processId: 'third'}));
		assert.equal(refusal.code, -32600);
		assert.match(refusal.text, /busy.*processes_total/);
		await first.write('\n');
		await first.end();
		await second.write('\n');
		await second.end();
		await until(5000, 'room', () => client.shell('echo room')
			.then(({stdout}) => stdout === 'room\n', () => undefined));
	}));

test('a session cannot have more than its share of the CPUs', {skip}, () =>
	serving({'limits.session_cpu_percent': '10'}, async (client) => {
		const {stdout} = await client.shell(
			'a=$(date +%s%N); (i=0; while [ $i -lt 100000 ]; do i=$((i+1)); ' +
			'done); b=$(date +%s%N); read u n </proc/self/schedstat; ' +
			'times | tail -1; echo $((b-a))');
		const [user, , wall] = stdout.trim().split(/\s+/);
		const used = Number(/m([\d.]+)s/.exec(user)[1]) * 1e9;
		assert.ok(Number(wall) > 2 * used, stdout);
	}));

test('a command that uses up its CPU time by forking is ended, and told why',
	{skip}, () => serving({'limits.child_cpu_time_total': '600ms'},
		async (client) => {
			const spin = 'i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done';
			const some = await finish(await client.start(sh(`(${spin})`)));
			assert.deepEqual([some.exitCode, some.failure], [0, null]);
			const all = await finish(await client.start(
				sh(`while :; do (${spin}); done`)));
			assert.equal(all.exitCode, 137);
			assert.match(all.failure, /CPU time.*child_cpu_time_total/);
		}));

test('a command is ended when its time is over, and told why', async () => {
	const audit = path.join(place, 'audit');
	await serving({'limits.child_wall_time': '400ms', 'audit.file': audit},
		async (client) => {
			const quick = await inTime(400, async () =>
				finish(await client.start(sh('echo quick'))));
			assert.deepEqual(quick, {
				exitCode: 0, stdout: 'quick\n', stderr: '', failure: null,
			});
			for (const tty of [false, true]) {
				const {exitCode, failure} = await finish(await client.start(
					sh('trap "" TERM HUP INT; sleep 60 & wait'), {tty}));
				assert.equal(exitCode, tty ? 1 : 137);
				assert.match(failure, /out of time.*child_wall_time/);
			}
			await until(5000, 'audit record', () => /"out of time/.test(
				fs.readFileSync(audit, 'utf8')) || undefined);
		}, {});
});

test('what a command leaves behind is ended when its time is over', () =>
	serving({'limits.child_wall_time': '400ms'}, async (client) => {
		let program;
		await inTime(400, async () => {
			program = await client.start(sh('sleep 60 & echo left'));
			await program.exited();
		});
		const {exitCode, failure, stdout} = await finish(program);
		assert.deepEqual([exitCode, failure, stdout], [0, null, 'left\n']);
	}, {}));

/** The directories of servers in the groups that were given. */
function groups() {
	return asked.root.to.dirs.flatMap((dir) => fs.readdirSync(dir)
		.filter((name) => /^sallyport-[0-9a-f]{32}$/.test(name))
		.map((name) => path.join(dir, name)));
}

async function own(options) {
	const since = groups();
	const server = await Server.start({command: serve, set: total, ...options});
	return {server, made: groups().filter((dir) => !since.includes(dir))};
}
const total = {'limits.session_memory_total': '64M'};

test('groups are gone when a server has stopped', {skip}, async () => {
	const {server, made} = await own();
	try {
		assert.ok(made.length > 0);
		const client = await server.connect();
		await client.start(sh('sleep 60 & sleep 60'));
		for (const dir of made)
			assert.ok(fs.statSync(dir).isDirectory());
	} finally {
		await server.stop();
	}
	assert.deepEqual(made.filter((dir) => fs.existsSync(dir)), []);
});

test('a session\'s group is gone when the session has ended', {skip},
	async () => {
		const {server, made} = await own(
			{set: {...total, 'limits.session_retention': '0'}});
		try {
			const sessions = () => made.flatMap((dir) => fs.readdirSync(dir)
				.filter((name) => /^\d+$/.test(name)));
			const client = await server.connect();
			await client.start(sh('sleep 60'));
			assert.equal(sessions().length, made.length);
			client.socket.close();
			await until(5000, 'end of the groups', () =>
				sessions().length === 0 || undefined);
		} finally {
			await server.stop();
		}
	});

test('a killed server\'s groups go with the next one, a living one\'s stay',
	{skip}, async () => {
		const living = await own();
		const dead = await own();
		const strange = path.join(path.dirname(dead.made[0]),
			'sallyport-strange');
		let next;
		try {
			const client = await dead.server.connect();
			await client.start(sh('sleep 60 & sleep 60'));
			const all = dead.server.pids();
			fs.mkdirSync(strange);
			dead.server.child.kill('SIGKILL');
			await until(5000, 'end of the tree', () =>
				all.every((pid) => !isAlive(pid)) || undefined);
			// What they could do about it before their own end, they did.
			for (const dir of dead.made)
				fs.mkdirSync(path.join(dir, '7'), {recursive: true});
			next = await own();
			assert.deepEqual(dead.made.filter((d) => fs.existsSync(d)), []);
			assert.ok(living.made.every((dir) => fs.existsSync(dir)));
			assert.ok(fs.existsSync(strange));
		} finally {
			await living.server.stop();
			await dead.server.stop();
			await next?.server.stop();
			if (fs.existsSync(strange))
				fs.rmdirSync(strange);
		}
	});

test('a user is held to totals in groups that were given to it',
	{skip: asked.user.skip}, async () => {
		const workspace = freshDirectory();
		fs.chownSync(workspace, USER, USER);
		const options = {
			command: `${asked.user.launch}${binary} serve ` +
				'--workspace {workspace}',
			workspace, keep: true,
		};
		await serving({
			'limits.child_memory_total': '64M',
			'limits.session_processes_total': '8',
		}, async (client, server) => {
			assert.match(server.stderr, /limits=cgroup/);
			const hogged = await finish(await client.start(sh(hog)));
			assert.match(hogged.failure, /memory/);
			const crowded = await finish(await client.start(sh(crowd(7))));
			assert.match(crowded.failure, /processes/);
		}, options);
		fs.rmSync(workspace, {recursive: true});
	});

test('an exec that died leaves no group behind', {skip}, async () => {
	const server = await Server.start({command: serve, set: total});
	try {
		const before = groups();
		const client = await server.connect();
		await client.start(sh('sleep 60'));
		process.kill(await server.role('exec'), 'SIGKILL');
		await client.closed;
		await until(10000, 'another exec', () => server.connect()
			.then((next) => next.shell('echo again'))
			.then(({stdout}) => stdout === 'again\n', () => undefined));
		const now = groups();
		assert.equal(now.length, before.length);
		assert.ok(now.every((dir) => !before.includes(dir)));
	} finally {
		await server.stop();
	}
});

test('totals that the host cannot give are refused', {skip: lackSkip},
	async () => {
		const workspace = freshDirectory();
		fs.chownSync(workspace, USER, USER);
		const options = {
			command: `${asUser}${binary} serve --workspace {workspace}`,
			workspace, keep: true,
		};
		await serving(total, async (client, server) => {
			const refusal = await client.refusal('process/start',
				startParams(['/bin/true'], server.workspaceUri,
					{processId: 'p'}));
			assert.match(refusal.text, /control groups.*Delegate=yes.*degraded/);
			assert.equal(refusal.data.kind, 'sandboxUnavailable');
			assert.equal(refusal.data.stage, 'host');
			assert.equal(refusal.data.feature, 'control groups');
			assert.match(refusal.data.needed_by, /limits\.\*_total/);
			await client.refusal('fs/readDirectory',
				{path: fileUri(workspace)});
			assert.match(server.stderr, /no_totals.*every command is refused/);
		}, options);
		await serving({...total, 'sandbox.degraded': 'allow'},
			async (client, server) => {
				assert.equal((await client.shell('ulimit -d')).stdout,
					'65536\n');
				assert.match(server.stderr, /no_totals.*by itself alone/);
			}, options);
		const {status, stdout} = spawnSync('setpriv', [...asUser.trim()
			.split(' ').slice(1), binary, 'doctor', '--workspace', workspace,
		'--set', 'limits.session_memory_total=64M'], {encoding: 'utf8'});
		assert.equal(status, 1, stdout);
		assert.match(stdout, /^missing {2}control groups \(EACCES\)$/m);
		fs.rmSync(workspace, {recursive: true});
	});
