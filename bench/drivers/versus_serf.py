"""A hundred agents beside a hundred of serf's: the same machine, the same faults, one way to time
them. Both sides' verdicts are lines of their logs, stamped by who reads them."""

import pathlib
import shutil
import signal
import subprocess
import tempfile
import time

import cluster
import lab
from cluster import Broken, figure
from idle_traffic import SERF_PORT
from log_tail import LogTail
from system import cpu_seconds

FORM_MAX_S = 180
VERDICT_MAX_S = 30
CUT_S = 60
HEAL_MAX_S = 150
PAUSE_S = 8
PAUSED = 8
REST_S = 15


class Muster:
    """Agents, a namespace each, with the verdicts that they log."""

    name = "muster"
    interesting = r'"(?:unreachable|alive_again|host_condemned|job_stopping|leader_elected)"'
    lost = r'"event":"unreachable".*"host":"(\w+)"'
    found = r'"event":"alive_again".*"host":"(\w+)"'
    evicted = r'"event":"(?:host_condemned|job_stopping)"'
    elected = r'"event":"leader_elected","term":"(\d+)"'

    def __init__(self, count):
        self.lab = cluster.make(namespaces=True, names=[f"h{host}" for host in range(count)])
        self.names = self.lab.names
        self.switch = self.lab.switch
        self.logs = {name: self.lab[name].log for name in self.names}
        self.ids = {}
        for agent in self.lab.agents.values():
            agent.environment = {"MUSTER_LOG_JSON": "true"}

    def await_whole(self, seconds):
        cluster.await_whole(self.lab, seconds)
        known = self.lab.live()[0].ask("hosts")["hosts"]
        self.ids = {host["host_id"][:8]: host["host"] for host in known}

    def start(self):
        self.lab.start()
        return time.monotonic()

    def start_one(self, name):
        self.lab[name].plug_in()
        self.lab[name].start()

    def kill(self, name):
        self.lab[name].kill_agent()

    def host_of(self, word):
        return self.ids.get(word, word)

    def pid(self, name):
        return self.lab[name].process.pid

    def silence(self, name):
        self.switch.link(name, "down")
        self.kill(name)

    def load(self):
        """A gang over every host, that must not be touched by a cut."""
        code, _, err = self.lab.live()[0].cli(
            "submit", "--gpus", str(len(self.names)), "--", "sleep", "100000")
        if code != 0:
            raise Broken(f"submit exits {code}: {err}")
        cluster.wait_for("the gang runs", self._is_running, 30)

    def _is_running(self):
        answer = self.lab.live()[0].ask("jobs")
        return answer and answer["jobs"] and answer["jobs"][0]["state"] == "running"

    def stop(self):
        self.lab.stop()
        shutil.rmtree(self.lab.directory, ignore_errors=True)


class Serf:
    """The same hosts with serf in place of the agent, its settings for a LAN."""

    name = "serf"
    interesting = r"EventMember"
    lost = r"EventMemberFailed: (\w+)"
    found = r"EventMemberJoin: (\w+)"
    evicted = lost  # What a scheduler that believes serf would act upon.
    elected = None

    def __init__(self, count):
        if shutil.which("serf") is None:
            lab.run("apt-get", "install", "-y", "--no-install-recommends", "serf", check=False)
        if shutil.which("serf") is None:
            raise Broken("serf could not be installed")
        self.names = [f"h{host}" for host in range(count)]
        self.switch = lab.Switch(self.names)
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="serf-"))
        self.logs = {name: self.directory / f"{name}.log" for name in self.names}
        self.processes = {}

    def start_one(self, name):
        self.switch.link(name, "up")
        address = self.switch.addresses
        joins = []
        for seed in self.names[:3]:
            joins += ["-retry-join", f"{address[seed]}:{SERF_PORT}"]
        with open(self.logs[name], "ab") as log:
            self.processes[name] = subprocess.Popen(
                ["ip", "netns", "exec", self.switch.space_of(name), "serf", "agent", "-node", name,
                 "-bind", f"{address[name]}:{SERF_PORT}", "-profile", "lan", "-retry-interval",
                 "1s", *joins], stdout=log, stderr=log, stdin=subprocess.DEVNULL)

    def start(self):
        for name in self.names:
            self.start_one(name)
        return time.monotonic()

    def await_whole(self, seconds):
        """Each log has named all: what a member of serf has heard of is alive to it."""
        live = [name for name in self.names if self.processes[name].poll() is None]
        cluster.wait_for("every log names all", lambda: all(
            self._alive(name) == len(live) for name in live), seconds)

    def _alive(self, name):
        alive = set()
        for line in self.logs[name].read_text(errors="replace").splitlines():
            if "EventMemberJoin: " in line:
                alive.add(line.split("EventMemberJoin: ")[1].split()[0])
            elif "EventMemberFailed: " in line:
                alive.discard(line.split("EventMemberFailed: ")[1].split()[0])
        return len(alive)

    def kill(self, name):
        self.processes[name].send_signal(signal.SIGKILL)
        self.processes[name].wait()

    def host_of(self, word):
        return word

    def pid(self, name):
        return self.processes[name].pid

    def silence(self, name):
        self.switch.link(name, "down")
        self.kill(name)

    def load(self):
        pass  # It runs nothing.

    def stop(self):
        for process in self.processes.values():
            process.kill()
            process.wait()
        self.switch.close()
        shutil.rmtree(self.directory, ignore_errors=True)


