// What attempts aim at: files, processes and sockets of the host, and what the
// host can tell about them afterwards.
import {execFileSync, spawn} from 'node:child_process';
import dgram from 'node:dgram';
import fs from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import {status, uniqueWord} from '../../blackbox/lib/proc.mjs';
import {build, freshDirectory} from '../../blackbox/lib/server.mjs';
import {until} from '../../blackbox/lib/wait.mjs';

export const attempt = process.env.SALLYPORT_ATTEMPT ??
	path.join(build, 'tests/sandbox/escape/attempt');
const ROOT = '/var/tmp';

/** The names in a directory; none if it has just been removed. */
function namesIn(dir) {
	try {
		return fs.readdirSync(dir).sort();
	} catch (e) {
		if (e.code === 'ENOENT')
			return [];
		throw e;
	}
}

/** Name, kind, mode, owner and size of all there is below a directory. */
function picture(dir, at = '') {
	return namesIn(path.join(dir, at)).flatMap((name) => {
		const rel = path.join(at, name);
		const file = path.join(dir, rel);
		const st = fs.lstatSync(file, {throwIfNoEntry: false});
		if (st === undefined)
			return [];
		const line = [rel, st.mode.toString(8), st.uid, st.gid, st.nlink,
			st.isFile() ? `${st.size} ${st.mtimeMs}` : ''].join(' ');
		return st.isDirectory() ? [line, ...picture(dir, rel)] : [line];
	});
}

/** The number of shared memory that everybody may change; '' without ipcmk. */
function sharedMemory() {
	if (!fs.existsSync('/usr/bin/ipcmk'))
		return '';
	const text = execFileSync('ipcmk', ['-M', '4096', '-p', '0666']);
	return /(\d+)\s*$/.exec(text)[1];
}

function write(file, content, mode = 0o644) {
	fs.mkdirSync(path.dirname(file), {recursive: true});
	fs.writeFileSync(file, content);
	fs.chmodSync(file, mode);
}

function makeHost(dir) {
	fs.chmodSync(dir, 0o755);
	write(path.join(dir, 'private'), 'secret\n', 0o600);
	write(path.join(dir, 'home/file'), 'secret\n');
	fs.chmodSync(path.join(dir, 'home'), 0o700);
	write(path.join(dir, 'open'), 'canary\n', 0o666);
	write(path.join(dir, 'dir/victim'), 'canary\n', 0o666);
	fs.chmodSync(path.join(dir, 'dir'), 0o777);
	execFileSync('mkfifo', [path.join(dir, 'pipe')]);
	fs.chmodSync(path.join(dir, 'pipe'), 0o666);
	fs.copyFileSync(attempt, path.join(dir, 'setuid'));
	fs.chmodSync(path.join(dir, 'setuid'), 0o4755);
}

function makeFirst(dir) {
	fs.copyFileSync(attempt, path.join(dir, 'attempt'));
	fs.chmodSync(path.join(dir, 'attempt'), 0o755);
	write(path.join(dir, 'file'), 'mine\n');
	fs.mkdirSync(path.join(dir, 'dir'));
	write(path.join(dir, '.git/config'), '[core]\n');
	fs.mkdirSync(path.join(dir, '.git/hooks'));
	write(path.join(dir, '.codex/config.toml'), '');
	write(path.join(dir, 'etc/sallyport.conf'), '[log]\nlevel = info\n');
	const packed = path.join(dir, 'setuid-packed');
	write(packed, 'x', 0o4755);
	execFileSync('tar', ['-cf', 'setuid.tar', 'setuid-packed'], {cwd: dir});
	fs.rmSync(packed);
	write(path.join(dir, 'setuid-file'), 'x', 0o4755);
}

function makeSecond(dir) {
	write(path.join(dir, 'realgit/config'), '[core]\n');
	fs.symlinkSync('realgit', path.join(dir, '.git'));
	fs.mkdirSync(path.join(dir, 'dir'));
}

function setuidBelow(dir) {
	return picture(dir).filter((line) => /^\S+ 10[2467]/.test(line) &&
		!line.startsWith('setuid-file '));
}

/** Git's and the agents' directories of both workspaces. */
function protectedOf({first, second}) {
	return [[first, '.git'], [first, '.codex'], [second, 'realgit']]
		.flatMap(([dir, name]) => picture(path.join(dir, name)));
}

export class World {
	static async make() {
		const world = new World();
		await world.#listen();
		world.victim = world.#victim();
		await until(3000, 'the process of the host', () =>
			status(world.victim.pid)?.Name === 'sleep');
		world.before = world.picture();
		return world;
	}

