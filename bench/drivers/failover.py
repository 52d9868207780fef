"""From a fault of the leader to the next gang started, while a gang of 16 runs elsewhere.

Hosts a, b, c vote and offer H100; d and e offer A100 and hold the long gang. Right after each
fault a gang of two H100 is submitted by the CLI through a host that does not lead: it may be placed
on any of a, b, c, the one at fault included."""

import contextlib
import errno
import json
import os
import pathlib
import secrets
import shutil
import signal
import subprocess
import tempfile
import time

import cluster
import lab
from cluster import Broken, boot_ns, figure, figures
from lab import Failure, run, wait_for

NS_A_SECOND = 1e9
STARTED_WITHIN_S = 30
SLOW_SYNC = cluster.BUILD / "bench" / "libbench_slow_sync.so"
SLOW_MS = 1000
HANG_MS = 60_000
RETRY_S = 0.05
REST_S = 2
FEED = 400
FEED_S = 30
LONG_RANKS = 16
GANG_RANKS = 2
DISK = "96m"


class Fault:
    """What befalls the leader `agent`, and how it is undone."""

    namespaces = False
    unseats = True  #: Else the next trial would find the same leader.

    def prepare(self, five):
        """Before the agents start."""

    def strike(self, agent):
        """Nothing, or the moment from which to count, in ns since boot."""
        raise NotImplementedError

    def undo(self, agent):
        raise NotImplementedError

    def tell(self):
        """Figures of its own."""

    def close(self, five):
        """After the agents ended."""


class Kill(Fault):
    def strike(self, agent):
        agent.kill_agent()

    def undo(self, agent):
        agent.start()


class Stop(Fault):
    """The agent alone is frozen; then it is let go, believing that it leads."""

    def strike(self, agent):
        agent.process.send_signal(signal.SIGSTOP)

    def undo(self, agent):
        agent.process.send_signal(signal.SIGCONT)


class Mute(Fault):
    """It hears all and is heard by nobody."""

    namespaces = True

    def strike(self, agent):
        agent.lab.switch.cut_one_way([agent.name], others_of(agent))

    def undo(self, agent):
        agent.lab.switch.heal()


class Deaf(Mute):
    """It is heard by all and hears nobody."""

    def strike(self, agent):
        agent.lab.switch.cut_one_way(others_of(agent), [agent.name])


class Slow(Fault):
    """Each of its syncs takes a second."""

    unseats = False
    delay_ms = SLOW_MS

    def prepare(self, five):
        for agent in five.agents.values():
            agent.environment = {"LD_PRELOAD": str(SLOW_SYNC), "SLOW_SYNC_UNDER": str(agent.data),
                                 "SLOW_SYNC_FILE": str(self.switch_of(agent))}

    def switch_of(self, agent):
        return agent.lab.directory / f"slow-{agent.name}"

    def strike(self, agent):
        self.switch_of(agent).write_text(str(self.delay_ms))

    def undo(self, agent):
        self.switch_of(agent).write_text("0")


class Hang(Slow):
    """Its syncs do not end, until another leads."""

    delay_ms = HANG_MS

    def __init__(self):
        self.led_on = []

    def strike(self, agent):
        self.began = time.monotonic()
        super().strike(agent)

    def undo(self, agent):
        witness = agent.lab["d"]
        wait_for("another leader", lambda: (witness.ask("quorum") or {}).get("leader") not in (
            None, "", agent.name), STARTED_WITHIN_S)
        self.led_on.append(time.monotonic() - self.began)
        super().undo(agent)

    def tell(self):
        figures("failover_hang_replaced", self.led_on, "s")


class Full(Fault):
    """Its disk is full to the last block, and jobs come in until it has to write a block more: its
    environments have free pages for a while. Counted from the end of the agent, if it ends."""

    def prepare(self, five):
        for agent in five.agents.values():
            run("mount", "-t", "tmpfs", "-o", f"size={DISK},mode=0700", "tmpfs", str(agent.data))
            agent.log = five.directory / f"{agent.name}.log"  # Its last words must be readable.

    def strike(self, agent):
        with open(agent.data / "filler", "wb", buffering=0) as filler:
            for size in (1 << 20, 1 << 12, 1):
                self.fill(filler, size)
        other = agent.lab[others_of(agent)[0]]
        feeder = subprocess.Popen([str(cluster.PROBE), "submit", cluster.socket_of(other),
                                   str(FEED), "1", "--", "true"], stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL)
        until = time.monotonic() + FEED_S
        while agent.is_running() and feeder.poll() is None and time.monotonic() < until:
            time.sleep(0.001)
        now = boot_ns()
        feeder.kill()
        feeder.wait()
        return now

    def fill(self, filler, size):
        try:
            while True:
                filler.write(bytes(size))
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise

    def undo(self, agent):
        (agent.data / "filler").unlink()
        if not agent.is_running():
            agent.start()

    def close(self, five):
        for agent in five.agents.values():
            run("umount", "--lazy", str(agent.data), check=False)


FAULTS = {"kill": Kill, "stop": Stop, "mute": Mute, "deaf": Deaf, "slow": Slow, "hang": Hang,
          "full": Full}


def others_of(agent):
    return [name for name in agent.lab.names if name != agent.name]


