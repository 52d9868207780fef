"""Each step by which a rank becomes its person fails on a real host, one after the other: the calls
of the kernel that deny_call.py lets fail or lie, the name service that hangs, fails or knows nobody,
and a directory that is shut to the person. A rank that starts all the same ignored the step."""

import contextlib
import dataclasses
import errno
import os
import sys
import time

from accounts_lab import LOGIN_HOST, AccountsLab
from cluster import BASE_PORT, Broken
from host_accounts import ALIAS_OF_ROOT, SYSTEM_USER, UNKNOWN, name_of
from lab import ROOT, Lab, run, wait_for

HOST = "b"
ACCOUNT = name_of(1)
DENY = [sys.executable, str(ROOT / "bench" / "drivers" / "deny_call.py")]
#: Numbers of prctl.
CAPBSET_READ, CAPBSET_DROP, SET_NO_NEW_PRIVS, GET_NO_NEW_PRIVS, CAP_AMBIENT = 23, 24, 38, 39, 47
TOLD_S = 40
STARTED_S = 30
NO = errno.EPERM
#: The rank only has to exist.
PROGRAM = "cat /etc/hostname /proc/self/status > $EVIDENCE/$MUSTER_JOB_ID.$RANK.$$"


@dataclasses.dataclass(frozen=True)
class Step:
    """A way in which becoming the person fails, and the words by which the job says so."""

    name: str
    told: str
    denied: tuple = ()  #: As deny_call.py reads it: the agent starts so.
    account: str = ACCOUNT
    cwd: str = "/"
    file: str = ""  #: Of /etc: another thing is there in its place.
    thing: str = ""


def calls_that_fail():
    """Each call that changes the process, and each that the proof asks."""
    fails = [("fchown", "fchown", "rank-0.log"), ("bounding", f"prctl:{CAPBSET_DROP}",
                                                  "drop the bounding set"),
             ("bounding_read", f"prctl:{CAPBSET_READ}", "drop the bounding set"),
             ("ambient", f"prctl:{CAP_AMBIENT}", "clear ambient capabilities"),
             ("setgroups", "setgroups", "setgroups"), ("setresgid", "setresgid", "setresgid"),
             ("setresuid", "setresuid", "setresuid"),
             ("capset", "capset", "drop capabilities"),
             ("no_new_privs", f"prctl:{SET_NO_NEW_PRIVS}", "set no_new_privs")]
    fails += [(f"proof_{name}", call, "the proof of it") for name, call in (
        ("getresuid", "getresuid"), ("getresgid", "getresgid"), ("getgroups", "getgroups"),
        ("capget", "capget"), ("no_new_privs", f"prctl:{GET_NO_NEW_PRIVS}"))]
    return [Step(name, told, (f"{call}={NO}",)) for name, call, told in fails]


def calls_that_lie():
    """They return success and do nothing: the proof must see it. A change of the uid drops
    capabilities by itself, and the end of those drops ambient ones: two that are left alone by
    themselves leave nothing behind, but with securebits."""
    lies = [("bounding", f"prctl:{CAPBSET_DROP}"), ("setgroups", "setgroups"),
            ("setresgid", "setresgid"), ("setresuid", "setresuid"),
            ("no_new_privs", f"prctl:{SET_NO_NEW_PRIVS}"), ("way_back", "setuid")]
    return [*(Step(f"{name}_lies", "the proof of it", (f"{call}=0",)) for name, call in lies),
            Step("capset_lies", "the proof of it", ("--keep-capabilities", "capset=0"))]


def steps_of(directory):
    shut = directory / "shut"
    return [*calls_that_fail(), *calls_that_lie(),
            Step("chdir", "Permission denied", cwd=str(shut)),
            Step("unknown", "unknown on this host", account=name_of(UNKNOWN)),
            Step("alias_of_root", "is root on this host", account=name_of(ALIAS_OF_ROOT)),
            Step("system_user", "is a system user on this host", account=name_of(SYSTEM_USER)),
            Step("passwd_hangs", "did not answer", file="passwd", thing="pipe"),
            Step("group_hangs", "did not answer", file="group", thing="pipe"),
            Step("passwd_fails", "cannot be looked up", file="passwd", thing="unreadable"),
            Step("group_fails", "cannot be looked up", file="group", thing="unreadable"),
            Step("passwd_empty", "unknown on this host", file="passwd", thing="empty")]


