"""A real agent with grants on GPUs whose driver fails: one GPU hangs, one is lost, and then no call
of the library comes back, not even killed. Ranks and holds are untouched over it."""

import os
import pathlib
import signal
import time

import cluster
import escape_host
from cluster import Broken, figure
from fake_gpus import LIBRARY, FakeGpus
from lab import Lab, wait_for
from silent_folder import DEVICE_NUMBER, SilentFolder, why_not

GPUS = escape_host.GPUS
HOLD_S = 10  #: A rank whose host is not renewed for so long is ended.
WATCHED_S = HOLD_S + 3  #: Of each fault.
PATIENCE_S = 60
PROBERS_MAX = 3  #: agent/hardware/probe_plan.h: abandoned_max. One for events comes on top.
GRANTS = (2, 1)  #: Their GPUs.


class Ranks:
    """The ranks of jobs that run for ever; which of them something became of."""

    def __init__(self, agent):
        self.agent = agent
        self.jobs = {}
        self.touched = set()

    def start(self, gpus):
        # The quorum knows the GPUs a moment after their host does.
        answer = wait_for(f"a submit of {gpus} GPUs",
                          lambda: self.agent.ask("submit", "--gpus", str(gpus), "--isolation",
                                                 f"{HOLD_S}s", "--", "sleep", "100000"),
                          PATIENCE_S)
        number = str(answer["job_id"])
        wait_for(f"the ranks of job {number}",
                 lambda: len(self.agent.ranks_of(number)) == gpus, PATIENCE_S)
        self.jobs[number] = self.agent.ranks_of(number)

    def look(self):
        for number, ranks in self.jobs.items():
            answer = self.agent.ask("show", number)
            now = self.agent.ranks_of(number)
            if answer and (answer["job"]["state"] != "running" or len(answer["attempts"]) != 1):
                self.touched |= set(ranks)
            self.touched |= {pid for pid, began in ranks.items() if now.get(pid) != began}

    def watch(self, seconds, also=lambda: None):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.look()
            also()
            time.sleep(0.2)

    def notices_one(self):
        """The control: a rank that is killed counts."""
        os.kill(next(iter(next(iter(self.jobs.values())))), signal.SIGKILL)
        self.watch(1)
        return bool(self.touched)

    def count(self):
        return sum(map(len, self.jobs.values()))


def probers_of(agent):
    """{pid: state} of the children of the agent that may ask the driver."""
    found = {}
    for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            words = path.read_text().rpartition(")")[2].split()
            is_prober = b"\0probe\0" in (path.parent / "cmdline").read_bytes() or words[0] == "D"
        except OSError:
            continue
        if is_prober and int(words[1]) == agent.process.pid:
            found[int(path.parent.name)] = words[0]
    return found


def gpus_of(agent):
    """Those that are well."""
    hosts = (agent.ask("hosts") or {"hosts": []})["hosts"]
    return hosts[0]["gpus_healthy"] if hosts else 0


def is_cordoned(agent):
    """The leader gives it no job, and says why."""
    _, out, err = agent.cli("submit", "--dry-run", "--gpus", "1", "--", "true")
    return "hang and cannot be killed" in out + err


def is_told(agent, event):
    return f"event={event}" in agent.log.read_text(errors="replace")


def seconds_until(what, condition):
    began = time.monotonic()
    wait_for(what, condition, PATIENCE_S)
    return time.monotonic() - began


def stuck(agent, ranks, folder, watched):
    """No call comes back, and no prober can be killed."""
    most = 0

    def count():
        nonlocal most
        waiting = [pid for pid, state in probers_of(agent).items() if state == "D"]
        most = max(most, len(waiting))

    with SilentFolder(folder) as silent:
        figure("stuck_told_s", seconds_until(
            "an agent that says that the driver is stuck",
            lambda: count() or is_told(agent, "driver_stuck")), "s")
        wait_for("a cordon", lambda: count() or is_cordoned(agent), PATIENCE_S)
        ranks.watch(watched, count)
        waiting = set(probers_of(agent))
        if not waiting or not is_cordoned(agent):
            raise Broken(f"the probers {waiting} are stuck, and the host is not kept from jobs")
        silent.end()
        figure("stuck_gone_s", seconds_until(
            "an end of the probers that were stuck",
            lambda: not any(pathlib.Path(f"/proc/{pid}").exists() for pid in waiting)), "s")
    wait_for("an answer", lambda: is_told(agent, "driver_not_stuck"), PATIENCE_S)
    if not is_cordoned(agent):
        raise Broken("a driver that held its callers is trusted again without a boot")
    ranks.look()
    figure("stuck_probers", most, "count")
    if most > PROBERS_MAX + 1:
        raise Broken(f"{most} probers hang at once")


def ranks_touched(watched=WATCHED_S):
    """Ranks of which something became over the faults, each watched for so many seconds."""
    if os.geteuid() != 0:
        print("# ranks_touched: left out, only root makes device nodes")
        return
    why = why_not()
    with Lab("a", base_port=cluster.BASE_PORT, expect=1) as lab:
        lab.directory.chmod(0o755)
        (lab.directory / "stage").mkdir()
        escape_host.make_devices(str(lab.directory / "stage"), {} if why else {
            "fuse": DEVICE_NUMBER})
        gpus = FakeGpus(lab.directory / "nvml", GPUS)
        agent = lab["a"]
        agent.flags = {"gpus": f"nvml:{LIBRARY}"}
        agent.environment = {"MUSTER_FAKE_NVML": str(gpus.folder)}
        lab.start()
        wait_for("GPUs", lambda: lab.check_started() and gpus_of(agent) == GPUS, PATIENCE_S)
        ranks = Ranks(agent)
        for count in GRANTS:
            ranks.start(count)
        for minor, fault in enumerate(("hang", "lost")):
            gpus.change(minor, **{fault: 1})
            wait_for(f"one GPU less: {fault}", lambda: gpus_of(agent) < GPUS - minor, PATIENCE_S)
            ranks.watch(watched)
        if why:
            print(f"# probers that cannot be killed: left out, {why}", flush=True)
        else:
            stuck(agent, ranks, gpus.folder, watched)
        figure("ranks_watched", ranks.count(), "count")
        figure("ranks_touched", len(ranks.touched), "count")
        if ranks.touched:
            raise Broken(f"{len(ranks.touched)} ranks did not run on")
        if not ranks.notices_one():
            raise Broken("a rank that is killed is not noticed: the count is blind")
