"""Clients of the web door that take their time: a thousand sockets each that are silent, stop in
half a handshake, drip a head, drip a body, or never read an answer. All must be gone after their
deadlines; meanwhile honest clients and the agent's own work must hardly notice."""

import errno
import json
import multiprocessing
import os
import pathlib
import random
import signal
import socket
import ssl
import threading
import time

from cluster import Broken, figure, quantile
from crowd import busiest, threads_of
from lab import Lab, wait_for
from open_doors import sockets_of
from system import rss_mb
from web_attack import keep_keys
from web_client import (ENDED, SERVER_NAME, WRITER, Door, Reader, answers, dial, give_doors,
                        make_token, request_bytes)

BASE_PORT = 9450
DOOR_PORT = 9850
#: Seconds, as agent/edge/door/http_options.h has them.
HEAD_S, READER_S = 5, 30
#: A reader is looked at each quarter of its deadline, and the machine is busy.
SLACK_S = 12
ADDRESSES = 240
PER_ADDRESS, UNPROVEN = 256, 64
KINDS = ("silent", "half", "head", "body", "reader")
TURN_EACH = 250
OPENING_S = 120
DRIP_S = 2
PROBE_EACH_S = 0.02
HONEST_EACH_S = 0.05
LEAST = 30
#: Answers that nobody reads: together more than the kernel takes of one connection. No more than
#: every fourth reader asks for so many, or all TCP of the machine would lack memory.
PIPELINED = 12
PIPELINES_EACH = 4
TINY_BYTES = 2048
AT_ONCE = 20


