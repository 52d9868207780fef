"""Gangs of jobs/lines.py on a lab's hosts, and their ranks as the kernel knows them."""

import collections
import dataclasses
import json
import os
import pathlib
import sys

import story
from lab import ROOT, Failure, wait_for

PROGRAM = str(ROOT / "scenarios" / "jobs" / "lines.py")


@dataclasses.dataclass(frozen=True)
class Rank:
    """One process; with --daemon a rank has two."""

    pid: int
    start: int  #: Ticks since boot.
    job: int
    attempt: int
    number: int
    host: str  #: "" once its supervisor is gone.
    gpu: str

    def is_alive(self):
        """False once it is gone or a zombie, whoever has its pid now."""
        fields = stat_of(self.pid)
        return bool(fields) and int(fields[19]) == self.start and fields[0] not in "ZX"


def stat_of(pid):
    """The fields of /proc/PID/stat from the state on; nothing when there is no such process."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


def words_of(pid, file):
    return pathlib.Path(f"/proc/{pid}/{file}").read_bytes().decode(errors="replace").split("\0")


def host_of(lab, supervisor):
    """The command line of a supervisor names the directory of its grant."""
    try:
        words = words_of(supervisor, "cmdline")
    except OSError:
        return ""
    return next((name for name, agent in lab.agents.items()
                 if any(word.startswith(f"{agent.data}/grants/") for word in words)), "")


def all_ranks(lab):
    """The set of all living ranks of the lab, adopted or orphaned."""
    found = set()
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            command = words_of(entry, "cmdline")
            if PROGRAM not in command or str(lab.directory / "ledger") not in command:
                continue
            said = dict(word.partition("=")[::2] for word in words_of(entry, "environ"))
        except OSError:
            continue
        fields = stat_of(entry)
        if fields and fields[0] not in "ZX" and "RANK" in said:
            found.add(Rank(int(entry), int(fields[19]), int(said["MUSTER_JOB_ID"]),
                           int(said["MUSTER_ATTEMPT"]), int(said["RANK"]),
                           host_of(lab, fields[1]), said["CUDA_VISIBLE_DEVICES"]))
    return found


def ranks_of(lab, job, attempt=0):
    return {rank for rank in all_ranks(lab) if rank.job == job and attempt in (0, rank.attempt)}


def submit(agent, gpus, *flags, daemon=False):
    """The job's id. Its attempts run until let_end()."""
    lab = agent.lab
    code, out, err = agent.cli(
        "submit", "--json", "--gpus", str(gpus), "--name", f"lines-{gpus}", *flags, "--",
        sys.executable, PROGRAM, str(lab.directory / "may-end"), "--ledger",
        str(lab.directory / "ledger"), *(["--daemon"] if daemon else []), timeout=30)
    if code != 0:
        raise Failure(f"submit on {agent.name} exits {code}: {err.strip()}")
    return json.loads(out)["job_id"]


def let_end(lab, job, *attempts):
    """Every rank of these attempts ends, now and later, on any host."""
    for attempt in attempts:
        (lab.directory / f"may-end.{job}.{attempt}").touch()


def await_ranks(lab, job, count, attempt=1, seconds=30):
    """The ranks of this attempt, once there are so many."""
    wait_for(f"{count} ranks of job {job}", lambda: len(ranks_of(lab, job, attempt)) == count,
             seconds)
    return ranks_of(lab, job, attempt)


def attempts_of(lab, job):
    return len((story.job(lab, job) or {"attempts": []})["attempts"])


def double_runs(lab, sizes):
    """Attempts beyond the first of each of {job: ranks} that came to their end whole, as the log
    and as the programs themselves have it; the greater of the two."""
    path = lab.directory / "ledger"
    ends = collections.defaultdict(set)
    for line in path.read_text().splitlines() if path.exists() else []:
        job, attempt, rank = map(int, line.split())
        ends[job, attempt].add(rank)
    double = 0
    for job, size in sizes.items():
        whole = sum(1 for (each, _), ranks in ends.items() if each == job and len(ranks) == size)
        logged = sum(attempt["cause"] == "completed" for attempt in story.job(lab, job)["attempts"])
        double += max(0, whole - 1, logged - 1)
    return double


def broken_outputs(lab, job, size):
    """Ranks whose output, by any node, is not every line once and in order."""
    broken = 0
    for rank in range(size):
        code, out, _ = lab.live()[-1].cli("logs", str(job), "--rank", str(rank))
        lines = out.splitlines()
        whole = [f"line {number + 1}" for number in range(len(lines) - 1)]
        broken += code != 0 or lines != whole + [f"end after {len(lines) - 1}"]
    return broken
