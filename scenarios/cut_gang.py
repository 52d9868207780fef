"""What becomes of gangs whose hosts go away for a while, each host in a network namespace.

Left alone must be: a gang wholly on the side that is cut off, with or without the leader; one
whose host's agent is down for 30 s; any while the quorum is down for five minutes. A gang that lost
a part runs again elsewhere within verdict + patience + 3 s, no other gang is touched, and only one
attempt of a job comes to its end."""

import dataclasses
import time
from typing import Callable

import ranks
import story
from lab import Failure, Lab, wait_for

VERDICT_S = 2.8
PATIENCE_S = 5
SLACK_S = 3
RECOVERED_S = VERDICT_S + PATIENCE_S + SLACK_S
CUT_S = 30
AGENT_DOWN_S = 30
ON_CUT_S = 20  #: A cut goes on for so long after the gang runs again.
LINGER_S = 8  #: After a fault: longer than a renewal takes.
HOLD_S = 12
GRACE_S = 2
MARGIN_S = 5  #: Beyond hold and grace every rank is gone.
STOPPED_S = 20  #: Ranks of an attempt that is over are gone so long after the heal.


class Sums:
    """What was seen over all cases."""

    def __init__(self):
        self.cases = 0
        self.double_runs = 0
        self.needless_kills = 0
        self.recovered = {}
        self.overlap = {}

    def close(self, lab, name, sizes, touched):
        """A case is over: `sizes` are all its gangs, `touched` the ranks that had to stay."""
        double = ranks.double_runs(lab, sizes)
        self.cases += 1
        self.double_runs += double
        self.needless_kills += touched
        print(f"figure cut_gang_{name}_double_runs {double} count")
        print(f"figure cut_gang_{name}_needless_kills {touched} count", flush=True)

    def recover(self, name, took, overlap):
        self.recovered[name], self.overlap[name] = took, overlap
        print(f"figure cut_gang_{name}_recovered {took:.2f} s")
        print(f"figure cut_gang_{name}_overlap {overlap:.2f} s", flush=True)

    def tell(self):
        late = [name for name, took in self.recovered.items() if took > RECOVERED_S]
        print(f"figure cut_gang_cases {self.cases} count")
        print(f"figure cut_gang_double_runs {self.double_runs} count")
        print(f"figure cut_gang_needless_kills {self.needless_kills} count")
        if self.recovered:
            print(f"figure cut_gang_recovered_max {max(self.recovered.values()):.2f} s")
            print(f"figure cut_gang_overlap_max {max(self.overlap.values()):.2f} s", flush=True)
        if late:
            print(f"  later than {RECOVERED_S:.1f} s: {', '.join(late)}", flush=True)
        return self.double_runs == 0 and self.needless_kills == 0 and not late


def say(name, text):
    print(f"  {name}: {text}", flush=True)


def all_free(lab):
    wait_for("a gang on all 40 GPUs at once", lambda: lab["a"].cli(
        "submit", "--gpus", "40", "--name", "all", "--wait", "--", "true", timeout=30)[0] == 0, 60)


def gangs_on(lab, hosts, *gangs):
    """[(job, its ranks)] of gangs, each (GPUs, flags), that fit on exactly these hosts."""
    all_free(lab)
    blockers = story.block(lab)
    story.release(lab, [blockers.pop(host) for host in hosts])
    made = submit_all(lab, *gangs)
    story.release(lab, blockers.values())
    used = {rank.host for _, of in made for rank in of}
    if used != set(hosts):
        raise Failure(f"the gangs run on {sorted(used)}, not on {sorted(hosts)}")
    return made


def submit_all(lab, *gangs):
    """[(job, its ranks)], each one running before the next is submitted."""
    made = []
    for gpus, *flags in gangs:
        job = ranks.submit(lab["a"], gpus, *flags)
        made.append((job, ranks.await_ranks(lab, job, gpus)))
    return made


def settle(lab):
    for agent in lab.agents.values():
        if not agent.is_running():
            agent.plug_in()
            agent.start()
    wait_for("all five agree", lambda: story.all_agree(lab), 60)


def gone(before):
    return sum(not rank.is_alive() for rank in before)


def touched(lab, gangs):
    """Ranks of these gangs that are gone, and attempts that they should not have needed."""
    return sum(gone(before) + (ranks.attempts_of(lab, job) > 1) for job, before in gangs)


