// The examples of our pages, as configurations that tests really run.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import {fileURLToPath} from 'node:url';

const docs = path.join(
	path.dirname(fileURLToPath(import.meta.url)), '../../../docs');

/** The blocks of a page, which are indented. */
export function blocksOf(page) {
	const text = fs.readFileSync(path.join(docs, page), 'utf8');
	return text.split(/^(?! {4}|$).*\n/m)
		.map((block) => block.replaceAll(/^ {4}/gm, '').trim() + '\n')
		.filter((block) => block !== '\n');
}

/**
 * Write the example with that number, 0 is the first, to file. names maps what
 * its reader is to replace to what is there instead; each must occur.
 */
export function writeExample(file, page, number, names) {
	let text = blocksOf(page)
		.filter((block) => block.includes('[backend]\n'))[number];
	for (const [theirs, ours] of Object.entries(names)) {
		assert.ok(text.includes(theirs), `${page} has no ${theirs}`);
		text = text.replaceAll(theirs, ours);
	}
	fs.writeFileSync(file, text);
	return file;
}
