"""Jobs with the largest commands there may be flood a quorum of three. It has to refuse them in
time, in words that help, and to stay small: the log on disk, the memory of its voters. Meanwhile
one voter is off, and needs a snapshot when it is back. Then the leader dies, and the next one has to
know the keys of jobs that ended long ago."""

import collections
import concurrent.futures
import re
import threading
import time

import story
from lab import Failure, Lab, wait_for

COMMAND_BYTES = 60_000
HANDS = 6  #: Submits under way at once.
REFUSED = "the commands of all jobs that have not ended take 64 MiB"
RAFT_MIB_MAX = 768
MEMORY_MIB_MAX = 768


def submit(agent, number):
    """(job or nothing, why not, seconds)."""
    began = time.monotonic()
    code, out, error = agent.cli("submit", "--gpus", "3", "--key", f"{number:032x}", "--", "true",
                                 "x" * COMMAND_BYTES, timeout=60)
    took = time.monotonic() - began
    if code == 0:
        return int(re.search(r"\d+", out).group()), "", took
    if code != 5:
        raise Failure(f"submit {number}: exit {code}: {error}")
    return None, error, took


def quorum_of(lab):
    for agent in lab.live():
        answer = agent.ask("quorum")
        if answer and answer["leader"]:
            return answer
    return None


def memory_mib(agent):
    """Without what of its files is mapped."""
    with open(f"/proc/{agent.process.pid}/status", encoding="ascii") as file:
        return int(re.search(r"RssAnon:\s+(\d+) kB", file.read()).group(1)) / 1024


def raft_mib(agent):
    return sum(path.stat().st_blocks * 512 for path in (agent.data / "raft").iterdir()) / 2**20


def fill(lab, hands):
    """Jobs by number of their key, until one is refused."""
    jobs, refused = {}, []
    number = 0
    while not refused:
        batch = range(number, number + HANDS)
        number += HANDS
        for key, (job, why, _) in zip(batch, hands.map(lambda n: submit(lab.live()[0], n), batch)):
            if job:
                jobs[key] = job
            else:
                refused.append(why)
    if not all(REFUSED in why for why in refused):
        raise Failure(f"refused in other words: {refused}")
    return jobs


def churn(lab, hands, jobs, count):
    """So often the oldest job makes way for another one; the slowest answer, in seconds."""
    oldest = iter(sorted(jobs.values()))
    fresh, lock = collections.deque(), threading.Lock()

    def next_to_go():
        with lock:
            job = next(oldest, None)
            return fresh.popleft() if job is None else job

    def turn(number):
        agent = lab.live()[number % len(lab.live())]
        code, _, error = agent.cli("cancel", str(next_to_go()), timeout=60)
        if code != 0:
            raise Failure(f"cancel: exit {code}: {error}")
        job, why, took = submit(agent, 1_000_000 + number)
        if not job:
            raise Failure(f"room was made, and yet: {why}")
        fresh.append(job)
        return took
    # One job fewer than fit for each hand, so that whoever comes first finds room.
    for _ in range(HANDS):
        lab.live()[0].cli("cancel", str(next_to_go()), timeout=60)
    return max(hands.map(turn, range(count)))


def tell(base_port, count=2000):
    with Lab("abc", gpus="sim:1xH100", base_port=base_port) as lab:
        with concurrent.futures.ThreadPoolExecutor(HANDS) as hands:
            return flood(lab, hands, count)


def form(lab):
    """Three voters, all GPUs of which one job holds, so that nothing else starts."""
    lab.start()
    wait_for("a quorum of three", lambda: lab.check_started() and story.leader_name(lab.live()) and
             len(quorum_of(lab)["voters"]) == 3, 20)
    job = str(lab["a"].ask("submit", "--gpus", "3", "--", "sleep", "3600")["job_id"])
    wait_for("the job that holds all GPUs runs", lambda: (
        lab["a"].ask("show", job) or {"job": {"state": ""}})["job"]["state"] == "running", 20)


def flood(lab, hands, count):
    form(lab)
    jobs = fill(lab, hands)
    first = dict(jobs)
    print(f"figure large_jobs_until_refused {len(jobs)} count", flush=True)
    before = quorum_of(lab)
    off = next(agent for agent in lab.live() if agent.name != before["leader"])
    off.kill_agent()
    slowest = churn(lab, hands, jobs, count)
    after = quorum_of(lab)
    print(f"figure large_jobs_submitted {(len(jobs) + count) * COMMAND_BYTES} B")
    print(f"figure large_jobs_answer_max {slowest * 1000:.0f} ms")
    print(f"figure large_jobs_leader_changes {after['term'] - before['term']} count", flush=True)
    off.start()
    began = time.monotonic()
    wait_for("the voter that was off has caught up", lambda: all(
        voter["entries_behind"] == 0 and voter["contact_ms"] < 2000
        for voter in lab[after["leader"]].ask("quorum")["voters"]), 60)
    print(f"figure large_jobs_caught_up {time.monotonic() - began:.2f} s")
    if "snapshot_sent" not in lab[after["leader"]].log.read_text(encoding="utf-8"):
        raise Failure("the voter that was off needed no snapshot: nothing was shown")
    raft = max(raft_mib(agent) for agent in lab.live())
    memory = max(memory_mib(agent) for agent in lab.live())
    print(f"figure large_jobs_raft {raft:.0f} MiB")
    print(f"figure large_jobs_memory {memory:.0f} MiB", flush=True)
    lab[after["leader"]].kill_agent()
    wait_for("the next leader", lambda: story.leader_name(lab.live()) not in (
        None, after["leader"]), 30)
    again = [submit(lab.live()[0], key) for key in list(first)[:20]]
    unanswered = [why for job, why, _ in again if not job]
    if unanswered:
        raise Failure(f"under the next leader: {unanswered[0]}")
    moved = sum(job != first[key] for key, (job, _, _) in zip(first, again))
    print(f"figure large_jobs_keys_lost {moved} count", flush=True)
    return (after["term"] == before["term"] and moved == 0 and raft <= RAFT_MIB_MAX and
            memory <= MEMORY_MIB_MAX)
