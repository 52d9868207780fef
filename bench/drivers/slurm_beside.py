"""A slurmctld in the same place, for comparison, with slurmrestd and munged of its own. Its jobs
are pending in a partition that is down, and it has no slurmd."""

import json
import os
import pathlib
import shutil
import socket
import subprocess
import threading

import lab as lab_module
from cluster import Broken
from web_client import ENDED, Reader, answers, request_bytes

PROGRAMS = ("munged", "slurmctld", "slurmrestd", "squeue")
PATH = os.environ["PATH"] + ":/usr/sbin:/usr/local/sbin"
BASE_PORT = 8950
API_NAME = "v0.0.38"  #: The newest of Slurm 22.05.
API = f"/slurm/{API_NAME}"
START_S = 30
CALL_S = 120  #: slurmctld answers late while it looks through a long queue.
SUBMITTERS = 2
#: How many lines of a log tell why a program ended.
LAST_LINES = 3
CONFIGURATION = """
ClusterName=beside
SlurmctldHost=localhost(127.0.0.1)
SlurmctldPort={port}
SlurmdPort={slurmd}
CommunicationParameters=NoCtldInAddrAny
AuthType=auth/munge
AuthInfo=socket={place}/munge.sock
CredType=cred/munge
SlurmUser=root
StateSaveLocation={place}/state
SlurmctldPidFile={place}/slurmctld.pid
SlurmdTimeout=0
MessageTimeout=100
SchedulerParameters=defer
MaxJobCount=100000
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/none
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SelectType=select/cons_tres
NodeName=h[0-2] NodeAddr=127.0.0.1 CPUs=64 State=UNKNOWN
PartitionName=all Nodes=h[0-2] Default=YES MaxTime=INFINITE State=DOWN
"""
JOB = {"script": "#!/bin/sh\nsleep 100000\n",
       "job": {"name": "waits", "nodes": 1, "tasks": 1, "current_working_directory": "/",
               "environment": {"PATH": "/bin"}, "standard_output": "/dev/null"}}


def lacking():
    """The programs of Slurm that this machine has not."""
    return [name for name in PROGRAMS if shutil.which(name, path=PATH) is None]


class RestLink:
    """A connection to slurmrestd that is kept, and dialled again behind an answer that ends it.
    To `answers()` it is a door."""

    def __init__(self, path):
        self.path = path
        self._link = None
        self._reader = None

    def proof(self):
        return []

    def connect(self, *_):
        link = socket.socket(socket.AF_UNIX)
        try:
            link.settimeout(CALL_S)
            link.connect(self.path)
        except BaseException:
            link.close()
            raise
        return link

    def request(self, method, target, body=None):
        """An Answer, or nothing."""
        if self._link is None:
            self._link = self.connect()
            self._reader = Reader(self._link)
        fields = [("content-type", "application/json")] if body is not None else []
        content = json.dumps(body).encode() if body is not None else b""
        try:
            self._link.sendall(request_bytes(method, target, fields, content))
        except ENDED:
            pass  # It may have answered before it had all.
        answer = self._reader.answer(method)
        if answer is None or answer.closes:
            self.close()
        return answer

    def close(self):
        if self._link is not None:
            self._link.close()
            self._link = None


class Slurm:
    """munged, slurmctld and slurmrestd; all that they write is in one folder. A context manager."""

    def __init__(self, place):
        self.place = pathlib.Path(place)
        self.processes = {}
        self.environment = {**os.environ, "PATH": PATH,
                            "SLURM_CONF": str(self.place / "slurm.conf"),
                            "SLURMRESTD_SECURITY": "disable_user_check"}

    def __enter__(self):
        try:
            self._start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_):
        self.stop()

    def _start(self):
        place = self.place
        (place / "state").mkdir(parents=True)
        port = lab_module.free_ports(BASE_PORT, 2)
        (place / "slurm.conf").write_text(
            CONFIGURATION.format(port=port, slurmd=port + 1, place=place))
        key = place / "munge.key"
        key.touch(mode=0o600)
        key.write_bytes(os.urandom(1024))
        key.chmod(0o400)
        self._run("munged", "--foreground", "--force", f"--socket={place}/munge.sock",
                  f"--key-file={key}", f"--log-file={place}/munged.log",
                  f"--pid-file={place}/munged.pid", f"--seed-file={place}/munge.seed")
        self._await("munged", (place / "munge.sock").exists)
        self._run("slurmctld", "-D")
        self._await("slurmctld", self._is_listed)
        self._run("slurmrestd", "-a", "rest_auth/local", "-s", f"openapi/{API_NAME}", "-t",
                  str(SUBMITTERS), f"unix:{place}/rest.sock")
        self._await("slurmrestd", lambda: answers(self.link(), f"{API}/ping"))

    def _run(self, name, *arguments):
        with open(self.place / f"{name}.out", "ab") as out:
            self.processes[name] = subprocess.Popen(
                [name, *arguments], stdout=out, stderr=out, stdin=subprocess.DEVNULL,
                env=self.environment, cwd=self.place, executable=shutil.which(name, path=PATH))

    def _await(self, name, is_up):
        def is_up_or_ended():
            self.check()
            return is_up()
        lab_module.wait_for(f"{name} answers", is_up_or_ended, START_S)

    def check(self):
        """Broken with the last words of a program that ended."""
        for name, process in self.processes.items():
            if process.poll() is not None:
                words = (self.place / f"{name}.out").read_text(errors="replace").splitlines()
                raise Broken(f"{name} ended: {' / '.join(words[-LAST_LINES:])}")

    def _is_listed(self):
        return self._squeue("-h").returncode == 0

    def _squeue(self, *arguments):
        try:
            return subprocess.run([shutil.which("squeue", path=PATH), *arguments],
                                  capture_output=True, env=self.environment, timeout=CALL_S,
                                  stdin=subprocess.DEVNULL)
        except subprocess.TimeoutExpired:
            raise Broken(f"squeue {' '.join(arguments)} does not end") from None

    def squeue(self, *arguments):
        """What it prints."""
        done = self._squeue(*arguments)
        if done.returncode != 0:
            raise Broken(f"squeue: {done.stderr.decode(errors='replace').strip()}")
        return done.stdout

    def link(self):
        return RestLink(str(self.place / "rest.sock"))

    def pid(self, name):
        return self.processes[name].pid

    def submit(self, count):
        """So many jobs, each on its own."""
        wrong = []

        def work(share):
            link = self.link()
            try:
                for _ in range(share):
                    answer = link.request("POST", f"{API}/job/submit", JOB)
                    if answer is None or answer.status != 200 or wrong:
                        wrong.append(answer.text() if answer else "no answer")
                        return
            except OSError as error:
                wrong.append(repr(error))
            finally:
                link.close()

        threads = [threading.Thread(target=work, daemon=True, args=(
            count // SUBMITTERS + (turn < count % SUBMITTERS),)) for turn in range(SUBMITTERS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if wrong:
            self.check()
            raise Broken(f"slurmrestd takes no job: {wrong[0][:300]}")

    def stop(self):
        for process in reversed(self.processes.values()):
            process.kill()
            process.wait()
