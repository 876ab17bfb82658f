#!/usr/bin/env python3
"""The documents: generated pages are fresh, links lead somewhere, and what the
manual says of limits and options is what the source says."""
import re
import subprocess
import sys

import lint


def stale():
    run = subprocess.run(
        [sys.executable, "-B", str(lint.ROOT / "docs/generate.py"), "--check"],
        capture_output=True, text=True, timeout=300)
    found = run.stdout.split()
    return [f"{name}: run docs/generate.py" for name in found] + \
        run.stderr.splitlines()[-3:]


def missing_files():
    """Paths in backquotes in our pages that look like ours and are not."""
    tops = {name.split("/")[0] for name in lint.files()}
    # A method of the protocol may look like a file of the room http.
    methods = set(re.findall(r'METHOD\(\w+, "([^"]+)"',
                             lint.text("net/methods.def")))
    for page in lint.files(".md"):
        for path in re.findall(r"`([\w.]+/[\w./-]*\w)`", lint.text(page)):
            if path.split("/")[0] in tops and path not in methods and \
                    not (lint.ROOT / path).exists():
                yield f"{page}: {path} does not exist"


def unknown_keys():
    """Keys of the configuration in one of code and manual alone."""
    code = set(re.findall(r'\.section = "(\w+)",\s*\.key = "(\w+)"|'
                          r'\{\s*"(\w+)", "(\w+)", KIND_', lint.text(
                              "supervisor/config_rows.c")))
    code = {(a or c, b or d) for a, b, c, d in code}
    manual, section = set(), None
    for line in lint.text("docs/sallyport.conf.5.scd").splitlines():
        heading = re.match(r"# \[(\w+)\]", line)
        key = re.match(r"\*(\w+)\* = ", line)
        if line.startswith("# "):
            section = heading and heading.group(1)
        elif key and section and section != "limits":
            manual.add((section, key.group(1)))
    return [f"{'.'.join(key)}: not in the manual" for key in code - manual] + \
        [f"{'.'.join(key)}: not in the code" for key in manual - code]


def unknown_options():
    """Long options of a command that the manual does not name."""
    manual = lint.text("docs/sallyport.1.scd")
    for name in lint.sources(".c"):
        if not re.search(r"/command_\w+\.c$", name) or \
                name.startswith("tests/"):
            continue
        for option in re.findall(
                r'\{"([a-z-]+)", (?:required|no)_argument', lint.text(name)):
            if not re.search(rf"--{option}\b", manual):
                yield f"{name}: --{option} is not in docs/sallyport.1.scd"


def main():
    lint.report({
        "generated pages are fresh": stale(),
        "paths in pages exist": list(missing_files()),
        "manual and code have the same keys": unknown_keys(),
        "the manual has every option": list(unknown_options()),
    })


main()
