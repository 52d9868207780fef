"""Three etcd servers in the same place, for comparison: one client's put, and 32 clients' rate.

Clients speak to its JSON gateway over connections that stay open, so each figure holds the cost of
HTTP and of this driver. Left out, with a word, where there is no etcd."""

import base64
import http.client
import os
import shutil
import subprocess
import threading
import time

import lab
from cluster import figure, figures

CLIENTS = 32
SECONDS = 5
VALUE_BYTES = 256  # About a Submit.


class Etcd:
    def __init__(self, binary, directory):
        first = lab.free_ports(8850, 6)
        self.ports = [first + 2 * index for index in range(3)]
        members = ",".join(f"e{p}=http://127.0.0.1:{p + 1}" for p in self.ports)
        self.processes = [subprocess.Popen(
            [binary, "--name", f"e{p}", "--data-dir", f"{directory}/{p}",
             "--listen-client-urls", f"http://127.0.0.1:{p}",
             "--advertise-client-urls", f"http://127.0.0.1:{p}",
             "--listen-peer-urls", f"http://127.0.0.1:{p + 1}",
             "--initial-advertise-peer-urls", f"http://127.0.0.1:{p + 1}",
             "--initial-cluster", members],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for p in self.ports]

    def stop(self):
        for process in self.processes:
            process.kill()
            process.wait()

    def client(self, port):
        return http.client.HTTPConnection("127.0.0.1", port, timeout=10)


def post(client, path, body):
    client.request("POST", path, body)
    answer = client.getresponse()
    data = answer.read()
    if answer.status != 200:
        raise OSError(f"etcd: {answer.status}")
    return data


def put(client, number):
    key = base64.b64encode(b"job%d" % number).decode()
    value = base64.b64encode(os.urandom(VALUE_BYTES)).decode()
    post(client, "/v3/kv/put", f'{{"key":"{key}","value":"{value}"}}')


def is_ready(etcd):
    try:
        put(etcd.client(etcd.ports[0]), 0)
        return True
    except OSError:
        return False


def leader_port(etcd):
    """Its status names the leader and itself by number."""
    for port in etcd.ports:
        text = post(etcd.client(port), "/v3/maintenance/status", "{}").decode()
        words = [part.split(":")[1].strip('"{}') for part in text.split(",")
                 if '"member_id"' in part or '"leader"' in part]
        if len(words) == 2 and words[0] == words[1]:
            return port
    return etcd.ports[0]


def timed_puts(client, count):
    took = []
    for number in range(count):
        began = time.perf_counter()
        put(client, number)
        took.append((time.perf_counter() - began) * 1e3)
    return took


def rate(etcd, port):
    counts = [0] * CLIENTS
    end = time.monotonic() + SECONDS

    def work(index):
        client = etcd.client(port)
        while time.monotonic() < end:
            put(client, index)
            counts[index] += 1

    threads = [threading.Thread(target=work, args=(index,)) for index in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(counts) / SECONDS


def measure(count):
    binary = os.environ.get("MUSTER_ETCD") or shutil.which("etcd")
    if binary is None:
        print("# no etcd here (Debian: etcd-server; or MUSTER_ETCD=path): left out", flush=True)
        return
    with lab.scratch("etcd") as directory:
        etcd = Etcd(binary, directory)
        try:
            lab.wait_for("etcd", lambda: is_ready(etcd), 30)
            port = leader_port(etcd)
            client = etcd.client(port)
            timed_puts(client, 50)
            figures("etcd_commit", timed_puts(client, count), "ms")
            figure("etcd_puts_per_s_32", rate(etcd, port), "1/s")
        finally:
            etcd.stop()
