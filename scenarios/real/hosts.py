"""Sets of hosts as scenario files name them, and the verbs that are done to real ones."""

import subprocess
import threading
import time

import lab
from real import clocks


def resolve(terms, scenario, roles, others=(), gangs=lambda name: []):
    """Numbers of hosts, ascending; as resolve() of tests/sim/scenario/parser.h."""
    count = scenario["hosts"]
    chosen = set()
    for term in terms:
        number, kind = term["number"], term["kind"]
        share = (count * number + 50) // 100 if term["percent"] else number
        hosts = {"all": lambda: range(count),
                 "rest": lambda: [host for host in range(count) if host not in others],
                 "host": lambda n=number: [n],
                 "rack": lambda n=number: range(n, count, scenario["racks"]),
                 "first": lambda n=share: range(n),
                 "last": lambda n=share: range(count - n, count),
                 "leader": lambda: roles()["leader"],
                 "voters": lambda: roles()["voters"],
                 "gang": lambda name=term["job"]: gangs(name),
                 "gang_one": lambda name=term["job"]: one_of(gangs(name), roles)}[kind]()
        chosen = chosen - set(hosts) if term["but"] else chosen | set(hosts)
    return sorted(chosen)


def one_of(gang, roles):
    voters = roles()["voters"]
    return ([host for host in gang if host not in voters] or gang)[:1]


class Cables:
    """What is cut between hosts: drops in the bridge that they are all plugged into."""

    def __init__(self, switch, names):
        self.switch = switch
        self.names = names
        self.pairs = set()
        self.lossy = 0

    def _elements(self, pairs):
        address = self.switch.addresses
        return ", ".join(f"{address[self.names[a]]} . {address[self.names[b]]}"
                         for a, b in sorted(pairs))

    def cut(self, who, other, one_way=False, loss=100):
        pairs = {(a, b) for a in who for b in other if a != b}
        if not one_way:
            pairs |= {(b, a) for a, b in pairs}
        if loss < 100:
            if pairs:  # "the leader" is nobody while none leads.
                self._lose(pairs, loss)
            return
        fresh = pairs - self.pairs
        self.pairs |= fresh
        if fresh:
            self.switch.nft("add element bridge lab cut { " + self._elements(fresh) + " }")

    def _lose(self, pairs, loss):
        self.lossy += 1
        name = f"lossy{self.lossy}"
        self.switch.nft(f"add set bridge lab {name} {{ type ipv4_addr . ipv4_addr ; }}")
        self.switch.nft(f"add element bridge lab {name} {{ {self._elements(pairs)} }}")
        self.switch.nft(f"add rule bridge lab cables ip saddr . ip daddr @{name} "
                        f"numgen random mod 100 < {loss} drop")

    def ring(self, who):
        for a, left in enumerate(who):
            far = [right for b, right in enumerate(who) if 1 < abs(a - b) < len(who) - 1]
            self.cut([left], far, one_way=True)

    def heal(self, over=0.0):
        for number in range(1, self.lossy + 1):
            self.switch.nft(f"flush set bridge lab lossy{number}", check=False)
        pairs, self.pairs = self.pairs, set()
        if over == 0:
            self.switch.nft("flush set bridge lab cut")
            return
        hosts = sorted({max(pair) for pair in pairs})
        began = time.monotonic()
        for turn, host in enumerate(hosts):
            time.sleep(max(0.0, began + over * turn / len(hosts) - time.monotonic()))
            mine = {pair for pair in pairs if max(pair) == host}
            self.switch.nft("delete element bridge lab cut { " + self._elements(mine) + " }")


