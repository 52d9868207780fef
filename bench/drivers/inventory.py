"""Fake machines with GPUs: what is read of them, and how soon one that hangs is found."""

import subprocess

import cluster
import stuck_driver
from cluster import Broken


def run_it(name, *numbers):
    """The executable prints its own figures."""
    command = [str(cluster.BUILD / "bench" / name), *map(str, numbers)]
    if subprocess.run(command).returncode != 0:
        raise Broken(f"{name} ended with an error")


def inventory(mutations=200, seed=1):
    run_it("bench_inventory", mutations, seed)


def probers(trials=200, workers=8, watched=stuck_driver.WATCHED_S):
    run_it("bench_probers", trials, workers)
    stuck_driver.ranks_touched(watched)
