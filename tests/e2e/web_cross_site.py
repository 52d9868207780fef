"""A page at another port of the address of a node, in a real browser whose user is signed in there:
it reads nothing and changes nothing, nor does a page whose own name leads to the node. The same
attacks succeed at a site that forbids nothing. `./bench/run web_cross_site` has more places."""

import os
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scenarios"), str(ROOT / "bench" / "drivers")]

import devtools  # noqa: E402
import web_cross_site  # noqa: E402
from cluster import Broken  # noqa: E402
from lab import Failure, Lab  # noqa: E402

LEFT_OUT = 77
BASE_PORT = int(os.environ.get("MUSTER_TEST_PORT", "7480"))


def main():
    if not devtools.is_installed():
        print("web_cross_site: left out, Debian's chromium-headless-shell is not installed",
              flush=True)
        return LEFT_OUT
    web_cross_site.BASE_PORT = BASE_PORT + 20
    try:
        with Lab("a", base_port=BASE_PORT, expect=1) as lab:
            wrong = web_cross_site.faults_in(lab, web_cross_site.PLACES[1:])
    except (Failure, Broken) as failure:
        wrong = [str(failure)]
    for each in wrong:
        print(f"BROKEN  {each}", flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