class Attackers:
    """All slow sockets, in a process of its own so that its work does not count as ours."""

    def __init__(self, port, root, access, count, again, kinds):
        self.kinds = kinds
        self.port = port
        self.access = access
        self.count = count
        self.again = again
        self.tls = ssl.create_default_context(cafile=root)
        self.links = {}  #: socket -> (kind, when it is fed next)
        self.closed = dict.fromkeys(KINDS, 0)
        self.failed = 0
        self.dialled = 0

    def source(self):
        self.dialled += 1
        return f"127.0.0.{2 + self.dialled % ADDRESSES}"

    def open(self, kind):
        receive = TINY_BYTES if kind == "reader" else 0
        link = dial(self.port, self.source(), receive_bytes=receive)
        try:
            if kind == "half":
                self.begin_handshake(link)
            elif kind != "silent":
                link = self.tls.wrap_socket(link, server_hostname=SERVER_NAME)
                link.sendall(self.first_bytes(kind))
            link.setblocking(False)
        except BaseException:
            link.close()
            raise
        return link

    def begin_handshake(self, link):
        """Half of them send half a first message, the others never answer the door's."""
        sent = ssl.MemoryBIO()
        half = self.tls.wrap_bio(ssl.MemoryBIO(), sent, server_hostname=SERVER_NAME)
        try:
            half.do_handshake()
        except ssl.SSLWantReadError:
            pass
        hello = sent.read()
        link.sendall(hello if self.dialled % 2 else hello[:len(hello) // 2])

    def first_bytes(self, kind):
        proof = [("authorization", f"Bearer {self.access}"), ("muster-client", "x")]
        if kind == "head":
            return b"GET /v1/jobs HTTP/1.1\r\nhost: localhost\r\n"
        if kind == "body":
            return (b"POST /v1/jobs:dry-run HTTP/1.1\r\nhost: localhost\r\nmuster-client: x\r\n"
                    b"content-type: application/json\r\ncontent-length: 100000\r\n\r\n{")
        asked = request_bytes("GET", "/v1/jobs?all=1", proof)
        return asked * (PIPELINED if self.dialled % PIPELINES_EACH == 0 else 1)

    def run(self, pipe):
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        began = time.monotonic()
        for kind in reversed(self.kinds):  # Those with the longest deadlines first.
            for number in range(self.count):
                self.add(kind)
                if number % TURN_EACH == 0:
                    self.turn()
        pipe.send(("up", time.monotonic() - began, self.held()))
        refill = time.monotonic()
        while not pipe.poll():
            self.turn()
            if self.again and time.monotonic() >= refill:
                refill = time.monotonic() + 0.5
                self.refill()
            time.sleep(0.02)
        pipe.recv()
        pipe.send(("end", dict(self.closed), self.held(), self.failed))
        while True:  # The sockets stay open on this side, until we are killed.
            time.sleep(1)

    def add(self, kind):
        try:
            link = self.open(kind)
        except OSError as error:
            self.failed += 1
            if error.errno in (errno.EMFILE, errno.ENFILE):
                raise
            return
        self.links[link] = [kind, time.monotonic() + DRIP_S * random.random()]

    def refill(self):
        """Those that were cut come again, but no more than a twentieth each half second."""
        held = self.held()
        for kind in ("silent", "half", "head"):
            for _ in range(min(self.count - held[kind], self.count // 20)):
                self.add(kind)

    def held(self):
        held = dict.fromkeys(KINDS, 0)
        for kind, _ in self.links.values():
            held[kind] += 1
        return held

    def turn(self):
        """Drips, and notes who was cut. Readers never read: the agent's side tells of those."""
        now = time.monotonic()
        for link, state in list(self.links.items()):
            kind, due = state
            if due > now or kind == "reader":
                continue
            state[1] = now + DRIP_S
            if not self.is_open(link, kind):
                self.closed[kind] += 1
                del self.links[link]
                link.close()

    def is_open(self, link, kind):
        try:
            if kind in ("head", "body"):
                link.send(b"x: y\r\n" if kind == "head" else b" ")
            # A half handshake has the door's words to read.
            return socket.socket.recv(link, 1 << 16) != b""
        except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
            return True
        except (OSError, ValueError):
            return False


class Asker(threading.Thread):
    """Asks again and again and keeps the milliseconds of each answer; a context manager."""

    def __init__(self, each_s, ask):
        super().__init__(daemon=True)
        self.each_s = each_s
        self.ask = ask
        self.took = []
        self.lost = 0
        self._over = threading.Event()

    def run(self):
        due = time.monotonic()
        while not self._over.is_set():
            began = time.monotonic()
            try:
                is_good = self.ask()
            except OSError as error:
                is_good = False
                print(f"# {self.ask.__name__}: {error!r}", flush=True)
            took = 1000 * (time.monotonic() - began)
            self.took += [took] if is_good else []
            self.lost += not is_good
            due = max(due + self.each_s, time.monotonic())
            self._over.wait(max(0.0, due - time.monotonic()))

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self._over.set()
        self.join()


class Victim:
    """The agent a, whose door is attacked, and b, through which its loop is asked."""

    def __init__(self, lab, door):
        self.lab = lab
        self.agent = lab["a"]
        self.door = door
        self.through = Door(lab["b"])
        self.pid = self.agent.process.pid

    def honest(self):
        """A new connection with a GET that its Node answers."""
        with self.door.connect() as link:
            link.sendall(request_bytes("GET", "/v1/whoami", self.door.proof()))
            answer = Reader(link).answer()
        return answer is not None and answer.status == 200

    def probe(self):
        """A round trip from another host to this one, by the link between them."""
        answer = self.through.get("/v1/stats?host=a")
        return answer is not None and answer.status == 200

    def ask(self, seconds, until=None):
        """(honest, probe) while it lasts."""
        with Asker(HONEST_EACH_S, self.honest) as honest, Asker(PROBE_EACH_S, self.probe) as probe:
            time.sleep(seconds)
            if until is not None:
                until()
        return honest, probe

    def connections(self):
        """{address of the client: connections} that its process has open at its door."""
        own, found = sockets_of(self.pid), {}
        for line in pathlib.Path(f"/proc/{self.pid}/net/tcp").read_text().splitlines()[1:]:
            words = line.split()
            here, there = words[1], words[2]
            if words[9] in own and int(here.split(":")[1], 16) == self.door.port and int(
                    there.split(":")[1], 16):
                found[there.split(":")[0]] = found.get(there.split(":")[0], 0) + 1
        return found

    def slow_ones(self):
        """Connections of others than the honest address."""
        return sum(count for address, count in self.connections().items() if address != "0100007F")


def kernel_mb():
    """Memory that the kernel holds for TCP."""
    words = pathlib.Path("/proc/net/sockstat").read_text().split("TCP:")[1].split("\n")[0].split()
    return int(words[words.index("mem") + 1]) * os.sysconf("SC_PAGE_SIZE") / (1 << 20)


def limit_wrong(victim):
    """How many of the limits of one address do not hold: connections without a proof, then all."""
    wrong = 0
    for limit, is_proven in ((UNPROVEN, False), (PER_ADDRESS, True)):
        source = f"127.0.1.{1 + is_proven}"
        links = []
        try:
            for _ in range(limit + 12):
                links += knock(victim, source, is_proven)
            time.sleep(0.5)
            held = victim.connections().get("".join(
                f"{int(part):02X}" for part in reversed(source.split("."))), 0)
            free = victim.honest()
        finally:
            for link in links:
                link.close()
        print(f"# one address, {'all proven' if is_proven else 'unproven'}: {held} of {limit + 12} "
              f"held, another address is {'' if free else 'not '}answered", flush=True)
        wrong += held != limit or not free
        wait_for("they are gone", lambda: victim.slow_ones() == 0, HEAD_S + SLACK_S)
    return wrong


def knock(victim, source, is_proven):
    """[the connection], or nothing if it was refused. A proven one has had its answer."""
    try:
        if not is_proven:
            return [dial(victim.door.port, source)]
        link = victim.door.connect(source)
        link.sendall(request_bytes("GET", "/v1/whoami", victim.door.proof()))
        answer = Reader(link).answer()
        return [link] if answer is not None and answer.status == 200 else []
    except (OSError, *ENDED):
        return []


def build(lab, listed):
    """Two hosts, the door of a, and a list of jobs that is long enough not to fit."""
    door = give_doors(lab, DOOR_PORT)["a"]
    lab["b"].environment = {"MUSTER_HTTPS": "off"}
    keep_keys(lab)
    lab.start()
    wait_for("both hosts", lambda: [host["state"] for host in (
        lab["a"].ask("hosts") or {"hosts": []})["hosts"]] == ["alive"] * 2, 60)
    wait_for("the door", lambda: answers(door), 20)
    door.access = make_token(lab["a"], ttl="1d")[0]
    job = {"command": ["sleep", "6000"], "directory": "/", "gpus": 8, "name": "n" * 200}
    submit = (request_bytes("POST", "/v1/jobs", [*door.proof(), WRITER,
                                                 ("content-type", "application/json")],
                            json.dumps(job).encode()), "POST")
    for _ in range(0, listed, AT_ONCE):
        if any(each is None or each.status != 201 for each in door.send_all([submit] * AT_ONCE)):
            raise Broken("a submit was not accepted")
    victim = Victim(lab, door)
    wait_for("b's socket", lambda: (lab["b"].data / "http.sock").exists(), 20)
    wait_for("a probe", victim.probe, 20)
    size = len(door.get("/v1/jobs?all=1").body)
    print(f"# an answer that nobody reads has {size} bytes, of {PIPELINED} at once", flush=True)
    return victim


def attack(victim, count, seconds, again, kinds=KINDS, patience=READER_S):
    """(honest, probe, most RSS, most of the kernel, what the attackers told at the end)."""
    ours, theirs = multiprocessing.Pipe()
    attackers = Attackers(victim.door.port, str(victim.door.root), victim.door.access, count,
                          again, kinds)
    process = multiprocessing.Process(target=attackers.run, args=(theirs,), daemon=True)
    process.start()
    most = [0.0, 0.0, 0]

    def look():
        most[0] = max(most[0], rss_mb(victim.pid))
        most[1] = max(most[1], kernel_mb())
        return True

    def count_them():
        most[2] = max(most[2], victim.slow_ones())
        return True

    try:
        with Asker(0.5, look), Asker(5, count_them):
            honest, probe = victim.ask(seconds)
            if not ours.poll(OPENING_S):
                raise Broken("the slow sockets were not all opened in time")
        _, took, held = ours.recv()
        count_them()
        if most[2] == 0:
            raise Broken("no slow connection reached the agent: the search is blind")
        print(f"# opened in {took:.1f} s; held on their side then: {held}", flush=True)
        ours.send("end")
        if not ours.poll(30):
            raise Broken("the attackers do not end")
        _, closed, held, failed = ours.recv()
        print(f"# cut: {closed}, held on their side: {held}, refused {failed}, at most {most[2]} "
              "at the agent", flush=True)
        left = settled(victim, patience)
    finally:
        process.kill()
        process.join()
    return honest, probe, most, left


def settled(victim, patience):
    """Connections that are left once all deadlines are over; their sockets are open over there."""
    end = time.monotonic() + patience + SLACK_S
    while time.monotonic() < end and victim.slow_ones():
        time.sleep(0.5)
    return victim.slow_ones()


def tell(name, asker):
    if len(asker.took) < LEAST:
        raise Broken(f"{name}: only {len(asker.took)} answers, {asker.lost} lost")
    figure(f"slow_{name}_p50", quantile(asker.took, 0.5), "ms")
    figure(f"slow_{name}_p99", quantile(asker.took, 0.99), "ms")
    if asker.lost:
        print(f"# {name}: {asker.lost} lost of {asker.lost + len(asker.took)}", flush=True)


def web_slow(count=1000, seconds=45, quiet=15, again=1, listed=400):
    """With --again 0 sockets that were cut do not come again; `listed` jobs make answers large."""
    with Lab("ab", base_port=BASE_PORT, expect=1) as lab:
        victim = build(lab, listed)
        wrong = limit_wrong(victim)
        quiet_honest, quiet_probe = victim.ask(quiet)
        before, threads = rss_mb(victim.pid), threads_of(victim.pid)
        began = time.monotonic()
        honest, probe, most, left = attack(victim, count, seconds, again)
        print(f"# threads {busiest(threads, threads_of(victim.pid), time.monotonic() - began)}",
              flush=True)
        if not all(agent.is_running() for agent in lab.agents.values()):
            raise Broken("an agent ended")
        after = rss_mb(victim.pid)
    tell("honest_quiet", quiet_honest)
    tell("honest", honest)
    tell("probe_quiet", quiet_probe)
    tell("probe", probe)
    figure("slow_held", most[2], "count")
    figure("slow_kernel", most[1], "MB")
    figure("slow_growth_after", after - before, "MB")
    figure("slow_lost", honest.lost + probe.lost, "count")
    figure("slow_limit_wrong", wrong, "count")
    figure("slow_left", left, "count")
    figure("slow_p99", quantile(honest.took, 0.99), "ms")
    figure("slow_probe_ratio",
           quantile(probe.took, 0.5) / quantile(quiet_probe.took, 0.5), "x")
    figure("slow_growth", most[0] - before, "MB")
    return left + wrong


def cut_soon(count):
    """The kinds with short deadlines alone; what is left, and limits that do not hold."""
    with Lab("ab", base_port=BASE_PORT, expect=1) as lab:
        victim = build(lab, 0)
        wrong = limit_wrong(victim)
        honest, _, _, left = attack(victim, count, 1, 0, KINDS[:3], HEAD_S)
        if not honest.took:
            raise Broken("no honest request was answered meanwhile")
        return left + wrong
