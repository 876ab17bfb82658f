// The real exec-server and ours, asked the same things at random.
//
// SALLYPORT_DIFFERENTIAL is how many requests (300), SALLYPORT_SEED where they
// begin (1). Each is sent to both, and what is answered is compared; what may
// differ is below, each with its row of docs/design.md.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import {test} from 'node:test';
import {freshDirectory, Server} from '../blackbox/lib/server.mjs';
import {clientSkip, launcher} from './codex.mjs';

const COUNT = Number(process.env.SALLYPORT_DIFFERENTIAL ?? 300);
const SEED = Number(process.env.SALLYPORT_SEED ?? 1);
const NAMES = ['f', 'd', 'd/x', 'd/y', 'd/y/z', 'l', 'dl', 'dl/x', 'loop', 'n',
	'n/m', 'f/x', '', '.', 'd/..//d', 'd/./y/../x', 'm%20m', 'ä', '%41', 'a%2fb'];

/* --- chance --------------------------------------------------------------- */

let state = SEED >>> 0 || 1;
function random(n) {
	// xorshift: as good as this needs.
	state ^= state << 13;
	state ^= state >>> 17;
	state ^= state << 5;
	state >>>= 0;
	return state % n;
}
const any = (list) => list[random(list.length)];

/* --- the two -------------------------------------------------------------- */

class Side {
	static async start(options) {
		const side = new Side();
		side.server = await Server.start(options);
		side.root = path.join(side.server.workspace, 't');
		await side.connect();
		return side;
	}

	async connect() {
		this.client = await this.server.connect();
	}

	/** A small tree, the same for both. */
	reset() {
		const at = (name) => path.join(this.root, name);
		fs.rmSync(this.root, {recursive: true, force: true});
		fs.mkdirSync(at('d/y'), {recursive: true});
		fs.writeFileSync(at('f'), 'hello\n');
		fs.writeFileSync(at('d/x'), Buffer.from([0, 1, 2, 255]));
		fs.writeFileSync(at('d/y/z'), '');
		fs.symlinkSync('f', at('l'));
		fs.symlinkSync('d', at('dl'));
		fs.symlinkSync('loop', at('loop'));
		// As root, ours runs commands as another user.
		if (process.getuid() === 0)
			for (const name of ['', 'd', 'd/y', 'f', 'd/x', 'd/y/z'])
				fs.chmodSync(at(name),
					fs.statSync(at(name)).isDirectory() ? 0o777 : 0o666);
	}

	fill(value) {
		return JSON.parse(JSON.stringify(value).replaceAll('$W',
			this.root));
	}

	/** Nothing is to be changed outside of the workspace. */
	static check({method, params}) {
		const at = [params.path, params.sourcePath, params.destinationPath];
		if (/^fs\/(writeFile|createDirectory|remove|copy)$/.test(method))
			for (const place of at)
				assert.ok(typeof place !== 'string' || refused.includes(place) ||
					place.startsWith('file://$W/') || !place.includes('/'));
	}

	/** What is answered, without what is this server's own. */
	async ask({method, params}) {
		Side.check({method, params});
		try {
			const result = await this.client.call(method, this.fill(params));
			return {result: this.plain(result)};
		} catch (e) {
			if (e.code === undefined)
				return {ended: true};
			return {error: this.plain(
				{code: e.code, message: e.message, data: e.data})};
		}
	}

	plain(value) {
		return JSON.parse(JSON.stringify(value).replaceAll(
			this.root, '$W'));
	}
}

/* --- requests ------------------------------------------------------------- */

const uri = () => `file://$W/${any(NAMES)}`;
// Refused by both, whatever is to be done there.
const refused = ['', 'a', 'http://a/b', 'file:///a%00b'];
// The reference holds nothing back: what changes files stays in the workspace.
const target = () => random(8) ? uri() : any(refused);
const readable = () => random(8) ? uri() : any([...refused, 'file:a', 'file://host/a',
	'file:///C:/a', 'file:///%zz', 'FILE:///no/f', 'file:/no/f',
	'file:///no?b', 'file:///no#b', '/no/f', 'file://localhost/no/f']);
const base64 = () => any(['', 'QQ==', 'QUJD', 'QUI=', 'AAECAw==', 'QQ', 'Q===',
	'QUJD\n', '*', 'QR==', '_-8=']);
