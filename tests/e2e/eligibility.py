"""Jobs that wait, on real processes: chains over the ends of other jobs, a begin that outlives its
leader, and deadlines. Each case is a function; its docstring is the promise."""

import json
import os
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scenarios"))

from lab import Failure, Lab, play, wait_for  # noqa: E402

BASE_PORT = int(os.environ.get("MUSTER_TEST_PORT", "7620"))


def call(agent, *arguments, code=0):
    got, out, err = agent.cli(*arguments)
    if got != code:
        raise Failure(f"{' '.join(arguments)} exited {got}, not {code}: {out}{err}")
    return out + err if code else out


def submit(agent, *arguments):
    return call(agent, "submit", *arguments).split()[1]


def job(agent, number):
    """As that node knows it; nothing of it while the node lags behind or has no leader."""
    answer = agent.ask("show", number)
    return answer["job"] if answer else {"state": "", "reason": "", "cause": ""}


def wait_state(agent, number, state, seconds=20):
    wait_for(f"job {number} {state}", lambda: job(agent, number)["state"] == state, seconds)


def says(agent, text, *arguments):
    """Soon: a node answers from its own copy, which follows within a moment."""
    wait_for(f"'{text}' in {' '.join(arguments)}", lambda: text in agent.cli(*arguments)[1], 10)


def refused(agent, *arguments, code, text):
    said = call(agent, *arguments, code=code)
    if text not in said:
        raise Failure(f"{' '.join(arguments)} does not say '{text}': {said}")


def a_chain_follows_the_ends_of_its_jobs(lab):
    """One job fails: what was to follow its success is cancelled with the reason, with the job
    behind it, and what was to follow its failure or any end of it runs."""
    agent = lab["a"]
    first = submit(agent, "--begin", "+3s", "--", "sh", "-c", "exit 3")
    build = submit(agent, "--after", f"ok:{first}", "--", "true")
    publish = submit(agent, "--after", f"ok:{build}", "--", "true")
    clean = submit(agent, "--after", f"fail:{first}", "--", "true")
    report = submit(agent, "--after", f"any:{first},any:{publish},ok:{clean}", "--", "true")
    says(agent, f"after {first}", "jobs")
    says(agent, f"it waits until job {first} succeeded", "why", build)
    says(agent, f"ok:{first}", "show", build)
    waiting = json.loads(call(agent, "show", build, "--json"))["job"]
    if waiting["after"] != [f"ok:{first}"] or waiting["state"] != "queued":
        raise Failure(f"the JSON of a job that waits: {waiting}")
    wait_state(agent, report, "completed", 30)
    for number, state in ((first, "failed"), (build, "cancelled"), (publish, "cancelled"),
                          (clean, "completed")):
        if job(agent, number)["state"] != state:
            raise Failure(f"job {number} is {job(agent, number)}, not {state}")
    says(agent, f"it was to start after job {first} succeeded, and job {first} failed", "show",
         build)
    # The ends of these jobs count at once.
    late = submit(agent, "--after", f"ok:{clean},fail:{build}", "--", "true")
    wait_state(agent, late, "completed")


def an_array_waits_as_a_whole(lab):
    """No task begins before the job that the array waits for has ended."""
    agent = lab["b"]
    first = submit(agent, "--begin", "+2s", "--", "true")
    array = submit(agent, "--array", "0-3", "--after", f"ok:{first}", "--", "true")
    behind = submit(agent, "--after", f"ok:{array},any:{array}.2", "--", "true")
    wait_state(agent, behind, "completed", 40)
    if job(agent, array)["state"] != "completed":
        raise Failure(f"the array: {job(agent, array)}")


def bad_input_is_named(lab):
    """Each wrong option has a sentence that names its part."""
    agent = lab["a"]
    number = submit(agent, "--begin", "+1h", "--", "true")
    refused(agent, "submit", "--after", f"ok:{number},ok:x", "--", "true", code=2,
            text="item 2 `ok:x`")
    refused(agent, "submit", "--after", "ok:987654", "--", "true", code=6, text="no job 987654")
    refused(agent, "submit", "--begin", "25:00", "--", "true", code=2, text="--begin")
    refused(agent, "submit", "--begin", "+2h", "--deadline", "+1h", "--", "true", code=2,
            text="is not after --begin")
    refused(agent, "submit", "--begin", "22:00", "--deadline", "22:00", "--", "true", code=2,
            text="is not after --begin")
    refused(agent, "submit", "--begin", "", "--", "true", code=2, text="--begin: the value is empty")
    refused(agent, "edit", number, "--deadline", "", code=2, text="--deadline: the value is empty")
    refused(agent, "submit", "--begin", "2027-02-31T08:00", "--", "true", code=2,
            text="the calendar does not have")
    refused(agent, "submit", "--begin", "+800d", "--", "true", code=2, text="365d")
    call(agent, "cancel", number)


