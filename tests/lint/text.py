#!/usr/bin/env python3
"""Rules about the text of our files."""
import re

import lint

LINES_MAX = 600
MAIN_LINES_MAX = 79
# Put together here, so that this file does not break its own rules.
ELSEWHERE = re.compile("|".join((
    "/wo" + "rk/", "/tmp/la" + "b", "/ho" + r"me/(?!agent\b)[a-z]+/",
    "registry[.]np" + "mjs", "registry[.]ya" + "rnpkg", "pypi[.]o" + "rg",
    "deb[.]deb" + "ian[.]org", "deb[.]node" + "source")))
UNFINISHED = re.compile(r"\b(TO" + r"DO|FIX" + r"ME|XX" + r"X)\b")
FORBIDDEN = re.compile(
    r"\b(strcpy|strcat|sprintf|vsprintf|gets|alloca|system|popen|atoi|atol"
    r"|atoll|atof|strtol|strtoul|strtoll|strtoull|strtod|rand|srand|tmpnam"
    r"|mktemp|strtok)\s*\(")
INDENTED_BY_TABS = (".c", ".h", ".def")


def grep(pattern, names, read=lint.text):
    return [f"{name}:{number}: {line.strip()[:100]}"
            for name in names
            for number, line in enumerate(read(name).splitlines(), 1)
            if pattern.search(line)]


def lengths():
    for name in lint.files(".c", ".h", ".def", ".py", ".mjs"):
        lines = lint.text(name).count("\n")
        limit = MAIN_LINES_MAX if name.endswith("/main.c") else LINES_MAX
        if lines > limit:
            yield f"{name}: {lines} lines, at most {limit}"


def blanks(names):
    for name in names:
        content = lint.text(name)
        if content and not content.endswith("\n"):
            yield f"{name}: no newline at the end"
        if re.search(r"[ \t]+$", content, re.M):
            yield f"{name}: blanks at the end of a line"
        if "\r" in content:
            yield f"{name}: carriage return"


def guards():
    for name in lint.sources(".h"):
        macro = re.sub(r"[/.]", "_", name).upper()
        if f"#ifndef {macro}\n#define {macro}\n" not in lint.text(name):
            yield f"{name}: guard is not {macro}"


def early_returns():
    """A scoped_buf is freed by every return, so none may precede its init.

    Builds that zero variables hide it; one with sanitizers frees garbage.
    """
    leaving = re.compile(r"\b(return|goto|break|continue)\b|^\}")
    for name in lint.sources(".c"):
        lines = lint.code(name).splitlines()
        for number, line in enumerate(lines):
            declared = re.match(r"\s+scoped_buf ([\w, ]+);", line)
            for buf in re.findall(r"\w+", declared[1]) if declared else ():
                used = re.compile(rf"&{buf}\b")
                first = next(later for later in lines[number + 1:]
                             if used.search(later) or leaving.search(later))
                if not used.search(first):
                    yield f"{name}:{number + 1}: {buf} may not be initialised"


def left_out():
    """A file of tests that its suite does not name is never run."""
    for suite, test in (("unit", r"test_(\w+)\.c"),
                        ("sandbox", r"test_(\w+)\.c"),
                        ("blackbox", r"([\w-]+)\.test\.mjs"),
                        ("client", r"([\w-]+)\.test\.mjs")):
        named = re.findall(r"'([\w-]+)'",
                           lint.text(f"tests/{suite}/meson.build"))
        for name in lint.files(".c", ".mjs"):
            subject = re.fullmatch(f"tests/{suite}/{test}", name)
            if subject and subject[1] not in named:
                yield f"{name}: not in tests/{suite}/meson.build"


def main():
    names = [name for name in lint.files()
             if name not in ("LICENSE", "tests/lint/text.py")]
    lint.report({
        "files are short": list(lengths()),
        "nothing names a machine or a registry": grep(ELSEWHERE, names),
        "nothing is left for later": grep(UNFINISHED, names),
        # Tests fill arrays of their own and call the shell; they may.
        "C does without unbounded and unchecked functions": grep(
            FORBIDDEN, [name for name in lint.sources()
                        if not name.startswith(("tests/", "fuzz/"))],
            lint.code),
        "lines end clean": list(blanks(
            [name for name in names if not name.endswith(".patch")])),
        "C is 80 columns wide": [
            f"{name}:{number}" for name in lint.sources(".c", ".h")
            for number, line in enumerate(lint.text(name).splitlines(), 1)
            if len(line.expandtabs(8)) > 80],
        "header guards carry the path": list(guards()),
        "every file of tests is run": list(left_out()),
        "buffers are initialised before a return": list(early_returns()),
    })


main()
