"""Fifty gangs of one GPU run on five hosts. Every agent in turn is replaced by another binary, once
asked to end and once killed: no rank may be touched and no output torn. Then supervisors are
killed, with the agent alive and with it dead: all their ranks must go, and a GPU is given away
again only when the last of them is gone. Some are kept from going, which a debugger can do, so that
this is not a matter of luck. All GPUs are taken, so the gang waits for the very same one."""

import ctypes
import os
import shutil
import signal
import time

import ranks
import story
from lab import MUSTER, Failure, Lab, wait_for

GANGS = 50
KILLS = 10
HELD = 3  #: Of the kills, in each half.
HELD_S = 8  #: Longer than an agent waits for a supervisor that says nothing.
LINGER_S = 6  #: Longer than a renewal takes: leader and agent agree on every grant.
GONE_WITHIN_S = 5
AGAIN_WITHIN_S = 30
#: Another build to go on as at first, and back from; else it is this one with other bytes.
OTHER = os.environ.get("MUSTER_OTHER_BINARY", "")
OTHER_BUILD = 1

PTRACE_DETACH = 17
PTRACE_SEIZE = 0x4206
PTRACE_O_TRACEEXIT = 0x40
WALL = 0x40000000


def install(lab, number):
    """Another binary under the same name, as a package's upgrade does it."""
    path = lab.directory / "muster"
    fresh = lab.directory / "muster.new"
    shutil.copy2(OTHER if OTHER and number == OTHER_BUILD else MUSTER, fresh)
    with open(fresh, "ab") as file:
        file.write(f"build {number}".encode())
    os.replace(fresh, path)
    for agent in lab.agents.values():
        agent.binary = path


def settled(lab, host):
    wait_for(f"{host.name} alive, one leader", lambda: story.leader_name(lab.live()) and all(
        story.states(agent).get(host.name) == "alive" for agent in lab.live()), 30)


def states(lab):
    """{job: (state, number of its last attempt)} by one node's word."""
    answer = wait_for("the jobs", lambda: lab.live()[0].ask("jobs", "--all"), 20)
    return {job["job_id"]: (job["state"], job["attempt"]) for job in answer["jobs"]}


def fill(lab, count, daemon=False):
    """{job: its ranks} of gangs that run, submitted through all five nodes."""
    agents = lab.live()
    jobs = [ranks.submit(agents[i % len(agents)], 1, daemon=daemon) for i in range(count)]
    each = 2 if daemon else 1
    wait_for(f"{count} gangs", lambda: len(ranks.all_ranks(lab)) == each * count, 60)
    found = ranks.all_ranks(lab)
    return {job: {rank for rank in found if rank.job == job} for job in jobs}


def same_inode(pid, path):
    return os.stat(f"/proc/{pid}/exe").st_ino == os.stat(path).st_ino


def replace(lab, gangs, number, build, names):
    """The agents of these hosts, each in turn, end by this signal and go on as another build; the
    ranks touched by that, on any host."""
    install(lab, build)
    for host in (lab[name] for name in names):
        host.process.send_signal(number)
        host.process.wait(timeout=20)
        time.sleep(0.5)
        host.start()
        settled(lab, host)
        if not same_inode(host.process.pid, host.binary):
            raise Failure(f"the agent of {host.name} is not the new binary")
    time.sleep(LINGER_S)
    gone = sum(not rank.is_alive() for of in gangs.values() for rank in of)
    more = len(ranks.all_ranks(lab)) - sum(len(of) for of in gangs.values()) + gone
    now = states(lab)
    again = sum(now[job] != ("running", 1) for job in gangs)
    print(f"  {signal.Signals(number).name} of {len(names)} agents, then build {build}: {gone} "
          f"ranks gone, {more} new, {again} gangs not running as attempt 1", flush=True)
    return gone + max(0, more) + again


