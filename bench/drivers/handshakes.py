"""What it costs to be dialled by hosts that prove themselves, and to look at what they sign."""

import subprocess

import cluster
from cluster import Broken, figure

HANDSHAKES = cluster.BUILD / "bench" / "bench_handshakes"
#: Rows of 10,000 hosts that change once a minute.
FIELDS_A_SECOND = 10000 / 60


def handshakes(count=3000, rounds=3):
    """The median of the rounds by the CPU of a handshake; the other two differ little."""
    found = []
    for number in range(rounds):
        done = subprocess.run([str(HANDSHAKES), str(count)], capture_output=True, text=True)
        if done.returncode != 0:
            raise Broken(f"handshakes: {done.stderr.strip()}")
        found.append({line.split()[0]: float(line.split()[1])
                      for line in done.stdout.splitlines()})
        print(f"# handshakes {number} {done.stdout.replace(chr(10), ' ').strip()}", flush=True)
    middle = sorted(found, key=lambda one: one["handshake_us"])[len(found) // 2]
    figure("handshakes_per_s", 1e6 / middle["handshake_us"], "1/s")
    figure("link_bytes_extra", middle["curve_bytes"] - middle["plain_bytes"], "B")
    figure("verify_us", middle["verify_us"], "us")
    figure("verify_cpu_pct", middle["verify_us"] * FIELDS_A_SECOND / 1e6 * 100, "%")
