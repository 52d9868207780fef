"""Parity of HTTP and the command line: three agents, each verb asked by `--json` and by HTTP over
the unix socket of the same agent. The two documents have to be the same bytes, but for ages and
times, and each answer of HTTP has to be as the agent's own description of REST says."""

import web_cases
import web_job_cases
from cluster import BASE_PORT, all_alive, figure
from lab import Lab, wait_for
from web_compare import Parity

START_S = 60
#: Verbs without a route, and why.
REASONS = {
    "admin-reset": "only root of a voter, by the socket of its agent",
    "agent": "it is the process that answers",
    "audit-verify": "it reads a file of the person who asks",
    "completion": "about the command line itself",
    "help": "about the command line itself",
    "help-terms": "about the command line itself",
    "init": "a host without a cluster has no proofs to judge by",
    "join": "a host without a cluster has no proofs to judge by",
    "leave": "the agent that answers ends with it",
    "man": "about the command line itself",
    "quorum-recover": "only a person at the host whose log goes on",
}
#: Pages of the manual that are no verbs.
PAGES = {"json", "config", "terms"}


def verbs_of(agent):
    """The verbs of the command line, by the names of their pages of the manual."""
    _, out, _ = agent.cli("man", "--list")
    names = {line.removeprefix("muster-") for line in out.split() if line != "muster"}
    return names - PAGES


def http_root(parity):
    if "http-ca" in verbs_of(parity.agent):
        parity.same("http-ca", ("http", "ca"), "/v1/http-ca")


def play_all(parity, has_departures=True):
    """All comparisons at one agent."""
    web_cases.reads_of_the_cluster(parity)
    jobs = web_job_cases.submits(parity)
    web_job_cases.reads_of_jobs(parity, jobs)
    web_job_cases.outputs(parity, jobs[0])
    web_job_cases.job_orders(parity)
    for case in (web_cases.hosts, web_cases.gpus, web_cases.events, web_cases.queues,
                 web_cases.users, web_cases.tokens, http_root, web_cases.refusals, web_cases.keys,
                 web_cases.quorum):
        case(parity)
    for route in ("/v1/targets", "/v1/openapi.json"):
        parity.door.get(route)
    if has_departures:
        web_cases.departures(parity)


def missing_of(parity):
    """Verbs without a route and without a reason, and those whose answers differ."""
    verbs = verbs_of(parity.agent)
    missing = sorted(verbs - parity.done - REASONS.keys())
    for verb in missing:
        print(f"# muster {verb}: no request of HTTP, and no reason why not", flush=True)
    for verb in sorted(REASONS.keys() - verbs):
        print(f"# there is no verb {verb}, but a reason", flush=True)
    return set(missing) | parity.wrong.keys()


def is_settled(lab):
    """Each agent knows three voters and a leader, and has the jobs and the GPUs of all hosts: before
    that a job that no host can ever run is taken, for it might come."""
    for agent in lab.agents.values():
        told = agent.ask("quorum")
        if not told or not told["leader"] or len(told["voters"]) < len(lab.names) or any(
                voter["is_learner"] for voter in told["voters"]) or agent.ask("jobs") is None:
            return False
        trial = agent.ask("submit", "--dry-run", *web_job_cases.ALL_GPUS, "--", "true")
        if trial is None or trial["lacking"] != 0:
            return False
    return True


def web_parity(departures=1):
    with Lab("abc", base_port=BASE_PORT, gpus="sim:8xH100") as lab:
        lab.start()
        wait_for("all hosts", lambda: lab.check_started() and all_alive(lab), START_S)
        wait_for("three voters everywhere", lambda: is_settled(lab), START_S)
        parity = Parity(lab)
        wait_for("the socket", parity.door.path.exists, START_S)
        parity.door.describe()
        play_all(parity, bool(departures))
        for note in parity.notes:
            print(f"# the words differ: {note}", flush=True)
        for fault in parity.door.faults:
            print(f"# {fault}", flush=True)
        for route in sorted(parity.door.description.routes() - parity.door.description.driven):
            print(f"# never driven with success: {route}", flush=True)
        figure("parity_missing", len(missing_of(parity)), "count")
        figure("schema_wrong", len(parity.door.faults), "count")
