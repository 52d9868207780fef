"""Random faults for half an hour under a steady load: keyed submits through any node, whose ranks
lock their GPU and keep a ledger. Afterwards nothing may be lost, doubled, or have run whole twice.

The faults are a scenario file, drawn from the seed and kept beside the data when something broke."""

import collections
import json
import pathlib
import random
import secrets
import shutil
import subprocess
import sys
import tempfile
import threading
import time

import lab
import weather
from real import driver, files

PROGRAM = str(lab.ROOT / "scenarios" / "jobs" / "locked.py")
SUBMITS_AT_ONCE = 24
TRIES_MAX = 200
AGAIN_SHARE = 0.2
END_S = 420
VOTES_EVERY_S = (20, 60)
VOTERS_LEAST = 3
FINAL = ("completed", "failed", "cancelled")


class Load:
    """Submits one job after the other, each under its key, until a node says yes."""

    def __init__(self, cluster, pace, seed):
        self.cluster = cluster
        self.pace = pace
        self.random = random.Random(seed)
        self.ledger = cluster.directory / "ledger"
        self.sizes = {}  #: Key -> GPUs.
        self.accepted = collections.defaultdict(set)  #: Key -> numbers that it was accepted as.
        self.refused = []
        self.ends = threading.Event()
        self.room = threading.BoundedSemaphore(SUBMITS_AT_ONCE)
        self.threads = []
        self.clock = threading.Thread(target=self._run, daemon=True)

    def _run(self):
        while not self.ends.wait(self.random.expovariate(1 / self.pace)):
            self.room.acquire()
            key = secrets.token_hex(16)
            self.sizes[key] = self.random.choice([1, 1, 2, 3, 4, 6, 8, 12])
            words = ["submit", "--json", "--key", key, "--name", key, "--grace", "2s",
                     "--gpus", str(self.sizes[key])]
            words += self.random.choice([[], ["--isolation", "15s"]])
            seconds = self.random.choice([0.2, 2, 5, 12])
            words += ["--", sys.executable, PROGRAM, str(self.ledger), str(seconds)]
            again = self.random.random() < AGAIN_SHARE
            thread = threading.Thread(target=self._submit, args=(key, words, again), daemon=True)
            self.threads.append(thread)
            thread.start()

    def _submit(self, key, words, again):
        try:
            for _ in range(1 + again):
                self._until_accepted(key, words)
        finally:
            self.room.release()

    def _until_accepted(self, key, words):
        for _ in range(TRIES_MAX):
            door = self.cluster[random.choice(self.cluster.names)]
            try:
                code, out, err = door.cli(words[0], "--timeout", "5s", *words[1:], timeout=20)
            except subprocess.TimeoutExpired:
                continue
            if code == 0:
                self.accepted[key].add(json.loads(out)["job_id"])
                return
            if code in (2, 3, 4, 6, 7):  # Nothing that a later try would mend.
                self.refused.append((key, code, err.strip()))
                return
            time.sleep(0.5)

    def start(self):
        self.clock.start()

    def finish(self):
        """All submits are through, all jobs have ended: {key: [job as listed]}."""
        self.ends.set()
        self.clock.join()
        for thread in self.threads:
            thread.join()
        wanted = set(self.accepted)

        def listed():
            answer = next((each for each in (agent.ask("jobs", "--all", timeout=30)
                                             for agent in self.cluster.live()) if each), None)
            jobs = collections.defaultdict(list)
            for job in answer["jobs"] if answer else []:
                jobs[job["name"]].append(job)
            self.last = jobs
            is_over = all(jobs[key] and all(job["state"] in FINAL for job in jobs[key])
                          for key in wanted)
            return jobs if is_over else None

        try:
            return lab.wait_for("all jobs have ended", listed, END_S)
        except lab.Failure:
            return self.last


class Votes:
    """An operator who adds a voter and takes one away, again and again."""

    def __init__(self, cluster, seed):
        self.cluster = cluster
        self.random = random.Random(seed)
        self.taken = 0  #: Changes that were accepted.
        self.ends = threading.Event()
        self.thread = threading.Thread(target=self._run, daemon=True)

    def _run(self):
        while not self.ends.wait(self.random.uniform(*VOTES_EVERY_S)):
            door = self.cluster[self.random.choice(self.cluster.names)]
            answer = door.ask("quorum", timeout=20)
            voters = [each["host"] for each in answer["voters"]] if answer else []
            if not voters:
                continue
            is_more = len(voters) <= VOTERS_LEAST
            rest = [name for name in self.cluster.names if name not in voters]
            name = self.random.choice(rest if is_more else voters)
            try:
                code, _, _ = door.cli("quorum", *(["add"] if is_more else ["remove", "--yes"]), name, timeout=20)
            except subprocess.TimeoutExpired:
                code = 75
            self.taken += code == 0

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.ends.set()
        self.thread.join()


