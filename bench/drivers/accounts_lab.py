"""A lab whose hosts know the same accounts differently; each account submits on the login host."""

import json
import os
import shutil
import subprocess
import time

from cluster import Broken
from host_accounts import HostAccounts
from lab import MUSTER, wait_for

LOGIN_HOST = "l"  #: The first of the lab. Its GPUs are of another type: no rank runs there.
SUBMIT_TRIES = 20
NO_QUORUM = 5  #: Or too many requests in this moment: to be repeated.


class AccountsLab:
    """Makes the hosts of `lab` know accounts differently; logins of its first host submit."""

    def __init__(self, lab):
        self.lab = lab
        lab.directory.chmod(0o711)
        self.evidence = lab.directory / "evidence"
        self.evidence.mkdir()
        self.evidence.chmod(0o1777)
        self.binary = lab.directory / "muster"
        shutil.copy(MUSTER, self.binary)
        self.binary.chmod(0o755)
        self.accounts = {host: HostAccounts(lab.directory, host, place)
                         for place, host in enumerate(lab.names)}
        for host, accounts in self.accounts.items():
            accounts.wrap(lab[host])

    def start(self):
        self.lab[LOGIN_HOST].flags = {"gpus": "sim:1xA100"}
        self.lab.start()
        wait_for("all hosts", lambda: self.lab.check_started() and self._alive() == set(
            self.lab.names), 60)

    def _alive(self):
        answer = self.lab[LOGIN_HOST].ask("hosts") or {"hosts": []}
        return {host["host"] for host in answer["hosts"]
                if host["state"] == "alive" and host["gpus"] > 0}

    def command(self, account, *words):
        """One verb, as that account of the login host says it there."""
        login = self.accounts[LOGIN_HOST].accounts[account]
        environment = {"PATH": os.environ["PATH"], "HOME": login.home,
                       "MUSTER_NODE": str(self.lab.directory / "run" / f"{LOGIN_HOST}.sock")}
        return subprocess.run([str(self.binary), *words], capture_output=True, text=True, cwd="/",
                              env=environment, user=login.uid, group=login.gid, extra_groups=[],
                              timeout=60, stdin=subprocess.DEVNULL)

    def submit(self, account, gpus, program, cwd="/"):
        """The number of the job."""
        for _ in range(SUBMIT_TRIES):
            done = self.command(account, "submit", "--json", "--gpus", str(gpus), "--gpu-type",
                                "H100", "--cwd", cwd, "-e", f"EVIDENCE={self.evidence}", "--", "sh",
                                "-c", program)
            if done.returncode == 0:
                return json.loads(done.stdout)["job_id"]
            if done.returncode != NO_QUORUM:
                break
            time.sleep(0.5)
        raise Broken(f"submit of {account}: exit {done.returncode}: {done.stderr}")

    def written_by(self, job):
        """The files of that job's ranks, whole or not."""
        return list(self.evidence.glob(f"{job}.*"))
