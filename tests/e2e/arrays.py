"""Arrays on real processes: one line for a thousand tasks, each with its number, at most so many at
once; tasks are shown, read and cancelled one by one, in runs, or all. Each case is a function; its
docstring is the promise."""

import json
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scenarios"))

from lab import Failure, Lab, play, wait_for  # noqa: E402

BASE_PORT = int(os.environ.get("MUSTER_TEST_PORT", "7480"))


def submit(agent, *arguments):
    code, out, err = agent.cli("submit", *arguments)
    if code != 0:
        raise Failure(f"submit {' '.join(arguments)} exited {code}: {err}")
    return out.split()[1]


def counts(agent, number):
    code, out, err = agent.cli("show", number, "--json")
    if code != 0:
        raise Failure(f"show {number} exited {code}: {err}")
    job = json.loads(out)["job"]
    return job["state"], job["tasks"]


def expect(what, got, wanted):
    if got != wanted:
        raise Failure(f"{what}: {got!r}, not {wanted!r}")


def refused(agent, *arguments, code, text):
    got, _, err = agent.cli(*arguments)
    if got != code or text not in err:
        raise Failure(f"{' '.join(arguments)} exited {got}: {err}")


def a_thousand_tasks_end(agents):
    """1,000 tasks, at most 50 at once, each run once with a number of its own."""
    agent = agents["a"]
    record = agents.directory / "tasks.txt"
    script = f'echo "$MUSTER_ARRAY_INDEX $MUSTER_ARRAY_JOB_ID $MUSTER_JOB_ID" >> {record}'
    number = submit(agent, "--gpus", "0", "--ranks", "1", "--cpus", "0.1", "--mem", "1M",
                    "--array", "0-999%50", "--", "sh", "-c", script)
    most = [0]

    def is_over():
        state, tasks = counts(agents["b"], number)
        most[0] = max(most[0], tasks["running"])
        return state == "completed" and tasks["completed"] == 1000

    wait_for("1,000 tasks", is_over, 110)
    lines = sorted(record.read_text().splitlines(), key=lambda line: int(line.split()[0]))
    expect("what ran", lines, [f"{i} {number} {number}.{i}" for i in range(1000)])
    if not 2 <= most[0] <= 50:
        raise Failure(f"{most[0]} tasks at once")
    print(f"# {most[0]} of at most 50 at once")


def an_array_is_one_line(agents):
    """`jobs` shows one line an array, `jobs --tasks` its tasks, `logs` and `show` take one task."""
    agent = agents["b"]
    number = submit(agent, "--gpus", "1", "--array", "3-6", "--name", "sweep", "--", "sh", "-c",
                    "echo task $MUSTER_ARRAY_INDEX; exit $((MUSTER_ARRAY_INDEX == 5))")
    wait_for("its end", lambda: counts(agent, number)[0] == "failed", 30)
    _, out, _ = agent.cli("jobs", number, "--no-header", "-o", "id,state,reason")
    expect("the line", out.split(maxsplit=2), [number, "failed", "4 of 4 tasks ended, 1 failed\n"])
    _, out, _ = agent.cli("jobs", "--tasks", number, "--no-header", "-o", "id,state")
    expect("the tasks", [line.split() for line in out.splitlines()],
           [[f"{number}.{i}", "failed" if i == 5 else "completed"] for i in range(3, 7)])
    _, out, _ = agent.cli("jobs", "--tasks", number, "--state", "failed", "--no-header", "-o", "id")
    expect("the failed ones", out.split(), [f"{number}.5"])
    _, out, _ = agent.cli("logs", f"{number}.4")
    expect("the log", out, "task 4\n")
    _, out, _ = agent.cli("logs", number)
    expect("all logs", out, "".join(f"[{number}.{i}] task {i}\n" for i in range(3, 7)))
    _, out, _ = agent.cli("logs", f"{number}.3-4", "-f")
    expect("a run's logs", out, "".join(f"[{number}.{i}] task {i}\n" for i in range(3, 5)))
    _, out, _ = agent.cli("show", number)
    expect("its counts", [line for line in out.splitlines() if line.startswith("now ")],
           ["now        3 completed, 1 failed"])
    expect("its failures", [line.split()[:2] for line in out.splitlines() if
                            line.startswith(f"{number}.")], [[f"{number}.5", "1"]])
    code, out, _ = agent.cli("show", f"{number}.5")
    expect("show", (code, out.splitlines()[0].split()[:2]), (0, ["job", f"{number}.5"]))
    refused(agent, "show", f"{number}.7", code=6, text="there is no job")


def tasks_are_cancelled(agents):
    """One task, a run of them that has not begun, and then all."""
    agent = agents["c"]
    number = submit(agent, "--gpus", "1", "--array", "0-99999%2", "--", "sleep", "100")
    wait_for("two of them", lambda: counts(agent, number)[1]["running"] == 2, 20)
    expect("one", agent.cli("cancel", f"{number}.0")[:2], (0, f"job {number}.0 cancelled\n"))
    wait_for("the next one", lambda: (counts(agent, number)[1]["cancelled"],
                                      counts(agent, number)[1]["running"]) == (1, 2), 20)
    host = json.loads(agent.cli("show", f"{number}.1", "--json")[1])["job"]["hosts"][0]
    _, out, _ = agent.cli("jobs", "--host", host, "--no-header", "-o", "id")
    if f"{number}.1" not in out.split():
        raise Failure(f"jobs --host {host} has no {number}.1: {out}")
    refused(agent, "cancel", f"{number}.10-59999", code=2, text="--yes")
    expect("a run", agent.cli("cancel", f"{number}.10-59999", "--yes")[:2],
           (0, f"jobs {number}.10-59999 cancelled\n"))
    wait_for("the run", lambda: counts(agent, number)[1]["cancelled"] == 59991, 20)
    refused(agent, "show", f"{number}.20", code=6, text="was cancelled before it began")
    refused(agent, "suspend", number, code=7, text="is an array: name its tasks")
    expect("why", agent.cli("why", number)[0], 0)
    refused(agent, "cancel", number, code=2, text="--yes")
    expect("all", agent.cli("cancel", number, "--yes")[0], 0)
    wait_for("all", lambda: counts(agent, number) == ("cancelled", {
        "count": 100000, "running": 0, "completed": 0, "failed": 0, "cancelled": 100000}), 30)


def what_is_no_array_is_refused(agents):
    """A range that goes back, one above a million, and a word."""
    agent = agents["a"]
    for text, why in (("9-3", "ends before it begins"), ("0-1000000", "at most 1000000 tasks"),
                      ("x", "is not an array"), ("0-9%0", "is not an array")):
        refused(agent, "submit", "--array", text, "--", "true", code=2, text=why)
    refused(agent, "show", "99999.1", code=6, text="there is no job 99999.1")
    refused(agent, "cancel", "1.x", code=2, text="is not a task")


def main():
    cases = [a_thousand_tasks_end, an_array_is_one_line, tasks_are_cancelled,
             what_is_no_array_is_refused]
    broken = 0
    with Lab("abc", base_port=BASE_PORT) as lab:
        for name in "abc":
            lab[name].flags = {"gpus": "sim:8xH100,cpus=64,mem=64G"}
        lab.start()
        wait_for("a leader", lambda: (lab["a"].ask("quorum") or {}).get("leader"), 20)
        wait_for("all GPUs", lambda: lab["a"].cli("submit", "--gpus", "24", "--wait", "--", "true",
                                                  timeout=30)[0] == 0, 60)
        broken += play(cases, lab)
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
