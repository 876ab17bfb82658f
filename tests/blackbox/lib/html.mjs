// A page as a tree, strictly: what a browser would mend is an error here.
import assert from 'node:assert/strict';

const voids = new Set(['meta', 'br', 'wbr', 'input', 'rect', 'path', 'circle']);
const raw = new Set(['style', 'script']);
const references = {amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'"};

function decode(text) {
	return text.replaceAll(/&([^;\s]*);?/g, (whole, name) => {
		assert.ok(name in references && whole.endsWith(';'), whole);
		return references[name];
	});
}

/** An element: name, attributes, children (elements and strings). */
export class Element {
	constructor(name, attributes, parent) {
		Object.assign(this, {name, attributes, parent, children: []});
	}

	get text() {
		return this.children.map((child) =>
			typeof child === 'string' ? child : child.text).join('');
	}

	get elements() {
		return this.children.filter((child) => typeof child !== 'string');
	}

	/** All elements below for which test holds, in order. */
	all(test) {
		return this.elements.flatMap((child) =>
			[...test(child) ? [child] : [], ...child.all(test)]);
	}

	named(name) {
		return this.all((element) => element.name === name);
	}

	classed(name) {
		return this.all((element) =>
			(element.attributes.class ?? '').split(' ').includes(name));
	}

	byId(id) {
		return this.all((element) => element.attributes.id === id)[0];
	}
}

function attributesOf(text) {
	const found = {};
	const rest = text.replaceAll(/\s+([a-zA-Z-]+)(?:="([^"<>]*)")?/g,
		(whole, name, value) => {
			assert.ok(!(name in found), `${name} is there twice`);
			found[name] = decode(value ?? '');
			return '';
		});
	assert.match(rest, /^\s*\/?$/, `attributes: ${text}`);
	return found;
}

/** The tree of a page. Throws where tags do not match. */
export function parse(page) {
	const top = new Element('#page', {}, null);
	let at = top;
	let rest = page.replace(/^<!DOCTYPE html>\n/, '');

	assert.notEqual(rest, page, 'no doctype');
	while (rest.length > 0) {
		const [whole, text, close, name, attributes] =
			/^([^<]*)(?:<(\/?)([a-z][a-z0-9]*)([^<>]*)>)?/.exec(rest);
		assert.ok(whole.length > 0, `stray < in ${rest.slice(0, 60)}`);
		rest = rest.slice(whole.length);
		if (text !== '')
			at.children.push(decode(text));
		if (close === '/') {
			assert.equal(name, at.name, `</${name}> closes <${at.name}>`);
			at = at.parent;
		} else if (name !== undefined) {
			const made = new Element(name, attributesOf(attributes), at);
			at.children.push(made);
			if (raw.has(name)) {
				const end = rest.indexOf(`</${name}>`);
				made.children.push(rest.slice(0, end));
				rest = rest.slice(end + name.length + 3);
			} else if (!voids.has(name)) {
				at = made;
			}
		}
	}
	assert.equal(at, top, `<${at.name}> is not closed`);
	return top;
}
