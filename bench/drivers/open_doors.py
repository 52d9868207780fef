"""Nobody without a proof gets anything: every socket that agents have open, said everything to with
every key that is none. An answer that tells or changes something is an open door. Another login of
the machine has a proof, at the socket for all logins: there it gets what its user may have."""

import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import time

from cluster import Broken, figure
from lab import BASE_PORT, MUSTER, Lab, wait_for

STRANGER = MUSTER.parent.parent / "bench" / "bench_stranger"
NOBODY = 65534
NAMELESS = 54321  #: No login of this machine.
CANARY = "door-canary-7d41"  #: stranger.cc
PATIENCE_S = 180
LEAVING_S = 1  #: An agent that was made to leave has ended after it.
LISTENING = "0A"
ACCEPTS = 0x10000
DATAGRAM = "0002"
#: What people ask for, and what an agent without a cluster is asked for.
VERBS = (("hosts",), ("jobs", "--all"), ("quorum",), ("ticket", "list"), ("ticket",), ("init",),
         ("submit", "--gpus", "1", "--", "true"), ("hosts", "drain", "a"), ("leave", "--yes"))
#: Those that no user of a cluster may ask for who is neither operator nor administrator.
ORDERS = (("ticket",), ("hosts", "drain", "a"), ("leave", "--yes"), ("keys", "rotate", "--all"))
#: Of answers: what moves by itself.
#: A voter that gets no processor for a second is replaced as leader, whoever speaks to it.
MOVES = re.compile(r"age|_ms$|contact|commit|applied|match|behind|since|ends_in|answered_by|"
                   r"leader|^role$|^term$")


# What is open.

def sockets_of(pid):
    """The inodes of its sockets."""
    inodes = set()
    for descriptor in pathlib.Path(f"/proc/{pid}/fd").iterdir():
        try:
            target = os.readlink(descriptor)
        except OSError:
            continue
        if target.startswith("socket:["):
            inodes.add(target[len("socket:["):-1])
    return inodes


def address_of(words):
    """IP:PORT of what the kernel prints in host order of 32-bit words."""
    digits, port = words.split(":")
    if len(digits) != 8:
        return f"{digits}:{int(port, 16)}"
    return ".".join(str(byte) for byte in reversed(bytes.fromhex(digits))) + f":{int(port, 16)}"


def listeners(pid):
    """{(kind, where)}: all on which somebody outside the process could reach it."""
    own, found = sockets_of(pid), set()
    net = pathlib.Path(f"/proc/{pid}/net")
    for kind in ("tcp", "tcp6", "udp", "udp6", "raw", "raw6"):
        for line in (net / kind).read_text().splitlines()[1:]:
            words = line.split()
            if words[9] in own and (words[3] == LISTENING or not kind.startswith("tcp")):
                found.add((kind, address_of(words[1])))
    for line in (net / "unix").read_text().splitlines()[1:]:
        words = line.split()
        is_bound_datagram = words[4] == DATAGRAM and len(words) > 7
        if words[6] in own and (int(words[3], 16) & ACCEPTS or is_bound_datagram):
            found.add(("unix", words[7] if len(words) > 7 else ""))
    for line in (net / "packet").read_text().splitlines()[1:]:
        if line.split()[-1] in own:
            found.add(("packet", line.split()[-1]))
    return found


def socket_for_logins(agent):
    """Where other logins reach an agent that root runs."""
    return agent.lab.directory / "run" / f"{agent.name}.sock"


def known_listeners(agent, is_member):
    port = agent.port
    ports = {("tcp", f"{agent.address}:{port}"), ("tcp", f"{agent.address}:{port + 1}")}
    sockets = {("unix", str(agent.data / "agent.sock")), ("unix", str(socket_for_logins(agent)))}
    # Strangers of HTTP have drivers of their own (web_*.py).
    http = {("unix", str(agent.lab.directory / "run" / "http" / f"{agent.name}.sock"))}
    return sockets | (ports | http if is_member else set())


