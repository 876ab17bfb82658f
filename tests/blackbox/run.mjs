// Run one test file: a line for each test, and at the end the line
// "N passed, N failed". Exit status 0, 1 if a test failed, 77 if all of them
// were skipped.
import path from 'node:path';
import {fileURLToPath} from 'node:url';

const here = path.dirname(fileURLToPath(import.meta.url));
const FILE_MS = 570000; // less than meson gives it, to say what hung

try {
	await import('ws');
} catch {
	console.log('skipped: the package ws is missing; script/bootstrap gets it');
	console.log('0 passed, 0 failed');
	process.exit(77);
}

const {run} = await import('node:test');
const files = process.argv.slice(2).map((name) => path.resolve(here, name));
const count = {passed: 0, failed: 0, skipped: 0};

function describeFailure(error) {
	const cause = error?.cause ?? error;
	return String(cause?.stack ?? cause).replaceAll(/^/gm, '    ');
}

function report(event, passed) {
	// A file is itself told as a test around those in it.
	const isFile = files.includes(event.name) ||
		files.includes(path.resolve(event.name));
	if (event.details.type === 'suite' || (isFile && passed))
		return;
	if (event.skip !== undefined) {
		count.skipped++;
		console.log(`skip  ${event.name}: ${event.skip}`);
	} else if (passed) {
		count.passed++;
		console.log(`ok    ${event.name} (${
			Math.round(event.details.duration_ms)} ms)`);
	} else if (!isFile || count.failed === 0) {
		count.failed++;
		console.log(`FAIL  ${event.name}`);
		console.log(describeFailure(event.details.error));
	}
}

const stream = run({files, concurrency: 1, timeout: FILE_MS});
stream.on('test:pass', (event) => report(event, true));
stream.on('test:fail', (event) => report(event, false));
stream.on('test:stderr', (event) => process.stdout.write(event.message));
stream.on('test:stdout', (event) => process.stdout.write(event.message));
stream.resume();
stream.on('end', () => {
	if (count.skipped > 0)
		console.log(`${count.skipped} skipped`);
	console.log(`${count.passed} passed, ${count.failed} failed`);
	const none = count.passed + count.failed === 0;
	process.exit(count.failed > 0 ? 1 : none ? 77 : 0);
});
