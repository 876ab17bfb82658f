// sallyport exec: a command somewhere else, as if it ran here.
import assert from 'node:assert/strict';
import {after, test} from 'node:test';
import {spawn} from 'node:child_process';
import {createHash} from 'node:crypto';
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import {isAlive, residentKib, uniqueWord, withArgument} from './lib/proc.mjs';
import {Server, binary, build, foreignSkip, memorySkip} from './lib/server.mjs';
import {inTime, pause, slow, until, within} from './lib/wait.mjs';

const server = await Server.start();
after(() => server.stop());
const own = {skip: foreignSkip};
const END_MS = 10000;

const tool = foreignSkip ? [path.join(build, 'cli/sallyport-tool')] : [binary];

/** Run the client; options: url, stdin (text or "open"), env, stdout. */
function start(args, {
	url = server.url, stdin = '', env = {}, stdout = 'pipe',
} = {}) {
	const child = spawn(tool[0], ['exec', ...(url ? ['--url', url] : []), ...args],
		{env: {...process.env, ...env}, stdio: ['pipe', stdout, 'pipe']});
	const run = {child, stdout: '', stderr: ''};
	child.stdin.on('error', () => {});
	child.stdout?.on('data', (d) => { run.stdout += d; });
	child.stderr.on('data', (d) => { run.stderr += d; });
	run.end = new Promise((resolve) => child.on('close', (code, signal) =>
		resolve({...run, code, signal, stdout: run.stdout,
			stderr: run.stderr})));
	if (stdin !== 'open')
		child.stdin.end(stdin);
	return run;
}

const run = (args, options) =>
	within(END_MS, 'end of sallyport exec', start(args, options).end);

/** python3 gives us a terminal to run the client on; Node cannot. */
const python = '/usr/bin/python3';
const ttySkip = fs.existsSync(python) ? foreignSkip : `needs ${python}`;

test('output comes out, the status is the command\'s', async () => {
	const {stdout, code} = await run(['--', 'sh', '-c', 'echo hi; exit 3']);
	assert.equal(stdout, 'hi\n');
	assert.equal(code, 3);
});

test('stdout and stderr stay apart', async () => {
	const {stdout, stderr, code} = await run(
		['--', 'sh', '-c', 'echo out; echo err >&2']);
	assert.equal(stdout, 'out\n');
	assert.match(stderr, /^err$/m);
	assert.equal(code, 0);
});

test('input is passed on to its end', own, async () => {
	const {stdout, stderr, code} = await inTime(2000, () => run(
		['--', 'wc', '-c'], {stdin: 'x'}));
	assert.equal(stdout, '1\n');
	assert.equal(stderr, '');
	assert.equal(code, 0);
});

test('5 MB go in and come out unchanged', own, async () => {
	const data = Buffer.alloc(5000000);
	for (let i = 0; i < data.length; i++)
		data[i] = (i * 7 + (i >> 8) * 13) & 255;
	const child = start(['--', 'cat'], {stdin: 'open'});
	const hash = createHash('sha256');
	child.child.stdout.on('data', (d) => hash.update(d));
	child.child.stdin.end(data);
	const {code} = await within(30000, 'end', child.end);
	assert.equal(code, 0);
	assert.equal(hash.digest('hex'),
		createHash('sha256').update(data).digest('hex'));
});

test('input that nobody reads does not keep it from ending', async () => {
	const {code} = await run(['--', 'sh', '-c', 'exit 4'],
		{stdin: 'x'.repeat(3000000)});
	assert.equal(code, 4);
});

test('input left open does not keep it from ending', async () => {
	const child = start(['--', 'true'], {stdin: 'open'});
	assert.equal((await within(END_MS, 'end', child.end)).code, 0);
});

