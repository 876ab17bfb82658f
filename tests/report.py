#!/usr/bin/env python3
"""Sum up test runs: report.py [--broken NAME]... BUILD_DIRECTORY...

Reads meson-logs/testlog.json of each directory, counts single tests where the
program printed TAP or our own form (lines "ok NAME", "FAIL NAME" and "skip
NAME: REASON", at the end "N passed, N failed"), lists failures with their
output and skips with their reason, and ends with the line "N passed, N
failed". The status is 0 if something passed and nothing failed.
"""
import argparse
import json
import pathlib
import re
import sys

RESULT = re.compile(r"^( *)(not ok|ok)\b *\d* *-? *(.*?)"
                    r"(?: *# *(SKIP)\S* *(.*))?$", re.IGNORECASE)
OWN_RESULT = re.compile(r"^(ok|FAIL|skip) +(.*)$")
OWN_END = re.compile(r"^\d+ passed, \d+ failed\s*\Z", re.MULTILINE)
OUTPUT_LINES = 60


class Tally:
    def __init__(self):
        self.passed = 0
        self.failed = []
        self.skipped = []

    def count(self, name, ok, skip_reason):
        if skip_reason is not None:
            self.skipped.append(f"{name}: {skip_reason or 'no reason given'}")
        elif ok:
            self.passed += 1
        else:
            self.failed.append(name)


def leaves(text):
    """The single results of TAP text: a test with subtests is not counted,
    unless it failed though none of them did."""
    depth, child_failed, note = -1, False, ""
    for line in text.splitlines():
        match = RESULT.match(line)
        if not match:
            note = line[8:] if line.startswith("# skip: ") else note
            continue
        indent, verdict, name, directive, reason = match.groups()
        skipped = directive is not None
        ok = verdict.lower() == "ok" or skipped
        if skipped and not name:
            # cmocka: "not ok 1 # SKIP name", and before it unit.h's reason.
            name, reason, note = reason, note, ""
        is_parent = len(indent) < depth
        depth = len(indent)
        if is_parent and (ok or child_failed):
            child_failed = child_failed and depth > 0
            continue
        child_failed = child_failed or not ok
        if depth == 0:
            child_failed = False
        yield name, ok, (reason or "") if skipped else None


def own_results(text):
    for line in text.splitlines():
        match = OWN_RESULT.match(line)
        if match:
            verdict, name = match.groups()
            name, _, reason = name.partition(": ") if verdict == "skip" \
                else (name, "", None)
            yield name, verdict == "ok", reason


def results_of(text):
    if re.search(r"^1\.\.\d", text, re.MULTILINE):
        return list(leaves(text))
    return list(own_results(text)) if OWN_END.search(text) else []


def tail(test):
    """The end of what it printed, without what passed."""
    text = (test.get("stdout") or "") + (test.get("stderr") or "")
    lines = [line for line in text.splitlines()
             if not re.match(r" *ok\b", line)]
    return lines[-OUTPUT_LINES:]


def count_test(tally, where, test):
    """Count one program. Returns whether anything in it failed."""
    # meson puts "project:suite / " in front.
    name = f"{where} {test['name'].split(' / ')[-1]}"
    text = test.get("stdout") or ""
    before = len(tally.failed)
    results = results_of(text)
    for leaf, ok, skip in results:
        tally.count(f"{name}: {leaf}", ok, skip)
    if test["result"] == "SKIP" and not results:
        lines = [line for line in tail(test)
                 if line and not OWN_END.match(line)]
        reason = re.sub(r"^1\.\.0 # SKIP ", "", lines[-1]) if lines else ""
        tally.count(name, True, reason)
    elif test["result"] in ("OK", "EXPECTEDFAIL"):
        if not results:
            tally.count(name, True, None)
    elif test["result"] != "SKIP" and len(tally.failed) == before:
        tally.count(f"{name} ({test['result'].lower()})", False, None)
    return len(tally.failed) > before


def count_directory(tally, directory):
    log = pathlib.Path(directory) / "meson-logs" / "testlog.json"
    if not log.is_file():
        return
    for line in log.read_text(errors="replace").splitlines():
        test = json.loads(line)
        if count_test(tally, pathlib.Path(directory).name, test):
            print(f"--- {directory} {test['name']}")
            print("\n".join(tail(test)))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--broken", action="append", default=[])
    parser.add_argument("directories", nargs="*")
    options = parser.parse_args()
    tally = Tally()
    for name in options.broken:
        tally.count(name, False, None)
    for directory in options.directories:
        count_directory(tally, directory)
    for line in tally.skipped:
        print(f"skipped: {line}")
    for line in tally.failed:
        print(f"failed: {line}")
    print(f"{tally.passed} passed, {len(tally.failed)} failed")
    return 0 if tally.passed and not tally.failed else 1


if __name__ == "__main__":
    sys.exit(main())
