#!/usr/bin/env python3
"""Fails every call of the writing programs once, and cuts the power before each of them.

    faults.py PROGRAMS HELPERS [--only SCENE[,SCENE...]] [--calls KIND[,KIND...]] [--step N]

A scene is one program with its input; a kind is one of chaos-faults' (faults.c). For every n from 1
to the number of such calls in an undisturbed run, call n fails once; of the kind "any" (what may
fail on a disk) also n and all after it; and with "cut" the process ends before call n, and what was
not synced is taken from the disk. Of a job, a call fails in one rank; a disk is full for all of its
ranks. After each:

  the program has ended by itself, with an exit code that is documented
  what stands under a final name is valid; the inputs are what they were
  every test that was there before or was reported as ok is in the output or in the spool
  after exit code 0 the output is that of an undisturbed run
  the same again, undisturbed, ends as if nothing had happened

Prints how many points were visited. Exit code 0: no violation.
"""
import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import uuid

TESTS = "clock_overhead,shared_latency,bank_conflict,global_copy"
SIM = ["--backend", "sim", "--profile", "gtx780", "--tests", TESTS]
REPORTED = re.compile(r"^(\S+\.gpu\d+) (\S+) ok ", re.MULTILINE)
MPI = dict(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
           OMPI_MCA_rmaps_base_oversubscribe="1", OMPI_MCA_hwloc_base_binding_policy="none")
SAVED = re.compile(r"with (\d+) of (\d+) tests")


class Violation(Exception):
    pass


class Scene:
    """A program under test: how its folder is prepared, and what it must leave."""

    name = program = ""
    calls = ("allocate", "open", "read", "write", "sync", "name", "any")
    cuts = True
    codes = (0, 1, 2, 3)

    def __init__(self, tool):
        self.tool = tool
        place = tempfile.mkdtemp(prefix="before-", dir=tool.base)
        self.prepare(place)
        self.known = tool.held(place)
        shutil.rmtree(place)

    def prepare(self, place):
        pass

    def command(self):
        raise NotImplementedError

    def again(self):
        return self.command()

    def outputs(self):
        return ["f.h5"]

    def inputs(self):
        return []


class Probe(Scene):
    name, program = "probe", "plumb-probe"

    def command(self):
        return [self.tool.path("plumb-probe"), *SIM, "-o", "f.h5"]


class Merge(Scene):
    name, program = "merge", "plumb-merge"

    def prepare(self, place):
        self.tool.copy("spools", place, "spools")

    def command(self):
        return [self.tool.path("plumb-merge"), "-o", "f.h5", "spools"]

    def inputs(self):
        return ["spools/rank-00000.spool", "spools/rank-00001.spool"]


class Join(Scene):
    """Over an output that is an input, too."""

    name, program = "join", "plumb-merge"

    def prepare(self, place):
        self.tool.copy("first.h5", place, "f.h5")
        self.tool.copy("first.h5", place, "g.h5")

    def command(self):
        return [self.tool.path("plumb-merge"), "-o", "f.h5", "f.h5", "g.h5"]

    def inputs(self):
        return ["g.h5"]


class Analyze(Scene):
    name, program = "analyze", "plumb-analyze"

    def prepare(self, place):
        self.tool.copy("first.h5", place, "f.h5")

    def command(self):
        return [self.tool.path("plumb-analyze"), "--jobs", "1", "f.h5"]


class Run(Scene):
    name, program = "run", "plumb-run"
    calls = ("allocate", "open", "read", "write", "sync", "name", "any", "mpi")

    def command(self):
        return ["mpirun", "-q", "-n", "2", self.tool.path("plumb-run"), "--backend", "sim",
                "--tests", TESTS, "--fleet", "../fleet.json", "-o", "f.h5"]

    def again(self):
        return self.command() + ["--resume"]


class Resume(Run):
    """Of a run whose spools are all that is left."""

    name = "resume"

    def prepare(self, place):
        self.tool.copy("spools", place, "f.h5.spool")

    def command(self):
        return super().command() + ["--resume"]

    def again(self):
        return self.command()


class Extend(Resume):
    """Of a finished run with fewer tests."""

    name = "extend"

    def prepare(self, place):
        self.tool.copy("part.h5", place, "f.h5")


SCENES = (Probe, Merge, Join, Analyze, Run, Resume, Extend)


