"""Agents of odd parents, for real: standard streams that are closed, signals that are ignored, a
directory that is gone, and an agent that is process 1 of its container. Each case is a function; its
docstring is the promise."""

import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scenarios"))

from lab import Agent, Failure, Lab, play, wait_for  # noqa: E402

BASE_PORT = int(os.environ.get("MUSTER_TEST_PORT", "7480"))
BINARY = os.environ["MUSTER_BINARY"]


def submit(agent, script, *options):
    return agent.cli("submit", "--gpus", "1", "--wait", *options, "--", "sh", "-c", script,
                     timeout=60)


def streams_are_no_files(agent):
    """No file of the agent's has lines of its log in it: closed streams lead nowhere."""
    agent.cli("hosts")
    hit = [str(path) for path in agent.data.rglob("*")
           if path.is_file() and path.name != "agent.log" and b"event=" in path.read_bytes()]
    if hit:
        raise Failure(f"log lines in {hit}")


def signals_are_those_of_a_rank(agent):
    """Under an agent whose parent ignored QUIT and CHLD a rank dies of QUIT, and is waited for."""
    code, out, err = submit(agent, "kill -QUIT $$; sleep 1")
    if code != 128 + signal.SIGQUIT:
        raise Failure(f"got {(code, out, err)}")


def orphans_are_reaped(agent):
    """An agent that is process 1 keeps no zombie of the supervisors that come to it."""
    for _ in range(3):
        if submit(agent, "true")[0] != 0:
            raise Failure("a job failed")
    inside = int(pathlib.Path(f"/proc/{agent.process.pid}/task/{agent.process.pid}/children")
                 .read_text().split()[0])

    def has_no_zombie():
        listed = pathlib.Path(f"/proc/{inside}/task/{inside}/children").read_text().split()
        return not any(state_of(pid) == "Z" for pid in listed)
    wait_for("no zombie", has_no_zombie, 10)


def state_of(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return ""


def refuses_a_directory_that_is_gone(_):
    """An agent with a relative path whose directory is gone ends with a sentence, not a signal."""
    with tempfile.TemporaryDirectory() as base:
        gone = pathlib.Path(base) / "gone"
        gone.mkdir()
        script = f"cd {gone} && rmdir {gone} && exec {BINARY} agent --name g --listen 127.0.0.1:0 " \
                 "--data-dir d --log-file x.log"
        ended = subprocess.run(["sh", "-c", script], capture_output=True, text=True, timeout=30,
                               check=False)
    if ended.returncode not in (1, 2) or "is gone" not in ended.stderr:
        raise Failure(f"got {(ended.returncode, ended.stderr)}")


class ClosedStreams(Agent):
    """All three streams are closed, and signals ignored."""

    def command(self, **changes):
        return ["sh", "-c", 'trap "" QUIT CHLD USR1; exec "$@" <&- >&- 2>&-', "sh",
                *super().command(**changes)]


class ProcessOne(Agent):
    """Process 1 of a PID namespace, as in a container."""

    def command(self, **changes):
        return ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child",
                *super().command(**changes)]


STORIES = [(ClosedStreams, [streams_are_no_files, signals_are_those_of_a_rank,
                            refuses_a_directory_that_is_gone]),
           (ProcessOne, [orphans_are_reaped])]


def can_unshare():
    return shutil.which("unshare") is not None and subprocess.run(
        ["unshare", "--pid", "--fork", "--mount-proc", "true"], capture_output=True,
        check=False).returncode == 0


def main():
    broken = 0
    skipped = False
    for kind, cases in STORIES:
        if kind is ProcessOne and not can_unshare():
            print("skipped: PID namespaces are denied: no agent can be process 1", flush=True)
            skipped = True
            continue
        with Lab("p", base_port=BASE_PORT, expect=1, gpus="sim:2xH100") as lab:
            agent = lab.agents["p"] = kind(lab, "p", lab["p"].port)
            lab.start()
            wait_for("a leader", lambda: (agent.ask("quorum") or {}).get("leader"), 15)
            wait_for("its GPUs", lambda: submit(agent, "true")[0] == 0, 20)
            broken += play(cases, agent)
    return 1 if broken or (skipped and os.environ.get("MUSTER_NO_SKIP") == "1") else 0


if __name__ == "__main__":
    sys.exit(main())
