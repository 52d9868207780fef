"""Ten thousand submits through five nodes while the leader's agent is killed every five seconds
and started again a second later. Every submit carries a key and is tried until a node says yes; the
jobs run, and each writes its number into a ledger. Afterwards every key is submitted once more:
what was acknowledged must be known by the same number, and nothing may exist or have run twice."""

import collections
import secrets
import subprocess
import time

import story
from lab import ROOT, Failure, Lab, wait_for

BENCH = ROOT / "build" / "release" / "bench"
EVERY_S = 5
DOWN_S = 1
AGAIN_S = 600
STILL_S = 30


class Storm:
    """The load: one process with a connection to each node, and a file of its answers."""

    def __init__(self, lab, count, a_second):
        self.prefix = secrets.token_hex(8)
        self.ledger = lab.directory / "starts"
        self.lab = lab
        self.count = count
        self.a_second = a_second

    def start(self, a_second, name):
        path = self.lab.directory / name
        command = [str(BENCH / "bench_submit_storm"), self.prefix, str(self.count), str(a_second),
                   *[str(agent.data / "agent.sock") for agent in self.lab.agents.values()],
                   "--", str(BENCH / "bench_stamp"), str(self.ledger), "0"]
        with open(path, "w") as out:
            return subprocess.Popen(command, stdout=out), path

    def run(self, meanwhile):
        process, path = self.start(self.a_second, "first")
        try:
            while process.poll() is None:
                meanwhile()
        finally:
            if process.poll() is None:
                process.kill()
        if process.returncode != 0:
            raise Failure("a submit was refused for good")
        return answers(path)

    def again(self):
        process, path = self.start(0, "again")
        if process.wait(timeout=AGAIN_S) != 0:
            raise Failure("a submit that was acknowledged is refused when it is repeated")
        return answers(path)

    def runs(self):
        """{job: times it began}."""
        lines = self.ledger.read_text().splitlines() if self.ledger.exists() else []
        return collections.Counter(int(line.split()[1]) for line in lines)


def answers(path):
    """{key: [job, tries, ms]}."""
    found = {}
    for line in path.read_text().splitlines():
        words = line.split()
        found[words[1]] = (int(words[3]), int(words[7]), float(words[9]))
    return found


def leader_of(lab):
    names = {(agent.ask("quorum") or {}).get("leader") for agent in lab.live()}
    return names.pop() if len(names) == 1 and names != {None} else ""


class Reaper:
    """Kills the leader's agent every EVERY_S and starts it again DOWN_S later."""

    def __init__(self, lab):
        self.lab = lab
        self.killed = 0
        self.next = time.monotonic() + EVERY_S

    def turn(self):
        time.sleep(0.05)
        if time.monotonic() < self.next:
            return
        name = leader_of(self.lab)
        if not name:
            return
        self.next = time.monotonic() + EVERY_S
        self.lab[name].kill_agent()
        self.killed += 1
        time.sleep(DOWN_S)
        self.lab[name].start()


def await_runs(storm, jobs):
    """Until all of them ran, or none began for STILL_S."""
    seen, since = -1, time.monotonic()
    while time.monotonic() - since < STILL_S:
        count = len(jobs & set(storm.runs()))
        if count == len(jobs):
            return
        if count != seen:
            seen, since = count, time.monotonic()
        time.sleep(1)


def completions(lab, job):
    """Attempts of it that completed."""
    answer = wait_for(f"job {job}", lambda: next(
        (a for a in (agent.ask("show", str(job)) for agent in lab.live()) if a), None), 20)
    return sum(1 for attempt in answer["attempts"] if attempt["cause"] == "completed")


def tell(base_port, count=10_000, a_second=120):
    """True when nothing was lost or doubled."""
    with Lab(base_port=base_port) as lab:
        story.step_1_form(lab)
        return weather(lab, count, a_second)


def weather(lab, count, a_second):
    storm, reaper = Storm(lab, count, a_second), Reaper(lab)
    began = time.monotonic()
    first = storm.run(reaper.turn)
    print(f"  {len(first)} submits acknowledged in {time.monotonic() - began:.0f} s, "
          f"{reaper.killed} leaders killed", flush=True)
    again = storm.again()
    jobs = {job for job, _, _ in first.values()}
    await_runs(storm, jobs)
    runs = storm.runs()
    moved = [key for key in first if key not in again or again[key][0] != first[key][0]]
    shared = len(first) - len(jobs)
    strangers = [job for job in runs if job not in jobs]
    unrun = [job for job in jobs if job not in runs]
    began_twice = [job for job, times in runs.items() if times > 1]
    twice = [job for job in began_twice if completions(lab, job) > 1]
    taken = sorted(ms for _, _, ms in first.values())
    print(f"figure leaders_die_submits {len(first)} count")
    print(f"figure leaders_die_leaders_killed {reaper.killed} count")
    print(f"figure leaders_die_lost {len(moved) + len(unrun)} count")
    print(f"figure leaders_die_duplicated {shared + len(strangers) + len(twice)} count")
    print(f"figure leaders_die_began_twice {len(began_twice)} count")
    print(f"figure leaders_die_tried_again {sum(t > 1 for _, t, _ in first.values())} count")
    for name, share in (("p50", 0.5), ("p99", 0.99)):
        print(f"figure leaders_die_answer_{name} {taken[int(share * (len(taken) - 1))]:.1f} ms")
    print(f"figure leaders_die_answer_max {taken[-1]:.1f} ms", flush=True)
    for name, of in (("moved", moved), ("strangers", strangers), ("never ran", unrun),
                     ("began twice", began_twice)):
        if of:
            print(f"  {name}: {of[:20]}", flush=True)
    return len(first) == count and not (moved or shared or strangers or unrun or twice)
