"""GPUs between two grants: real ranks on a driver that is a fake, which says what is left on them.

The bench knows what is left, for it tells the fake: each process of a grant uses the GPUs of its
grant while it lives, the memory of a dead one stays a while, and strangers come and go. A rank that
begins on a GPU on which something is left is a dirty offer."""

import contextlib
import datetime
import json
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import threading
import time

import cluster
from cluster import Broken, figure
from fake_gpus import LIBRARY, FakeGpus, uuid_of
from lab import MUSTER, Agent, Enough, Lab, wait_for

HERE = pathlib.Path(__file__).resolve().parent
GPUS = 8
MINORS = {uuid_of(minor): minor for minor in range(GPUS)}
LOGIN = ("games", 5, 60)
LOOK_S = 0.02
SEEN_S = 0.3  #: A grant lives so long at least: then it is seen.
QUEUED = 12
#: The fake counts memory to the look at which it finds a process dead.
SLACK_S = 0.05
LEAKED_S = 60
RESET_S = 2  #: The time that the hooks take, which do nothing.
MIB = 1 << 20
#: How the program of a grant goes about its end.
PROGRAMS = {
    "ends": "exit 0",
    "forks": "(setsid sleep 600 &) ; (sleep 600 & sleep 600 &) ; exit 0",
    "bomb": "for i in $(seq 40); do sleep 600 & done; exit 0",
    "ignores": "trap '' TERM; (trap '' TERM; sleep 600 & wait; sleep 600) & kill -9 $$",
    "holds": "sleep 0.5; exit 0",
}


class WatchedAgent(Agent):
    """Root's agent on a host with nodes of GPUs."""

    def command(self, **changes):
        return [sys.executable, str(HERE / "gpu_host.py"), str(self.lab.directory), str(GPUS), "--",
                *super().command(**changes)]


class Driver(FakeGpus):
    """The fake's folder: GPUs, and what is left on each."""

    def __init__(self, folder, hides=False):
        self.hides = hides  #: It tells of no process and no memory of one.
        self.users = [{} for _ in range(GPUS)]  #: By GPU: {pid: bytes}.
        self.late_ms = [0] * GPUS  #: For which memory of the dead stays.
        super().__init__(folder, GPUS)

    def write(self, minor):
        told = {} if self.hides else self.users[minor]
        processes = ",".join(f"{pid}:{size}" for pid, size in told.items())
        self.change(minor, processes=processes, free_late_ms=self.late_ms[minor])


