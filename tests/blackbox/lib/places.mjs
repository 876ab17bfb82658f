// Places other than this host's sandbox where programs run, each with daemons
// of its own that end with it: a container of docker, one of podman, and a
// host that is reached by ssh, which is this one.
import {execFileSync, spawn} from 'node:child_process';
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import {writeExample} from './example.mjs';
import {build, rootSkip} from './server.mjs';
import {commandLine, withArgument} from './proc.mjs';
import {until, within} from './wait.mjs';

const READY_MS = 30000;
const END_MS = 15000;
/** The group that may talk to a daemon, and nobody else's. */
const GROUP = 61235;
/** Who runs ssh. */
const USER = 61236;
/** Whose the workspaces are: nobody of the host, so that the view names him. */
const OWNER = 61234;

const APPLETS = ['basename', 'cat', 'chmod', 'echo', 'env', 'grep', 'head',
	'id', 'kill', 'ls', 'ps', 'pwd', 'readlink', 'rm', 'seq', 'setsid', 'sh',
	'sleep', 'stty', 'tr', 'true', 'wc'];
/** The program of file workers, and where containers have it. */
const WORKER = path.join(build, 'exec/sallyport-worker');
const WORKER_THERE = '/sallyport-worker';
/** Where containers have the workspace. */
const BOUND = '/project';

