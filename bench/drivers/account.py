"""The bill of a boot and of a heal of many agents: the counters of `muster
stats`, summed over all agents, for each of the two. A count times its cost is what a change of the
protocol can save."""

import time

import cluster
import lab
from cluster import Broken, figure
from log_tail import LogTail
from versus_serf import CUT_S, FORM_MAX_S, HEAL_MAX_S, REST_S, Muster, cpu_of

#: Below so many of a second of all agents together a counter is not worth a line.
LEAST_CPU_S = 0.05


def account(agents=96, heal=1):
    """With --heal 0 the boot alone."""
    reason = lab.can_use_namespaces()
    if reason:
        raise Broken(f"hosts need namespaces of their own here: {reason}")
    side = Muster(agents)
    try:
        with LogTail(side.logs, side.interesting) as tail:
            boot(side, tail)
            if heal:
                healing(side, tail)
    finally:
        side.stop()


def boot(side, tail):
    began = side.start()
    side.await_whole(FORM_MAX_S)
    figure("boot_form_s", time.monotonic() - began, "s")
    figure("boot_form_cpu_s", cpu_of(side, side.names), "s")
    time.sleep(REST_S)
    tell(side, "boot", counters_of(side), cpu_of(side, side.names))
    figure("boot_verdicts", len(tail.since(began, side.lost)), "count")


def healing(side, tail):
    half = len(side.names) // 2
    side.switch.cut(side.names[:half], side.names[half:])
    time.sleep(CUT_S)
    before, cpu, healed = counters_of(side), cpu_of(side, side.names), time.monotonic()
    side.switch.heal()
    time.sleep(REST_S)
    after, spent = counters_of(side), cpu_of(side, side.names) - cpu
    side.await_whole(HEAL_MAX_S)
    tell(side, "heal", {name: [late - early for late, early in zip(
        after[name], before.get(name, [0, 0, 0]))] for name in after}, spent)
    back = [when for when, _, _ in tail.since(healed, side.found)]
    figure("heal_healed_s", max(back, default=0), "s")
    figure("heal_verdicts", len(tail.since(healed, side.lost)), "count")
    figure("heal_elections", len({match[1] for _, _, match in tail.since(healed, side.elected)}),
           "count")


def counters_of(side):
    """Name -> [count, bytes, CPU us] of all agents together."""
    sums = {}
    for name in side.names:
        answer = cluster.wait_for(f"the counters of {name}",
                                  lambda name=name: side.lab[name].ask("stats"), FORM_MAX_S)
        for counter in answer["counters"]:
            mine = sums.setdefault(counter["name"], [0, 0, 0])
            for place, key in enumerate(("count", "bytes", "cpu_us")):
                mine[place] += counter[key]
    return sums


def tell(side, phase, sums, cpu_s):
    """A line a counter, the dearest first, and figures of what the design speaks of."""
    count = {name: values[0] for name, values in sums.items()}
    figure(f"{phase}_cpu_s", cpu_s, "s")
    for name, (number, size, cpu_us) in sorted(sums.items(), key=lambda each: -each[1][2]):
        if cpu_us >= LEAST_CPU_S * 1e6 or (number and not cpu_us):
            each = f" {cpu_us / number:8.1f} us each" if number else ""
            cost = f"{cpu_us / 1e6:8.2f} s{each}" if cpu_us else ""
            print(f"# {phase} {name:28} {number:9} {size / 1e6:8.2f} MB {cost}", flush=True)
    figure(f"{phase}_publishes_a_host", count["rows.publishes"] / len(side.names), "count")
    figure(f"{phase}_signed_a_host", count["rows.signatures_made"] / len(side.names), "count")
    checked = count["rows.signatures_checked"]
    figure(f"{phase}_checks_a_host", checked / len(side.names), "count")
    figure(f"{phase}_dials_a_host", count["links.dials"] / len(side.names), "count")
    words = sum(number for name, number in count.items() if name.startswith("received."))
    figure(f"{phase}_words_a_host", words / len(side.names), "count")
    if count["rows.publishes"]:
        figure(f"{phase}_words_a_change", count.get("received.rows", 0) / count["rows.publishes"],
               "count")