def unknown_listeners(agent, is_member):
    """Those of the agent, its supervisors and their ranks that nobody told of."""
    known = known_listeners(agent, is_member)
    found = listeners(agent.process.pid)
    if not known <= found:
        raise Broken(f"the search is blind: {agent.name} has {found}, which lacks {known - found}")
    unknown = found - known
    for pid in set(agent.pids()) - {agent.process.pid}:
        # A supervisor waits for later agents at `sock`, in the directory of its grant.
        unknown |= listeners(pid) - {("unix", "sock")}
    for kind, where in sorted(unknown):
        print(f"# {agent.name} listens at {kind} {where}", flush=True)
    return unknown


# Who knocks.

def is_refused(path):
    """Whether the kernel keeps another login from that unix socket."""
    child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
            socket.socket(socket.AF_UNIX).connect(str(path))
        except PermissionError:
            os._exit(0)
        except BaseException:
            os._exit(1)
        os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


class Doors:
    """Copies of the keys of agents, and what strangers found at their sockets."""

    def __init__(self, directory, how):
        self.keys = directory / "keys"
        self.keys.mkdir()
        self.how = how
        self.open = 0
        self.said = 0
        self.supervisors_tried = 0

    def keep(self, agent):
        """A copy of who it is: its id/ belongs to its process."""
        copy = self.keys / agent.name
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(agent.data / "id", copy)
        return copy

    def knock(self, who, doors, how=None):
        """[{what: number}] of each door; `doors` is [(agent, address)]."""
        words = [str(STRANGER), who, how or self.how]
        for agent, address in doors:
            words += [agent.name, address, str(self.keys / agent.name)]
        done = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE_S)
        if done.returncode != 0:
            raise Broken(f"{who}: {done.stderr.strip()}")
        found = []
        for line in done.stdout.splitlines():
            if not line.startswith("door "):
                print(f"# {line}", flush=True)
                continue
            words = line.split()
            found.append({key: int(value) for key, value in zip(words[4::2], words[5::2])})
        if who.startswith("ticket:") and any(
                door["up"] and door["answers"] < door["requests"] for door in found):
            raise Broken(f"{who}: some answers were not heard: {found}")
        if how != "own":
            self.open += sum(door["open"] for door in found)
            self.said += sum(door["said"] for door in found)
            told = {key: sum(door[key] for door in found) for key in found[0]}
            print(f"# {who}: {len(found)} doors, " + ", ".join(
                f"{value} {key}" for key, value in told.items()), flush=True)
        return found

    def other_login(self, agent, is_member):
        """The agent's sockets as another login of its machine, though the directories above let that
        one pass. Without a cluster nothing but the version is told."""
        path = socket_for_logins(agent)
        kept = [(place, place.stat().st_mode & 0o7777)
                for place in (agent.data, agent.lab.directory)]
        try:
            for place, mode in kept:
                place.chmod(mode | 0o111)
            if not is_refused(agent.data / "agent.sock"):
                self.open += 1
                print(f"# another login reaches {agent.data / 'agent.sock'}", flush=True)
            if not is_member:
                # A login may not say all words in all envelopes at once.
                [told] = self.knock(f"login:{NOBODY}", [(agent, str(path))], "some")
                heard = told["denied"] + told["open"] + told["reasons"]
                if told["answers"] != heard or told["denied"] == 0:
                    raise Broken(f"the agent of {agent.name} said nothing to another login: {told}")
            self.denied_in_words(agent, ORDERS if is_member else VERBS)
            self.supervisors(agent)
        finally:
            for place, mode in kept:
                place.chmod(mode)

    def every_word_of_logins(self, agent):
        """All that can be said to a member of a cluster, by a login that has no name and is no user,
        and by one with a name, which is a user as any other."""
        path = str(socket_for_logins(agent))
        place, mode = agent.lab.directory, agent.lab.directory.stat().st_mode & 0o7777
        place.chmod(mode | 0o111)
        try:
            for uid, how in ((NAMELESS, "some"), (NOBODY, "user")):
                [told] = self.knock(f"login:{uid}", [(agent, path)], how)
                if told["denied"] == 0:
                    raise Broken(f"{agent.name} denied nothing to the login {uid}: {told}")
        finally:
            place.chmod(mode)

    def supervisors(self, agent):
        """Theirs obey whoever reaches them: their directories let nobody else in."""
        for pid in set(agent.pids()) - {agent.process.pid}:
            path = pathlib.Path(os.readlink(f"/proc/{pid}/cwd")) / "sock"
            if ("unix", "sock") not in listeners(pid):
                continue
            if not path.is_socket():
                raise Broken(f"the supervisor {pid} of {agent.name} is not where it was looked for")
            self.supervisors_tried += 1
            if not is_refused(path):
                self.open += 1
                print(f"# another login reaches {path}", flush=True)

    def denied_in_words(self, agent, verbs):
        """That login reads a reason and gets exit 4."""
        binary = self.keys.parent / "muster"
        shutil.copy(MUSTER, binary)
        home = self.keys.parent / "home"
        home.mkdir(exist_ok=True)
        os.chown(home, NOBODY, NOBODY)
        environment = {"MUSTER_NODE": str(socket_for_logins(agent)), "PATH": os.environ["PATH"],
                       "HOME": str(home)}
        for verb in verbs:
            done = subprocess.run([str(binary), *verb], capture_output=True, text=True, cwd="/",
                                  env=environment, user=NOBODY, group=NOBODY, extra_groups=[])
            if done.returncode != 4 or not done.stderr or done.stdout:
                self.open += 1
                print(f"# `muster {' '.join(verb)}` of another login: exit {done.returncode}, "
                      f"{done.stdout}{done.stderr}", flush=True)


