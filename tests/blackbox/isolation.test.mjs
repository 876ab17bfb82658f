import assert from 'node:assert/strict';
import {after, test} from 'node:test';
import fs from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import {Origin, request} from './lib/http.mjs';
import {
	commandLine, status, uniqueWord, withArgument,
} from './lib/proc.mjs';
import {
	Server, build, foreignSkip, freshDirectory, rootSkip, withServer,
} from './lib/server.mjs';
import {until} from './lib/wait.mjs';

if (foreignSkip) {
	test('isolation', {skip: foreignSkip}, () => {});
	process.exit();
}

const server = await Server.start();
after(() => server.stop());

// A listener that says a word to each who connects, and one who connects.
const listen = (port, word) => ['/usr/bin/python3', '-c',
	'import socket,sys\n' +
	's=socket.socket()\n' +
	`s.bind(("127.0.0.1",${port})); s.listen()\n` +
	'print("listening", s.getsockname()[1], flush=True)\n' +
	`while True: c,_=s.accept(); c.sendall(b"${word}"); c.close()`];
const dial = (port) => ['/usr/bin/python3', '-c',
	'import socket\n' +
	's=socket.socket(); s.settimeout(60)\n' +
	`r=s.connect_ex(("127.0.0.1",${port}))\n` +
	'print(s.recv(100).decode() if r==0 else "refused")'];
const pythonSkip = fs.existsSync('/usr/bin/python3') ? false :
	'needs /usr/bin/python3';

test('what a command leaves in /tmp and HOME the next one finds, no other session',
	async () => {
		const [first, other] = [await server.connect(), await server.connect()];
		const policy = {
			inherit: 'all', ignoreDefaultExcludes: true, exclude: [], set: {},
			includeOnly: [],
		};
		const write = await first.shell('echo mine > /tmp/a; ' +
			'echo home > "$HOME/b"; echo shm > /dev/shm/c',
		{envPolicy: policy});
		assert.equal(write.exitCode, 0, write.stderr);
		const show = 'cat /tmp/a "$HOME/b" /dev/shm/c';
		assert.equal((await first.shell(show, {envPolicy: policy})).stdout,
			'mine\nhome\nshm\n');
		const seen = await other.shell(show, {envPolicy: policy});
		assert.equal(seen.stdout, '');
		assert.notEqual(seen.exitCode, 0);
		assert.ok(!fs.existsSync('/tmp/a') ||
			fs.readFileSync('/tmp/a', 'utf8') !== 'mine\n');
		await first.close();
		await other.close();
	});

test('a port listened on is there for the session, and for no other',
	{skip: pythonSkip}, async () => {
		const [first, other] = [await server.connect(), await server.connect()];
		const listener = await first.start(listen(0, 'hello'));
		const [, port] = await listener.prints('listening (\\d+)');
		const ask = async (client) =>
			(await (await client.start(dial(port))).end()).stdout;
		assert.equal(await ask(first), 'hello\n');
		assert.equal(await ask(other), 'refused\n');
		await assert.rejects(new Promise((resolve, reject) => {
			const socket = net.connect(Number(port), '127.0.0.1', resolve);
			socket.on('error', reject);
		}));
		await first.close();
		await other.close();
	});

test('two sessions listen on the same port', {skip: pythonSkip}, async () => {
	const clients = [await server.connect(), await server.connect()];
	for (const client of clients)
		await (await client.start(listen(8080, 'x'))).prints('listening');
	for (const client of clients)
		await client.close();
});

test('the host is not to be reached when the network is restricted',
	{skip: pythonSkip}, async () => {
		const host = net.createServer((c) => c.end('host')).listen(0, '127.0.0.1');
		await new Promise((resolve) => host.once('listening', resolve));
		const client = await server.connect();
		const process = await client.start(dial(host.address().port));
		assert.equal((await process.end()).stdout, 'refused\n');
		await client.close();
		host.close();
	});

