// What the kernel says about processes.
import fs from 'node:fs';

function read(path) {
	try {
		return fs.readFileSync(path, 'latin1');
	} catch {
		return '';
	}
}

function pids() {
	return fs.readdirSync('/proc').filter((n) => /^\d+$/.test(n)).map(Number);
}

export function commandLine(pid) {
	return read(`/proc/${pid}/cmdline`).split('\0').slice(0, -1);
}

/** The variables that a process began with, as one text; '' when it is gone. */
export const environmentOf = (pid) => read(`/proc/${pid}/environ`);

/** The fields of /proc/PID/status; undefined when it is gone. */
export function status(pid) {
	const text = read(`/proc/${pid}/status`);
	if (text === '')
		return undefined;
	return Object.fromEntries(text.trim().split('\n').map((line) => {
		const [key, value] = line.split(':\t');
		return [key, value?.trim()];
	}));
}

/** Whether it exists and is more than a zombie. */
export function isAlive(pid) {
	return !['Z', 'X', undefined].includes(status(pid)?.State?.[0]);
}

/** All descendants of a process, nearest first. */
export function descendants(pid) {
	const children = new Map();
	for (const p of pids()) {
		const parent = Number(status(p)?.PPid);
		children.set(parent, [...(children.get(parent) ?? []), p]);
	}
	const found = [];
	for (let next = [pid]; next.length > 0;) {
		next = next.flatMap((p) => children.get(p) ?? []);
		found.push(...next);
	}
	return found;
}

/** Living processes with the word among their arguments. */
export function withArgument(word) {
	return pids().filter(
		(p) => isAlive(p) && commandLine(p).some((a) => a.includes(word)));
}

/** Open descriptors; undefined when the kernel does not let us count. */
export function fdCount(pid) {
	try {
		return fs.readdirSync(`/proc/${pid}/fd`).length;
	} catch {
		return undefined;
	}
}

/** Resident memory in KiB. */
export function residentKib(pid) {
	return parseInt(status(pid)?.VmRSS ?? '0', 10);
}

let counter = 0;

/** A word that no other process has among its arguments. */
export function uniqueWord() {
	return `mark-${process.pid}-${++counter}-end`;
}
