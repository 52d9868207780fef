"""The metrics of a real cluster as a real Prometheus reads them: the rules of their format, the
alerts with their tests and with hosts that die, each panel of the dashboard, the number of series.

The series of a leader of 10,000 hosts are counted by tests/agent/front/metrics_model_test.cc
(ALeaderOfTenThousandHostsHasFewSeries)."""

import concurrent.futures
import contextlib
import json
import re
import tempfile
import time

import lab as lab_module
import prometheus
from cluster import Broken, all_alive, figure, leader_of, settle
from lab import Failure, Lab, wait_for
from prometheus import JOB, Prometheus, job_of
from web_client import Door, answers

BASE_PORT = 9450
DOOR_PORT = 10250
PROMETHEUS_PORT = 10450
HOSTS = "abcde"
#: For the next scrapes to have all.
PANELS_S = 15
START_S = 60
SCRAPES_S = 30  #: For a few of them, and for what follows from them.
BACK_S = 60
NODE, LEADER, OTHER = "follower", "leader", "no voter"
LOST, NOT_SCRAPED = "MusterHostsLost", "MusterNotScraped"
#: What a lost leader is about besides.
OF_A_LOST_LEADER = {"MusterNoLeader", "MusterToleratesNoFailure"}

#: (title of a panel, its expression): a fault that a healthy cluster does not have. With the filter
#: at its end left out, each of them has to give something.
FAULTS = {
    ("Health of GPUs", "B"): "GPUs that get no new job",
    ("Grants", "B"): "hosts that start no job",
    ("Dropped messages", "A"): "messages that the transport dropped",
    ("Dropped messages", "B"): "messages that the node dropped",
    ("Refusals", "A"): "connections of strangers",
    ("Refusals", "B"): "requests of strangers",
    ("Alarms", "B"): "alarms by name",
}
FILTER = re.compile(r" (> 0|== 0)$")
#: There is no series of it before the first one.
UNSEEN = {("Alarms", "B")}


class Faults:
    """What is wrong; each is told at once."""

    def __init__(self, about):
        self.about = about
        self.count = 0

    def add(self, text):
        self.count += 1
        print(f"# {self.about}: {text}", flush=True)


# The files.

def alerts_of(rules):
    """{name: expression}."""
    found = re.findall(r"(?s)- alert: (\w+)\n +expr:(.*?)\n +(?:for|labels):", rules)
    return dict(found)


def names_in(text):
    return set(re.findall(r"\b(?:muster_\w+|up)\b", re.sub(r'"[^"]*"', "", text)))


def test_with(expression):
    """(exit code, what promtool said) of the tests of the alerts; if there is an expression, all
    alerts have that one."""
    rules = prometheus.ALERTS.read_text()
    if expression:
        rules = re.sub(r"(?s)( +expr:).*?\n( +(?:for|labels):)", rf"\1 {expression}\n\2", rules)
    with tempfile.TemporaryDirectory() as folder:
        for path, text in ((prometheus.ALERTS, rules),
                           (prometheus.ALERTS_TEST, prometheus.ALERTS_TEST.read_text())):
            with open(f"{folder}/{path.name}", "w") as file:
                file.write(text)
        return prometheus.promtool("test", "rules", f"{folder}/{prometheus.ALERTS_TEST.name}")


def failed_checks(said):
    """[(expected, got)] of the expressions that gave something else."""
    return re.findall(r"(?s)\bexp: (.*?)\n\s+got: (.*?)(?=\n\s+expr: |\n\s*\n|\Z)", said)


