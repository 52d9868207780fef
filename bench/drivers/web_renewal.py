"""HTTPS takes another certificate under connections that are in use: one that a voter signs because
two thirds of the life of the old one are over, and those that a site puts in place of its own. No
connection may end, and new ones see the new certificate. Then: the cost of idle HTTPS.

The files of a site are those that the cluster's authority made for the agent a, and another agent
shows them: clients need one root alone, and nobody another tool."""

import hashlib
import os
import shutil
import ssl
import threading
import time

from cluster import Broken, all_alive, figure, settle
from lab import Lab, wait_for
from real import clocks
from system import rss_mb
from web_attack import keep_keys
from web_client import ENDED, Door, Reader, answers, give_doors, make_token, request_bytes

BASE_PORT = 9550
DOOR_PORT = 9950
DAY_S = 24 * 3600
#: A certificate is renewed 60 of its 90 days after it began, which is an hour before it was made.
DUE_DAYS = 61
#: WebParts::kAskAgainPeriod, and a busy machine.
RENEWED_S = 90 + 20
#: WebParts::kCertificatePeriod. A refusal is told by the second look that finds its reason.
LOOK_S = 5
SLACK_S = 5
ADDRESSES = 8
SPLIT = 30  #: Bytes of a request that go ahead of the rest.
PAUSE_S = 0.05
BATCH = 20
ROUND_S = 0.3
#: HttpDeadlines::handshake; that of a head is longer.
CUT_S = 3
NEWCOMER_EACH_S = 0.1
TAKEN, REFUSED = "https_certificate_taken", "https_certificate_refused"
PLAIN_HOSTS = 6
IDLE_SETTLES_S = 10


def fingerprint(certificate):
    return hashlib.sha256(certificate).hexdigest()


class Pair:
    """A key with its certificates, both in PEM."""

    def __init__(self, key, certificates):
        self.key = key
        self.certificates = certificates

    @property
    def fingerprint(self):
        own = self.certificates.split("-----END")[0] + "-----END CERTIFICATE-----\n"
        return fingerprint(ssl.PEM_cert_to_DER_cert(own))


def kept_by(agent):
    """The Pair that this agent has of the cluster's authority; nothing if it has not."""
    try:
        text = (agent.data / "https" / "host.pem").read_text()
    except FileNotFoundError:
        return None
    key, begin, certificates = text.partition("\n", )[2].partition("-----BEGIN CERTIFICATE-----")
    return Pair(key, begin + certificates)


class SiteFiles:
    """https_cert and https_key of one agent, which are replaced as the tools of a site do it."""

    def __init__(self, agent):
        self.certificates = agent.lab.directory / f"{agent.name}.crt"
        self.key = agent.lab.directory / f"{agent.name}.key"
        agent.environment |= {"MUSTER_HTTPS_CERT": str(self.certificates),
                              "MUSTER_HTTPS_KEY": str(self.key)}

    def put(self, key="", certificates=""):
        for path, text in ((self.key, key), (self.certificates, certificates)):
            if text:
                made = path.with_suffix(".new")
                with open(made, "w", opener=lambda p, f: os.open(p, f, 0o600)) as file:
                    file.write(text)
                made.rename(path)

    def put_pair(self, pair):
        self.put(pair.key, pair.certificates)


class SiteDoor(Door):
    """A Door whose certificates are of the root in that file."""

    def __init__(self, agent, port, root):
        super().__init__(agent, port)
        self._root = root

    @property
    def root(self):
        return self._root


class Told:
    """The events of one kind that come into the log of an agent from now on."""

    def __init__(self, agent, event):
        self.log = agent.log
        self.words = f"event={event}"
        self.begin = self.log.stat().st_size

    def lines(self):
        with open(self.log, "rb") as file:
            file.seek(self.begin)
            text = file.read().decode(errors="replace")
        return [line for line in text.splitlines() if self.words in line]


class Asking(threading.Thread):
    """Asks until its end; notes why an exchange failed. The door cuts clients that are slow by
    themselves: a failure that took as long is not one of the door."""

    def __init__(self, door):
        super().__init__(daemon=True)
        self.door = door
        self.asked = request_bytes("GET", "/v1/whoami", door.proof())
        self.drops = []  #: Why.
        self.late = 0    #: Failures that say nothing about the door.
        self.over = threading.Event()

    def read_answer(self, link):
        answer = Reader(link).answer()
        if answer is None or answer.status != 200 or answer.closes:
            raise OSError("it ended" if answer is None else f"status {answer.status}")

    def is_good(self, began, step, *arguments):
        """Whether this step of an exchange that began then went well."""
        try:
            step(*arguments)
            return True
        except (OSError, *ENDED) as error:
            took = time.monotonic() - began
            self.late += took >= CUT_S
            self.drops += [f"{error!r} after {took:.1f} s"] * (took < CUT_S)
            return False

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.join()