test('20 MB of output with a slow reader: all of it, in little memory', own,
	async () => {
		const child = start(
			['--', 'sh', '-c', 'head -c 20000000 /dev/zero; exit 5']);
		let size = 0;
		child.child.stdout.removeAllListeners('data');
		child.child.stdout.pause();
		await pause(1000);
		const resident = residentKib(child.child.pid);
		child.child.stdout.on('data', (d) => { size += d.length; });
		child.child.stdout.resume();
		const {code} = await within(60000, 'end', child.end);
		assert.equal(code, 5);
		assert.equal(size, 20000000);
		if (!memorySkip)
			assert.ok(resident < 32 * 1024, `${resident} KiB`);
	});

test('a reader that goes away ends the command, as in a pipeline', async () => {
	const word = uniqueWord();
	const child = start(['--', 'sh', '-c', 'while :; do echo y; done', word]);
	await until(END_MS, 'output', () => child.stdout.length > 0);
	child.child.stdout.destroy();
	const {code} = await within(END_MS, 'end', child.end);
	assert.equal(code, 128 + 13);
	await until(3000, 'its end', () => withArgument(word).length === 0);
});

test('the cwd is the server\'s, or what --cwd says', async () => {
	fs.mkdirSync(path.join(server.workspace, 'sub dir#'), {recursive: true});
	const sub = path.join(server.workspace, 'sub dir#');
	for (const [args, want] of [
		[['--cwd', '/'], '/'],
		[['--cwd', sub], sub],
		[['--cwd', 'file:///usr'], '/usr'],
		...(foreignSkip ? [] : [[[], server.workspace],
			[['--cwd', 'sub dir#'], sub]]),
	])
		assert.equal((await run([...args, '--', 'pwd'])).stdout, `${want}\n`);
});

test('--env sets variables, and PATH is there without it', async () => {
	const {stdout} = await run(['--env', 'A=1', '--env', 'B=x=y z', '--',
		'sh', '-c', 'echo "$A|$B"; [ -n "$PATH" ] && echo path']);
	assert.equal(stdout, '1|x=y z\npath\n');
});

test('options end at the command', async () => {
	const {stdout} = await run(['echo', '--help', '--tty', '--', 'x']);
	assert.equal(stdout, '--help --tty -- x\n');
});

test('SALLYPORT_URL stands in for --url', async () => {
	const {stdout} = await run(['--', 'echo', 'x'],
		{url: null, env: {SALLYPORT_URL: server.url}});
	assert.equal(stdout, 'x\n');
});

test('statuses of commands that cannot run: 127 and 126', async () => {
	assert.equal((await run(['--', 'no-such-command'])).code, 127);
	assert.equal((await run(['--', '/etc/passwd'])).code, 126);
	assert.equal((await run(['--cwd', '/no/such', '--', 'true'])).code, 127);
});

test('a signal is told as 128 and its number', async () => {
	assert.equal((await run(['--', 'sh', '-c', 'kill -9 $$'])).code, 137);
});

for (const [what, args, url] of [
	['no command', [], undefined],
	['no URL', ['--', 'true'], null],
	['an unknown option', ['--nope', '--', 'true'], undefined],
	['an env without =', ['--env', 'A', '--', 'true'], undefined],
	['a https URL', ['--', 'true'], 'https://127.0.0.1:1/x'],
	['a wss URL', ['--', 'true'], 'wss://127.0.0.1:1/x'],
	['a URL without host', ['--', 'true'], 'ws:///x'],
	['a port out of range', ['--', 'true'], 'ws://127.0.0.1:65536/x'],
	['a port that is no number', ['--', 'true'], 'ws://127.0.0.1:1x/x'],
	['an open bracket', ['--', 'true'], 'ws://[::1/x'],
	['a URL that breaks the line', ['--', 'true'],
		'ws://127.0.0.1:1/x\r\nA: b'],
	['a port where nobody listens', ['--', 'true'], 'ws://127.0.0.1:1/secret'],
])
	test(`${what} is 125, one line on stderr`, async () => {
		const {code, stdout, stderr} = await run(args,
			{url: url === undefined ? server.url : url,
				env: {SALLYPORT_URL: undefined}});
		assert.equal(code, 125);
		assert.equal(stdout, '');
		assert.match(stderr, /^sallyport exec: .+$/m);
		assert.doesNotMatch(stderr, /secret/);
	});