	constructor() {
		this.reached = []; // what of the host's network was reached
		this.word = uniqueWord();
		this.host = fs.mkdtempSync(path.join(ROOT, 'escape-'));
		this.first = freshDirectory('first');
		this.second = freshDirectory('second');
		this.tmp = freshDirectory('tmp');
		this.address = Object.values(os.networkInterfaces()).flat()
			.find((a) => a.family === 'IPv4' && !a.internal)?.address;
		this.run = `/run/escape-${process.pid}.sock`;
		this.later = path.join(this.tmp, 'later.sock');
		this.servers = [];
		this.shm = sharedMemory();
		makeHost(this.host);
		makeFirst(this.first);
		makeSecond(this.second);
		write(path.join(this.tmp, 'of-another-session'), 'x');
	}

	#victim() {
		return spawn('sleep', ['1000'], {
			argv0: this.word, env: {WORD: 'secret'}, stdio: 'pipe',
		});
	}

	async #server(what, ...where) {
		const server = net.createServer((socket) => {
			this.reached.push(what);
			socket.destroy();
		});
		server.listen(...where);
		await new Promise((resolve, reject) => {
			server.once('listening', resolve);
			server.once('error', reject);
		});
		this.servers.push(server);
		return server;
	}

	async #listen() {
		const tcp = await this.#server('tcp', 0, '0.0.0.0');
		this.tcp = tcp.address().port;
		const sock = path.join(this.host, 'sock');
		await this.#server('path socket', sock);
		fs.chmodSync(sock, 0o777);
		await this.#server('socket in /run', this.run);
		fs.chmodSync(this.run, 0o777);
		this.abstract = await this.#abstractSocket();
		this.udp = await this.#udp();
	}

	/** Node has no way to listen on one. */
	async #abstractSocket() {
		const python = '/usr/bin/python3';
		if (!fs.existsSync(python))
			return '';
		const name = `escape-${process.pid}-${this.word}`;
		this.helper = spawn(python, ['-c', 'import socket,sys\n' +
			's=socket.socket(socket.AF_UNIX); ' +
			's.bind("\\0"+sys.argv[1]); s.listen()\n' +
			'print("ready",flush=True)\n' +
			'while True: s.accept(); print("reached",flush=True)', name],
		{stdio: ['ignore', 'pipe', 'inherit']});
		let told = '';
		this.helper.stdout.on('data', (d) => {
			told += d;
			if (String(d).includes('reached'))
				this.reached.push('abstract socket');
		});
		await until(5000, 'abstract socket', () => told.includes('ready'));
		return name;
	}

	async #udp() {
		const socket = dgram.createSocket('udp4');
		socket.on('message', (data, from) => {
			this.reached.push('udp');
			socket.send(data, from.port, from.address);
		});
		socket.bind(0);
		await new Promise((resolve) => socket.once('listening', resolve));
		this.servers.push(socket);
		return socket.address().port;
	}

	/** A socket that is made when the session is there already. */
	async makeLater() {
		await this.#server('socket made later', this.later);
		fs.chmodSync(this.later, 0o777);
	}

	env(more) {
		return {
			ESCAPE_HOST: this.host, ESCAPE_TMP: this.tmp,
			ESCAPE_SECOND: this.second, ESCAPE_SERVER: build,
			ESCAPE_WORD: this.word, ESCAPE_ADDRESS: this.address ?? '',
			ESCAPE_ABSTRACT: this.abstract, ESCAPE_RUN: this.run,
			ESCAPE_LATER: this.later, ESCAPE_PID: `${this.victim.pid}`,
			ESCAPE_SHM: this.shm,
			ESCAPE_TCP: `${this.tcp}`, ESCAPE_UDP: `${this.udp}`, ...more,
		};
	}

	/** What has to be the same when the attempts are over. */
	picture({plain = false} = {}) {
		return {
			host: picture(this.host),
			protected: plain ? [] : protectedOf(this),
			setuid: [...setuidBelow(this.first), ...setuidBelow(this.second)],
			config: fs.readFileSync(
				path.join(this.first, 'etc/sallyport.conf'), 'utf8'),
			link: fs.readlinkSync(path.join(this.second, '.git')),
			names: [os.hostname(),
				fs.readFileSync('/proc/sys/kernel/core_pattern', 'utf8')],
			victim: status(this.victim.pid)?.Name,
			reached: [...this.reached],
		};
	}

	async destroy() {
		this.victim?.kill('SIGKILL');
		this.helper?.kill('SIGKILL');
		for (const server of this.servers)
			server.close();
		for (const dir of [this.host, this.first, this.second, this.tmp])
			fs.rmSync(dir, {recursive: true, force: true});
		fs.rmSync(this.run, {force: true});
		if (this.shm !== '')
			execFileSync('ipcrm', ['-m', this.shm]);
	}
}
