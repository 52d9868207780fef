"""Placement, the scheduler's core, the gate of access and the Xids: no disk, peers or agents."""

import gzip
import pathlib
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


def share(trees=20, seed=1):
    command = [str(cluster.BUILD / "bench" / "bench_share_trees"), str(trees), str(seed)]
    if subprocess.run(command).returncode != 0:
        raise Broken("bench_share_trees ended with an error")


def gate(questions=1000000):
    run_alone("bench_gate", questions)


def xids(application=100000, seed=1):
    command = [str(cluster.BUILD / "bench" / "bench_xids"), str(application), str(seed)]
    if subprocess.run(command).returncode != 0:
        raise Broken("bench_xids ended with an error")


OPENB = pathlib.Path(__file__).resolve().parents[2].parent / "shared" / "traces" / "openb"
LISTS = ["default", "gpushare40", "multigpu20", "gpuspec10", "cpu050"]


def openb(seeds=10):
    """The trace lies beside the project, not in it."""
    if not OPENB.is_dir():
        raise Broken(f"no trace at {OPENB}")
    for name in LISTS:
        pods = gzip.decompress((OPENB / f"pods_{name}.csv.gz").read_bytes())
        command = [str(cluster.BUILD / "bench" / "bench_openb"), str(OPENB / "nodes_gpu.csv"), name,
                   str(seeds)]
        if subprocess.run(command, input=pods).returncode != 0:
            raise Broken(f"the replay of {name} ended with an error")
