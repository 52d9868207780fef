"""One flipped byte anywhere in a voter's data: noticed or harmless, never served, mended."""

import json
import pathlib
import random
import signal
import subprocess
import tempfile

import cluster
import lab
from cluster import Broken, figure
from lab import wait_for

FLIP = cluster.BUILD / "bench" / "bench_flip"
ENVIRONMENTS = ("id", "raft", "state")
JOBS = 60  # So that each environment has pages to damage.
SETTLE_S = 60


def stop(agent):
    agent.process.send_signal(signal.SIGTERM)
    agent.process.wait(15)


def in_a_harness(data, places, seed):
    """The same stored data, wrong in one byte, so many times."""
    seen = {"noticed": 0, "harmless": 0, "unnoticed": 0, "crashed": 0}
    for name in ENVIRONMENTS:
        with tempfile.TemporaryDirectory(prefix="muster-flip-", dir=lab.ROOT / "build") as scratch:
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
    return sorted((job["id"], job["name"], job["state"]) for job in jobs)


def votes(asked, name):
    voters = (asked.ask("quorum") or {}).get("voters", [])
    return any(voter["name"] == name and not voter["learner"] and voter["behind"] == 0 and
               voter["contact_ms"] < 2000 for voter in voters)


def on_a_cluster(three, rounds, rng):
    """A voter stops, one byte of its data goes wrong, it starts: it votes again and tells the same."""
    mended, refused, wrong = 0, 0, 0
    for round_ in range(rounds):
        name = rng.choice(three.names)
        part = rng.choice(ENVIRONMENTS)
        agent = three[name]
        others = [three[other] for other in three.names if other != name]
        stop(agent)
        path = agent.data / part / "data.mdb"
        good = path.read_bytes()
        offset = flip(path, rng)
        agent.start()
        try:
            wait_for(f"round {round_}: {name} votes again", lambda: agent.process.poll() is not None
                     or votes(others[0], name) and told(agent) == told(others[0]), SETTLE_S)
        except lab.Failure:
            wrong += 1
            print(f"# round {round_}: {part} of {name} at {offset}: not mended", flush=True)
        if agent.process.poll() is not None:
            refused += 1
            print(f"# round {round_}: {part} of {name} at {offset}: refused", flush=True)
            path.write_bytes(good)
            agent.start()
            wait_for("it votes", lambda: votes(others[0], name), SETTLE_S)
        else:
            mended += 1
        if not told(others[0]) == told(others[1]) == told(agent):
            wrong += 1
            print(f"# round {round_}: the nodes tell different jobs", flush=True)
    figure("flipped_cluster_rounds", rounds, "count")
    figure("flipped_cluster_unaided", mended, "count")
    figure("flipped_cluster_refused", refused, "count")
    figure("flipped_cluster_spread", wrong, "count")


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
        wait_for("it votes", lambda: votes(three[leader], follower), SETTLE_S)
        on_a_cluster(three, rounds, rng)
