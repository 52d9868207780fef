"""Benches of the quorum: grants a second, one client's commit, a voter's restart after 10^6 jobs."""

import os
import pathlib
import subprocess
import tempfile
import time

import cluster
import lab
from cluster import Broken, figure, figures
from lab import wait_for

BENCH = cluster.BUILD / "bench"
ALL_GPUS = 24  # Of three agents: the first job holds them all, so that no submit starts a rank.


def quorum(rounds=10, jobs=10_000):
    """Three voters, processes of their own: 64 grants in flight (the figure), then 256 and 1."""
    for in_flight, suffix in ((64, ""), (256, "_256"), (1, "_1")):
        few = in_flight == 1
        with lab.scratch("quorum") as place:
            done = subprocess.run(
                [str(BENCH / "bench_quorum"), place, "--in-flight", str(in_flight), "--jobs",
                 str(jobs // 10 if few else jobs), "--rounds", str(min(rounds, 3) if few else rounds)],
                capture_output=True, text=True)
        for line in done.stdout.splitlines():
            words = line.split()
            if words and words[0] == "figure":
                words[1] += suffix
            print(*words, flush=True)
        if done.returncode != 0:
            raise Broken(done.stderr.strip() or "the voters do not agree")


def commit(count=1000, etcd=1):
    """One client's submits to three real agents, one after the other: through the leader, and
    through another voter. Beside it etcd's put, through its JSON gateway."""
    with lab.Lab("abc", base_port=cluster.BASE_PORT) as three:
        three.start()
        leader = cluster.settle(three)
        cluster.submit(three[leader], 1, ALL_GPUS, ["/bin/sleep", "3600"])
        other = next(name for name in three.names if name != leader)
        for name, suffix in ((leader, ""), (other, "_forwarded")):
            cluster.submit(three[name], 50, ALL_GPUS, ["/bin/true"])  # Warm.
            rows = cluster.submit(three[name], count, ALL_GPUS, ["/bin/true"])
            figures(f"commit{suffix}", [row[2] for row in rows], "ms")
    if etcd:
        import etcd_beside
        etcd_beside.measure(count)


def wait_for_answer(agent):
    """Seconds from now until `muster jobs` is answered."""
    began = time.monotonic()
    wait_for("muster jobs", lambda: agent.cli("jobs")[0] == 0, 120)
    return time.monotonic() - began


def restart(jobs=1_000_000, jobs_a_day=100_000, rounds=3):
    """A voter alone: started, stopped, aged by so many jobs, and started again."""
    with lab.Lab("a", base_port=cluster.BASE_PORT, expect=1,
                 directory=tempfile.mkdtemp(prefix="muster-restart-", dir=lab.ROOT / "build")) as one:
        agent = one["a"]
        one.start()
        wait_for_answer(agent)
        stop(agent)
        done = subprocess.run([str(BENCH / "bench_age"), str(agent.data), "--jobs", str(jobs),
                               "--jobs-a-day", str(jobs_a_day)], capture_output=True, text=True)
        print(done.stdout, end="", flush=True)
        if done.returncode != 0:
            raise Broken(done.stderr.strip())
        figure("raft_file", os.path.getsize(agent.data / "raft" / "data.mdb") / 2**20, "MB")
        took = []
        for _ in range(rounds):
            agent.start()
            took.append(wait_for_answer(agent))
            memory = resident_mb(agent.process.pid)
            if agent.cli("show", str(jobs))[0] != 0:
                raise Broken(f"job {jobs} is not known any more")
            stop(agent)
        print("#", " ".join(f"{each:.2f}" for each in took))
        figure("restart_s", cluster.quantile(took, 0.5), "s")
        figure("restart_rss", memory, "MB")
        lab.run("rm", "-rf", str(one.directory))


def stop(agent):
    agent.process.terminate()
    agent.process.wait(timeout=60)


def resident_mb(pid):
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    raise Broken("the agent is gone")
