"""Placement alone, on one core: no log, no state, no agents."""

import subprocess

import cluster
from cluster import Broken

PLACEMENT = cluster.BUILD / "bench" / "bench_placement"


def placement(jobs=300000):
    """The executable prints its own figures."""
    if subprocess.run([str(PLACEMENT), str(jobs)]).returncode != 0:
        raise Broken("placement: it ended with an error")
