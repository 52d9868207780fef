"""The story every user should be able to live through: five agents on one machine form a cluster,
elect a quorum, run gangs of real programs, lose hosts, agents, the leader and the network, and lose
no job and run none twice. Each step raises lab.Failure with the promise that was broken."""

import argparse
import json
import os
import signal
import sys
import time

import kept
from lab import BASE_PORT, Failure, Lab, ROOT, can_use_namespaces, wait_for

EXIT_SKIPPED = 77
BLOCKER = "blocker"
TRIED = "tried"
JOB = str(ROOT / "scenarios" / "jobs" / "allreduce.py")


def say(text):
    print(f"  {text}", flush=True)


def states(agent):
    """{name: state} as this node sees it, or {} when it does not answer."""
    answer = agent.ask("hosts")
    return {host["host"]: host["state"] for host in answer["hosts"]} if answer else {}


def leader_name(agents):
    """The leader all these nodes agree on, or nothing."""
    names = set()
    for agent in agents:
        answer = agent.ask("quorum")
        names.add(answer["leader"] if answer else "")
    return names.pop() if len(names) == 1 and "" not in names else None


def submit(agent, name, seconds, gpus=16):
    """Submits the all-reduce; returns the job's id."""
    number = try_submit(agent, name, seconds, gpus)
    if number is None:
        raise Failure(f"submit of {name} on {agent.name} found no quorum")
    return number


def try_submit(agent, name, seconds, gpus):
    """The job's id, or nothing when there is no quorum at the moment."""
    code, out, err = agent.cli(*submit_words(agent.lab, name, seconds, gpus))
    if code not in (0, 5, 75):
        raise Failure(f"submit of {name} on {agent.name} exits {code}: {err.strip()}")
    return json.loads(out)["job_id"] if code == 0 else None


def submit_words(lab, name, seconds, gpus):
    steps = max(2, int(seconds / 0.2))
    return ["submit", "--json", "--gpus", str(gpus), "--name", name, "--", "python3", JOB,
            "--steps", str(steps), "--step-seconds", "0.2", "--ledger", str(ledger_of(lab))]


def ledger_of(lab):
    return lab.directory / "ledger"


def job(lab, number):
    """The job's detail from the first node that answers."""
    for agent in lab.live():
        answer = agent.ask("show", str(number))
        if answer:
            return answer
    return None


def state_of(lab, number):
    answer = job(lab, number)
    return answer["job"]["state"] if answer else "unknown"


def hosts_of(lab, number):
    answer = job(lab, number)
    return answer["job"]["hosts"] if answer else []


def wait_state(lab, number, state, timeout):
    wait_for(f"job {number} {state}", lambda: state_of(lab, number) == state, timeout)


def check_output(lab, number):
    """Rank 0's output, from any node: whole, and from one attempt alone."""
    code, out, err = lab.live()[-1].cli("logs", str(number))
    if code != 0 or "done steps=" not in out:
        raise Failure(f"output of job {number} is not whole: exit {code}: {err.strip()} "
                      f"{out[-200:]}")
    if out.count("done steps=") != 1:
        raise Failure(f"job {number} said done {out.count('done steps=')} times")


def completed_once(lab, number):
    """Completed by exactly one attempt, and the program itself says so once."""
    answer = job(lab, number)
    ledger = ledger_of(lab)
    ends = ledger.read_text().split().count(str(number)) if ledger.exists() else 0
    if ends != 1 and answer["job"]["name"] != "all":
        raise Failure(f"the program of job {number} got to its end {ends} times")
    done = [a for a in answer["attempts"] if a["cause"] == "completed"]
    if answer["job"]["state"] != "completed" or len(done) != 1:
        raise Failure(f"job {number}: state {answer['job']['state']}, {len(done)} completions")


def step_1_form(lab):
    say("five agents start, each knowing three seeds")
    lab.start()
    everyone = set(lab.names)
    wait_for("all five list the same five alive members", lambda: lab.check_started() and all(
        {n for n, s in states(a).items() if s == "alive"} == everyone for a in lab.live()), 20)
    leader = wait_for("one leader that all agree on", lambda: leader_name(lab.live()), 20)
    voters = {v["host"] for v in lab["e"].ask("quorum")["voters"]}
    if len(voters) != 3:
        raise Failure(f"{len(voters)} voters instead of 3")
    wait_for("every host registered", lambda: len([
        h for h in lab["e"].ask("hosts")["hosts"] if h["gpus"] == 8]) == 5, 10)
    say(f"members agree; voters {', '.join(sorted(voters))}; {leader} leads")
    return leader


