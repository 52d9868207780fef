"""One flipped byte anywhere in a voter's data: noticed or harmless, never served, mended."""

import json
import pathlib
import random
import signal
import subprocess
import time

import cluster
import lab
from cluster import Broken, figure, is_heard
from lab import wait_for

FLIP = cluster.BUILD / "bench" / "bench_flip"
ENVIRONMENTS = ("id", "raft", "state")
JOBS = 60  # So that each environment has pages to damage.
SETTLE_S = 60
HEARD_MS = 800


def stop(agent):
    agent.process.send_signal(signal.SIGTERM)
    agent.process.wait(15)


def in_a_harness(data, places, seed):
    """The same stored data, wrong in one byte, so many times."""
    seen = {"noticed": 0, "harmless": 0, "unnoticed": 0, "crashed": 0}
    for name in ENVIRONMENTS:
        with lab.scratch("flip") as scratch:
            done = subprocess.run([str(FLIP), str(data), name, str(places // len(ENVIRONMENTS)),
                                   str(seed), scratch], capture_output=True, text=True)
        if done.returncode != 0:
            raise Broken(done.stderr.strip())
        print("#", done.stdout.strip().replace("\n", "\n# "), flush=True)
        words = done.stdout.splitlines()[-1].split()
        for verdict in seen:
            seen[verdict] += int(words[words.index(verdict) + 1])
    for verdict, count in seen.items():
        figure(f"flipped_{verdict}", count, "count")


def flip(path, rng):
    data = bytearray(path.read_bytes())
    offset = rng.randrange(len(data))
    data[offset] ^= rng.randrange(1, 256)
    path.write_bytes(data)
    return offset


def told(agent):
    """What a node says of all jobs: the same wherever it is asked."""
    code, out, _ = agent.cli("jobs", "--all", "--json")
    if code != 0:
        return None
    jobs = json.loads(out)["jobs"]
    return sorted((job["job_id"], job["name"], job["state"]) for job in jobs)


def is_whole(three):
    """A majority says that all three vote, lately heard and with the whole log, from the seats that
    count; and all tell the same jobs."""
    for name in three.names:
        code, out, _ = three[name].cli("quorum", "--consistent", "--json")
        if code != 0:
            continue
        voters = json.loads(out)["voters"]
        return (len(voters) == 3 and
                all(not voter["is_learner"] and voter["entries_behind"] == 0 and
                    is_heard(voter, HEARD_MS) for voter in voters) and
                told(three["a"]) is not None and
                told(three["a"]) == told(three["b"]) == told(three["c"]))
    return False


def on_a_cluster(three, rounds, rng):
    """A voter stops, one byte of its data goes wrong, it starts: it votes again and tells the same."""
    unaided, refused = 0, 0
    for round_ in range(rounds):
        name = rng.choice(three.names)
        part = rng.choice(ENVIRONMENTS)
        agent = three[name]
        stop(agent)
        path = agent.data / part / "data.mdb"
        good = path.read_bytes()
        offset = flip(path, rng)
        agent.start()
        time.sleep(2 * HEARD_MS / 1000)  # What was heard of it then was heard from this life.
        if agent.process.poll() is None:
            unaided += 1
        else:
            refused += 1
            print(f"# round {round_}: {part} of {name} at {offset}: refused", flush=True)
            path.write_bytes(good)
            agent.start()
        try:
            wait_for(f"all is whole again after {part} of {name} at {offset}",
                     lambda: is_whole(three), SETTLE_S)
        except lab.Failure:
            figure("flipped_cluster_spread", 1, "count")
            raise
    figure("flipped_cluster_rounds", rounds, "count")
    figure("flipped_cluster_unaided", unaided, "count")
    figure("flipped_cluster_refused", refused, "count")
    figure("flipped_cluster_spread", 0, "count")


def flipped(places=9_800, rounds=200, seed=1):
    rng = random.Random(seed)
    with lab.Lab("abc", base_port=cluster.BASE_PORT) as three:
        three.start()
        leader = cluster.settle(three)
        cluster.submit(three[leader], JOBS, 1, ["/bin/true"])
        wait_for("its jobs", lambda: all(state == "completed" for _, _, state in
                                         told(three[leader]) or [(0, 0, "")]), 60)
        follower = next(name for name in three.names if name != leader)
        stop(three[follower])
        in_a_harness(pathlib.Path(three[follower].data), places, seed)
        three[follower].start()
        wait_for("all is whole", lambda: is_whole(three), SETTLE_S)
        on_a_cluster(three, rounds, rng)
