"""A slice of `./bench/run web_parity`: each verb by the command line and by HTTP gives the same
document, and the description of the routes describes all of them."""

import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scenarios"), str(ROOT / "bench" / "drivers")]

import web_parity  # noqa: E402
from lab import Failure, Lab, play, wait_for  # noqa: E402


def documents_are_alike():
    """Reads and orders of three agents, compared byte for byte, judged by openapi.json."""
    with Lab("abc") as lab:
        lab.start()
        wait_for("three agents", lambda: web_parity.is_settled(lab), 40)
        parity = web_parity.Parity(lab)
        parity.door.describe()
        web_parity.play_all(parity)
        missing = web_parity.missing_of(parity)
        if missing or parity.door.faults:
            raise Failure(f"missing: {missing}; wrong: {parity.door.faults}")


if __name__ == "__main__":
    sys.exit(1 if play([documents_are_alike]) else 0)
