"""etcd beside us: three members here, the leader killed, until the next put succeeds.

Spoken to over HTTP as `etcdctl` does over gRPC; the two members left are asked in turn, each try
with a short time limit, so that no client's patience is part of the figure. ETCD_BINARY, else
`etcd`."""

import base64
import http.client
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import time

from cluster import Broken, figures
from lab import free_ports, wait_for

MEMBERS = 3
TRY_S = 0.2
PORT = 23790


class Member:
    def __init__(self, index, first, directory, cluster):
        self.client_port = first + 2 * index
        url = f"http://127.0.0.1:{first + 2 * index}"
        peer = f"http://127.0.0.1:{first + 2 * index + 1}"
        self.command = [
            os.environ.get("ETCD_BINARY", "etcd"), "--name", f"m{index}", "--data-dir",
            str(directory / f"m{index}"), "--listen-client-urls", url, "--advertise-client-urls",
            url, "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
            "--initial-cluster", cluster, "--initial-cluster-state", "new"]
        self.log = directory / f"m{index}.log"
        self.process = None

    def start(self):
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(self.command, stdout=log, stderr=log)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def ask(self, path, body, timeout):
        """The JSON answer, or nothing."""
        link = http.client.HTTPConnection("127.0.0.1", self.client_port, timeout=timeout)
        try:
            link.request("POST", "/v3/" + path, json.dumps(body))
            answer = link.getresponse()
            return json.loads(answer.read()) if answer.status == 200 else None
        except (OSError, http.client.HTTPException, ValueError):
            return None
        finally:
            link.close()

    def leads(self):
        status = self.ask("maintenance/status", {}, 1)
        return bool(status) and status.get("leader") == status["header"]["member_id"]

    def put(self, value, timeout):
        text = base64.b64encode(str(value).encode()).decode()
        return self.ask("kv/put", {"key": base64.b64encode(b"bench").decode(), "value": text},
                        timeout) is not None


def failover(rounds):
    if shutil.which(os.environ.get("ETCD_BINARY", "etcd")) is None:
        raise Broken("there is no etcd here; Debian's package is etcd-server")
    directory = pathlib.Path(tempfile.mkdtemp(prefix="muster-etcd-"))
    first = free_ports(PORT, 2 * MEMBERS)
    names = ",".join(f"m{i}=http://127.0.0.1:{first + 2 * i + 1}" for i in range(MEMBERS))
    members = [Member(i, first, directory, names) for i in range(MEMBERS)]
    took = []
    try:
        for member in members:
            member.start()
        for turn in range(rounds):
            took.append(trial(members, turn))
            print(f"# etcd {turn} next put {took[-1]:.3f} s", flush=True)
    finally:
        for member in members:
            if member.process is not None:
                member.kill()
        shutil.rmtree(directory, ignore_errors=True)
    figures("failover_etcd_kill", took, "s")


def trial(members, turn):
    wait_for("all of etcd", lambda: all(member.put("settled", 2) for member in members), 30)
    leader = wait_for("etcd's leader", lambda: next((m for m in members if m.leads()), None), 10)
    left = [member for member in members if member is not leader]
    time.sleep(1)
    began = time.monotonic()
    leader.kill()
    tries = turn
    while not left[tries % len(left)].put(tries, TRY_S):
        tries += 1
        time.sleep(0.01)
    took = time.monotonic() - began
    leader.start()
    return took
