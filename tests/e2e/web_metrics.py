"""A slice of `./bench/run web_metrics`: the alerts have tests, the metrics of each role are clean
and few, a Prometheus finds all hosts, each panel shows something, and a killed host is told."""

import os
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scenarios"), str(ROOT / "bench" / "drivers")]

import prometheus  # noqa: E402
import web_metrics  # noqa: E402
from lab import Failure, play  # noqa: E402

LEFT_OUT = 77
SERIES_NODE_MAX = 600
SERIES_LEADER_MAX = 5000


def none(faults):
    if faults.count:
        raise Failure(f"{faults.count} of them")


def alerts_have_tests(_):
    """promtool finds no fault in the alerts, and their tests show each firing and silent."""
    wrong = web_metrics.Faults("alert")
    for line in prometheus.complaints_about_rules(prometheus.ALERTS):
        wrong.add(line)
    web_metrics.check_alert_tests(wrong)
    none(wrong)


def all_hosts_are_found(watched):
    """Each node names all five to Prometheus, which scrapes all over TLS."""
    wrong = web_metrics.Faults("target")
    web_metrics.check_discovery(watched, wrong)
    none(wrong)


def metrics_are_clean_and_few(watched):
    """promtool has no complaint about a leader, a follower and a host without a vote."""
    complaints = web_metrics.Faults("complaint")
    web_metrics.run_jobs(watched)
    series_node, series_leader = web_metrics.check_scrapes(watched, complaints)
    none(complaints)
    if series_node > SERIES_NODE_MAX or series_leader > SERIES_LEADER_MAX:
        raise Failure(f"{series_node} series of a host, {series_leader} of the leader")


def each_panel_shows_something(watched):
    """Every expression of the dashboard has a result."""
    empty = web_metrics.Faults("panel")
    web_metrics.check_panels(watched, empty)
    none(empty)


def a_lost_host_is_told(watched):
    """Its alert alone fires when an agent is killed, and clears when it is back."""
    wrong = web_metrics.Faults("alert")
    lost = web_metrics.one_of(watched, web_metrics.OTHER)
    web_metrics.check_lost(watched, lost, (), wrong)
    none(wrong)


CASES = [all_hosts_are_found, metrics_are_clean_and_few, each_panel_shows_something,
         a_lost_host_is_told]


def main():
    reason = prometheus.lacking()
    if reason:
        print(f"LEFT OUT: {reason}")
        return 1 if os.environ.get("MUSTER_NO_SKIP") == "1" else LEFT_OUT
    broken = play([alerts_have_tests], None)
    with web_metrics.watched_cluster() as watched:
        broken += play(CASES, watched)
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
