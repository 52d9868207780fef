"""No secret is seen where it has no business: seeds of keys, of hosts and of an
administrator, and secrets of tickets and access tokens are searched for in files, logs, snapshots,
arguments, environments, answers and on the wire."""

import base64
import collections
import os
import pathlib
import socket
import stat
import struct
import subprocess
import sys
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scenarios"))

from lab import MUSTER, Failure, Lab, wait_for  # noqa: E402

BASE_PORT = int(os.environ.get("MUSTER_TEST_PORT", "7480"))
SEED_BYTES = 32
SUM_BYTES = 4
#: As a job's name, it crosses the wire from one host to another.
CANARY = "canary-5d1f0c7e2b"
ALL_FRAMES = 0x0003
SO_RCVBUFFORCE = 33
BACKLOG_BYTES = 64 << 20
#: What a membership record in id/ begins with, in front of the link seed; msgpack.
RECORD_HEAD = b"\x99\x02\xc4\x20"
#: In front of a value in id/: its form and checksum.
VALUE_HEAD_BYTES = 9
#: The identity's seed in id/. In a leaf page LMDB keeps the key between a head with both sizes and
#: the value; in a branch page it keeps the key alone.
IDENTITY_KEY = b"key/seed"
IDENTITY_LEAF = struct.pack("<HHHH", VALUE_HEAD_BYTES + SEED_BYTES, 0, 0,
                            len(IDENTITY_KEY)) + IDENTITY_KEY
BYTES_HEAD = b"\xc4\x20"
#: Of the state in raft/; there is none before there is a snapshot.
SNAPSHOT_KEY = b"raft/state"
VERBS = (["hosts"], ["quorum"], ["jobs"], ["events", "-n", "1000"], ["ticket", "list"],
         ["token", "list"], ["version"],
         ["show", "1"], ["why", "1"], ["usage"], ["hosts", "show", "a"], ["why-host", "a"])


class Capture:
    """All frames of the loopback; a context manager. `why_not` when this machine does not let us."""

    def __init__(self):
        self.frames = []
        self.why_not = ""
        self._ends = threading.Event()
        self._thread = None
        try:
            self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW,
                                         socket.htons(ALL_FRAMES))
            # What comes while the search reads files must not push out what is looked for.
            self._socket.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, BACKLOG_BYTES)
            self._socket.bind(("lo", 0))
            self._socket.settimeout(0.1)
        except OSError as error:
            self.why_not = str(error)

    def __enter__(self):
        if not self.why_not:
            self._thread = threading.Thread(target=self._read, daemon=True)
            self._thread.start()
        return self

    def __exit__(self, *_):
        self._ends.set()
        if self._thread:
            self._thread.join()
            self._socket.close()

    def _read(self):
        while not self._ends.is_set():
            try:
                self.frames.append(self._socket.recv(1 << 16))
            except TimeoutError:
                pass

    def holds(self, needle):
        return any(needle in frame for frame in list(self.frames))


def secret_of_ticket(line):
    """Its last 32 bytes but the checksum."""
    letters = line.strip().partition(".")[2]
    content = base64.urlsafe_b64decode(letters + "=" * (-len(letters) % 4))
    return content[-SUM_BYTES - SEED_BYTES:-SUM_BYTES]


def seeds_of(agent):
    """(identity seed, link seed, authority seed or nothing) as the host keeps them."""
    content = (agent.data / "id" / "data.mdb").read_bytes()
    # Old pages keep a copy each, and some of these are written over in part.
    found = collections.Counter(part[VALUE_HEAD_BYTES:VALUE_HEAD_BYTES + SEED_BYTES]
                                for part in content.split(IDENTITY_LEAF)[1:])
    if not found:
        raise Failure(f"no identity is found in id/ of {agent.name}")
    identity = found.most_common(1)[0][0]
    at = content.find(RECORD_HEAD)
    if at < 0:
        raise Failure(f"no membership record is found in id/ of {agent.name}")
    at += len(RECORD_HEAD)
    link = content[at:at + SEED_BYTES]
    at += SEED_BYTES + len(BYTES_HEAD) + SEED_BYTES  # Behind the authority's public key.
    has_seed = content[at:at + len(BYTES_HEAD)] == BYTES_HEAD
    at += len(BYTES_HEAD)
    return identity, link, content[at:at + SEED_BYTES] if has_seed else None


def forms_of(secret):
    """As people and programs write bytes."""
    plain = base64.b64encode(secret).rstrip(b"=")
    return {secret, secret.hex().encode(), secret.hex().upper().encode(), plain,
            base64.urlsafe_b64encode(secret).rstrip(b"=")}


