"""The audit against what its users saw: logins change things and are refused through all nodes,
while the leader's agent is killed again and again. Then the audit of every node and the files of
all voters must tell just that, and each tampering with a file must be found."""

import collections
import concurrent.futures
import dataclasses
import json
import os
import random
import shlex
import shutil
import stat
import subprocess
import time

from cluster import BASE_PORT, Broken, all_alive, figure, leader_of
from host_accounts import NSSWITCH
from lab import MUSTER, Lab, wait_for

HOSTS = "abcde"
FIRST_UID = 20000
AT_ONCE = 16
START_S = 60
CALL_S = 60
#: Until the last refusals are in the log: a batch is repeated after two seconds.
QUIET_S = 5
SETTLE_S = 120
DONE, REFUSED, DENIED, NOT_TAKEN, UNKNOWN = "done", "refused", "denied", "not taken", "unknown"
#: The exit codes of the command line (muster --help).
OUTCOMES = {0: DONE, 3: REFUSED, 4: DENIED, 5: NOT_TAKEN, 6: REFUSED, 7: REFUSED}
#: How often each act is done, of a hundred.
ACTS = {"submit": 45, "cancel": 15, "priority": 13, "cancel_again": 5, "priority_of_ended": 5,
        "cancel_of_none": 5, "cancel_of_other": 5, "priority_of_other": 4, "drain": 3}
NO_JOB = 900_000_000


@dataclasses.dataclass(frozen=True)
class Call:
    """One call of a client, and what the client was told."""

    user: str
    host: str
    verb: str  #: As the audit calls it.
    what: str  #: "job 12", "host a"; "" if the client does not know.
    outcome: str
    ended: float

    @property
    def key(self):
        return (self.user, self.host, self.verb, self.what)


def key_of(line):
    return (line["user"], line["host"], line["verb"], line["object"] or "")


class AuditLab:
    """Five hosts that know the same logins; each writes the audit to a file of its own."""

    def __init__(self, lab, users):
        self.lab = lab
        lab.directory.chmod(0o711)
        self.users = {f"u{number:02}": FIRST_UID + number for number in range(users)}
        self.binary = lab.directory / "muster"
        shutil.copy(MUSTER, self.binary)
        self.binary.chmod(0o755)
        self._wrap()

    def _wrap(self):
        """Lets each agent start in a mount namespace that has the logins."""
        etc = self.lab.directory / "etc"
        etc.mkdir(mode=0o755)
        passwd = ["root:x:0:0:root:/root:/bin/sh"]
        passwd += [f"{name}:x:{uid}:{uid}::/:/bin/sh" for name, uid in self.users.items()]
        group = ["root:x:0:"] + [f"{name}:x:{uid}:" for name, uid in self.users.items()]
        for name, text in (("passwd", "\n".join(passwd) + "\n"), ("nsswitch.conf", NSSWITCH),
                           ("group", "\n".join(group) + "\n")):
            (etc / name).write_text(text)
        binds = " && ".join(f"mount --bind {shlex.quote(str(etc / name))} /etc/{name}"
                            for name in ("passwd", "group", "nsswitch.conf"))
        path = etc / "agent.sh"
        path.write_text("#!/bin/sh\nexec unshare --mount --propagation private sh -c " +
                        shlex.quote(f'{binds} && exec "$0" "$@"') +
                        f' {shlex.quote(str(MUSTER))} "$@"\n')
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        for name in self.lab.names:
            self.lab[name].binary = path
            self.lab[name].flags = {"audit_file": str(self.file_of(name))}

    def file_of(self, name):
        return self.lab.directory / f"audit-{name}.jsonl"

    def start(self):
        self.lab.start()
        wait_for("all hosts", lambda: self.lab.check_started() and all_alive(self.lab), START_S)

    def command(self, user, host, *words):
        """One verb as that login says it on that host; (exit code, stdout)."""
        environment = {"PATH": os.environ["PATH"], "HOME": "/",
                       "MUSTER_NODE": str(self.lab.directory / "run" / f"{host}.sock")}
        uid = self.users[user]
        try:
            done = subprocess.run([str(self.binary), *words], capture_output=True,
                                  text=True, cwd="/", env=environment, user=uid, group=uid,
                                  extra_groups=[], timeout=CALL_S, stdin=subprocess.DEVNULL)
        except subprocess.TimeoutExpired:
            return None, ""
        return done.returncode, done.stdout

    def audit_of(self, name):
        """All lines as that node tells them; nothing if it does not answer."""
        answer = self.lab[name].ask("events", "--audit", "-n", "0", timeout=60)
        return answer and answer["audit"]