test('a wrong path is 125 and names the status, not the path', async () => {
	const url = `${new URL(server.url).origin}/wrong-secret`;
	const {code, stderr} = await run(['--', 'true'], {url});
	assert.equal(code, 125);
	assert.match(stderr, /404/);
	assert.doesNotMatch(stderr, /wrong-secret/);
});

test('a server that ends is 125', own, async () => {
	const s = await Server.start();
	const child = start(['--', 'sh', '-c', 'echo up; sleep 100'],
		{url: s.url, stdin: 'open'});
	await until(END_MS, 'up', () => child.stdout === 'up\n');
	await s.stop();
	const {code, stderr} = await within(END_MS, 'end', child.end);
	assert.equal(code, 125);
	assert.match(stderr, /1001 shutdown/);
});

test('something that is no server is 125 in time', async () => {
	const talker = net.createServer((c) => {
		c.on('error', () => {});
		c.end('SSH-2.0-x\r\n');
	}).listen(0, '127.0.0.1');
	await new Promise((resolve) => talker.once('listening', resolve));
	const {code} = await run(['--', 'true'],
		{url: `ws://127.0.0.1:${talker.address().port}/`});
	assert.equal(code, 125);
	talker.close();
});

test('--help explains itself', async () => {
	const {code, stdout} = await run(['--help'], {url: null});
	assert.equal(code, 0);
	for (const word of ['--url', '--cwd', '--env', '--tty', '125'])
		assert.ok(stdout.includes(word), word);
});

const trap = 'trap "echo got; exit 9" INT; echo up; while :; do sleep 0.05; done';

/** How it ends after a signal; the same again and again if one is not all. */
async function interrupted(script, signal, again = false) {
	const word = uniqueWord();
	const child = start(['--', 'sh', '-c', script, word], {stdin: 'open'});
	await until(END_MS, 'up', () => child.stdout.includes('up'));
	child.child.kill(signal);
	// Two signals that come before it looks are one.
	const more = again ? setInterval(() => child.child.kill(signal), 200) :
		undefined;
	const end = await within(END_MS, 'end', child.end)
		.finally(() => clearInterval(more));
	await until(3000, 'end of the command',
		() => withArgument(word).length === 0);
	return end;
}

test('SIGINT interrupts the command, whose answer counts', async () => {
	const {code, stdout} = await interrupted(trap, 'SIGINT');
	assert.equal(stdout, 'up\ngot\n');
	assert.equal(code, 9);
});

test('a second SIGINT ends it: 130', async () => {
	const {code} = await interrupted(
		'trap "" INT; echo up; while :; do sleep 0.05; done', 'SIGINT', true);
	assert.equal(code, 130);
});

for (const [signal, number] of [['SIGTERM', 15], ['SIGHUP', 1]])
	test(`${signal} ends the command and us with ${128 + number}`,
		async () => {
			const {code} = await interrupted(
				'trap "" INT TERM HUP; echo up; while :; do sleep 0.05; done',
				signal);
			assert.equal(code, 128 + number);
		});

