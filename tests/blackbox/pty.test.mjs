import assert from 'node:assert/strict';
import {after, test} from 'node:test';
import {startParams} from './lib/client.mjs';
import {Server, foreignSkip} from './lib/server.mjs';

const server = await Server.start();
after(() => server.stop());
const own = {skip: foreignSkip};
const tty = {tty: true};

async function connected(body) {
	const client = await server.connect();
	try {
		await body(client);
	} finally {
		await client.close();
	}
}

test('stdin, stdout and stderr are one terminal of 24 by 80', () =>
	connected(async (client) => {
		const {pty, exitCode} = await client.shell(
			'[ -t 0 ] && [ -t 1 ] && [ -t 2 ] && stty size', tty);
		assert.equal(exitCode, 0);
		assert.equal(pty, '24 80\r\n');
	}));

test('it is the controlling terminal, the child in its foreground', () =>
	connected(async (client) => {
		const {pty} = await client.shell(
			'echo direct >/dev/tty; cut -d" " -f1,6,8 /proc/$$/stat', tty);
		const [direct, numbers] = pty.trim().split('\r\n');
		assert.equal(direct, 'direct');
		const [pid, sid, foreground] = numbers.split(' ');
		assert.equal(sid, pid);
		assert.equal(foreground, pid);
	}));

test('the terminal has a name that the child can open', own, () =>
	connected(async (client) => {
		const {pty} = await client.shell('tty; [ -c "$(tty)" ] && echo is', tty);
		assert.match(pty, /^\/dev\/pts\/\d+\r\nis\r\n$/);
	}));

test('the settings are the usual ones: echo, icanon, onlcr, isig', () =>
	connected(async (client) => {
		const {pty} = await client.shell('stty -a', tty);
		for (const setting of ['echo', 'icanon', 'onlcr', 'isig', 'icrnl'])
			assert.match(pty, new RegExp(`(?<!-)\\b${setting}\\b`));
	}));

test('without tty there is no controlling terminal and no injection', own,
	() => connected(async (client) => {
		const {stdout} = await client.shell(
			'(: </dev/tty) 2>/dev/null && echo HAVE || echo NONE');
		assert.equal(stdout, 'NONE\n');
	}));

test('TERM is not invented', () => connected(async (client) => {
	const {pty} = await client.shell('echo "[$TERM]"', tty);
	assert.match(pty, /^\[(dumb)?\]\r\n$/);
}));

test('what is typed is echoed and read', () => connected(async (client) => {
	const process = await client.start(['/bin/cat'], tty);
	await process.write('again\n');
	await process.prints('again\r\nagain\r\n');
	await process.write('\x04');
	assert.equal((await process.end()).exitCode, 0);
}));

test('byte 0x04 is end of input', () => connected(async (client) => {
	const process = await client.start(['/bin/sh', '-c',
		'stty -echo; echo go; cat > out.txt; cat out.txt'], tty);
	await process.prints('go');
	await process.write('a\n');
	await process.write('\x04');
	const {exitCode, pty} = await process.end(3000);
	assert.equal(exitCode, 0);
	assert.equal(pty, 'go\r\na\r\n');
}));

test('in raw mode 0x04 is a byte as any other', () =>
	connected(async (client) => {
		const process = await client.start(['/bin/sh', '-c',
			'stty raw -echo; echo go; head -c 3 | od -An -tx1'], tty);
		await process.prints('go');
		await process.write('a\x04b');
		assert.match((await process.end()).pty, /61 04 62/);
	}));

test('byte 0x03 interrupts the foreground', () =>
	connected(async (client) => {
		const process = await client.start(['/bin/sh', '-c',
			'trap "echo INT; exit 42" INT; echo up; ' +
			'while :; do sleep 0.05; done'], tty);
		await process.prints('up');
		await process.write('\x03');
		const {exitCode, pty} = await process.end();
		assert.match(pty, /INT/);
		assert.equal(exitCode, 42);
	}));

test('process/signal interrupts on a terminal as well', () =>
	connected(async (client) => {
		const process = await client.start(['/bin/sh', '-c',
			'trap "exit 42" INT; echo up; while :; do sleep 0.05; done'], tty);
		await process.prints('up');
		await process.interrupt();
		assert.equal((await process.end()).exitCode, 42);
	}));

for (const signal of ['KILL', 'TERM', 'INT'])
	test(`death by SIG${signal} on a terminal is 1`, () =>
		connected(async (client) => {
			const {exitCode} = await client.shell(`kill -${signal} $$`, tty);
			assert.equal(exitCode, 1);
		}));