# The places.

def fresh(how):
    """An agent that has no cluster: its own socket and nothing else. (open, listeners unknown)"""
    with Lab("x", base_port=BASE_PORT + 60, expect=1) as lab:
        lab.found_soon = lambda: None
        agent = lab["x"]
        agent.start()
        wait_for("a socket", (agent.data / "agent.sock").exists, 10)
        wait_for("an answer", lambda: agent.cli("version")[0] == 0, 10)
        unknown = unknown_listeners(agent, is_member=False)
        doors = Doors(lab.directory, how)
        doors.keep(agent)
        doors.other_login(agent, is_member=False)
        if agent.cli("hosts")[0] != 5 or not agent.is_running():
            raise Broken("an agent without a cluster has changed for what strangers said")
        return doors.open, len(unknown)


def make_ticket(lab, name, *options, asked="a"):
    """Its name, as `ticket list` has it; the line is in a file."""
    code, out, err = lab[asked].cli("ticket", *options, "--json")
    if code != 0:
        raise Broken(f"ticket {name}: {err}")
    made = json.loads(out)
    path = lab.directory / f"{name}.ticket"
    path.touch(mode=0o600)
    path.write_text(made["line"])
    return made["ticket"]


def json_of(agent, *words):
    code, out, _ = agent.cli(*words, "--json")
    return json.loads(out) if code == 0 else None


def names_in(answer):
    return {host["host"] for host in (answer or {"hosts": []})["hosts"]}


