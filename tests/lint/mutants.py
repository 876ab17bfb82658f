#!/usr/bin/env python3
"""The faults of tests/mutants can be planted, and what shall notice them is
there."""
import collections
import re
import sys

import lint

sys.dont_write_bytecode = True
sys.path.insert(0, str(lint.ROOT / "tests/mutants"))

import faults  # noqa: E402 (its place is known only now)


def misplaced(fault):
    count = lint.text(fault.file).count(fault.old) \
        if (lint.ROOT / fault.file).is_file() else 0
    return [] if count == 1 and fault.old != fault.new else \
        [f"{fault.name}: its old text is {count} times in {fault.file}"]


def unnoticed(fault, units, targets):
    """Names in a row that are no test's, and rows without any."""
    wrong = [name for name in fault.unit if name not in units]
    wrong += [name for name in fault.blackbox if not
              (lint.ROOT / f"tests/blackbox/{name}.test.mjs").is_file()]
    wrong += [name for name in (fault.fuzz, fault.sweep)
              if name and name not in targets]
    some = fault.unit or fault.blackbox or fault.fuzz or fault.sweep
    return [f"{fault.name}: no test {name}" for name in wrong] + \
        ([] if some else [f"{fault.name}: nothing shall notice it"])


def main():
    names = collections.Counter(fault.name for fault in faults.FAULTS)
    units = re.findall(r"^  \['(\w+)'", lint.text("tests/unit/meson.build"),
                       re.M)
    targets = re.findall(r"^  \['(\w+)'", lint.text("fuzz/meson.build"), re.M)
    lint.report({
        "each fault has a name of its own":
            [name for name, count in names.items() if count > 1],
        "each fault can be planted in one place":
            [line for f in faults.FAULTS for line in misplaced(f)],
        "each fault has tests that shall notice it":
            [line for f in faults.FAULTS
             for line in unnoticed(f, units, targets)],
    })


main()
