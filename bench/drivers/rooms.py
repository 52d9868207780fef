"""The rooms of grants: real supervisors and ranks, without agents."""

import subprocess

import cluster
from cluster import Broken


def devices(grants=10000, seed=1):
    """The executable prints its own figures; it does nothing but say so where it cannot run."""
    program = str(cluster.BUILD / "bench" / "bench_devices")
    for arguments in ([str(grants), str(seed)], ["planted"]):
        if subprocess.run([program, *arguments]).returncode != 0:
            raise Broken("a rank opened a device that is not its own, or not one that is")
