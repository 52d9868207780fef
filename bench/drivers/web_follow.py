"""A thousand clients follow one rank through a host that does not run it. Then that host's agent is
killed, and all of them go on at another one with the id of their last event. Each line has a number
and a time, so that every client counts what it lost, got twice, and how late."""

import collections
import sys
import time

from cluster import BASE_PORT, Broken, figure, quantile, settle
from crowd import busiest, threads_of
from followers import Followers, quantile_of
from lab import Lab, wait_for
from system import cpu_seconds, rss_mb
from web_client import answers, give_doors, make_token

DOOR_PORT = 9850
LINE_BYTES = 80
#: Writes so many lines a second until its file comes; then their number goes into the other one.
RANK = """
import os, sys, time
stop, total, rate, width = sys.argv[1], sys.argv[2], float(sys.argv[3]), int(sys.argv[4])
begin, number = time.monotonic(), 0
while number % 20 or not os.path.exists(stop):
    line = f"{number} {time.time_ns()} ".ljust(width - 1, "x") + "\\n"
    os.write(1, line.encode())
    number += 1
    time.sleep(max(0, begin + number / rate - time.monotonic()))
with open(total + ".new", "w") as file:
    file.write(str(number))
os.rename(total + ".new", total)
"""
OPENING_S = 120
RESUME_S = 120
END_S = 60
LOOK_EACH_S = 0.25


class Served:
    """The agent that the followers are at; its memory and its processor meanwhile."""

    def __init__(self, agent):
        self.agent = agent
        self.pid = agent.process.pid
        self.before = self.most = rss_mb(self.pid)
        self.mark()

    def mark(self):
        self.began, self.cpu, self.threads = (time.monotonic(), cpu_seconds(self.pid),
                                              threads_of(self.pid))

    def look(self):
        self.most = max(self.most, rss_mb(self.pid))

    def percent(self):
        """Of one processor, since mark()."""
        return 100 * (cpu_seconds(self.pid) - self.cpu) / (time.monotonic() - self.began)

    def tell(self, words):
        took = time.monotonic() - self.began
        print(f"# {self.agent.name} {words}: {self.percent():.0f} % of a processor, RSS "
              f"{self.before:.0f} MB before, at most {self.most:.0f}; "
              f"{busiest(self.threads, threads_of(self.pid), took)}", flush=True)


def roots_of(lab):
    """The root certificates that the agents show to clients, in PEM."""
    files = [agent.data / "https" / "root.pem" for agent in lab.agents.values()]
    return "".join(file.read_text() for file in files if file.exists())


def build(lab):
    """The doors of all hosts, with a token that each of them takes."""
    doors = give_doors(lab, DOOR_PORT)
    lab.start()
    settle(lab)
    access = make_token(lab["a"], ttl="1d")[0]
    for door in doors.values():
        door.access = access
        wait_for(f"the door of {door.agent.name}", lambda door=door: answers(door), 20)
    return doors


def start_rank(lab, rate, width=LINE_BYTES):
    """(job, stop file, file of the number of lines) of a rank on host a, which writes now."""
    stop, total = lab.directory / "stop", lab.directory / "total"
    code, out, err = lab["a"].cli("submit", "--gpus", "1", "--host", "a", "--cwd",
                                  str(lab.directory), "--", sys.executable, "-c", RANK,
                                  str(stop), str(total), str(rate), str(width))
    if code != 0:
        raise Broken(f"submit: {err}")
    job = out.split()[-1].strip(".")
    wait_for("the rank", lambda: lab["a"].cli("logs", job)[1].count("\n") > 10, 30)
    return job, stop, total


def path_of(job, rank=0):
    return f"/v1/jobs/{job}/ranks/{rank}/output"


def watch(crowd, served, seconds, is_done=lambda look: False):
    """Looks at both until it is done or time is over; the last look."""
    end = time.monotonic() + seconds
    while True:
        look = crowd.look()
        served.look()
        if is_done(look) or time.monotonic() >= end:
            return look
        time.sleep(LOOK_EACH_S)


def all_have_news(crowd):
    return lambda look: (look["stages"]["open"] == crowd.count and min(look["news"]) > 0)


def gather(crowd, served):
    """All followers are open, and have read what there was before."""
    began = time.monotonic()
    look = watch(crowd, served, OPENING_S, all_have_news(crowd))
    if not all_have_news(crowd)(look):
        raise Broken(f"not all followers came within {OPENING_S} s: {dict(look['stages'])}, "
                     f"{dict(look['failed'])}")
    print(f"# {crowd.count} followers at {served.agent.name} within "
          f"{time.monotonic() - began:.1f} s, {look['failed'].total()} dials failed", flush=True)