def step_2_gang(lab, seconds=4):
    leader = leader_name(lab.live())
    other = next(a for a in lab.live() if a.name != leader)
    number = submit(other, "first", seconds)
    say(f"16 ranks submitted on {other.name} (not the leader) as job {number}")
    wait_state(lab, number, "running", 15)
    if len(hosts_of(lab, number)) != 2:
        raise Failure(f"a gang of 16 on {hosts_of(lab, number)} instead of two hosts")
    return number


def step_3_wait(lab, seconds=4):
    second = submit(lab["e"], "second", seconds)
    wait_state(lab, second, "running", 15)
    third = submit(lab["d"], "third", 2)
    answer = wait_for("why of the third", lambda: lab["a"].ask("why", str(third)), 5)
    if answer["state"] != "queued" or answer["lacking"] != 8 or not answer["would_start"]:
        raise Failure(f"why {third}: {answer}")
    held_by = [holder["job_id"] for holder in answer["holders"]]
    if third in held_by or hosts_of(lab, third) or not held_by:
        raise Failure(f"job {third} should wait and hold nothing: {answer}")
    say(f"a second gang runs beside it; the third waits: it lacks {answer['lacking']} of "
        f"{answer['wanted']} GPUs, jobs {' and '.join(map(str, held_by))} hold them, "
        f"and it starts when job {answer['would_start'][0]} ends")
    return second, third


def step_4_kill_host(lab, number):
    victim = hosts_of(lab, number)[-1]
    before = job(lab, number)["attempts"][-1]["token"]
    say(f"host {victim} dies with everything on it")
    lab[victim].kill_host()
    wait_for(f"attempt 2 of job {number}", lambda: (job(lab, number) or {"attempts": []})[
        "attempts"][1:] or None, 30)
    wait_state(lab, number, "completed", 40)
    after = job(lab, number)["attempts"][-1]["token"]
    if [int(x) for x in after.split(".")] <= [int(x) for x in before.split(".")]:
        raise Failure(f"token {after} is not above {before}")
    if victim in hosts_of(lab, number):
        raise Failure(f"attempt 2 ran on {victim}, which is dead")
    completed_once(lab, number)
    check_output(lab, number)
    say(f"its gang was stopped, queued again and finished elsewhere under token {after}")
    return victim


def revive(lab, name):
    lab[name].plug_in()
    lab[name].start()
    wait_for(f"{name} back", lambda: all(
        states(a).get(name) == "alive" for a in lab.live()), 15)


def step_4_freeze_host(lab):
    number = submit(lab["a"], "frozen", 6)
    wait_state(lab, number, "running", 15)
    victim = hosts_of(lab, number)[-1]
    wait_for("ranks to freeze", lambda: ranks_running(lab[victim], number), 10)
    say(f"every process of {victim} is stopped with SIGSTOP")
    lab[victim].signal_all(signal.SIGSTOP)
    others = [a for a in lab.live() if a.name != victim]
    wait_for(f"job {number} finished elsewhere", lambda: any(
        seen_by(a, number) == "completed" for a in others), 60)
    if not ranks_running(lab[victim], number):
        raise Failure(f"no frozen rank of job {number} is left to be let go")
    say("the gang finished elsewhere; the frozen host is let go")
    lab[victim].signal_all(signal.SIGCONT)
    wait_for("stale ranks ended", lambda: not ranks_running(lab[victim], number), 20)
    wait_for(f"{victim} alive again", lambda: all(
        states(a).get(victim) == "alive" for a in lab.live()), 15)
    completed_once(lab, number)
    check_output(lab, number)
    say("its stale ranks were ended and nothing they said was accepted")


def seen_by(agent, number):
    """The job's state as this node's own replica has it."""
    answer = agent.ask("show", str(number))
    return answer["job"]["state"] if answer else "unknown"


def ranks_running(agent, number):
    """Ranks of this job on this host that are alive."""
    return len(agent.ranks_of(number))


def step_5_agent_alone(lab):
    number = submit(lab["b"], "adopted", 5)
    wait_state(lab, number, "running", 15)
    victim = hosts_of(lab, number)[-1]
    say(f"the agent of {victim} is killed, its ranks are not")
    lab[victim].kill_agent()
    time.sleep(1)
    lab[victim].start()
    wait_state(lab, number, "completed", 30)
    if len(job(lab, number)["attempts"]) != 1:
        raise Failure(f"job {number} needed a second attempt")
    check_output(lab, number)
    say("the restarted agent adopted them; the job finished with its output whole")


def ask_around(lab, verb, *rest):
    """Any node answers, or says that there is no quorum."""
    for agent in lab.live():
        code, _, err = agent.cli(verb, *rest)
        if code not in (0, 5):
            raise Failure(f"{verb} on {agent.name} exits {code}: {err.strip()}")


