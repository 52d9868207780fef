"""Attacks on the web door: every route and method with every proof that is none, and malformed
requests by the thousand. An answer that tells or changes something, and an agent that ends, keeps
descriptors or answers an honest request no more, is what must not be."""

import base64
import json
import os
import random
import re
import shutil
import subprocess
import time

import web_bad_input
from cluster import ROOT, Broken, figure
from lab import MUSTER, Failure, Lab, wait_for
from open_doors import differences, still
from system import rss_mb
from web_client import (WRITER, Reader, answers, descriptors, give_doors, make_token,
                        request_bytes)
from web_fuzz import Judge, Thrower
from web_malformed import METHODS

BASE_PORT = 9450
DOOR_PORT = 9850
NOBODY = 65534
ROUTE = re.compile(r'\{Id::k\w+, k(\w+), "(/v1/[^"]*)"')
#: A table with fewer was not read.
ROUTES_LEAST = 40
AT_ONCE = 24
#: What the gate may say before it looks at the proof: it comes from the request alone.
REFUSED = (400, 401, 403, 404, 405, 411, 413, 414, 415, 431, 501)
CANARY = "web-canary-3e77"
#: Some things are not for any token.
NO_TOKEN = "no access token permits that"
TOKEN_HEAD = "muster-access-1."
SUM_BYTES = 4
SECRET_BYTES = 32
HONEST_S = 5
CHECK_EACH = 500
#: Beside what all bodies on their way may have.
GROWTH_MOST_MB = 256
#: Connections that are cut take a moment to be closed.
LEAVING_S = 12
CRASHES_MOST = 5
MIX = (1 << 64) - 1
#: The first bytes of the constant of XXH3, for texts of 17 to 128 bytes.
XXH3_SECRET = bytes.fromhex(
    "b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671fcb79e64eccc0e578825ad07d"
    "ccff7221b8084674f743248ee03590e6813a264c3c2852bb91c300cb88d0658b1b532ea371644897a20df94e"
    "3819ef46a9deacd8a8fa763fe39c343ff9dcbbc7c70b4f1d8a51e04bcdb45931c89f7ec9d9787364")


# Proofs.