const capture = (file, args, options) => execFileSync(file, args,
	{encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'], ...options});

function has(program) {
	try {
		capture('/bin/sh', ['-c', `command -v ${program}`],
			{env: {PATH: '/usr/sbin:/usr/bin:/sbin:/bin'}});
		return true;
	} catch {
		return false;
	}
}

/** false, or why a place that needs these programs is left out. */
function lacks(...programs) {
	const missing = programs.filter((program) => !has(program));
	return rootSkip ||
		(missing.length > 0 && `the host lacks ${missing.join(', ')}`);
}

/** Directories in /tmp are not seen in sessions. */
function directory() {
	const dir = fs.mkdtempSync('/var/tmp/sallyport-place-');
	fs.chmodSync(dir, 0o755);
	const work = path.join(dir, 'work');
	fs.mkdirSync(work);
	fs.chownSync(work, OWNER, OWNER);
	return dir;
}

/** A daemon of the place, whose words are told when it fails. */
function daemon(dir, file, args, options = {}) {
	const log = fs.openSync(path.join(dir, 'log'), 'a');
	const child = spawn(file, args,
		{stdio: ['ignore', log, log], ...options});
	fs.closeSync(log);
	const exited = new Promise((resolve) => {
		child.on('error', resolve);
		child.on('exit', resolve);
	});
	const killer = () => child.kill('SIGKILL');
	process.on('exit', killer);
	return async () => {
		child.kill('SIGTERM');
		await within(END_MS, `end of ${file}`, exited)
			.finally(() => child.kill('SIGKILL'));
		process.removeListener('exit', killer);
	};
}

/** The file system of a container: one program, by many names. */
function image(dir) {
	const root = path.join(dir, 'image');
	for (const name of ['bin', 'dev', 'etc', 'proc', 'root', 'tmp', 'workspace'])
		fs.mkdirSync(path.join(root, name), {recursive: true});
	fs.copyFileSync(capture('/bin/sh', ['-c', 'command -v busybox']).trim(),
		path.join(root, 'bin/busybox'));
	fs.copyFileSync(WORKER, path.join(root, WORKER_THERE));
	for (const name of APPLETS)
		fs.symlinkSync('busybox', path.join(root, 'bin', name));
	capture('tar', ['-C', root, '-cf', path.join(dir, 'image.tar'), '.']);
	return path.join(dir, 'image.tar');
}

const EVERY = 'for d in /proc/[0-9]*; do tr "\\0" " " <$d/cmdline; echo; done';

/** Do something with each file worker in a container. */
const WORKERS = (what) => 'for d in /proc/[0-9]*; do ' +
	`[ "$(readlink $d/exe)" = ${WORKER_THERE} ] && ${what} \${d#/proc/}; ` +
	'done; true';

/**
 * A container by the name box, run by a command line that is given args.
 * Zombies have no arguments, and are nobody.
 */
function container(dir, type, run, ulimits, sock, theirs) {
	const work = path.join(dir, 'work');
	const names = {'/srv/project': work, 'gid = 998': `gid = ${GROUP}`,
		[theirs]: sock};
	run(['import', image(dir), 'mini:1']);
	for (const [name, network] of [['box', 'none'], ['wide', 'host']])
		run(['run', '-d', '--name', name, '--network', network, ...ulimits,
			'-v', `${work}:${BOUND}`, 'mini:1', '/bin/sleep', '1000000']);
	return {
		cwd: 'file:///workspace',
		work,
		run,
		config: writeExample(path.join(dir, 'conf'), `backends/${type}.md`, 0,
			{'target = project': 'target = box', ...names}),
		single: type === 'docker' && writeExample(path.join(dir, 'single'),
			'backends/docker.md', 1,
			{'target = project-image': 'target = mini:1', ...names}),
		worker: WORKER_THERE,
		bound: BOUND,
		files: '/tmp/files',
		killWorkers: () => run(['exec', 'box', '/bin/sh', '-c',
			WORKERS('kill -9')]),
		workers: () => run(['exec', 'box', '/bin/sh', '-c', WORKERS('echo')])
			.split('\n').length - 1,
		living: (word) => run(['exec', 'box', '/bin/sh', '-c', EVERY])
			.split('\n').filter((line) => line.includes(word)).length,
	};
}

/** It may have ended meanwhile. */
function kill(pid) {
	try {
		process.kill(pid, 'SIGKILL');
	} catch (e) {
		if (e.code !== 'ESRCH')
			throw e;
	}
}

const remove = (dir) =>
	fs.rmSync(dir, {recursive: true, force: true, maxRetries: 5});

async function ready(dir, what, probe) {
	try {
		await until(READY_MS, what, () => {
			try {
				return probe() ?? true;
			} catch {
				return false;
			}
		});
	} catch (e) {
		throw new Error(`${e.message}\n${
			fs.readFileSync(path.join(dir, 'log'), 'utf8').slice(-4000)}`);
	}
}

async function docker() {
	const dir = directory();
	const sock = path.join(dir, 'd.sock');
	const run = (args) => capture('docker', ['-H', `unix://${sock}`, ...args]);
	const end = daemon(dir, 'dockerd', ['--data-root', path.join(dir, 'data'),
		'--exec-root', path.join(dir, 'exec'),
		'--pidfile', path.join(dir, 'pid'), '--iptables=false',
		'--ip6tables=false', '--bridge=none', '--storage-driver=vfs',
		'-H', `unix://${sock}`, '--group', String(GROUP)]);
	const stop = async () => {
		await end();
		// It keeps the host's network as a mount if a container had that.
		capture('/bin/sh', ['-c', 'umount "$1" 2>/dev/null; :', 'sh',
			path.join(dir, 'exec/netns/default')]);
		remove(dir);
	};
	try {
		await ready(dir, 'dockerd', () => void run(['info']));
		const place = container(dir, 'docker', run, [], sock,
			'/run/docker.sock');
		return {...place, stop: async () => {
			run(['rm', '-f', 'box', 'wide']);
			await stop();
		}};
	} catch (e) {
		await stop();
		throw e;
	}
}

async function podman() {
	const dir = directory();
	const sock = path.join(dir, 'p.sock');
	const local = ['--root', path.join(dir, 'data'),
		'--runroot', path.join(dir, 'run'), '--storage-driver', 'vfs',
		'--runtime', 'runc', '--cgroup-manager', 'cgroupfs',
		'--events-backend', 'file'];
	const run = (args) => capture('podman', [...local, ...args]);
	// A runtime would raise these beyond what a container's host may give.
	const place = container(dir, 'podman', run,
		['--ulimit', 'nofile=1024:1024', '--ulimit', 'nproc=4096:4096'],
		sock, '/run/podman/podman.sock');
	const end = daemon(dir, 'podman',
		[...local, 'system', 'service', '--time', '0', `unix://${sock}`]);
	const stop = async () => {
		await end();
		run(['rm', '-f', '-t', '0', 'box', 'wide']);
		run(['rmi', '-f', 'mini:1']);
		// One for each program stays for minutes, and would then make the
		// directory again.
		await until(END_MS, 'the last conmon', () => {
			const left = withArgument(dir);
			left.forEach(kill);
			return left.length === 0;
		});
		remove(dir);
	};
	try {
		await ready(dir, 'podman', () => {
			fs.chownSync(sock, 0, GROUP);
			fs.chmodSync(sock, 0o660);
		});
		return {...place, stop};
	} catch (e) {
		await stop();
		throw e;
	}
}

/** A port that nobody listens on now. */
function freePort() {
	return new Promise((resolve, reject) => {
		const server = net.createServer();
		server.on('error', reject);
		server.listen(0, '127.0.0.1', () => {
			const {port} = server.address();
			server.close(() => resolve(port));
		});
	});
}

function accepts(port) {
	return new Promise((resolve) => {
		const socket = net.connect(port, '127.0.0.1');
		socket.on('connect', () => { socket.destroy(); resolve(true); });
		socket.on('error', () => resolve(false));
	});
}

/** Processes that are nothing but a program: what starts it names it as well,
 * and so does the server. */
const alone = (program) => withArgument(program).filter((pid) =>
	commandLine(pid).length === 1);

/** Settings, keys and known hosts are in the home directory that sessions have. */
async function ssh() {
	const dir = directory();
	const port = await freePort();
	const at = (name) => path.join(dir, name);
	const config = path.join(dir, 'home/.ssh');
	fs.mkdirSync(config, {recursive: true});
	for (const key of ['host_key', 'home/.ssh/key'])
		capture('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', at(key)]);
	fs.copyFileSync(at('home/.ssh/key.pub'), at('authorized'));
	const host = fs.readFileSync(at('host_key.pub'), 'utf8');
	fs.writeFileSync(path.join(config, 'known_hosts'),
		`[127.0.0.1]:${port} ${host}`);
	fs.writeFileSync(path.join(config, 'config'), `Host far
	HostName 127.0.0.1
	Port ${port}
	User root
	IdentitiesOnly yes
	IdentityFile ${path.join(config, 'key')}
	UserKnownHostsFile ${path.join(config, 'known_hosts')}
`);
	// The commands' user: a file of root's is nobody's in their sandbox.
	for (const name of fs.readdirSync(config))
		fs.chownSync(path.join(config, name), USER, USER);
	fs.writeFileSync(at('sshd_config'), `ListenAddress 127.0.0.1:${port}
HostKey ${at('host_key')}
AuthorizedKeysFile ${at('authorized')}
PidFile none
StrictModes no
UsePAM no
PermitRootLogin yes
`);
	fs.copyFileSync(WORKER, at('worker'));
	// Where it has its privilege separation; a package's script makes it.
	fs.mkdirSync('/run/sshd', {recursive: true, mode: 0o755});
	const end = daemon(dir, '/usr/sbin/sshd',
		['-D', '-e', '-f', at('sshd_config')]);
	const stop = async () => {
		await end();
		remove(dir);
	};
	try {
		await until(READY_MS, 'sshd', () => accepts(port));
	} catch (e) {
		await stop();
		throw e;
	}
	return {
		work: at('work'),
		config: writeExample(at('conf'), 'backends/ssh.md', 0, {
			'/srv/project': at('work'),
			'build@builder': 'far',
			'id = 2000': `id = ${USER}`,
			'/var/lib/sallyport/ssh-home': at('home')}),
		worker: at('worker'),
		files: at('files'),
		killWorkers: () => alone(at('worker')).forEach((pid) =>
			process.kill(pid, 'SIGKILL')),
		workers: () => alone(at('worker')).length,
		living: (word) => withArgument(word).length,
		stop,
	};
}

export const places = [
	{name: 'ssh', start: ssh, skip: lacks('sshd', 'ssh', 'ssh-keygen')},
	{name: 'docker', start: docker,
		skip: lacks('dockerd', 'docker', 'busybox', 'tar')},
	{name: 'podman', start: podman,
		skip: lacks('podman', 'runc', 'busybox', 'tar')},
];