def check_alert_tests(wrong):
    """Each alert has a test that shows it firing, and one that shows it silent on healthy series:
    the tests pass, and notice when it never fires, and when it always does."""
    alerts = alerts_of(prometheus.ALERTS.read_text())
    if len(alerts) != prometheus.ALERTS.read_text().count("- alert: "):
        raise Broken(f"{prometheus.ALERTS.name} is not read whole: {list(alerts)}")
    with concurrent.futures.ThreadPoolExecutor() as hands:
        (code, said), never, always = hands.map(test_with, (None, "vector(0) > 1", "vector(1)"))
    if code:
        wrong.add(f"promtool test rules: {said.strip()}")
        return
    silent = failed_checks(never[1])
    loud = failed_checks(always[1])
    healthy = re.search(r"(?s)- name: healthy\n(.*?)\n  - name: ",
                        prometheus.ALERTS_TEST.read_text()).group(1)
    for name, expression in alerts.items():
        mark = f'alertname="{name}"'
        if not any(mark in expected and mark not in got for expected, got in silent):
            wrong.add(f"{name}: no test shows it firing")
        if not any(expected == "nil" and mark in got for expected, got in loud):
            wrong.add(f"{name}: no test shows it silent")
        for lacking in names_in(expression) - names_in(healthy):
            wrong.add(f"{name}: the healthy cluster of the tests has no {lacking}")


# The cluster.

class Watched:
    """A cluster with a Prometheus that watches it."""

    def __init__(self, lab, doors, server, token):
        self.lab = lab
        self.doors = doors
        self.server = server
        self.token = token  #: Its name.

    def scrape(self, name):
        answer = self.doors[name].get("/metrics")
        if answer is None or answer.status != 200:
            raise Broken(f"/metrics of {name}: {answer and (answer.status, answer.text()[:200])}")
        return answer.body.decode()

    def scrapes(self):
        """[(role, name, text)] of all hosts."""
        leader = leader_of(self.lab)
        voters = {voter["host"] for voter in self.lab[leader].ask("quorum")["voters"]}
        roles = {name: LEADER if name == leader else NODE if name in voters else OTHER
                 for name in self.lab.names}
        if set(roles.values()) != {LEADER, NODE, OTHER}:
            raise Broken(f"not every role is there: {roles}")
        return [(role, name, self.scrape(name)) for name, role in roles.items()]


def ports_for(lab):
    """{name: Door}, each agent with a port of HTTPS."""
    first = lab_module.free_ports(DOOR_PORT, len(lab.names))
    doors = {}
    for port, name in enumerate(lab.names, first):
        lab[name].environment = {"MUSTER_HTTPS": f"127.0.0.1:{port}"}
        doors[name] = Door(lab[name], port)
    return doors


@contextlib.contextmanager
def watched_cluster():
    with Lab(HOSTS, base_port=BASE_PORT) as lab:
        doors = ports_for(lab)
        lab.start()
        settle(lab)
        out = lab.directory / "prometheus.token"
        code, told, err = lab["a"].cli("token", "create", "--for", "prometheus", "--may", "read",
                                       "--out", str(out), "--json")
        if code != 0:
            raise Broken(f"token create: {err}")
        line = out.read_text()
        for name, door in doors.items():
            door.access = line.strip()
            wait_for(f"{name} knows the token", lambda: answers(door, "/v1/whoami"), START_S)
        with Prometheus(lab.directory / "prometheus", doors, line, PROMETHEUS_PORT) as server:
            yield Watched(lab, doors, server, json.loads(told)["access_token"])
        for door in doors.values():
            door.close()


def check_discovery(watched, wrong):
    """Each node names all five, Prometheus finds all by each of them, and scrapes all."""
    everyone = set(watched.lab.names)
    for name, door in watched.doors.items():
        answer = door.get("/v1/targets")
        named = {target["labels"]["host"]: target["targets"] for target in answer.json()} \
            if answer is not None and answer.status == 200 else {}
        if named != {each: [f"127.0.0.1:{watched.doors[each].port}"] for each in everyone}:
            wrong.add(f"/v1/targets of {name}: {answer and answer.text()}")
    wanted = dict.fromkeys(everyone, "up")
    for job in [JOB, *map(job_of, watched.lab.names)]:
        end = time.monotonic() + SCRAPES_S
        while watched.server.health(job) != wanted and time.monotonic() < end:
            time.sleep(0.2)
        if watched.server.health(job) != wanted:
            wrong.add(f"targets of {job}: {watched.server.health(job)}, "
                      f"{watched.server.last_errors(job)}")