class OneHost:
    """A lab of the login host, which alone votes, and of a host of ranks, which starts again for
    each call that is to fail there."""

    def __init__(self, lab):
        self.lab = lab
        self.place = AccountsLab(lab)
        self.denied = ()
        self.things = lab.directory / "things"
        self.things.mkdir()
        (self.things / "empty").touch()
        os.mkfifo(self.things / "pipe")  # Its reader waits for a writer.

    def start_with(self, denied):
        """The host of ranks is one under which these calls fail."""
        if denied == self.denied:
            return
        agent = self.lab[HOST]
        agent.kill_agent()
        self.place.accounts[HOST].wrap(agent, [*DENY, *denied, "--"] if denied else [])
        agent.start()
        self.denied = denied

    @contextlib.contextmanager
    def instead(self, file, thing):
        """On the host of ranks, /etc/`file` is that thing."""
        if not file:
            yield
            return
        pid = self.lab[HOST].process.pid
        inside = ["nsenter", "--mount", "--target", str(pid)]
        # The first byte of a process's memory is an input/output error.
        source = f"/proc/{pid}/mem" if thing == "unreadable" else str(self.things / thing)
        run(*inside, "mount", "--bind", source, f"/etc/{file}")
        try:
            yield
        finally:
            run(*inside, "umount", f"/etc/{file}")

    def told(self, job):
        """All that is said of a job."""
        agent = self.lab[LOGIN_HOST]
        return agent.cli("why", str(job))[1] + agent.cli("show", str(job))[1]

    def starts(self):
        """A job of the person runs where nothing fails; or the search is blind."""
        self.start_with(())
        job = self.place.submit(ACCOUNT, 1, PROGRAM)
        wait_for("a rank without a fault", lambda: self.place.written_by(job), STARTED_S)

    def ignores(self, step):
        """Whether a rank started although the step failed."""
        self.start_with(step.denied)
        with self.instead(step.file, step.thing):
            job = self.place.submit(step.account, 1, PROGRAM, step.cwd)
            end = time.monotonic() + TOLD_S
            while step.told not in self.told(job):
                if self.place.written_by(job):
                    return True
                if time.monotonic() > end:
                    raise Broken(f"{step.name}: the job does not say {step.told!r}: "
                                 f"{self.told(job)}")
                time.sleep(0.1)
            self.lab[LOGIN_HOST].cli("cancel", str(job))
            wait_for(f"the end of the job of {step.name}", lambda: self.lab[LOGIN_HOST].ask(
                "show", str(job))["job"]["state"] in ("failed", "cancelled"), STARTED_S)
            return bool(self.place.written_by(job))


def without_a_vote(lab):
    """The host of ranks joins by a ticket that lets it vote nowhere: while it starts again, the
    other one leads."""
    plain = lab.ticket_of

    def ticket_of(name):
        path = lab.directory / "plain.ticket"
        if name != HOST:
            return plain(name)
        if not path.exists():
            line = wait_for("a ticket", lambda: lab[LOGIN_HOST].cli("ticket")[1], 20)
            path.touch(mode=0o600)
            path.write_text(line)
        return path

    lab.ticket_of = ticket_of


def try_all(most=0):
    """(steps that were ignored, steps that failed); with `most`, of so many."""
    with Lab(LOGIN_HOST + HOST, base_port=BASE_PORT, expect=1, gpus="sim:2xH100") as lab:
        without_a_vote(lab)
        one = OneHost(lab)
        (lab.directory / "shut").mkdir(mode=0o700)
        one.place.start()
        one.starts()
        steps = steps_of(lab.directory)
        # Of a few, some of each kind: neighbours are alike.
        chosen = steps[::-(-len(steps) // most)] if most else steps
        ignored = 0
        for step in chosen:
            is_ignored = one.ignores(step)
            ignored += is_ignored
            print(f"# {step.name}: {'IGNORED' if is_ignored else 'no rank'}", flush=True)
        one.starts()
    return ignored, len(chosen)