const flag = () => any([true, false]);
const size = () => any([0, 1, 2, 5, 100, 1048576, 1048577, -1, 1.5, 2 ** 53]);
const handle = () => any(['h0', 'h1', 'h2', 'none', 'x'.repeat(33), '']);

const requests = {
	'environment/status': () => ({}),
	'fs/readFile': () => ({path: readable()}),
	'fs/writeFile': () => ({path: target(), dataBase64: base64()}),
	'fs/createDirectory': () => ({path: target(), recursive: flag()}),
	'fs/getMetadata': () => ({path: readable()}),
	'fs/canonicalize': () => ({path: readable()}),
	'fs/readDirectory': () => ({path: readable()}),
	'fs/walk': () => ({path: readable(), options: {maxDepth: random(4),
		maxDirectories: 1 + random(9), maxEntries: 1000,
		followDirectorySymlinks: flag()}}),
	'fs/remove': () => ({path: target(), recursive: flag(), force: flag()}),
	'fs/copy': () => ({sourcePath: target(), destinationPath: target(),
		recursive: flag()}),
	'fs/open': () => ({handleId: handle(), path: readable()}),
	'fs/readBlock': () => ({handleId: handle(), offset: size(), len: size()}),
	'fs/close': () => ({handleId: handle()}),
	'process/read': () => ({processId: 'none', afterSeq: size()}),
	'process/write': () => ({processId: 'none', chunk: base64(),
		writeId: any(['w', ''])}),
	'process/signal': () => ({processId: 'none',
		signal: any(['interrupt', 'kill', ''])}),
	'process/terminate': () => ({processId: 'none'}),
	'process/start': () => ({processId: 'p', argv: any([[], [''],
		['/no/such'], ['$W/f'], ['$W'], ['a\0b']]), cwd: target(), env: {},
	tty: false}),
};

/** Spoil one member: away, null, or of another kind; or add one. */
function spoil(params) {
	const key = any([...Object.keys(params), 'unknown']);
	const value = any([undefined, null, 7, 'x', true, [], {}, -1, [[]]]);
	return {...params, [key]: value};
}

function nextRequest() {
	const method = any(Object.keys(requests));
	const params = requests[method]();
	if (random(50) === 0)
		return {method: any(['', 'fs/none', 'process', 'FS/open']), params};
	return {method, params: random(6) ? params : spoil(params)};
}

/* --- programs ------------------------------------------------------------- */

const programs = [
	() => ['true'], () => ['false'], () => ['sh', '-c', `exit ${random(256)}`],
	() => ['sh', '-c', 'echo out; echo err >&2'],
	() => ['sh', '-c', 'kill -9 $$'], () => ['sh', '-c', 'kill -15 $$'],
	() => ['cat', any(NAMES)], () => ['ls', '-a', any(['', 'd', 'n'])],
	() => ['seq', String(random(3000))], () => ['sh', '-c', 'pwd; echo $0 $#'],
	() => ['no-such-program'], () => ['sh', '-c', 'cat; echo end'],
];

let processes = 0;
function nextProgram() {
	return {processId: `p${++processes}`, argv: any(programs)(),
		cwd: `file://$W/${any(['', 'd', 'dl', 'n', 'f'])}`,
		env: {PATH: '/usr/bin:/bin', ...any([{}, {A: 'b'}])}, tty: false,
		...any([{}, {arg0: 'name'}, {pipeStdin: false}])};
}

/** Run it to its end: the answer to its start, its output and its end. */
async function runOn(side, params) {
	const {processId} = params;
	const start = await side.ask({method: 'process/start', params});
	if (!start.result)
		return {start};
	const output = {stdout: '', stderr: ''};
	let last, afterSeq = 0;
	do {
		last = (await side.ask({method: 'process/read', params:
			{processId, afterSeq, waitMs: 10000}})).result;
		for (const {stream, chunk} of last.chunks)
			output[stream] += Buffer.from(chunk, 'base64');
		afterSeq = last.nextSeq - 1;
	} while (!last.closed);
	const {exited, exitCode, failure} = last;
	const again = await side.ask({method: 'process/start', params});
	const terminate = await side.ask({method: 'process/terminate',
		params: {processId}});
	return {start: {result: {processId: start.result.processId}},
		output: side.plain(output), exited, exitCode, failure,
		again, terminate};
}

