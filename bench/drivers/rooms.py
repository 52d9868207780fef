"""The rooms of grants: real supervisors and ranks, without agents; rooms of others beside them."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import time

import cluster
from cluster import Broken, figure, quantile
from lab import MUSTER

TRUE = "/bin/true"
TURNS = 5
#: As much apart as a room of ours is, beside the network.
BWRAP = ["bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp",
         "--unshare-pid", "--unshare-ipc", TRUE]
#: crun 1.8 takes no mixture of both versions of control groups: it is shown the second one alone.
ONE_VERSION = ["unshare", "--mount", "sh", "-c", "test ! -d /sys/fs/cgroup/unified || "
               "mount --bind /sys/fs/cgroup/unified /sys/fs/cgroup; exec \"$@\"", "sh"]
LIMITS = ["--ulimit", "nofile=1024:1024", "--ulimit", "nproc=1000:1000"]


def play(name, grants, seed, broken, *more):
    """The executable prints its own figures; it does nothing but say so where it cannot run."""
    program = str(cluster.BUILD / "bench" / name)
    for arguments in ([str(grants), str(seed)], ["planted"]):
        if subprocess.run([program, *arguments, *more]).returncode != 0:
            raise Broken(broken)


def devices(grants=10000, seed=1):
    play("bench_devices", grants, seed,
         "a rank opened a device that is not its own, or not one that is")


def limits(grants=600, seed=1, ways="all"):
    """`ways`: "groups" = by control groups alone, which have to be there."""
    play("bench_limits", grants, seed,
         "a rank passed a limit, or ended without one, or its end has no name",
         *(["groups"] if ways == "groups" else []))


def root_of_true(folder):
    """The least that `true` runs in."""
    linked = subprocess.run(["ldd", TRUE], capture_output=True, text=True, check=True).stdout
    libraries = [word for word in linked.split() if word.startswith("/")]
    for path in [TRUE, *libraries]:
        place = pathlib.Path(folder) / path.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, place)
    for name in ("proc", "sys", "dev", "tmp", "etc", "run"):
        (pathlib.Path(folder) / name).mkdir(exist_ok=True)


def timed(name, command, runs):
    """From its start to its end, one at a time."""
    if shutil.which(name) is None:
        print(f"# {name}: left out, it is not installed", flush=True)
        return
    times = []
    for _ in range(runs):
        began = time.monotonic()
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        times.append((time.monotonic() - began) * 1000)
        if done.returncode != 0:
            print(f"# {name}: left out, it fails: {done.stderr.strip()[-200:]}", flush=True)
            return
    figure(f"{name}_ms_p50", quantile(times, 0.5), "ms")


def launch_of(binary):
    """The median milliseconds of `bench/run launch` with that executable."""
    done = subprocess.run([str(cluster.ROOT / "bench" / "run"), "launch"], capture_output=True,
                          text=True, env={**os.environ, "MUSTER_BINARY": str(binary)})
    lines = [line.split() for line in done.stdout.splitlines()]
    found = [float(words[2]) for words in lines if words[:2] == ["figure", "launch_p50"]]
    if not found:
        raise Broken(f"launch with {binary}: {done.stderr.strip()}")
    return found[0]


def launch_rooms(grants=200, runs=30, base=""):
    """Rooms of grants, one at a time, until they are prepared; beside it whole runs of nothing in
    rooms of others. `base`: an executable of another commit, whose launches take turns."""
    if base:
        ratios = [launch_of(MUSTER) / launch_of(base) for _ in range(TURNS)]
        figure("launch_ratio", quantile(ratios, 0.5), "ratio")
    program = str(cluster.BUILD / "bench" / "bench_devices")
    if subprocess.run([program, str(grants), "1", "1"]).returncode != 0:
        raise Broken("a rank opened a device that is not its own, or not one that is")
    timed("bwrap", BWRAP, runs)
    with tempfile.TemporaryDirectory(prefix="muster-rooms-", dir="/var/tmp") as place:
        root_of_true(f"{place}/root")
        podman = ["podman", "--root", f"{place}/store", "--runroot", f"{place}/run",
                  "--storage-driver", "vfs", "--cgroup-manager", "cgroupfs", "--runtime", "crun",
                  "run", "--rm", "--network", "host", "--cgroups=disabled", *LIMITS, "--rootfs",
                  f"{place}/root", TRUE]
        timed("podman", [*ONE_VERSION, *podman], runs)
