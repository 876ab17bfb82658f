// The page of sallyport policy report in a browser: at a desk and on a phone,
// light and dark, by mouse, finger and keyboard, and on paper.
import assert from 'node:assert/strict';
import {spawnSync} from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import {after, before, test} from 'node:test';
import {Browser, browserSkip} from './lib/browser.mjs';
import {binary, foreignSkip, freshDirectory} from './lib/server.mjs';
import {slow, until} from './lib/wait.mjs';

const skip = foreignSkip || browserSkip;
const desk = {width: 1440, height: 900, scheme: 'light'};
const phone = {width: 390, height: 844, scheme: 'light', phone: true};
const CONTRAST = 4.5; // WCAG 2.2 AA, text of any size
const dir = freshDirectory('browser');
const file = path.join(dir, 'report.html');
let browser;

before(async () => {
	if (skip)
		return;
	fs.mkdirSync(path.join(dir, 'ws'));
	fs.writeFileSync(path.join(dir, 'a.conf'), `[profile "careful"]
read = /
write = {workspace}
deny = /${'a-long-name-without-a-blank-'.repeat(8)}
`);
	const {status, stderr} = spawnSync(binary, ['policy', 'report',
		'--no-host', '--config', path.join(dir, 'a.conf'), '--workspace',
		path.join(dir, 'ws'), file], {encoding: 'utf8'});
	assert.equal(status, 0, stderr);
	browser = await Browser.start();
}, {timeout: 60000 * slow});
after(async () => {
	await browser?.close();
	fs.rmSync(dir, {recursive: true});
});

async function open(look) {
	const page = await browser.page();
	await page.look(look);
	await page.open(`file://${file}`);
	return page;
}

const tip = 'document.getElementById("tip")';

