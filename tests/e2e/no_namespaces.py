"""A host whose kernel denies PID namespaces, for real: its agent lives in a user namespace that may
have none. It says so, takes only jobs that silence never ends, and those it runs and ends; a rank
dies with its supervisor. Each case is a function; its docstring is the promise."""

import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scenarios"))

from lab import Agent, Failure, Lab, play, wait_for  # noqa: E402

BASE_PORT = int(os.environ.get("MUSTER_TEST_PORT", "7480"))
SKIPPED = 77
DENIED = ["unshare", "--user", "--map-root-user", "sh", "-c",
          'echo 0 > /proc/sys/user/max_pid_namespaces && exec "$@"', "sh"]
KEPT = ("--gpus", "1", "--isolation", "keep", "--grace", "2s")


def why_not():
    """Why such a host cannot be made here, or nothing."""
    if shutil.which("unshare") is None:
        return "needs unshare"
    tried = subprocess.run([*DENIED, "unshare", "--pid", "--fork", "true"], capture_output=True,
                           text=True, check=False)
    if tried.returncode == 0:
        return "PID namespaces cannot be denied here"
    if "unshare failed" not in tried.stderr:
        return f"user namespaces are denied: {tried.stderr.strip()}"
    return ""


class DeniedAgent(Agent):
    """Its whole host is started where PID namespaces are denied."""

    def command(self, **changes):
        return [*DENIED, *super().command(**changes)]


def state_of(agent, number):
    answer = agent.ask("show", number)
    return answer["job"]["state"] if answer else ""


def start_job(agent, script):
    answer = agent.ask("submit", *KEPT, "--", "sh", "-c", script)
    if answer is None:
        raise Failure("the submit of a kept job failed")
    number = str(answer["job_id"])
    wait_for(f"job {number} running", lambda: state_of(agent, number) == "running", 15)
    return number


def pid_in(path):
    wait_for(f"{path.name} written", lambda: path.exists() and path.read_text().strip(), 10)
    return int(path.read_text().split()[0])


def is_alive(pid):
    try:
        state = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def is_told(agent):
    """The log says that namespaces are denied, and what that means."""
    log = (agent.data / "agent.log").read_text()
    if "no_pid_namespaces" not in log or "--isolation keep" not in log:
        raise Failure("the agent did not say so")


def takes_no_stop_hold(agent):
    """A job that silence may end is refused at once, with the reason and the way out."""
    code, out, err = agent.cli("submit", "--gpus", "1", "--", "true")
    if code != 3 or "PID namespaces" not in out + err or "--isolation keep" not in out + err:
        raise Failure(f"got {(code, out, err)}")


def kept_job_completes(agent):
    """A kept job runs to its end, and what it forked away ends with its grant."""
    mark = agent.lab.directory / "forked"
    code, out, err = agent.cli(
        "submit", *KEPT, "--wait", "--", "sh", "-c",
        f"setsid sh -c 'echo $$ > {mark}; exec sleep 1000' & while [ ! -s {mark} ]; do :; done",
        timeout=60)
    if code != 0:
        raise Failure(f"got {(code, out, err)}")
    if is_alive(pid_in(mark)):
        raise Failure("what a rank forked away outlived its completed grant")


def kept_job_is_cancelled(agent):
    """Cancel ends the rank and a child that ignores TERM."""
    mark = agent.lab.directory / "cancelled"
    number = start_job(agent, f"trap '' TERM; echo $$ > {mark}; while :; do sleep 1; done")
    pid = pid_in(mark)
    if agent.cli("cancel", number)[0] != 0:
        raise Failure("cancel failed")
    wait_for("it is cancelled", lambda: state_of(agent, number) == "cancelled", 20)
    if is_alive(pid):
        raise Failure("a rank outlived its cancelled job")


def checkpoint_in_another_session(agent):
    """TERM reaches a program in another session, which has the grace that its shell does not use."""
    mark = agent.lab.directory / "up"
    saved = agent.lab.directory / "saved"
    program = agent.lab.directory / "program"
    program.write_text(f"trap 'sleep 0.5; echo done > {saved}; exit 0' TERM\n"
                       f"echo $$ > {mark}\nwhile :; do sleep 0.1; done\n", encoding="utf8")
    number = start_job(agent, f"setsid sh {program}; echo after")
    pid_in(mark)
    if agent.cli("cancel", number)[0] != 0:
        raise Failure("cancel failed")
    wait_for("it is cancelled", lambda: state_of(agent, number) == "cancelled", 20)
    if not saved.exists():
        raise Failure("the program was killed within its grace")


def rank_dies_with_its_supervisor(agent):
    """SIGKILL of the supervisor: the kernel ends the rank; the attempt is lost, not completed."""
    mark = agent.lab.directory / "orphaned"
    number = start_job(agent, f"echo $$ > {mark}; exec sleep 1000")
    rank = pid_in(mark)
    token = agent.ask("show", number)["attempts"][-1]["token"]
    supervisor = pid_in(agent.data / "grants" / token / "pid")
    os.kill(supervisor, signal.SIGKILL)
    wait_for("the rank is gone", lambda: not is_alive(rank), 5)
    wait_for("another attempt", lambda: len(agent.ask("show", number)["attempts"]) == 2, 20)
    agent.cli("cancel", number)
    wait_for("it is cancelled", lambda: state_of(agent, number) == "cancelled", 20)


CASES = [is_told, takes_no_stop_hold, kept_job_completes, kept_job_is_cancelled,
         checkpoint_in_another_session, rank_dies_with_its_supervisor]


def main():
    missing = why_not()
    if missing:
        print(f"skipped: {missing}", flush=True)
        return 1 if os.environ.get("MUSTER_NO_SKIP") == "1" else SKIPPED
    broken = 0
    with Lab("n", base_port=BASE_PORT, expect=1, gpus="sim:2xH100") as lab:
        agent = lab.agents["n"] = DeniedAgent(lab, "n", lab["n"].port)
        lab.start()
        wait_for("a leader", lambda: (agent.ask("quorum") or {}).get("leader"), 15)
        wait_for("its GPUs", lambda: agent.cli("submit", *KEPT, "--wait", "--", "true")[0] == 0, 20)
        broken += play(CASES, agent)
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
