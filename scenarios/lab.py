"""A cluster of real agents on this machine, and the faults one can do to it.

Two kinds of hosts: plain ones share the loopback; with `namespaces=True` each host has a network
namespace of its own on one bridge, so that it can be cut off, and killing it also downs its link.
Everything started here is ended here, by process id.
"""

import contextlib
import faulthandler
import fcntl
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
MUSTER = pathlib.Path(os.environ.get("MUSTER_BINARY", ROOT / "build/release/cli/muster"))


BASE_PORT = 7450
#: For data of labs: ranks write there, and have a /tmp of their own.
PLACE = "/var/tmp"
PORT_STEP = 50
#: A cluster that is not founded by then is not founded at all.
FOUNDING_PATIENCE = 60
#: Of all hosts of all labs, each about each other one.
NEIGHBOURS = 1 << 16


def end_once(number, _):
    """A second signal must not cut the cleaning up short."""
    signal.signal(number, signal.SIG_IGN)
    sys.exit(128 + number)


class Enough(BaseException):
    """A slice of a scenario is over. No error: nobody but the runner catches it."""


def end_after(seconds):
    """Raises Enough in the main thread after so long. 0 = never: a run that has ended calls it so,
    because the signal would kill the interpreter on its way out. On SIGUSR1 it prints where all
    threads are, for a run that does not end."""
    def end(*_):
        raise Enough

    faulthandler.register(signal.SIGUSR1)
    signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, seconds)


class Failure(Exception):
    """A promise that was not kept; the text says which."""


@contextlib.contextmanager
def scratch(name):
    """A folder below build/ that goes again. A program that is ended before its time leaves
    processes of its own behind, which write there for a moment yet."""
    place = tempfile.mkdtemp(prefix=f"muster-{name}-", dir=ROOT / "build")
    try:
        yield place
    finally:
        end = time.monotonic() + 5
        while os.path.exists(place) and time.monotonic() < end:
            shutil.rmtree(place, ignore_errors=True)
            time.sleep(0.05)


def run(*command, check=True):
    done = subprocess.run(command, capture_output=True, text=True)
    if check and done.returncode != 0:
        raise OSError(f"{' '.join(command)}: exit {done.returncode}: {done.stderr.strip()}")
    return done


def can_use_namespaces():
    """Why namespaces cannot be used here, or nothing."""
    if os.geteuid() != 0:
        return "needs root"
    for tool in ("ip", "nft"):
        if shutil.which(tool) is None:
            return f"needs {tool}"
    probe = f"mprobe{os.getpid()}"
    if run("ip", "netns", "add", probe, check=False).returncode != 0:
        return "network namespaces are denied"
    run("ip", "netns", "del", probe, check=False)
    return ""


def descendants_of(is_root):
    """Processes whose command line `is_root` accepts, and everything below them."""
    found, children = set(), {}
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            command = (entry / "cmdline").read_bytes()
            parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
        children.setdefault(parent, []).append(int(entry.name))
        if is_root(command):
            found.add(int(entry.name))
    todo = list(found)
    while todo:
        below = [pid for pid in children.get(todo.pop(), []) if pid not in found]
        found.update(below)
        todo += below
    return sorted(found)


