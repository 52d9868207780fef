"""An agent on a host with all controllers of control groups: what it says of itself, what the files
of a grant's group hold while its rank runs, and what is left of groups. Played in a guest of `vm`,
as root.

    vm_held.py"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[2] / "scenarios")]

import json  # noqa: E402

from lab import MUSTER, Agent, Failure, Lab, wait_for  # noqa: E402

LOGIN, UID, GID = "games", 5, 60
MEMORY_MB = 64
HELD = "kernel: memory, cpus, pids, devices; room: files"
PATIENCE_S = 120
GROUPS = pathlib.Path("/sys/fs/cgroup")
TREE = GROUPS / "muster"
AS_LOGIN = ("setpriv", "--reuid", str(UID), "--regid", str(GID), "--clear-groups")
#: Of a grant, in the words of its agent.
PLAN = re.compile(r"memory (\d+) MiB, by control group; processors ([\d,-]+), by control group; "
                  r"processes (\d+), by control group; devices by control group")


def content(path):
    return path.read_text().strip() if path.exists() else None


class Host:
    """A host of one agent, whose ranks are a login's."""

    def __init__(self, lab):
        self.lab = lab
        self.agent = lab["a"]
        self.broken = []
        lab.directory.chmod(0o755)
        self.binary = lab.directory / "muster"
        shutil.copy(MUSTER, self.binary)
        self.agent.environment = {"MUSTER_SHARED_USER": "false",
                                  "MUSTER_SYSTEM_USERS_MAY_RUN": LOGIN}

    def check(self, what, is_right, words):
        print(f"# {'ok' if is_right else 'BROKEN'}: {what}: {words}", flush=True)
        self.broken += [] if is_right else [what]

    def begin(self):
        self.lab.start()
        wait_for("the host", lambda: self.lab.check_started() and any(
            host["gpus"] for host in (self.agent.ask("hosts") or {"hosts": []})["hosts"]),
                 PATIENCE_S)

    def submit(self, program, *options):
        door = self.lab.directory / "run" / "a.sock"
        done = subprocess.run(
            [str(self.binary), "submit", "--json", "--mem", f"{MEMORY_MB}M", "--cpus", "1",
             "--gpus", "1", *options, "--", "sh", "-c", program], capture_output=True, text=True,
            cwd="/", env={"PATH": os.environ["PATH"], "HOME": "/", "USER": LOGIN,
                          "MUSTER_NODE": str(door)},
            user=UID, group=GID, extra_groups=[], stdin=subprocess.DEVNULL, timeout=60)
        if done.returncode != 0:
            raise Failure(f"submit: exit {done.returncode}: {done.stderr}")
        return str(json.loads(done.stdout)["job_id"])

    def job(self, number):
        return self.agent.ask("show", number) or {"job": {"state": ""}, "attempts": []}

    def token(self, number):
        attempts = self.job(number)["attempts"]
        return attempts[-1]["token"] if attempts else ""

    def running(self, number):
        """The token and the process of its one rank."""
        ranks = wait_for(f"the rank of job {number}", lambda: self.agent.ranks_of(number),
                         PATIENCE_S)
        return self.token(number), next(iter(ranks))

    def groups_of(self, token):
        return [path for path in GROUPS.glob(f"**/{token}") if path.is_dir()]

    def said_of(self, token):
        """The words of the log about what holds that grant."""
        for line in self.agent.log.read_text(errors="replace").splitlines():
            if "ranks_of_grant_are_held" in line and token in line:
                return line
        return ""


def look_at_grant(host, token, rank):
    """The files of its group beside what its agent planned."""
    said = host.said_of(token)
    plan = PLAN.search(said)
    host.check("the plan is by control group", plan is not None, said[-200:])
    groups = host.groups_of(token)
    host.check("the grant has one group", len(groups) == 1, groups)
    if plan is None or len(groups) != 1:
        return
    ranks = groups[0] / "ranks"
    wanted = {"memory.max": str(int(plan[1]) << 20), "memory.oom.group": "1",
              "pids.max": plan[3], "cpuset.cpus": plan[2], "cpuset.cpus.effective": plan[2]}
    if (ranks / "memory.swap.max").exists():
        wanted["memory.swap.max"] = "0"
    for name, value in wanted.items():
        host.check(name, content(ranks / name) == value, f"{content(ranks / name)}, not {value}")
    inside = content(ranks / "cgroup.procs").split()
    host.check("the rank is in it", str(rank) in inside, f"{rank} in {inside}")
    keepers = content(groups[0] / "supervisor" / "cgroup.procs").split()
    host.check("the supervisor is beside it", len(keepers) == 1, keepers)
    status = pathlib.Path(f"/proc/{rank}/status").read_text()
    allowed = re.search(r"Cpus_allowed_list:\t(\S+)", status)[1]
    host.check("the rank's processors", allowed == plan[2], f"{allowed}, not {plan[2]}")
    host.check("its group holds no limit of the supervisor",
               content(groups[0] / "memory.max") == "max", content(groups[0] / "memory.max"))


