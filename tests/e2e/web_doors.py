"""A slice of `./bench/run web_attack` and `web_slow`: no route answers without a proof, wrong input
gets its status and words, malformed requests end no agent, and slow clients are cut in time."""

import os
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scenarios"), str(ROOT / "bench" / "drivers")]

import web_attack  # noqa: E402
import web_slow  # noqa: E402
from lab import Failure, play  # noqa: E402

LEFT_OUT = 77
MALFORMED = 10_000
SLOW = 40


def no_route_answers_without_a_proof():
    """Every path with every method: nothing, a forged, a revoked, another cluster's token."""
    answered = web_attack.attack_unproven(slice=1)
    if answered:
        raise Failure(f"{answered} requests without a proof told or changed something")


def bad_input_is_told_and_survived():
    """Wrong input has its status and words; an honest request is answered behind all of it."""
    wrong = web_attack.attack_malformed(MALFORMED, first=0, seed=1, verbose=0)
    if wrong:
        raise Failure(f"{wrong} answers were wrong or lacking")


def slow_clients_are_cut():
    """Silent sockets, half handshakes and dripping heads end; the limits of an address hold."""
    left = web_slow.cut_soon(SLOW)
    if left:
        raise Failure(f"{left} slow connections were left, or limits did not hold")


CASES = [no_route_answers_without_a_proof, bad_input_is_told_and_survived, slow_clients_are_cut]


def main():
    if os.geteuid() != 0:
        print("LEFT OUT: only root can be another login")
        return 1 if os.environ.get("MUSTER_NO_SKIP") == "1" else LEFT_OUT
    return 1 if play(CASES) else 0


if __name__ == "__main__":
    sys.exit(main())
