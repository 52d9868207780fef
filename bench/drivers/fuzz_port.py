"""Hostile bytes at the port of one agent that leads a quorum: of strangers, and of a member."""

import os
import random
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import time
import pathlib

import cluster
from cluster import Broken, figure
from lab import MUSTER, wait_for
from system import rss_mb

FUZZ = cluster.BUILD / "bench" / "fuzz_port"
PORT = cluster.BASE_PORT + 40
WARM_UP = 500
GREETING = b"\xff" + bytes(8) + b"\x7f\x03\x01" + b"NULL".ljust(20, b"\0") + bytes(32)
READY_BODY = (b"\x05READY" + b"\x0bSocket-Type" + struct.pack(">I", 6) + b"DEALER" +
              b"\x08Identity" + struct.pack(">I", 0))
READY = b"\x04" + bytes([len(READY_BODY)]) + READY_BODY


def raw_bytes(rng):
    """One connection's worth: no ZMTP at all, half of it, or a handshake and broken frames."""
    noise = rng.randbytes(rng.randrange(1, 4000))
    kind = rng.randrange(6)
    if kind == 0:
        return noise
    if kind == 1:
        return GREETING[:rng.randrange(1, len(GREETING))]
    if kind == 2:
        return GREETING + noise
    if kind == 3:  # A frame that claims to be huge, and is not.
        return GREETING + READY + b"\x02" + struct.pack(">Q", rng.choice(
            [1 << 20, (1 << 20) + 1, 1 << 40, (1 << 63) - 1, (1 << 64) - 1])) + noise
    if kind == 4:  # Frames without end.
        return GREETING + READY + b"\x01\x01a" * rng.randrange(1, 3000)
    ready = bytearray(READY)
    ready[rng.randrange(len(ready))] = rng.randrange(256)
    return GREETING + bytes(ready) + noise


def throw(rng, count):
    """Returns how many of these connections were refused."""
    refused = 0
    for _ in range(count):
        try:
            with socket.create_connection(("127.0.0.1", PORT), timeout=2) as link:
                link.settimeout(0.005)
                link.sendall(raw_bytes(rng))
                link.recv(4096)
        except ConnectionRefusedError:
            refused += 1
        except OSError:
            pass
    return refused


class Target:
    """One agent, alone, founding a cluster of one."""

    def __init__(self, directory):
        self.log = open(directory / "agent.log", "ab")
        self.socket = str(directory / "data" / "agent.sock")
        self.ticket = directory / "ticket"
        self.environment = dict(os.environ, MUSTER_DATA_DIR=str(directory / "data"),
                                MUSTER_RUNTIME_DIR=str(directory / "run"),
                                MUSTER_SHARED_USER="true")
        self.process = subprocess.Popen(
            [str(MUSTER), "agent", "--name", "target", "--listen", f"127.0.0.1:{PORT}",
             "--data-dir", str(directory / "data"), "--gpus", "sim:8xH100"],
            stdout=self.log, stderr=self.log, stdin=subprocess.DEVNULL, start_new_session=True,
            env=self.environment)

    def leads(self):
        subprocess.run([str(MUSTER), "init"], env=self.environment, capture_output=True)
        done = subprocess.run([str(MUSTER), "quorum"], env=self.environment, capture_output=True,
                              text=True)
        return done.returncode == 0 and "leader" in done.stdout

    def is_running(self):
        return self.process.poll() is None

    def end(self):
        if self.is_running():
            self.process.send_signal(signal.SIGTERM)
            self.process.wait()
        self.log.close()


def send_messages(target, count, seed):
    made = subprocess.run([str(MUSTER), "ticket"], env=target.environment, capture_output=True,
                          text=True, check=True)
    target.ticket.touch(mode=0o600)
    target.ticket.write_text(made.stdout)
    done = subprocess.run([str(FUZZ), f"127.0.0.1:{PORT}", target.socket, str(target.ticket),
                           str(count), str(seed)], capture_output=True, text=True)
    if done.stderr:
        print(f"# {done.stderr.strip()}", flush=True)
    return done.returncode == 0


def fuzz_port(messages=10000, seed=1):
    directory = pathlib.Path(tempfile.mkdtemp(prefix="muster-fuzz-"))
    target = Target(directory)
    try:
        wait_for("the agent leads", target.leads, 20)
        # Whatever the first use of each path allocates once is not growth.
        answered = send_messages(target, WARM_UP, seed)
        throw(random.Random(seed), WARM_UP // 5)
        time.sleep(1)
        before = rss_mb(target.process.pid)
        answered = answered and send_messages(target, messages, seed + 1)
        refused = throw(random.Random(seed + 1), messages // 10)
        time.sleep(2)
        crashes = 0 if target.is_running() else 1
        if target.is_running():
            figure("fuzz_growth", rss_mb(target.process.pid) - before, "MB")
        figure("fuzz_messages", messages + messages // 10, "count")
        figure("fuzz_crashes", crashes, "count")
        if crashes or refused or not answered or not target.leads():
            raise Broken(f"exit {target.process.poll()}, {refused} refused; see {directory}")
    finally:
        target.end()
    shutil.rmtree(directory)
