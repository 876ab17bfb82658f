// Why a program was ended by the kernel is told to the client and the audit.
import assert from 'node:assert/strict';
import {execFileSync} from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import {after, test} from 'node:test';
import {
	Server, binary, foreignSkip, freshDirectory, rootSkip,
} from './lib/server.mjs';
import {until} from './lib/wait.mjs';

if (foreignSkip) {
	test('ended', {skip: foreignSkip}, () => {});
	process.exit();
}

const place = freshDirectory('ended');
after(() => fs.rmSync(place, {recursive: true}));

/** A control group of ours with a limit of memory, or undefined. */
function memoryGroup() {
	const name = `sallyport-test-${process.pid}`;
	for (const [top, limit, swap] of [
		['/sys/fs/cgroup/memory', 'memory.limit_in_bytes',
			'memory.memsw.limit_in_bytes'],
		['/sys/fs/cgroup', 'memory.max', 'memory.swap.max'],
	]) {
		const dir = path.join(top, name);
		try {
			fs.mkdirSync(dir);
			fs.writeFileSync(path.join(dir, limit), String(256 << 20));
			// A host with swap would let it go on for long.
			if (fs.existsSync(path.join(dir, swap)))
				fs.writeFileSync(path.join(dir, swap),
					limit === 'memory.max' ? '0' : String(256 << 20));
			execFileSync('/bin/sh', ['-c', 'echo $$ > "$0/cgroup.procs"', dir],
				{stdio: 'ignore'});
			return dir;
		} catch {
			try {
				fs.rmdirSync(dir);
			} catch {
				// It was never made.
			}
		}
	}
	return undefined;
}

async function removeGroup(dir) {
	await until(5000, 'empty control group', () => {
		try {
			fs.rmdirSync(dir);
			return true;
		} catch {
			return undefined;
		}
	});
}

async function ended(options, argv) {
	const audit = path.join(place, 'audit');
	const server = await Server.start(
		{...options, set: {...options.set, 'audit.file': audit}});
	try {
		const client = await server.connect();
		const program = await client.start(argv);
		const {exitCode} = await program.end(20000);
		const {failure} = await program.read();
		return {exitCode, failure,
			record: await until(5000, 'audit record', () =>
				fs.readFileSync(audit, 'utf8').split('\n')
					.find((line) => line.includes('"process_exit"')))};
	} finally {
		await server.stop();
		fs.rmSync(audit, {force: true});
	}
}

test('a program that uses up its CPU time is ended, and told why', async () => {
	const {exitCode, failure, record} = await ended(
		{set: {'limits.child_cpu_time': '1s'}},
		['/bin/sh', '-c', 'while :; do :; done']);
	assert.notEqual(exitCode, 0);
	assert.match(failure, /CPU time.*child_cpu_time/);
	assert.match(record, /"reason":"out of CPU time/);
});

test('a program that ends by itself has no such reason', async () => {
	const {exitCode, failure, record} = await ended({},
		['/bin/sh', '-c', 'kill -9 $$']);
	assert.notEqual(exitCode, 0);
	assert.equal(failure, null);
	assert.doesNotMatch(record, /"reason"/);
});

test('a program that the kernel ends for want of memory is told why',
	{skip: rootSkip}, async (t) => {
		const group = memoryGroup();
		if (group === undefined) {
			t.skip('no control group with memory');
			return;
		}
		const enter = path.join(place, 'enter');
		fs.writeFileSync(enter, '#!/bin/sh\necho $$ > "$1/cgroup.procs" || exit\n' +
			'shift\nexec "$@"\n', {mode: 0o755});
		try {
			const {exitCode, failure, record} = await ended(
				{command: `${enter} ${group} ${binary} serve ` +
					'--workspace {workspace}'},
				// A line without an end is held in memory.
				['/bin/sh', '-c', 'tail /dev/zero']);
			assert.notEqual(exitCode, 0);
			assert.match(failure, /memory/);
			assert.match(record, /"reason":"out of memory/);
		} finally {
			await removeGroup(group);
		}
	});