def step_6_leader(lab):
    running = submit(lab["d"], "through", 6)
    wait_state(lab, running, "running", 15)
    leader = leader_name(lab.live())
    rank_0_at = hosts_of(lab, running)[0]
    say(f"the leader's agent ({leader}) is killed")
    lab[leader].kill_agent()
    number, deadline = None, time.monotonic() + 15
    while number is None:
        ask_around(lab, "jobs")
        if rank_0_at != leader:  # Else its output is with the agent that is down.
            ask_around(lab, "logs", str(running))
        number = try_submit(lab.live()[0], "meanwhile", 1, 8)
        if number is None and time.monotonic() > deadline:
            raise Failure("no submit worked within 15 s of the leader's death")
    other = wait_for("another leader", lambda: leader_name(lab.live()), 15)
    if other == leader:
        raise Failure(f"{leader} is dead and leads")
    lab[leader].start()
    for each in (running, number):
        wait_state(lab, each, "completed", 40)
        completed_once(lab, each)
        check_output(lab, each)
    say(f"{other} leads; jobs {running} and {number} finished, none ran twice")


def fill(lab, seconds, pair):
    """A gang of 16 over both hosts of `pair`, one of five of eight GPUs on every other host."""
    wait_for("a gang on all 40 GPUs at once", lambda: lab["a"].cli(
        "submit", "--gpus", "40", "--name", "all", "--wait", "--", "true")[0] == 0, 20)
    blockers = block(lab)
    release(lab, [blockers.pop(name) for name in pair])
    wide = submit(lab["a"], "wide", seconds)
    wait_state(lab, wide, "running", 20)
    if sorted(hosts_of(lab, wide)) != sorted(pair):
        raise Failure(f"a gang of 16 runs on {hosts_of(lab, wide)}: only {pair} were free")
    rest = sorted(blockers)
    release(lab, blockers.values())
    numbers = [submit(lab["a"], f"on-{i + 1}", seconds, gpus=5) for i in range(len(rest))]
    for number in numbers:
        wait_state(lab, number, "running", 20)
    hosts = [host for number in numbers for host in hosts_of(lab, number)]
    if sorted(hosts) != rest:
        raise Failure(f"gangs of five of eight GPUs run on {hosts}")
    return [wide] + numbers


def block(lab):
    """{host: a job that holds all its GPUs}."""
    numbers = []
    for _ in lab.names:
        code, out, err = lab["a"].cli("submit", "--json", "--gpus", "8", "--name", BLOCKER, "--",
                                      "sleep", "60")
        if code != 0:
            raise Failure(f"submit of a blocker exits {code}: {err.strip()}")
        numbers.append(json.loads(out)["job_id"])
    for number in numbers:
        wait_state(lab, number, "running", 20)
    return {hosts_of(lab, number)[0]: number for number in numbers}


def release(lab, blockers):
    for number in blockers:
        code, _, err = lab["a"].cli("cancel", str(number))
        if code != 0:
            raise Failure(f"cancel of job {number} exits {code}: {err.strip()}")
    for number in blockers:
        wait_state(lab, number, "cancelled", 20)


def check_smaller_voice(agent, cut_at):
    """Cut off from the quorum: submits are refused, reads carry their age."""
    wait_for(f"refusal by {agent.name}, without quorum", lambda: is_refused(agent), 15)
    answer = wait_for(f"{agent.name}'s jobs", lambda: agent.ask("jobs"), 5)
    cut_for_ms = (time.monotonic() - cut_at) * 1000
    if not 500 <= answer["age_ms"] <= cut_for_ms + 1000:
        raise Failure(f"the jobs of {agent.name} are said to be {answer['age_ms']} ms old, "
                      f"{cut_for_ms:.0f} ms after the cut")


def is_refused(agent):
    """Exit 5 says that this job was surely not accepted, which finish() holds against the jobs.
    Exit 75, while the node still trusts a leader behind the cut, says that it may have been."""
    name = f"{TRIED}-{time.monotonic_ns()}"
    code, _, err = agent.cli("submit", "--gpus", "1", "--name", name, "--", "true")
    if code not in (5, 75):
        raise Failure(f"submit on {agent.name}, cut off: exit {code}: {err.strip()}")
    if code == 5:
        agent.lab.refused.add(name)
    return code == 5