test('--allow-network shares the network of the host', {skip: pythonSkip},
	async () => {
		const host = net.createServer((c) => c.end('host')).listen(0, '127.0.0.1');
		await new Promise((resolve) => host.once('listening', resolve));
		const s = await Server.start({args: ['--allow-network']});
		const client = await s.connect();
		const process = await client.start(dial(host.address().port));
		assert.equal((await process.end()).stdout, 'host\n');
		await s.stop();
		host.close();
	});

test('the workspace is the real one, written as its owner', async () => {
	const client = await server.connect();
	const {exitCode, stderr} = await client.shell('echo x > made; mkdir dir');
	assert.equal(exitCode, 0, stderr);
	const made = fs.statSync(path.join(server.workspace, 'made'));
	const owner = fs.statSync(server.workspace);
	assert.equal(made.uid, owner.uid);
	assert.equal(made.gid, owner.gid);
	await client.close();
});

test('outside the workspace nothing can be written', async () => {
	const outside = freshDirectory('outside');
	fs.chmodSync(outside, 0o777);
	const client = await server.connect();
	for (const dir of ['/etc', '/usr', '/var/tmp', '/root', '/', outside])
		await client.shell(`echo x > ${dir}/sallyport-was-here`);
	for (const dir of ['/etc', '/usr', '/var/tmp', '/root', '/', outside])
		assert.ok(!fs.existsSync(`${dir}/sallyport-was-here`), dir);
	fs.rmSync(outside, {recursive: true});
	await client.close();
});

test('a command sees its own processes and no others', async () => {
	const client = await server.connect();
	const {stdout} = await client.shell('ls /proc | grep -c "^[0-9]"');
	assert.ok(Number(stdout) <= 6, stdout);
	const {stdout: name} = await client.shell(
		`kill -0 ${process.pid} 2>/dev/null && echo reached`);
	assert.equal(name, '');
	await client.close();
});

test('the knobs of the kernel are read-only', async () => {
	const client = await server.connect();
	for (const file of ['/proc/sys/kernel/hostname', '/proc/sysrq-trigger',
		'/proc/sys/vm/drop_caches', '/sys/kernel/mm/ksm/run']) {
		const {stdout} = await client.shell(
			`(echo x > ${file}) 2>/dev/null && echo written`);
		assert.equal(stdout, '', file);
	}
	await client.close();
});

test('a command is not the root of the host', {skip: rootSkip}, async () => {
	const client = await server.connect();
	const word = uniqueWord();
	await client.start(['/bin/sh', '-c', 'sleep 100; :', word]);
	const pids = await until(5000, 'the command', () => {
		const found = withArgument(word);
		return found.length > 0 && found;
	});
	for (const pid of pids) {
		const [uid] = status(pid).Uid.split('\t');
		assert.notEqual(uid, '0');
	}
	await client.close();
});

test('namespaces, mounts and tracing others are refused', async () => {
	const client = await server.connect();
	for (const script of ['unshare -U true', 'unshare -r -m true',
		'mount -t tmpfs none /mnt', 'umount /proc', 'chroot / true'])
		assert.notEqual((await client.shell(script)).exitCode, 0, script);
	await client.close();
});

test('net has no rights, an empty root and no network', {skip: rootSkip},
	async () => {
		const pid = await server.role('net');
		const s = status(pid);
		assert.equal(s.Seccomp, '2');
		assert.equal(s.NoNewPrivs, '1');
		for (const uid of s.Uid.split('\t'))
			assert.notEqual(uid, '0');
		for (const gid of s.Gid.split('\t'))
			assert.notEqual(gid, '0');
		assert.equal(s.Groups ?? '', '');
		for (const set of ['CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb'])
			assert.match(s[set], /^0+$/, set);
		assert.deepEqual(fs.readdirSync(`/proc/${pid}/root/`), []);
		for (const ns of ['net', 'mnt'])
			assert.notEqual(fs.readlinkSync(`/proc/${pid}/ns/${ns}`),
				fs.readlinkSync(`/proc/self/ns/${ns}`));
	});

