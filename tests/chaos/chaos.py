#!/usr/bin/env python3
"""Strikes running programs with signals at random moments and checks what is left.

    chaos.py PROGRAMS HELPERS [--runs N] [--seed S] [--first I] [--seconds T]

One run is one job of plumb-run (or a plumb-probe alone) in a folder of its own. It is struck up to
three times: a probe, a rank, mpirun, or all of them at once as when a node loses its power; with
KILL, TERM, INT, or STOP and CONT. Then plumb-merge and plumb-analyze may be killed while they
write, the job is resumed, struck again, and in the end resumed in peace. Checked each time:

  lost       every test that was reported as ok is in the output or the spools
  invalid    what stands under a final name passes plumb-check
  code       the exit code is one that the documents name for what happened
  orphans    no process outlives its job; what mpirun does when a rank dies while it reports to
             it, wait for ever after a "PMIX ERROR", is counted, since plumb has not begun by then
  leftovers  nothing but the output is in the folder after the last resume
  equal      the last resume makes the file that an undisturbed run makes, to the bit

Run I of a seed strikes at the same moments again; where a signal lands then depends on the machine.
--runs 0 goes on for ever. Exit code 0: no violation; 1: some, and their folders are kept.
"""
import argparse
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import uuid

TESTS = ("clock_overhead,clock_calibration,shared_latency,bank_conflict,global_copy,l1_capacity,"
         "l1_line,host_link,sm_latency,memory_integrity,host_link_concurrent")
PROFILE = "gtx780"
DEADLINE = 3  # seconds: a probe that is stopped is soon given up
PEACE_DEADLINE = 60  # where nothing is struck: GPUs of a node wait so long for each other
TIMED = {"clock_calibration"}  # what it records depends on when the host came to it
REPORTED = re.compile(r"^(\S+\.gpu\d+) (\S+) ok ", re.MULTILINE)


class Violation(Exception):
    pass


class Job:
    """A process tree that is known by a mark in its environment."""

    def __init__(self, place, argv, log):
        self.mark = uuid.uuid4().hex
        self.log = log
        environment = dict(os.environ, PLUMB_CHAOS=self.mark, OMPI_ALLOW_RUN_AS_ROOT="1",
                           OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMPI_MCA_rmaps_base_oversubscribe="1",
                           OMPI_MCA_hwloc_base_binding_policy="none",
                           OMPI_MCA_odls_base_sigkill_timeout="4")
        with open(log, "ab") as file:
            self.process = subprocess.Popen(argv, cwd=place, env=environment, stdout=file,
                                            stderr=file, stdin=subprocess.DEVNULL)
        self.struck = []

    def members(self):
        """PIDs of the tree by kind; zombies are over."""
        found = {"mpirun": [], "rank": [], "probe": [], "other": []}
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/environ", "rb") as file:
                    if self.mark.encode() not in file.read():
                        continue
                with open(f"/proc/{pid}/cmdline", "rb") as file:
                    words = file.read().split(b"\0")
                with open(f"/proc/{pid}/stat") as file:
                    if file.read().rsplit(")", 1)[1].split()[0] == "Z":
                        continue
            except OSError:
                continue
            name = os.path.basename(words[0]).decode()
            kind = {"mpirun": "mpirun", "plumb-run": "rank", "plumb-probe": "probe"}.get(name)
            found[kind or "other"].append(int(pid))
        return found

    def strike(self, rng):
        members = self.members()
        kind = rng.choice(["probe", "probe", "rank", "rank", "mpirun", "node"])
        name = rng.choice(["KILL", "KILL", "TERM", "INT", "STOP"])
        pids = members.get(kind, [])
        if kind == "node":
            name, pids = "KILL", sum(members.values(), [])
        elif pids:
            pids = [rng.choice(pids)]
        pause = rng.uniform(0.05, 1.0)
        stays_stopped = rng.random() < 0.3 and kind == "probe" and bool(members["rank"])
        if not pids:
            return
        self.struck.append((kind, name))
        for pid in pids:
            send(pid, getattr(signal, "SIG" + name))
        if name == "STOP" and not stays_stopped:
            time.sleep(pause)
            for pid in pids:
                send(pid, signal.SIGCONT)

    def wait(self, seconds):
        """The exit code, None where mpirun is stuck; PIDs that are left 10 s later are orphans."""
        try:
            code = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            left = self.members()
            self.end()
            if self.is_launcher_stuck(left):
                return None
            raise Violation(f"hangs after {self.struck}: {left}") from None
        until = time.monotonic() + 10
        while any(self.members().values()) and time.monotonic() < until:
            time.sleep(0.02)
        left = sum(self.members().values(), [])
        if left:
            names = [open(f"/proc/{pid}/cmdline").read().replace("\0", " ") for pid in left]
            self.end()
            raise Violation(f"orphans after {self.struck}: {names}")
        return code

    def is_launcher_stuck(self, left):
        """Only mpirun is left, and it said why it waits."""
        if left["rank"] or left["probe"] or left["other"]:
            return False
        with open(self.log, errors="replace") as file:
            return "PMIX ERROR" in file.read()

    def end(self):
        for pid in sum(self.members().values(), []):
            send(pid, signal.SIGKILL)
        self.process.wait()