/** Runs in the page: texts whose contrast is too low. */
function faintTexts(least) {
	const canvas = document.createElement('canvas').getContext('2d',
		{willReadFrequently: true});
	const known = new Map();
	const rgba = (color) => {
		if (!known.has(color))
			known.set(color, paint(color));
		return known.get(color);
	};
	const paint = (color) => {
		canvas.clearRect(0, 0, 1, 1);
		canvas.fillStyle = color;
		canvas.fillRect(0, 0, 1, 1);
		return [...canvas.getImageData(0, 0, 1, 1).data];
	};
	const luminance = (color) => rgba(color).slice(0, 3)
		.map((v) => v / 255)
		.map((v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
		.reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
	const ground = (element) => {
		for (let at = element; at; at = at.parentElement) {
			const box = at.querySelector?.(':scope > rect');
			const color = box ? getComputedStyle(box).fill :
				getComputedStyle(at).backgroundColor;
			if (rgba(color)[3] === 255)
				return color;
		}
		return getComputedStyle(document.body).backgroundColor;
	};
	const seen = new Map();
	for (const element of document.querySelectorAll('body *')) {
		const text = [...element.childNodes].find((n) => n.nodeType === 3 &&
			n.textContent.trim() !== '');
		if (!text || !element.checkVisibility() ||
			element.closest('script, .unseen'))
			continue;
		const style = getComputedStyle(element);
		const color = element instanceof SVGElement ? style.fill : style.color;
		const key = `${color} on ${ground(element)}`;
		if (!seen.has(key))
			seen.set(key, text.textContent.trim().slice(0, 40));
	}
	return [...seen].map(([key, text]) => {
		const [a, b] = key.split(' on ').map(luminance).sort((x, y) => y - x);
		return [(a + 0.05) / (b + 0.05), key, text];
	}).filter(([ratio]) => ratio < least);
}

for (const look of [desk, phone]) {
	test(`${look.width} px: nothing is wrong, too wide or too faint`, {skip},
		async () => {
			const page = await open(look);

			for (const scheme of ['light', 'dark']) {
				await page.look({...look, scheme});
				const [width, pictures, ground] = await page.evaluate(`[
					document.documentElement.scrollWidth,
					[...document.querySelectorAll('.picture')]
						.filter((p) => p.checkVisibility()).length,
					getComputedStyle(document.body).backgroundColor]`);

				assert.ok(width <= look.width, `${width} pixels wide`);
				assert.equal(pictures, 1);
				assert.equal(/rgb\((\d+)/.exec(ground)[1] < 128,
					scheme === 'dark');
				assert.deepEqual(await page.evaluate(
					`(${faintTexts})(${CONTRAST})`), []);
			}
			assert.deepEqual(page.complaints, []);
		});
}

/** Runs in the page: go through the matrix by arrow keys alone. */
function walk() {
	const matrix = document.getElementById('matrix');
	const press = (key, ctrlKey = false) => {
		const at = document.activeElement;
		at.dispatchEvent(new KeyboardEvent('keydown',
			{key, ctrlKey, bubbles: true, cancelable: true}));
		return document.activeElement !== at;
	};
	const links = new Set(matrix.querySelectorAll('td a'));
	const wrong = [];
	const see = () => {
		const at = document.activeElement;
		const told = document.getElementById('tip').textContent;
		links.delete(at);
		for (const id of at.getAttribute('aria-describedby').split(' ')) {
			const why = document.getElementById(id).cells[3].textContent;
			if (!told.includes(why))
				wrong.push(`${id}: ${told}`);
		}
	};
	press('Home', true);
	do {
		press('Home');
		do
			see();
		while (press('ArrowRight'));
		press('Home');
	} while (press('ArrowDown'));
	return [links.size, wrong];
}

test('the keyboard reaches every reason', {skip}, async () => {
	const page = await open(desk);
	const at = 'document.activeElement';
	let steps = 0;

	// One stop: Tab goes past the matrix as it goes past a link.
	while (!await page.evaluate(`${at}.matches('#matrix td a')`)) {
		await page.press('Tab');
		assert.ok(++steps < 60, 'Tab does not reach the matrix');
	}
	assert.deepEqual(await page.evaluate(`(${walk})()`), [0, []]);
	await page.press('Home', 2);
	const first = await page.evaluate(`${at}.getAttribute('href')`);
	await page.press('ArrowDown');
	assert.notEqual(await page.evaluate(`${at}.getAttribute('href')`), first);
	assert.equal(await page.evaluate(`${tip}.hidden`), false);
	await page.press('Escape');
	assert.equal(await page.evaluate(`${tip}.hidden`), true);
	const href = await page.evaluate(`${at}.getAttribute('href')`);
	await page.press('Enter');
	assert.equal(await page.evaluate('location.hash'), href);
	await page.press('Tab');
	assert.equal(await page.evaluate(`${at}.matches('#matrix td a')`), false);
	assert.deepEqual(page.complaints, []);
});

/** Runs in the page: where the first sign with a test is, and its rule. */
function firstTest() {
	const link = document.querySelector('#matrix td.test a');
	link.scrollIntoView({block: 'center', inline: 'center'});
	const box = link.getBoundingClientRect();
	const rule = document.getElementById(
		link.getAttribute('href').slice(1));
	return [box.x + box.width / 2, box.y + box.height / 2,
		rule.cells[2].textContent];
}

const shows = (page, text) => until(5000, 'the reasons are shown',
	() => page.evaluate(
		`!${tip}.hidden && ${tip}.textContent.includes(${JSON.stringify(
			text)})`));

test('a mouse and a finger show the reasons', {skip}, async () => {
	const page = await open(desk);
	const [x, y, holds] = await page.evaluate(`(${firstTest})()`);

	await page.send('Input.dispatchMouseEvent', {type: 'mouseMoved', x, y});
	await shows(page, holds);
	const small = await open(phone);
	const [left, top, words] = await small.evaluate(`(${firstTest})()`);
	await small.tap(left, top);
	await shows(small, words);
	assert.equal(await small.evaluate('location.hash'), '');
	assert.deepEqual(await small.evaluate(`(() => {
		const box = ${tip}.getBoundingClientRect();
		return [box.left >= 0, box.right <= innerWidth,
			box.bottom <= innerHeight, box.height > 30];
	})()`), [true, true, true, true]);
	assert.deepEqual([...page.complaints, ...small.complaints], []);
});

test('calls can be found by a part of their name', {skip}, async () => {
	const page = await open(phone);
	const left = await page.evaluate(`(() => {
		const field = document.getElementById('find');
		field.value = 'socketp';
		field.dispatchEvent(new Event('input'));
		return [...document.querySelectorAll('#matrix tbody tr')]
			.filter((row) => row.checkVisibility())
			.map((row) => row.cells[0].textContent);
	})()`);

	assert.deepEqual(left, ['socketpair']);
	assert.match(await page.evaluate(
		'document.getElementById("found").textContent'), /^1 of \d+$/);
});

test('on paper every reason is there, and nothing is cut off', {skip},
	async () => {
		const page = await open({width: 718, height: 1020, scheme: 'dark',
			media: 'print'});
		const [width, hidden, cut, background] = await page.evaluate(`[
			document.documentElement.scrollWidth,
			[...document.querySelectorAll('.rules tbody tr')]
				.filter((row) => row.getBoundingClientRect().height < 5).length,
			[...document.querySelectorAll('.scroll')]
				.filter((box) => box.scrollWidth > box.clientWidth + 1 ||
					getComputedStyle(box).overflow !== 'visible')
				.map((box) => box.getAttribute('aria-label')),
			getComputedStyle(document.body).backgroundColor]`);

		assert.ok(width <= 718, `${width} pixels wide`);
		assert.equal(hidden, 0);
		assert.deepEqual(cut, []);
		assert.equal(background, 'rgb(255, 255, 255)');
	});