class TakenPorts:
    """Locks of blocks of ports: their agents listen later, and a lab of another process may look for
    ports meanwhile. They last as long as this process."""

    BLOCK = 10  #: Ports.

    def __init__(self):
        self.directory = pathlib.Path(tempfile.gettempdir()) / f"muster-ports-{os.getuid()}"
        self.locks = {}

    def take(self, first, count):
        """False, and no more are taken, when another process holds one of them."""
        blocks = range(first // self.BLOCK, (first + count - 1) // self.BLOCK + 1)
        taken = {}
        self.directory.mkdir(exist_ok=True)
        for block in blocks:
            if block in self.locks:
                continue  # An earlier lab of this process had it; a look at the ports decides.
            lock = open(self.directory / str(block), "w")
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                lock.close()
                for other in taken.values():
                    other.close()
                return False
            taken[block] = lock
        self.locks |= taken
        return True


TAKEN_PORTS = TakenPorts()


def free_ports(start, count):
    """The first port from `start` on, in steps, with `count` ports free on the loopback. No lab of
    another process gets them meanwhile."""
    for base in range(start, start + 20 * PORT_STEP, PORT_STEP):
        if not TAKEN_PORTS.take(base, count):
            continue
        try:
            for port in range(base, base + count):
                with socket.socket() as probe:
                    probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                    probe.bind(("127.0.0.1", port))
        except OSError:
            continue
        return base
    raise Failure(f"no {count} ports in a row are free from {start} on")


def make_room_for_neighbours():
    """All namespaces of a machine share one table of neighbours, of 1,024 by default: two labs of 24
    hosts fill it, and then some hosts reach nobody. It is raised and left so."""
    for name in ("gc_thresh3", "gc_thresh2"):
        limit = pathlib.Path("/proc/sys/net/ipv4/neigh/default") / name
        with contextlib.suppress(OSError):  # A few hosts need no more than there is.
            if int(limit.read_text()) < NEIGHBOURS:
                limit.write_text(f"{NEIGHBOURS}\n")


class Switch:
    """One bridge in a namespace of its own; cuts are nftables rules on it, silent like a cable."""

    def __init__(self, names):
        self.tag = f"m{os.getpid() % 100000}"
        self.space = f"{self.tag}sw"
        self.addresses = {}
        try:
            self._build(names)
        except BaseException:
            self.close()
            raise

    def _build(self, names):
        make_room_for_neighbours()
        run("ip", "netns", "add", self.space)
        self._in("ip", "link", "add", "br0", "type", "bridge")
        self._in("ip", "link", "set", "br0", "up")
        for index, name in enumerate(names):
            self._plug(name, f"10.77.0.{index + 1}")
        self._in("nft", "add table bridge lab")
        self._in("nft", "add set bridge lab cut { type ipv4_addr . ipv4_addr ; }")
        self._in("nft", "add chain bridge lab cables { type filter hook forward priority 0 ; }")
        self._in("nft", "add rule bridge lab cables ip saddr . ip daddr @cut drop")

    def _in(self, *command):
        return run("ip", "netns", "exec", self.space, *command)

    def nft(self, command, check=True):
        """One command to the packet filter of the bridge."""
        return run("ip", "netns", "exec", self.space, "nft", command, check=check)

    def space_of(self, name):
        return f"{self.tag}{name}"

    def _plug(self, name, address):
        space = self.space_of(name)
        self.addresses[name] = address
        run("ip", "netns", "add", space)
        port = f"{self.tag}v{name}"
        run("ip", "link", "add", port, "netns", self.space, "type", "veth", "peer", "name", "eth0",
            "netns", space)
        self._in("ip", "link", "set", port, "master", "br0")
        self._in("ip", "link", "set", port, "up")
        for command in (("link", "set", "lo", "up"),
                        ("addr", "add", f"{address}/24", "dev", "eth0"),
                        ("link", "set", "eth0", "up")):
            run("ip", "netns", "exec", space, "ip", *command)

    def link(self, name, state):
        run("ip", "netns", "exec", self.space_of(name), "ip", "link", "set", "eth0", state)

    def cut(self, left, right):
        pairs = [f"{self.addresses[a]} . {self.addresses[b]}" for a in left for b in right]
        pairs += [f"{self.addresses[b]} . {self.addresses[a]}" for a in left for b in right]
        self._in("nft", "add element bridge lab cut { " + ", ".join(pairs) + " }")

    def cut_one_way(self, sources, targets):
        """Nothing from `sources` reaches `targets`; the other direction stays."""
        pairs = [f"{self.addresses[a]} . {self.addresses[b]}" for a in sources for b in targets]
        self._in("nft", "add element bridge lab cut { " + ", ".join(pairs) + " }")

    def heal(self):
        self._in("nft", "flush set bridge lab cut")

    def pids(self, name):
        text = run("ip", "netns", "pids", self.space_of(name), check=False).stdout
        return [int(pid) for pid in text.split()]

    def close(self):
        for name in self.addresses:
            run("ip", "netns", "del", self.space_of(name), check=False)
        run("ip", "netns", "del", self.space, check=False)


class Agent:
    """One host: its agent's process, its data, and the CLI spoken to it."""

    def __init__(self, lab, name, port):
        self.lab = lab
        self.name = name
        self.port = port
        self.data = lab.directory / name
        self.data.mkdir(exist_ok=True)
        self.process = None
        self.environment = {}
        #: Replaces flags of every start, as in {"gpus": "sim:1xA100"}; None: one without a value.
        self.flags = {}
        self.binary = MUSTER
        self.log = self.data / "agent.log"
        self.address = lab.switch.addresses[name] if lab.switch else "127.0.0.1"

    @property
    def endpoint(self):
        return f"{self.address}:{self.port}"

    def command(self, **changes):
        """What starts this agent; `changes` replaces flags, as in gpus="sim:1xA100"."""
        flags = {"name": self.name, "listen": self.endpoint, "seeds": self.lab.seeds(),
                 "data_dir": str(self.data), "ticket": str(self.lab.ticket_of(self.name)),
                 "gpus": self.lab.gpus, **self.flags, **changes}
        command = [str(self.binary), "agent"]
        for flag, value in flags.items():
            command += ["--" + flag.replace("_", "-")] + [value] * (value is not None)
        return command

    def start(self):
        command = self.command()
        if self.lab.switch:
            command = ["ip", "netns", "exec", self.lab.switch.space_of(self.name)] + command
        log = open(self.log, "ab")
        self.process = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL,
                                        start_new_session=True, cwd=self.lab.directory,
                                        env={**os.environ, **self.lab.own_settings(),
                                             **self.lab.own_links(), **self.environment})
        log.close()
        if self.name == self.lab.names[0]:
            self.lab.found_soon()

    def kill_agent(self):
        """SIGKILL of the agent alone: its supervisors and ranks go on."""
        if self.process and self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()

    def pids(self):
        """Every process of this host: agent, supervisors, ranks."""
        if self.lab.switch:
            return self.lab.switch.pids(self.name)
        data = os.fsencode(self.data) + b"/"
        return descendants_of(lambda command: any(
            word.startswith(data) for word in command.replace(b"\0", b"/\0").split(b"\0")))

    def signal_all(self, number):
        for pid in self.pids():
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                pass

    def kill_host(self):
        """Everything of the host dies at once; with namespaces its link goes down first."""
        if self.lab.switch:
            self.lab.switch.link(self.name, "down")
        self.kill_agent()
        self.signal_all(signal.SIGKILL)

    def ranks_of(self, number):
        """{pid: start time in ticks since boot} of this job's ranks on this host."""
        ranks = {}
        for pid in self.pids():
            try:
                with open(f"/proc/{pid}/environ", "rb") as file:
                    is_rank = f"MUSTER_JOB_ID={number}\0".encode() in b"\0" + file.read()
                if is_rank:
                    stat = pathlib.Path(f"/proc/{pid}/stat").read_text()
                    ranks[pid] = int(stat.rpartition(")")[2].split()[19])
            except OSError:
                pass
        return ranks

    def plug_in(self):
        if self.lab.switch:
            self.lab.switch.link(self.name, "up")

    def cli(self, *arguments, timeout=15):
        """(exit code, stdout, stderr) of one verb spoken to this node, by a user of its host."""
        command = [str(MUSTER), *arguments]
        if self.lab.switch:
            command = ["ip", "netns", "exec", self.lab.switch.space_of(self.name)] + command
        environment = dict(os.environ, MUSTER_DATA_DIR=str(self.data))
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout,
                              env=environment, cwd=ROOT, stdin=subprocess.DEVNULL)
        return done.returncode, done.stdout, done.stderr

    def ask(self, *arguments, timeout=15):
        """The JSON answer of one verb; nothing when it failed."""
        verb, *rest = arguments
        try:
            code, out, _ = self.cli(verb, "--json", *rest, timeout=timeout)
        except subprocess.TimeoutExpired:
            return None
        return json.loads(out) if code == 0 else None

    def is_running(self):
        return self.process is not None and self.process.poll() is None