def build(lab):
    """Founders a, b, c; d joins with a ticket that is used up then, e and f with another; e's agent
    ends, f is thrown out. A job runs on two of a, b, c, d."""
    plain = lab.ticket_of
    lab.ticket_of = lambda name: (lab.directory / "used.ticket" if name == "d" else
                                  lab.directory / "later.ticket" if name in "ef" else plain(name))
    for name in "abc":
        lab[name].start()
    wait_for("a leader", lambda: (lab["a"].ask("quorum") or {}).get("leader"), 30)
    wait_for("a ticket", lambda: lab["a"].cli("ticket", "--ttl", "1s")[0] == 0, 10)
    over = [make_ticket(lab, "used", "--may-vouch"), make_ticket(lab, "expired", "--ttl", "1s"),
            make_ticket(lab, "revoked")]
    make_ticket(lab, "later", "--uses", "2")
    make_ticket(lab, "good", "--uses", "9")
    code, _, err = lab["a"].cli("ticket", "revoke", over[-1])
    if code != 0:
        raise Broken(f"ticket revoke: {err}")
    for name in "ef":
        lab[name].flags = {"gpus": "sim:1xA100"}  # So that no job comes to run there.
    for name in "def":
        lab[name].start()
    for name in "abcdef":
        wait_for(f"{name} knows all", lambda name=name: names_in(lab[name].ask("hosts")) == set(
            "abcdef"), 30)
    leader = lab[lab["a"].ask("quorum")["leader"]]
    code, _, err = leader.cli("hosts", "revoke", "f", "--yes")
    if code != 0:
        raise Broken(f"revoke: {err}")
    lab["f"].kill_agent()
    code, _, err = leader.cli("submit", "--gpus", "16", "--gpu-type", "H100", "-e",
                              f"SECRET={CANARY}", "--", "sleep", "600")
    if code != 0:
        raise Broken(f"submit: {err}")
    wait_for("a job runs", lambda: [job["state"] for job in leader.ask("jobs")["jobs"]] == [
        "running"], 20)
    lab["e"].kill_agent()
    for name in "abc":
        wait_for(f"{name} knows three tickets that are over", lambda name=name: {
            ticket["ticket"] for ticket in json_of(lab[name], "ticket", "list")["tickets"]
            if ticket["why_not"]} >= {*over}, 10)
    for name in "abcd":
        wait_for(f"{name} has done with e and f", lambda name=name: is_settled(lab[name]), 30)


def is_settled(agent):
    """It has a last word on e and f."""
    return {host["host"]: host["state"] for host in agent.ask("hosts")["hosts"]} == {
        **dict.fromkeys("abcd", "alive"), "e": "unreachable", "f": "revoked"}


def still(value):
    """Without what moves by itself: of who is gone the last claims come late or never."""
    if isinstance(value, dict):
        is_gone = value.get("state") in ("revoked", "unreachable")
        return {key: still(each) for key, each in value.items()
                if not MOVES.search(key) and not (is_gone and key in ("claimed_by", "detail"))}
    return [still(each) for each in value] if isinstance(value, list) else value


def state(lab):
    """All that must not change; {question: answer}."""
    said = {}
    for agent in lab.live():
        said[f"ranks on {agent.name}"] = agent.ranks_of(1)
        # Users may submit jobs of their own.
        for words in (("hosts",), ("jobs", "--all"), ("ticket", "list"), ("quorum",)):
            said[f"{' '.join(words)} on {agent.name}"] = without_own(still(
                wait_for(f"{words} on {agent.name}", lambda: json_of(agent, *words), 10)))
    return said


def without_own(answer):
    """Without the jobs that another login submitted in its own name, and without their number."""
    if "jobs" not in answer:
        return answer
    jobs = [job for job in answer["jobs"] if job["user"] != "nobody"]
    return {**{key: value for key, value in answer.items() if not isinstance(value, int)},
            "jobs": jobs}


def differences(before, after, where=""):
    """One line of each."""
    if isinstance(before, dict) and isinstance(after, dict) and before.keys() == after.keys():
        return [line for key in before
                for line in differences(before[key], after[key], f"{where}.{key}")]
    if isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        return [line for index, pair in enumerate(zip(before, after))
                for line in differences(*pair, f"{where}.{index}")]
    return [] if before == after else [f"{where}: {before}, then {after}"]


