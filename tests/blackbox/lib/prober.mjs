// Run as a process of its own: ask a TCP echo and environment/status in turn
// until told to stop, and send the 99th percentile of both, in milliseconds.
// The echo is the floor: what the machine itself takes at that moment.
//
//   prober.mjs URL ECHO-PORT
import net from 'node:net';
import {Client} from './client.mjs';
import {within} from './wait.mjs';

const [url, port] = process.argv.slice(2);

const echo = net.connect(Number(port), '127.0.0.1');
echo.setNoDelay(true);
await new Promise((resolve) => echo.once('connect', resolve));
const client = await Client.connect(url);

function ping() {
	const back = new Promise((resolve) => echo.once('data', resolve));
	echo.write('{"id":1,"method":"environment/status","params":{}}');
	return within(30000, 'echo', back);
}

async function took(action) {
	const begin = performance.now();
	await action();
	return performance.now() - begin;
}

function p99(times) {
	const sorted = [...times].sort((a, b) => a - b);
	return sorted[Math.ceil(sorted.length * 0.99) - 1];
}

let stopped = false;

async function measure() {
	const times = {echo: [], status: []};
	while (!stopped || times.echo.length < 100) {
		times.echo.push(await took(ping));
		times.status.push(await took(() => client.call(
			'environment/status', {}, {ms: 30000})));
	}
	process.send({
		count: times.echo.length,
		echo: p99(times.echo), status: p99(times.status),
	});
}

process.on('message', (message) => {
	stopped = message === 'stop';
	if (!stopped)
		measure();
});
process.on('disconnect', () => process.exit());
process.send('ready');
