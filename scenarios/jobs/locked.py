#!/usr/bin/env python3
"""A rank that proves what it did: it holds a lock of its GPU while it lives, and notes its end.

Lines of the ledger: `end JOB ATTEMPT RANK`, and `twice JOB ATTEMPT RANK GPU` when another process
still had the GPU.
"""

import argparse
import fcntl
import os
import time


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("ledger")
    parser.add_argument("seconds", type=float)
    arguments = parser.parse_args()
    me = " ".join(os.environ[name] for name in ("MUSTER_JOB_ID", "MUSTER_ATTEMPT", "RANK"))
    gpu = os.environ["CUDA_VISIBLE_DEVICES"].split(",")[int(os.environ["LOCAL_RANK"])]

    def note(line):
        with open(arguments.ledger, "a", encoding="ascii") as ledger:
            ledger.write(f"{line}\n")

    with open(f"{arguments.ledger}.{gpu}", "a", encoding="ascii") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            note(f"twice {me} {gpu}")
        time.sleep(arguments.seconds)
        note(f"end {me}")


if __name__ == "__main__":
    main()
