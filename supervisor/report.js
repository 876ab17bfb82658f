// Reasons beside the signs of the matrix, by pointer, tap and keyboard; and a
// field to find calls with. Without this the signs are links to the reasons.
'use strict';
(() => {
	const matrix = document.getElementById('matrix');
	const body = matrix.tBodies[0];
	const tip = document.createElement('div');
	const GAP = 8; // pixels between a sign and its reasons
	let shown = null;

	tip.id = 'tip';
	tip.hidden = true;
	document.body.append(tip);

	/* --- reasons ------------------------------------------------------ */

	function element(name, text) {
		const made = document.createElement(name);
		made.textContent = text;
		return made;
	}

	/** One line of a policy: where it holds, who calls and why. */
	function ruleOf(id) {
		const row = document.getElementById(id);
		const file = row.closest('table').caption.textContent;
		const [line, , holds, why] = row.cells;
		const p = document.createElement('p');
		p.append(...[...holds.childNodes].map((n) => n.cloneNode(true)),
			element('br', ''),
			...[...why.childNodes].map((n) => n.cloneNode(true)),
			' ', element('small', `${file}:${line.textContent}`));
		return p;
	}

	function titleOf(link) {
		const cell = link.closest('td');
		const call = cell.parentElement.cells[0].textContent;
		const head = matrix.tHead.rows[0].cells[cell.cellIndex];
		return `${head.querySelector('a').textContent}, ${call}: ` +
			link.getAttribute('aria-label');
	}

	/** Below the sign, or above it where there is no room; on a phone the
	 *  style sheet puts it at the foot of the screen. */
	function place(link) {
		const at = link.getBoundingClientRect();
		const phone = matchMedia('(max-width: 44rem)').matches;
		tip.style.left = tip.style.top = '';
		if (phone)
			return;
		const left = Math.min(at.left,
			document.documentElement.clientWidth - tip.offsetWidth - GAP);
		const below = at.bottom + GAP;
		const fits = below + tip.offsetHeight < innerHeight;
		tip.style.left = `${Math.max(GAP, left)}px`;
		tip.style.top = `${fits ? below :
			Math.max(GAP, at.top - GAP - tip.offsetHeight)}px`;
	}

	function hide() {
		shown?.classList.remove('shown');
		shown = null;
		tip.hidden = true;
	}

	function show(link) {
		if (shown === link)
			return;
		hide();
		shown = link;
		link.classList.add('shown');
		tip.replaceChildren(element('h5', titleOf(link)),
			...link.getAttribute('aria-describedby').split(' ').map(ruleOf));
		tip.hidden = false;
		place(link);
	}

	const linkAt = (event) => event.target.closest?.('#matrix td a');

	addEventListener('pointerover', (event) => {
		if (event.pointerType !== 'mouse' || tip.contains(event.target))
			return;
		const link = linkAt(event);
		if (link)
			show(link);
		else if (!matrix.contains(document.activeElement))
			hide();
	});
	// A tap shows; a mouse has shown already, so that its click follows.
	let pointer = 'mouse';
	addEventListener('pointerdown', (event) => {
		pointer = event.pointerType;
		if (!linkAt(event) && !tip.contains(event.target))
			hide();
	});
	addEventListener('click', (event) => {
		const link = linkAt(event);
		if (!link || event.detail === 0 || pointer === 'mouse')
			return;
		event.preventDefault();
		show(link);
	});
	addEventListener('keydown', (event) => {
		if (event.key === 'Escape')
			hide();
	});
	matrix.addEventListener('focusin', (event) => {
		const link = linkAt(event);
		if (link) {
			enter(link);
			show(link);
		}
	});
	matrix.addEventListener('focusout', hide);
	addEventListener('scroll', () => {
		const at = shown?.getBoundingClientRect();
		if (at && (at.bottom < 0 || at.top > innerHeight))
			hide();
		else if (at)
			place(shown);
	}, {capture: true, passive: true});

	/* --- the keyboard ------------------------------------------------- */

	// One stop for Tab; arrows go from sign to sign.
	let current = null;

	function enter(link) {
		if (current)
			current.tabIndex = -1;
		current = link;
		link.tabIndex = 0;
	}

	const visibleRows = () => [...body.rows].filter((row) => !row.hidden);
	const linkIn = (row, column) => row?.cells[column]?.querySelector('a');

	function first(rows, columns) {
		for (const row of rows)
			for (const column of columns)
				if (linkIn(row, column))
					return linkIn(row, column);
		return null;
	}

	function target(link, event) {
		const cell = link.closest('td');
		const column = cell.cellIndex;
		const rows = visibleRows();
		const at = rows.indexOf(cell.parentElement);
		const columns = [...cell.parentElement.cells].map((_, i) => i);
		const before = columns.slice(0, column).reverse();
		const behind = columns.slice(column + 1);
		const all = event.ctrlKey;

		switch (event.key) {
		case 'ArrowRight':
			return first([rows[at]], behind);
		case 'ArrowLeft':
			return first([rows[at]], before);
		case 'ArrowDown':
			return first(rows.slice(at + 1), [column]) ??
				first(rows.slice(at + 1), columns);
		case 'ArrowUp':
			return first(rows.slice(0, at).reverse(), [column]) ??
				first(rows.slice(0, at).reverse(), columns);
		case 'PageDown':
			return first(rows.slice(at + 10), [column]);
		case 'PageUp':
			return first(rows.slice(0, Math.max(0, at - 9)).reverse(),
				[column]);
		case 'Home':
			return first(all ? rows : [rows[at]], columns);
		case 'End':
			return first(all ? rows.reverse() : [rows[at]],
				columns.reverse());
		default:
			return null;
		}
	}

	matrix.addEventListener('keydown', (event) => {
		const link = linkAt(event);
		const keys = /^(Arrow|Page(Up|Down)$|Home$|End$)/;
		if (!link || !keys.test(event.key))
			return;
		event.preventDefault();
		target(link, event)?.focus();
	});

	matrix.setAttribute('role', 'grid');
	for (const row of matrix.rows)
		row.setAttribute('role', 'row');
	for (const cell of matrix.querySelectorAll('td'))
		cell.setAttribute('role', 'gridcell');
	for (const link of body.querySelectorAll('td a'))
		link.tabIndex = -1;
	enter(first(visibleRows(), [...matrix.rows[0].cells].keys()));

	/* --- finding ------------------------------------------------------ */

	const field = document.getElementById('find');
	const found = document.getElementById('found');

	field.closest('p').hidden = false;
	field.addEventListener('input', () => {
		const text = field.value.trim().toLowerCase();
		for (const row of body.rows)
			row.hidden = !row.cells[0].textContent.includes(text);
		for (const row of document.querySelectorAll('.rules tbody tr'))
			row.hidden = !row.cells[1].textContent.includes(text);
		const rows = visibleRows();
		found.textContent = text === '' ? '' :
			`${rows.length} of ${body.rows.length}`;
		hide();
		const link = first(rows,
			[...matrix.rows[0].cells].keys());
		if (link)
			enter(link);
	});

	// A link to a row that is out of sight shows it.
	addEventListener('hashchange', () => {
		const row = document.getElementById(location.hash.slice(1));
		if (row?.hidden) {
			row.hidden = false;
			row.scrollIntoView();
		}
	});
})();
