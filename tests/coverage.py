#!/usr/bin/env python3
"""Count the lines that tests reach, for script/coverage.

  coverage.py rooms BUILD_DIRECTORY     of each room, by the profiles in
                                        BUILD_DIRECTORY/profiles
  coverage.py missed BUILD_DIRECTORY FILE...
                                        print the lines that they do not reach
  coverage.py targets BUILD_DIRECTORY   of the files that each fuzzing target
                                        names, by the inputs in the tree

The first and the last put their table into docs/fuzzing.md. A line counts if
the compiler has mapped it and the preprocessor does not take it: what a macro
becomes is counted where it is used.
"""
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "fuzzing.md"
ROOMS = ("base", "privsep", "policy", "supervisor", "net", "exec", "http",
         "cli")
# What runs in a child's init, after the clone.
CHILD = re.compile(r"exec/(init|init_streams|child|mount|view(_[a-z]+)?)\.c$")
PROGRAMS = ("sallyport", "net/sallyport-net", "exec/sallyport-exec",
            "http/sallyport-http", "cli/sallyport-tool")
LINE = re.compile(r" *\d+\| *([0-9.]+[kMGTE]?)?\|(.*)$")
WANTED = 80     # per cent, of a target's file
WORST_SHOWN = 3


def merge(profiles, out):
    if not profiles:
        sys.exit("coverage: no program has written a profile")
    subprocess.run(["llvm-profdata", "merge", "-sparse", *profiles, "-o", out],
                   check=True, stderr=subprocess.DEVNULL)
    return out


def show(programs, profile):
    """Per file of the source the lines of llvm-cov."""
    first, *others = programs
    run = subprocess.run(
        ["llvm-cov", "show", first, *(f"-object={at}" for at in others),
         f"-instr-profile={profile}"],
        check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        text=True, errors="replace")
    files, lines = {}, []
    for line in run.stdout.splitlines():
        if line.startswith("/") and line.endswith(":"):
            lines = files.setdefault(
                os.path.relpath(os.path.realpath(line[:-1]), ROOT), [])
        else:
            lines.append(line)
    return files


def executable(lines):
    """(whether it was reached, the line) of each that counts."""
    directive = False
    for line in lines:
        match = LINE.match(line)
        if not match:
            continue
        directive = directive or match[2].lstrip().startswith("#")
        if match[1] and not directive:
            yield match[1] != "0", line
        directive = directive and match[2].rstrip().endswith("\\")


def count(lines):
    """How many lines, and how many of them are reached."""
    hits = [hit for hit, _ in executable(lines)]
    return len(hits), sum(hits)


def put_table(name, head, rows):
    width = head.count("|") - 1
    table = head + "\n" + "|---" * width + "|\n" + "".join(
        "| " + " | ".join(str(cell) for cell in row) + " |\n" for row in rows)
    PAGE.write_text(re.sub(
        rf"(<!-- {name} -->\n).*?(<!-- end -->)",
        lambda match: match[1] + table + match[2], PAGE.read_text(),
        flags=re.S))
    print(table, end="")


def rooms_of_tests(build):
    programs = [build / name for name in PROGRAMS]
    for pattern in ("tests/unit/test_*", "fuzz/fuzz_*", "fuzz/sweep_*"):
        programs += [at for at in sorted(build.glob(pattern))
                     if at.is_file() and os.access(at, os.X_OK)]
    profile = merge(sorted(build.glob("profiles/*.profraw")),
                    build / "tests.profdata")
    return show(programs, profile)


def room_row(room, files):
    total, hit = (sum(n) for n in zip(*files.values()))
    worst = sorted(files, key=lambda name: files[name][1] - files[name][0])
    cells = [f"{os.path.basename(name)} "
             f"({100 * files[name][1] // files[name][0]} %)"
             for name in worst[:WORST_SHOWN] if files[name][1] < files[name][0]]
    return room, len(files), total, f"{100 * hit // total} %", ", ".join(cells)


def rooms(build):
    found = {}
    for name, lines in rooms_of_tests(build).items():
        room = name.split("/")[0]
        total, hit = count(lines)
        if room in ROOMS and name.endswith(".c") and total:
            room += ", in the child" if CHILD.match(name) else ""
            found.setdefault(room, {})[name] = total, hit
    put_table("rooms", "| room | files | lines | reached | most is missed in |",
              [room_row(room, found[room]) for room in
               sorted(found, key=lambda r: (ROOMS.index(r.split(",")[0]), r))])


def missed(build, names):
    files = rooms_of_tests(build)
    for name in names:
        print(f"{name}:")
        for hit, line in executable(files.get(name, [])):
            if not hit:
                print(line)


def replay(exe, name, directory):
    """Returns the merged profile and how many inputs there were."""
    inputs = [ROOT / "fuzz" / kind / name for kind in ("corpus", "regress")]
    inputs = [at for at in inputs if at.is_dir()]
    raw = directory / f"{name}.profraw"
    subprocess.run([exe, *inputs], check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL,
                   env={**os.environ, "LLVM_PROFILE_FILE": str(raw)})
    profile = merge([raw], directory / f"{name}.profdata")
    raw.unlink()
    return profile, sum(1 for at in inputs for _ in at.iterdir())


def target_row(build, name, wanted):
    exe = build / "fuzz" / f"fuzz_{name}"
    profile, inputs = replay(exe, name, build)
    files = show([exe], profile)
    if set(wanted) - set(files):
        sys.exit(f"coverage: {name} does not link "
                 f"{' '.join(set(wanted) - set(files))}")
    counts = {file: count(files[file]) for file in sorted(wanted)}
    total, hit = (sum(n) for n in zip(*counts.values()))
    cells = ", ".join(
        file + (f" ({100 * c // n} %)" if 100 * c // n < WANTED else "")
        for file, (n, c) in counts.items())
    return name, cells, inputs, total, f"{100 * hit // total} %"


def targets(build):
    rows = [line.split() for line in
            (build / "fuzz" / "targets.txt").read_text().splitlines()]
    put_table("coverage", "| target | files | inputs | lines | reached |",
              [target_row(build, row[0], row[3:]) for row in rows])


def main():
    what, build = sys.argv[1], pathlib.Path(sys.argv[2]).resolve()
    if what == "rooms":
        rooms(build)
    elif what == "missed":
        missed(build, sys.argv[3:])
    else:
        targets(build)


main()
