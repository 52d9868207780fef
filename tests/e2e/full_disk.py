"""A host whose disk is full, for real: its data lies on a small tmpfs of its own. It says so in its
row, takes nothing new, and what waits for it is told why; with room again it runs on."""

import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scenarios"))

from lab import Failure, Lab, play, wait_for  # noqa: E402

BASE_PORT = int(os.environ.get("MUSTER_TEST_PORT", "7490"))
SKIPPED = 77
SIZE_MIB = 256  # Five of a hundred are the reserve.
SHORT = "starts nothing: disk:"


def state_of(agent, number):
    answer = agent.ask("show", number)
    return answer["job"] if answer else {"state": "", "reason": ""}


def text_of(agent, *words):
    return agent.cli(*words)[1]


def says_so_and_takes_nothing(agent, filler):
    """`hosts`, `hosts show`, `why-host`, `jobs` and `why` name the host and what it lacks."""
    free = os.statvfs(agent.data).f_bavail * os.statvfs(agent.data).f_frsize
    with open(filler, "wb") as file:
        os.posix_fallocate(file.fileno(), 0, free - (4 << 20))
    wait_for("the row says so", lambda: SHORT in text_of(agent, "hosts"), 15)
    number = str(agent.ask("submit", "--gpus", "1", "--", "true")["job_id"])
    wait_for("the job is told why", lambda: SHORT in (state_of(agent, number)["reason"] or ""), 15)
    for words in (["hosts", "show", "n"], ["why-host", "n"], ["jobs", "-o", "id,reason"],
                  ["why", number]):
        if SHORT not in " ".join(text_of(agent, *words).split()):
            raise Failure(f"{words} does not say it: {text_of(agent, *words)}")
    if "alive, starts nothing" not in text_of(agent, "hosts"):
        raise Failure(text_of(agent, "hosts"))
    if state_of(agent, number)["state"] != "queued":
        raise Failure(f"it was placed: {state_of(agent, number)}")


def goes_on_with_room(agent, filler):
    """The job that waited runs, and the warnings end."""
    filler.unlink()
    wait_for("the job completes", lambda: state_of(agent, "2")["state"] == "completed", 20)
    if SHORT in text_of(agent, "hosts"):
        raise Failure(text_of(agent, "hosts"))


CASES = [says_so_and_takes_nothing, goes_on_with_room]


def main():
    with tempfile.TemporaryDirectory(prefix="muster-full-") as top:
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={SIZE_MIB}m,mode=0700",
                                  "tmpfs", top], capture_output=True, text=True, check=False)
        if mounted.returncode != 0:
            print(f"skipped: no tmpfs can be mounted: {mounted.stderr.strip()}", flush=True)
            return 1 if os.environ.get("MUSTER_NO_SKIP") == "1" else SKIPPED
        try:
            with Lab("n", base_port=BASE_PORT, expect=1, gpus="sim:2xH100",
                     directory=f"{top}/lab") as lab:
                lab.start()
                agent = lab["n"]
                wait_for("its GPUs", lambda: agent.cli("submit", "--gpus", "1", "--wait", "--",
                                                       "true")[0] == 0, 20)
                return 1 if play(CASES, agent, pathlib.Path(top) / "filler") else 0
        finally:
            subprocess.run(["umount", "-l", top], check=False)


if __name__ == "__main__":
    sys.exit(main())