class Truth:
    """Follows the processes of grants through their control groups, and judges each beginning."""

    def __init__(self, root, driver, seed):
        self.root = root
        self.driver = driver
        self.random = random.Random(seed)
        self.grants = {}      # token: its minors, while it has processes.
        self.busy_until = [0.0] * GPUS  # When the memory of the last grant is gone.
        self.strangers = [[] for _ in range(GPUS)]  # (process, when it is ended).
        self.grants_seen = 0
        self.dirty = []
        self.freed = [None] * GPUS  # When nothing was left any more.
        self.delays = []
        self.long = set()     # pids of strangers that stay for longer than a leak takes.
        self.lock = threading.Lock()
        self.is_over = False
        self.thread = threading.Thread(target=self._follow, daemon=True)
        self.thread.start()

    def _follow(self):
        while not self.is_over:
            with self.lock:
                self._look(time.monotonic())
            time.sleep(LOOK_S)

    def _look(self, now):
        self._end_strangers(now)
        alive = {path.name: path for path in self.root.iterdir() if path.is_dir()}
        for token, path in alive.items():
            self._see(token, path, now)
        for token in list(self.grants):
            if token not in alive or self._is_empty(alive[token]):
                self._end(token, now)

    @staticmethod
    def _pids(path):
        try:
            return [int(line) for line in (path / "ranks" / "cgroup.procs").read_text().split()]
        except OSError:
            return []

    def _is_empty(self, path):
        return not self._pids(path)

    def _see(self, token, path, now):
        pids = self._pids(path)
        if not pids:
            return
        if token not in self.grants:
            minors = self._gpus_of(pids)
            if minors is None:
                return
            self.grants[token] = minors
            self.grants_seen += 1
            for minor in minors:
                self._judge(token, minor, now)
                strangers = {process.pid for process, _ in self.strangers[minor]}
                self.driver.users[minor] = {pid: size for pid, size
                                            in self.driver.users[minor].items() if pid in strangers}
                self.driver.late_ms[minor] = self._next_late()
        for minor in self.grants[token]:
            users = self.driver.users[minor]
            new = [pid for pid in pids if pid not in users]
            if new:
                users.update((pid, 512 * MIB) for pid in new)
                self.driver.write(minor)

    def _gpus_of(self, pids):
        for pid in pids:
            try:
                environment = pathlib.Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
            except OSError:
                continue
            for line in environment:
                if line.startswith(b"CUDA_VISIBLE_DEVICES="):
                    return [MINORS[uuid] for uuid in line.decode().partition("=")[2].split(",")]
        return None

    def _judge(self, token, minor, now):
        others = [process.pid for process, _ in self.strangers[minor]]
        if others or now + SLACK_S < self.busy_until[minor]:
            self.dirty.append((token, minor, others, self.busy_until[minor] - now))
        if self.freed[minor] is not None:
            self.delays.append(now - max(self.freed[minor], self.busy_until[minor]))
            self.freed[minor] = None

    def _end(self, token, now):
        for minor in self.grants.pop(token):
            self.busy_until[minor] = now + self.driver.late_ms[minor] / 1000
            self.freed[minor] = now
            for _, until in self.strangers[minor]:
                self.freed[minor] = max(self.freed[minor], until)

    def _next_late(self):
        """Most drivers free at once, some take a while."""
        return self.random.choice([0, 0, 0, 50, 300, 1500])

    def add_stranger(self, stays_s):
        """On a GPU under a grant: one that comes onto an idle GPU is seen by nobody in time. False
        if there is no such GPU."""
        with self.lock:
            held = {minor for minors in self.grants.values() for minor in minors}
            free = sorted(minor for minor in held if not self.strangers[minor])
            if not free:
                return False
            self._add(self.random.choice(free), stays_s)
            return True

    def _add(self, minor, stays_s):
        process = subprocess.Popen(["sleep", "900"], user=65534, group=65534, extra_groups=[],
                                   stdin=subprocess.DEVNULL)
        if stays_s > LEAKED_S:
            self.long.add(process.pid)
        self.strangers[minor].append((process, time.monotonic() + stays_s))
        self.driver.users[minor][process.pid] = 256 * MIB
        self.driver.write(minor)

    def _end_strangers(self, now):
        for minor in range(GPUS):
            for process, until in [one for one in self.strangers[minor] if one[1] <= now]:
                process.kill()
                process.wait()
                self.strangers[minor].remove((process, until))
                self.driver.users[minor].pop(process.pid, None)
                self.driver.write(minor)

    def close(self):
        self.is_over = True
        self.thread.join(timeout=10)
        self._end_strangers(float("inf"))


def say(lab, *words):
    name, uid, gid = LOGIN
    home = lab.directory / "home"
    environment = {"PATH": os.environ["PATH"], "HOME": str(home), "USER": name,
                   "MUSTER_NODE": str(lab.directory / "run" / "a.sock")}
    return subprocess.run([str(lab.directory / "muster"), *words], capture_output=True, text=True,
                          cwd="/", env=environment, user=uid, group=gid, extra_groups=[],
                          timeout=30, stdin=subprocess.DEVNULL)


def submit(lab, kind, gpus):
    done = say(lab, "submit", "--json", "--gpus", str(gpus), "--cpus", "0.1", "--mem", "16M",
               "--grace", "300ms", "--", "/bin/sh", "-c",
               f"sleep {SEEN_S}; " + PROGRAMS[kind])
    if done.returncode != 0:
        raise Broken(f"submit: exit {done.returncode}: {done.stderr}")
    return json.loads(done.stdout)["job_id"]