class Clients:
    """The users: each makes changes, and tries what is not possible or not theirs."""

    def __init__(self, place, seed):
        self.place = place
        self.rng = random.Random(seed)
        self.calls = []
        self.open = collections.defaultdict(list)  #: User -> jobs.
        self.ended = collections.defaultdict(list)

    def plan(self):
        """The next act: (user, host, verb as the audit calls it, object, words)."""
        rng = self.rng
        user = rng.choice(list(self.place.users))
        host = rng.choice(HOSTS)
        act = rng.choices(list(ACTS), list(ACTS.values()))[0]
        others = [job for name, jobs in self.open.items() if name != user for job in jobs]
        if act == "cancel" and self.open[user]:
            job = self.open[user].pop(rng.randrange(len(self.open[user])))
            return user, host, "cancel", job, ("cancel", job, "-y")
        if act == "priority" and self.open[user]:
            job = rng.choice(self.open[user])
            return user, host, "edit", job, ("priority", job, str(rng.randrange(1, 100)))
        if act == "cancel_again" and self.ended[user]:
            job = rng.choice(self.ended[user])
            return user, host, "cancel", job, ("cancel", job, "-y")
        if act == "priority_of_ended" and self.ended[user]:
            job = rng.choice(self.ended[user])
            return user, host, "edit", job, ("priority", job, "8")
        if act == "cancel_of_none":
            return user, host, "cancel", NO_JOB, ("cancel", NO_JOB, "-y")
        if act == "cancel_of_other" and others:
            job = rng.choice(others)
            return user, host, "cancel", job, ("cancel", job, "-y")
        if act == "priority_of_other" and others:
            job = rng.choice(others)
            return user, host, "edit", job, ("priority", job, "7")
        if act == "drain":
            drained = rng.choice(HOSTS)
            return user, host, "drain", "host " + drained, ("hosts", "drain", drained)
        return user, host, "submit", "", ("submit", "--json", "--hold", "--", "true")

    def act(self, planned):
        user, host, verb, about, words = planned
        code, answer = self.place.command(user, host, *map(str, words))
        outcome = OUTCOMES.get(code, UNKNOWN)
        what = about if isinstance(about, str) else f"job {about}"
        if verb == "submit" and outcome == DONE:
            job = json.loads(answer)["job_id"]
            what = f"job {job}"
            self.open[user].append(job)
        if verb == "cancel" and outcome == DONE:
            self.ended[user].append(about)
        self.calls.append(Call(user, host, verb, what, outcome, time.monotonic()))

    def run(self, count, each):
        """So many calls, `AT_ONCE` at a time; `each()` is called between two of them."""
        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as hands:
            under_way = set()
            for _ in range(count):
                while len(under_way) >= AT_ONCE:
                    done, under_way = concurrent.futures.wait(
                        under_way, timeout=0.1, return_when=concurrent.futures.FIRST_COMPLETED)
                    for turn in done:
                        turn.result()
                    each()
                under_way.add(hands.submit(self.act, self.plan()))
            for turn in under_way:
                turn.result()


class Killer:
    """Kills the leader's agent each `period` seconds and starts it again at once."""

    def __init__(self, lab, period):
        self.lab, self.period = lab, period
        self.kills = []
        self.due = time.monotonic() + period

    def turn(self):
        if time.monotonic() < self.due:
            return
        name = leader_of(self.lab)
        if name is None:
            return  # Looked at again in the next turn.
        self.kills.append(time.monotonic())
        self.lab[name].kill_agent()
        self.lab[name].start()
        self.due = time.monotonic() + self.period


# What was told, against what is written.

def settle(place):
    """The lines of the audit, once no new ones come and all nodes tell the same."""
    wait_for("all hosts again", lambda: all_alive(place.lab), SETTLE_S)
    deadline = time.monotonic() + SETTLE_S
    before, since = None, time.monotonic()
    while time.monotonic() < deadline:
        told = {name: place.audit_of(name) for name in HOSTS}
        is_one = None not in told.values() and len({len(each) for each in told.values()}) == 1
        if told != before or not is_one:
            before, since = told, time.monotonic()
        elif time.monotonic() - since >= QUIET_S:
            return told
        time.sleep(0.5)
    raise Broken("the audit does not come to rest, or nodes tell different ones")


def missing_of(calls, lines):
    """Changes and refusals without a line, but for refusals that a line counts."""
    have = collections.Counter((key_of(line), line["outcome"]) for line in lines)
    counted = sum(int(line["why"].split()[0]) for line in lines if not line["user"])
    missing, denied = [], []
    for call in calls:
        # The second try of a client may be refused because the first was done.
        wanted = {DONE: [DONE], DENIED: [DENIED], REFUSED: [REFUSED, DONE]}.get(call.outcome, [])
        found = next((each for each in wanted if have[call.key, each] > 0), None)
        if found:
            have[call.key, found] -= 1
        elif call.outcome == DENIED:
            denied.append(call)
        elif wanted:
            missing.append(call)
    print(f"# {len(denied)} refusals have no line of their own, {counted} were counted", flush=True)
    missing += denied if len(denied) > counted else []
    for call in missing[:10]:
        print(f"# no line for {call}", flush=True)
    return len(missing) - (counted if len(denied) > counted else 0)


