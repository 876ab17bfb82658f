#!/usr/bin/env python3
"""docs/seed-checklist.md: each row of the protocol's checklist is there, and
has a test that exists and is named after it. And docs/hosts.md quotes."""
import re

import lint

PAGE = "docs/seed-checklist.md"
PLAIN = (1, 3, 4, 5, 6, 8, 9, *range(12, 23), 24)
ROWS = {str(row) for row in PLAIN} | {
    f"{row}{letter}" for row, letters in (
        (2, "ab"), (7, "abcdefghi"), (10, "abcdefg"), (11, "abcdefgh"),
        (23, "ab"), ("L2", "ab"), ("L4", "ab")) for letter in letters
} | {"L1", "L3"}
# What gives a test its title as the first argument.
TITLE = re.compile(r"""\b(?:test|noted|backend|refused)\(\s*
    ((?:'(?:[^'\\]|\\.)*'|`[^`]*`)(?:\s*\+\s*'(?:[^'\\]|\\.)*')*)""", re.X)


def titles(name):
    """The titles of a file as patterns: what is put in may be anything."""
    for literal in TITLE.findall(lint.text(name)):
        pieces = re.findall(r"'((?:[^'\\]|\\.)*)'|`([^`]*)`", literal)
        text = "".join(a.replace("\\'", "'") + b for a, b in pieces)
        parts = re.split(r"\$\{[^}]*\}", text)
        yield re.compile(".*".join(map(re.escape, parts)), re.S)


def rows():
    """(ids, tests) of each row of the table."""
    for line in lint.text(PAGE).splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("|") and re.match(r"L?\d", cells[0]):
            yield cells[0].split(", "), cells[-1]


def files():
    """What the page calls a file by, and its name."""
    return {short: f"tests/blackbox/{name}" for short, name in re.findall(
        r"\*(\w+)\*\s+`([\w-]+\.test\.mjs)`", lint.text(PAGE))}


def names(row, title, name):
    """Whether a test is called by a row: in its title, or in what its title
    is made of."""
    quoted = rf"['`](?:\w+, )*{row}(?:[:']|, \w+: )"
    return row in title.split(":")[0].split(", ") or \
        re.search(quoted, lint.text(name))


def missing_rows():
    found = [row for ids, _ in rows() for row in ids]
    yield from (f"{row}: not in the table" for row in ROWS - set(found))
    yield from (f"{row}: no such row" for row in set(found) - ROWS)
    yield from (f"{row}: twice" for row in set(found) if found.count(row) > 1)


def missing_tests():
    known = files()
    patterns = {name: list(titles(name)) for name in known.values()}
    for ids, tests in rows():
        if tests.startswith("none: "):
            continue
        mentions = re.findall(r"\*(\w+)\* (.*?)(?=; \*\w+\* |$)", tests)
        for short, title in mentions:
            if not any(p.fullmatch(title) for p in patterns[known[short]]):
                yield f"{ids[0]}: {known[short]} has no test \"{title}\""
        for row in ids:
            if not any(names(row, title, known[short])
                       for short, title in mentions):
                yield f"{row}: no test is named after it"


def other_words():
    """What docs/hosts.md says that a client hears is what the code says."""
    code = re.sub(r'"\s*"', "", "".join(
        lint.text(name) for name in lint.files(".c")
        if name.startswith("net/")))
    return [f"docs/hosts.md: \"{words}\" is not in the code"
            for words in re.findall(r"`(Codex [^`]*)`",
                                    lint.text("docs/hosts.md"))
            if f'"{words}"' not in code]


lint.report({
    "every row is there once": list(missing_rows()),
    "every row has its test": list(missing_tests()),
    "refusals are quoted as they are": other_words(),
})
