"""Queues on real processes: two teams share a fleet as their file says, a queue at its max waits
and says so, default limits show, and changes reach jobs that wait. Each case is a function; its
docstring is the promise."""

import json
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scenarios"))

from lab import Failure, Lab, play, wait_for  # noqa: E402

BASE_PORT = int(os.environ.get("MUSTER_TEST_PORT", "7530"))

TREE = """half-life = "1d"
[queue."rich"]
weight = 1
[queue."poor"]
weight = 3
tiers = ["standard", "batch"]
[queue."notebooks"]
guaranteed = { h100 = 2 }
max = { h100 = 4 }
time-limit-max = "8h"
"""


def call(agent, *arguments, code=0):
    got, out, err = agent.cli(*arguments)
    if got != code:
        raise Failure(f"{' '.join(arguments)} exited {got}, not {code}: {out}{err}")
    return out + err if code else out


def told(agent, *arguments):
    """All that it says, of a command that does what it is asked."""
    got, out, err = agent.cli(*arguments)
    if got != 0:
        raise Failure(f"{' '.join(arguments)} exited {got}: {out}{err}")
    return out + err


def submit(agent, *arguments):
    return call(agent, "submit", *arguments).split()[1]


def job(agent, number):
    return json.loads(call(agent, "show", number, "--json"))["job"]


def refused(agent, *arguments, code, text):
    said = call(agent, *arguments, code=code)
    if text not in said:
        raise Failure(f"{' '.join(arguments)} does not say '{text}': {said}")


def expect(what, got, wanted):
    if got != wanted:
        raise Failure(f"{what}: {got!r}, not {wanted!r}")


def write_tree(agents, text):
    path = agents.directory / "queues.toml"
    path.write_text(text)
    return str(path)


def a_file_is_imported(agents):
    """Before it there is one queue. A dry run changes nothing; `export` gives back what `import` took."""
    agent = agents["b"]
    if "default" not in call(agent, "queue"):
        raise Failure("the queue default is not shown")
    path = write_tree(agents, TREE)
    call(agent, "queue", "import", path, "--dry-run")
    refused(agent, "queue", "show", "rich", code=6, text="no queue")
    call(agent, "queue", "import", path)
    exported = call(agents["c"], "queue", "export")
    again = told(agents["a"], "queue", "import", write_tree(agents, exported))
    if "nothing changes" not in again:
        raise Failure(f"the exported file is another one: {again}")


def bad_input_is_named(agents):
    """Each bad file, queue and tier has a sentence of its own, and changes nothing."""
    agent = agents["a"]
    before = call(agent, "queue", "export")
    for text, says in ((TREE + "weigth = 2\n", "weigth"), (TREE.replace("= 3", "= 0"), "weight"),
                       (TREE + '[queue."notebooks/x"]\nguaranteed = { h100 = 3 }\n', "notebooks"),
                       (TREE.replace("h100 = 4", "h100 = 1"), "max")):
        refused(agent, "queue", "import", write_tree(agents, text), code=2, text=says)
    refused(agent, "submit", "--queue", "ritch", "--", "true", code=6, text="rich")
    refused(agent, "submit", "--queue", "poor", "--tier", "premium", "--", "true", code=2,
            text="standard")
    refused(agent, "submit", "--queue", "notebooks", "--time-limit", "9h", "--", "true", code=2,
            text="8h")
    for more in ((), ("--gpu-type", "H100")):
        refused(agent, "submit", "--queue", "notebooks", "--gpus", "5", *more, "--", "true", code=3,
                text="max")
    expect("the tree", call(agent, "queue", "export"), before)


def the_poor_overtakes_the_rich(agents):
    """Three queued jobs of each team, and one GPU after the other becomes free: the poor team's
    share comes first, though the rich one asked earlier."""
    agent = agents["a"]
    fillers = [submit(agent, "--gpus", "4", "--queue", "rich", "--", "sleep", "1000")
               for _ in range(6)]
    wait_for("the fillers", lambda: all(job(agent, n)["state"] == "running" for n in fillers), 30)
    rich = [submit(agent, "--gpus", "4", "--queue", "rich", "--", "sleep", "1000")
            for _ in range(2)]
    poor = submit(agent, "--gpus", "4", "--queue", "poor", "--", "sleep", "1000")
    # Another node answers from its own copy, which follows within a moment.
    wait_for("both teams in share",
             lambda: all(team in call(agents["b"], "share") for team in ("rich", "poor")), 10)
    call(agent, "cancel", fillers[0])
    wait_for("the poor one", lambda: job(agent, poor)["state"] == "running", 30)
    expect("the rich ones", [job(agent, n)["state"] for n in rich], ["queued", "queued"])
    call(agent, "cancel", poor, *rich, *fillers[1:], "--yes")