/* --- what may differ ------------------------------------------------------ */

const words = [
	// "words for an error of the system"
	['Symbolic link loop', 'Too many levels of symbolic links'],
	['Filename too long', 'File name too long'],
	// "words for a NUL in the program's name"
	['nul byte found in provided data', 'data provided contains a nul byte'],
	// "text of decoding errors"
	[/(requires valid base64 \w+): .*/, '$1'],
];

/** True for what one row lets differ, and no other request. */
function accepted({method, params}, theirs, ours) {
	// "unknown members of `params`"
	if (method === 'environment/status')
		return 'unknown' in params && theirs.code === -32602 &&
			ours.status === 'ready';
	// "which of two faults is told"
	if (['file://host/a', 'file:///C:/a'].includes(params.path))
		return theirs.code === -32600 && ours.code === -32600;
	return method === 'fs/copy' && params.recursive === true &&
		theirs.code !== undefined && ours.code !== undefined;
}

const sorted = (list, key) => list.toSorted(
	(a, b) => a[key] < b[key] ? -1 : a[key] > b[key] ? 1 : 0);

/** Leave out of an answer what the rows of docs/design.md let differ. */
function comparable({method, params}, {result, error, ended}) {
	if (ended)
		return 'the connection ended';
	if (error) {
		// "text of decoding errors"
		if (error.code === -32602)
			return {code: error.code};
		// "a failed start on a terminal"
		if (method === 'process/start' && params.tty === true)
			return {code: error.code};
		return {...error, message: words.reduce((text, [from, to]) =>
			text.replace(from, to), error.message)};
	}
	const r = {...result};
	if (method === 'fs/getMetadata')
		// "`fs/getMetadata` adds", and the trees are not of one moment
		for (const key of ['mode', 'uid', 'gid', 'linkTarget', 'createdAtMs',
			'modifiedAtMs'])
			delete r[key];
	if (method === 'fs/readDirectory')
		r.entries = sorted(r.entries, 'fileName');
	if (method === 'fs/walk')
		// "repeated slashes"
		r.entries = sorted(r.entries.map((entry) => ({...entry,
			path: entry.path.replaceAll(/([^:/])\/+/g, '$1/')})), 'path');
	return r;
}

async function compare(sides, request, differences) {
	const answers = await Promise.all(sides.map((side) => side.ask(request)));
	const [theirs, ours] = answers.map((a) => comparable(request, a));
	try {
		assert.deepEqual(ours, theirs);
		return true;
	} catch {
		if (!accepted(request, theirs, ours))
			differences.push({request, theirs, ours});
	}
	return false;
}

async function compareRun(sides, params, differences) {
	const [theirs, ours] = await Promise.all(
		sides.map((side) => runOn(side, params)));
	try {
		assert.deepEqual(ours, theirs);
	} catch {
		differences.push({request: params, theirs, ours});
	}
}

test(`${COUNT} requests from seed ${SEED} are answered as the reference does`,
	{skip: clientSkip, timeout: 20000 + COUNT * 100}, async () => {
		const differences = [];
		const home = freshDirectory('home');
		const sides = [
			await Side.start({command: [...launcher(), 'exec-server',
				'--listen', 'ws://127.0.0.1:0'].join(' '),
			env: {HOME: home, CODEX_HOME: home}}),
			await Side.start(),
		];
		sides.forEach((side) => side.reset());
		for (let i = 0; i < COUNT; i++) {
			if (i % 40 === 39)
				sides.forEach((side) => side.reset());
			if (i % 20 === 19) {
				await compareRun(sides, nextProgram(), differences);
				continue;
			}
			const request = nextRequest();
			const same = await compare(sides, request, differences);
			// "copy of a file onto itself"; and after what differs.
			if (!same || request.method === 'fs/copy')
				sides.forEach((side) => side.reset());
			for (const side of sides)
				if (side.client.isClosed)
					await side.connect();
		}
		await Promise.all(sides.map((side) => side.server.stop()));
		assert.equal(differences.length, 0,
			JSON.stringify(differences, undefined, 1));
	});
