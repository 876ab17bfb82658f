#!/usr/bin/env python3
"""Write the pages that come from tables in the source.

    docs/generate.py            write them
    docs/generate.py --check    list those that are stale; status 1 if any

From base/limits.def: the section between the two marks in
docs/sallyport.conf.5.scd, and [limits] of policy/sallyport.conf. From net/methods.def: docs/protocol.md. (The page of
system calls, docs/syscalls.md, is written by policy-compile.)
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]


def read(name):
    return (ROOT / name).read_text(encoding="utf-8")


def without_comments(text):
    return re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)


def rows(text, names):
    """Macro calls NAME(...) at the top level of text: (name, arguments)."""
    start = re.compile(rf"\b({'|'.join(names)})\(")
    at = 0
    while match := start.search(text, at):
        depth, quoted, end = 1, False, match.end()
        arguments = [""]
        while depth:
            c = text[end]
            quoted ^= c == '"'
            depth += 0 if quoted else {"(": 1, ")": -1}.get(c, 0)
            if c == "," and depth == 1 and not quoted:
                arguments.append("")
            elif depth:
                arguments[-1] += c
            end += 1
        yield match.group(1), [a.strip() for a in arguments]
        at = end


def string(argument):
    return "".join(re.findall(r'"([^"]*)"', argument))


def in_unit(value, unit):
    value = int(value)
    steps = {"MS": ((3600000, "h"), (60000, "m"), (1000, "s"), (1, "ms")),
             "BYTES": ((1 << 40, "T"), (1 << 30, "G"), (1 << 20, "M"),
                       (1 << 10, "K")),
             "COUNT": ()}[unit]
    for size, name in steps:
        if value and value % size == 0:
            return f"{value // size}{name}"
    return str(value)


def sentence(text):
    return text[:1].upper() + text[1:] + "."


def limits():
    out = []
    for _, row in rows(without_comments(read("base/limits.def")), ["LIMIT"]):
        key, default, low, high, unit, reason = row
        low, high = in_unit(low, unit), in_unit(high, unit)
        out.append(f"*{key}* = {in_unit(default, unit)}\n"
                   f"\t{sentence(string(reason))} From {low} to {high}.\n")
    return "\n".join(out)


KINDS = {"STRING": "string", "BOOL": "boolean",
         "TRUE_BOOL": "boolean, default true", "UINT": "integer",
         "BASE64": "base64",
         "LIST": "array of strings", "MAP": "object of strings",
         "OBJECT": "object", "ARRAY": "array"}
BOUNDS = {"STRING": "{} bytes", "UINT": "0 to {}", "BASE64": "{} characters",
          "LIST": "{} items", "MAP": "{} members"}
NEEDS = {"REQUIRED": "yes", "STRICT": "codex only", "OPTIONAL": "no",
         "NOT_NULL": "no"}


def parameters(text):
    table = list(rows(text, KINDS))
    if not table:
        return "No parameters.\n"
    out = "| parameter | type | needed | bound | |\n|---|---|---|---|---|\n"
    for kind, (_, wire, need, most, text_) in table:
        out += (f"| {string(wire)} | {KINDS[kind]} | {NEEDS[need]} "
                f"| {BOUNDS.get(kind, '–').format(most)} "
                f"| {string(text_)} |\n")
    return out


def protocol():
    out = "<!-- Written by docs/generate.py; change net/methods.def. -->\n"
    out += ("# Methods\n\nWhat the server answers, with the bound of every "
            "parameter. Names in capitals\nare in `base/limits.h`. An unknown "
            "member is ignored; null counts as absent where\nthat may be.\n")
    for kind, row in rows(without_comments(read("net/methods.def")),
                          ["METHOD", "STRUCT"]):
        if kind == "STRUCT":
            name, text, extra = row[0], ", ".join(row[1:]), ""
            out += f"\n## The object {name}\n\n"
        else:
            text = ", ".join(row[4:])
            extra = "" if row[3] == "STANDARD" else "Codex mode only.\n\n"
            out += f"\n## {string(row[1])}\n\n"
        out += extra + parameters(text)
    return out


def config_page():
    name = "docs/sallyport.conf.5.scd"
    return re.sub(r"(?<=; limits begin\n).*?(?=; limits end\n)",
                  lambda _: f"\n{limits()}\n", read(name), flags=re.DOTALL)


def example():
    """The shipped configuration: [limits] is its last section."""
    name = "policy/sallyport.conf"
    out = read(name).partition("[limits]\n")[0] + "[limits]\n"
    for _, row in rows(without_comments(read("base/limits.def")), ["LIMIT"]):
        key, default, _, _, unit, reason = row
        out += f"# {string(reason)}\n#{key} = {in_unit(default, unit)}\n"
    return out


def main():
    pages = {"docs/sallyport.conf.5.scd": config_page(),
             "policy/sallyport.conf": example(),
             "docs/protocol.md": protocol()}
    stale = [name for name, text in pages.items()
             if not (ROOT / name).is_file() or read(name) != text]
    if "--check" in sys.argv[1:]:
        print("\n".join(stale))
        return 1 if stale else 0
    for name in stale:
        (ROOT / name).write_text(pages[name], encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
