#!/usr/bin/env python3
"""Checks every string that a user of plumb can meet: messages, help, reasons, names of files.

  words.py ROOT          names each string with a word of words.txt; exit code 1 if there is one
  words.py ROOT --list   prints all strings, with file and line

Strings are taken from the C sources; those without a blank are names, and are not checked.
"""
import pathlib
import re
import sys

FOLDERS = ("src", "analysis", "h5schema", "kernels")
TOKEN = re.compile(r'/\*.*?\*/|//[^\n]*|\'(?:[^\'\\\n]|\\.)+\'|"(?:[^"\\\n]|\\.)*"', re.S)


def strings(path):
    """Yields (line, text) of each string of a C file, adjacent literals joined."""
    source = path.read_text(encoding="utf-8", errors="replace")
    joined, begin, end = "", 0, None
    for token in TOKEN.finditer(source):
        if not token[0].startswith('"'):
            continue
        between = source[end:token.start()] if end is not None else "x"
        if source[source.rfind("\n", 0, token.start()) + 1:token.start()].lstrip().startswith("#inc"):
            continue
        if between.strip() and joined:
            yield source.count("\n", 0, begin) + 1, joined
            joined = ""
        if not joined:
            begin = token.start()
        joined += token[0][1:-1]
        end = token.end()
    if joined:
        yield source.count("\n", 0, begin) + 1, joined


def rows(path, separator):
    for line in path.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            yield [part.strip() for part in line.split(separator, 1)]


def main():
    root = pathlib.Path(sys.argv[1])
    here = pathlib.Path(__file__).parent
    words = [(re.compile(word, re.I), instead) for word, instead in rows(here / "words.txt", " -> ")]
    bad, count = 0, 0
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*.[ch]*")):
            if path.suffix not in (".c", ".h", ".cu", ".cuh"):
                continue
            name = path.relative_to(root).as_posix()
            for line, text in strings(path):
                if " " not in text.strip():
                    continue
                count += 1
                if "--list" in sys.argv:
                    print(f"{name}:{line}: {text}")
                    continue
                for word, instead in words:
                    found = word.search(text)
                    if found is None:
                        continue
                    print(f'{name}:{line}: "{found[0]}" in "{text}"; say: {instead}')
                    bad += 1
    if count < 1000 and "--list" not in sys.argv:
        print(f"only {count} strings were found")
        bad += 1
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
