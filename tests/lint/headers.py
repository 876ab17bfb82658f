#!/usr/bin/env python3
"""Every header compiles alone: headers.py COMPILER [ARGUMENT]...

That of one which a source file includes before anything else is shown by the
build of that file. The others are compiled here.
"""
import concurrent.futures
import re
import subprocess
import sys

import lint

FIRST = re.compile(r'^[ \t]*#[ \t]*include[ \t]+(\S+)', re.M)
GUARD = re.compile(r"\A(?:\s|/\*.*?\*/)*#ifndef (\w+)\n#define (\w+)\n.*"
                   r"\n#endif\s*\Z", re.S)


def first_of(source):
    match = FIRST.search(lint.text(source))
    return match.group(1).strip('"') if match else None


def compile_alone(name):
    run = subprocess.run(
        sys.argv[1:] + ["-fsyntax-only", "-std=gnu17", "-D_GNU_SOURCE",
                        "-Wall", "-Wextra", "-Werror", "-I", str(lint.ROOT),
                        "-x", "c", "-"],
        input=f'#include "{name}"\n', capture_output=True, text=True,
        timeout=300)
    return [] if run.returncode == 0 else run.stderr.splitlines()[:10]


def is_guarded(name):
    match = GUARD.match(lint.text(name))
    return match is not None and match.group(1) == match.group(2)


def main():
    names = lint.sources(".h")
    shown = {first_of(source) for source in lint.sources(".c")}
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        problems = pool.map(compile_alone,
                            [name for name in names if name not in shown])
        lint.report({
            "every header compiles alone": sum(problems, []),
            "every header may be included twice":
                [name for name in names if not is_guarded(name)],
        })


main()