def prepare(lab):
    folder = lab.directory
    folder.chmod(0o755)
    for name in ("lib", "stage", "home", "hooks/reset", "hooks/health"):
        (folder / name).mkdir(parents=True)
    for name in ("hooks/reset/10-reset", "hooks/health/10-test"):
        (folder / name).write_text(f"#!/bin/sh\nsleep {RESET_S}\n")
        (folder / name).chmod(0o755)
    os.chown(folder / "home", LOGIN[1], LOGIN[2])
    shutil.copy(MUSTER, folder / "muster")
    shutil.copy(LIBRARY, folder / "lib" / LIBRARY.name)


def group_roots():
    """The directories in which agents make the groups of grants."""
    for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines():
        words = line.split()
        if "cgroup2" in words[words.index("-"):]:
            return {path for path in pathlib.Path(words[4], "muster").glob("*") if path.is_dir()}
    return set()


def log_of(agent):
    return agent.log.read_text(errors="replace").splitlines()


def events_of(agent, name):
    return [line for line in log_of(agent) if name in line]


def play(lab, truth, grants, leaks, chooser):
    """Keeps the queue filled until so many grants were seen."""
    began = time.monotonic()
    sent, missed, leaked = 0, 0, 0
    progress = (0, began)
    deadline = began + 60 + grants * 1.5 + (LEAKED_S + 30) * (leaks > 0)
    while truth.grants_seen < grants and time.monotonic() < deadline:
        now = time.monotonic()
        if truth.grants_seen > progress[0]:
            progress = (truth.grants_seen, now)
        elif now > progress[1] + 10:  # Those on their way ended between two looks.
            missed, progress = sent - truth.grants_seen, (truth.grants_seen, now)
        while sent < truth.grants_seen + missed + QUEUED:
            submit(lab, chooser.choice(list(PROGRAMS)), chooser.choice([1, 1, 1, 2]))
            sent += 1
        if leaked < leaks and sent > 20:
            leaked += truth.add_stranger(LEAKED_S + 15)
        elif chooser.random() < 0.05:
            truth.add_stranger(chooser.choice([0.3, 1, 3]))
        time.sleep(0.05)
    if truth.grants_seen < grants:
        raise Broken(f"{truth.grants_seen} of {grants} grants began in "
                     f"{time.monotonic() - began:.0f} s")


def end_slice(*_):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise Enough


@contextlib.contextmanager
def watched_lab(hides=False):
    """A root agent with GPUs of a fake driver, once it offers them: (lab, agent, driver)."""
    with Lab("a", base_port=cluster.BASE_PORT, expect=1) as lab:
        signal.signal(signal.SIGTERM, end_slice)
        prepare(lab)
        driver = Driver(lab.directory / "nvml", hides)
        agent = lab.agents["a"] = WatchedAgent(lab, "a", lab["a"].port)
        agent.binary = lab.directory / "muster"
        agent.flags = {"gpus": f"nvml:{lab.directory / 'lib' / LIBRARY.name}"}
        agent.environment = {"MUSTER_FAKE_NVML": str(lab.directory / "nvml"),
                             "MUSTER_HOOKS": str(lab.directory / "hooks"),
                             "MUSTER_SHARED_USER": "false", "MUSTER_SYSTEM_USERS_MAY_RUN": "games"}
        lab.start()
        wait_for("GPUs", lambda: lab.check_started() and any(
            host["gpus"] for host in (agent.ask("hosts") or {"hosts": []})["hosts"]), 30)
        wait_for("all GPUs", lambda: f"gpus={GPUS}" in "".join(events_of(agent, "host_registered")),
                 30)
        yield lab, agent, driver


def clean(grants=2000, seed=1, leaks=4, planted=40):
    """`leaks` strangers stay for longer than a minute: each has to be named. First so many grants
    on a driver that tells nothing: dirty offers have to be found there."""
    if os.geteuid() != 0:
        print("# clean: left out, only root makes device nodes and control groups")
        return
    if planted:
        found = len(followed(planted, seed, 0, hides=True)[1].dirty)
        figure("clean_planted_found", found, "count")
        if not found:
            raise Broken("the bench is blind: it finds no dirty offer where each GPU may be dirty")
    report(*followed(grants, seed, leaks))