def complete(lab, gangs):
    for job, _ in gangs:
        ranks.let_end(lab, job, *range(1, 1 + ranks.attempts_of(lab, job)))
    for job, _ in gangs:
        story.wait_state(lab, job, "completed", 60)


def must_stay(lab, sums, name, gangs, length, harm, undo=lambda: None, over=()):
    """The gangs are left alone through `harm` and come to their end as first attempts; those of
    `over` do so meanwhile, and are not run again."""
    began = time.monotonic()
    harm()
    for job, _ in over:
        ranks.let_end(lab, job, 1)
    while time.monotonic() - began < length and not sum(gone(of) for _, of in gangs):
        time.sleep(1)
    lasted = time.monotonic() - began
    within = sum(gone(of) for _, of in gangs)
    if not all(gone(of) == len(of) for _, of in over):
        raise Failure("ranks that may end did not")
    undo()
    settle(lab)
    time.sleep(LINGER_S)
    harmed = touched(lab, gangs) + sum(ranks.attempts_of(lab, job) > 1 for job, _ in over)
    complete(lab, [*gangs, *over])
    say(name, f"{sum(len(of) for _, of in gangs)} ranks through {lasted:.0f} s: {within} gone "
              f"meanwhile, {harmed} afterwards; {len(over)} gangs ended meanwhile")
    sums.close(lab, name, {job: len(of) for job, of in [*gangs, *over]}, harmed)


@dataclasses.dataclass(frozen=True)
class Loss:
    """A host goes away, and comes back."""

    host: str
    harm: Callable
    undo: Callable = lambda: None
    with_ranks: bool = False  #: Its ranks die with it.
    old_end: bool = False  #: Old ranks come to their end behind the cut; else they run on.
    is_held: bool = False  #: Their hold ends them before the heal.


def must_recover(lab, sums, name, gangs, loss):
    """The first of the gangs runs again elsewhere; the others, on one host each, are left alone."""
    (job, old), *rest = gangs
    stay = [(each, of) for each, of in rest
            if not (loss.with_ranks and loss.host in hosts_of(of))]
    if any(len(hosts_of(of)) != 1 for _, of in rest) or len(hosts_of(old)) != 2:
        raise Failure(f"gangs on {[hosts_of(of) for _, of in gangs]}")
    behind = [rank for rank in old if rank.host == loss.host]
    began = time.monotonic()
    loss.harm()
    new = ranks.await_ranks(lab, job, len(old), attempt=2, seconds=60)
    took = time.monotonic() - began
    if loss.host in hosts_of(new):
        raise Failure(f"job {job} runs again on {loss.host}, which is lost")
    if loss.old_end:
        ranks.let_end(lab, job, 1)
    overlap = last_seen(behind, began + took, ON_CUT_S)
    if loss.is_held and took + overlap > HOLD_S + GRACE_S + MARGIN_S:
        raise Failure(f"old ranks lived for {took + overlap:.1f} s behind the cut")
    time.sleep(max(0.0, began + took + ON_CUT_S - time.monotonic()))
    loss.undo()
    healed = time.monotonic()
    if any(rank.is_alive() for rank in behind):
        overlap = last_seen(behind, began + took, STOPPED_S)
        say(name, f"old ranks went {time.monotonic() - healed:.1f} s after the heal")
    settle(lab)
    time.sleep(LINGER_S)
    left = sum(rank.is_alive() for rank in behind)
    harmed = touched(lab, stay) + gone(new)
    complete(lab, gangs)
    say(name, f"{len(behind)} of {len(old)} ranks were on {loss.host}; the gang ran again after "
              f"{took:.1f} s; beside it stayed {len(stay)} gangs, "
              f"{sum(loss.host in hosts_of(of) for _, of in stay)} of them on {loss.host}")
    if left:
        raise Failure(f"{left} ranks of job {job}'s first attempt are still there")
    sums.recover(name, took, overlap)
    sums.close(lab, name, {each: len(of) for each, of in gangs}, harmed)


def hosts_of(gang):
    return {rank.host for rank in gang}


def last_seen(group, since, seconds):
    """When the last of the group was alive, counted from `since`; looks for so long at most."""
    end, last = time.monotonic() + seconds, since
    while time.monotonic() < end:
        if not any(rank.is_alive() for rank in group):
            break
        last = time.monotonic()
        time.sleep(0.02)
    return last - since