test('exec has a filter and not all capabilities', {skip: rootSkip},
	async () => {
		const pid = await server.role('exec');
		const s = status(pid);
		assert.equal(s.Seccomp, '2');
		assert.notEqual(s.CapEff, status(process.pid).CapEff);
		assert.equal(s.CapEff, s.CapBnd);
	});

test("a workspace that holds the server's own files is refused or protected",
	async () => {
		const home = freshDirectory('own');
		const inside = path.join(home, 'build');
		for (const name of ['sallyport', 'net/sallyport-net',
			'exec/sallyport-exec', 'http/sallyport-http', 'cli/sallyport-tool'])
			fs.cpSync(path.join(build, name), path.join(inside, name));
		let s;
		try {
			s = await startCopy(inside, home);
		} catch (e) {
			assert.match(e.message, /"code":2/);
			assert.match(e.message, /build/);
			fs.rmSync(home, {recursive: true});
			return;
		}
		const client = await s.connect();
		const {stdout: files} = await client.shell(
			'find build -type f -perm -100');
		for (const file of files.trim().split('\n'))
			await client.shell(`rm -f ${file}; echo x > ${file}; ` +
				`mv ${file} moved; ln -sf /bin/true ${file}`);
		await client.shell('mv build away');
		const replaced = files.trim().split('\n').filter((file) => {
			const now = path.join(home, file);
			return !fs.existsSync(now) || fs.lstatSync(now).size < 1000;
		}).filter((file) => /sallyport(-\w+)?$/.test(file));
		assert.deepEqual(replaced, []);
		await s.stop();
	});

/** Serve a workspace from executables that lie in it. */
async function startCopy(dir, workspace) {
	const command = `${dir}/sallyport serve --workspace {workspace}`;
	return Server.start({workspace, command});
}

test('a configuration file in the workspace cannot be replaced', async () => {
	const workspace = freshDirectory();
	const dir = path.join(workspace, 'etc');
	const config = path.join(dir, 'sallyport.conf');
	fs.mkdirSync(dir);
	fs.writeFileSync(config, '[limits]\nprocess_retention = 60s\n');
	const s = await Server.start({workspace, args: ['--config', config]});
	const client = await s.connect();
	await client.shell('rm -f etc/sallyport.conf; ' +
		'echo "[x]" > etc/sallyport.conf; echo "[x]" > new; ' +
		'mv new etc/sallyport.conf; ln -sf new etc/sallyport.conf; ' +
		'mv etc gone; rm -rf etc');
	assert.match(fs.readFileSync(config, 'utf8'), /process_retention/);
	await s.stop();
});

test('strict shows less of the host than workspace does', async () => {
	const secret = path.join(os.tmpdir(), uniqueWord());
	fs.writeFileSync(secret, 'x', {mode: 0o644});
	const s = await Server.start({args: ['--preset', 'strict']});
	const client = await s.connect();
	const {exitCode, stdout, stderr} = await client.shell(
		`cat ${secret} 2>/dev/null; ls /root 2>/dev/null; echo x > w && cat w`);
	assert.equal(stdout, 'x\n', stderr);
	assert.equal(exitCode, 0);
	await s.stop();
	fs.rmSync(secret);
});

// What is written for one thread would need ThreadSanitizer with a second.
test('every process of ours has one thread, at work too', async () => {
	const origin = await Origin.start({'/': (q, r) => r.end('body')});
	await withServer({set: {'http.allow_private': true}}, async (own) => {
		const client = await own.connect();
		await client.start(['/bin/sh', '-c', 'read line'], {pipeStdin: true});
		await client.call('fs/readDirectory', {path: own.workspaceUri});
		await request(client, `${origin.url}/`);
		const pids = own.pids();
		const names = pids.map((pid) => status(pid).Name);
		// Two of them are exec's: an init and a file worker.
		for (const [name, count] of [['sallyport', 1], ['sallyport-net', 1],
			['sallyport-exec', 3], ['sallyport-http', 1]])
			assert.ok(names.filter((n) => n === name).length >= count,
				`${count} of ${name} in ${names}`);
		for (const pid of pids)
			assert.equal(status(pid).Threads, '1', commandLine(pid).join(' '));
	});
	origin.stop();
});
