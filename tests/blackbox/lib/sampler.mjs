// Run as a process of its own: sample what a process and its descendants hold
// every 20 ms, that is the sum of their Pss and the sizes of their memfds.
// Sends the peak in bytes, and starts anew, at each message.
//
//   sampler.mjs PID
import fs from 'node:fs';

const top = Number(process.argv[2]);

function children(pid) {
	return fs.readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1')
		.split(' ').filter(Boolean).map(Number);
}

function tryTo(action, fallback) {
	try {
		return action();
	} catch {
		return fallback; // it has just ended
	}
}

function pss(pid) {
	const text = fs.readFileSync(`/proc/${pid}/smaps_rollup`, 'latin1');
	return Number(/^Pss:\s+(\d+)/m.exec(text)?.[1] ?? 0) * 1024;
}

function addMemfds(pid, sizes) {
	for (const fd of fs.readdirSync(`/proc/${pid}/fd`)) {
		const file = `/proc/${pid}/fd/${fd}`;
		if (!fs.readlinkSync(file).startsWith('/memfd:'))
			continue;
		const {ino, size} = fs.statSync(file);
		sizes.set(ino, size);
	}
}

function sample() {
	const pids = [top];
	const sizes = new Map();
	let sum = 0;
	for (let i = 0; i < pids.length; i++) {
		pids.push(...tryTo(() => children(pids[i]), []));
		sum += tryTo(() => pss(pids[i]), 0);
		tryTo(() => addMemfds(pids[i], sizes));
	}
	return [...sizes.values()].reduce((a, b) => a + b, sum);
}

let peak = 0;
let samples = 0;

function take() {
	peak = Math.max(peak, sample());
	samples++;
}

setInterval(take, 20);
process.on('message', () => {
	take();
	process.send({peak, samples});
	peak = 0;
	samples = 0;
});
process.on('disconnect', () => process.exit());
process.send('ready');