class Lab:
    """Hosts by name; a context manager that leaves nothing running."""

    def __init__(self, names="abcde", namespaces=False, gpus="sim:8xH100", directory=None,
                 base_port=BASE_PORT, expect=3):
        self.names = list(names)
        self.gpus = gpus
        self.expect = expect
        self.directory = pathlib.Path(directory or tempfile.mkdtemp(prefix="muster-lab-", dir=PLACE))
        self.directory.mkdir(parents=True, exist_ok=True)
        self.keep_data = directory is not None
        self.is_over = False
        self.refused = set()  #: Names of jobs that were told to be surely not accepted.
        self.switch = Switch(self.names) if namespaces else None
        self.founding = None
        first = BASE_PORT if self.switch else free_ports(base_port, 2 * len(self.names))
        self.agents = {
            name: Agent(self, name, first if self.switch else first + 2 * index)
            for index, name in enumerate(self.names)
        }

    def seeds(self):
        return ",".join(self.agents[name].endpoint for name in self.names[:3])

    def own_links(self):
        """The machine's own links to sockets are not for a lab."""
        return {"MUSTER_RUNTIME_DIR": str(self.directory / "run")}

    def own_settings(self):
        """Labs are played as root as well, whose jobs run on agents that share their user alone.
        Their agents share an address, so that one alone would have the port of HTTPS."""
        return {"MUSTER_SHARED_USER": "true", "MUSTER_HTTPS": "off"}

    def ticket_of(self, name):
        """The file that this agent finds a ticket in, when there is one."""
        is_founded = (self.directory / "hosts.ticket").exists()
        is_founder = name in self.names[:self.expect] and not is_founded
        return self.directory / ("founding.ticket" if is_founder else "hosts.ticket")

    def found_soon(self):
        """The first host founds the cluster, once; the others find their tickets in files."""
        if self.founding is None:
            self.founding = threading.Thread(target=self._found, daemon=True)
            self.founding.start()

    def _found(self):
        first = self.agents[self.names[0]]
        made = self._until_done(first, "init", "--expect", str(self.expect))
        if made is None:
            return
        if self.expect > 1:
            self._write_ticket("founding.ticket", made)
        uses = str(10 * len(self.names))
        made = self._until_done(first, "ticket", "--may-vote", "--may-vouch", "--uses", uses,
                                "--ttl", "1d")
        if made is not None:
            self._write_ticket("hosts.ticket", made)

    def _until_done(self, agent, *words):
        """What the verb prints, once it does; nothing when it cannot any more."""
        deadline = time.monotonic() + FOUNDING_PATIENCE
        while time.monotonic() < deadline and not self.is_over:
            try:
                code, out, _ = agent.cli(*words)
            except (subprocess.TimeoutExpired, OSError):
                code, out = 1, ""
            if code == 0:
                return out
            if code == 7:  # A member already: the directory is that of an earlier run.
                return None
            time.sleep(0.05)
        return None

    def _write_ticket(self, name, text):
        path = self.directory / name
        with open(path.with_suffix(".new"), "w", opener=lambda p, f: os.open(p, f, 0o600)) as file:
            file.write(text)
        path.with_suffix(".new").rename(path)

    def __enter__(self):
        # Whoever ends us by TERM leaves nothing running either.
        signal.signal(signal.SIGTERM, end_once)
        return self

    def __exit__(self, kind, value, trace):
        self.stop()
        is_well = kind is None or issubclass(kind, Enough)
        if is_well and not self.keep_data:
            shutil.rmtree(self.directory, ignore_errors=True)
        elif not is_well:
            print(f"# data and logs are kept in {self.directory}")

    def start(self):
        for agent in self.agents.values():
            agent.start()

    def stop(self):
        self.is_over = True
        for agent in self.agents.values():
            agent.signal_all(signal.SIGCONT)
            agent.kill_agent()
            agent.signal_all(signal.SIGKILL)
        if self.switch:
            self.switch.close()
            self.switch = None

    def __getitem__(self, name):
        return self.agents[name]

    def check_started(self):
        """True; Failure with the last words of an agent that ended at once."""
        for agent in self.agents.values():
            if agent.process and not agent.is_running():
                words = agent.log.read_text().strip().rpartition("\n")[2]
                raise Failure(f"agent {agent.name} ended: {words}")
        return True

    def live(self):
        return [agent for agent in self.agents.values() if agent.is_running()]


def wait_for(what, condition, timeout):
    """Polls until `condition()` is true; its value, or Failure naming what was awaited."""
    deadline = time.monotonic() + timeout
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise Failure(f"not within {timeout} s: {what}")
        time.sleep(0.05)


def play(cases, *arguments):
    """Plays each case, a function whose docstring is its promise; how many were broken."""
    broken = 0
    for case in cases:
        began = time.monotonic()
        try:
            case(*arguments)
            print(f"ok      {case.__name__} {time.monotonic() - began:.1f} s", flush=True)
        except Failure as failure:
            broken += 1
            print(f"BROKEN  {case.__name__}: {case.__doc__}\n        {failure}", flush=True)
    return broken
