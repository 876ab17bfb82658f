// Headless Chromium, driven by its DevTools protocol.
import {spawn} from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import WebSocket from 'ws';
import {until, within} from './wait.mjs';

const START_MS = 20000;
const STEP_MS = 30000;
const places = ['/usr/bin/chromium', '/usr/bin/chromium-browser',
	'/usr/bin/google-chrome'];
const executable = places.find((place) => fs.existsSync(place));

/** false, or why a test with a browser is skipped. */
export const browserSkip = executable ? false :
	'chromium is missing; script/bootstrap --all gets it';

const options = ['--headless', '--no-sandbox', '--disable-gpu',
	'--disable-quic', '--no-first-run', '--disable-background-networking',
	'--disable-component-update', '--disable-sync', '--disable-dev-shm-usage',
	'--remote-debugging-port=0'];

/** One page of a browser. */
export class Page {
	/** What went wrong in the page since it was opened. */
	complaints = [];

	constructor(browser, session) {
		this.browser = browser;
		this.session = session;
		browser.on(session, 'Runtime.exceptionThrown', ({exceptionDetails}) =>
			this.complaints.push(exceptionDetails.exception?.description ??
				exceptionDetails.text));
		browser.on(session, 'Runtime.consoleAPICalled', ({type, args}) =>
			this.complaints.push(`${type}: ${args.map((a) => a.value)}`));
		browser.on(session, 'Log.entryAdded', ({entry}) =>
			this.complaints.push(`${entry.level}: ${entry.text}`));
	}

	send(method, params = {}) {
		return this.browser.send(method, params, this.session);
	}

	/** The value of an expression. */
	async evaluate(expression) {
		const {result, exceptionDetails} = await this.send('Runtime.evaluate',
			{expression, returnByValue: true, awaitPromise: true});
		if (exceptionDetails)
			throw new Error(exceptionDetails.exception?.description ??
				exceptionDetails.text);
		return result.value;
	}

	/** scheme: 'light' or 'dark'. A phone has a finger instead of a mouse. */
	async look({width, height, scheme, phone = false, media = 'screen'}) {
		await this.send('Emulation.setDeviceMetricsOverride',
			{width, height, deviceScaleFactor: phone ? 2 : 1, mobile: phone});
		await this.send('Emulation.setTouchEmulationEnabled', {enabled: phone});
		await this.send('Emulation.setEmulatedMedia', {media,
			features: [{name: 'prefers-color-scheme', value: scheme}]});
	}

	async open(url) {
		const loaded = new Promise((resolve) =>
			this.browser.on(this.session, 'Page.loadEventFired', resolve));
		for (const domain of ['Page', 'Runtime', 'Log'])
			await this.send(`${domain}.enable`);
		const {errorText} = await this.send('Page.navigate', {url});
		if (errorText)
			throw new Error(`${url}: ${errorText}`);
		await within(STEP_MS, 'end of loading', loaded);
	}

	/** name: as of KeyboardEvent.key. modifiers: 2 is Ctrl, 8 Shift. */
	async press(name, modifiers = 0) {
		const key = {key: name, code: name, modifiers,
			windowsVirtualKeyCode: {Tab: 9, Enter: 13, Escape: 27, PageUp: 33,
				PageDown: 34, End: 35, Home: 36, ArrowLeft: 37, ArrowUp: 38,
				ArrowRight: 39, ArrowDown: 40}[name]};
		await this.send('Input.dispatchKeyEvent', {type: 'keyDown', ...key,
			...(name === 'Enter' ? {text: '\r'} : {})});
		await this.send('Input.dispatchKeyEvent', {type: 'keyUp', ...key});
	}

	async tap(x, y) {
		await this.send('Input.dispatchTouchEvent',
			{type: 'touchStart', touchPoints: [{x, y}]});
		await this.send('Input.dispatchTouchEvent',
			{type: 'touchEnd', touchPoints: []});
	}
}

export class Browser {
	#number = 0;
	#waiting = new Map();
	#listeners = new Map();

	/** A browser with an empty profile; close it. */
	static async start() {
		const browser = new Browser();
		try {
			await browser.#connect();
		} catch (e) {
			await browser.close();
			throw new Error(`${e.message}\n${browser.stderr}`);
		}
		return browser;
	}

	constructor() {
		this.stderr = '';
		this.profile = fs.mkdtempSync(
			path.join(os.tmpdir(), 'sallyport-browser-'));
		// A group of its own, so that its helpers end with it.
		this.child = spawn(executable,
			[...options, `--user-data-dir=${this.profile}`, 'about:blank'],
			{stdio: ['ignore', 'ignore', 'pipe'], detached: true});
		this.child.stderr.on('data', (d) => { this.stderr += d; });
		this.exited = new Promise((resolve) => {
			this.child.on('error', resolve);
			this.child.on('close', resolve);
		});
		this.kill = () => {
			try {
				process.kill(-this.child.pid, 'SIGKILL');
			} catch {}
		};
		process.on('exit', this.kill);
	}

	async #connect() {
		const [, url] = await until(START_MS, 'the browser listens',
			() => /listening on (ws:\S+)/.exec(this.stderr));
		this.socket = new WebSocket(url, {perMessageDeflate: false});
		this.socket.on('message', (data) => this.#receive(JSON.parse(data)));
		await within(STEP_MS, 'connection to the browser',
			new Promise((resolve, reject) => {
				this.socket.on('open', resolve);
				this.socket.on('error', reject);
			}));
	}

	#receive({id, method, params, result, error, sessionId}) {
		if (method) {
			const all = this.#listeners.get(`${sessionId} ${method}`) ?? [];
			return all.forEach((listener) => listener(params));
		}
		const {resolve, reject} = this.#waiting.get(id);
		this.#waiting.delete(id);
		return error ? reject(new Error(error.message)) : resolve(result);
	}

	on(session, method, listener) {
		const key = `${session} ${method}`;
		this.#listeners.set(key,
			[...this.#listeners.get(key) ?? [], listener]);
	}

	send(method, params = {}, sessionId = undefined) {
		const id = ++this.#number;
		const answer = new Promise((resolve, reject) =>
			this.#waiting.set(id, {resolve, reject}));
		this.socket.send(JSON.stringify({id, method, params, sessionId}));
		return within(STEP_MS, `answer to ${method}`, answer);
	}

	async page() {
		const {targetId} = await this.send('Target.createTarget',
			{url: 'about:blank'});
		const {sessionId} = await this.send('Target.attachToTarget',
			{targetId, flatten: true});
		return new Page(this, sessionId);
	}

	async close() {
		process.off('exit', this.kill);
		this.socket?.terminate();
		this.kill();
		await within(STEP_MS, 'end of the browser', this.exited);
		fs.rmSync(this.profile, {recursive: true, force: true, maxRetries: 10});
	}
}