def versus_serf(agents=96, rounds=3, idle=60, serf=1):
    """Every phase on the one side, then on the other."""
    reason = lab.can_use_namespaces()
    if reason:
        raise Broken(f"a cable cannot be cut here: {reason}")
    for kind in [Muster, Serf][:1 + bool(serf)]:
        side = kind(agents)
        try:
            with LogTail(side.logs, side.interesting) as tail:
                tell(side, tail, rounds, idle)
        finally:
            side.stop()


def tell(side, tail, rounds, idle):
    def say(name, value, unit):
        figure(f"{side.name}_{name}", value, unit)

    started = side.start()
    side.await_whole(FORM_MAX_S)
    say("form_s", time.monotonic() - started, "s")
    say("form_cpu_s", cpu_of(side, side.names), "s")
    time.sleep(REST_S)
    say("idle_cores", idle_cores(side, idle), "cores")
    # The voters are the first three; neither they nor the seeds are among the victims.
    for kind, hurt in (("killed", side.kill), ("silent", side.silence)):
        seen = [death(side, tail, side.names[-1 - turn], hurt) for turn in range(rounds)]
        say(f"{kind}_first_s", cluster.quantile([first for first, _ in seen], 0.5), "s")
        say(f"{kind}_all_s", cluster.quantile([last for _, last in seen], 0.5), "s")
        say(f"{kind}_all_s_max", max(last for _, last in seen), "s")
    side.load()
    halves(side, tail, say)
    pause(side, tail, say)


def cpu_of(side, names):
    return sum(cpu_seconds(side.pid(name)) for name in names)


def idle_cores(side, seconds):
    before, began = cpu_of(side, side.names), time.monotonic()
    time.sleep(seconds)
    return (cpu_of(side, side.names) - before) / (time.monotonic() - began)


def death(side, tail, victim, hurt):
    """(first, all): the live hosts that had a verdict about it, and it is whole again after."""
    began = time.monotonic()
    hurt(victim)

    def verdicts():
        first_of = {}
        for when, name, match in tail.since(began, side.lost):
            if side.host_of(match[1]) == victim:
                first_of.setdefault(name, when)
        first_of.pop(victim, None)
        return sorted(first_of.values()) if len(first_of) == len(side.names) - 1 else None

    times = cluster.wait_for(f"all know of {victim}", verdicts, VERDICT_MAX_S)
    side.start_one(victim)
    side.await_whole(HEAL_MAX_S)
    time.sleep(REST_S)
    print(f"# {side.name} {hurt.__name__} {victim} first {times[0]:.2f} all {times[-1]:.2f}",
          flush=True)
    return times[0], times[-1]


def halves(side, tail, say):
    half = len(side.names) // 2
    began = time.monotonic()
    side.switch.cut(side.names[:half], side.names[half:])
    time.sleep(CUT_S)
    healed, cpu = time.monotonic(), cpu_of(side, side.names)
    side.switch.heal()
    # Nobody asks them meanwhile: questions of all to all would cost as much as the heal.
    time.sleep(REST_S)
    say("heal_cpu_s", cpu_of(side, side.names) - cpu, "s")
    time.sleep(CUT_S - REST_S)
    side.await_whole(HEAL_MAX_S)
    back = [when for when, _, _ in tail.since(healed, side.found)]
    say("cut_verdicts", len(tail.since(began, side.lost)), "count")
    say("cut_evicted", len(tail.since(began, side.evicted)), "count")
    say("healed_s", max(back, default=0), "s")
    if side.elected:
        terms = {match[1] for _, _, match in tail.since(healed, side.elected)}
        say("heal_elections", len(terms), "count")


def pause(side, tail, say):
    """A quarter of the way down the list: none of them is a seed."""
    paused = side.names[len(side.names) // 4:][:PAUSED]
    began = time.monotonic()
    for name in paused:
        signal_to(side, name, signal.SIGSTOP)
    time.sleep(PAUSE_S)
    for name in paused:
        signal_to(side, name, signal.SIGCONT)
    time.sleep(2 * VERDICT_MAX_S)
    about = [side.host_of(match[1]) for _, _, match in tail.since(began, side.lost)]
    say("paused_verdicts", len(about), "count")
    say("paused_about_healthy", sum(name not in paused for name in about), "count")


def signal_to(side, name, number):
    subprocess.run(["kill", f"-{int(number)}", str(side.pid(name))], check=True)
