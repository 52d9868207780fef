"""A stranger floods one of twenty agents: what the others think of it, how fast it still answers."""

import subprocess
import threading
import time

import cluster
import system
from cluster import Broken, figure, quantile
from lab import wait_for
from log_tail import LogTail

FLOOD = cluster.BUILD / "bench" / "bench_flood"
SETTLE_S = 180
SETTLED_S = 10
QUIET_S = 30
#: Each host's word about another one; all of them are well.
VERDICT = r"\bunreachable host="


def ask_meanwhile(asked, victim, seconds):
    """A probe that asks the victim through another host; its answers are read when it has ended."""
    return subprocess.Popen([str(cluster.PROBE), "rtt", str(seconds), victim.name,
                             cluster.socket_of(asked)], stdout=subprocess.PIPE, text=True)


def answers_of(probe):
    """(milliseconds of each answer, how many were lost)."""
    lines = probe.communicate()[0].splitlines()
    took = [float(line.split()[1]) for line in lines if line.startswith("ms ")]
    if not took:
        raise Broken("the victim answered nobody")
    return took, lines.count("lost")


class Memory:
    """Looks at a process's VmRSS each second; a context manager."""

    def __init__(self, pid):
        self.pid = pid
        self.before = self.most = system.rss_mb(pid)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def _look(self):
        while not self._over.wait(1):
            self.most = max(self.most, system.rss_mb(self.pid))

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._over.set()
        self._thread.join()


def victim_of(boot, ticket):
    """The host at the ticket's first door, where the flood will be."""
    done = subprocess.run([str(FLOOD), str(ticket), "0", "0", "0", "0"], capture_output=True,
                          text=True)
    at = done.stdout.split()[1] if done.returncode == 0 else ""
    found = [agent for agent in boot.live() if agent.address == at]
    if not found:
        raise Broken(f"no host is at the ticket's first door: {done.stderr.strip()}")
    return found[0]


def start_flood(boot, attacker, ticket, *load):
    """From the address of a host that is no voter."""
    inside = ["ip", "netns", "exec", boot.switch.space_of(attacker.name)]
    return subprocess.Popen([*inside, str(FLOOD), str(ticket), *map(str, load)],
                            stdout=subprocess.PIPE, text=True)


def flood(agents=20, seconds=60, hellos=1000, silent=1000, frames=1_000_000):
    """The load is spread evenly over the time, and ends by itself."""
    names = [f"h{host}" for host in range(agents)]
    with cluster.make(namespaces=True, names=names) as boot:
        boot.start()
        leader = cluster.settle(boot, SETTLE_S)
        ticket = boot.directory / "hosts.ticket"
        wait_for("a ticket", ticket.exists, SETTLE_S)
        victim = victim_of(boot, ticket)
        attacker, asked = [agent for agent in reversed(boot.live())
                           if agent not in (victim, boot[leader])][:2]
        time.sleep(SETTLED_S)
        quiet, lost_quiet = answers_of(ask_meanwhile(asked, victim, QUIET_S))
        paths = {agent.name: agent.log for agent in boot.agents.values()}
        with LogTail(paths, VERDICT) as tail, Memory(system.agent_pid(victim)) as memory:
            began = time.monotonic()
            cpu = system.cpu_seconds(system.agent_pid(victim))
            attack = start_flood(boot, attacker, ticket, seconds, hellos, silent, frames)
            probe = ask_meanwhile(asked, victim, seconds)
            flooded, lost = answers_of(probe)
            said = attack.communicate()[0].splitlines()[-1]
            took = time.monotonic() - began
            cpu = system.cpu_seconds(system.agent_pid(victim)) - cpu
            time.sleep(SETTLED_S)
            false = tail.since(began, VERDICT)
        if attack.returncode != 0 or len(boot.live()) != agents:
            raise Broken("an agent ended, or the attacker did")
        print(f"# {victim.name}{' (leader)' if victim.name == leader else ''}: {said}; cpu "
              f"{100 * cpu / took:.0f} %, rss {memory.before:.1f} to {memory.most:.1f} MB, lost "
              f"{lost_quiet} quiet and {lost} flooded of {len(quiet)} and {len(flooded)}",
              flush=True)
    figure("flood_verdicts_false", len(false), "count")
    for name, values in (("quiet", quiet), ("flooded", flooded)):
        figure(f"flood_{name}_p50", quantile(values, 0.5), "ms")
        figure(f"flood_{name}_p99", quantile(values, 0.99), "ms")
    figure("flood_p99_ratio", quantile(flooded, 0.99) / quantile(quiet, 0.99), "x")
    figure("flood_growth", memory.most - memory.before, "MB")