def submit(lab, *words):
    code, out, err = lab["a"].cli("submit", "--json", *words)
    if code != 0:
        raise Broken(f"submit {' '.join(words)}: {out}{err}")
    return str(json.loads(out)["job_id"])


def run_jobs(watched):
    """Jobs that succeed, fail, are cancelled, run on, and wait."""
    lab = watched.lab
    ends = {submit(lab, "--gpus", "1", "--", "true"): "completed",
            submit(lab, "--gpus", "8", "--", "true"): "completed",
            submit(lab, "--gpus", "1", "--", "false"): "failed",
            submit(lab, "--gpus", "4", "--", "sleep", "1000"): "running"}
    cancelled = submit(lab, "--gpus", str(8 * len(HOSTS)), "--", "sleep", "1000")
    code, _, err = lab["a"].cli("cancel", cancelled, "-y")
    if code != 0:
        raise Broken(f"cancel: {err}")
    ends |= {cancelled: "cancelled",
             submit(lab, "--gpus", str(8 * len(HOSTS)), "--", "sleep", "1000"): "queued"}

    def states():
        answer = lab["a"].ask("jobs", "--all", "--consistent") or {"jobs": []}
        return {str(job["job_id"]): job["state"] for job in answer["jobs"]}
    try:
        wait_for("jobs in their states", lambda: states() == ends, START_S)
    except Failure as failure:
        raise Broken(f"{failure}: {states()}, not {ends}") from failure


def check_scrapes(watched, complaints):
    """(the most series of a host that does not lead, those of the leader)."""
    most, of_leader = 0, 0
    for role, name, text in watched.scrapes():
        for line in prometheus.complaints_about(text):
            complaints.add(f"metrics of {name} ({role}): {line}")
        series = sum(1 for line in text.splitlines() if line and not line.startswith("#"))
        if role == LEADER:
            of_leader = series
        else:
            most = max(most, series)
    return most, of_leader


# The dashboard.

def questions_of(dashboard):
    """[(panel, expression's name, expression, legend)] of all panels, and of its variables."""
    asked = []
    for variable in dashboard["templating"]["list"]:
        if variable["type"] == "query":
            series, label = re.fullmatch(r"label_values\((.*), (\w+)\)",
                                         variable["definition"]).groups()
            asked.append((f"${variable['name']}", "", f"count by ({label}) ({series})",
                          f"{{{{{label}}}}}"))
    for panel in dashboard["panels"]:
        for inner in [panel, *panel.get("panels", [])]:
            asked += [(inner["title"], each["refId"], each["expr"], each.get("legendFormat", ""))
                      for each in inner.get("targets", [])]
    return asked


def gave(watched, expression, legend):
    """What is wrong with an answer; "" if nothing."""
    told = watched.server.ask(expression)
    if not told:
        return "empty"
    if all(value != value for _, value in told):
        return "not a number"
    unknown = set(re.findall(r"{{(\w+)}}", legend)) - set(told[0][0])
    return f"its legend names {', '.join(unknown)}, of which it has none" if unknown else ""


def check_panels(watched, empty):
    """Every expression of the dashboard gives something."""
    dashboard = json.loads(prometheus.DASHBOARD.read_text())
    instances = "|".join(re.escape(f"127.0.0.1:{door.port}") for door in watched.doors.values())
    questions = questions_of(dashboard)
    if not set(FAULTS) <= {question[:2] for question in questions}:
        raise Broken("a panel that is said to be about faults is gone")
    patience = time.monotonic() + PANELS_S
    for title, part, expression, legend in questions:
        faults = FAULTS.get((title, part))
        if faults:
            print(f"# may be empty: {title} {part}: {faults}", flush=True)
        if (title, part) in UNSEEN:
            continue
        asked = FILTER.sub("", expression) if faults else expression
        asked = asked.replace("$job", JOB).replace("$instance", instances.replace("\\", "\\\\"))
        fault = gave(watched, asked, legend)
        while fault and time.monotonic() < patience:  # The jobs came behind the last scrape.
            time.sleep(0.5)
            fault = gave(watched, asked, legend)
        if fault:
            empty.add(f"{title} {part}: {fault}: {asked}")


