"""Whether a refactoring left behaviour alone: the simulator of another commit beside this tree's."""

import os
import pathlib
import subprocess

import cluster
from cluster import Broken, figure, quantile

PROFILES = ("usual", "old_disks", "electorates", "recoveries")
SEEDS = 10  # Of each profile.
TURNS = 7
SPEED = ["sim_speed", "--hosts", "100", "--seconds", "2000", "--no-faults"]
SIM = pathlib.Path("build", "release", "tests", "sim", "muster_sim")


def same_behaviour(base="", speed=1):
    """`base` is a commit: its tree and its build are kept below build/base/ for the next time."""
    if not base:
        raise Broken("--base COMMIT is missing: the commit that this tree must behave like")
    commit = git("rev-parse", "--verify", "--quiet", base + "^{commit}").strip()
    if not commit:
        raise Broken(f"there is no commit {base}")
    other = built(cluster.BUILD.parent / "base" / commit[:12], commit)
    own = cluster.ROOT / SIM
    differences = sum(compare(own, other, profile) for profile in PROFILES)
    goldens = changed_goldens(commit)
    for path in goldens:
        print(f"# golden changed: {path}", flush=True)
    figure("same_behaviour_seeds", SEEDS * len(PROFILES), "count")
    figure("same_behaviour_differences", differences, "count")
    figure("same_behaviour_goldens_changed", len(goldens), "count")
    if speed:
        compare_speed(own, other)
    if differences or goldens:
        raise Broken("this tree behaves in another way than the base")


def git(*words):
    done = subprocess.run(["git", *words], cwd=cluster.ROOT, capture_output=True, text=True,
                          check=False)
    return done.stdout


def built(tree, commit):
    """The simulator of `commit`, in a work tree of its own."""
    if not tree.exists():
        git("worktree", "prune")
        git("worktree", "add", "--detach", str(tree), commit)
    if not (tree / "cmake" / "configure.sh").exists():
        raise Broken(f"{commit[:12]} is older than this gate: its simulator prints no hashes")
    for command in (["cmake/configure.sh", "release"],
                    ["ninja", "-C", "build/release", "--quiet", "muster_sim"]):
        done = subprocess.run(command, cwd=tree, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise Broken(f"the base could not be built:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return tree / SIM


def hashes(binary, profile):
    done = subprocess.run([str(binary), "swarm", "--hashes", "--once", "--hosts", "5", "--seconds",
                           "300", "--seeds", f"1..{SEEDS}", "--profile", profile],
                          capture_output=True, text=True, check=False)
    lines = [line for line in done.stdout.splitlines() if line.startswith("seed ")]
    if len(lines) != SEEDS:
        raise Broken(f"{binary} printed {len(lines)} hashes of {profile}, not {SEEDS}")
    return lines


def compare(own, other, profile):
    differences = 0
    for mine, theirs in zip(hashes(own, profile), hashes(other, profile)):
        if mine != theirs:
            differences += 1
            print(f"# {profile}: {mine}\n# base, {profile}: {theirs}", flush=True)
    return differences


def changed_goldens(commit):
    """Golden texts of stories and formats that are not what they were, whatever they are called."""
    rows = git("diff", "--name-status", "-M100%", commit, "--", "tests").splitlines()
    changes = [row.split("\t") for row in rows]
    return [change[-1] for change in changes
            if "/golden/" in change[-1] and not change[0].startswith("R100")]


def user_seconds(binary):
    process = subprocess.Popen([str(binary), *SPEED], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise Broken(f"{binary} exited {process.returncode}")
    return usage.ru_utime


def compare_speed(own, other):
    """User CPU time, in turns, so that a machine that slows down slows both."""
    ratios = []
    for _ in range(TURNS):
        theirs = user_seconds(other)
        ratios.append(user_seconds(own) / theirs)
    figure("same_behaviour_sim_speed", quantile(ratios, 0.5), "ratio")
    figure("same_behaviour_sim_speed_min", min(ratios), "ratio")
    figure("same_behaviour_sim_speed_max", max(ratios), "ratio")
