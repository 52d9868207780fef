"""Plays a scenario file on real agents, each in a network namespace of its own, and writes down what
happened as the simulator does: one timeline for one judge."""

import datetime
import json
import pathlib
import subprocess
import time

import lab
from real import clocks
from real.hosts import Hosts

BOOT_MAX_S = 120
#: As in the simulator: observer lists come to rest.
REST_S = 10
#: Of a host whose disk is filled: its data directory is a file system of this size.
DISK = "192m"


def scenario_of(tool, path, hosts):
    command = [str(tool), "print", str(path), "--real"]
    if hosts:
        command += ["--hosts", str(hosts)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise lab.Failure(done.stderr.strip())
    return json.loads(done.stdout)


class Run:
    """One run of one scenario; `timeline` and `ids` are files afterwards."""

    def __init__(self, scenario, directory):
        self.scenario = scenario
        self.directory = pathlib.Path(directory)
        self.told = []
        self.began = None
        self.ids = {}  #: Short id -> hN.
        self.long_ids = []
        self.numbers = {}

    def tell(self, name, **fields):
        self.told.append({"t": time.time() - self.began, "host": -1, "name": name,
                          "level": "info", "fields": fields})

    def play(self):
        names = [f"h{host}" for host in range(self.scenario["hosts"])]
        with lab.Lab(names, namespaces=True, gpus=f"sim:{self.scenario['gpus']}xH100",
                     directory=self.directory / "hosts",
                     expect=3 if len(names) >= 3 else 1) as cluster:
            self._prepare(cluster)
            try:
                self._boot(cluster)
                self._perform(cluster)
            finally:
                cluster.stop()
                self._unmount(cluster)
            self._collect(cluster)

    def _prepare(self, cluster):
        racks = self.scenario["racks"]
        for host, name in enumerate(cluster.names):
            agent = cluster[name]
            agent.environment = {"MUSTER_LOG_JSON": "true"}
            if racks:
                agent.flags = {"rack": f"r{host % racks}"}
            if any(act["verb"] == "clock jump" for act in self.scenario["acts"]):
                agent.environment.update(clocks.environment_of(agent))
        self.mounted = []
        if any(act["verb"] == "fill disk" for act in self.scenario["acts"]):
            for name in cluster.names:
                lab.run("mount", "-t", "tmpfs", "-o", f"size={DISK},mode=0700", "tmpfs",
                        str(cluster[name].data))
                self.mounted.append(cluster[name].data)

    def _unmount(self, cluster):
        for path in self.mounted:
            log = cluster[path.name].log
            text = log.read_bytes() if log.exists() else b""
            lab.run("umount", "-l", str(path), check=False)
            log.write_bytes(text)

    def _boot(self, cluster):
        cluster.start()
        count = len(cluster.names)

        def is_whole():
            cluster.check_started()
            for name in cluster.names:
                answer = cluster[name].ask("hosts", timeout=5)
                hosts = answer["hosts"] if answer else []
                alive = [each for each in hosts if each["state"] == "alive" and each["gpus"] > 0]
                if len(alive) != count:
                    return None
            return hosts

        hosts = lab.wait_for("the cluster is whole", is_whole, BOOT_MAX_S)
        for each in hosts:
            self.ids[each["host_id"][:8]] = each["host"]
        by_name = {each["host"]: each["host_id"] for each in hosts}
        self.long_ids = [by_name[name] for name in cluster.names]
        time.sleep(REST_S)

    def _perform(self, cluster):
        self.began = time.time()
        clock = time.monotonic()
        for name in cluster.names:
            self.tell("up", host=name)
        self.tell("whole")
        hosts = Hosts(self.scenario, cluster, self.tell)
        for act in self.scenario["acts"]:
            time.sleep(max(0.0, clock + act["at"] - time.monotonic()))
            self.tell("act", line=str(act["line"]), verb=act["verb"])
            hosts.perform(act)
        time.sleep(max(0.0, clock + self.scenario["length"] - time.monotonic()))
        self.numbers = hosts.jobs
        self.jumps = hosts.jumps

    def _collect(self, cluster):
        for host, name in enumerate(cluster.names):
            log = cluster[name].log
            for line in log.read_text(errors="replace").splitlines() if log.exists() else []:
                self._take(host, line)
        self.told.sort(key=lambda each: each["t"])
        self.timeline = self.directory / "timeline.jsonl"
        self.timeline.write_text("".join(json.dumps(each) + "\n" for each in self.told))
        self.id_file = self.directory / "ids"
        self.id_file.write_text("".join(each + "\n" for each in self.long_ids))

    def _true_time(self, host, said):
        """By the clock of the driver, of what a host with a clock that jumps says."""
        jumps = self.jumps.get(host, [])
        for (begin, off), (end, _) in zip(jumps, jumps[1:] + [(self.scenario["length"], 0)]):
            if begin <= said - off <= end:
                return said - off
        return said

    def _take(self, host, line):
        try:
            told = json.loads(line)
            when = datetime.datetime.fromisoformat(told.pop("time").replace("Z", "+00:00"))
        except (ValueError, KeyError):
            return
        at = self._true_time(host, when.timestamp() - self.began)
        if not 0 <= at <= self.scenario["length"]:
            return
        level = told.pop("level")
        name = told.pop("event", "")
        fields = {key: str(value) for key, value in told.items()}
        if "host" in fields:
            fields["host"] = self.ids.get(fields["host"], fields["host"])
        if "job" in fields:
            fields["job"] = self.numbers.get(fields["job"], fields["job"])
        self.told.append({"t": at, "host": host, "name": name,
                          "level": "warn" if level in ("warning", "error") else "info",
                          "fields": fields})