def step_7_cut(lab, left, right):
    cut_off = right if len(set(left) & set("abc")) >= 2 else left
    with_quorum = left if cut_off is right else right
    running = fill(lab, 14, cut_off[-2:])
    say(f"{{{','.join(left)}}} is cut from {{{','.join(right)}}} for 20 s")
    lab.switch.cut(left, right)
    began = time.monotonic()
    inside = wait_for("a submit on the side with two voters", lambda: try_submit(
        lab[with_quorum[0]], "inside", 1, 2), 15)
    for name in cut_off:
        check_smaller_voice(lab[name], began)
    wait_for("the job submitted inside done", lambda: seen_by(
        lab[with_quorum[0]], inside) == "completed", 20)
    say(f"{{{','.join(with_quorum)}}} ran job {inside} "
        f"{time.monotonic() - began:.1f} s into the cut; the others refused with exit 5")
    time.sleep(max(0.0, 20 - (time.monotonic() - began)))
    lab.switch.heal()
    healed = time.monotonic()
    wait_for("all five agree again", lambda: all_agree(lab), 10)
    agreed = time.monotonic() - healed
    if agreed > 5:
        raise Failure(f"agreement came {agreed:.1f} s after the heal")
    for number in running + [inside]:
        wait_state(lab, number, "completed", 40)
        completed_once(lab, number)
        check_output(lab, number)
    for number in running:
        if len(job(lab, number)["attempts"]) != 1:
            raise Failure(f"job {number} ran on one side and was stopped all the same")
    say(f"healed; all five agree after {agreed:.1f} s; no job ran twice")


def without_clocks(job):
    """What goes on while one node after the other is asked says nothing of their agreement."""
    return {key: value for key, value in job.items() if key not in ("age_ms", "run_ms", "gpu_ms")}


def all_agree(lab):
    """Everybody alive to everybody, one leader, the same jobs in the same states."""
    if not all(set(states(a).values()) == {"alive"} and len(states(a)) == 5 for a in lab.live()):
        return False
    jobs = [a.ask("jobs", "--all") for a in lab.live()]
    views = {json.dumps([without_clocks(job) for job in j["jobs"]] if j else None) for j in jobs}
    return leader_name(lab.live()) is not None and len(views) == 1


def no_job_runs_twice(lab):
    answer = wait_for("jobs", lambda: lab.live()[0].ask("jobs", "--all"), 10)
    told = {each["name"] for each in answer["jobs"]} & lab.refused
    if told:
        raise Failure(f"refused as surely not accepted, and yet accepted: {sorted(told)}")
    numbers = [each["job_id"] for each in answer["jobs"]
               if each["name"] != BLOCKER and not each["name"].startswith(TRIED)]
    for number in numbers:
        completed_once(lab, number)
    return len(numbers)


def finish(lab):
    say(f"{no_job_runs_twice(lab)} jobs, each completed exactly once")


def gangs_and_a_death(lab):
    step_1_form(lab)
    first = step_2_gang(lab, seconds=5)
    second, third = step_3_wait(lab, seconds=5)
    victim = step_4_kill_host(lab, first)
    for number in (second, third):
        wait_state(lab, number, "completed", 60)
    revive(lab, victim)


def quick(lab):
    """What the quick start tells: steps 1-3, the kill of 4, and 6."""
    gangs_and_a_death(lab)
    step_6_leader(lab)
    finish(lab)


def steps(lab):
    """Steps 1 to 6."""
    gangs_and_a_death(lab)
    step_4_freeze_host(lab)
    step_5_agent_alone(lab)
    step_6_leader(lab)
    finish(lab)


def cuts(lab):
    """Step 7 on a fresh cluster; needs a namespace a host."""
    step_1_form(lab)
    step_7_cut(lab, ["a", "b"], ["c", "d", "e"])
    step_7_cut(lab, ["a", "e"], ["b", "c", "d"])
    finish(lab)


def whole(lab):
    """All seven steps; needs a namespace a host."""
    gangs_and_a_death(lab)
    step_4_freeze_host(lab)
    step_5_agent_alone(lab)
    step_6_leader(lab)
    step_7_cut(lab, ["a", "b"], ["c", "d", "e"])
    step_7_cut(lab, ["a", "e"], ["b", "c", "d"])
    finish(lab)


def tell(part, namespaces=False, base_port=BASE_PORT):
    """True when every promise of the part was kept; says which one was not."""
    try:
        with Lab(namespaces=namespaces, base_port=base_port) as lab:
            part(lab)
    except Failure as failure:
        print(f"  BROKEN: {failure}", flush=True)
        return False
    return True


def skip(why):
    print(f"skipped: {why}")
    return 1 if os.environ.get("MUSTER_NO_SKIP") == "1" else EXIT_SKIPPED


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", choices=["quick", "steps", "cuts", "whole", "keep", "stop"])
    parser.add_argument("--namespaces", action="store_true", help="a network namespace a host")
    parser.add_argument("--base-port", type=int, default=BASE_PORT)
    arguments = parser.parse_args()
    if arguments.part == "keep":
        return kept.start(quick, arguments.base_port)
    if arguments.part == "stop":
        return kept.stop()
    why_not = can_use_namespaces() if arguments.namespaces else ""
    if why_not:
        return skip(why_not)
    part = {"quick": quick, "steps": steps, "cuts": cuts, "whole": whole}[arguments.part]
    began = time.monotonic()
    good = tell(part, arguments.namespaces, arguments.base_port)
    say(f"{'told' if good else 'broken'} after {time.monotonic() - began:.0f} s")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
