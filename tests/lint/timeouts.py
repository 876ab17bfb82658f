#!/usr/bin/env python3
"""Every test that meson runs says after how long it is ended."""
import re

import lint


def calls(content, name):
    """The arguments of each call of name(...), with the line it starts on."""
    for match in re.finditer(rf"(?<![\w.]){name}\(", content):
        depth, at = 1, match.end()
        while depth and at < len(content):
            depth += {"(": 1, ")": -1}.get(content[at], 0)
            at += 1
        yield content.count("\n", 0, match.start()) + 1, \
            content[match.end():at - 1]


def main():
    problems = []
    for name in lint.files("meson.build"):
        content = re.sub(r"#[^\n]*", "", lint.text(name))
        problems += [f"{name}:{line}" for line, arguments
                     in calls(content, "test")
                     if not re.search(r"\btimeout *:", arguments)]
    lint.report({"every test has a timeout": problems})


main()
