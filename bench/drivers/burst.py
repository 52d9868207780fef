"""One queue sends ten times its pace while others go on: fifty logins submit to five queues of a
real cluster, ten to each, in quiet and beside the burst. All hosts are drained, so no job starts.
Each accepted submit must be a job at the end, and each refusal must tell when to repeat it."""

import contextlib
import os
import shutil
import subprocess
import time

import cluster
from audit import AuditLab
from cluster import BASE_PORT, Broken, figure, quantile
from lab import Lab, wait_for

BURST = cluster.BUILD / "bench" / "bench_burst"
HOSTS = "abcde"
QUEUES = ("alpha", "beta", "delta", "gamma", "omega")
GREEDY = QUEUES[0]
#: Submits a second that each queue at the top may take (scheduler/access/change_pace.h).
PACE = 100
#: Of all honest queues together.
QUIET_PACE = PACE / 4
TIMES = 10  #: Of its pace.
LAST_ANSWERS_S = 30
#: After the first refusal: requests on their way have been answered.
SETTLED_MS = 1000
#: A rate of a shorter time says nothing.
RATE_S = 3
NO_QUORUM = "no quorum is reachable"  #: No limit refused it: its agent heard no leader.
TOLD = 5  #: Refusals without a time, in words.


class Client:
    """What one login submitted, and what it was told."""

    def __init__(self, queue):
        self.queue = queue
        self.accepted = []  #: (sent ms, ms to the answer, job)
        self.refused = []  #: (sent ms, ms after which it may be repeated or 0, text)
        self.unknown = 0

    def read(self, path):
        for line in path.read_text().splitlines():
            kind, *words = line.split(" ", 4)
            if kind == "accepted":
                self.accepted.append((float(words[0]), float(words[1]), int(words[2])))
            elif kind == "refused":
                self.refused.append((float(words[0]), int(words[2]), words[3]))
            else:
                self.unknown += 1
        return self


