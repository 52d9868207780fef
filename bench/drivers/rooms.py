"""The rooms of grants: real supervisors and ranks, without agents."""

import subprocess

import cluster
from cluster import Broken


def play(name, grants, seed, broken):
    """The executable prints its own figures; it does nothing but say so where it cannot run."""
    program = str(cluster.BUILD / "bench" / name)
    for arguments in ([str(grants), str(seed)], ["planted"]):
        if subprocess.run([program, *arguments]).returncode != 0:
            raise Broken(broken)


def devices(grants=10000, seed=1):
    play("bench_devices", grants, seed,
         "a rank opened a device that is not its own, or not one that is")


def limits(grants=600, seed=1):
    play("bench_limits", grants, seed,
         "a rank passed a limit, or ended without one, or its end has no name")