def play_wholly(lab, sums):
    gangs = gangs_on(lab, ["d", "e"], (14,), (1,), (1,))
    must_stay(lab, sums, "wholly", gangs, CUT_S,
              lambda: lab.switch.cut(["d", "e"], ["a", "b", "c"]), lab.switch.heal)


def play_wholly_and_over(lab, sums):
    """Two gangs, one of them over both hosts, come to their end behind the cut."""
    wide, small, other = gangs_on(lab, ["d", "e"], (14,), (1,), (1,))
    must_stay(lab, sums, "wholly_and_over", [other], CUT_S,
              lambda: lab.switch.cut(["d", "e"], ["a", "b", "c"]), lab.switch.heal, [wide, small])


def play_wholly_with_leader(lab, sums):
    """The gang and the leader are cut off together; the next leader must leave it alone."""
    leader = wait_for("one leader", lambda: story.leader_name(lab.live()), 20)
    gangs = gangs_on(lab, [leader], (8,))
    others = [name for name in lab.names if name != leader]
    must_stay(lab, sums, "wholly_with_leader", gangs, CUT_S,
              lambda: lab.switch.cut([leader], others), lab.switch.heal)


def cut_off(lab, sums, name, lost, beside, flags=(), **more):
    """A gang over both hosts and two small ones beside it; `lost` is cut from all others."""
    gangs = gangs_on(lab, [lost, beside], (12, *flags), (2,), (2,))
    others = [each for each in lab.names if each != lost]
    must_recover(lab, sums, name, gangs, Loss(
        lost, lambda: lab.switch.cut([lost], others), lab.switch.heal, **more))


def play_partly(lab, sums):
    cut_off(lab, sums, "partly", "e", "d")


def play_partly_and_held(lab, sums):
    """As partly, with a hold that lapses behind the cut: the ranks there are stopped before the
    heal."""
    cut_off(lab, sums, "partly_and_held", "e", "d",
            ("--isolation", f"{HOLD_S}s", "--grace", f"{GRACE_S}s"), is_held=True)


def play_partly_and_over(lab, sums):
    """As partly, and the ranks behind the cut come to their end there with exit 0."""
    cut_off(lab, sums, "partly_and_over", "d", "e", old_end=True)


def play_partly_with_leader(lab, sums):
    leader = wait_for("one leader", lambda: story.leader_name(lab.live()), 20)
    other = next(name for name in "abc" if name != leader)
    cut_off(lab, sums, "partly_with_leader", leader, other, old_end=True)


def play_silent_host(lab, sums):
    gangs = gangs_on(lab, ["d", "e"], (12,), (2,), (2,))
    must_recover(lab, sums, "silent_host", gangs, Loss("e", lab["e"].kill_host, with_ranks=True))


def play_agent_down(lab, sums):
    gangs = gangs_on(lab, ["d", "e"], (14,), (1,), (1,))
    must_stay(lab, sums, "agent_down", gangs, AGENT_DOWN_S, lab["e"].kill_agent)


def play_quorum_down(lab, sums, length):
    """Gangs beyond the quorum and on its hosts; two come to their end meanwhile, one of them where
    the agent is dead. Gangs on one host get a hold for that."""
    one = ("--isolation", "10m")
    *gangs, ended = gangs_on(lab, ["d", "e"], (14,), (1, *one), (1, *one))
    *more, ended_there = submit_all(lab, (16,), (7, *one), (1, *one))

    def end_agents():
        for name in "abc":
            lab[name].kill_agent()

    must_stay(lab, sums, "quorum_down", gangs + more, length, end_agents,
              over=[ended, ended_there])


PLAYS = (play_wholly, play_wholly_and_over, play_wholly_with_leader, play_partly,
         play_partly_and_over, play_partly_and_held, play_partly_with_leader, play_silent_host,
         play_agent_down)


def tell(_, quorum_down=300, rounds=1):
    """True when nothing ran twice, nothing was killed without need and all recovered in time."""
    good = True
    for _ in range(rounds):
        sums = Sums()
        with Lab(namespaces=True) as lab:
            story.step_1_form(lab)
            for play in PLAYS:
                play(lab, sums)
            if quorum_down:
                play_quorum_down(lab, sums, quorum_down)
        good = sums.tell() and good
    return good