def followed(grants, seed, leaks, hides=False):
    """(the agent's log, what was found): so many grants, one after the other and side by side."""
    before = group_roots()
    with watched_lab(hides) as (lab, agent, driver):
        roots = group_roots() - before
        if not roots:
            raise Broken("this host has no control groups of version 2")
        truth = Truth(roots.pop(), driver, seed)
        try:
            play(lab, truth, grants, leaks, random.Random(seed))
            wait_for("the last grants", lambda: not truth.grants, 60)
            if leaks:
                wait_for("leaks", lambda: len(leaks_named(log_of(agent), truth.long)) >= leaks,
                         LEAKED_S + 30)
        finally:
            truth.close()
        return log_of(agent), truth


def leaks_named(log, pids):
    """Those that an event names, with program and user."""
    said = "\n".join(line for line in log if "gpu_leaked" in line)
    return {pid for pid in pids if re.search(rf"pid {pid} \(sleep of nobody\)", said)}


def report(log, truth):
    for token, minor, others, left in truth.dirty:
        print(f"# dirty: {token} on GPU {minor}: strangers {others}, memory for {left:.3f} s")
    figure("clean_grants", truth.grants_seen, "count")
    figure("dirty_offers", len(truth.dirty), "count")
    if truth.long:
        figure("leak_named", 100 * len(leaks_named(log, truth.long)) / len(truth.long), "%")
    delays = sorted(1000 * delay for delay in truth.delays)
    if delays:
        figure("next_rank_ms_p50", delays[len(delays) // 2], "ms")
        figure("next_rank_ms_p99", delays[int(len(delays) * 0.99)], "ms")
    if truth.dirty:
        raise Broken("ranks began on GPUs that were not clean")


def seconds_of(line):
    """The time of a line of the log, which is UTC."""
    stamp = line.split()[0].rstrip("Z")
    return datetime.datetime.fromisoformat(stamp).replace(
        tzinfo=datetime.timezone.utc).timestamp()


def first_behind(agent, text, when):
    """When the first such line behind that time was written; None = there is no."""
    return next((at for at in (seconds_of(line) for line in events_of(agent, text))
                 if at > when), None)


def masked(trials=20, code=119):
    """From an Xid that masks until the leader applied it, and until the GPU is offered again: reset
    and tested by hooks that do nothing."""
    if os.geteuid() != 0:
        print("# masked: left out, only root makes device nodes")
        return
    gone, back = [], []
    for first in range(0, trials, GPUS):  # A second reset within a day takes a GPU out of use.
        masked_on_each(min(GPUS, trials - first), code, gone, back)
    figure("masked_trials", trials, "count")
    figure("masked_s_max", max(gone), "s")
    figure("back_s_max", max(back), "s")


def masked_on_each(minors, code, gone, back):
    """One trial on each of the first GPUs of a new host; adds the seconds of each."""
    with watched_lab() as (_, agent, driver):
        for minor in range(minors):
            uuid = uuid_of(minor)
            began = time.time()
            with open(driver.folder / "events", "a", encoding="ascii") as file:
                file.write(f"{minor} {code}\n")
            lines = {"masked": f"gpu={uuid} from=ok to=masked",
                     "well": f"gpu={uuid} from=masked to=ok"}
            wait_for("the mask", lambda: first_behind(agent, lines["masked"], began), 30)
            told = first_behind(agent, lines["masked"], began)
            wait_for("the Observe", lambda: first_behind(agent, "host_observed", told - 0.002), 30)
            gone.append(first_behind(agent, "host_observed", told - 0.002) - began)
            wait_for("the end of the mask", lambda: first_behind(agent, lines["well"], began), 90)
            well = first_behind(agent, lines["well"], began)
            wait_for("the Observe", lambda: first_behind(agent, "host_observed", well - 0.002), 30)
            back.append(first_behind(agent, "host_observed", well - 0.002) - began)
