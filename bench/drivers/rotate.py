"""How long all link keys, and then the authority, take to be replaced, while gangs run, packets are
lost and the leader dies; and what that does to anybody. All links are searched for a canary."""

import json
import pathlib
import secrets
import subprocess
import sys
import time

import cluster
from cluster import Broken, figure
from lab import wait_for
from log_tail import LogTail

LIMIT_S = 300
SETTLE_S = 300
BACK_AFTER_S = 3
GANG_GPUS = 16
HERE = pathlib.Path(__file__).resolve().parent
SEND = ("import socket, sys; socket.socket(socket.AF_INET, socket.SOCK_DGRAM)"
        ".sendto(bytes.fromhex(sys.argv[1]), (sys.argv[2], 9))")


def lose_packets(boot, percent):
    """Of all that cross the bridge, either way."""
    boot.switch.nft("add rule bridge lab cables numgen random mod 100 < "
                    f"{percent} counter drop")


class Capture:
    """Counts frames with the canary, and with a marker that is sent in clear to prove that it sees."""

    def __init__(self, boot):
        self.boot = boot
        self.canary = secrets.token_hex(12)
        self.marker = secrets.token_bytes(16)
        words = [self.canary.encode().hex(), self.marker.hex()]
        self.process = subprocess.Popen(
            ["ip", "netns", "exec", boot.switch.space, sys.executable, "-B",
             str(HERE / "frames_with.py"), *words], stdout=subprocess.PIPE, text=True)
        if self.process.stdout.readline() != "ready\n":
            raise Broken("nothing listens at the links")

    def counts(self):
        first, second = list(self.boot.agents)[:2]
        for _ in range(20):  # Some are lost.
            subprocess.run(["ip", "netns", "exec", self.boot.switch.space_of(first),
                            sys.executable, "-c", SEND, self.marker.hex(),
                            self.boot.switch.addresses[second]], check=True)
        time.sleep(0.5)
        self.process.terminate()
        canaries, markers = map(int, self.process.communicate(timeout=20)[0].split())
        if markers == 0:
            raise Broken("the capture saw no datagram in clear: it is blind")
        return canaries


def keys_of(agent):
    code, out, _ = agent.cli("keys", "--json", timeout=30)
    return json.loads(out) if code == 0 else None


def ask(boot, *words):
    """Through whoever answers: the leader may have just died."""
    for _ in range(20):
        for agent in boot.live():
            code, _, _ = agent.cli("keys", "rotate", *words, "--no-wait", "--yes", timeout=40)
            if code == 0:
                return
        time.sleep(0.5)
    raise Broken("nobody takes the order to rotate")


def is_done(boot, names, serial, authority):
    """Every live host lists every host with that many changes, under that authority."""
    for agent in boot.live():
        keys = keys_of(agent)
        if keys is None or keys["oldest_authority_number"] < authority:
            return False
        done = {host["host"] for host in keys["hosts"]
                if host["serial"] >= serial and not host["is_changing"]}
        if done < names:
            return False
    return True


def running(agent):
    answer = agent.ask("jobs", "--all")
    return [job for job in answer["jobs"] if job["state"] == "running"] if answer else []


def submit_gangs(boot, gangs, canary):
    agent = boot.live()[-1]
    for number in range(gangs):
        code, _, err = agent.cli("submit", "--gpus", str(GANG_GPUS), "--name",
                                 f"gang-{number}-{canary}", "--", "sleep", "600", timeout=40)
        if code != 0:
            raise Broken(f"submit: {err.strip()}")
    wait_for("all gangs to run", lambda: len(running(agent)) == gangs, 120)
    return {job["job_id"]: job["attempt"] for job in running(agent)}


def rotate(agents=50, gangs=20, loss=5, kill=1):
    """The leader dies in the middle of the first half and comes back soon."""
    names = [f"h{host}" for host in range(agents)]
    with cluster.make(namespaces=True, names=names) as boot:
        boot.start()
        cluster.settle(boot, SETTLE_S)
        paths = {agent.name: agent.log for agent in boot.agents.values()}
        capture = Capture(boot)
        jobs = submit_gangs(boot, gangs, capture.canary)
        lose_packets(boot, loss)
        identities = {name: host["host_id"][:8] for name, host in cluster.states(boot["h0"]).items()}
        with LogTail(paths, "event=unreachable ") as tail:
            began = time.monotonic()
            killed = replace_all(boot, set(names), kill)
            all_done = time.monotonic() - began
            ask(boot, "--authority")
            wait_for("the authority to be replaced",
                     lambda: is_done(boot, set(names), 1, 2), LIMIT_S)
            whole = time.monotonic() - began
            of_the_dead = f"host={identities[killed]}" if killed else "host=nobody"
            verdicts = [line for _, _, line in tail.lines if of_the_dead not in line]
        now = {job["job_id"]: job["attempt"] for job in running(boot.live()[-1])}
        canaries = capture.counts()
        for line in verdicts[:5]:
            print(f"# {line}")
    figure("rotate_s", whole, "s")
    figure("rotate_all_s", all_done, "s")
    figure("rotate_verdicts_false", len(verdicts), "count")
    figure("rotate_ranks_touched", len(set(jobs.items()) - set(now.items())) * GANG_GPUS, "count")
    figure("rotate_plain_bytes", canaries * len(capture.canary), "B")


def replace_all(boot, names, kill):
    """The name of the leader that was killed meanwhile; "" for none."""
    leader = boot[cluster.leader_of(boot)]
    ask(boot, "--all")
    if kill:
        time.sleep(1)
        leader.kill_agent()
        time.sleep(BACK_AFTER_S)
        leader.start()
    wait_for("all link keys to be replaced", lambda: is_done(boot, names, 1, 1), LIMIT_S)
    return leader.name if kill else ""
