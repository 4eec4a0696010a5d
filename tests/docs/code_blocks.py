"""Runs the code blocks of a document: code_blocks.py CHECKOUT PROGRAMS DOCUMENT.md [--update]

The first word behind ``` says what a block is. sh and python run, the blocks of a document one after
the other in one folder; json is given to the program that reads it; yaml is parsed (alert rules by
promtool, if it is there). A second word behind sh is a condition:

    gpu, slurm, install   needs hardware, a cluster, or changes the machine: only its syntax is checked
    any other             a program: where it is missing, only the syntax is checked

A picture with `<!-- made by COMMAND -->` below it must be what the command prints; --update makes it anew.

In every sh block the options of plumb's programs must exist. Blocks of text are output, or with the
second word `usage` a synopsis, whose options are checked. Output with a command behind `text` must be
what the command prints, digit for digit; --update replaces it. A block of no kind is an error.
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

checkout, programs = (pathlib.Path(path).resolve() for path in sys.argv[1:3])
document = pathlib.Path(sys.argv[3]).resolve()
update = "--update" in sys.argv[4:]
wrong = []
SYNTAX_ONLY = {"gpu", "slurm", "install"}
MADE = re.compile(r"^!\[[^]]*\]\(([^)]*)\)\n<!-- made by (.*?) -->", re.M | re.S)
FENCE = re.compile(r"^```([^\n]*)\n(.*?)^```$", re.M | re.S)


def run(command, folder, **more):
    environment = dict(os.environ, PATH=f"{programs}:{os.environ['PATH']}", TERM="dumb",
                       OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", COLUMNS="104")
    return subprocess.run(command, cwd=folder, env=environment, text=True, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **more)


def must(where, command, folder, ok=(0,)):
    done = run(command, folder)
    if done.returncode not in ok:
        wrong.append(f"{where}: exit {done.returncode}\n{done.stdout[-2000:]}")
    return done.stdout


def known_options(program):
    pages = run([programs / "pb-option-pages", "list", program], checkout)
    return set(pages.stdout.split()) | {"--help", "--version"} if pages.returncode == 0 else None


def check_options(where, text):
    """Every long option that stands behind the name of one of our programs is one of its own."""
    text = re.sub(r"\\\n", " ", text)
    for line in re.split(r"\n(?! )|&&|\|\||;", text):
        words = re.findall(r"(?<!\S)\[?(--?[A-Za-z][\w-]*|plumb-[a-z]+|--(?=\s))", line)
        program = None
        for word in words:
            if word == "--":
                break  # what follows is another program's
            if word.startswith("plumb-"):
                program = word
            elif program and word.startswith("--") and known_options(program) is not None:
                if word not in known_options(program):
                    wrong.append(f"{where}: {program} has no option {word}")


def make_folder(folder):
    """What documents take for granted: the checkout, and files of the names that they use."""
    for name in ("docs", "jobs", "python", "tests"):
        (folder / name).symlink_to(checkout / name)
    (folder / "fleet.json").write_text(
        '{"devices": [{"host": "n1", "profile": "gtx560ti", "count": 1}]}')
    must("a file to work on", ["plumb-probe", "--fleet", "fleet.json", "--no-progress", "--tests",
                               "clock_overhead,clock_calibration,dram_latency,global_copy",
                               "-o", "plumb-n1.h5"], folder)
    shutil.copy(folder / "plumb-n1.h5", folder / "FILE.h5")
    shutil.copy(checkout / "tests/data/h200-parallel.h5", folder / "fleet.h5")
    shutil.copy(checkout / "docs/policy.json", folder / "site.json")
    run(["plumb-outliers", "--read-only", "--json", "verdict.json", "FILE.h5"], folder)


def check_sh(where, condition, text, folder):
    syntax = subprocess.run(["sh", "-n"], input=text, text=True, capture_output=True)
    if syntax.returncode != 0:
        wrong.append(f"{where}: {syntax.stderr}")
    check_options(where, text)
    if condition in SYNTAX_ONLY or condition and shutil.which(condition) is None:
        for script in re.findall(r"(?<![\w/])(?:jobs|tests)/[\w.-]+\.(?:sh|sbatch)", text):
            if not (checkout / script).exists():
                wrong.append(f"{where}: there is no {script}")
        return
    must(where, ["sh", "-e", "-c", text], folder)


def check_json(where, text, folder):
    try:
        value = json.loads(text)
        is_part = False
    except ValueError:
        value = json.loads("{" + text + "}")  # of a profile; an error ends the test
        is_part = True
    if is_part:
        profile = json.loads((checkout / "src/device/sim/profiles/h200.json").read_text())
        (folder / "profile.json").write_text(json.dumps(profile | value))
        command = ["plumb-probe", "--profile", "profile.json"]
    elif "devices" in value:
        (folder / "devices.json").write_text(text)
        count = sum(group.get("count", 1) for group in value["devices"])
        command = ["mpirun", "--oversubscribe", "-n", str(count), "plumb-run", "--fleet",
                   "devices.json"]
    else:
        (folder / "policy.json").write_text(text)
        done = must(where, ["plumb-outliers", "--read-only", "--policy", "policy.json", "FILE.h5"],
                    folder, ok=(0, 1, 2, 3))
        if "policy.json" in done:
            wrong.append(f"{where}: {done}")
        return
    must(where, command + ["--tests", "clock_overhead", "--no-progress", "-o", "json.h5"], folder)


def check_yaml(where, text, folder):
    try:
        import yaml
    except ImportError:
        return
    rules = yaml.safe_load(text)
    if shutil.which("promtool") and isinstance(rules, list) and "alert" in rules[0]:
        (folder / "rules.yml").write_text(
            yaml.safe_dump({"groups": [{"name": "documented", "rules": rules}]}))
        must(where, ["promtool", "check", "rules", "rules.yml"], folder)


def check_output(where, command, text, folder):
    found = must(where, ["sh", "-c", command], folder)
    if not update and found.strip() != text.strip():
        wrong.append(f"{where}: `{command}` prints\n{found}; code_blocks.py --update replaces it")
    return found


def check_picture(where, name, command, folder):
    found = must(where, ["sh", "-c", command], folder)
    path = document.parent / name
    if update:
        path.write_text(found)
    elif not path.exists() or path.read_text() != found:
        wrong.append(f"{where}: {name} is not what `{command}` prints; code_blocks.py --update makes it")


def main():
    text = document.read_text()
    parts, python, last = [], "", 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        make_folder(folder)
        for block in FENCE.finditer(text):
            where = f"{document.name}:{text.count(chr(10), 0, block.start()) + 1}"
            kind, _, rest = block.group(1).partition(" ")
            body = block.group(2)
            if kind == "sh":
                check_sh(where, rest, body, folder)
            elif kind == "python":
                python += f"# {where}\n{body}"
            elif kind == "json":
                check_json(where, body, folder)
            elif kind == "yaml":
                check_yaml(where, body, folder)
            elif kind == "text" and rest == "usage":
                check_options(where, body)
            elif kind == "text" and rest:
                parts.append(text[last:block.start(2)])
                parts.append(check_output(where, rest, body, folder))
                last = block.end(2)
            elif kind not in ("text", "ini"):
                wrong.append(f"{where}: ```{block.group(1)} is no kind of block; see CONTRIBUTING.md")
        for picture in MADE.finditer(text):
            where = f"{document.name}:{text.count(chr(10), 0, picture.start()) + 1}"
            check_picture(where, picture.group(1), " ".join(picture.group(2).split()), folder)
        if python and run(["/usr/bin/python3", "-c", "import h5py, xarray"], folder).returncode == 0:
            must(f"{document.name}, Python", ["/usr/bin/python3", "-c", python], folder)
    if update and last:
        document.write_text("".join(parts) + text[last:])
    print("\n".join(wrong))
    sys.exit(bool(wrong))


main()
