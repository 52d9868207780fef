"""Scenario files: on simulated hosts, on real agents, or on both, with one judge."""

import pathlib
import shutil
import subprocess
import sys
import tempfile

import lab
from real import driver

BUILD = lab.ROOT / "build" / "release"
TOOL = BUILD / "tests" / "sim" / "scenario" / "muster_scenario"


def seeds_of(arguments):
    if arguments.seeds:
        first, _, last = arguments.seeds.partition("..")
        return range(int(first), int(last or first) + 1)
    return [arguments.seed or 1]


def play_simulated(arguments):
    code = 0
    for path in arguments.files:
        for seed in seeds_of(arguments):
            command = [str(TOOL), "play", path, "--seed", str(seed)]
            if arguments.hosts:
                command += ["--hosts", str(arguments.hosts)]
            code = max(code, subprocess.run(command, check=False).returncode)
    return code


def play_real(arguments):
    why_not = lab.can_use_namespaces()
    if why_not:
        sys.exit(f"scenarios/run: each real host gets a network namespace of its own, and here: "
                 f"{why_not}. Run as root with iproute2 and nftables, or leave out --real.")
    code = 0
    for path in arguments.files:
        for seed in seeds_of(arguments) if arguments.both else [1]:
            code = max(code, play_one_real(arguments, path, seed))
    return code


def play_one_real(arguments, path, seed):
    directory = pathlib.Path(tempfile.mkdtemp(prefix="muster-scenario-", dir=lab.PLACE))
    try:
        run = driver.Run(driver.scenario_of(TOOL, path, arguments.hosts), directory)
        run.play()
    except lab.Failure as failure:
        print(f"{path}: {failure}\n# data and logs are kept in {directory}")
        return 1
    hosts = ["--hosts", str(arguments.hosts)] if arguments.hosts else []
    code = subprocess.run([str(TOOL), "judge", path, str(run.timeline), *hosts],
                          check=False).returncode
    print(f"{path} real hosts={run.scenario['hosts']}: {'kept' if code == 0 else 'BROKEN'}",
          flush=True)
    if arguments.both:
        other = directory / "simulated.jsonl"
        played = subprocess.run([str(TOOL), "play", path, "--seed", str(seed), "--ids",
                                 str(run.id_file), "--timeline", str(other), *hosts], check=False)
        code = max(code, played.returncode)
        code = max(code, subprocess.run([str(TOOL), "judge", path, str(run.timeline), "--against",
                                         str(other), *hosts], check=False).returncode)
    if code == 0:
        shutil.rmtree(directory, ignore_errors=True)
    else:
        print(f"# data, logs and timeline are kept in {directory}")
    return code