test('terminate on a terminal: exit code 1, closed', () =>
	connected(async (client) => {
		const process = await client.start(['/bin/sleep', '100'], tty);
		assert.deepEqual(await process.terminate(), {running: true});
		assert.equal((await process.end()).exitCode, 1);
	}));

test('pipeStdin is irrelevant on a terminal', () =>
	connected(async (client) => {
		for (const pipeStdin of [false, true]) {
			const process = await client.start(
				['/bin/sh', '-c', 'read x; echo "got $x"'],
				{...tty, pipeStdin});
			assert.deepEqual(await process.write('y\n'),
				{status: 'accepted'});
			await process.prints('got y');
			await process.end();
		}
	}));

test('20,000 typed bytes arrive: raw at once, line by line when canonical',
	() => connected(async (client) => {
		const raw = await client.start(['/bin/sh', '-c',
			'stty raw -echo; echo go; head -c 20000 | wc -c'], tty);
		await raw.prints('go');
		await raw.write('k'.repeat(20000));
		await raw.prints('20000', 5000);
		const lines = await client.start(['/bin/sh', '-c',
			'stty -echo; echo go; head -n 20 | wc -c'], tty);
		await lines.prints('go');
		await lines.write(('k'.repeat(999) + '\n').repeat(20));
		await lines.prints('20000', 5000);
	}));

test('output of short processes is never lost', () =>
	connected(async (client) => {
		for (let i = 0; i < 60; i++) {
			const process = await client.start(
				['/usr/bin/printf', `marker-${i}`], tty);
			const end = await process.end(5000);
			assert.equal(end.pty, `marker-${i}`);
			assert.equal(end.exitCode, 0);
			const kept = await process.drain();
			assert.equal(kept.text, `marker-${i}`);
			assert.equal(kept.failure, null);
		}
	}));

test('bytes pass unchanged in raw mode, broken UTF-8 too', () =>
	connected(async (client) => {
		const process = await client.start(['/bin/sh', '-c',
			'stty raw -echo; printf "\\344\\272"; sleep 0.1; ' +
			'printf "\\206\\n\\377\\376"; cat'], tty);
		await client.wait('six bytes', () => process.output().length >= 6);
		assert.equal(process.output().toString('hex'), 'e4ba860afffe');
		await process.write('still');
		await process.prints('still');
		assert.deepEqual(await process.terminate(), {running: true});
	}));

test('a background child that keeps the terminal delays closed', own, () =>
	connected(async (client) => {
		const process = await client.start(['/bin/sh', '-c',
			'trap "" HUP; (trap "" HUP; sleep 0.5; echo late) & exit 3'], tty);
		assert.equal((await process.exited()).exitCode, 3);
		await process.end();
	}));

// A program per size: bash loses a signal that comes while its trap runs.
for (const [rows, cols] of [[50, 132], [1, 1], [65535, 65535]])
	test(`resize to ${rows} by ${cols} tells the child`, own, () =>
		connected(async (client) => {
			const process = await client.start(['/bin/bash', '-c',
				'trap "stty size" WINCH; echo up; while :; do sleep 0.05; done'],
			tty);
			await process.prints('up');
			assert.deepEqual(await process.resize(rows, cols), {});
			await process.prints(`\n${rows} ${cols}\r\n`);
			await process.terminate();
		}));

for (const [rows, cols] of [
	[0, 80], [24, 0], [65536, 80], [24, 65536], [-1, 80], [1.5, 80], ['24', 80],
	[undefined, 80], [24, null],
])
	test(`resize to ${rows} by ${cols} is -32602`, own, () =>
		connected(async (client) => {
			const process = await client.start(['/bin/cat'], tty);
			const error = await client.refusal('process/resize',
				{processId: process.id, rows, cols});
			assert.equal(error.code, -32602);
			await process.terminate();
		}));

test('resize of an unknown process is -32600', own, () =>
	connected(async (client) => {
		const error = await client.refusal('process/resize',
			{processId: 'nobody', rows: 24, cols: 80});
		assert.equal(error.code, -32600);
	}));

test('a program that is missing is the same error on a terminal', () =>
	connected(async (client) => {
		const error = await client.refusal('process/start', startParams(
			['/no/such'], client.cwd, {processId: 'p', tty: true}));
		assert.equal(error.code, -32603);
		assert.deepEqual(error.data, {kind: 'spawnNotFound'});
	}));