def send(pid, number):
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass


class Run:
    def __init__(self, chaos, number):
        self.chaos = chaos
        self.number = number
        self.rng = random.Random(f"{chaos.seed}:{number}")
        self.place = tempfile.mkdtemp(prefix=f"plumb-chaos-{number}-")
        self.log = os.path.join(self.place, "log.txt")
        self.output = os.path.join(self.place, "f.h5")
        self.spool = self.output + ".spool"
        self.ranks = self.rng.choice([1, 2, 3, 4])
        self.alone = self.rng.random() < 0.15
        chaos.write_fleet(self.place, self.ranks)

    def program(self, name):
        return os.path.join(self.chaos.programs, name)

    def command(self, resume, deadline=DEADLINE):
        if self.alone:
            return [self.program("plumb-probe"), "--profile", PROFILE, "--tests", TESTS, "-o", "f.h5"]
        return (["mpirun", "-q", "-n", str(self.ranks), self.program("plumb-run"), "--fleet",
                 "fleet.json", "--tests", TESTS, "--deadline", str(deadline), "-o", "f.h5"] +
                (["--resume"] if resume else []))

    def reported(self):
        with open(self.log, errors="replace") as file:
            return set(REPORTED.findall(file.read()))

    def plain(self, *argv):
        return subprocess.run(argv, cwd=self.place, stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, errors="replace", timeout=120)

    def check_output(self):
        if not os.path.exists(self.output):
            return
        checked = self.plain(self.program("plumb-check"), self.output)
        if checked.returncode != 0:
            raise Violation(f"invalid: {checked.stdout}{checked.stderr}")

    def check_nothing_lost(self):
        inputs = [path for path in (self.output, self.spool) if os.path.exists(path)]
        if os.path.isdir(self.spool) and not os.listdir(self.spool):
            inputs.remove(self.spool)
        reported = self.reported()
        if not inputs and not reported:
            return
        if not inputs:
            raise Violation(f"lost: {len(reported)} tests were reported, and nothing is there")
        merged = os.path.join(self.place, "all.h5")
        done = self.plain(self.program("plumb-merge"), "-o", merged, *inputs)
        if done.returncode not in (0, 1, 3) or not os.path.exists(merged):
            if reported:
                raise Violation(f"lost: merge of {inputs} ends with {done.returncode}: {done.stderr}")
            return
        held = {(key, test) for key, test, outcome, _ in self.chaos.digest(merged)
                if outcome == "ok"}
        os.unlink(merged)
        if reported - held:
            raise Violation(f"lost: {sorted(reported - held)}")

    def check_code(self, code, struck):
        """What docs/operations.md says of a job that was struck so."""
        by_launcher = any(kind in ("rank", "mpirun", "node") for kind, _ in struck)
        if code == 0:
            if not os.path.exists(self.output):
                raise Violation("code: 0 without a file")
        elif code == 3:
            if not os.path.exists(self.output):
                raise Violation("code: 3 without a file")
        elif code == 2:
            raise Violation(f"code: 2 after {struck}")
        elif code == 1 and not by_launcher and not self.alone:
            text = open(self.log, errors="replace").read()
            if "failed, 0 of" not in text and "nothing to measure" not in text:
                raise Violation(f"code: 1 after {struck}")
        elif not by_launcher and not (self.alone and struck) and code not in (0, 1, 3):
            raise Violation(f"code: {code} after {struck}")

    def strike_job(self, resume):
        job = Job(self.place, self.command(resume), self.log)
        for _ in range(self.rng.choice([1, 1, 2, 3])):
            time.sleep(self.rng.uniform(0, 0.9))
            if job.process.poll() is None:
                job.strike(self.rng)
        code = job.wait(90)
        self.chaos.strikes += len(job.struck)
        if code is None:
            self.chaos.stuck_launchers += 1
        else:
            self.check_code(code, job.struck)
        self.check_output()
        self.check_nothing_lost()

    def strike_writer(self):
        """Kills a program while it writes; the output must be the old one or the new one."""
        writers = []
        if os.path.exists(self.output):
            writers.append(["plumb-analyze", "f.h5"])
            writers.append(["plumb-merge", "-o", "f.h5", "f.h5"])
        if os.path.isdir(self.spool):
            inputs = ["f.h5"] if os.path.exists(self.output) else []
            writers.append(["plumb-merge", "-o", "f.h5", *inputs, "f.h5.spool"])
        if not writers:
            return
        argv = self.rng.choice(writers)
        argv[0] = self.program(argv[0])
        with subprocess.Popen(argv, cwd=self.place, stdin=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            time.sleep(self.rng.uniform(0, 0.06))
            send(process.pid, signal.SIGKILL)
        self.chaos.strikes += 1
        self.check_output()
        self.check_nothing_lost()

    def finish(self):
        """The last resume, in peace: as if nothing had happened."""
        if self.alone and os.path.isdir(self.spool):
            done = self.plain(self.program("plumb-merge"), "-o", "f.h5", "f.h5.spool")
            if done.returncode == 2 and self.reported():
                raise Violation(f"lost: merge: {done.stderr}")
            shutil.rmtree(self.spool)
            self.check_output()
            self.check_nothing_lost()
        job = Job(self.place, self.command(True, PEACE_DEADLINE), self.log)
        code = job.wait(120)
        if code != 0:
            raise Violation(f"code: the last resume ends with {code}")
        self.check_output()
        names = set(os.listdir(self.place)) - {"f.h5", "fleet.json", "log.txt"}
        if names:
            raise Violation(f"leftovers: {sorted(names)}")
        if self.alone:
            return
        expected, found = self.chaos.reference(self.ranks), self.chaos.digest(self.output)
        if found != expected:
            raise Violation(f"not equal: {sorted(set(expected) ^ set(found))}")

    def go(self):
        self.strike_job(False)
        while self.rng.random() < 0.4:
            self.strike_writer()
        if self.rng.random() < 0.5 and not self.alone:
            self.strike_job(True)
        self.finish()


class Chaos:
    def __init__(self, arguments):
        self.programs = os.path.abspath(arguments.programs)
        self.helpers = os.path.abspath(arguments.helpers)
        self.seed = arguments.seed
        self.strikes = self.stuck_launchers = 0
        self.references = {}

    def digest(self, path):
        done = subprocess.run([os.path.join(self.helpers, "chaos-digest"), path], check=False,
                              capture_output=True, text=True, errors="replace")
        if done.returncode != 0:
            raise Violation(f"unreadable: {done.stderr}")
        lines = [tuple(line.split()) for line in done.stdout.splitlines()]
        return [line[:3] + ("",) if line[1] in TIMED else line for line in lines]

    @staticmethod
    def write_fleet(place, ranks):
        with open(os.path.join(place, "fleet.json"), "w") as file:
            json.dump({"seed": 7, "devices": [{"host": "n1", "profile": PROFILE, "count": ranks}]},
                      file)

    def reference(self, ranks):
        """The file of an undisturbed run of as many ranks."""
        if ranks not in self.references:
            run = Run(self, f"reference-{ranks}")
            run.ranks, run.alone = ranks, False
            self.write_fleet(run.place, ranks)
            if Job(run.place, run.command(False, PEACE_DEADLINE), run.log).wait(120) != 0:
                raise Violation("the undisturbed run fails")
            self.references[ranks] = self.digest(run.output)
            shutil.rmtree(run.place)
        return self.references[ranks]


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs")
    parser.add_argument("helpers")
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=0, help="stop after this time; 0: never")
    arguments = parser.parse_args()
    if shutil.which("mpirun") is None:
        print("no mpirun here")
        return 77
    chaos = Chaos(arguments)
    begun, number, violations = time.monotonic(), arguments.first, 0
    while arguments.runs == 0 or number < arguments.first + arguments.runs:
        if arguments.seconds > 0 and time.monotonic() - begun > arguments.seconds:
            break
        run = Run(chaos, number)
        try:
            run.go()
            shutil.rmtree(run.place)
        except (Violation, subprocess.TimeoutExpired) as problem:
            violations += 1
            print(f"run {number} of seed {chaos.seed}: {problem}\n  kept in {run.place}", flush=True)
        number += 1
        if number % 25 == 0:
            print(f"{number - arguments.first} runs, {chaos.strikes} strikes, "
                  f"{violations} violations, {time.monotonic() - begun:.0f} s", flush=True)
    print(f"{number - arguments.first} runs of seed {chaos.seed}, {chaos.strikes} strikes, "
          f"{violations} violations, {chaos.stuck_launchers} times a stuck mpirun, "
          f"{time.monotonic() - begun:.0f} s")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