def end_all(lab, gangs):
    """Outputs that are not whole, and gangs that did not complete as their only attempt."""
    for job in gangs:
        ranks.let_end(lab, job, 1)
    wait_for("all gangs completed", lambda: all(
        states(lab)[job][0] == "completed" for job in gangs), 60)
    now = states(lab)
    torn = sum(ranks.broken_outputs(lab, job, 1) for job in gangs)
    again = sum(now[job] != ("completed", 1) for job in gangs)
    return torn, again, ranks.double_runs(lab, dict.fromkeys(gangs, 1))


def play_restarts(lab, count, names, signals=(signal.SIGTERM, signal.SIGKILL)):
    """True when these agents, replaced once for each signal, touched nothing."""
    gangs = fill(lab, count)
    homes = {rank.host for of in gangs.values() for rank in of}
    if not homes.issuperset(names):
        raise Failure(f"{count} gangs run on {sorted(homes)}, none on some of {sorted(names)}")
    touched = sum(replace(lab, gangs, number, OTHER_BUILD + turn, names)
                  for turn, number in enumerate(signals))
    torn, again, double = end_all(lab, gangs)
    print(f"figure restart_gangs_running {count} count")
    print(f"figure restart_gangs_agents_restarted {len(signals) * len(names)} count")
    print(f"figure restart_gangs_ranks_touched {touched + again} count")
    print(f"figure restart_gangs_outputs_torn {torn} count")
    print(f"figure restart_gangs_double_runs {double} count", flush=True)
    return touched + torn + again + double == 0


class Held:
    """A process that its end cannot overtake: the kernel stops it on its way out until let go."""

    libc = ctypes.CDLL(None, use_errno=True)
    libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]

    def __init__(self, rank):
        self.pid = rank.pid
        self._trace(PTRACE_SEIZE, PTRACE_O_TRACEEXIT)

    def _trace(self, request, data):
        if self.libc.ptrace(request, self.pid, None, ctypes.c_void_p(data)) != 0:
            raise Failure(f"cannot trace process {self.pid}: {os.strerror(ctypes.get_errno())}; "
                          "that needs root")

    def let_go(self):
        wait_for(f"process {self.pid} on its way out", lambda: os.waitpid(
            self.pid, WALL | os.WNOHANG)[0], GONE_WITHIN_S)
        self._trace(PTRACE_DETACH, 0)


class Kills:
    """What came of killing supervisors, with the agent alive or dead."""

    def __init__(self, lab, name, with_agent):
        self.lab = lab
        self.name = name
        self.with_agent = with_agent
        self.killed = self.held = self.ranks = self.stayed = self.early = self.elsewhere = 0
        self.gone_s = self.again_s = 0.0

    def one(self, job, group, is_held):
        """Kills the supervisor of this gang, whose ranks are `group`."""
        host = self.lab[next(rank.host for rank in group if rank.host)]
        gpu = next(iter(group)).gpu
        pid = supervisor_of(host, story.job(self.lab, job)["attempts"][-1]["token"])
        if not self.with_agent:
            host.kill_agent()
        held = Held(next(iter(group))) if is_held else None
        os.kill(pid, signal.SIGKILL)
        began = time.monotonic()
        try:
            if held:
                self.watch_held(host, gpu, group, began)
        finally:
            if held:
                held.let_go()
        began = time.monotonic()
        while is_any_alive(group) and time.monotonic() - began < GONE_WITHIN_S:
            self.look(gpu, group)
        self.killed, self.held = self.killed + 1, self.held + is_held
        self.ranks += len(group)
        self.stayed += sum(rank.is_alive() for rank in group)
        self.gone_s = max(self.gone_s, time.monotonic() - began)
        self.await_again(host, job, gpu)

    def watch_held(self, host, gpu, group, began):
        """The rank is on its way out and cannot go: nobody else gets its GPU meanwhile."""
        if not self.with_agent:
            time.sleep(1)
            host.start()
        while time.monotonic() - began < HELD_S:
            self.look(gpu, group)
        if not is_any_alive(group):
            raise Failure("the rank that was held is gone")

    def look(self, gpu, group):
        others = {rank for rank in ranks.all_ranks(self.lab) if rank.gpu == gpu} - group
        pids = {rank.pid for rank in group}
        # A rank whose supervisor is gone is the same rank, with another parent.
        self.early += is_any_alive(group) and any(rank.pid not in pids for rank in others)

    def await_again(self, host, job, gpu):
        began = time.monotonic()
        if not self.with_agent:
            if not host.is_running():
                time.sleep(1)
                host.start()
            settled(self.lab, host)
        new = ranks.await_ranks(self.lab, job, 2, attempt=2, seconds=AGAIN_WITHIN_S)
        self.again_s = max(self.again_s, time.monotonic() - began)
        self.elsewhere += any(rank.gpu != gpu for rank in new)

    def tell(self):
        start = f"figure restart_gangs_{self.name}"
        gone = 100 * (self.ranks - self.stayed) / self.ranks
        print(f"{start}_supervisors_killed {self.killed} count")
        print(f"{start}_ranks_held {self.held} count")
        print(f"{start}_ranks_gone {gone:.1f} %")
        print(f"{start}_gone_max {self.gone_s * 1000:.1f} ms")
        print(f"{start}_gpu_reused_early {self.early} count")
        print(f"{start}_again_on_another_gpu {self.elsewhere} count")
        print(f"{start}_again_max {self.again_s:.2f} s", flush=True)
        return self.stayed == 0 and self.early == 0


