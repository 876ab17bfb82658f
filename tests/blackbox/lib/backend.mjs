// Backends of the type command, whose commands leave notes.
import fs from 'node:fs';
import path from 'node:path';
import {test} from 'node:test';
import {Server, foreignSkip} from './server.mjs';
import {until} from './wait.mjs';

export const START = 'sh -c {command}';
export const COMMAND = {'backend.type': 'command', 'backend.start': START};

/** A command that appends words to a file that sessions may write. */
export const note = (words) => `sh -c "echo ${words} >>/%W/notes"`;

export const FINALIZE = {'backend.finalize':
	note('final {status} {exit_code} {timed_out}')};

/** Wait until there are so many notes. */
export const count = (notes, n) =>
	until(20000, `${n} notes`, () => notes().length >= n);

/** A workspace for everybody's notes; body gets it, and how to read them. */
export async function withNotes(body) {
	const directory = fs.mkdtempSync('/var/tmp/sallyport-backend-');
	fs.chmodSync(directory, 0o777);
	const file = path.join(directory, 'notes');
	// Lines that are whole: the file may be new and empty.
	const notes = () => fs.existsSync(file) ?
		fs.readFileSync(file, 'utf8').split('\n').slice(0, -1) : [];
	try {
		await body(directory, notes);
	} finally {
		fs.rmSync(directory, {recursive: true, force: true});
	}
}

/** These keys, where %W is the directory, without its first slash. */
export const named = (keys, directory) => Object.fromEntries(
	Object.entries({...COMMAND, ...keys}).map(([key, value]) =>
		[key, value.replaceAll('%W', directory.slice(1))]));

/** Body with a client of a server of these keys in such a workspace. */
export const serveNoted = (keys, body) => withNotes(
	async (directory, notes) => {
		const server = await Server.start({workspace: directory,
			keep: true, set: named(keys, directory)});
		try {
			await body(await server.connect(), notes, server);
		} finally {
			await server.stop();
		}
	});

export const noted = (what, keys, body) =>
	test(what, {skip: foreignSkip}, () => serveNoted(keys, body));
