"""One login crowds the socket for all logins of an agent: 2,000 connections, requests without end.
It compares the waits of others with the quiet before: another login and root at that agent, and
a probe that reaches it from another host."""

import os
import pathlib
import re
import shutil
import subprocess
import threading
import time

import cluster
from cluster import BASE_PORT, Broken, figure, quantile
from lab import MUSTER, Lab, wait_for

CROWD = cluster.BUILD / "bench" / "bench_crowd"
#: Logins that every system has: who crowds, and who asks meanwhile.
CROWDING, ASKING = "nobody", "daemon"
LOST_MS = 5000.0  #: The time that bench_probe waits for an answer.
SETTLED_S = 3
#: A p99 of fewer is that of two or three answers.
ASKED_MIN = 100
VERDICT = re.compile(r"\bunreachable host=")


def pss_mb(pid):
    """The memory that is the process's own, and its part of what it shares."""
    for line in pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) / 1024
    raise Broken(f"process {pid} is gone")


class Memory:
    """The most that a process has while it is looked at; a context manager."""

    def __init__(self, pid):
        self.pid = pid
        self.before = self.most = pss_mb(pid)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def _look(self):
        while not self._over.wait(0.25):
            self.most = max(self.most, pss_mb(self.pid))

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._over.set()
        self._thread.join()
        self.most = max(self.most, pss_mb(self.pid))


def threads_of(pid):
    """{thread: its name and the seconds of processor that it used}."""
    found = {}
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        text = (task / "stat").read_text()
        words = text.rpartition(")")[2].split()
        found[task.name] = (text.partition("(")[2].rpartition(")")[0],
                            (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK"))
    return found


def busiest(before, after, seconds):
    """The threads that took most, in per cent of a processor."""
    used = sorted(((cpu - before.get(task, ("", 0.0))[1]) / seconds, name)
                  for task, (name, cpu) in after.items())
    return ", ".join(f"{name} {100 * share:.0f} %" for share, name in used[:-5:-1])


class Askers:
    """All that ask at the same time, each on one connection, every 20 ms."""

    def __init__(self, lab, crowded, other):
        self.crowded = crowded
        lab.directory.chmod(0o711)
        self.probe, self.crowd = (lab.directory / name for name in ("probe", "crowd"))
        for source, copy in ((cluster.PROBE, self.probe), (CROWD, self.crowd)):
            shutil.copy(source, copy)
            copy.chmod(0o755)
        self.door = str(lab.directory / "run" / f"{crowded.name}.sock")
        #: name -> (login or "" for root, what to ask, a node or "", socket)
        self.questions = {
            "login_whoami": (ASKING, "whoami", "", self.door),
            "login_jobs": (ASKING, "jobs", "", self.door),
            "root_jobs": ("", "jobs", "", cluster.socket_of(crowded)),
            "probe": ("", "version", crowded.name, cluster.socket_of(other))}

    def start(self, login, *words):
        as_login = {"user": login, "group": "nogroup", "extra_groups": []} if login else {}
        return subprocess.Popen([str(word) for word in words], stdout=subprocess.PIPE, text=True,
                                cwd="/", **as_login)

    def ask(self, seconds):
        """{name: [milliseconds of each answer]}."""
        asked = {name: self.start(login, self.probe, "ask", seconds, verb, node or "-", where)
                 for name, (login, verb, node, where) in self.questions.items()}
        took = {}
        for name, process in asked.items():
            lines = process.communicate()[0].splitlines()
            took[name] = [float(line.split()[1]) for line in lines if line.startswith("ms ")]
            lost = lines.count("lost")
            if lost or len(took[name]) < ASKED_MIN:
                print(f"# {name}: {len(took[name])} answers, {lost} lost", flush=True)
            # A question without an answer took as long as it was waited for.
            took[name] += [LOST_MS] * lost
        return took


def busy_beside(askers, seconds):
    """As Askers.ask(), while a loop that does nothing takes as much processor as a crowd may."""
    loop = askers.start(CROWDING, "/bin/sh", "-c", "while :; do :; done")
    try:
        return askers.ask(seconds)
    finally:
        loop.kill()
        loop.communicate()


def compare(quiet, crowded, what):
    """The worst ratio of two p99; each is told."""
    worst = 0.0
    for name, values in quiet.items():
        if min(len(values), len(crowded[name])) == 0:
            raise Broken(f"{name} got no answer")
        before, after = (quantile(each, 0.99) for each in (values, crowded[name]))
        worst = max(worst, after / before)
        print(f"# {what} {name}: p50 {quantile(values, 0.5):.2f} and "
              f"{quantile(crowded[name], 0.5):.2f} ms, p99 {before:.2f} and {after:.2f} ms of "
              f"{len(values)} and {len(crowded[name])} answers", flush=True)
    return worst


def crowd(connections=2000, seconds=15, quiet=15):
    """The agent that is crowded is the leader's: it has most to do."""
    if os.geteuid() != 0:
        raise Broken("only root can be another login")
    with Lab("abc", base_port=BASE_PORT) as lab:
        lab.start()
        leader = lab[cluster.settle(lab)]
        other = next(agent for agent in lab.live() if agent is not leader)
        askers = Askers(lab, leader, other)
        wait_for("the socket for all logins", lambda: pathlib.Path(askers.door).exists(), 10)
        cluster.submit(leader, 20, 1, ["sleep", "600"])  # Something to list.
        time.sleep(SETTLED_S)
        before = askers.ask(quiet)
        busy = compare(before, busy_beside(askers, quiet), "busy")
        with Memory(leader.process.pid) as memory:
            crowding = askers.start(CROWDING, askers.crowd, connections, seconds + 1, askers.door)
            time.sleep(0.5)
            began, threads = time.monotonic(), threads_of(leader.process.pid)
            meanwhile = askers.ask(seconds)
            used = busiest(threads, threads_of(leader.process.pid), time.monotonic() - began)
            said = crowding.communicate()[0].strip()
        if crowding.returncode != 0 or len(lab.live()) != len(lab.names):
            raise Broken(f"the crowd or an agent ended: {said}")
        verdicts = sum(len(VERDICT.findall(agent.log.read_text())) for agent in lab.live())
        now = cluster.leader_of(lab)
        print(f"# {said}; leader {leader.name} then {now}, {verdicts} verdicts, pss "
              f"{memory.before:.1f} to {memory.most:.1f} MB, threads {used}", flush=True)
        worst = compare(before, meanwhile, "crowd")
        for name in before:
            figure(f"crowd_{name}_p99_quiet", quantile(before[name], 0.99), "ms")
            figure(f"crowd_{name}_p99", quantile(meanwhile[name], 0.99), "ms")
    figure("crowd_p99_ratio", worst, "x")
    figure("crowd_busy_p99_ratio", busy, "x")
    figure("crowd_verdicts_false", verdicts, "count")
    figure("crowd_growth", memory.most - memory.before, "MB")
