#!/usr/bin/env python3
"""Every header compiles alone: headers.py COMPILER [ARGUMENT]..."""
import concurrent.futures
import subprocess
import sys

import lint


def compile_alone(name):
    # As an included file, twice: the guard is tested too.
    program = f'#include "{name}"\n#include "{name}"\n'
    run = subprocess.run(
        sys.argv[1:] + ["-fsyntax-only", "-std=gnu17", "-D_GNU_SOURCE",
                        "-Wall", "-Wextra", "-Werror", "-I", str(lint.ROOT),
                        "-x", "c", "-"],
        input=program, capture_output=True, text=True, timeout=60)
    return [] if run.returncode == 0 else run.stderr.splitlines()[:10]


def main():
    names = lint.sources(".h")
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        problems = pool.map(compile_alone, names)
        lint.report({"every header compiles alone": sum(problems, [])})


main()