def xxh3(text):
    """XXH3 with 64 bits, of 17 to 128 bytes."""
    def word(of, at):
        return int.from_bytes(of[at:at + 8], "little")

    def mix(at, secret_at):
        product = ((word(text, at) ^ word(XXH3_SECRET, secret_at)) *
                   (word(text, at + 8) ^ word(XXH3_SECRET, secret_at + 8)))
        return (product & MIX) ^ (product >> 64)

    size = len(text)
    total = size * 0x9E3779B185EBCA87
    for step in reversed(range((size - 1) // 32 + 1)):
        total += mix(16 * step, 32 * step) + mix(size - 16 * (step + 1), 32 * step + 16)
    total &= MIX
    total = ((total ^ (total >> 37)) * 0x165667919E3779F9) & MIX
    return total ^ (total >> 32)


def forged(line, seed):
    """A line with the same cluster and id, another secret, and a checksum that is right."""
    letters = line[len(TOKEN_HEAD):]
    content = base64.urlsafe_b64decode(letters + "=" * (-len(letters) % 4))
    plain, given = content[:-SUM_BYTES], content[-SUM_BYTES:]
    if xxh3(plain).to_bytes(8, "little")[:SUM_BYTES] != given:
        raise Broken("the checksum of a token is not understood: no token can be forged")
    plain = plain[:-SECRET_BYTES] + random.Random(seed).randbytes(SECRET_BYTES)
    made = plain + xxh3(plain).to_bytes(8, "little")[:SUM_BYTES]
    return TOKEN_HEAD + base64.urlsafe_b64encode(made).rstrip(b"=").decode()


def as_login(lab, agent, *words):
    """A verb as the login nobody says it; (exit code, stdout, stderr)."""
    lab.directory.chmod(0o711)
    binary = lab.directory / "muster"
    if not binary.exists():
        shutil.copy(MUSTER, binary)
        binary.chmod(0o755)
    done = subprocess.run(
        [str(binary), *words], capture_output=True, text=True, cwd="/", user=NOBODY, group=NOBODY,
        extra_groups=[], timeout=30, stdin=subprocess.DEVNULL,
        env={"PATH": os.environ["PATH"], "HOME": "/",
             "MUSTER_NODE": str(lab.directory / "run" / f"{agent.name}.sock")})
    return done.returncode, done.stdout, done.stderr


def order(agent, *words):
    code, out, err = agent.cli(*words)
    if code != 0:
        raise Broken(f"{' '.join(words)}: exit {code}: {err}")
    return out


def keep_keys(lab):
    """The administrator's key of a cluster that is founded from now on lies with it."""
    os.environ["XDG_CONFIG_HOME"] = str(lab.directory / "config")


def token_of_removed(lab, agent):
    """Of a user who was added, made it, and was removed; other logins are no users by then."""
    order(agent, "user", "add", "nobody")
    code, out, err = as_login(lab, agent, "token", "create", "--for", "gone", "--may",
                              "read,submit", "--json", "--force")
    if code != 0:
        raise Broken(f"token create of nobody: {err}")
    line = json.loads(out)["line"]
    order(agent, "user", "remove", "nobody")
    order(agent, "access", "set", "unix-users=none")
    return line


def time_left(agent, label):
    """Of the token with that label, in ms of cluster time; 0 if it is not listed any more."""
    tokens = json.loads(order(agent, "token", "list", "--json"))["access_tokens"]
    return max((token["ends_in_ms"] for token in tokens if token["made_for"] == label), default=0)


def make_proofs(lab, foreign):
    """({name: [(header name, value)]}, a good line): all but the last prove nothing."""
    agent = lab["a"]
    good, _ = make_token(agent, "good")
    expired, _ = make_token(agent, "expired", ttl="1s")
    revoked, name = make_token(agent, "revoked")
    order(agent, "token", "revoke", name)
    away, _ = make_token(foreign["o"], "away")
    removed = token_of_removed(lab, agent)
    wrong = good[:60] + ("A" if good[60] != "A" else "B") + good[61:]

    def bearer(line):
        return [("authorization", f"Bearer {line}")]

    proofs = {
        "none": [], "garbage": bearer("garbage"), "empty": [("authorization", "Bearer ")],
        "basic": [("authorization", "Basic cm9vdDpyb290")], "bare": [("authorization", good)],
        "cut": bearer(good[:-9]), "mistyped": bearer(wrong), "forged": bearer(forged(good, 1)),
        "expired": bearer(expired), "revoked": bearer(revoked), "foreign": bearer(away),
        "removed": bearer(removed), "twice": bearer(good) + bearer("garbage"),
        "beside": [("cookie", f"access={good}"), ("proxy-authorization", f"Bearer {good}"),
                   ("muster-access", good), ("x-forwarded-user", "root"), ("muster-uid", "0")],
        "long": bearer("A" * 5000)}
    wait_for("a token is over", lambda: time_left(agent, "expired") == 0, 30)
    return proofs, good


# Routes.

def routes():
    """[(method, path)] as the table of the product has them."""
    text = (ROOT / "agent" / "api" / "rest" / "route.cc").read_text()
    found = [(method.upper(), path) for method, path in ROUTE.findall(text)]
    if len(found) < ROUTES_LEAST:
        raise Broken(f"only {len(found)} routes were read from route.cc")
    return found


class Place:
    """A cluster of two with a job, a token and a ticket; what the routes name."""

    def __init__(self, lab):
        agent = lab["a"]
        self.lab = lab
        self.job = order(agent, "submit", "--gpus", "1", "--name", CANARY, "--", "sleep",
                         "3000").split()[1]
        _, self.token = make_token(agent, "named", "read")
        self.ticket = json.loads(order(agent, "ticket", "--json"))["ticket"]
        wait_for("the job runs", lambda: agent.ask("jobs")["jobs"][0]["state"] == "running", 20)
        self.gpu = agent.ask("gpus")["gpu_list"][0]["uuid"]

    def target(self, path):
        values = {"job": self.job, "host": "a", "rank": "0", "gpu": self.gpu, "token": self.token,
                  "ticket": self.ticket}
        return re.sub(r"\{(\w+)\}", lambda part: values[part[1]], path)

    def state(self):
        """All that must not change; {question: answer}."""
        said = {}
        for words in (("hosts",), ("jobs", "--all"), ("ticket", "list"), ("token", "list"),
                      ("user", "list"), ("queue",), ("gpus",)):
            code, out, err = self.lab["a"].cli(*words, "--json")
            if code != 0:
                raise Broken(f"{words}: {err}")
            said[" ".join(words)] = still(json.loads(out))
        return said


#: Of requests that change something: with a proof they would.
BODIES = {
    "/v1/jobs": {"command": ["sleep", "60"], "directory": "/", "gpus": 1, "name": CANARY},
    "/v1/jobs:dry-run": {"command": ["sleep", "60"], "directory": "/", "gpus": 1},
    "/v1/jobs/{job}": {"priority": 7},
    "/v1/hosts/{host}": {"may_vote": False},
    "/v1/quorum:add": {"host": "b"}, "/v1/quorum:remove": {"host": "b"},
    "/v1/quorum:transfer": {"host": "b"},
    "/v1/queues": {"queues_version": 0, "queues": [{"queue": "mine"}]},
    "/v1/users": {"users": [{"user": "mallory", "user_role": "admin"}]},
    "/v1/tokens": {"made_for": "mallory", "token_rights": ["read"]},
    "/v1/tickets": {"uses": 9}, "/v1/keys:rotate": {"all": True},
}


def unproven_requests(place, proof, good, has_all):
    """[(bytes, method)] of each path with each method; `has_all`: also with the token elsewhere."""
    made = []
    paths = sorted({path for _, path in routes()})
    for path in paths + ["/v1", "/v1/", "/metrics", "/v1/openapi.json", "/v1/../v1/jobs"]:
        target = place.target(path)
        for method in METHODS:
            fields = list(proof) + [WRITER]
            body = BODIES.get(path) if method in ("POST", "PUT", "PATCH", "BREW") else None
            content = b"" if body is None else json.dumps(body).encode()
            fields += [("content-type", "application/json")] if content else []
            queries = ["", f"?access_token={good}", f"?authorization=Bearer%20{good}&token={good}"]
            for query in queries if has_all else queries[:1]:
                made.append((request_bytes(method, target + query, fields, content), method))
    return made


def look_at(answer, name, request):
    """Whether an answer without a proof is one too many; it is told."""
    if answer is not None and answer.status in REFUSED and CANARY.encode() not in answer.body:
        return False
    line = request.split(b"\r\n")[0].decode(errors="replace")
    print(f"# {name}: {line[:80]}: " + ("no answer" if answer is None else
                                        f"{answer.status} {answer.body[:200]!r}"), flush=True)
    return True


def unproven(place, doors, proofs, good):
    """(requests, answered, told before the proof was looked at)."""
    asked = answered = told = 0
    for door in doors:
        for name, proof in proofs.items():
            requests = unproven_requests(place, proof, good, name == "none")
            for at in range(0, len(requests), AT_ONCE):
                part = requests[at:at + AT_ONCE]
                for (content, _), answer in zip(part, door.send_all(part)):
                    asked += 1
                    answered += look_at(answer, f"{door.agent.name} {name}", content)
                    told += answer is not None and answer.status not in (401, 403)
    return asked, answered, told


def seen(place, doors, good):
    """Routes of GET that answer a good token: without them the search would be blind."""
    count = 0
    for door in doors:
        door.access = good
        for method, path in routes():
            if method != "GET" and path != "/v1/jobs:dry-run":
                continue
            answer = door.request(method, place.target(path),
                                  None if method == "GET" else BODIES[path])
            is_denied = answer is None or answer.status in (401, 403)
            if is_denied and NO_TOKEN not in (answer.text() if answer else ""):
                raise Broken(f"a good token is refused at {door.agent.name} {path}: "
                             f"{answer and answer.text()}")
            count += answer.status == 200
            if answer.status != 200:
                print(f"# {door.agent.name} {method} {path}: {answer.status} {answer.text()}",
                      flush=True)
        if door.get("/v1/jobs").body.count(CANARY.encode()) == 0:
            raise Broken("a good token does not see the job: the search is blind")
        door.close()
        door.access = ""
    return count


def attack_unproven(slice):
    with Lab("ab", base_port=BASE_PORT, expect=1) as lab, \
            Lab("o", base_port=BASE_PORT + 100, expect=1) as foreign:
        doors = give_doors(lab, DOOR_PORT)
        foreign["o"].environment = {"MUSTER_HTTPS": "off"}
        keep_keys(foreign)
        foreign.start()
        wait_for("the other cluster", lambda: foreign["o"].cli("token", "list")[0] == 0, 30)
        wait_for("its keys", (foreign.directory / "hosts.ticket").exists, 30)
        keep_keys(lab)
        lab.start()
        wait_for("a ticket of hosts", (lab.directory / "hosts.ticket").exists, 30)
        wait_for("both hosts", lambda: [host["state"] for host in (
            lab["a"].ask("hosts") or {"hosts": []})["hosts"]] == ["alive"] * 2, 30)
        wait_for("both doors", lambda: all(map(answers, doors.values())), 20)
        place = Place(lab)
        proofs, good = make_proofs(lab, foreign)
        if slice:
            proofs = {name: proofs[name] for name in ("none", "forged", "revoked", "foreign")}
        chosen = list(doors.values())[::-1 if slice else 1][:1 if slice else 2]
        for door in chosen:
            door.access = good
            wait_for(f"{door.agent.name} knows the token", lambda door=door: answers(
                door, "/v1/whoami"), 20)
            door.access = ""
        before = place.state()
        asked, answered, told = unproven(place, chosen, proofs, good)
        changed = differences(before, place.state())
        for line in changed:
            print(f"# changed: {line}", flush=True)
        known = seen(place, chosen, good)
    figure("http_unproven_asked", asked, "count")
    figure("http_unproven_told", told, "count")
    figure("http_unproven_seen", known, "count")
    figure("http_unproven_answered", answered + len(changed), "count")
    return answered + len(changed)


# Malformed requests.

def answers_soon(door):
    """An honest request, within its time."""
    door.close()
    began = time.monotonic()
    try:
        with door.connect(patience=HONEST_S) as link:
            link.sendall(request_bytes("GET", "/v1/whoami", door.proof()))
            answer = Reader(link).answer()
    except OSError as error:
        print(f"# an honest request: {error!r}", flush=True)
        return False
    return answer is not None and answer.status == 200 and time.monotonic() - began < HONEST_S


def start_alone(lab):
    """The only host of a cluster, with a job; its door, which has a token."""
    door = give_doors(lab, DOOR_PORT)["a"]
    keep_keys(lab)
    lab.start()
    wait_for("a leader", lambda: (lab["a"].ask("quorum") or {}).get("leader"), 30)
    wait_for("the door", lambda: answers(door), 20)
    door.access = make_token(lab["a"])[0]
    order(lab["a"], "submit", "--gpus", "1", "--name", CANARY, "--", "sleep", "3000")
    return door


def restarted(lab, door, number):
    print(f"# the agent ended at request {number}: exit {lab['a'].process.poll()}", flush=True)
    lab["a"].start()
    wait_for("the door again", lambda: answers(door), 30)


def settled_descriptors(agent, most, seconds=LEAVING_S):
    """Its open descriptors, once no more than `most` are left, or after the time that they have."""
    try:
        wait_for("descriptors", lambda: descriptors(agent.process.pid) <= most, seconds)
    except Failure:
        pass
    return descriptors(agent.process.pid)


class Fuzz:
    """Malformed requests, with a look at the agent between them."""

    def __init__(self, lab, door, seed):
        self.lab = lab
        self.door = door
        self.thrower = Thrower(door, seed, Judge(door, CANARY))
        self.crashes = self.unanswered = self.thrown = self.growth = self.rss = 0
        self.end = None

    def run(self, requests, first, seconds):
        agent = self.lab["a"]
        # Opened once is no leak, and memory that a first look takes is no growth.
        self.thrower.throw(range(first, first + min(requests, CHECK_EACH)), self.look)
        self.thrower.forget()
        self.thrown = 0
        answers_soon(self.door)
        before = settled_descriptors(agent, 0, 1)
        self.rss = rss_mb(agent.process.pid)
        began = time.monotonic()
        self.end = began + seconds if seconds else None
        self.thrower.throw(range(first, first + requests), self.look)
        took = time.monotonic() - began
        self.revive("the last one")
        self.thrower.forget()
        self.look_at_agent("the last one")
        left = settled_descriptors(agent, before)
        self.tell(before, left, took)
        return self.crashes + max(0, left - before) + self.unanswered + self.thrower.wrong + \
            self.thrower.stuck + (self.growth > GROWTH_MOST_MB)

    def look(self, number):
        self.revive(number)
        self.thrown += 1
        if self.thrown % CHECK_EACH == 0:
            self.look_at_agent(number)
        return self.crashes < CRASHES_MOST and (self.end is None or time.monotonic() < self.end)

    def revive(self, number):
        if self.lab["a"].is_running():
            return
        self.crashes += 1
        print(f"# under way: {self.thrower.under_way()}", flush=True)
        self.thrower.forget()
        restarted(self.lab, self.door, number)

    def look_at_agent(self, number):
        if not answers_soon(self.door):
            self.unanswered += 1
            print(f"# no answer to an honest request behind {number}", flush=True)
        if self.lab["a"].is_running():
            self.growth = max(self.growth, rss_mb(self.lab["a"].process.pid) - self.rss)

    def tell(self, before, left, took):
        thrower = self.thrower
        said = ", ".join(f"{status}: {count}" for status, count in sorted(thrower.statuses.items()))
        print(f"# {thrower.answered} answers ({said}); {thrower.unsaid} connections ended without "
              f"one; {thrower.connections} connections, {thrower.reused} times one that was kept; "
              f"descriptors {before} then {left}", flush=True)
        figure("http_fuzz_requests", self.thrown, "count")
        figure("http_fuzz_speed", self.thrown / took, "1/s")
        figure("http_fuzz_growth", self.growth, "MB")
        figure("http_fuzz_busy", thrower.busy, "count")
        figure("http_fuzz_wrong", thrower.wrong, "count")
        figure("http_fuzz_stuck", thrower.stuck, "count")
        figure("http_fuzz_leaked", max(0, left - before), "count")
        figure("http_fuzz_unanswered", self.unanswered, "count")


def attack_malformed(requests, first, seed, verbose, seconds=0):
    with Lab("a", base_port=BASE_PORT, expect=1) as lab:
        door = start_alone(lab)
        wrong = web_bad_input.check(lab, door, verbose)
        broken = Fuzz(lab, door, seed).run(requests, first, seconds)
        if not lab["a"].is_running():
            raise Broken("the agent is gone")
    figure("http_bad_input_wrong", wrong, "count")
    figure("http_fuzz_crashes", broken, "count")
    return broken + wrong


def web_attack(requests=1_000_000, seed=1, first=0, proofs=1, slice=0, verbose=0, seconds=1800):
    """`first` is the number of the first malformed request; after `seconds` no more are thrown.
    With --proofs 0 they come alone."""
    if os.geteuid() != 0:
        raise Broken("only root can be another login")
    broken = attack_unproven(slice) if proofs else 0
    return broken + attack_malformed(requests, first, seed, verbose, seconds)
