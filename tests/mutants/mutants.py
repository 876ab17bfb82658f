#!/usr/bin/env python3
"""Whether our tests notice small faults: docs/fuzzing.md.

    mutants.py [--only NAME]... [--first] [--seconds S] DIRECTORY

Plants each fault of faults.py in a copy of the tree, alone, builds what shall
notice it and runs that: tests, for 90 seconds at most, then the fuzzer. The
copy and its build are in DIRECTORY, which is made and kept for the next time.
First all of that is run without a fault, so that a failure says something; on
a machine where that is slow there is more time for what comes then.

    --only NAME  this fault; may be given again
    --first      stop at the first that notices a fault
    --seconds S  how long a fuzzer runs, 30 if not given

Prints a line for each fault. The status is 0 if all were noticed.
"""
import argparse
import dataclasses
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

from faults import FAULTS

ROOT = pathlib.Path(__file__).resolve().parents[2]
TESTS_SECONDS = 90
# What a step may take, by what it took without a fault.
SLOWER = 3
WITHOUT_FAULT_SECONDS = 600
BUILD_SECONDS = 3600
SANITIZERS = {
    "ASAN_OPTIONS": "abort_on_error=1:quarantine_size_mb=32",
    "UBSAN_OPTIONS": "halt_on_error=1:abort_on_error=1:print_stacktrace=1",
}
# What a failure says of itself, the most telling first.
SIGNS = (
    r"(not ok \d+ - [^\n]*)", r"^(FAIL  [^\n]*)",
    r"ERROR: (AddressSanitizer: [\w-]+)", r"(runtime error: [^\n]*)",
    r"(Assertion `[^\n]*' failed)", r"ERROR: (LeakSanitizer: [^\n]*)",
    r"ERROR: (libFuzzer: [^\n]*)", r"(TIMEOUT)",
)


@dataclasses.dataclass
class Run:
    """What became of a command."""
    status: int  # that of the process; None: it did not end in time
    output: str

    def sign(self):
        if self.status is None:
            return "did not end"
        for sign in SIGNS:
            found = re.search(sign, self.output, re.M)
            if found:
                return found.group(1).strip()
        return f"status {self.status}"


class Failure(Exception):
    """Something that is no fault's doing."""


def run(command, seconds, **more):
    process = subprocess.Popen(
        [str(word) for word in command], stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, text=True,
        errors="replace", start_new_session=True, **more)
    try:
        output, _ = process.communicate(timeout=seconds)
        return Run(process.returncode, output)
    except subprocess.TimeoutExpired:
        return Run(None, end(process))


