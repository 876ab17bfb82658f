// Helpers that run beside the test, so that its own work does not disturb what
// they measure.
import {fork} from 'node:child_process';
import path from 'node:path';
import {fileURLToPath} from 'node:url';
import {within} from './wait.mjs';

const here = path.dirname(fileURLToPath(import.meta.url));

export class Helper {
	/** name: of a file beside this one. Its first message is kept as first. */
	static async start(name, ...args) {
		const helper = new Helper(name, args);
		helper.first = await helper.message();
		return helper;
	}

	constructor(name, args) {
		this.child = fork(path.join(here, `${name}.mjs`), args.map(String));
	}

	message(ms = 60000) {
		return within(ms, 'message of a helper', new Promise(
			(resolve, reject) => {
				this.child.once('message', resolve);
				this.child.once('exit', (code) => reject(
					new Error(`the helper ended with ${code}`)));
			}));
	}

	/** Send a message and wait for the next one. */
	ask(message) {
		this.child.send(message);
		return this.message();
	}

	end() {
		if (this.child.connected)
			this.child.disconnect();
	}
}

/**
 * How environment/status does beside a bare echo while work is done: the best
 * of up to ten times until it is at most mostMs behind.
 */
export async function latency(url, mostMs, work) {
	const echo = await Helper.start('echo');
	const prober = await Helper.start('prober', url, echo.first);
	try {
		const behind = ({status, echo}) => status - echo;
		let best = {status: Infinity, echo: 0};
		for (let i = 0; i < 10 && behind(best) > mostMs; i++) {
			prober.child.send('start');
			await work(i);
			const run = await prober.ask('stop');
			best = behind(run) < behind(best) ? run : best;
		}
		return best;
	} finally {
		prober.end();
		echo.end();
	}
}
