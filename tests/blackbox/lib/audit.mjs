// The audit log as a test sees it: each line is checked against the schema.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import {fileURLToPath} from 'node:url';
import {freshDirectory} from './server.mjs';
import {until} from './wait.mjs';

export const docs = fileURLToPath(new URL('../../../docs/', import.meta.url));
export const schema = JSON.parse(
	fs.readFileSync(path.join(docs, 'audit.schema.json'), 'utf8'));

/**
 * Of JSON Schema 2020-12 what docs/audit.schema.json uses; anything else in it
 * throws. Returns {error} or {seen: the names that were looked at}.
 */
export function validate(rule, value, root = rule) {
	const seen = new Set();
	const error = (text) => ({error: text});

	for (const [word, arg] of Object.entries(rule)) {
		let inner = {seen: []};
		switch (word) {
		case '$schema': case '$defs': case 'title': case 'description':
		case 'unevaluatedProperties':
			break;
		case '$ref':
			inner = validate(root.$defs[arg.slice('#/$defs/'.length)],
				value, root);
			break;
		case 'type':
			if (arg === 'object' ? value === null ||
				typeof value !== 'object' : typeof value !== arg)
				return error(`${value} is no ${arg}`);
			break;
		case 'const':
			if (value !== arg)
				return error(`${value} is not ${arg}`);
			break;
		case 'enum':
			if (!arg.includes(value))
				return error(`${value} is none of ${arg}`);
			break;
		case 'pattern':
			if (typeof value === 'string' && !new RegExp(arg, 'u').test(value))
				return error(`${value} does not match ${arg}`);
			break;
		case 'required':
			for (const name of arg)
				if (!Object.hasOwn(value, name))
					return error(`${name} is missing`);
			break;
		case 'properties':
			for (const [name, one] of Object.entries(arg)) {
				if (!Object.hasOwn(value, name))
					continue;
				const {error: wrong} = validate(one, value[name], root);
				if (wrong)
					return error(`${name}: ${wrong}`);
				seen.add(name);
			}
			break;
		case 'oneOf': {
			const all = arg.map((one) => validate(one, value, root));
			const fit = all.filter((r) => !r.error);
			if (fit.length !== 1)
				return error(`${fit.length} alternatives fit: ` +
					all.map((r) => r.error).join('; '));
			[inner] = fit;
			break;
		}
		default:
			throw new Error(`the schema has ${word}`);
		}
		if (inner.error)
			return inner;
		inner.seen.forEach((name) => seen.add(name));
	}
	if (rule.unevaluatedProperties === false)
		for (const name of Object.keys(value))
			if (!seen.has(name))
				return error(`${name} is not in the schema`);
	return {seen: [...seen]};
}

/** A record that the schema describes, or an assertion fails. */
export function checked(line) {
	const record = JSON.parse(line);
	const {error} = validate(schema, record);
	assert.equal(error, undefined, `${line}: ${error}`);
	return record;
}

/** An audit file for a server: {...log.set} are its settings. */
export class AuditLog {
	constructor(set = {}) {
		this.dir = freshDirectory('audit');
		this.file = path.join(this.dir, 'audit.jsonl');
		this.set = {'audit.file': this.file, ...set};
	}

	text() {
		return fs.existsSync(this.file) ?
			fs.readFileSync(this.file, 'utf8') : '';
	}

	/** All whole lines so far, or those of an event. */
	records(event) {
		const all = this.text().split('\n').slice(0, -1).map(checked);
		return event ? all.filter((r) => r.event === event) : all;
	}

	/** Wait for a record of an event that passes check. */
	one(event, check = () => true, ms = 15000) {
		return until(ms, `audit line ${event}\n${this.text()}`,
			() => this.records(event).find(check));
	}
}
