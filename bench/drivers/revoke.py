"""How soon a host that is thrown out is out: told by all that are left, and without a connection."""

import subprocess
import time

import cluster
from cluster import Broken, figures
from lab import wait_for
from log_tail import LogTail
from simulated import simulated_figures

LIMIT_S = 30
SETTLE_S = 180
LOOK_S = 0.01


def connections(boot, name):
    """Established ones of that host, whichever side opened them."""
    inside = ["ip", "netns", "exec", boot.switch.space_of(name)]
    done = subprocess.run([*inside, "ss", "-Htn", "state", "established"], capture_output=True,
                          text=True, check=True)
    return len(done.stdout.splitlines())


def throw_out(boot, leader, victim, tail):
    """Seconds from the order until all others refuse it, and until it has no connection left."""
    if connections(boot, victim.name) == 0:
        raise Broken(f"{victim.name} had no connection to begin with")
    identity = cluster.states(leader)[victim.name]["host_id"][:8]
    others = {agent.name for agent in boot.live()} - {victim.name}
    began = time.monotonic()
    code, _, err = leader.cli("hosts", "revoke", victim.name, "--yes")
    if code != 0:
        raise Broken(f"hosts revoke: {err.strip()}")

    def told():
        said = tail.since(began, f"host_shut_out host={identity}")
        return said if {name for _, name, _ in said} >= others else None

    def is_alone():
        if connections(boot, victim.name) > 0:
            time.sleep(LOOK_S)
            return False
        return True

    wait_for(f"the links of {victim.name} to close", is_alone, LIMIT_S)
    alone = time.monotonic() - began
    last = max(when for when, _, _ in wait_for("all to refuse it", told, LIMIT_S))
    return last, alone


def revoke(rounds=10, agents=20, simulated=0, hosts=300, loss=5, seeds=10):
    """Hosts that do not lead are thrown out one after the other, half of them at most."""
    if simulated:
        return simulated_figures("revoke", hosts=hosts, loss=loss, rounds=rounds,
                                 seeds=f"1..{seeds}")
    names = [f"h{host}" for host in range(agents)]
    refused, closed = [], []
    with cluster.make(namespaces=True, names=names) as boot:
        boot.start()
        leader = boot[cluster.settle(boot, SETTLE_S)]
        paths = {agent.name: agent.log for agent in boot.agents.values()}
        victims = [agent for agent in reversed(boot.live()) if agent.name != leader.name]
        with LogTail(paths, "host_shut_out") as tail:
            for number, victim in enumerate(victims[:min(rounds, agents // 2)]):
                last, alone = throw_out(boot, leader, victim, tail)
                refused.append(last)
                closed.append(alone)
                print(f"# revoke {number} {victim.name}: refused by all after {last:.3f} s, "
                      f"no connection after {alone:.3f} s", flush=True)
                victim.kill_agent()
                time.sleep(1)
    figures("revoked_refused", refused, "s")
    figures("revoked_closed", closed, "s")
    figures("revoked", [max(pair) for pair in zip(refused, closed)], "s")
