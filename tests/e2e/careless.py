"""What the cases of careless users, programs and disks share: hosts to try things on, and how an
answer is judged."""

import os
import pathlib
import signal
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scenarios"))

from lab import Failure, wait_for  # noqa: E402

BASE_PORT = int(os.environ.get("MUSTER_TEST_PORT", "7470"))


class LeftOut(Exception):
    """A case that cannot be tried here; the text says why."""


def expect(what, got, code, *texts):
    """`got` is (exit code, stdout, stderr); every text must be in one of the two."""
    if got[0] != code or not all(text in got[1] + got[2] for text in texts):
        raise Failure(f"{what}: wanted exit {code} and {texts}, got {got}")


def run_agent(agent, seconds=10, **changes):
    """(exit code, stdout, stderr) of an agent that should refuse to start."""
    try:
        done = subprocess.run(agent.command(**changes), capture_output=True, text=True,
                              timeout=seconds, check=False, stdin=subprocess.DEVNULL,
                              env={**os.environ, **agent.lab.own_links()})
    except subprocess.TimeoutExpired:
        raise Failure(f"an agent with {changes} started and stays") from None
    return done.returncode, done.stdout, done.stderr


def submit(agent, *arguments, timeout=60):
    return agent.cli("submit", *arguments, timeout=timeout)


def start_job(agent, *command, options=("--gpus", "1")):
    """A job that runs; its number."""
    answer = agent.ask("submit", *options, "--", *command)
    if answer is None:
        raise Failure(f"submit of {command} failed")
    number = str(answer["job_id"])
    wait_for(f"job {number} running", lambda: (
        (agent.ask("show", number) or {"job": {"state": ""}})["job"]["state"] == "running"), 10)
    return number


def stop(agent):
    agent.process.send_signal(signal.SIGTERM)
    agent.process.wait(10)
