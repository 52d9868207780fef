"""The list of waiting jobs over the web door of a real cluster, as 100 rows and whole, on one kept
connection of TLS; beside it squeue and slurmrestd with as many pending jobs of a slurmctld."""

import contextlib
import json
import os
import pathlib
import resource
import threading
import time

import cluster
import slurm_beside
from cluster import Broken, figure, quantile
from lab import Lab, wait_for
from system import cpu_seconds
from web_client import WRITER, Door, answers, give_doors, make_token, request_bytes

BASE_PORT = 9350
DOOR_PORT = 10050
HOSTS = "abc"
PAGE = 1000  #: The most rows that a page may have.
SOME = 100
SUBMITTED_AT_ONCE = 50
START_S = 60
#: A user may submit 1,000 jobs at once, then 100 a second (scheduler/access/change_pace.h).
FILL_S = 600
PACE_PAUSE_S = 0.2
NS_A_MS = 1e6
LEAST_TOLD_MS = 0.1
JOB = {"command": ["sleep", "100000"], "directory": "/", "gpus": 8, "name": "waits"}


def used_ms(pid):
    """{name of a thread: milliseconds of processor that it used}, those of one name together; "all"
    has those that ended, too, but counts in ticks of the clock."""
    used = {"all": 1000 * cpu_seconds(pid)}
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(OSError):  # It may end meanwhile.
            name = (task / "comm").read_text().strip()
            took = int((task / "schedstat").read_text().split()[0]) / NS_A_MS
            used[name] = used.get(name, 0.0) + took
    return used


class Way:
    """One way to a list: its times, and the processor time that its servers took meanwhile."""

    def __init__(self, name, ask, servers):
        self.name = name
        self.ask = ask  #: Gives [(bytes, what each row has once)].
        self.servers = servers  #: {name: pid}
        self.size = 0
        self.forget()

    def forget(self):
        self.took = []
        self.client_ms = 0.0
        self.server_ms = {}

    def play(self, count):
        before = {name: used_ms(pid) for name, pid in self.servers.items()}
        client = client_ms()
        began = time.perf_counter()
        told = self.ask()
        self.took.append(1000 * (time.perf_counter() - began))
        self.client_ms += client_ms() - client
        for name, pid in self.servers.items():
            for thread, used in used_ms(pid).items():
                key = f"{name} {thread}"
                more = used - before[name].get(thread, 0.0)
                self.server_ms[key] = self.server_ms.get(key, 0.0) + more
        rows = sum(each.count(mark) for each, mark in told)
        if rows != count:
            raise Broken(f"{self.name}: {rows} rows, not {count}")
        self.size = sum(len(each) for each, _ in told)

    def tell(self):
        figure(self.name, quantile(self.took, 0.5), "ms")
        figure(f"{self.name}_p99", quantile(self.took, 0.99), "ms")
        rounds = len(self.took)
        busy = sorted(self.server_ms.items(), key=lambda each: -each[1])
        text = ", ".join(f"{name} {used / rounds:.1f}" for name, used in busy
                         if used / rounds >= LEAST_TOLD_MS)
        print(f"# {self.name}: {self.size} bytes; ms of processor a round: client "
              f"{self.client_ms / rounds:.2f}; {text}", flush=True)

    @property
    def p50(self):
        return quantile(self.took, 0.5)


def client_ms():
    """Of this process and of the programs that it ran."""
    used = 0.0
    for of in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN):
        times = resource.getrusage(of)
        used += 1000 * (times.ru_utime + times.ru_stime)
    return used


def order(agent, *words):
    code, out, err = agent.cli(*words)
    if code != 0:
        raise Broken(f"{' '.join(words)} exited {code}: {out}{err}")


def fill(agent, count):
    """So many jobs of their own, as fast as the pace of a user lets them in."""
    content = json.dumps(JOB).encode()
    submit = request_bytes("POST", "/v1/jobs", [WRITER, ("content-type", "application/json")],
                           content)
    left, end = count, time.monotonic() + FILL_S
    with Door(agent) as door:
        while left:
            told = door.send_all([(submit, "POST")] * min(left, SUBMITTED_AT_ONCE))
            accepted = sum(each is not None and each.status == 201 for each in told)
            left -= accepted
            refused = [each for each in told if each is None or each.status != 201]
            if any(each is None or each.status not in (429, 503) for each in refused):
                raise Broken(f"a submit failed: {refused[0] and refused[0].text()}")
            if time.monotonic() > end:
                raise Broken(f"{left} jobs were not accepted in {FILL_S} s")
            time.sleep(PACE_PAUSE_S if refused else 0)


def prepare(lab):
    """The door of a; its hosts take no job, so that all jobs wait."""
    door = give_doors(lab, DOOR_PORT)["a"]
    lab.start()
    leader = lab[cluster.settle(lab, START_S)]
    for host in HOSTS:
        # A host that has not registered yet is not known to the quorum.
        wait_for(f"host {host} is drained",
                 lambda host=host: leader.cli("hosts", "drain", host)[0] == 0, 10)
    wait_for("the door", lambda: answers(door), 20)
    path = lab.directory / "token"
    order(lab["a"], "token", "create", "--for", "list", "--may", "read,submit", "--out", str(path))
    door.access = path.read_text().strip()
    print(f"# {leader.name} leads, a is asked", flush=True)
    return door


def listed(door, target):
    answer = door.get(target)
    if answer is None or answer.status != 200:
        raise Broken(f"GET {target}: {answer and answer.text()}")
    return answer


def pages_of(door):
    """[(body, what each row has once)] of all jobs, by pages."""
    pages, after = [], "0"
    while after:
        answer = listed(door, f"/v1/jobs?after={after}&limit={PAGE}")
        pages.append((answer.body, b'"job_id":'))
        after = answer.fields.get("muster-next")
    return pages