class Clients:
    """All logins; each has one connection to one agent."""

    def __init__(self, place, count):
        self.place = place
        self.binary = place.lab.directory / "burst"
        shutil.copy(BURST, self.binary)
        self.binary.chmod(0o755)
        self.of_queue = count // len(QUEUES)
        self.phases = 0

    def logins(self):
        """(number, login's uid, queue, host) of each."""
        for number, uid in enumerate(self.place.users.values()):
            yield number, uid, QUEUES[number // self.of_queue], HOSTS[number % len(HOSTS)]

    def _start(self, number, uid, words, path):
        with open(path, "w") as out:
            return subprocess.Popen([str(self.binary), *map(str, words)], stdout=out,
                                    stderr=subprocess.PIPE, text=True, cwd="/", user=uid, group=uid,
                                    extra_groups=[], stdin=subprocess.DEVNULL)

    def play(self, seconds, pace_of):
        """A Client for each login; `pace_of(queue)`: submits a second of all its logins."""
        self.phases += 1
        started = []
        with contextlib.ExitStack() as ends:
            for number, uid, queue, host in self.logins():
                path = self.place.lab.directory / f"client-{self.phases}-{number:02}"
                socket = self.place.lab.directory / "run" / f"{host}.sock"
                prefix = f"{self.phases:08x}{number:08x}"
                words = ("submit", socket, queue, prefix, pace_of(queue) / self.of_queue, seconds,
                         number / len(self.place.users), 1)
                process = self._start(number, uid, words, path)
                ends.callback(process.kill)
                started.append((queue, process, path))
            until = time.monotonic() + seconds + LAST_ANSWERS_S
            for queue, process, _ in started:
                try:
                    _, said = process.communicate(timeout=max(1, until - time.monotonic()))
                except subprocess.TimeoutExpired:
                    raise Broken(f"a client of queue {queue} does not end") from None
                if process.returncode != 0:
                    raise Broken(f"a client of queue {queue}: {said.strip()}")
        return [Client(queue).read(path) for queue, _, path in started]


def order(agent, *words):
    code, out, err = agent.cli(*words)
    if code != 0:
        raise Broken(f"{' '.join(words)} exited {code}: {out}{err}")


def prepare(lab):
    """No host takes a job, and the queues are there."""
    leader = lab[cluster.settle(lab)]
    for host in HOSTS:
        # A host that has not registered yet is not known to the quorum.
        wait_for(f"host {host} is drained",
                 lambda host=host: leader.cli("hosts", "drain", host)[0] == 0, 10)
    path = lab.directory / "queues.toml"
    path.write_text("".join(f'[queue."{queue}"]\nweight = {1 + number}\n'
                            for number, queue in enumerate(QUEUES)))
    order(leader, "queue", "import", str(path))


def jobs_of(lab):
    """{job: queue} of all that the leader knows."""
    done = subprocess.run([str(BURST), "jobs", cluster.socket_of(lab.live()[0])],
                          capture_output=True, text=True)
    if done.returncode != 0:
        raise Broken(f"the jobs at the end: {done.stderr.strip()}")
    rows = (line.split() for line in done.stdout.splitlines())
    return {int(job): queue for job, queue in rows}


def lost_of(clients, jobs):
    """Accepted submits without a job of their own in their queue."""
    lost, seen = 0, set()
    for client in clients:
        for _, _, job in client.accepted:
            lost += jobs.get(job) != client.queue or job in seen
            seen.add(job)
    return lost


def rate_over(greedy, end_ms):
    """Accepted a second above the pace, once the burst allowance is used; nothing if it was not."""
    refused = [sent for client in greedy for sent, _, text in client.refused
               if f"submits to queue {GREEDY}" in text]
    if not refused:
        return None
    begin_ms = min(refused) + SETTLED_MS
    seconds = (end_ms - begin_ms) / 1000
    if seconds < RATE_S:
        return None
    accepted = sum(begin_ms <= sent < end_ms for client in greedy
                   for sent, _, _ in client.accepted)
    print(f"# the allowance was used {seconds:.1f} s before the end; then {accepted} were accepted",
          flush=True)
    return max(0.0, accepted / seconds - PACE)


def waits_of(clients):
    return [took for client in clients if client.queue != GREEDY
            for _, took, _ in client.accepted]


def tell_refused(clients, what):
    """The refusals without a time to repeat them, and those for want of a quorum."""
    refused = [(after, text) for client in clients for _, after, text in client.refused]
    no_quorum = sum(text.startswith(NO_QUORUM) for _, text in refused)
    unexplained = [text for after, text in refused
                   if after == 0 and not text.startswith(NO_QUORUM)]
    for text in sorted(set(unexplained))[:TOLD]:
        print(f"# {what}: {unexplained.count(text)} times refused without a time: {text}",
              flush=True)
    print(f"# {what}: {sum(len(client.accepted) for client in clients)} accepted, "
          f"{len(refused)} refused, {sum(client.unknown for client in clients)} unknown", flush=True)
    return len(unexplained), no_quorum


def burst(quiet=30, burst=60, clients=50):
    """`clients`: logins, a fifth of them for each queue."""
    if os.geteuid() != 0:
        raise Broken("needs root: agents that answer other logins, and logins")
    if clients < len(QUEUES) or clients % len(QUEUES) != 0:
        raise Broken(f"--clients is a multiple of {len(QUEUES)}")
    with Lab(HOSTS, base_port=BASE_PORT, gpus="sim:8xH100") as lab:
        place = AuditLab(lab, clients)
        for name in HOSTS:
            lab[name].flags = {}
        place.start()
        prepare(lab)
        logins = Clients(place, clients)
        before = logins.play(quiet, lambda _: QUIET_PACE / len(QUEUES))
        honest = QUIET_PACE / (len(QUEUES) - 1)
        meanwhile = logins.play(burst, lambda queue: TIMES * PACE if queue == GREEDY else honest)
        end_ms = max((sent for client in meanwhile for sent, _, _ in client.accepted), default=0.0)
        unexplained, no_quorum = map(sum, zip(tell_refused(before, "quiet"),
                                              tell_refused(meanwhile, "burst")))
        lost = lost_of(before + meanwhile, jobs_of(lab))
        if len(lab.live()) != len(HOSTS):
            raise Broken("an agent ended")
    greedy = [client for client in meanwhile if client.queue == GREEDY]
    calm, busy = waits_of(before), waits_of(meanwhile)
    if not calm or not busy:
        raise Broken("no honest submit was accepted")
    over = rate_over(greedy, end_ms)
    if over is None:
        print("# the burst allowance was not used long enough before the end", flush=True)
    figure("burst_lost", lost, "count")
    figure("burst_unexplained", unexplained, "count")
    figure("burst_no_quorum", no_quorum, "count")
    figure("burst_over", over or 0.0, "1/s")
    figure("burst_accepted", sum(len(client.accepted) for client in greedy), "count")
    figure("burst_quiet_p99", quantile(calm, 0.99), "ms")
    figure("burst_busy_p99", quantile(busy, 0.99), "ms")
    figure("burst_others_p99", quantile(busy, 0.99) / quantile(calm, 0.99), "x")