class Hosts:
    """Real hosts, and each verb of a scenario as one method: verb "power off" is power_off()."""

    def __init__(self, scenario, cluster, tell):
        self.scenario = scenario
        self.cluster = cluster
        self.names = cluster.names
        self.cables = Cables(cluster.switch, self.names)
        self.tell = tell
        self.jobs = {}  #: Number of a job -> its name.
        self.jumps = {}  #: Host -> [(from when on, s that its wall clock is off)].
        self.threads = []

    def agent(self, host):
        return self.cluster[self.names[host]]

    def roles(self):
        """Who leads and who votes, as whoever answers first and knows a leader says."""
        for name in self.names:
            if not self.cluster[name].is_running():
                continue
            answer = self.cluster[name].ask("quorum", timeout=5)
            if answer and answer["leader"]:
                return {"leader": [self.names.index(answer["leader"])],
                        "voters": [self.names.index(each["host"]) for each in answer["voters"]]}
        return {"leader": [], "voters": []}

    def gang(self, name):
        """The hosts on which a job runs, as whoever answers first says."""
        number = next((number for number, each in self.jobs.items() if each == name), None)
        for host in self.names if number is not None else []:
            answer = self.cluster[host].ask("show", number, timeout=5)
            if answer:
                return sorted(self.names.index(each) for each in answer["job"]["hosts"])
        return []

    def perform(self, act):
        who = resolve(act["who"], self.scenario, self.roles, (), self.gang)
        other = resolve(act["other"], self.scenario, self.roles, who, self.gang)
        verb = getattr(self, act["verb"].replace(" ", "_"))
        verb(act, who, other)

    def later(self, work, *arguments):
        """Work that takes long never delays the next act."""
        thread = threading.Thread(target=work, args=arguments, daemon=True)
        self.threads.append(thread)
        thread.start()

    def _each(self, who, work):
        """At once, or nearly: one thread a host."""
        threads = [threading.Thread(target=work, args=(host,)) for host in who]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    # Agents and hosts.

    def start(self, _act, who, _other):
        for host in who:
            if not self.agent(host).is_running():
                self.tell("up", host=f"h{host}")
                self.agent(host).start()

    def kill(self, _act, who, _other):
        for host in who:
            self.agent(host).kill_agent()
            self.tell("down", host=f"h{host}")

    def restart(self, act, who, other):
        self.kill(act, who, other)
        self.start(act, who, other)

    def freeze(self, _act, who, _other):
        self._each(who, lambda host: self.agent(host).signal_all(lab.signal.SIGSTOP))

    def thaw(self, _act, who, _other):
        self._each(who, lambda host: self.agent(host).signal_all(lab.signal.SIGCONT))

    def power_off(self, _act, who, _other):
        def off(host):
            self.agent(host).kill_host()
            self.tell("down", host=f"h{host}")
        self._each(who, off)

    def power_on(self, _act, who, _other):
        for host in who:
            self.agent(host).plug_in()
            self.tell("up", host=f"h{host}")
            self.agent(host).start()

    def fill_disk(self, _act, who, _other):
        for host in who:
            path = self.agent(host).data / "filler"
            lab.run("dd", "if=/dev/zero", f"of={path}", "bs=64k", check=False)

    def free_disk(self, _act, who, _other):
        for host in who:
            (self.agent(host).data / "filler").unlink(missing_ok=True)

    def clock_jump(self, act, who, _other):
        for host in who:
            clocks.jump(self.agent(host), act["time"])
            off = self.jumps.setdefault(host, [(0.0, 0.0)])
            off.append((act["at"], off[-1][1] + act["time"]))

    # Cables.

    def cut(self, act, who, other):
        self.cables.cut(who, other, act["one_way"], act["loss"])

    def ring(self, _act, who, _other):
        self.cables.ring(who)

    def heal(self, act, _who, _other):
        if act["length"] > 0:
            self.later(self.cables.heal, act["length"])
        else:
            self.cables.heal()

    def flap(self, act, who, other):
        self.later(self._flap, act, who, other)

    def _flap(self, act, who, other):
        began, turn = time.monotonic(), 0
        while turn * act["time"] < act["length"]:
            time.sleep(max(0.0, began + turn * act["time"] - time.monotonic()))
            if turn % 2 == 0:
                self.cables.cut(who, other)
            else:
                self.cables.heal()
            turn += 1
        if turn % 2 == 1:
            time.sleep(act["time"])
            self.cables.heal()

    # Words to the cluster.

    def door(self):
        """The leader if there is one, else any host whose agent runs."""
        leader = self.roles()["leader"]
        if leader:
            return self.agent(leader[0])
        return self.cluster.live()[0]

    def submit(self, act, _who, _other):
        self.later(self._submit, act)

    def _submit(self, act):
        words = ["submit", "--json", "--name", act["name"], "--gpus", str(act["number"])]
        if act["length"] > 0:
            words += ["--isolation", f"{act['length']:g}s"]
        words += ["--", "sleep", f"{act['time']:g}"]
        try:
            code, out, err = self.door().cli(*words, timeout=60)
        except subprocess.TimeoutExpired:
            code, out, err = 75, "", "no answer"
        if code == 0:
            self.jobs[str(lab.json.loads(out)["job_id"])] = act["name"]
        self.tell("submitted", job=act["name"], code=str(code), said=err.strip())

    def cancel(self, act, _who, _other):
        number = next((job for job, name in self.jobs.items() if name == act["name"]), None)
        if number is not None:
            self.later(self.door().cli, "cancel", number)

    def lead(self, _act, who, _other):
        for host in who:
            self.later(self.door().cli, "quorum", "transfer", self.names[host])