def is_any_alive(group):
    return any(rank.is_alive() for rank in group)


def supervisor_of(host, token):
    """Its process, as it wrote it down itself; PID 1 of its ranks' namespace."""
    return int((host.data / "grants" / token / "pid").read_text().split()[0])


def play_kills(lab, count, kills, held):
    """True when so many killed supervisors in each half, the first `held` with a rank that is kept
    from going, left no rank behind and no GPU was given away early."""
    gangs = fill(lab, count, daemon=True)
    jobs = list(gangs)
    good = True
    for name, with_agent, chosen in (("agent_alive", True, jobs[:kills]),
                                     ("agent_dead", False, jobs[-kills:])):
        half = Kills(lab, name, with_agent)
        for number, job in enumerate(chosen):
            half.one(job, gangs[job], is_held=number < held)
        good = half.tell() and good
    bystanders = {job: gangs[job] for job in jobs[kills:-kills]}
    touched = sum(not rank.is_alive() for of in bystanders.values() for rank in of)
    print(f"figure restart_gangs_bystanders_touched {touched} count", flush=True)
    for job in gangs:
        ranks.let_end(lab, job, 1, 2)
    wait_for("all gangs completed", lambda: all(
        states(lab)[job][0] == "completed" for job in gangs), 60)
    double = ranks.double_runs(lab, dict.fromkeys(gangs, 1))
    print(f"figure restart_gangs_kills_double_runs {double} count", flush=True)
    return good and touched == 0 and double == 0


def form(lab, gangs):
    """All agents run, and all GPUs are to be had."""
    install(lab, 0)
    lab.start()
    wait_for("one leader", lambda: lab.check_started() and story.leader_name(lab.live()), 30)
    wait_for("every host registered", lambda: lab["a"].cli(
        "submit", "--wait", "--gpus", str(gangs), "--", "true", timeout=60)[0] == 0, 60)


def lab_for(gangs, base_port):
    """Five hosts with as many GPUs as gangs."""
    hosts = "abcde"
    if gangs % len(hosts) != 0:
        raise Failure(f"--gangs {gangs}: {len(hosts)} hosts share them, so name a multiple of that")
    return Lab(hosts, base_port=base_port, gpus=f"sim:{gangs // len(hosts)}xH100")


def tell(base_port, gangs=GANGS, kills=KILLS, held=HELD):
    """True when no rank was touched by a restart and none outlived its supervisor."""
    with lab_for(gangs, base_port) as lab:
        form(lab, gangs)
        good = play_restarts(lab, gangs, lab.names)
        return play_kills(lab, gangs, kills, held) and good