def look_at_restart(host, number, token, rank):
    """A grant outlives its agent, and the next one finds its group again."""
    began = host.agent.ranks_of(number)
    host.agent.kill_agent()
    host.agent.start()
    wait_for("its agent again", lambda: host.job(number)["job"]["state"] == "running", PATIENCE_S)
    time.sleep(2)
    host.check("the rank lives on", host.agent.ranks_of(number) == began, f"{rank} of {began}")
    host.check("its group is there", len(host.groups_of(token)) == 1, host.groups_of(token))


def gone(host, token):
    """Whether no group of the grant is left after a while."""
    end = time.monotonic() + 20
    while host.groups_of(token) and time.monotonic() < end:
        time.sleep(0.2)
    return not host.groups_of(token)


def ended(host, number):
    wait_for(f"the end of job {number}", lambda: host.job(number)["job"]["state"] in (
        "completed", "failed", "cancelled"), PATIENCE_S)
    return host.job(number)["job"]["state"]


class OwnAgent(Agent):
    """An agent of a login, to which root gave a tree of control groups. `inside`: it runs there."""

    inside = False

    def command(self, **changes):
        join = f"echo 0 > {TREE}/agent/cgroup.procs && " if self.inside else ""
        return ["sh", "-c", f'{join}exec "$@"', "sh", *AS_LOGIN, *super().command(**changes)]

    def cli(self, *arguments, timeout=15):
        done = subprocess.run([*AS_LOGIN, str(self.binary), *arguments], capture_output=True,
                              text=True, timeout=timeout, cwd="/", stdin=subprocess.DEVNULL,
                              env={"PATH": os.environ["PATH"], "HOME": "/", "USER": LOGIN,
                                   "MUSTER_DATA_DIR": str(self.data)})
        return done.returncode, done.stdout, done.stderr


def give_tree():
    """As a service manager delegates: the folder, and the files that move processes."""
    for folder in (TREE, TREE / "agent"):
        folder.mkdir(exist_ok=True)
        for path in (folder, folder / "cgroup.procs", folder / "cgroup.subtree_control"):
            os.chown(path, UID, GID)


def look_at_own(inside):
    """(what of it broke) of an agent without rights."""
    where = "inside" if inside else "outside"
    give_tree()
    with Lab("a", expect=1, gpus="sim:2xH100") as lab:
        agent = lab.agents["a"] = OwnAgent(lab, "a", lab["a"].port)
        agent.inside = inside
        host = Host(lab)
        agent.binary = host.binary
        (lab.directory / "run").mkdir(exist_ok=True)
        for path in (lab.directory, agent.data, lab.directory / "run"):
            os.chown(path, UID, GID)
        host.begin()
        wanted = "kernel: memory, cpus, pids" if inside else "watched: memory, pids"
        shown = wait_for("the host shown", lambda: agent.cli("hosts", "show", "a")[1], PATIENCE_S)
        host.check(f"hosts show of a login's agent {where} its tree", wanted in shown,
                   [line for line in shown.splitlines() if line.startswith("held")])
        code, out, err = agent.cli("submit", "--json", "--mem", "64M", "--gpus", "1", "--", "true")
        host.check(f"its job {where}", code == 0 and ended(
            host, str(json.loads(out)["job_id"])) == "completed", f"{code} {out} {err}")
        return host.broken


def look_at_root():
    """What broke of an agent of root."""
    with Lab("a", expect=1, gpus="sim:2xH100") as lab:
        host = Host(lab)
        host.begin()
        shown = wait_for("the host shown", lambda: host.agent.cli("hosts", "show", "a")[1],
                         PATIENCE_S)
        host.check("hosts show", HELD in shown,
                   [line for line in shown.splitlines() if line.startswith("held")])
        first = host.submit("sleep 600 & wait")
        token, rank = host.running(first)
        look_at_grant(host, token, rank)
        look_at_restart(host, first, token, rank)
        host.agent.cli("cancel", first)
        host.check("it is cancelled", ended(host, first) == "cancelled", host.job(first)["job"])
        host.check("its group is removed", gone(host, token), host.groups_of(token))

        second = host.submit("sleep 15")
        token, rank = host.running(second)
        host.agent.kill_agent()
        wait_for("the end of the rank", lambda: not host.agent.ranks_of(second), PATIENCE_S)
        host.agent.start()
        host.check("a job that ended meanwhile", ended(host, second) == "completed",
                   host.job(second)["job"]["state"])
        host.check("its group is removed, too", gone(host, token), host.groups_of(token))

        third = host.submit("exec python3 -c 'x = b\"x\" * (200 << 20)'")
        state = ended(host, third)
        why = host.agent.cli("why", third)[1]
        host.check("it runs out of memory", state == "failed" and "out of memory: " in why, why)
        left = [path for path in GROUPS.glob("muster/*/*") if path.is_dir()]
        host.check("no group is left", not left, left)
        if host.broken:
            print(host.agent.log.read_text(errors="replace")[-3000:])
        return host.broken


def main():
    broken = look_at_root() + look_at_own(False) + look_at_own(True)
    print(f"figure held_broken {len(broken)} count", flush=True)
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
