"""Programs of a site before and behind a job, for real: an agent with a prolog and an epilog. Each
case is a function; its docstring is the promise."""

import json
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scenarios"))

from lab import Failure, Lab, play, wait_for  # noqa: E402

BASE_PORT = int(os.environ.get("MUSTER_TEST_PORT", "7520"))
HANG_S = 60  #: Limit of one program.


def write(agent, name, script, mode=0o755):
    path = agent.lab.directory / "hooks" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n" + script + "\n")
    path.chmod(mode)


def submit(agent, *command):
    return str(agent.ask("submit", "--gpus", "1", "--", *command)["job_id"])


def job(agent, number):
    answer = agent.ask("show", number)
    return answer["job"] if answer else {"state": "", "reason": ""}


def wait_state(agent, number, state, seconds=20):
    wait_for(f"job {number} is {state}", lambda: job(agent, number)["state"] == state, seconds)


def wait_refused(agent, number, text, seconds=20):
    """The attempt ended, the job waits, and people are told why."""
    wait_for(f"job {number} is told: {text}", lambda: text in (job(agent, number)["reason"] or ""),
             seconds)
    if text not in " ".join(agent.cli("why", number)[1].split()):
        raise Failure(agent.cli("why", number)[1])
    agent.cli("cancel", number)
    wait_state(agent, number, "cancelled")


def gpu_states(agent):
    return [gpu["state"] for gpu in (agent.ask("gpus") or {"gpu_list": []})["gpu_list"]]


def ranks_see_what_a_prolog_made(agent, top):
    """It is told the grant, runs as the agent's user, and is done before a rank begins."""
    write(agent, "prolog/10-make", f"cat > {top}/before; id -u > {top}/uid; env > {top}/env")
    write(agent, "epilog/10-wipe", f"cat > {top}/behind; rm {top}/before")
    number = submit(agent, "sh", "-c", f"cat {top}/before")
    wait_state(agent, number, "completed")
    told = json.loads(agent.cli("logs", number)[1])
    if told["hook"] != "prolog" or told["job"] != number or len(told["gpus"]) != 1:
        raise Failure(f"told: {told}")
    if (top / "uid").read_text().strip() != str(os.geteuid()):
        raise Failure("another user ran it")
    if "HOME=" in (top / "env").read_text():
        raise Failure((top / "env").read_text())
    wait_for("the epilog", lambda: (top / "behind").exists() and not (top / "before").exists(), 10)
    behind = json.loads((top / "behind").read_text())
    if behind != {**told, "hook": "epilog"}:
        raise Failure(f"told: {behind}")


def results_do_not_wait_for_an_epilog(agent, top):
    """The job is over while its epilog runs; the next one on its GPU begins behind it."""
    write(agent, "epilog/10-wipe", f"while [ ! -e {top}/go ]; do sleep 0.05; done")
    first = submit(agent, "true")
    wait_state(agent, first, "completed")
    second = submit(agent, "true")
    wait_for("it is placed", lambda: job(agent, second)["state"] == "scheduled", 10)
    (top / "go").touch()
    wait_state(agent, second, "completed")


def a_prolog_that_fails_is_told(agent, _):
    """No rank runs, and `show` and `why` name the host, the program and its reason."""
    write(agent, "prolog/10-make", "echo no such share; exit 1")
    wait_refused(agent, submit(agent, "true"), "refused by host n: prolog 10-make: no such share")


def a_prolog_that_others_may_write_does_not_run(agent, top):
    """It counts as a failure."""
    write(agent, "prolog/10-make", f"touch {top}/ran", 0o777)
    wait_refused(agent, submit(agent, "true"), "may be written by others")
    if (top / "ran").exists():
        raise Failure("it ran")


def a_prolog_that_hangs_is_ended_with_its_children(agent, top):
    """The agent goes on meanwhile, and the attempt ends when its time is over."""
    write(agent, "prolog/10-make", f"sleep 3600 & echo $! > {top}/child; wait")
    number = submit(agent, "true")
    wait_for("it runs", lambda: (top / "child").exists(), 10)
    if job(agent, number)["state"] != "scheduled":
        raise Failure(f"got {job(agent, number)}")
    wait_refused(agent, number, "prolog 10-make did not end in time", HANG_S + 20)
    child = int((top / "child").read_text())
    wait_for("its child is gone", lambda: not pathlib.Path(f"/proc/{child}").exists() or "Z" in
             pathlib.Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()[0], 10)
    write(agent, "prolog/10-make", "exit 0")


def an_agent_that_died_runs_the_epilog_again(agent, top):
    """Its epilog is cut off; the next life of the agent runs it from its beginning."""
    (top / "go").unlink()
    write(agent, "epilog/10-wipe", f"cat >> {top}/epilogs; while [ ! -e {top}/go ]; do "
                                   "sleep 0.05; done")
    number = submit(agent, "true")
    wait_state(agent, number, "completed")
    wait_for("it runs", lambda: (top / "epilogs").exists(), 10)
    agent.kill_agent()
    (top / "go").touch()
    agent.start()
    wait_for("it ran again", lambda: (top / "epilogs").read_text().count("\n") == 2, 20)
    wait_for("a leader", lambda: (agent.ask("quorum") or {}).get("leader"), 15)


def an_epilog_that_fails_takes_the_gpu_out(agent, _):
    """The result of the job stands. An operator's word brings the GPU back."""
    write(agent, "epilog/10-wipe", "echo cannot unmount; exit 1")
    number = submit(agent, "true")
    wait_state(agent, number, "completed")
    wait_for("the GPU is out", lambda: gpu_states(agent) == ["unhealthy"], 15)
    if "hook_failed" not in agent.log.read_text():
        raise Failure("no event tells it")
    write(agent, "epilog/10-wipe", "exit 0")
    uuid = agent.ask("gpus")["gpu_list"][0]["uuid"]
    code, _, err = agent.cli("gpus", "unmask", uuid, "--why", "unmounted by hand")
    if code != 0:
        raise Failure(err)
    wait_state(agent, submit(agent, "true"), "completed")


CASES = [ranks_see_what_a_prolog_made, results_do_not_wait_for_an_epilog,
         a_prolog_that_fails_is_told, a_prolog_that_others_may_write_does_not_run,
         a_prolog_that_hangs_is_ended_with_its_children, an_agent_that_died_runs_the_epilog_again,
         an_epilog_that_fails_takes_the_gpu_out]


def main():
    with Lab("n", base_port=BASE_PORT, expect=1, gpus="sim:1xH100") as lab:
        agent = lab["n"]
        agent.environment = {"MUSTER_HOOKS": str(lab.directory / "hooks")}
        top = lab.directory / "top"
        top.mkdir()
        write(agent, "prolog/10-make", "exit 0")  # The host tells at its start that it has one.
        lab.start()
        wait_for("a leader", lambda: (agent.ask("quorum") or {}).get("leader"), 15)
        wait_for("GPUs", lambda: gpu_states(agent) == ["healthy"], 15)
        return 1 if play(CASES, agent, top) else 0


if __name__ == "__main__":
    sys.exit(main())