# The alerts, with real faults.

def check_fired(seen, allowed, when, wrong):
    for name, summary in seen.items():
        if name not in allowed:
            wrong.add(f"{when}: {name} fired: {summary}")


def check_quiet(watched, seconds, wrong):
    seen, _ = watched.server.watch(seconds)
    check_fired(seen, (), "while all was well", wrong)


def check_lost(watched, name, also, wrong):
    """The alert about lost hosts fires when the agent of one is killed, clears when it is back, and
    no other one fires than those `also` has."""
    agent = watched.lab[name]
    agent.kill_agent()
    began = time.monotonic()
    seen, fired = watched.server.watch(SCRAPES_S, lambda fires: LOST in fires)
    took = time.monotonic() - began
    if not fired:
        wrong.add(f"{name} was killed: {LOST} did not fire within {SCRAPES_S} s")
    else:
        print(f"# {name} was killed: {took:.1f} s to '{seen[LOST]}'", flush=True)
        if seen[LOST] != f"Unreachable hosts of {JOB}: 1":
            wrong.add(f"its summary is '{seen[LOST]}'")
    if watched.server.health().get(name) != "down":
        wrong.add(f"{name} was killed: Prometheus has {watched.server.health()}")
    agent.start()
    began = time.monotonic()
    more, cleared = watched.server.watch(
        BACK_S, lambda fires: not fires and all_alive(watched.lab))
    if not cleared:
        wrong.add(f"{name} is back: {', '.join(watched.server.firing())} fire {BACK_S} s later")
    print(f"# {name} was started: {time.monotonic() - began:.1f} s until all is well", flush=True)
    check_fired(seen | more, {LOST, *also}, f"{name} was killed", wrong)


def check_not_scraped(watched, wrong):
    """The token of Prometheus is revoked: an alert says that there are no others any more."""
    code, _, err = watched.lab["a"].cli("token", "revoke", watched.token)
    if code != 0:
        raise Broken(f"token revoke: {err}")
    seen, fired = watched.server.watch(SCRAPES_S, lambda fires: NOT_SCRAPED in fires)
    if not fired:
        wrong.add(f"the token was revoked: {NOT_SCRAPED} did not fire")
    check_fired(seen, {NOT_SCRAPED}, "the token was revoked", wrong)


def one_of(watched, role):
    return next(name for each, name, _ in watched.scrapes() if each == role)


def web_metrics(quiet=20):
    """`quiet`: seconds in which all is well and no alert may fire."""
    reason = prometheus.lacking()
    if reason:
        raise Broken(reason)
    complaints, wrong, empty = Faults("complaint"), Faults("alert"), Faults("panel")
    for line in prometheus.complaints_about_rules(prometheus.ALERTS):
        complaints.add(f"rules: {line}")
    check_alert_tests(wrong)
    with watched_cluster() as watched:
        check_discovery(watched, wrong)
        run_jobs(watched)
        check_quiet(watched, quiet, wrong)
        series_node, series_leader = check_scrapes(watched, complaints)
        check_panels(watched, empty)
        check_lost(watched, one_of(watched, OTHER), (), wrong)
        check_lost(watched, one_of(watched, LEADER), OF_A_LOST_LEADER, wrong)
        settle(watched.lab)
        again = check_scrapes(watched, complaints)
        check_not_scraped(watched, wrong)
    figure("promtool_complaints", complaints.count, "count")
    figure("alerts_wrong", wrong.count, "count")
    figure("panels_empty", empty.count, "count")
    figure("series_node", max(series_node, again[0]), "series")
    figure("series_leader", max(series_leader, again[1]), "series")
