// The file methods of a client in few words, and files to try them on.
import assert from 'node:assert/strict';
import {createHash} from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import {decode, encode} from './client.mjs';
import {fileUri} from './server.mjs';

export const NOT_FOUND = -32004;
export const INVALID_REQUEST = -32600;
export const INVALID_PARAMS = -32602;
export const INTERNAL = -32603;

export const ENOENT = [NOT_FOUND, 'No such file or directory (os error 2)'];
export const EEXIST = [INTERNAL, 'File exists (os error 17)'];
export const EISDIR = [INTERNAL, 'Is a directory (os error 21)'];
export const ENOTDIR = [INTERNAL, 'Not a directory (os error 20)'];
export const EACCES = [INTERNAL, 'Permission denied (os error 13)'];
export const EROFS = [INTERNAL, 'Read-only file system (os error 30)'];
export const ELOOP = [
	INTERNAL, 'Too many levels of symbolic links (os error 40)'];
export const ENOTEMPTY = [INTERNAL, 'Directory not empty (os error 39)'];
export const EBADF = [INTERNAL, 'Bad file descriptor (os error 9)'];
export const notAFile = (file) =>
	[INVALID_REQUEST, `path \`${file}\` is not a file`];

/** len bytes that differ from place to place and from seed to seed. */
export function pattern(len, seed = 1) {
	const data = Buffer.allocUnsafe(len);
	let x = (seed * 2654435761) >>> 0;
	for (let i = 0; i < len; i++) {
		x = (Math.imul(x, 1664525) + 1013904223) >>> 0;
		data[i] = x >>> 24;
	}
	return data;
}

export const sha256 = (data) =>
	createHash('sha256').update(data).digest('hex');

/** The file methods, called by client with paths below dir. */
export class Files {
	constructor(client, dir) {
		this.client = client;
		this.dir = dir;
	}

	at(name = '') {
		return name.startsWith('/') ? name : path.join(this.dir, name);
	}

	uri(name) {
		return /^file:/i.test(name ?? '') ? name : fileUri(this.at(name));
	}

	/** What goes over the wire for path-like members given as names. */
	#params(params) {
		const out = {...params};
		for (const key of ['path', 'sourcePath', 'destinationPath'])
			if (key in out)
				out[key] = this.uri(out[key]);
		return out;
	}

	call(method, params, options) {
		return this.client.call(`fs/${method}`, this.#params(params), options);
	}

	/** The call is answered with this code and, if given, this text. */
	async fails(method, params, [code, text]) {
		const error = await this.client.refusal(
			`fs/${method}`, this.#params(params));
		assert.equal(error.code, code, error.message);
		if (text instanceof RegExp)
			assert.match(error.text, text);
		else if (text !== undefined)
			assert.equal(error.text, text);
		return error;
	}

	async read(name, options) {
		const {dataBase64} = await this.call('readFile', {path: name}, options);
		return decode(dataBase64);
	}

	write(name, data, options) {
		return this.call('writeFile',
			{path: name, dataBase64: encode(data)}, options);
	}

	stat(name, more) {
		return this.call('getMetadata', {path: name, ...more});
	}

	async list(name) {
		const {entries} = await this.call('readDirectory', {path: name});
		return entries;
	}

	async names(name) {
		return (await this.list(name)).map((e) => e.fileName).sort();
	}

	walk(name, more) {
		return this.call('walk', {path: name, options: {
			maxDepth: 64, maxDirectories: 10000, maxEntries: 50000,
			followDirectorySymlinks: false, ...more,
		}});
	}

	copy(from, to, recursive = false) {
		return this.call('copy',
			{sourcePath: from, destinationPath: to, recursive});
	}

	open(handleId, name, mode) {
		return this.call('open', {handleId, path: name, mode});
	}

	readBlock(handleId, offset, len) {
		return this.call('readBlock', {handleId, offset, len});
	}

	writeBlock(handleId, offset, data) {
		return this.call('writeBlock', {handleId, offset, chunk: encode(data)});
	}

	close(handleId) {
		return this.call('close', {handleId});
	}
}

/**
 * Files in a new directory of the workspace that commands and file workers may
 * change, made by tree: {name: content}, where content is text or bytes, null
 * (a directory) or {link: target}.
 */
let counter = 0;
export function scratch(server, client, tree = {}) {
	const dir = path.join(server.workspace, `scratch${++counter}`);
	fs.mkdirSync(dir);
	fs.chmodSync(dir, 0o777);
	for (const [name, content] of Object.entries(tree)) {
		const file = path.join(dir, name);
		makeParents(path.dirname(file), dir);
		make(file, content);
	}
	return new Files(client, dir);
}

function makeParents(directory, top) {
	if (directory === top || fs.existsSync(directory))
		return;
	makeParents(path.dirname(directory), top);
	make(directory, null);
}

function make(file, content) {
	if (content === null) {
		fs.mkdirSync(file);
		fs.chmodSync(file, 0o777);
	} else if (Object.hasOwn(content, 'link')) {
		fs.symlinkSync(content.link, file);
	} else {
		fs.writeFileSync(file, content);
		fs.chmodSync(file, 0o666);
	}
}
