"""What hosts send and receive while nothing happens, and serf's share of the same beside it.

Counted by the kernel at the host's link: whole frames, with the headers of Ethernet, IP and TCP."""

import shutil
import subprocess
import time
from typing import NamedTuple

from cluster import Broken
from lab import Switch, run

SERF_PORT = 7946
SERF_SETTLES_S = 20


class Rate(NamedTuple):
    """Bytes a second."""
    received: float
    sent: float

    @property
    def worse(self):
        return max(self)

    @property
    def both(self):
        return sum(self)


def link_bytes(switch, name):
    return [int(run("ip", "netns", "exec", switch.space_of(name), "cat",
                    f"/sys/class/net/eth0/statistics/{direction}_bytes").stdout)
            for direction in ("rx", "tx")]


def measure(switch, names, seconds):
    """{name: Rate} over the next `seconds`."""
    began = time.monotonic()
    before = {name: link_bytes(switch, name) for name in names}
    time.sleep(seconds)
    after = {name: link_bytes(switch, name) for name in names}
    took = time.monotonic() - began
    return {name: Rate(*((late - early) / took
                         for early, late in zip(before[name], after[name]))) for name in names}


def of_serf(seconds):
    """The same five hosts with serf in place of the agent; installs it when it is missing."""
    if shutil.which("serf") is None:
        run("apt-get", "install", "-y", "--no-install-recommends", "serf")
        if shutil.which("serf") is None:
            raise Broken("serf could not be installed")
    names = list("abcde")
    switch = Switch(names)
    agents = []
    try:
        for name in names:
            address = switch.addresses[name]
            agents.append(subprocess.Popen(
                ["ip", "netns", "exec", switch.space_of(name), "serf", "agent", "-node", name,
                 "-bind", f"{address}:{SERF_PORT}",
                 "-retry-join", f"{switch.addresses[names[0]]}:{SERF_PORT}"],
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
        time.sleep(SERF_SETTLES_S)
        rates = measure(switch, names, seconds)
        if any(agent.poll() is not None for agent in agents):
            raise Broken("a serf agent ended")
        return rates
    finally:
        for agent in agents:
            agent.terminate()
        for agent in agents:
            agent.wait()
        switch.close()
