"""A slice of the scenario restart_gangs: one agent goes on as another binary under ten gangs, and
two supervisors are killed, one of an agent that lives and one of an agent that is dead."""

import os
import pathlib
import signal
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scenarios"))

import restart_gangs  # noqa: E402
from lab import Failure  # noqa: E402

BASE_PORT = int(os.environ.get("MUSTER_TEST_PORT", "7480"))
GANGS = 10


def main():
    try:
        with restart_gangs.lab_for(GANGS, BASE_PORT) as lab:
            restart_gangs.form(lab, GANGS)
            good = restart_gangs.play_restarts(lab, GANGS, ["e"], [signal.SIGTERM])
            good = restart_gangs.play_kills(lab, GANGS, kills=1, held=0) and good
    except Failure as failure:
        print(f"  BROKEN: {failure}", flush=True)
        return 1
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
