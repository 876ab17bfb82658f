"""What the lint tests share: the project's files, and reporting in TAP."""
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
ROOMS = ("base", "privsep", "policy", "supervisor", "net", "exec", "http",
         "cli")
# Bytes in these are data, not text of ours.
DATA = ("tests/data/", "fuzz/corpus/", "fuzz/regress/")


def from_git():
    command = ["git", "-c", "safe.directory=*", "-C", str(ROOT), "ls-files",
               "-z", "--cached", "--others", "--exclude-standard"]
    try:
        run = subprocess.run(command, capture_output=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return [os.fsdecode(name) for name in run.stdout.split(b"\0") if name]


def from_disk():
    names = []
    for at, folders, files in os.walk(ROOT):
        folders[:] = [f for f in folders
                      if f not in (".git", "node_modules", "workspace")
                      and not f.startswith("build")]
        names += [os.path.relpath(os.path.join(at, f), ROOT) for f in files]
    return names


def files(*endings):
    """Our files, relative to the root, with one of these endings (or all)."""
    names = from_git()
    if names is None:
        names = from_disk()
    return sorted(name for name in names
                  if (not endings or name.endswith(endings))
                  and not name.startswith(DATA) and (ROOT / name).is_file())


def sources(*endings):
    """C files of the rooms and of the tests."""
    folders = tuple(f"{room}/" for room in ROOMS + ("tests", "fuzz"))
    return [name for name in files(*(endings or (".c", ".h", ".def")))
            if name.startswith(folders)]


def text(name):
    return (ROOT / name).read_text(encoding="utf-8", errors="replace")


def code(name):
    """C text whose comments and literals are blanked, line by line."""
    pattern = re.compile(
        r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'',
        re.DOTALL)
    return pattern.sub(lambda m: re.sub(r"[^\n]", " ", m.group()), text(name))


def report(checks):
    """Print TAP for {name: [problem, ...]} and exit."""
    print(f"1..{len(checks)}")
    for number, (name, problems) in enumerate(checks.items(), 1):
        print(f"{'not ok' if problems else 'ok'} {number} - {name}")
        for problem in problems:
            print(f"# {problem}")
    sys.exit(0)


def skip(reason):
    print(f"1..0 # SKIP {reason}")
    sys.exit(0)
