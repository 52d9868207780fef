"""What the system benches share: binaries, a settled cluster, quantiles, and the probe."""

import math
import os
import pathlib
import subprocess
import time

import lab
from lab import wait_for

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = ROOT / "build" / "release"
PROBE = BUILD / "bench" / "bench_probe"
STAMP = BUILD / "bench" / "bench_stamp"
BASE_PORT = 8450
TARGETS = {
    "web_attack": ["muster"],
    "web_slow": ["muster"],
    "web_page": ["muster"],
    "web_cross_site": ["muster"],
    "mutants": ["raft_mutants", "sim_mutants", "membership_mutants"],
    "sim_speed": ["muster_sim"],
    "same_behaviour": ["muster_sim"],
    "join": ["muster", "bench_probe", "muster_sim"],
    "revoke": ["muster", "muster_sim"],
    "placement": ["bench_placement"],
    "core": ["bench_core"],
    "share": ["bench_share_trees"],
    "unstarted": ["muster_sim"],
    "gangs": ["bench_gangs"],
    "gate": ["bench_gate"],
    "devices": ["bench_devices"],
    "limits": ["bench_limits"],
    "vm_limits": ["muster", "bench_limits", "bench_devices", "fake_nvml_new"],
    "launch_rooms": ["muster", "bench_devices", "bench_probe", "bench_stamp"],
    "escapes": ["muster", "fake_nvml_new"],
    "clean": ["muster", "fake_nvml_new"],
    "masked": ["muster", "fake_nvml_new"],
    "inventory": ["bench_inventory"],
    "probers": ["muster", "bench_probers", "fake_nvml_new"],
    "xids": ["bench_xids"],
    "openb": ["bench_openb"],
    "quorum": ["bench_quorum"],
    "leases": ["muster", "bench_leases"],
    "audit": ["muster"],
    "web_parity": ["muster"],
    "web_follow": ["muster"],
    "web_list": ["muster"],
    "web_metrics": ["muster"],
    "web_renewal": ["muster", "bench_jump_clock"],
    "ranks_as_person": ["muster"],
    "crowd": ["muster", "bench_probe", "bench_crowd"],
    "burst": ["muster", "bench_burst"],
    "flood": ["muster", "bench_probe", "bench_flood"],
    "handshakes": ["bench_handshakes"],
    "restart": ["muster", "bench_age"],
    "false_verdicts": ["muster_scenario"],
    "rotate": ["muster"],
    "versus_serf": ["muster", "bench_probe"],
    "account": ["muster", "bench_probe"],
    "open_doors": ["muster", "bench_stranger"],
    "flipped": ["muster", "bench_probe", "bench_flip"],
}


class Broken(Exception):
    """The thing that was measured did not work."""


def need_binaries(bench):
    """Builds what the bench runs; with MUSTER_BINARY set, that one is measured as it is."""
    if "MUSTER_BINARY" in os.environ:
        return
    targets = TARGETS.get(bench, ["muster", "bench_probe", "bench_stamp", "bench_slow_sync",
                                  "fuzz_port"])
    subprocess.run([str(ROOT / "cmake" / "configure.sh"), "release"], check=True)
    done = subprocess.run(["ninja", "-C", str(BUILD), *targets], capture_output=True, text=True)
    if done.returncode != 0:
        raise Broken(f"the build failed:\n{done.stdout[-2000:]}")


def figure(name, value, unit):
    print(f"figure {name} {value:.4g} {unit}", flush=True)


def quantile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, max(0, math.ceil(share * len(ordered)) - 1))]


def figures(name, values, unit):
    """p50, p99 (the maximum for fewer than 100 runs) and max."""
    figure(f"{name}_p50", quantile(values, 0.5), unit)
    figure(f"{name}_p99", quantile(values, 0.99), unit)
    figure(f"{name}_max", max(values), unit)


def boot_ns():
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)


def socket_of(agent):
    return str(agent.data / "agent.sock")


def states(agent):
    answer = agent.ask("hosts")
    return {host["host"]: host for host in answer["hosts"]} if answer else {}


def all_alive(cluster):
    for agent in cluster.live():
        seen = states(agent)
        if len(seen) != len(cluster.names):
            return False
        if any(host["state"] != "alive" or host["gpus"] == 0 for host in seen.values()):
            return False
    return True


def leader_of(cluster):
    """The name of the leader that all live nodes agree on, or nothing."""
    names = set()
    for agent in cluster.live():
        answer = agent.ask("quorum")
        names.add(answer["leader"] if answer else "")
    name = names.pop() if len(names) == 1 else ""
    return name if name and cluster[name].is_running() else None


def settle(cluster, timeout=60):
    """All see all alive, one leader, every voter of it in touch."""
    wait_for("all see all alive", lambda: all_alive(cluster), timeout)
    leader = wait_for("one leader", lambda: leader_of(cluster), timeout)
    wait_for("its followers", lambda: is_followed(cluster[leader]), timeout)
    return leader


def is_heard(voter, within_ms):
    """By its leader; one that was never heard has no contact."""
    return voter["contact_ms"] is not None and voter["contact_ms"] < within_ms


def is_followed(leader):
    answer = leader.ask("quorum")
    return answer and answer["role"] == "leader" and all(
        is_heard(voter, 1000) for voter in answer["voters"]
        if voter["host"] != leader.name)


def watch(name, agents, seconds):
    """A probe that reports when each of these agents lists `name` unreachable; it is ready."""
    probe = subprocess.Popen([str(PROBE), "watch", name, str(seconds),
                              *[socket_of(agent) for agent in agents]],
                             stdout=subprocess.PIPE, text=True)
    if probe.stdout.readline() != "ready\n":
        raise Broken("the probe reached no agent")
    return probe


def await_whole(cluster, seconds):
    """Every live agent lists all of them alive, with what GPUs they have."""
    live = cluster.live()
    done = subprocess.run([str(PROBE), "whole", str(len(live)), str(seconds),
                           *[socket_of(agent) for agent in live]], capture_output=True, text=True)
    if done.returncode != 0:
        raise Broken(f"only {done.stdout.count('seen')} of {len(live)} see all")


def submit(agent, count, gpus, argv):
    """[(sent ns, job id, ms to the answer)] of jobs that were all accepted."""
    done = subprocess.run([str(PROBE), "submit", socket_of(agent), str(count), str(gpus), "--",
                           *argv], capture_output=True, text=True)
    if done.returncode != 0:
        raise Broken(f"submit on {agent.name}: {done.stderr.strip()}")
    rows = [line.split() for line in done.stdout.splitlines()]
    return [(int(row[1]), int(row[3]), float(row[5])) for row in rows]


def stamps(path):
    """[(ns, job, rank)] that ranks wrote when they began, by time."""
    if not path.exists():
        return []
    rows = [line.split() for line in path.read_text().splitlines()]
    return sorted((int(row[0]), int(row[1]), int(row[2])) for row in rows if len(row) == 3)


def make(namespaces, gpus="sim:8xH100", names="abcde"):
    reason = lab.can_use_namespaces() if namespaces else ""
    if reason:
        raise Broken(f"a cable cannot be cut here: {reason}")
    return lab.Lab(names, namespaces=namespaces, gpus=gpus, base_port=BASE_PORT)