def wrong_of(calls, lines, users):
    """Lines that no call explains."""
    known = {call.key for call in calls}
    unknown = collections.Counter((call.user, call.host) for call in calls
                                  if call.verb == "submit" and call.outcome != DONE)
    wrong = 0
    for line in lines:
        if line["user"] not in users:
            continue
        is_told = key_of(line) in known and line["by"] == f"{line['user']}@{line['host']}" and (
            line["proof"] == "host")
        if not is_told and line["verb"] == "submit" and unknown[line["user"], line["host"]] > 0:
            unknown[line["user"], line["host"]] -= 1
        elif not is_told:
            wrong += 1
            print(f"# no call explains {line}", flush=True)
    return wrong


def differing(told):
    """Lines that two nodes tell differently."""
    first = told[HOSTS[0]]
    return sum(one != other for name in HOSTS[1:] for one, other in zip(first, told[name]))


def file_faults(place, name, lines):
    """(missing, wrong) of a file beside the lines of the log."""
    written, stated = {}, set()
    for text in place.file_of(name).read_text().splitlines():
        line = json.loads(text)
        if "missing_from" in line:
            stated.update(range(line["missing_from"], line["number"] + 1))
        else:
            written[line["number"]] = line
    missing = wrong = 0
    for line in lines:
        number = line["audit_number"]
        if number not in written:
            missing += 1
            print(f"# {name}: line {number} is not in the file"
                  f"{', as it says' if number in stated else ''}", flush=True)
        elif any(written[number][field] != value for field, value in line.items()
                 if field != "audit_number"):
            wrong += 1
            print(f"# {name}: {written[number]} is not {line}", flush=True)
    return missing, wrong


def verify(path, *words):
    """(exit code, what it says of the file)."""
    done = subprocess.run([str(MUSTER), "audit", "verify", "--json", *words, str(path)],
                          capture_output=True, text=True)
    return done.returncode, json.loads(done.stdout)["audit_files"][0]


def tamperings(lines, places, seed):
    """(what was done, index of the line, the lines) of so many places each, the last line too."""
    rng = random.Random(seed)
    spread = sorted({0, 1, len(lines) - 2, len(lines) - 1,
                     *(rng.randrange(len(lines)) for _ in range(places))})
    for at in spread:
        byte = rng.randrange(len(lines[at]))
        changed = bytearray(lines[at])
        changed[byte] ^= 1 << rng.randrange(8)
        yield "changed", at, [*lines[:at], bytes(changed), *lines[at + 1:]]
        yield "removed", at, [*lines[:at], *lines[at + 1:]]
        other = at + 1 if at + 1 < len(lines) else at - 1
        swapped = list(lines)
        swapped[at], swapped[other] = swapped[other], swapped[at]
        yield "swapped", min(at, other), swapped


def unnoticed(place, name, places, seed):
    """(tamperings that were not found, all of them) with the file of that host."""
    whole = place.file_of(name)
    code, report = verify(whole)
    if code != 0:
        raise Broken(f"{whole}: {report}")
    end = f"{report['last_audit_number']}:{report['last_digest']}"
    lines = whole.read_bytes().splitlines()
    copy = place.lab.directory / "tampered.jsonl"
    missed = count = 0
    for what, at, changed in tamperings(lines, places, seed):
        copy.write_bytes(b"\n".join(changed) + b"\n")
        # The end alone needs a copy elsewhere: the digest of the last line stands in no line.
        words = ["--noted", end] if at >= len(lines) - 1 else []
        code, report = verify(copy, *words)
        count += 1
        # A byte that became a line feed makes two lines of one.
        if code != 1 or not at + 1 <= report["wrong_line"] <= at + 2:
            missed += 1
            print(f"# {what} at line {at + 1} of {len(lines)}: exit {code}, {report}", flush=True)
    return missed, count


def audit(calls=10000, users=50, kill_s=5.0, places=100, seed=1):
    if os.geteuid() != 0:
        raise Broken("needs root: agents that answer other logins, and logins")
    with Lab(HOSTS, base_port=BASE_PORT, gpus="sim:8xH100") as lab:
        place = AuditLab(lab, users)
        place.start()
        killer = Killer(lab, kill_s)
        clients = Clients(place, seed)
        began = time.monotonic()
        clients.run(calls, killer.turn)
        took = time.monotonic() - began
        told = settle(place)
        outcomes = collections.Counter(call.outcome for call in clients.calls)
        lines = told[HOSTS[0]]
        print(f"# {took:.0f} s, {len(killer.kills)} leaders killed, {dict(outcomes)}, "
              f"{len(lines)} lines", flush=True)
        missing = missing_of(clients.calls, lines)
        wrong = wrong_of(clients.calls, lines, place.users) + differing(told)
        written = [name for name in HOSTS if place.file_of(name).exists()]
        for name in written:
            file_missing, file_wrong = file_faults(place, name, lines)
            missing, wrong = missing + file_missing, wrong + file_wrong
            code, report = verify(place.file_of(name))
            wrong += code != 0
            print(f"# {name}: {report}", flush=True)
        missed, count = unnoticed(place, written[0], places, seed)
        figure("audit_missing", missing, "count")
        figure("audit_wrong", wrong + missed, "count")
        figure("audit_lines", len(lines), "count")
        figure("audit_tamperings", count, "count")
