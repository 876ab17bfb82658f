// The real client, with a home, a configuration and a model of its own.
//
// It is the package @openai/codex beside this file, or CODEX_BIN.
import {spawn} from 'node:child_process';
import fs from 'node:fs';
import {createRequire} from 'node:module';
import path from 'node:path';
import {until, within} from '../blackbox/lib/wait.mjs';
import {Model} from './model.mjs';

const START_MS = 20000;
const TURN_MS = 60000;
const PACKAGE = '@openai/codex/package.json';
// Nobody listens there, so whatever would leave this machine fails.
const NOWHERE = 'http://127.0.0.1:9';

function find() {
	if (process.env.CODEX_BIN)
		return process.env.CODEX_BIN;
	try {
		const file = createRequire(import.meta.url).resolve(PACKAGE);
		return path.join(path.dirname(file), 'bin/codex.js');
	} catch {
		return undefined;
	}
}

const codex = find();

/** false, or why tests with the client are skipped. */
export const clientSkip = codex ? false :
	'the package @openai/codex is missing; script/bootstrap --client gets it';

function configuration(modelUrl) {
	return `model = "gpt-5.5"
model_provider = "scripted"
approval_policy = "never"
web_search = "disabled"
check_for_update_on_startup = false

[model_providers.scripted]
name = "scripted"
base_url = "${modelUrl}"
wire_api = "responses"
requires_openai_auth = false
request_max_retries = 0
stream_max_retries = 0

[analytics]
enabled = false

[features]
plugins = false
apps = false
`;
}

function environments(url) {
	return `default = "box"
include_local = false

[[environments]]
id = "box"
url = "${url}"
`;
}

function environment(home) {
	return {
		PATH: process.env.PATH, LANG: 'C.UTF-8', RUST_LOG: 'error',
		HOME: home, CODEX_HOME: home,
		HTTP_PROXY: NOWHERE, HTTPS_PROXY: NOWHERE, ALL_PROXY: NOWHERE,
		NO_PROXY: '127.0.0.1,localhost', no_proxy: '127.0.0.1,localhost',
	};
}

/** The words that run the client, before its own. */
export function launcher() {
	return codex.endsWith('.js') ? [process.execPath, codex] : [codex];
}

function start(args, options) {
	const file = launcher();
	// Node's launcher has a child; a group of their own ends both.
	const child = spawn(file[0], [...file.slice(1), ...args],
		{...options, stdio: ['ignore', 'pipe', 'pipe'], detached: true});
	const end = () => {
		try {
			process.kill(-child.pid, 'SIGKILL');
		} catch {
			// It has ended by itself.
		}
	};
	let text = '';
	child.stdout.on('data', (d) => { text += d; });
	child.stderr.on('data', (d) => { text += d; });
	process.on('exit', end);
	const ended = new Promise((resolve, reject) => {
		child.on('error', reject);
		child.on('close', (code) => resolve({code, text}));
	});
	const stop = () => {
		process.removeListener('exit', end);
		end();
	};
	return {ended, stop, text: () => text};
}

/**
 * Let `codex exec` do one turn in directory, on the server at url.
 *
 * script is that of the model. options: sandbox (undefined: the client's
 * default), toml (true: the server is named in environments.toml in the place
 * of CODEX_EXEC_SERVER_URL). Throws with what the client printed if it did not
 * end well or the script did not.
 */
export async function turn(url, directory, script, {sandbox, toml} = {}) {
	// The client keeps no links to its helpers below /tmp.
	const home = fs.mkdtempSync('/var/tmp/sallyport-client-');
	const model = new Model(script);
	let client;
	try {
		fs.writeFileSync(path.join(home, 'config.toml'),
			configuration(await model.listen()));
		const env = environment(home);
		if (toml)
			fs.writeFileSync(path.join(home, 'environments.toml'),
				environments(url));
		else
			env.CODEX_EXEC_SERVER_URL = url;
		client = start(['exec', '--json', '--skip-git-repo-check',
			...(sandbox ? ['--sandbox', sandbox] : []),
			'-C', directory, 'do as the script says'], {env, cwd: directory});
		const {code, text} = await within(
			TURN_MS, 'end of the client', client.ended);
		if (model.error)
			throw model.error;
		if (code !== 0)
			throw new Error(`the client ended with ${code}:\n${text}`);
	} catch (e) {
		e.message += `\n${client?.text() ?? ''}`;
		throw e;
	} finally {
		client?.stop();
		model.close();
		fs.rmSync(home, {recursive: true, force: true, maxRetries: 3});
	}
}

/**
 * The client's app-server, whose model follows script: {url (for a host),
 * where (for attach), model, stop}. listen tells, of its home, the path of the
 * socket file to listen on; undefined: a port. With null instead none is
 * started, and command is what would start it on lines.
 */
export async function startAppServer(listen, script) {
	const home = fs.mkdtempSync('/var/tmp/sallyport-client-');
	const model = new Model(script);
	let server;
	const stop = () => {
		server?.stop();
		model.close();
		fs.rmSync(home, {recursive: true, force: true, maxRetries: 3});
	};
	fs.writeFileSync(path.join(home, 'config.toml'),
		configuration(await model.listen()));
	const env = environment(home);
	if (listen === null)
		return {model, stop, command: ['env', '-i',
			...Object.entries(env).map(([key, value]) => `${key}=${value}`),
			...launcher(), 'app-server']};
	const at = listen(home);
	server = start(['app-server', '--listen',
		at ? `unix://${at}` : 'ws://127.0.0.1:0'], {env, cwd: home});
	try {
		const where = at ? `unix:${at}` : await until(START_MS, 'its URL',
			() => /ws:\/\/127\.0\.0\.1:\d+/.exec(server.text())?.[0]);
		await until(START_MS, 'its socket', () => !at || fs.existsSync(at));
		return {model, stop, where, url: at ? `ws+unix://${at}:/` : where};
	} catch (e) {
		stop();
		e.message += `\n${server.text()}`;
		throw e;
	}
}
