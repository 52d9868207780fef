"""Many simulated hosts with a grant each, three real agents, and the death of their leader."""

import subprocess

import cluster
import lab
from cluster import Broken
from lab import wait_for

BENCH = cluster.BUILD / "bench" / "bench_leases"
FARM_PORT = 8190


def leases(hosts=10_000, steady=30, after=30, flood_ms=100, join=250, patience=240, relays=1,
           gang=20):
    """The leader's CPU while all renew; then it is killed: how long hosts went without an ack."""
    with lab.Lab("abc", gpus="", base_port=cluster.BASE_PORT) as three:
        three.start()
        wait_for("a leader", lambda: cluster.leader_of(three), 60)
        ticket = three.ticket_of("d")
        wait_for("a ticket", ticket.exists, 60)
        options = {"ticket": ticket, "steady": steady, "after": after, "flood-ms": flood_ms,
                   "join": join, "patience": patience, "relays": relays, "gang": gang}
        words = [word for name, value in options.items() for word in (f"--{name}", str(value))]
        agents = [f"{agent.endpoint}={agent.process.pid}={cluster.socket_of(agent)}"
                  for agent in three.live()]
        done = subprocess.run([str(BENCH), str(FARM_PORT), str(hosts), *words, "--", *agents])
        if done.returncode != 0:
            raise Broken("the hosts did not all get and keep their grants")