def config_home(lab):
    return lab.directory / "config"


def admin_key(lab):
    """(seed, the lines of the key's file that hold it): OpenSSH's format has it in front of the second
    copy of the public key, and in base64 it begins anywhere."""
    lines = (config_home(lab) / "muster" / "admin_key").read_text().split("\n")
    begin = next(i for i, line in enumerate(lines) if line.startswith("-----BEGIN")) + 1
    end = next(i for i, line in enumerate(lines) if line.startswith("-----END"))
    content = base64.b64decode("".join(lines[begin:end]))
    public = (config_home(lab) / "muster" / "admin_key.pub").read_text().split()[1]
    key = base64.b64decode(public)[-SEED_BYTES:]
    at = content.rfind(key) - SEED_BYTES
    width = len(lines[begin])
    first, last = (letter * 4 // 3 // width for letter in (at, at + SEED_BYTES - 1))
    return content[at:at + SEED_BYTES], {line.encode() for line in lines[begin + first:
                                                                         begin + last + 1]}


def texts(lab):
    """(where, bytes) of everything that a host keeps, says or is started with."""
    for path in sorted(lab.directory.rglob("*")):
        if path.is_file() and path.suffix != ".ticket":
            yield str(path.relative_to(lab.directory)), path.read_bytes()
    for agent in lab.live():
        for pid in agent.pids():
            for name in ("cmdline", "environ"):
                yield f"{name} of {agent.name}", pathlib.Path(f"/proc/{pid}/{name}").read_bytes()
        for verb in VERBS:
            for more in ([], ["--json"]):
                _, out, err = agent.cli(*verb, *more)
                yield f"`muster {' '.join(verb + more)}` on {agent.name}", (out + err).encode()


def places(needles, all_texts):
    return [where for where, text in all_texts if any(needle in text for needle in needles)]


def check_modes(lab):
    """What holds secrets is its owner's alone."""
    for agent in lab.live():
        for path in [agent.data / "agent.sock", *(agent.data / "id").rglob("*"), agent.data / "id",
                     agent.data / "raft", agent.data / "state", agent.data / "grants"]:
            mode = stat.S_IMODE(path.stat().st_mode)
            if mode & 0o077:
                raise Failure(f"{path} may be used by others: {mode:o}")


def join_by_stdin(agent, line):
    done = subprocess.run([str(MUSTER), "join", "-"], input=line, text=True, capture_output=True,
                          timeout=30, env=dict(os.environ, MUSTER_DATA_DIR=str(agent.data)))
    if done.returncode != 0:
        raise Failure(f"join -: {done.stderr}")


def make_cluster(lab):
    """Three founders, one host that may not vote and joins by stdin; a job of all of them."""
    os.environ["XDG_CONFIG_HOME"] = str(config_home(lab))
    for name in "abc":
        lab[name].start()
    wait_for("a leader", lambda: (lab["a"].ask("quorum") or {}).get("leader"), 30)
    plain = wait_for("a ticket", lambda: lab["a"].cli("ticket", "--uses", "1")[1], 10)
    lab.ticket_of = lambda name: lab.directory / "none.ticket"
    lab["d"].start()
    wait_for("the agent of d", lambda: (lab["d"].data / "agent.sock").exists(), 10)
    join_by_stdin(lab["d"], plain)
    wait_for("all four", lambda: len((lab["d"].ask("hosts") or {"hosts": []})["hosts"]) == 4, 20)
    wait_for("a job of all of them", lambda: lab["a"].cli(
        "submit", "--gpus", "32", "--name", CANARY, "--", "sleep", "60")[0] == 0, 20)
    wait_for("its ranks", lambda: [job["state"] for job in (
        lab["a"].ask("jobs") or {"jobs": []})["jobs"]] == ["running"], 20)
    return plain


def use_token(lab):
    """A token that was shown to a voter and to a host that passes it on; refused ones, too."""
    code, line, err = lab["a"].cli("token", "create", "--for", "ci", "--may", "read,submit")
    if code != 0:
        raise Failure(f"token create: {err}")
    line = line.strip()
    for name in ("a", "d"):
        env = dict(os.environ, MUSTER_DATA_DIR=str(lab[name].data), MUSTER_ACCESS=line)
        wait_for(f"jobs by the token at {name}", lambda env=env: subprocess.run(
            [str(MUSTER), "jobs"], env=env, capture_output=True, timeout=30).returncode == 0, 20)
        denied = subprocess.run([str(MUSTER), "hosts", "drain", "b"], env=env, text=True,
                                capture_output=True, timeout=30)
        if denied.returncode != 4 or line in denied.stdout + denied.stderr:
            raise Failure(f"a drain by the token at {name}: {denied.returncode} {denied.stderr}")
    return line


def sign_orders(lab):
    """Orders that must carry the administrator's signature, at a voter and at a host that passes them
    on."""
    for name, user in (("a", "ann"), ("b", "ben"), ("c", "eve")):
        wait_for(f"a signed order at {name}", lambda name=name, user=user: lab[name].cli(
            "user", "add", user)[0] in (0, 7), 20)


def has_snapshot(agent):
    """Of the whole state, the job among it."""
    path = agent.data / "raft" / "data.mdb"
    content = path.read_bytes() if path.exists() else b""
    return SNAPSHOT_KEY in content and CANARY.encode() in content


def make_snapshots(lab):
    """Each voter comes to keep the whole state in place of a log, as after a compaction: a goes on
    alone from one that it makes, and sends it to the others, which take new seats."""
    if any(SNAPSHOT_KEY in (lab[name].data / "raft" / "data.mdb").read_bytes() for name in "abc"):
        raise Failure("there is a snapshot already: the search for another one is blind")
    for name in "bc":
        lab[name].kill_agent()
    wait_for("no leader", lambda: lab["a"].cli("quorum", "recover")[0] == 2, 20)
    code, _, err = lab["a"].cli("quorum", "recover", "--yes", timeout=40)
    if code != 0:
        raise Failure(f"quorum recover: {err}")
    for name in "bc":
        lab[name].start()
    for name in "abc":
        wait_for(f"a snapshot at {name}", lambda name=name: has_snapshot(lab[name]), 60)
    wait_for("answers of all", lambda: all(lab[name].ask("show", "1") for name in "abc"), 20)


def main():
    seen = []
    with Capture() as wire, Lab("abcd", base_port=BASE_PORT) as lab:
        plain = make_cluster(lab)
        token = use_token(lab)
        sign_orders(lab)
        make_snapshots(lab)
        founding = (lab.directory / "founding.ticket").read_text()
        hosts = (lab.directory / "hosts.ticket").read_text()
        check_modes(lab)
        all_texts = list(texts(lab))
        secrets = {f"the secret of the {name} ticket": (forms_of(secret_of_ticket(line)), set())
                   for name, line in (("founding", founding), ("hosts'", hosts), ("one-use", plain))}
        secrets["the secret of the access token"] = (forms_of(secret_of_ticket(token)), set())
        seed, lines = admin_key(lab)
        secrets["the administrator's key"] = (forms_of(seed) | lines, {"config/muster/admin_key"})
        authority = seeds_of(lab["a"])[2]
        for agent in lab.live():
            identity, link, its_authority = seeds_of(agent)
            home = {f"{agent.name}/id/data.mdb"}
            secrets[f"the identity seed of {agent.name}"] = (forms_of(identity), home)
            secrets[f"the link seed of {agent.name}"] = (forms_of(link), home)
            if (its_authority == authority) != (agent.name != "d"):
                raise Failure(f"the authority's secret is not with voters alone: {agent.name}")
        secrets["the authority's seed"] = (
            forms_of(authority), {f"{n}/id/data.mdb" for n in "abc"})
        for what, (needles, homes) in secrets.items():
            found = set(places(needles, all_texts))
            if not homes <= found:
                raise Failure(f"{what} is not found where it lies: the search is blind")
            seen += [f"{what}: {where}" for where in sorted(found - homes)]
            seen += [f"{what}: on the wire"] if any(map(wire.holds, needles)) else []
        for line in (founding, hosts, plain, token):
            seen += [f"a secret line: {where}" for where, text in all_texts
                     if line.strip().encode() in text]
        if not any(CANARY.encode() in text for _, text in all_texts):
            raise Failure("the job's name is nowhere: the search is blind")
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as own:
            own.sendto(b"seen:" + CANARY.encode(), ("127.0.0.1", 9))
        if wire.why_not:
            print(f"LEFT OUT: the wire is not looked at: {wire.why_not}")
            return 1 if os.environ.get("MUSTER_NO_SKIP") == "1" else 0
        wait_for("our own datagram", lambda: wire.holds(b"seen:" + CANARY.encode()), 5)
        seen += ["the name of a job: on the wire"] if any(
            CANARY.encode() in frame and b"seen:" not in frame for frame in wire.frames) else []
    print(f"secrets_seen {len(seen)}")
    print("\n".join(seen))
    return 1 if seen else 0


if __name__ == "__main__":
    sys.exit(main())