def strangers(lab, foreign):
    """[(who, how)] of all that are to hear nothing."""
    def ticket(name, place=lab):
        return f"ticket:{place.directory / (name + '.ticket')}"

    return [("raw", None), ("plain", None), ("unknown", None), (ticket("used"), None),
            (ticket("expired"), None), (ticket("revoked"), None), (ticket("founding"), None),
            (ticket("foreign", foreign), None), (ticket("good"), "dull"),
            (f"host:{lab.directory / 'keys' / 'f'}", None),
            (f"host:{foreign.directory / 'keys' / 'o'}", None),
            (f"host:{lab.directory / 'keys' / 'e'}", None)]


def running(how):
    """A cluster with a job; (open, listeners unknown, words said, answers to a member)."""
    with Lab("abcdef", base_port=BASE_PORT) as lab, \
            Lab("o", base_port=BASE_PORT + 80, expect=1) as foreign:
        foreign.start()
        build(lab)
        doors, away = Doors(lab.directory, how), Doors(foreign.directory, how)
        wait_for("the other cluster", lambda: foreign["o"].cli("ticket", "--ttl", "1s")[0] == 0, 20)
        make_ticket(foreign, "foreign", asked="o")
        away.keep(foreign["o"])
        for agent in lab.agents.values():
            doors.keep(agent)
        unknown = [one for agent in lab.live() for one in unknown_listeners(agent, True)]
        targets = [(agent, where) for agent in lab.live()
                   for kind, where in sorted(listeners(agent.process.pid)) if kind == "tcp"]
        if CANARY not in lab["a"].cli("show", "1")[1]:
            raise Broken("root does not see the environment of its job: the search is blind")
        before = state(lab)
        for who, its_how in strangers(lab, foreign):
            doors.knock(who, targets, its_how)
        for agent in lab.live():
            doors.other_login(agent, is_member=True)
            doors.every_word_of_logins(agent)
        if doors.supervisors_tried == 0:
            raise Broken("no supervisor was found")
        after = state(lab)
        changed = differences(before, after)
        for line in changed:
            print(f"# changed: {line}", flush=True)
        seen = doors.knock(f"host:{doors.keys / 'e'}", targets, "own")
        if any(door["answers"] == 0 for door in seen):
            raise Broken(f"a member is not answered at some door: the search is blind: {seen}")
        changed += logins_of_a_voter(lab, doors, targets)
        return (doors.open + len(changed), len(unknown), doors.said,
                sum(door["answers"] for door in seen))


def logins_of_a_voter(lab, doors, targets):
    """The keys of e, which may vote by now and not vouch: its logins order everything of all, in
    their own name. The changes that they made, a line each."""
    code, _, err = lab["a"].cli("hosts", "set", "e", "--may-vote", "yes", "--may-vouch", "no")
    if code != 0:
        raise Broken(f"hosts set: {err}")
    before, alive = state(lab), lab.live()
    told = doors.knock(f"host:{doors.keys / 'e'}", targets, "orders")
    if not any(door["denied"] for door in told):
        raise Broken(f"nobody refused anything to a login of a member: {told}")
    time.sleep(LEAVING_S)
    gone = [agent.name for agent in alive if not agent.is_running()]
    changed = differences(before, state(lab)) + [f"{name} left" for name in gone]
    for line in changed:
        print(f"# changed: {line}", flush=True)
    return changed


def open_doors(slice=0):
    """With --slice 1 each word is said in two envelopes, not in all."""
    if os.geteuid() != 0:
        raise Broken("only root can be another login")
    how = "some" if slice else "all"
    fresh_open, fresh_unknown = fresh(how)
    cluster_open, cluster_unknown, said, seen = running(how)
    figure("open_doors", fresh_open + cluster_open, "count")
    figure("listeners_unknown", fresh_unknown + cluster_unknown, "count")
    figure("words_said", said, "count")
    figure("seen", seen, "count")
    return fresh_open + cluster_open + fresh_unknown + cluster_unknown