def a_deadline_by_the_clock_follows_the_begin(lab):
    """At each time of the day a night is from 22:00 to 06:00."""
    agent = lab["a"]
    number = submit(agent, "--begin", "22:00", "--deadline", "06:00", "--hold", "--", "true")
    wait_for("the times", lambda: job(agent, number).get("deadline_unix_ms"), 10)
    times = job(agent, number)
    night_h = (times["deadline_unix_ms"] - times["begin_unix_ms"]) / 3_600_000
    if not 6.9 < night_h < 9.1:  # The clock may be set forward or back in it.
        raise Failure(f"a night of {night_h} hours: {times}")
    call(agent, "cancel", number)


def a_deadline_passes(lab):
    """A job that has not started by then fails and says so; one that runs goes on."""
    agent = lab["c"]
    filler = submit(agent, "--gpus", "24", "--", "sleep", "1000")
    wait_state(agent, filler, "running", 30)
    late = submit(agent, "--gpus", "1", "--deadline", "+3s", "--", "true")
    held = submit(agent, "--hold", "--deadline", "+3s", "--", "true")
    for number in (late, held):
        wait_state(agent, number, "failed")
        says(agent, "its deadline passed before it started", "show", number)
    call(agent, "cancel", filler)
    runs = submit(agent, "--gpus", "1", "--deadline", "+5s", "--", "sleep", "9")
    wait_state(agent, runs, "running")
    wait_state(agent, runs, "completed", 30)


def an_edit_changes_the_times(lab):
    """`muster edit` moves the begin of a job that waits, and takes it off."""
    agent = lab["b"]
    number = submit(agent, "--begin", "+1h", "--", "true")
    wait_for("its reason", lambda: "begins" in call(agent, "jobs"), 10)
    call(agent, "edit", number, "--begin", "+2h", "--deadline", "+3h")
    call(agent, "edit", number, "--begin", "none", "--deadline", "none")
    wait_state(agent, number, "completed")
    refused(agent, "edit", number, "--begin", "+1h", code=7, text="completed")


def a_begin_outlives_its_leader(lab):
    """The leader's agent is killed while a job waits: the job begins no earlier than it should, and
    begins."""
    begun = time.monotonic()
    agent = lab["a"]
    leader = agent.ask("quorum")["leader"]
    other = next(lab[name] for name in "abc" if name != leader)
    number = submit(other, "--begin", "+20s", "--", "true")
    lab[leader].kill_agent()
    wait_for("another leader",
             lambda: (other.ask("quorum") or {}).get("leader") not in (None, leader), 30)
    states = set()

    def has_ended():
        states.add(job(other, number)["state"])
        return "completed" in states

    wait_for("the job", has_ended, 60)
    if time.monotonic() - begun < 20:
        raise Failure(f"it began early, after {time.monotonic() - begun:.1f} s")
    if "queued" not in states:
        raise Failure(f"it was never seen waiting: {states}")
    lab[leader].start()


CASES = [a_chain_follows_the_ends_of_its_jobs, an_array_waits_as_a_whole, bad_input_is_named,
         a_deadline_by_the_clock_follows_the_begin, a_deadline_passes, an_edit_changes_the_times,
         a_begin_outlives_its_leader]


def main():
    broken = 0
    with Lab("abc", base_port=BASE_PORT) as lab:
        lab.start()
        wait_for("a leader", lambda: (lab["a"].ask("quorum") or {}).get("leader"), 20)
        wait_for("all GPUs", lambda: lab["a"].cli("submit", "--gpus", "24", "--wait", "--", "true",
                                                  timeout=30)[0] == 0, 60)
        broken += play(CASES, lab)
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
