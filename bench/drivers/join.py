"""How soon a host with a ticket is a member: from the start of its agent until all see it."""

import cluster
from cluster import Broken, figures
from lab import wait_for
from simulated import simulated_figures

MEMBERS = "abcde"
NS_A_SECOND = 1e9
LIMIT_S = 30


def start_and_join(boot, newcomer):
    """Seconds from the exec until the members and the newcomer all list it alive, with its GPUs."""
    began = cluster.boot_ns()
    newcomer.start()
    cluster.await_whole(boot, LIMIT_S)
    return (cluster.boot_ns() - began) / NS_A_SECOND


def leave(newcomer):
    code, _, err = newcomer.cli("leave", "--yes")
    if code != 0:
        raise Broken(f"leave: {err.strip()}")
    wait_for(f"the end of {newcomer.name}", lambda: not newcomer.is_running(), LIMIT_S)


def join(rounds=100, herd=0, seeds=3):
    """One host after the other joins five that live, each with a ticket of many uses, and leaves;
    or `herd` simulated hosts join three within a second, all on one ticket."""
    if herd:
        simulated_figures("herd", hosts=herd, seeds=f"1..{seeds}")
        return
    newcomers = [f"j{number}" for number in range(rounds)]
    took = []
    with cluster.make(namespaces=False, names=[*MEMBERS, *newcomers]) as boot:
        for name in MEMBERS:
            boot[name].start()
        wait_for("the five to be there", lambda: len(boot.live()) == len(MEMBERS), LIMIT_S)
        cluster.await_whole(boot, LIMIT_S)
        wait_for("a ticket", lambda: boot.ticket_of(newcomers[0]).exists(), LIMIT_S)
        for name in newcomers:
            took.append(start_and_join(boot, boot[name]))
            print(f"# join {name} {took[-1]:.3f}", flush=True)
            leave(boot[name])
    figures("join", took, "s")
