"""A real Prometheus on a port of the loopback, and promtool: Debian's package prometheus. It asks
each agent of a lab for all hosts, and scrapes them over TLS with an access token.

Both run in sessions of their own, as the agents do. Linux shares the CPUs out by session: in that
of a caller with a low priority they stand still for seconds beside compilers, and a door ends a
handshake after 3 s."""

import http.client
import json
import pathlib
import re
import shutil
import subprocess
import time
import urllib.parse

from cluster import ROOT, Broken
from lab import free_ports, wait_for

SERVER = "/usr/bin/prometheus"
PROMTOOL = "/usr/bin/promtool"
MONITORING = ROOT / "agent" / "edge" / "door" / "monitoring"
ALERTS = MONITORING / "alerts.yml"
ALERTS_TEST = MONITORING / "alerts_test.yml"
DASHBOARD = MONITORING / "muster.json"
JOB = "muster"  #: The scrape job that all agents tell it about.
ANSWER_S = 10
PROMTOOL_S = 120
START_S = 30
END_S = 10
#: Of the alerts that it has here, in place of minutes.
HELD_S = 5

GLOBAL = f"""global:
  scrape_interval: 2s
  scrape_timeout: 2s
  evaluation_interval: 1s
rule_files: [{ALERTS.name}]
scrape_configs:
"""
SCRAPE = """  - job_name: {name}
    scheme: https
    scrape_interval: {interval_s}s
    scrape_timeout: {interval_s}s
    authorization: {{credentials_file: token}}
    tls_config: {{ca_file: ca.pem}}
    http_sd_configs:
"""
#: Without the type, Prometheus 2.42 sends the bare token here, without "Bearer".
FOUND = """      - url: https://127.0.0.1:{port}/v1/targets
        refresh_interval: 5s
        authorization: {{type: Bearer, credentials_file: token}}
        tls_config: {{ca_file: ca.pem}}
"""


def lacking():
    """Why this machine cannot, or nothing."""
    gone = [tool for tool in (SERVER, PROMTOOL) if shutil.which(tool) is None]
    return f"needs {' and '.join(gone)} (Debian's package prometheus)" if gone else ""


def promtool(*words, given=""):
    """(exit code, what it said) of one call."""
    done = subprocess.run([PROMTOOL, *map(str, words)], input=given, capture_output=True,
                          text=True, timeout=PROMTOOL_S, start_new_session=True)
    return done.returncode, done.stdout + done.stderr


def complaints_about(text):
    """The lines that `promtool check metrics` has to say about a scrape."""
    code, said = promtool("check", "metrics", given=text)
    lines = [line for line in said.splitlines() if line.strip()]
    return lines or (["it failed without a word"] if code else [])


def complaints_about_rules(path):
    code, said = promtool("check", "rules", "--lint-fatal", path)
    lines = [line for line in said.splitlines()
             if line.strip() and not re.match(r"Checking |\s+SUCCESS: ", line)]
    return lines or (["it failed without a word"] if code else [])


def shortened(rules):
    """These alerts after seconds in place of minutes."""
    return re.sub(r"(?m)^( +for:) \S+$", rf"\1 {HELD_S}s", rules)


def job_of(name):
    """The scrape job that one agent alone tells it about."""
    return f"{JOB}-{name}"


class Prometheus:
    """One that watches the agents of these doors; a context manager that leaves nothing."""

    def __init__(self, folder, doors, token, base_port):
        self.folder = pathlib.Path(folder)
        self.doors = doors
        self.port = free_ports(base_port, 1)
        self.process = None
        self.folder.mkdir()
        self._write("token", token)
        self._write("ca.pem", "".join(door.root.read_text() for door in doors.values()))
        self._write(ALERTS.name, shortened(ALERTS.read_text()))
        self._write("prometheus.yml", self._config())

    def _write(self, name, text):
        path = self.folder / name
        path.touch(0o600)
        path.write_text(text)

    def _config(self):
        text = GLOBAL + SCRAPE.format(name=JOB, interval_s=2)
        text += "".join(FOUND.format(port=door.port) for door in self.doors.values())
        for name, door in self.doors.items():
            text += SCRAPE.format(name=job_of(name), interval_s=HELD_S)
            text += FOUND.format(port=door.port)
        return text

    def __enter__(self):
        with open(self.folder / "log", "ab") as log:
            self.process = subprocess.Popen(
                [SERVER, "--config.file=prometheus.yml", "--storage.tsdb.path=data",
                 f"--web.listen-address=127.0.0.1:{self.port}", "--log.level=warn"],
                cwd=self.folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                start_new_session=True)
        try:
            wait_for("Prometheus is ready", self._is_ready, START_S)
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.process.terminate()
        try:
            self.process.wait(END_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def _get(self, target):
        link = http.client.HTTPConnection("127.0.0.1", self.port, timeout=ANSWER_S)
        try:
            link.request("GET", target)
            answer = link.getresponse()
            return answer.status, answer.read()
        finally:
            link.close()

    def _is_ready(self):
        if self.process.poll() is not None:
            raise Broken(f"Prometheus ended: {(self.folder / 'log').read_text()[-500:]}")
        try:
            return self._get("/-/ready")[0] == 200
        except OSError:
            return False

    def api(self, path, **query):
        """The data of an answer of its API."""
        target = f"/api/v1/{path}?{urllib.parse.urlencode(query)}"
        status, body = self._get(target)
        told = json.loads(body)
        if status != 200 or told["status"] != "success":
            raise Broken(f"Prometheus on {target}: {status} {told.get('error')}")
        return told["data"]

    def ask(self, expression):
        """[(labels, value)]."""
        data = self.api("query", query=expression)
        if data["resultType"] != "vector":
            raise Broken(f"{expression}: a {data['resultType']}")
        return [(each["metric"], float(each["value"][1])) for each in data["result"]]

    def firing(self, job=JOB):
        """{name: summary} of the alerts that fire about a scrape job."""
        return {each["labels"]["alertname"]: each["annotations"]["summary"]
                for each in self.api("alerts")["alerts"]
                if each["state"] == "firing" and each["labels"].get("job") == job}

    def health(self, job=JOB):
        """{name of a host: "up", "down" or "unknown"} of the targets that it found."""
        return {each["labels"].get("host", each["scrapeUrl"]): each["health"]
                for each in self.api("targets", state="active")["activeTargets"]
                if each["labels"]["job"] == job}

    def last_errors(self, job=JOB):
        """The reasons for which targets are down."""
        return {each["lastError"] for each in self.api("targets", state="active")["activeTargets"]
                if each["labels"]["job"] == job and each["lastError"]}

    def watch(self, seconds, until=lambda fires: False):
        """All alerts that fired, as firing() has them, until the condition is true of those that
        fire, or time is over; and whether it was."""
        seen, end = {}, time.monotonic() + seconds
        while True:
            fires = self.firing()
            seen |= fires
            if until(fires):
                return seen, True
            if time.monotonic() > end:
                return seen, False
            time.sleep(0.2)
