"""The cluster that `./quickstart --keep` leaves running, and its end."""

import os
import pathlib
import shlex
import shutil
import signal

from lab import MUSTER, PLACE, ROOT, Failure, Lab, descendants_of

DIRECTORY = pathlib.Path(PLACE) / f"muster-quickstart-{os.getuid()}"


def processes():
    prefix = os.fsencode(DIRECTORY) + b"/"
    return descendants_of(lambda command: any(
        word.startswith(prefix) for word in command.split(b"\0")))


def start(story, base_port):
    """Tells the story in a cluster that stays; 1 when a promise broke, 7 when one is up already."""
    if processes():
        print(f"a kept cluster is up already in {DIRECTORY}; stop it with: ./quickstart --stop")
        return 7
    shutil.rmtree(DIRECTORY, ignore_errors=True)
    lab = Lab(directory=DIRECTORY, base_port=base_port)
    try:
        story(lab)
    except BaseException as error:
        lab.stop()
        if not isinstance(error, Failure):
            raise
        print(f"  BROKEN: {error}; data and logs are in {DIRECTORY}")
        return 1
    say_how(lab)
    return 0


def write_starters(lab):
    """A script for each agent, that starts it again after somebody killed it to see what happens."""
    settings = " ".join(f"{name}={value}" for name, value in lab.own_settings().items())
    for name in lab.names:
        agent = lab[name]
        (DIRECTORY / f"{name}.sh").write_text(
            f"#!/bin/sh\ncd {shlex.quote(str(DIRECTORY))} || exit\n"
            f"{settings} nohup {shlex.join(agent.command())} "
            f">>{shlex.quote(str(agent.log))} 2>&1 &\n",
            encoding="utf-8")


def say_how(lab):
    write_starters(lab)
    binary = MUSTER.relative_to(ROOT) if MUSTER.is_relative_to(ROOT) else MUSTER
    print(f"""
Five agents are up; data and logs are in {DIRECTORY}. Talk to any of them:
  export MUSTER_NODE={lab["a"].data} PATH="$PWD/{binary.parent}:$PATH"
  muster hosts
  muster submit --gpus 16 --name mine -- python3 scenarios/jobs/allreduce.py
  muster jobs
Kill an agent, see what the others say, and start it again:
  kill -9 $(pgrep -f "muster agent --name b --listen {lab["b"].endpoint}"); sleep 2; muster hosts
  sh {DIRECTORY}/b.sh
Stop all of it:
  ./quickstart --stop""")


def stop():
    found = processes()
    for pid in found:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    shutil.rmtree(DIRECTORY, ignore_errors=True)
    print(f"{len(found)} processes ended" if found else "nothing was running")
    return 0
