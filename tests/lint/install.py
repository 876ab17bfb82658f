#!/usr/bin/env python3
"""What is installed, and where: install.py BUILD_DIRECTORY MESON..."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import lint

WANTED = ["bin/sallyport", "etc/sallyport/sallyport.conf",
          "libexec/sallyport/sallyport-exec",
          "libexec/sallyport/sallyport-http",
          "libexec/sallyport/sallyport-net",
          "libexec/sallyport/sallyport-tool",
          "libexec/sallyport/sallyport-worker"]
# Built where its libraries are there.
OPTIONAL = "http/sallyport-http"


def pages():
    """Manual pages: docs/NAME.SECTION.scd."""
    for name in lint.files(".scd"):
        page = pathlib.Path(name).stem
        yield f"share/man/man{page[-1]}/{page}"


def installed(build, meson, folder):
    environment = {**os.environ, "DESTDIR": folder}
    subprocess.run([*meson, "install", "-C", build, "--no-rebuild",
                    "--quiet"], check=True, env=environment, timeout=300,
                   stdout=subprocess.DEVNULL)
    return {str(path.relative_to(folder)): path.stat().st_mode & 0o7777
            for path in pathlib.Path(folder).rglob("*") if path.is_file()}


def main():
    build, *meson = sys.argv[1:]
    wanted = WANTED + (list(pages()) if shutil.which("scdoc") else [])
    if (pathlib.Path(build) / OPTIONAL).exists():
        wanted.append("libexec/sallyport/sallyport-http")
    with tempfile.TemporaryDirectory() as folder:
        modes = installed(build, meson, folder)
    # A prefix stands in front of each.
    lint.report({
        "DESTDIR gets what is wanted and no more": [
            f"missing: {name}" for name in wanted
            if not any(f"/{got}".endswith(f"/{name}") for got in modes)] + [
            f"unexpected: {got}" for got in modes
            if not any(f"/{got}".endswith(f"/{name}") for name in wanted)],
        "nothing installed is setuid or writable by others": [
            f"{name}: {mode:o}" for name, mode in modes.items()
            if mode & 0o6022],
    })


main()
