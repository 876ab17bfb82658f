#!/usr/bin/env python3
"""Every #include against layering.txt."""
import re

import lint

# Headers of libraries, as opposed to those of libc and the kernel.
LIBRARIES = ("seccomp.h", "ini.h", "cap-ng.h", "libwebsockets.h", "jansson.h",
             "curl/", "ares.h", "openssl/")


def table():
    rows = {}
    for line in lint.text("tests/lint/layering.txt").splitlines():
        if line.strip() and not line.startswith("#"):
            room, rooms, libraries = (part.split() for part in line.split("|"))
            rows[room[0]] = (rooms, libraries)
    return rows


def problems_of(name, rooms, libraries):
    room = name.split("/")[0]
    for number, line in enumerate(lint.text(name).splitlines(), 1):
        match = re.match(r'\s*#\s*include\s*(["<])([^">]+)', line)
        if not match:
            continue
        at, (kind, header) = f"{name}:{number}", match.groups()
        if kind == "<":
            if header.startswith(LIBRARIES) and header not in libraries:
                yield f"{at}: {room}/ does not link <{header}>"
        elif "/" not in header:
            yield f"{at}: \"{header}\" is not written from the root"
        elif header not in rooms and \
                header.split("/")[0] not in rooms + [room]:
            yield f"{at}: {room}/ may not include \"{header}\""


def main():
    checks = {}
    for room, (rooms, libraries) in table().items():
        names = [name for name in lint.sources()
                 if name.startswith(room + "/")]
        checks[f"{room} includes only what it may"] = [
            problem for name in names
            for problem in problems_of(name, rooms, libraries)]
    checks["every room is in the table"] = [
        f"{room}/ is missing" for room in lint.ROOMS if room not in table()]
    lint.report(checks)


main()