@contextlib.contextmanager
def five_agents(fault):
    """Settled, with the long gang running; nothing is left of them afterwards."""
    reason = lab.can_use_namespaces() if fault.namespaces else ""
    if reason:
        raise Broken(f"a cable cannot be cut here: {reason}")
    directory = pathlib.Path(tempfile.mkdtemp(prefix="muster-failover-", dir=lab.PLACE))
    five = lab.Lab(namespaces=fault.namespaces, directory=directory, base_port=cluster.BASE_PORT)
    try:
        with five:
            for name in "de":
                five[name].flags = {"gpus": "sim:8xA100"}
            fault.prepare(five)
            five.start()
            cluster.settle(five)
            wait_for("a gang on all that a, b and c offer", lambda: five["a"].cli(
                "submit", "--wait", "--gpus", "24", "--gpu-type", "H100", "--", "true",
                timeout=60)[0] == 0, 30)
            yield five
    finally:
        fault.close(five)
    shutil.rmtree(directory, ignore_errors=True)


def failover(rounds=20, etcd=0, **asked):
    """`rounds` trials of each kind of fault that is 1; of a kind that is larger, so many trials."""
    if set(asked) - set(FAULTS):
        raise Broken(f"no such fault: {', '.join(set(asked) - set(FAULTS))}")
    for kind in FAULTS:
        count = asked.get(kind, 1)
        if count:
            trials(kind, FAULTS[kind](), rounds if count == 1 else count)
    if etcd:
        import etcd_failover
        etcd_failover.failover(rounds if etcd == 1 else etcd)


def trials(kind, fault, count):
    took, answered, touched, ended = [], [], 0, 0
    with five_agents(fault) as five:
        number = submit(five["d"], LONG_RANKS, "A100", ["sleep", "100000"])
        ranks = wait_for("the long gang", lambda: all_ranks(five, number), 20)
        for turn in range(count):
            leader = five[another_leader(five) if turn and not fault.unseats else
                          cluster.settle(five)]
            through = five[others_of(leader)[turn % len(others_of(leader))]]
            start, answer, host = trial(five, fault, leader, through)
            ended += not leader.is_running()
            took.append(start)
            answered.append(answer)
            now = all_ranks(five, number) or {}
            touched += len(ranks.items() - now.items())
            ranks = now or ranks
            print(f"# {kind} {turn} leader {leader.name} asked {through.name} answer {answer:.3f} "
                  f"next gang on {host} {start:.3f} s", flush=True)
            fault.undo(leader)
    figures(f"failover_{kind}", took, "s")
    figure(f"failover_{kind}_answer_p50", cluster.quantile(answered, 0.5), "s")
    figure(f"failover_{kind}_agents_ended", ended, "count")
    figure(f"failover_{kind}_ranks_touched", touched, "count")
    fault.tell()


def another_leader(five):
    """Its agent starts again, so that each of a, b, c is at fault now and then, and may be the very
    host that the next gang would get."""
    leader = five[cluster.settle(five)]
    leader.kill_agent()
    leader.start()
    cluster.settle(five)
    time.sleep(REST_S)  # One fault at a time: a voter that is back catches up for a moment.
    return cluster.settle(five)


def trial(five, fault, leader, through):
    """(s to the last rank of the next gang, s to the answer, its host) from the fault on."""
    path = five.directory / "starts"
    began = boot_ns()
    began = fault.strike(leader) or began
    job = submit(through, GANG_RANKS, "H100", [str(cluster.STAMP), str(path), "50"])
    answer = (boot_ns() - began) / NS_A_SECOND
    try:
        stamps = wait_for(f"job {job}", lambda: ranks_of(path, job), STARTED_WITHIN_S)
    except Failure as failure:
        print(f"# {failure}; it counts as {STARTED_WITHIN_S} s", flush=True)
        return STARTED_WITHIN_S, answer, "?"
    detail = through.ask("show", str(job))
    host = detail["job"]["hosts"][0] if detail and detail["job"]["hosts"] else "?"
    return (stamps[-1] - began) / NS_A_SECOND, answer, host


def submit(agent, gpus, gpu_type, argv):
    """By the CLI, which asks other hosts by itself, and again under the key while it says that
    there is no quorum or that the outcome is unknown; the job's id."""
    key = secrets.token_hex(16)
    until = time.monotonic() + STARTED_WITHIN_S
    while True:
        code, out, err = agent.cli("submit", "--json", "--key", key, "--gpus", str(gpus),
                                   "--gpu-type", gpu_type, "--", *argv, timeout=STARTED_WITHIN_S)
        if code == 0:
            return json.loads(out)["job_id"]
        if code not in (5, 75) or time.monotonic() > until:
            raise Broken(f"submit through {agent.name} exits {code}: {err.strip()}")
        time.sleep(RETRY_S)


def ranks_of(path, job):
    found = [when for when, of, _ in cluster.stamps(path) if of == job]
    return found if len(found) >= GANG_RANKS else None


def all_ranks(five, job):
    """{pid: start time} of the long gang when all of it is there."""
    ranks = {}
    for name in "de":
        ranks.update(five[name].ranks_of(job))
    return ranks if len(ranks) == LONG_RANKS else None