def a_queue_at_its_max_waits(agents):
    """A limit holds below what is free, `why` names it, and raising it starts the job."""
    agent = agents["c"]
    first = submit(agent, "--gpus", "4", "--queue", "notebooks", "--tier", "interactive", "--",
                   "sleep", "1000")
    wait_for("the first", lambda: job(agent, first)["state"] == "running", 30)
    second = submit(agent, "--gpus", "1", "--queue", "notebooks", "--", "sleep", "1000")
    for words in (("why", second), ("jobs",)):
        wait_for(f"its reason in {words[0]}",
                 lambda words=words: "notebooks is at its max of 4 H100" in call(agent, *words), 10)
    expect("the second", job(agent, second)["state"], "queued")
    call(agent, "queue", "set", "notebooks", "max.h100=5")
    wait_for("the second", lambda: job(agent, second)["state"] == "running", 30)
    call(agent, "cancel", first, second, "--yes")


def limits_have_defaults(agents):
    """A batch job without a limit shows two hours; `muster edit` changes queue and limit."""
    agent = agents["b"]
    held = submit(agent, "--gpus", "1", "--hold", "--queue", "poor", "--tier", "batch", "--", "true")
    if "2h" not in call(agent, "show", held):
        raise Failure(f"no limit of two hours: {call(agent, 'show', held)}")
    call(agent, "edit", held, "--queue", "rich", "--time-limit", "+1h")
    wait_for("the edit", lambda: "rich" in call(agent, "show", held), 10)
    if "3h" not in call(agent, "show", held):
        raise Failure(f"the limit is not shown: {call(agent, 'show', held)}")
    call(agent, "cancel", held)


def a_queue_goes_with_its_jobs_moved(agents):
    """A queue with jobs stays until they have somewhere to go."""
    agent = agents["a"]
    held = submit(agent, "--gpus", "1", "--hold", "--queue", "poor", "--", "true")
    refused(agent, "queue", "remove", "poor", "--yes", code=2, text="--move-to")
    call(agent, "queue", "remove", "poor", "--move-to", "rich", "--yes")
    wait_for("the job to move", lambda: "rich" in call(agents["c"], "show", held), 10)
    call(agent, "cancel", held)


def short_jobs_pass_a_gang(agents):
    """A gang over all hosts waits for a job with a time limit, and `why` says until when at most. A
    short job behind it starts before it, a long one does not, and the gang starts when it fits."""
    agent = agents["b"]

    def state_of(number):
        return job(agent, number)["state"]

    filler = submit(agent, "--gpus", "16", "--time-limit", "3m", "--queue", "rich", "--",
                    "sleep", "30")
    wait_for("the filler", lambda: state_of(filler) == "running", 30)
    gang = submit(agent, "--gpus", "24", "--time-limit", "5m", "--queue", "rich", "--",
                  "sleep", "1000")
    long_one = submit(agent, "--gpus", "2", "--time-limit", "2h", "--queue", "rich", "--",
                      "sleep", "1000")
    short_one = submit(agent, "--gpus", "2", "--time-limit", "1m", "--queue", "rich", "--",
                       "sleep", "2")
    wait_for("why to say when", lambda: "planned  in at most about" in call(agent, "why", gang), 10)
    wait_for("the short one", lambda: state_of(short_one) == "completed", 28)
    expect("gang and long one", [state_of(gang), state_of(long_one)], ["queued", "queued"])
    wait_for("the gang", lambda: state_of(gang) == "running", 40)
    expect("the long one", state_of(long_one), "queued")
    call(agent, "cancel", gang, long_one, "--yes")


CASES = [a_file_is_imported, bad_input_is_named, the_poor_overtakes_the_rich,
         a_queue_at_its_max_waits, limits_have_defaults, short_jobs_pass_a_gang,
         a_queue_goes_with_its_jobs_moved]


def main():
    broken = 0
    with Lab("abc", base_port=BASE_PORT) as lab:
        for name in "abc":
            lab[name].flags = {"gpus": "sim:8xH100,cpus=64,mem=64G"}
        lab.start()
        wait_for("a leader", lambda: (lab["a"].ask("quorum") or {}).get("leader"), 20)
        wait_for("all GPUs", lambda: lab["a"].cli("submit", "--gpus", "24", "--wait", "--", "true",
                                                  timeout=30)[0] == 0, 60)
        broken += play(CASES, lab)
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