def check_waiting(door, count):
    """The pages hold each job once, and each waits."""
    # This host may hear of the last ones a moment after who submitted them.
    wait_for("all jobs are listed", lambda: len(rows_of(door)) >= count, 10)
    rows = rows_of(door)
    known, states = {row["job_id"] for row in rows}, sorted({row["state"] for row in rows})
    if (len(rows), len(known), states) != (count, count, ["queued"]):
        raise Broken(f"{len(rows)} rows with {len(known)} jobs, {', '.join(states)}")


def rows_of(door):
    return [row for body, _ in pages_of(door) for row in json.loads(body)["jobs"]]


def ways_of_muster(lab, door):
    agent = lab["a"]
    servers = {"muster": agent.process.pid}

    def printed():
        code, out, err = agent.cli("jobs", "--json", timeout=30)
        if code != 0:
            raise Broken(f"jobs --json exited {code}: {err}")
        return [(out.encode(), b'"job_id":')]

    def one(target):
        return lambda: [(listed(door, target).body, b'"job_id":')]

    return [(Way("list_100_ms", one(f"/v1/jobs?after=0&limit={SOME}"), servers), SOME),
            (Way("list_newest_100_ms", one(f"/v1/jobs?limit={SOME}"), servers), SOME),
            (Way("list_all_ms", lambda: pages_of(door), servers), None),
            (Way("list_once_ms", one("/v1/jobs"), servers), None),
            (Way("cli_all_ms", printed, servers), None)]


def ways_of_slurm(slurm):
    servers = {name: slurm.pid(name) for name in ("slurmctld", "slurmrestd")}
    link = slurm.link()

    def rest():
        answer = link.request("GET", f"{slurm_beside.API}/jobs")
        if answer is None or answer.status != 200:
            raise Broken(f"slurmrestd: {answer and answer.text()[:300]}")
        return [(answer.body, b'"job_id":')]

    # Its --json leaves every filter out.
    some = ",".join(str(job) for job in range(1, SOME + 1))
    return [(Way("squeue_all_ms", lambda: [(slurm.squeue("--json"), b'"job_id":')], servers), None),
            (Way("squeue_100_ms", lambda: [(slurm.squeue("-h", "-o", "%all", "-j", some), b"\n")],
                 servers), SOME),
            (Way("squeue_text_all_ms", lambda: [(slurm.squeue("-h"), b"\n")], servers), None),
            (Way("slurmrestd_all_ms", rest, servers), None)]


def ratios(of):
    """`of`: {figure: its median}."""
    for name, ours, theirs in (("list_all_per_squeue", "list_all_ms", "squeue_all_ms"),
                               ("list_all_per_slurmrestd", "list_all_ms", "slurmrestd_all_ms"),
                               ("list_100_per_squeue", "list_100_ms", "squeue_100_ms"),
                               ("cli_all_per_squeue", "cli_all_ms", "squeue_all_ms")):
        if theirs in of:
            figure(name, of[ours] / of[theirs], "x")


def fill_both(agent, slurm, jobs):
    """At once: Muster lets a user in at a pace."""
    wrong = []

    def fill_slurm():
        try:
            slurm.submit(jobs)
        except Exception as error:  # Told to the other thread.
            wrong.append(error)

    other = threading.Thread(target=fill_slurm, daemon=True)
    if slurm is not None:
        other.start()
    began = time.monotonic()
    fill(agent, jobs)
    print(f"# {jobs} jobs were submitted in {time.monotonic() - began:.0f} s", flush=True)
    if slurm is not None:
        other.join(FILL_S)
        if wrong or other.is_alive():
            raise wrong[0] if wrong else Broken("the jobs of Slurm were not taken in time")


def slurm_here(with_slurm):
    """Whether Slurm is measured, too; else the reason is printed."""
    lacking = slurm_beside.lacking()
    reason = ("--slurm 0" if not with_slurm else
              "only root runs its programs so" if os.geteuid() != 0 else
              f"no {', '.join(lacking)} (Debian: slurm-wlm slurmrestd munge)" if lacking else "")
    if reason:
        print(f"# Slurm: {reason}: left out", flush=True)
    return not reason


def measure(ways, jobs, rounds):
    """`ways`: (a way, its rows or None for all, its rounds). Each turn asks every way once."""
    for turn in range(1 + rounds):
        for way, count, least in ways:
            if turn <= least:
                way.play(count or jobs)
            if turn == 0:  # Connections, and pages of memory, are there from then on.
                way.forget()


def web_list(jobs=10000, rounds=50, slurm=50):
    """`slurm`: so many of the rounds ask it, too; each of them takes seconds."""
    if jobs < SOME or rounds < 1:
        raise Broken(f"--jobs is at least {SOME}, --rounds 1")
    with contextlib.ExitStack() as ends:
        lab = ends.enter_context(Lab(HOSTS, base_port=BASE_PORT))
        door = ends.enter_context(prepare(lab))
        other = None
        if slurm_here(slurm):
            other = ends.enter_context(slurm_beside.Slurm(lab.directory / "slurm"))
        fill_both(lab["a"], other, jobs)
        check_waiting(door, jobs)
        ways = [(*each, rounds) for each in ways_of_muster(lab, door)]
        ways += [(*each, min(rounds, slurm)) for each in ways_of_slurm(other)] if other else []
        measure(ways, jobs, rounds)
        if len(lab.live()) != len(HOSTS):
            raise Broken("an agent ended")
        if other:
            other.check()
    for way, _, _ in ways:
        way.tell()
    ratios({way.name: way.p50 for way, _, _ in ways})
