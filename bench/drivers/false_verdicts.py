"""Verdicts about hosts that are well, in the simulator: on links that lose packets, and beside hosts
that stand still again and again (the interval runs of Lifeguard, section 5: stalls of D, runs of I).

A verdict is one host's word about another: what each of all hosts says is counted."""

import concurrent.futures
import itertools
import json
import os
import pathlib
import subprocess
import tempfile

import cluster
from cluster import Broken, figure

TOOL = cluster.BUILD / "tests" / "sim" / "scenario" / "muster_scenario"
LOSS_HOSTS = 100
LOSS_SETTLE_S = 20
GRID_HOSTS = 128
QUIET_S = 15
STALLS_S = 120
#: Of the grid: hosts that stall, and (stall, run) in ms.
STALLED = (8, 32)
CYCLES = ((512, 16), (2048, 16), (2048, 1024), (8192, 16), (8192, 1024), (32768, 1024))
SEEDS = 3


def lossy(percent, host_hours):
    length = round(host_hours * 3600 / LOSS_HOSTS)
    return (f"hosts {LOSS_HOSTS} racks 10\nlength {LOSS_SETTLE_S + length}s\n"
            f"at {LOSS_SETTLE_S}s cut all from all loss {percent}%\n")


def stalls(count, stall_ms, run_ms):
    lines = [f"hosts {GRID_HOSTS}", f"length {QUIET_S + STALLS_S + 40}s"]
    at, end = QUIET_S * 1000, (QUIET_S + STALLS_S) * 1000
    while at < end:
        lines += [f"at {at}ms freeze last {count}", f"at {at + stall_ms}ms thaw last {count}"]
        at += stall_ms + run_ms
    return "\n".join(lines) + "\n"


def play(directory, name, text, seed, healthy):
    """(verdicts about hosts below `healthy`, about the others), and what the checkers found."""
    path, told = directory / f"{name}.scenario", directory / f"{name}.{seed}.jsonl"
    path.write_text(text)
    done = subprocess.run([str(TOOL), "play", str(path), "--seed", str(seed), "--timeline",
                           str(told)], capture_output=True, text=True)
    if done.returncode != 0:
        raise Broken(f"{name}, seed {seed}: {done.stdout}{done.stderr}")
    about = []
    with open(told, encoding="utf-8") as lines:
        for line in lines:
            if '"unreachable"' in line:
                event = json.loads(line)
                if event["name"] == "unreachable":
                    about.append(int(event["fields"]["host"][1:]))
    told.unlink()
    false = sum(host < healthy for host in about)
    print(f"# {name} seed {seed}: {false} false, {len(about) - false} about stalled ones",
          flush=True)
    return name, false, len(about) - false


def false_verdicts(host_hours=200, grid=1):
    """`host_hours` at each loss; the grid's 12 cells with three seeds."""
    with tempfile.TemporaryDirectory() as place:
        directory = pathlib.Path(place)
        runs = [(f"loss{percent}", lossy(percent, host_hours), 1, LOSS_HOSTS)
                for percent in (5, 10)]
        for count, (stall, run) in itertools.product(STALLED, CYCLES) if grid else ():
            runs += [(f"c{count}-d{stall}-i{run}", stalls(count, stall, run), seed,
                      GRID_HOSTS - count) for seed in range(1, SEEDS + 1)]
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            results = list(pool.map(lambda each: play(directory, *each), runs))
    for percent in (5, 10):
        false = sum(count for name, count, _ in results if name == f"loss{percent}")
        figure(f"false_verdicts_loss{percent}", false, "count")
    cells = [each for each in results if each[0].startswith("c")]
    figure("false_verdicts_grid", sum(false for _, false, _ in cells), "count")
    figure("verdicts_of_stalled_grid", sum(stalled for _, _, stalled in cells), "count")
