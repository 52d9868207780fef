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


def core(jobs=30000, leaves=1):
    """Of several leaves each is a user, in one of 40 queues."""
    command = [str(cluster.BUILD / "bench" / "bench_core"), str(jobs)]
    if subprocess.run(command + ([str(leaves)] if leaves > 1 else [])).returncode != 0:
        raise Broken("bench_core ended with an error")


def share(trees=20, seed=1):
    command = [str(cluster.BUILD / "bench" / "bench_share_trees"), str(trees), str(seed)]
    if subprocess.run(command).returncode != 0:
        raise Broken("bench_share_trees ended with an error")


def gangs(days=20, seed=1, hosts=1024, gang_weight=50):
    command = [str(cluster.BUILD / "bench" / "bench_gangs"), str(days), str(seed), str(hosts),
               str(gang_weight)]
    if subprocess.run(command).returncode != 0:
        raise Broken("bench_gangs ended with an error")


def order(states=10000, seed=1):
    command = [str(cluster.BUILD / "bench" / "bench_order"), str(states), str(seed)]
    if subprocess.run(command).returncode != 0:
        raise Broken("the order of a state, or what why says about it, is wrong")


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
