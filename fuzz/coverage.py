#!/usr/bin/env python3
"""Make the table in docs/fuzzing.md: coverage.py BUILD_DIRECTORY

Replays the inputs of each target in a build with coverage mapping (clang) and
counts the lines of the files that the target names. Prints the table too.
"""
import json
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "fuzzing.md"
HEAD = "| target | files | inputs | lines | reached |\n|---|---|---|---|---|\n"


def replay(exe, name, directory):
    """Returns the merged profile and how many inputs there were."""
    inputs = [ROOT / "fuzz" / kind / name for kind in ("corpus", "regress")]
    inputs = [at for at in inputs if at.is_dir()]
    raw = directory / f"{name}.profraw"
    subprocess.run([exe, *inputs], check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL,
                   env={**os.environ, "LLVM_PROFILE_FILE": str(raw)})
    profile = directory / f"{name}.profdata"
    subprocess.run(["llvm-profdata", "merge", "-sparse", raw, "-o", profile],
                   check=True)
    raw.unlink()
    return profile, sum(1 for at in inputs for _ in at.iterdir())


def lines_of(exe, profile, files):
    """Per file (lines, lines reached)."""
    run = subprocess.run(
        ["llvm-cov", "export", "--summary-only", exe,
         f"-instr-profile={profile}"],
        check=True, capture_output=True, text=True)
    for row in json.loads(run.stdout)["data"][0]["files"]:
        # The compiler saw it relative to the build.
        name = os.path.relpath(os.path.realpath(row["filename"]), ROOT)
        lines = row["summary"]["lines"]
        if name in files:
            yield name, lines["count"], lines["covered"]


def row_of(build, name, files):
    exe = build / "fuzz" / f"fuzz_{name}"
    profile, inputs = replay(exe, name, build)
    lines = list(lines_of(exe, profile, files))
    missing = set(files) - {file for file, _, _ in lines}
    if missing:
        sys.exit(f"coverage: {name} does not link {' '.join(missing)}")
    count, covered = sum(r[1] for r in lines), sum(r[2] for r in lines)
    cells = ", ".join(
        file + (f" ({100 * c // n} %)" if 100 * c // n < 80 else "")
        for file, n, c in lines)
    return (f"| {name} | {cells} | {inputs} | {count} "
            f"| {100 * covered // count} % |\n")


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    rows = [line.split() for line in
            (build / "fuzz" / "targets.txt").read_text().splitlines()]
    table = HEAD + "".join(row_of(build, row[0], row[3:]) for row in rows)
    text = re.sub(r"(<!-- coverage -->\n).*?(<!-- end -->)",
                  lambda match: match[1] + table + match[2],
                  PAGE.read_text(), flags=re.S)
    PAGE.write_text(text)
    print(table, end="")


main()
