"""Agents beside busy loops on the same cores: a machine that has too little time for all is no
reason to take a host for dead, to elect another leader or to touch a gang."""

import contextlib
import os
import subprocess
import sys
import time

import cluster
import lab
from cluster import Broken, figure
from log_tail import LogTail
from versus_serf import FORM_MAX_S, REST_S, Muster, death

SUBMIT_EACH_S = 2
LOOP = "import time\nend = time.monotonic() + {seconds}\nwhile time.monotonic() < end: pass\n"
#: A loop that nobody stops ends by itself.
LOOP_MAX_S = 900
NICE = -5


def overload(agents=24, loops=16, seconds=120, rounds=0, nice=0):
    """With --rounds so many agents are killed, and as many silenced, beside the loops. --nice 1:
    once more with the agents at nice -5."""
    reason = lab.can_use_namespaces()
    if reason:
        raise Broken(f"hosts need namespaces of their own here: {reason}")
    side = Muster(agents)
    try:
        with LogTail(side.logs, side.interesting) as tail:
            side.start()
            side.await_whole(FORM_MAX_S)
            time.sleep(REST_S)
            side.load()
            with busy(loops):
                stand(side, tail, seconds, "overload")
                suffer(side, tail, rounds)
                if nice:
                    renice(side, NICE)
                    stand(side, tail, seconds, "overload_nice")
    finally:
        side.stop()


@contextlib.contextmanager
def busy(loops):
    processes = [subprocess.Popen([sys.executable, "-c", LOOP.format(seconds=LOOP_MAX_S)],
                                  stdin=subprocess.DEVNULL) for _ in range(loops)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


def renice(side, nice):
    for name in side.names:
        for thread in os.listdir(f"/proc/{side.pid(name)}/task"):
            with contextlib.suppress(ProcessLookupError):
                os.setpriority(os.PRIO_PROCESS, int(thread), nice)


def stand(side, tail, seconds, prefix):
    """Nobody dies: each verdict, election or touched gang is a false one."""
    began = time.monotonic()
    took, failed = [], 0
    while time.monotonic() - began < seconds:
        asked = time.monotonic()
        code, _, _ = side.lab.live()[len(took) % len(side.names)].cli("submit", "--", "true")
        took.append(time.monotonic() - asked)
        failed += code != 0
        time.sleep(max(0.0, SUBMIT_EACH_S - took[-1]))
    figure(f"{prefix}_verdicts", len(tail.since(began, side.lost)), "count")
    figure(f"{prefix}_elections", len(tail.since(began, side.elected)), "count")
    figure(f"{prefix}_gangs_touched", len(tail.since(began, side.evicted)), "count")
    figure(f"{prefix}_submits_failed", failed, "count")
    figure(f"{prefix}_submit_p50", cluster.quantile(took, 0.5), "s")
    figure(f"{prefix}_submit_max", max(took), "s")


def suffer(side, tail, rounds):
    """Deaths beside the loops, as versus_serf has them without."""
    for kind, hurt in (("killed", side.kill), ("silent", side.silence)):
        seen = [death(side, tail, side.names[-1 - turn], hurt) for turn in range(rounds)]
        if seen:
            figure(f"loaded_{kind}_first_s", max(first for first, _ in seen), "s")
            figure(f"loaded_{kind}_all_s", max(last for _, last in seen), "s")
