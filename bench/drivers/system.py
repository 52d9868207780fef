"""Benches of five real agents: deaths noticed, launch, idle cost."""

import os
import pathlib
import re
import signal
import time

import cluster
import idle_traffic
from cluster import Broken, boot_ns, figure, figures
from lab import run, wait_for

NS_A_SECOND = 1e9
VERDICT_LIMIT_S = 30


def detect(rounds=20, refused=1, silent=1):
    """Agent killed: its kernel refuses. Host dead with its link: nothing but silence."""
    if refused:
        with cluster.make(namespaces=False) as five:
            detect_kind(five, rounds, "refused",
                        lambda host: host.process.send_signal(signal.SIGKILL))
    if silent:
        with cluster.make(namespaces=True) as five:
            detect_kind(five, rounds, "silent", pull_the_plug)


def pull_the_plug(host):
    host.lab.switch.link(host.name, "down")
    host.signal_all(signal.SIGKILL)


def detect_kind(five, rounds, kind, kill):
    five.start()
    cluster.settle(five)
    first, last = [], []
    for number in range(rounds):
        victim = five[five.names[number % len(five.names)]]
        others = [agent for agent in five.agents.values() if agent is not victim]
        probe = cluster.watch(victim.name, others, VERDICT_LIMIT_S)
        began = boot_ns()
        kill(victim)
        seen = [int(line.split()[2]) for line in probe.stdout]
        if probe.wait() != 0:
            raise Broken(f"round {number}: only {len(seen)} of {len(others)} saw the death")
        victim.process.wait()
        first.append((min(seen) - began) / NS_A_SECOND)
        last.append((max(seen) - began) / NS_A_SECOND)
        print(f"# {kind} {number} {victim.name} first {first[-1]:.3f} all {last[-1]:.3f}",
              flush=True)
        victim.plug_in()
        victim.start()
        cluster.settle(five)
    figures(f"detect_{kind}_first", first, "s")
    figures(f"detect_{kind}_all", last, "s")


def boot(rounds=100, agents=12):
    """From the last exec until every agent lists all, with what GPUs they have; each from nothing."""
    took = []
    for number in range(rounds):
        names = [f"h{host}" for host in range(agents)]
        with cluster.make(namespaces=False, names=names) as whole:
            whole.start()
            began = boot_ns()
            cluster.await_whole(whole, VERDICT_LIMIT_S)
            took.append((boot_ns() - began) / NS_A_SECOND)
        print(f"# boot {number} {took[-1]:.3f}", flush=True)
    figures("boot", took, "s")


def is_drained(agent):
    answer = agent.ask("jobs")
    return answer is not None and not any(
        job["state"] in ("queued", "scheduled", "running", "stopping") for job in answer["jobs"])


def launch(rounds=20, gpus=16):
    """From the client's send to the last rank's first instruction."""
    with cluster.make(namespaces=False) as five:
        five.start()
        leader = cluster.settle(five)
        asked = next(a for a in five.live() if a.name != leader)
        path = five.directory / "starts"
        took, answered = [], []
        for number in range(rounds):
            sent, job, answer_ms = cluster.submit(
                asked, 1, gpus, [str(cluster.STAMP), str(path), "50"])[0]
            began = wait_for(f"{gpus} ranks", lambda: ranks_of(path, job, gpus), 20)
            took.append((began[-1] - sent) / 1e6)
            answered.append(answer_ms)
            print(f"# launch {number} answer {answer_ms:.1f} first rank "
                  f"{(began[0] - sent) / 1e6:.1f} last rank {took[-1]:.1f} ms", flush=True)
            wait_for("its end", lambda: is_drained(asked), 20)
    figures("launch", took, "ms")
    figure("launch_answer_p50", cluster.quantile(answered, 0.5), "ms")


def ranks_of(path, job, gpus):
    found = [when for when, of, _ in cluster.stamps(path) if of == job]
    return found if len(found) == gpus else None


def cpu_seconds(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def rss_mb(pid):
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    raise Broken(f"process {pid} is gone")


def payload_bytes(host):
    """Both directions, without the headers of TCP, IP and Ethernet: of connections still open."""
    text = run("ip", "netns", "exec", host.lab.switch.space_of(host.name), "ss", "-tinH").stdout
    return sum(int(count) for count in re.findall(r"\bbytes_(?:sent|received):(\d+)", text))


def agent_pid(host):
    """The agent itself: `ip netns exec` replaces itself by it."""
    return host.process.pid


def idle(seconds=60, serf=0):
    """Worst of the five, leader included; nothing asks them anything meanwhile."""
    with cluster.make(namespaces=True) as five:
        five.start()
        leader = cluster.settle(five)
        time.sleep(10)
        hosts = list(five.agents.values())
        began = time.monotonic()
        cpu = {h.name: cpu_seconds(agent_pid(h)) for h in hosts}
        payload = {h.name: payload_bytes(h) for h in hosts}
        traffic = idle_traffic.measure(five.switch, five.names, seconds)
        took = time.monotonic() - began
        cpu = {h.name: (cpu_seconds(agent_pid(h)) - cpu[h.name]) / took * 100 for h in hosts}
        payload = {h.name: (payload_bytes(h) - payload[h.name]) / took for h in hosts}
        memory = {h.name: rss_mb(agent_pid(h)) for h in hosts}
        for name in five.names:
            print(f"# {name}{' (leader)' if name == leader else ''} cpu {cpu[name]:.2f} % rss "
                  f"{memory[name]:.1f} MB in {traffic[name].received:.0f} B/s out "
                  f"{traffic[name].sent:.0f} B/s payload {payload[name]:.0f} B/s", flush=True)
        if any(not host.is_running() for host in hosts):
            raise Broken("an agent ended")
    figure("idle_cpu", max(cpu.values()), "%")
    figure("idle_rss", max(memory.values()), "MB")
    worst = max(rate.worse for rate in traffic.values())
    figure("idle_bytes", worst, "B/s")
    figure("idle_bytes_both_ways", max(rate.both for rate in traffic.values()), "B/s")
    figure("idle_payload", max(payload.values()), "B/s")
    if serf:
        beside = max(rate.worse for rate in idle_traffic.of_serf(seconds).values())
        figure("idle_serf_bytes", beside, "B/s")
        figure("idle_bytes_against_serf", worst / beside, "x")
