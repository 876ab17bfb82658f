#!/usr/bin/env python3
"""What the linker made, read back: binaries.py BUILD_DIRECTORY

Hardening of every executable, and that each links just what its room may:
no JSON and no WebSocket code in a process that has rights.
"""
import pathlib
import re
import subprocess
import sys

import lint

# Where meson leaves it, and the libraries it may name besides libc.
BINARIES = {
    "sallyport": ("inih", "seccomp", "cap-ng"),
    # The WebSocket library brings libcrypto into the process in any case.
    "sallyport-net": ("websockets", "jansson", "crypto"),
    "sallyport-exec": ("seccomp", "cap-ng"),
    "sallyport-tool": ("websockets", "jansson"),
    "sallyport-http": ("curl", "cares"),
}
# Runs where nothing else of ours is: no library at all.
STATIC = "sallyport-worker"
LIBC = ("c", "ld-linux-x86-64", "ld-linux-aarch64")


def readelf(path, *options):
    return subprocess.run(["readelf", "-W", *options, str(path)], check=True,
                          capture_output=True, text=True).stdout


def hardening(path, table="--dyn-syms"):
    header = readelf(path, "-h")
    segments = readelf(path, "-l")
    dynamic = readelf(path, "-d")
    symbols = readelf(path, table)
    stack = re.search(r"GNU_STACK.*", segments)
    loads = re.findall(r"^ +LOAD +(?:0x\S+ +){5}([RWE ]{3})", segments, re.M)
    return {
        "is position independent":
            re.search(r"Type: +DYN", header) and
            re.search(r"FLAGS_1.*\bPIE\b", dynamic),
        "has full RELRO": "GNU_RELRO" in segments and
            re.search(r"\bBIND_NOW\b|FLAGS_1.*\bNOW\b", dynamic),
        "has no executable stack": stack and "E" not in stack.group().split()[-2],
        "has no segment both writable and executable":
            loads and not any("W" in f and "E" in f for f in loads),
        "has no text relocation": "TEXTREL" not in dynamic,
        "has no library path of its own":
            "RPATH" not in dynamic and "RUNPATH" not in dynamic,
        "has stack protectors": "__stack_chk_fail" in symbols,
        "has fortified calls": re.search(r"__\w+_chk\b", symbols.replace(
            "__stack_chk_fail", "")),
    }


def needed(path):
    return re.findall(r"NEEDED.*\[(?:lib)?(.+?)(?:-[\d.]+)?\.so[^\]]*\]",
                      readelf(path, "-d"))


def main():
    build = pathlib.Path(sys.argv[1])
    checks = {}
    for name, libraries in BINARIES.items():
        found = [p for p in (build / name, *build.glob(f"*/{name}"))
                 if p.is_file()]
        if not found:
            checks[f"{name} is built"] = ["not found"]
            continue
        for rule, holds in hardening(found[0]).items():
            checks[f"{name} {rule}"] = [] if holds else [str(found[0])]
        checks[f"{name} links what its room may"] = [
            f"links {library}" for library in needed(found[0])
            if library not in libraries + LIBC]
    path = build / "exec" / STATIC
    for rule, holds in hardening(path, "--syms").items():
        checks[f"{STATIC} {rule}"] = [] if holds else [str(path)]
    checks[f"{STATIC} is static"] = [
        f"links {library}" for library in needed(path)]
    lint.report(checks)


main()
