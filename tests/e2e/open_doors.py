"""A slice of `./bench/run open_doors`: whoever has no proof hears nothing and changes nothing, and
no agent listens where nobody knows of it."""

import os
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scenarios"), str(ROOT / "bench" / "drivers")]

import open_doors  # noqa: E402

LEFT_OUT = 77


def main():
    if os.geteuid() != 0:
        print("LEFT OUT: only root can be another login")
        return 1 if os.environ.get("MUSTER_NO_SKIP") == "1" else LEFT_OUT
    return 1 if open_doors.open_doors(slice=1) else 0


if __name__ == "__main__":
    sys.exit(main())