class Crowd(Asking):
    """Connections that are in use all the time. Each sends its request in two pieces, so that many
    a request is half there when the certificate changes."""

    def __init__(self, door, count):
        super().__init__(door)
        self.count = count
        self.rounds = 0
        self.links = [door.connect(f"127.0.3.{1 + number % ADDRESSES}") for number in range(count)]

    def run(self):
        while not self.over.is_set():
            began = time.monotonic()
            left = []
            for at in range(0, len(self.links), BATCH):
                left += self.ask(self.links[at:at + BATCH])
            self.links = left
            self.rounds += 1
            self.over.wait(max(0.0, ROUND_S - (time.monotonic() - began)))

    def ask(self, links):
        """Those that were answered."""
        began = time.monotonic()
        links = [link for link in links if self.is_good(began, link.sendall, self.asked[:SPLIT])]
        time.sleep(PAUSE_S)
        links = [link for link in links if self.is_good(began, link.sendall, self.asked[SPLIT:])]
        return [link for link in links if self.is_good(began, self.read_answer, link)]

    def go_round(self):
        """All that are left asked, from begin to end, and were answered."""
        end = self.rounds + 2
        wait_for("each connection asks again", lambda: self.rounds >= end, 60)

    def __exit__(self, *_):
        super().__exit__()
        for link in self.links:
            link.close()


class Newcomers(Asking):
    """One new connection after the other, each with a request."""

    def __init__(self, door):
        super().__init__(door)
        self.seen = []  #: Fingerprints, without repetition of the last one.

    def come(self):
        with self.door.connect("127.0.3.200") as link:
            shown = fingerprint(link.getpeercert(True))
            link.sendall(self.asked)
            self.read_answer(link)
        if self.seen[-1:] != [shown]:
            self.seen.append(shown)

    def run(self):
        while not self.over.wait(NEWCOMER_EACH_S):
            self.is_good(time.monotonic(), self.come)

    def shows(self, pair):
        return self.seen[-1:] == [pair.fingerprint]


class Watched:
    """A door in use: those that stay, those that come, and what must have been shown to them."""

    def __init__(self, door, count):
        self.newcomers = Newcomers(door)
        self.newcomers.come()
        self.crowd = Crowd(door, count)
        self.agent = door.agent
        self.due = list(self.newcomers.seen)  #: Fingerprints, in order.

    def shows(self, pair):
        """From now on new connections see this one; those of before go on."""
        self.due.append(pair.fingerprint)
        wait_for("new connections see the certificate", lambda: self.newcomers.shows(pair),
                 LOOK_S + SLACK_S)
        self.crowd.go_round()

    def __enter__(self):
        self.crowd.__enter__()
        self.newcomers.__enter__()
        return self

    def __exit__(self, *_):
        self.newcomers.__exit__()
        self.crowd.__exit__()

    def faults(self):
        """Why connections ended or were not answered, and certificates that were out of turn."""
        if self.crowd.late or self.newcomers.late:
            raise Broken(f"this machine is too slow: {self.crowd.late} and {self.newcomers.late} "
                         "exchanges were late by themselves")
        wrong = self.crowd.drops + self.newcomers.drops
        if self.newcomers.seen != self.due:
            wrong.append(f"new connections saw {len(self.newcomers.seen)} certificates in turn, "
                         f"due were {len(self.due)}")
        return wrong


def environment_of_past(agent):
    """Its wall clock begins so far back that a certificate of then is due now."""
    environment = clocks.environment_of(agent)
    clocks.jump(agent, -DUE_DAYS * DAY_S)
    return environment


def give_token(agent, doors):
    """One access token, known to all of these doors."""
    line, _ = make_token(agent, ttl="1d")
    for door in doors:
        door.access = line
    wait_for("the token everywhere", lambda: all(answers(door, "/v1/whoami") for door in doors), 20)


def renewal(watched, agents, seconds):
    """The clocks jump to the present, where the certificate is due. (old Pair, new Pair)."""
    old = kept_by(watched.agent)
    taken = Told(watched.agent, TAKEN)
    for agent in agents:
        clocks.jump(agent, DUE_DAYS * DAY_S)
    began = time.monotonic()
    wait_for("the renewal", taken.lines, seconds)
    print(f"# renewed {time.monotonic() - began:.1f} s after it was due", flush=True)
    new = kept_by(watched.agent)
    watched.shows(new)
    return old, new


def reason_of(watched, refused):
    """An event says that the files are bad, and the certificate of before stays. Its reason."""
    told = wait_for("the refusal", refused.lines, 2 * LOOK_S + SLACK_S)
    watched.crowd.go_round()
    return told[0].partition(REFUSED)[2].strip()


