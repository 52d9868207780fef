"""Placement and the scheduler's core, each on one core: no disk, no peers, no agents."""

import subprocess

import cluster
from cluster import Broken


def run_alone(name, jobs):
    """The executable prints its own figures."""
    if subprocess.run([str(cluster.BUILD / "bench" / name), str(jobs)]).returncode != 0:
        raise Broken(f"{name} ended with an error")


def placement(jobs=300000):
    run_alone("bench_placement", jobs)


def core(jobs=30000):
    run_alone("bench_core", jobs)
