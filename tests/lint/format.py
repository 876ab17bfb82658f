#!/usr/bin/env python3
"""C is formatted as .clang-format says.

Versions of clang-format differ in details, so only the one that the style was
written for judges.
"""
import re
import shutil
import subprocess

import lint

MAJOR = 14


def find():
    for name in (f"clang-format-{MAJOR}", "clang-format"):
        path = shutil.which(name)
        if path:
            run = subprocess.run([path, "--version"], capture_output=True,
                                 text=True)
            if re.search(rf"version {MAJOR}\.", run.stdout):
                return path
    return None


def main():
    tool = find()
    if tool is None:
        lint.skip(f"clang-format {MAJOR} is not installed")
    run = subprocess.run(
        [tool, "--dry-run", "--Werror", *lint.sources(".c", ".h")],
        cwd=lint.ROOT, capture_output=True, text=True, timeout=500)
    first = {}
    for name, line in re.findall(r"^(\S+?):(\d+):\d+: error", run.stderr,
                                 re.M):
        first.setdefault(name, line)
    wrong = [f"{name}:{line} and on" for name, line in first.items()]
    if run.returncode != 0 and not wrong:
        wrong = run.stderr.splitlines()[:5]
    lint.report({"every file is as clang-format would write it": wrong})


main()
