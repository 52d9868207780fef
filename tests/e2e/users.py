"""An agent that is root runs ranks as the user of their job, for real: a host of another login
vouches for that login, and its job runs on root's host as that login; a job of root does not run.
Each case is a function; its docstring is the promise."""

import os
import pathlib
import pwd
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scenarios"))

from lab import MUSTER, Failure, Lab, free_ports, play, wait_for  # noqa: E402

BASE_PORT = int(os.environ.get("MUSTER_TEST_PORT", "7480"))
SKIPPED = 77
OTHER = "nobody"  #: Every system has it, and no file of ours is open to it.


def why_not():
    """Why ranks cannot become another user here, or nothing."""
    if os.geteuid() != 0:
        return "only root can become another user"
    try:
        other = pwd.getpwnam(OTHER)
    except KeyError:
        return f"there is no user {OTHER}"
    try:
        subprocess.run([str(MUSTER), "version"], user=other.pw_uid, group=other.pw_gid,
                       extra_groups=[], capture_output=True, check=False, cwd="/")
    except PermissionError:
        return f"{OTHER} may not execute {MUSTER}"
    return ""


class OtherHost:
    """A host without GPUs whose agent is of another login; it joins with a ticket of `member`."""

    def __init__(self, lab, member):
        self.login = pwd.getpwnam(OTHER)
        self.data = lab.directory / "other"
        self.data.mkdir(mode=0o700)
        os.chown(self.data, self.login.pw_uid, self.login.pw_gid)
        lab.directory.chmod(0o711)
        self.environment = {"PATH": os.environ["PATH"], "HOME": "/", "MUSTER_DATA_DIR":
                            str(self.data), "MUSTER_RUNTIME_DIR": str(self.data)}
        port = free_ports(BASE_PORT + 20, 2)
        self.process = subprocess.Popen(
            [str(MUSTER), "agent", "--name", "other", "--listen", f"127.0.0.1:{port}",
             "--seeds", member.endpoint], **self.as_login(), stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        code, ticket, err = member.cli("ticket", "--may-vouch")
        if code != 0:
            raise Failure(f"no ticket: {err}")
        wait_for("the other host is a member", lambda: self.cli("join", "-", given=ticket)[0] == 0,
                 30)

    def as_login(self):
        return {"user": self.login.pw_uid, "group": self.login.pw_gid, "extra_groups": [],
                "env": self.environment, "cwd": "/"}

    def cli(self, *arguments, given="", timeout=60):
        done = subprocess.run([str(MUSTER), *arguments], input=given, capture_output=True,
                              text=True, timeout=timeout, check=False, **self.as_login())
        return done.returncode, done.stdout, done.stderr

    def stop(self):
        self.process.kill()
        self.process.wait()


def a_job_of_another_login_runs_as_that_login(_, other):
    """Its ranks have the uid, the groups and the home of the login, and no way back to root."""
    script = "id -u; id -g; id -G; echo $HOME $USER; grep -E 'CapEff|CapBnd|NoNewPrivs' " \
             "/proc/self/status; pwd; echo to the file > /dev/stderr; exit 7"
    code, out, err = other.cli("submit", "--gpus", "1", "--wait", "--cwd", "/", "--", "sh", "-c",
                               script)
    if code != 7:
        raise Failure(f"got {(code, out, err)}")
    _, out, err = other.cli("logs", "1")
    uid, gid = other.login.pw_uid, other.login.pw_gid
    wanted = [str(uid), str(gid), str(gid), f"{other.login.pw_dir} {OTHER}",
              f"CapBnd:\t{0:016x}", f"CapEff:\t{0:016x}", "NoNewPrivs:\t1", "/", "to the file"]
    if sorted(out.splitlines()) != sorted(wanted):
        raise Failure(f"got {(out, err)}")


def a_directory_that_is_shut_to_the_login_is_told(agent, other):
    """The rank enters its directory as the login, not as root; the job fails with a sentence."""
    shut = agent.lab.directory / "shut"
    shut.mkdir(mode=0o700)
    code, _, err = other.cli("submit", "--gpus", "1", "--wait", "--cwd", str(shut), "--", "true")
    if code == 0 or "Permission denied" not in err:
        raise Failure(f"got {(code, err)}")


def a_job_of_root_does_not_run(agent, _):
    """It waits, and `why` says that the host refused it, and why."""
    answer = agent.ask("submit", "--gpus", "1", "--", "true")
    number = str(answer["job_id"])
    wait_for("the refusal is told", lambda: "jobs of root do not run" in agent.cli(
        "why", number)[1], 20)
    if agent.ask("show", number)["job"]["state"] != "queued":
        raise Failure("it does not wait")
    agent.cli("cancel", number)


CASES = [a_job_of_another_login_runs_as_that_login, a_directory_that_is_shut_to_the_login_is_told,
         a_job_of_root_does_not_run]


def main():
    missing = why_not()
    if missing:
        print(f"skipped: {missing}", flush=True)
        return 1 if os.environ.get("MUSTER_NO_SKIP") == "1" else SKIPPED
    with Lab("u", base_port=BASE_PORT, expect=1, gpus="sim:2xH100") as lab:
        agent = lab["u"]
        agent.environment = {"MUSTER_SHARED_USER": "false"}
        lab.start()
        wait_for("a leader", lambda: (agent.ask("quorum") or {}).get("leader"), 15)
        other = OtherHost(lab, agent)
        try:
            return 1 if play(CASES, agent, other) else 0
        finally:
            other.stop()


if __name__ == "__main__":
    sys.exit(main())