def kill_and_resume(lab, crowd, served, other, port):
    """Seconds from the kill until each follower has a line that was written on its new stream."""
    opened = crowd.look()["opened"]
    crowd.dial(port, roots_of(lab))
    killed = time.time_ns()
    served.agent.kill_agent()

    def is_done(look):
        return look["opened"] >= opened + crowd.count and all_have_news(crowd)(look)

    look = watch(crowd, other, RESUME_S, is_done)
    if not is_done(look):
        raise Broken(f"not all followers resumed within {RESUME_S} s: {dict(look['stages'])}, "
                     f"{dict(look['failed'])}")
    return [(news - killed) / 1e9 for news in look["news"]]


def end_rank(crowd, served, stop, total):
    """The number of lines that the rank wrote; each follower has been told the end."""
    stop.touch()
    wait_for("the rank's last line", total.exists, 30)
    look = watch(crowd, served, END_S, lambda look: look["stages"]["over"] == crowd.count)
    if look["stages"]["over"] != crowd.count:
        print(f"# not told the end: {dict(look['stages'])}, {dict(look['failed'])}", flush=True)
    return int(total.read_text())


def faults(told, lines):
    """({what: count}, the sum) of all that is wrong with what they got."""
    wrong = collections.Counter()
    for follower in told["followers"]:
        for key in ("lost", "doubled", "misplaced", "foreign"):
            wrong[key] += follower[key]
        wrong["missing at the end"] += max(0, lines - follower["next"])
        wrong["too many"] += max(0, follower["next"] - lines)
        wrong["not told the end"] += follower["stage"] != "over"
    wrong["gaps"] = told["events"]["gap"]
    return +wrong, wrong.total()


def tell_delays(crowd, before, after):
    """Of lines that were written while the follower's stream was open; the others had to wait."""
    steady = before["delays"] + after["delays"]
    for name, counts in (("before", before["delays"]), ("after", after["delays"])):
        print(f"# delay of {counts.total()} lines {name} the kill: p50 "
              f"{quantile_of(counts, 0.5)} ms, p99 {quantile_of(counts, 0.99)} ms, max "
              f"{max(counts, default=0)} ms", flush=True)
    turns = before["turns"] + after["turns"]
    figure("follow_client_turn_p99", 1000 * quantile(turns, 0.99), "ms")
    figure("follow_client_turn_max", 1000 * max(turns), "ms")
    everything = steady + before["late"] + after["late"]
    figure("follow_delay_whole_p99", quantile_of(everything, 0.99), "ms")
    figure("follow_delay_p50", quantile_of(steady, 0.5), "ms")
    figure("follow_delay_p99", quantile_of(steady, 0.99), "ms")


def web_follow(followers=1000, seconds=45, after=30, rate=100, processes=2):
    """The host is killed after `seconds`; then they follow another one for `after`."""
    with Lab("abc", base_port=BASE_PORT) as lab:
        doors = build(lab)
        job, stop, total = start_rank(lab, rate)
        first, second = Served(lab["b"]), Served(lab["c"])
        with Followers(path_of(job), doors["b"].access, followers, processes) as crowd:
            crowd.dial(doors["b"].port, roots_of(lab))
            gather(crowd, first)
            crowd.forget_delays()
            first.mark()
            watch(crowd, first, seconds)
            percent = first.percent()
            first.tell("serves")
            before = crowd.tell()
            second.before = rss_mb(second.pid)
            took = kill_and_resume(lab, crowd, first, second, doors["c"].port)
            second.mark()
            watch(crowd, second, after)
            second.tell("serves after the kill")
            lines = end_rank(crowd, second, stop, total)
            whole = crowd.tell()
    rest = {name: whole[name] - before[name] for name in ("delays", "late")}
    rest["turns"] = whole["turns"][len(before["turns"]):]
    wrong, lost = faults(whole, lines)
    print(f"# {lines} lines to {followers} followers; wrong: {dict(wrong)}; events: "
          f"{dict(whole['events'])}", flush=True)
    print(f"# ends of dials and streams: {dict(whole['failed'])}; clients took "
          f"{whole['cpu']:.0f} s of processor", flush=True)
    tell_delays(crowd, before, rest)
    figure("follow_resume_p50", quantile(took, 0.5), "s")
    figure("follow_resume_max", max(took), "s")
    figure("follow_cpu_pct", percent, "%")
    figure("follow_growth", max(each.most - each.before for each in (first, second)), "MB")
    figure("follow_lost", lost, "count")
    return lost
