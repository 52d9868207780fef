"""Benches in virtual time: the simulator's speed, swarms, planted bugs that its checkers find."""

import re
import subprocess

import cluster
from cluster import Broken, figure

SIM_TESTS = cluster.BUILD / "tests" / "sim"


def sim_speed(hosts=100, seconds=600):
    for suffix, faults in (("", ["--no-faults"]), ("_faults", [])):
        done = subprocess.run([str(SIM_TESTS / "muster_sim"), "sim_speed", "--hosts", str(hosts),
                               "--seconds", str(seconds), *faults], capture_output=True, text=True)
        print(re.sub(r"figure (\w+) ", rf"figure \1{suffix} ", done.stdout), end="", flush=True)
        if done.returncode != 0:
            raise Broken("a property broke in the run that was measured")


def simulated_figures(scenario, **options):
    """Runs that scenario of muster_sim, which prints its own lines."""
    words = [word for name, value in options.items() for word in (f"--{name}", str(value))]
    if subprocess.run([str(SIM_TESTS / "muster_sim"), scenario, *words]).returncode != 0:
        raise Broken("a property broke in the run that was measured")


def access(first=1, last=10):
    simulated_figures("access", seeds=f"{first}..{last}")


def proofs(first=1, last=10_000):
    simulated_figures("swarm", profile="traitor", hosts=5, seconds=30, seeds=f"{first}..{last}")


def unstarted(schedules=10_000, seed=1, chunk=100):
    """Floods in every tier: jobs that never had their turn, over so many schedules."""
    done, waiting, broken = 0, 0, 0
    while done < schedules:
        last = min(done + chunk, schedules)
        run = subprocess.run(
            [str(SIM_TESTS / "muster_sim"), "swarm", "--profile", "queues", "--hosts", "5",
             "--seconds", "30", "--seeds", f"{seed + done}..{seed + last - 1}"],
            capture_output=True, text=True)
        counts = dict(re.findall(r"^figure (\w+) (\d+) count$", run.stdout, re.MULTILINE))
        if "unstarted" not in counts:
            raise Broken(f"seeds {seed + done} to {seed + last - 1}: {run.stderr[-500:]}")
        if run.returncode != 0:
            print("\n".join(line for line in run.stdout.splitlines() if line.startswith("# seed")
                            or line.startswith("# replay")), flush=True)
        done = last
        waiting += int(counts["unstarted"])
        broken += int(counts["swarm_violations"]) + int(counts["swarm_hash_mismatches"])
    figure("unstarted", waiting, "count")
    figure("unstarted_schedules", done, "count")
    figure("unstarted_violations", broken, "count")
    if broken != 0:
        raise Broken("a property broke")


def mutants():
    found, planted = 0, 0
    tests = cluster.BUILD / "tests"
    for binary in (tests / "scheduler" / "raft" / "raft_mutants", SIM_TESTS / "sim_mutants",
                   tests / "membership" / "membership_mutants"):
        done = subprocess.run([str(binary)], capture_output=True, text=True)
        for line in done.stdout.splitlines():
            count = re.match(r"figure (?:\w+_)?mutants_(found|planted) (\d+)", line)
            if count is None:
                print(line, flush=True)
            elif count.group(1) == "found":
                found += int(count.group(2))
            else:
                planted += int(count.group(2))
    figure("mutants_found", found, "count")
    figure("mutants_planted", planted, "count")
    if planted == 0:
        raise Broken("nothing was planted")