def end(process):
    """Asked first, as meson then ends what it has started."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        os.killpg(process.pid, number)
        try:
            return process.communicate(timeout=20)[0]
        except subprocess.TimeoutExpired:
            pass
    return ""


class Scratch:
    """A copy of the tree, and its build with sanitizers and fuzzers."""

    def __init__(self, directory):
        self.tree = directory / "tree"
        self.build = directory / "build"
        self.finds = directory / "finds"

    def copy(self):
        """What git knows of or would take; only what differs is written, so
        that only that is built again."""
        names = subprocess.run(
            ["git", "-c", "safe.directory=*", "-C", ROOT, "ls-files", "-z",
             "--cached", "--others", "--exclude-standard"],
            check=True, capture_output=True).stdout.split(b"\0")
        names = {os.fsdecode(name) for name in names if name}
        names = {name for name in names if (ROOT / name).is_file()}
        for at in list(self.tree.rglob("*")):
            if at.is_file() and not at.is_symlink() and \
                    str(at.relative_to(self.tree)) not in names:
                at.unlink()
        for name in names:
            self.copy_file(ROOT / name, self.tree / name)
        packages = "tests/blackbox/node_modules"
        if (ROOT / packages).exists() and not (self.tree / packages).exists():
            (self.tree / packages).symlink_to((ROOT / packages).resolve())

    @staticmethod
    def copy_file(source, to):
        if to.exists() and to.read_bytes() == source.read_bytes():
            return
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, to)
        shutil.copymode(source, to)

    def setup(self):
        if (self.build / "build.ninja").exists():
            return
        compiler = "ccache clang" if shutil.which("ccache") else "clang"
        done = run(["meson", "setup", "--buildtype", "debugoptimized",
                    "-Db_sanitize=address,undefined", "-Db_lundef=false",
                    "-Dfuzz=true", self.build, self.tree], BUILD_SECONDS,
                   env={**os.environ, "CC": compiler})
        if done.status != 0:
            raise Failure("meson setup failed:\n" + done.output[-2000:])

    def make(self, targets):
        done = run(["ninja", "-C", self.build, "-j2", *sorted(targets)],
                   BUILD_SECONDS)
        if done.status != 0:
            raise Failure("it does not build:\n" + done.output[-2000:])

    def test(self, suite, names, seconds):
        return run(["meson", "test", "-C", self.build, "--no-rebuild",
                    "--num-processes", "2", "--print-errorlogs",
                    "--suite", suite, *names], seconds)

    def fuzz(self, name, options, seconds):
        rows = (self.build / "fuzz/targets.txt").read_text().splitlines()
        row = next(r.split() for r in rows if r.split()[0] == name)
        finds = self.finds / name
        shutil.rmtree(finds, ignore_errors=True)
        finds.mkdir(parents=True)
        inputs = [self.tree / "fuzz" / kind / name
                  for kind in ("corpus", "regress")]
        words = [w for w in (self.build / f"fuzz/{row[2]}.dict",
                             self.tree / f"fuzz/dict/{row[2]}.dict")
                 if w.exists()]
        return run([self.build / f"fuzz/fuzz_{name}", f"-max_len={row[1]}",
                    "-timeout=10", "-rss_limit_mb=512", "-seed=1",
                    f"-artifact_prefix={self.finds}/{name}-",
                    *(f"-dict={w}" for w in words[:1]), *options, finds,
                    *(i for i in inputs if i.is_dir())],
                   seconds, env={**os.environ, **SANITIZERS})


def steps_of(scratch, fault, options):
    """[what it is called, what is built for it, how it is run in so many
    seconds]. The options are those of the fuzzer."""
    steps = []
    if fault.unit:
        steps.append((f"unit {' '.join(fault.unit)}",
                      {f"tests/unit/test_{name}" for name in fault.unit},
                      lambda s: scratch.test("unit", fault.unit, s)))
    if fault.sweep:
        name = f"sweep {fault.sweep}"
        steps.append((name, {f"fuzz/sweep_{fault.sweep}"},
                      lambda s: scratch.test("fuzz", [name], s)))
    if fault.fuzz:
        steps.append((f"fuzz {fault.fuzz}",
                      {f"fuzz/fuzz_{fault.fuzz}"} | dictionary(fault.fuzz),
                      lambda s: scratch.fuzz(fault.fuzz, options, s)))
    if fault.blackbox:
        steps.append((f"blackbox {' '.join(fault.blackbox)}", {"all"},
                      lambda s: scratch.test("blackbox", fault.blackbox, s)))
    return steps


def dictionary(name):
    return {f"fuzz/{name}.dict"} if name in ("config", "msg", "rpc") else set()


def run_without_fault(scratch, faults):
    """Every step once on the tree as it is; fuzzers only read what is in the
    tree. Returns the seconds that each took."""
    steps = {}
    for fault in faults:
        for name, built, go in steps_of(scratch, fault, ["-runs=0"]):
            steps.setdefault(name, (built, go))
    scratch.make(set().union(*(built for built, _ in steps.values())))
    took = {}
    for name, (_, go) in steps.items():
        began = time.monotonic()
        result = go(WITHOUT_FAULT_SECONDS)
        took[name] = time.monotonic() - began
        if result.status != 0:
            raise Failure(f"{name} fails without a fault: {result.sign()}\n"
                          + result.output[-2000:])
        print(f"as it is  {name}: {took[name]:.0f} s", flush=True)
    return took


def judge(scratch, fault, given, took):
    """What noticed fault: [(step, sign)], and the seconds that took."""
    path = scratch.tree / fault.file
    text = path.read_text(encoding="utf-8")
    if text.count(fault.old) != 1:
        raise Failure(f"{fault.name}: its old text is in {fault.file} "
                      f"{text.count(fault.old)} times")
    began = time.monotonic()
    noticed = []
    path.write_text(text.replace(fault.old, fault.new), encoding="utf-8")
    try:
        options = [f"-max_total_time={given.seconds}"]
        for name, built, go in steps_of(scratch, fault, options):
            if given.first and noticed:
                break
            scratch.make(built)
            result = go(max(TESTS_SECONDS, SLOWER * took[name]))
            if result.status != 0:
                noticed.append((name, result.sign()))
    finally:
        path.write_text(text, encoding="utf-8")
    return noticed, time.monotonic() - began


def arguments():
    parser = argparse.ArgumentParser(
        description="Whether our tests notice small faults.")
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--first", action="store_true")
    parser.add_argument("--seconds", type=int, default=30)
    parser.add_argument("directory", type=pathlib.Path)
    given = parser.parse_args()
    unknown = set(given.only) - {fault.name for fault in FAULTS}
    if unknown:
        parser.error(f"no such fault: {' '.join(sorted(unknown))}")
    return given


def main():
    given = arguments()
    faults = [f for f in FAULTS if not given.only or f.name in given.only]
    scratch = Scratch(given.directory.resolve())
    scratch.copy()
    scratch.setup()
    took = run_without_fault(scratch, faults)
    survivors = []
    for fault in faults:
        noticed, seconds = judge(scratch, fault, given, took)
        if not noticed:
            survivors.append(fault.name)
        print(f"{'found   ' if noticed else 'SURVIVED'}  {fault.name} "
              f"({fault.file}, {seconds:.0f} s): " +
              "; ".join(f"{step}: {sign}" for step, sign in noticed),
              flush=True)
    print(f"{len(faults) - len(survivors)} found, {len(survivors)} survived")
    return 1 if survivors else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Failure as failure:
        sys.exit(f"mutants: {failure}")
