#!/usr/bin/env python3
"""A rank that can be watched: it prints a numbered line five times a second until a file says
that its attempt may end, then its last line, and notes its end in the ledger.

The file is FILE.JOB.ATTEMPT. With --daemon a child outside its session waits as long.
"""

import argparse
import os
import pathlib
import time

PAUSE_SECONDS = 0.2


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", help="its directory and the beginning of its name")
    parser.add_argument("--ledger", required=True)
    parser.add_argument("--daemon", action="store_true")
    arguments = parser.parse_args()
    job, attempt, rank = (os.environ[name] for name in ("MUSTER_JOB_ID", "MUSTER_ATTEMPT", "RANK"))
    may_end = pathlib.Path(f"{arguments.file}.{job}.{attempt}")
    is_daemon = arguments.daemon and os.fork() == 0
    if is_daemon:
        os.setsid()
    number = 0
    while not may_end.exists():
        number += 1
        if not is_daemon:
            print(f"line {number}", flush=True)
        time.sleep(PAUSE_SECONDS)
    if not is_daemon:
        print(f"end after {number}", flush=True)
        with open(arguments.ledger, "a", encoding="ascii") as ledger:
            ledger.write(f"{job} {attempt} {rank}\n")


if __name__ == "__main__":
    main()