class Chaos(driver.Run):
    """One run of one drawn file, with the load beside it."""

    def __init__(self, scenario, directory, pace, seed):
        super().__init__(scenario, directory)
        self.pace = pace
        self.seed = seed

    def _perform(self, cluster):
        self.load = Load(cluster, self.pace, self.seed)
        self.load.start()
        with Votes(cluster, self.seed) as self.votes:
            super()._perform(cluster)
        self.jobs = self.load.finish()
        self.attempts = {job["job_id"]: self._attempts(cluster, job["job_id"])
                         for jobs in self.jobs.values() for job in jobs}

    def _attempts(self, cluster, number):
        for agent in cluster.live():
            answer = agent.ask("show", str(number))
            if answer:
                return answer["attempts"]
        return []

    def _collect(self, cluster):
        """Clocks jumped: a timeline would be none."""


def whole_attempts(ledger):
    """{job: {attempt: ranks that came to their end}}, and the lines of GPUs that had two ranks."""
    ends = collections.defaultdict(lambda: collections.defaultdict(set))
    twice = []
    for line in ledger.read_text().splitlines() if ledger.exists() else []:
        kind, job, attempt, rank, *rest = line.split()
        if kind == "end":
            ends[int(job)][int(attempt)].add(int(rank))
        else:
            twice.append(line)
    return ends, twice


def judge(run):
    """Prints figures; True when nothing was lost, doubled or whole twice."""
    load = run.load
    ends, gpu_twice = whole_attempts(load.ledger)
    lost, doubled, whole_twice = [], [], []
    for key, numbers in load.accepted.items():
        jobs = run.jobs.get(key, [])
        if len(numbers | {job["job_id"] for job in jobs}) > 1:
            doubled.append((key, sorted(numbers)))
        for job in jobs:
            whole = [attempt for attempt, ranks in sorted(ends[job["job_id"]].items())
                     if len(ranks) == load.sizes[key]]
            logged = [each for each in run.attempts[job["job_id"]] if each["cause"] == "completed"]
            if len(whole) > 1 or len(logged) > 1:
                causes = [(each["attempt"], each["cause"]) for each in run.attempts[job["job_id"]]]
                whole_twice.append((job["job_id"], load.sizes[key], whole, causes))
        if not any(job["state"] == "completed" for job in jobs):
            lost.append((key, sorted(numbers), [job["state"] for job in jobs]))
    again = sum(len(attempts) > 1 for attempts in run.attempts.values())
    for name, value in (("jobs", len(load.accepted)), ("run_again", again),
                        ("voter_changes", run.votes.taken),
                        ("whole_twice", len(whole_twice)), ("lost", len(lost)),
                        ("doubled", len(doubled)), ("gpu_twice", len(gpu_twice)),
                        ("refused", len(load.refused))):
        print(f"figure chaos_{name} {value} count", flush=True)
    for name, of in (("lost", lost), ("doubled", doubled), ("whole twice", whole_twice),
                     ("GPU twice", gpu_twice), ("refused", load.refused)):
        for each in of[:20]:
            print(f"  {name}: {each}", flush=True)
    return not (lost or doubled or whole_twice or gpu_twice or load.refused)


def tell(_base_port, hosts=12, minutes=30, seed=1, pace_ms=1200):
    """True when every promise was kept."""
    why_not = lab.can_use_namespaces()
    if why_not:
        raise lab.Failure(f"each host gets a network namespace of its own, and here: {why_not}")
    directory = pathlib.Path(tempfile.mkdtemp(prefix="muster-chaos-", dir=lab.PLACE))
    path = directory / "weather.scenario"
    path.write_text(weather.Weather(hosts, minutes, seed).text())
    print(f"  {hosts} hosts, {minutes} min, seed {seed}: {path}", flush=True)
    run = Chaos(driver.scenario_of(files.TOOL, path, None), directory, pace_ms / 1000, seed)
    run.play()
    kept = judge(run)
    if kept:
        shutil.rmtree(directory, ignore_errors=True)
    else:
        print(f"# faults, data and logs are kept in {directory}", flush=True)
    return kept