def reload_in_turn(watched, files, pairs, reloads):
    """Good files so often, then those that must not be taken. The first Pair is in force."""
    for number in range(1, reloads + 1):
        files.put_pair(pairs[number % 2])
        watched.shows(pairs[number % 2])
    good, other = pairs[reloads % 2], pairs[1 - reloads % 2]
    for bad in ({"key": other.key}, {"certificates": good.certificates[:200]}):
        refused = Told(watched.agent, REFUSED)
        files.put(**bad)
        print(f"# refused: {reason_of(watched, refused)}", flush=True)
        taken = Told(watched.agent, TAKEN)
        files.put_pair(good)
        wait_for("the good files are read again", taken.lines, LOOK_S + SLACK_S)
    watched.crowd.go_round()


def tell(name, watched):
    faults = watched.faults()
    print(f"# {name}: {len(watched.crowd.links)} of {watched.crowd.count} connections left after "
          f"{watched.crowd.rounds} requests each; {faults[:5]}", flush=True)
    return len(faults)


def drops_of_changes(connections, reloads):
    with Lab("abc", base_port=BASE_PORT) as lab:
        doors = give_doors(lab, DOOR_PORT)
        keep_keys(lab)
        for agent in lab.agents.values():
            agent.environment |= environment_of_past(agent)
        lab.start()
        settle(lab)
        wait_for("the doors", lambda: all(map(answers, doors.values())), 20)
        give_token(lab["a"], doors.values())
        with Watched(doors["a"], connections) as watched:
            pairs = renewal(watched, lab.live(), RENEWED_S)
        drops = tell("signed by a voter", watched)

        site = lab["b"]
        site.kill_agent()
        files = SiteFiles(site)
        files.put_pair(pairs[0])
        site.start()
        door = SiteDoor(site, doors["b"].port, doors["a"].root)
        door.access = doors["a"].access
        wait_for("the door with files of a site", lambda: answers(door, "/v1/whoami"), 30)
        with Watched(door, connections) as watched:
            reload_in_turn(watched, files, pairs, reloads)
        return drops + tell("files of a site", watched)


def cpu_s(agent):
    """Of all its threads, also those that ended. Counted in nanoseconds."""
    return time.clock_gettime(~agent.process.pid << 3 | 2)


def idle(seconds, before):
    """{kind: (share of a processor, MB)} for the mean of plain hosts with HTTPS, without, and of
    the older binary."""
    kinds = ["on", "off"] + ["before"] * bool(before)
    names = [f"{kind}{number}" for number in range(PLAIN_HOSTS // 2) for kind in kinds]
    with Lab(["a", "b", "c", *names], base_port=BASE_PORT) as lab:
        give_doors(lab, DOOR_PORT)
        hosts = {kind: [lab[name] for name in names if name.startswith(kind)] for kind in kinds}
        for agent in lab.agents.values():
            if agent not in hosts["on"]:
                agent.environment = {}
        for agent in hosts.get("before", []):
            agent.binary = before
        lab.start()
        wait_for("all see all alive", lambda: all_alive(lab), 90)
        wait_for("certificates", lambda: all(kept_by(agent) for agent in hosts["on"]), 30)
        time.sleep(IDLE_SETTLES_S)
        began = time.monotonic()
        used = {agent: cpu_s(agent) for kind in kinds for agent in hosts[kind]}
        time.sleep(seconds)
        took = time.monotonic() - began
        share = {agent: (cpu_s(agent) - cpu) / took for agent, cpu in used.items()}
        lab.check_started()
        means = {}
        for kind in kinds:
            memory = [rss_mb(agent.process.pid) for agent in hosts[kind]]
            shares = [share[agent] for agent in hosts[kind]]
            means[kind] = sum(shares) / len(shares), sum(memory) / len(memory)
            print(f"# {kind}: " + ", ".join(f"{100 * cpu:.3f} % {mb:.1f} MB"
                                            for cpu, mb in zip(shares, memory)), flush=True)
        return means


def web_renewal(connections=200, reloads=6, idle_s=60, before=""):
    """With --before BINARY hosts of that one are measured beside, too."""
    if idle_s:
        means = idle(idle_s, shutil.which(before) if before else "")
        for kind in means.keys() - {"on", "off"}:
            figure(f"idle_{kind}_ratio", means["on"][0] / means[kind][0], "x")
            figure(f"idle_{kind}_memory_ratio", means["on"][1] / means[kind][1], "x")
        figure("idle_ratio", means["on"][0] / means["off"][0], "x")
        figure("idle_memory_ratio", means["on"][1] / means["off"][1], "x")
    if connections:
        figure("cert_drops", drops_of_changes(connections, reloads), "count")