/** Run the client on a terminal; script is Python with helpers of below. */
async function onTerminal(args, script) {
	const driver = `
import fcntl, os, pty, select, struct, sys, termios, time
ready, told = os.pipe(), os.pipe()
pid, fd = pty.fork()
if pid == 0:
    # The first of the session, whose end resets the terminal: it has to be
    # another than the client.
    os.read(ready[0], 1)
    before = termios.tcgetattr(0)
    client = os.fork()
    if client == 0:
        os.execv(sys.argv[1], sys.argv[1:])
    os.write(told[1], b'%d\\n' % client)
    status = os.waitstatus_to_exitcode(os.waitpid(client, 0)[1])
    same = termios.tcgetattr(0) == before
    os.write(told[1], b'%srestored %d' % (b'' if same else b'not ', status))
    os._exit(0)
os.close(told[1])
def size(rows, cols):
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack('HHHH', rows, cols, 0, 0))
size(30, 100)
os.write(ready[1], b'x')
client = int(os.read(told[0], 32))
seen = b''
def want(text):
    global seen
    end = time.time() + ${END_MS * slow / 1000}
    while text not in seen:
        if time.time() > end: raise SystemExit('no %r in %r' % (text, seen))
        if not select.select([fd], [], [], 0.1)[0]: continue
        try: seen += os.read(fd, 4096)
        except OSError: raise SystemExit('ended: %r' % seen)
    seen = seen[seen.index(text) + len(text):]
def send(data): os.write(fd, data)
def raw(): return not termios.tcgetattr(fd)[3] & termios.ICANON
${script}
while told[0] not in select.select([fd, told[0]], [], [])[0]:
    os.read(fd, 4096)
print(os.read(told[0], 100).decode())
`;
	const child = spawn(python, ['-c', driver, ...tool, 'exec', '--url',
		server.url, ...args], {
		env: {...process.env, TERM: 'xterm-test'},
		stdio: ['ignore', 'pipe', 'pipe'],
	});
	let output = '';
	child.stdout.on('data', (d) => { output += d; });
	child.stderr.on('data', (d) => { output += d; });
	await within(30000, 'end of the dialogue', new Promise((resolve) => {
		child.on('close', resolve);
	})).finally(() => child.kill('SIGKILL'));
	return output.trim();
}

test('--tty is a raw terminal of our size that follows it, and is restored',
	{skip: ttySkip}, async () => {
		const output = await onTerminal(['--tty', '--', 'sh'], `
want(b' ')
send(b'while [ "$(stty size)" = "24 80" ]; do sleep 0.02; done\\r')
send(b'stty size; echo $TERM\\r'); want(b'30 100'); want(b'xterm-test')
assert raw()
size(50, 132)
send(b'while [ "$(stty size)" = "30 100" ]; do sleep 0.02; done; stty size\\r')
want(b'50 132')
send(b'exit 7\\r')`);
		assert.equal(output, 'restored 7');
	});

test('--tty passes Ctrl-C and Ctrl-D on as keys', {skip: ttySkip}, async () => {
	const output = await onTerminal(['--tty', '--', 'sh', '-c',
		'trap "echo INT; cat; echo eof; exit 7" INT; echo up; ' +
		'while :; do sleep 0.05; done'], `
want(b'up')
send(b'\\x03'); want(b'INT')
send(b'\\x04'); want(b'eof')`);
	assert.equal(output, 'restored 7');
});

for (const [what, signal, code] of [
	['SIGTERM', 15, 143],
	['SIGHUP', 1, 129],
])
	test(`--tty gives the terminal back when ${what} ends us`,
		{skip: ttySkip}, async () => {
			const output = await onTerminal(
				['--tty', '--', 'sh', '-c', 'echo up; sleep 100'], `
want(b'up')
os.kill(client, ${signal})`);
			assert.equal(output, `restored ${code}`);
		});

test('--tty gives the terminal back when the server goes',
	{skip: ttySkip}, async () => {
		const net = await server.role('net');
		const output = await onTerminal(
			['--tty', '--', 'sh', '-c', 'echo up; sleep 100'], `
want(b'up')
os.kill(${net}, 9)`);
		assert.equal(output, 'restored 125');
		await until(5000, 'service', () =>
			server.connect().then((c) => c.close(), () => false)
				.then((r) => r !== false));
	});

test('--tty without a terminal of our own still is one there', own,
	async () => {
		const {stdout, code} = await run(
			['--tty', '--', 'sh', '-c', 'stty -echo; read x; echo "got $x"; ' +
				'cat; echo end'], {stdin: 'line\n'});
		assert.match(stdout, /got line\r\nend\r\n/);
		assert.equal(code, 0);
	});

test('no client is left behind', async () => {
	const child = start(['--', 'sh', '-c', 'echo up; sleep 100'],
		{stdin: 'open'});
	await until(END_MS, 'up', () => child.stdout === 'up\n');
	child.child.kill('SIGKILL');
	await child.end;
	assert.ok(!isAlive(child.child.pid));
});
