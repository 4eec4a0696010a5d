#!/usr/bin/env python3
"""Finds call circles between sibling files, and tags that are defined twice.

    circles.py SOURCE BUILD

A circle is a set of files of one folder each of which calls, directly or through the others, every
other one: nobody can read one of them without the rest. Calls are taken from the symbols of the
object files. A tag is the name of a struct, enum or union; the same name for two things misleads.
"""

import collections
import pathlib
import re
import subprocess
import sys

FOLDERS = ("src", "h5schema", "analysis", "kernels")


def symbols(objects):
    """Of each object file the functions and variables that it defines, and those that it uses."""
    defined, used, current = {}, collections.defaultdict(set), None
    listing = subprocess.run(["nm", "-A", "-P", *map(str, objects)], check=True,
                             capture_output=True, text=True).stdout
    for line in listing.splitlines():
        place, name, kind = line.split()[:3]
        current = place.rstrip(":")
        if kind in "TDBRVWC":
            defined[name] = current
        elif kind == "U":
            used[current].add(name)
    return defined, used


def components(graph):
    """Strongly connected components with more than one member."""
    order, seen = [], set()

    def visit(node, edges, found):
        stack = [(node, iter(sorted(edges.get(node, ()))))]
        seen.add(node)
        while stack:
            at, rest = stack[-1]
            step = next((n for n in rest if n not in seen), None)
            if step is None:
                found.append(at)
                stack.pop()
            else:
                seen.add(step)
                stack.append((step, iter(sorted(edges.get(step, ())))))

    for node in sorted(graph):
        if node not in seen:
            visit(node, graph, order)
    reverse = collections.defaultdict(set)
    for node, targets in graph.items():
        for target in targets:
            reverse[target].add(node)
    seen = set()
    for node in reversed(order):
        if node not in seen:
            found = []
            visit(node, reverse, found)
            if len(found) > 1:
                yield sorted(found)


def find_circles(source, build):
    sources = {}
    for path in build.rglob("*.o"):
        relative = str(path.relative_to(build))
        match = re.fullmatch(r"(.*?)/?CMakeFiles/[^/]+\.dir/(.*)\.o", relative)
        name = match and str(pathlib.PurePosixPath(match[1]) / match[2])
        if name and name.startswith(FOLDERS) and name.endswith(".c") and (source / name).exists():
            sources.setdefault(str(path), name)
    defined, used = symbols(sources)
    graph = collections.defaultdict(set)
    for path, names in used.items():
        for name in names:
            target = defined.get(name)
            if target is None or sources[target] == sources[path]:
                continue
            if pathlib.PurePosixPath(sources[target]).parent == \
                    pathlib.PurePosixPath(sources[path]).parent:
                graph[sources[path]].add(sources[target])
    for circle in components(graph):
        yield "circle " + " ".join(circle)


def find_tags(source):
    places = collections.defaultdict(set)
    for folder in FOLDERS:
        for path in (source / folder).rglob("*.[ch]"):
            for tag in re.findall(r"^(?:struct|enum|union) (pb_\w+) \{", path.read_text(), re.M):
                places[tag].add(str(path.relative_to(source)))
    for tag, files in places.items():
        if len(files) > 1:
            yield f"tag {tag} " + " ".join(sorted(files))


def main():
    source, build = map(pathlib.Path, sys.argv[1:3])
    found = sorted([*find_circles(source, build), *find_tags(source)])
    print(*found, sep="\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