class Tool:
    def __init__(self, arguments):
        self.programs = os.path.abspath(arguments.programs)
        self.helpers = os.path.abspath(arguments.helpers)
        self.base = tempfile.mkdtemp(prefix="plumb-faults-")
        self.points = self.violations = 0
        self.make_material()

    def path(self, program):
        return os.path.join(self.programs, program)

    def make_material(self):
        with open(os.path.join(self.base, "fleet.json"), "w") as file:
            file.write('{"seed": 7, "devices": [{"host": "n1", "profile": "gtx780", "count": 2}]}')
        run = ["mpirun", "-q", "-n", "2", self.path("plumb-run"), "--no-progress", "--backend", "sim",
               "--fleet", "fleet.json", "--tests"]
        for more in ([TESTS, "-o", "first.h5"], [TESTS, "--spool", "spools", "-o", "second.h5"],
                     [TESTS.split(",", 2)[2], "-o", "part.h5"]):
            done = self.execute(run + more, self.base, {})
            if done.returncode != 0:
                raise SystemExit(f"no material: {done.stderr}")

    def copy(self, name, place, as_name):
        source, target = os.path.join(self.base, name), os.path.join(place, as_name)
        if os.path.isdir(source):
            shutil.copytree(source, target)
        else:
            shutil.copy(source, target)

    def execute(self, argv, place, environment, limit=120):
        return subprocess.run(argv, cwd=place, env=dict(os.environ, **MPI, **environment),
                              stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              errors="replace", timeout=limit, check=False)

    def fault(self, scene, call, rank, at, mode, extra=None):
        return dict(LD_PRELOAD=os.path.join(self.helpers, "chaos-faults.so"),
                    PLUMB_FAULT_NAME=scene.program, PLUMB_FAULT_CALL=call, PLUMB_FAULT_RANK=rank,
                    PLUMB_FAULT_AT=str(at), PLUMB_FAULT_MODE=mode, **(extra or {}))

    def digest(self, path):
        done = self.execute([os.path.join(self.helpers, "chaos-digest"), path], self.base, {})
        if done.returncode != 0:
            raise Violation(f"{path} cannot be read: {done.stderr}")
        return done.stdout

    def valid(self, path):
        return self.execute([self.path("plumb-check"), path], self.base, {}).returncode == 0

    # ---- one point ----

    def bytes_of(self, place, names):
        held = {}
        for name in names:
            with open(os.path.join(place, name), "rb") as file:
                held[name] = file.read()
        return held

    def held(self, place):
        """The tests that are ok in the output or the spool."""
        found = set()
        names = [name for name in ("f.h5", "f.h5.spool") if os.path.exists(os.path.join(place, name))
                 and (not name.endswith("l") or os.listdir(os.path.join(place, name)))]
        if not names:
            return found
        merged = os.path.join(self.base, uuid.uuid4().hex + ".h5")
        self.execute([self.path("plumb-merge"), "-o", merged, *names], place, {})
        if os.path.exists(merged):
            lines = [line.split() for line in self.digest(merged).splitlines()]
            found = {(line[0], line[1]) for line in lines if line[2] == "ok"}
            os.unlink(merged)
        return found

    def check(self, scene, call, place, done, before, expected, mode):
        if mode != "cut" and done.returncode not in scene.codes:
            if not (done.returncode == 15 and call == "mpi"):  # as MPI_Abort() has it
                raise Violation(f"exit code {done.returncode}: {done.stderr[-600:]}")
        if "AddressSanitizer" in done.stderr or "runtime error" in done.stderr:
            raise Violation(done.stderr[-600:])
        for name in scene.outputs():
            path = os.path.join(place, name)
            if os.path.exists(path) and not self.valid(path):
                raise Violation(f"{name} is not valid")
        if self.bytes_of(place, scene.inputs()) != before:
            raise Violation("an input has changed")
        reported, held = set(REPORTED.findall(done.stderr)), self.held(place)
        if scene.known - held:
            raise Violation(f"lost: {sorted(scene.known - held)}, which were there")
        saved = SAVED.search(done.stderr)
        if saved and mode == "on":
            if len(held) < int(saved.group(1)):
                raise Violation(f"{saved.group(0)}, found {len(held)}")
        elif mode == "on" and done.returncode not in (0, 3):
            pass  # nothing could be written from there on, and it says so
        elif reported - held:
            raise Violation(f"lost: {sorted(reported - held)} after code {done.returncode}")
        if done.returncode == 0 and mode != "cut":
            if self.digest(os.path.join(place, "f.h5")) != expected:
                raise Violation("code 0, but another content")

    def check_again(self, scene, place, expected):
        spool = os.path.join(place, "f.h5.spool")
        if scene.name == "probe" and os.path.isdir(spool):
            shutil.rmtree(spool)
        done = self.execute(scene.again(), place, {})
        if done.returncode != 0:
            raise Violation(f"again: exit code {done.returncode}: {done.stderr[-600:]}")
        if self.digest(os.path.join(place, "f.h5")) != expected:
            raise Violation("again: another content")
        left = set(os.listdir(place)) - {"f.h5", "g.h5", "spools"}
        if left:
            raise Violation(f"again: left {sorted(left)}")

    def restore(self, place, disk):
        """The folder as the disk has it after the power was cut."""
        restored = tempfile.mkdtemp(prefix="plumb-cut-", dir=self.base)

        def fill(folder, names):
            with open(os.path.join(disk, names)) as file:
                lines = [line.rstrip("\n").split(" ", 1) for line in file]
            for inode, name in lines:
                if name.endswith("/"):
                    os.mkdir(os.path.join(folder, name[:-1]))
                    below = names + "+" + name[:-1]
                    if os.path.exists(os.path.join(disk, below)):
                        fill(os.path.join(folder, name[:-1]), below)
                    continue
                content, target = os.path.join(disk, "inode-" + inode), os.path.join(folder, name)
                if os.path.exists(content):
                    shutil.copy(content, target)
                else:
                    open(target, "w").close()

        fill(restored, "names")
        shutil.rmtree(place)
        os.rename(restored, place)

    def sync_start(self, place, disk):
        """What is there before the program begins is on the disk."""
        os.mkdir(disk)
        for folder, folders, files in os.walk(place):
            below = os.path.relpath(folder, place)
            name = "names" if below == "." else "names+" + below.replace("/", "+")
            with open(os.path.join(disk, name), "w") as list_file:
                for item in folders + files:
                    path = os.path.join(folder, item)
                    inode = os.lstat(path).st_ino
                    list_file.write(f"{inode} {item}{'/' if item in folders else ''}\n")
                    if item in files:
                        shutil.copy(path, os.path.join(disk, f"inode-{inode}"))

    def visit(self, scene, call, rank, at, mode, expected):
        place = tempfile.mkdtemp(prefix="point-", dir=self.base)
        disk = place + ".disk"
        scene.prepare(place)
        before = self.bytes_of(place, scene.inputs())
        extra = {}
        if mode == "cut":
            self.sync_start(place, disk)
            extra = {"PLUMB_FAULT_DISK": disk}
        self.points += 1
        try:
            done = self.execute(scene.command(), place,
                                self.fault(scene, call, rank, at, mode, extra))
            if mode == "cut":
                self.restore(place, disk)
            self.check(scene, call, place, done, before, expected, mode)
            self.check_again(scene, place, expected)
            shutil.rmtree(place)
        except (Violation, subprocess.TimeoutExpired, OSError) as problem:
            self.violations += 1
            print(f"{scene.name}: {call} {rank}:{at} {mode}: {problem}\n  kept in {place}", flush=True)
        if self.points % 50 == 0:
            print(f"{self.points} points, at {scene.name} {call} {rank}:{at} {mode}", flush=True)
        shutil.rmtree(disk, ignore_errors=True)

    def count(self, scene, call):
        """The calls of each rank, and the digest of the output."""
        place = tempfile.mkdtemp(prefix="count-", dir=self.base)
        counted = os.path.join(self.base, "count.txt")
        scene.prepare(place)
        if os.path.exists(counted):
            os.unlink(counted)
        done = self.execute(scene.command(), place,
                            self.fault(scene, call, "", 0, "once", {"PLUMB_FAULT_COUNT": counted}))
        if done.returncode != 0:
            raise SystemExit(f"{scene.name}: undisturbed: {done.returncode} {done.stderr}")
        expected = self.digest(os.path.join(place, "f.h5"))
        with open(counted) as file:
            counts = {rank: int(number) for rank, number in map(str.split, file)}
        shutil.rmtree(place)
        return counts, expected


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs")
    parser.add_argument("helpers")
    parser.add_argument("--only", default="")
    parser.add_argument("--calls", default="")
    parser.add_argument("--step", type=int, default=1, help="visit every N-th point only")
    arguments = parser.parse_args()
    if shutil.which("mpirun") is None:
        print("no mpirun here")
        return 77
    tool = Tool(arguments)
    for scene in (kind(tool) for kind in SCENES):
        if arguments.only and scene.name not in arguments.only.split(","):
            continue
        for call in scene.calls:
            if arguments.calls and call not in arguments.calls.split(","):
                continue
            counts, expected = tool.count(scene, call)
            modes = ["on", "cut"] if call == "any" else ["once"]
            if scene.program != "plumb-run" or call == "any":
                counts = {"": max(counts.values())}
            if scene.program == "plumb-run" and call == "any":
                modes = ["on"]  # ranks of one node lose power together: chaos.py does that
            begun = tool.points
            for mode in modes:
                for rank, count in sorted(counts.items()):
                    for at in range(1, count + 1, arguments.step):
                        tool.visit(scene, call, rank, at, mode, expected)
            print(f"{scene.name} {call}: {sum(counts.values())} calls, {tool.points - begun} points",
                  flush=True)
    print(f"{tool.points} points, {tool.violations} violations")
    if tool.violations == 0:
        shutil.rmtree(tool.base)
    return 1 if tool.violations else 0


if __name__ == "__main__":
    sys.exit(main())
