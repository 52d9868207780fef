"""Other logins of a machine ask root's agent by the socket for all logins: they have the rights of
their user, change no host, take only their share of the agent, and nobody forgets root."""

import contextlib
import json
import os
import pathlib
import shutil
import signal
import socket
import stat
import struct
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scenarios"))

from lab import MUSTER, Failure, Lab, play, wait_for  # noqa: E402

BASE_PORT = int(os.environ.get("MUSTER_TEST_PORT", "7520"))
LEFT_OUT = 77
OTHER = 65534  #: "nobody", in the group "nogroup".
NAMELESS = 54321
DENIED = 4
NOT_FOUND = 6
DIALS = 200
SHARE = 64  #: gossip/edge/login_connections.h
TOLD_S = 10
BUSY_S = 2.0  #: So long the agent is watched,
BUSY_MAX = 0.5  #: and may use this part of a processor.


def handshake():
    """The first words of a ZeroMQ client without keys."""
    ready = b"\x05READY\x0bSocket-Type" + struct.pack(">I", 6) + b"DEALER"
    greeting = b"\xff" + bytes(7) + b"\x01\x7f\x03\x00NULL" + bytes(48)
    return greeting + bytes([4, len(ready)]) + ready


def shakes(one):
    """Whether the agent shakes hands; a connection that does not for 3 s is ended anyway."""
    heard = b""
    try:
        one.sendall(handshake())
        while len(heard) < 66 or len(heard) < 66 + heard[65]:
            more = one.recv(4096)
            if not more:
                return False
            heard += more
        return True
    except OSError:
        return False


def stays(one):
    """Whether the agent has not ended the connection."""
    one.settimeout(0.01)
    try:
        return one.recv(1) != b""
    except TimeoutError:
        return True
    except OSError:
        return False


def dialled(path, count):
    """So many connections to the socket; those that are refused are left out."""
    connections = []
    for _ in range(count):
        one = socket.socket(socket.AF_UNIX)
        one.settimeout(5)
        with contextlib.suppress(OSError):
            one.connect(str(path))
            connections.append(one)
    return connections


class Logins:
    """A lab that other logins can reach, and their CLI."""

    def __init__(self, lab):
        self.lab = lab
        lab.directory.chmod(0o711)
        self.run = lab.directory / "run"
        self.binary = lab.directory / "muster"
        shutil.copy(MUSTER, self.binary)
        self.binary.chmod(0o755)

    def command(self, *words, uid=OTHER, gid=OTHER, node=""):
        """(exit code, stdout, stderr) of one verb as that login says it."""
        environment = {"PATH": os.environ["PATH"], "HOME": "/",
                       "MUSTER_RUNTIME_DIR": str(self.run)}
        if node:
            environment["MUSTER_NODE"] = str(node)
        done = subprocess.run([str(self.binary), *words], capture_output=True, text=True, cwd="/",
                              env=environment, user=uid, group=gid, extra_groups=[], timeout=30,
                              stdin=subprocess.DEVNULL)
        return done.returncode, done.stdout, done.stderr

    def expect(self, code, *words, **login):
        """Its stdout."""
        got, out, err = self.command(*words, **login)
        if got != code:
            raise Failure(f"`muster {' '.join(words)}` of another login: exit {got}, not {code}: "
                          f"{out}{err}")
        return out

    def host(self, **login):
        """The host whose agent answers that login; nothing when none does. `version` itself always
        ends with 0."""
        node = json.loads(self.expect(0, "version", "--json", **login))["node"]
        return node and node["host"]

    @contextlib.contextmanager
    def dialler(self, path, count):
        """How many of `count` connections stay; they are kept meanwhile."""
        told, tell = os.pipe()
        ended, end = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(end)
            os.setgroups([])
            os.setgid(OTHER)
            os.setuid(OTHER)
            kept = dialled(path, count)
            shaken = [one for one in kept if shakes(one)]
            os.write(tell, f"{sum(stays(one) for one in shaken)}\n".encode())
            os.read(ended, 1)
            os._exit(0)
        os.close(tell)
        os.close(ended)
        try:
            with open(told, encoding="ascii") as lines:
                yield int(lines.readline() or -1)
        finally:
            os.close(end)
            os.waitpid(child, 0)


def mode_of(path):
    found = os.lstat(path)
    kind = ("socket" if stat.S_ISSOCK(found.st_mode) else
            "link" if stat.S_ISLNK(found.st_mode) else
            "directory" if stat.S_ISDIR(found.st_mode) else "file")
    return kind if kind == "link" else f"{kind} {stat.S_IMODE(found.st_mode):o}"


def processor_of(pid):
    """Seconds of processor time that it used."""
    words = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def is_listed(agent, name):
    return name in [host["host"] for host in (agent.ask("hosts") or {"hosts": []})["hosts"]]


@contextlib.contextmanager
def cluster(names="a"):
    with Lab(names, base_port=BASE_PORT, expect=1) as lab:
        logins = Logins(lab)
        lab.start()
        lab.check_started()
        wait_for("a leader", lambda: (lab["a"].ask("quorum") or {}).get("leader"), 30)
        for name in names:
            wait_for(f"{name}", lambda name=name: is_listed(lab["a"], name), 30)
        yield lab, logins


def rights_of_a_user():
    """Another login sees, submits in its own name, and orders nothing of root's and of the host's."""
    with cluster() as (lab, logins):
        agent = lab["a"]
        code, out, err = agent.cli("submit", "--gpus", "1", "--json", "--", "sleep", "600")
        if code != 0:
            raise Failure(f"submit: {err}")
        number = str(json.loads(out)["job_id"])
        for words in (["hosts"], ["jobs"], ["show", number], ["quorum"], ["events"]):
            logins.expect(0, *words)
        if logins.host() != "a" or logins.host(uid=NAMELESS):
            raise Failure("the wrong logins are answered")
        for words in (["leave", "--yes"], ["hosts", "drain", "a"], ["cancel", number], ["ticket"],
                      ["leave", "--yes", "--node", "a"], ["keys", "rotate", "--all"]):
            logins.expect(DENIED, *words)
        logins.expect(NOT_FOUND, "quorum", "recover", "--yes")  # No voter tells it of its log.
        own = json.loads(logins.expect(0, "submit", "--gpus", "1", "--json", "--", "true"))["job_id"]
        shown = json.loads(logins.expect(0, "show", "--json", str(own)))
        if shown["job"]["user"] != "nobody":
            raise Failure(f"its job is that of {shown['job']['user']}")
        if "no login name" not in logins.command("hosts", uid=NAMELESS)[2]:
            raise Failure("a login without a name does not hear why it is denied")
        logins.expect(DENIED, "hosts", uid=NAMELESS)
        if not agent.is_running() or agent.cli("hosts")[0] != 0:
            raise Failure("the agent is gone")


def doors():
    """The sockets have the modes that they are to have, and each agent of root has its own."""
    with cluster("ab") as (lab, logins):
        modes = {str(path): mode_of(path) for path in (
            logins.run, logins.run / "a.sock", logins.run / "b.sock", logins.run / "agent.sock",
            lab["a"].data / "agent.sock")}
        if list(modes.values()) != ["directory 755", "socket 666", "socket 666", "link",
                                    "socket 600"]:
            raise Failure(f"{modes}")
        for name in "ab":
            if logins.host(node=logins.run / f"{name}.sock") != name:
                raise Failure(f"{name}.sock does not lead to {name}")
        lab["b"].kill_agent()
        lab["b"].start()
        wait_for("b again", lambda: logins.host(node=logins.run / "b.sock") == "b", 20)
        (logins.run / "b.sock").unlink()
        wait_for("the socket again", lambda: logins.host(node=logins.run / "b.sock") == "b", 20)
        lab["b"].process.send_signal(signal.SIGTERM)
        lab["b"].process.wait(20)
        if (logins.run / "b.sock").exists() or not (logins.run / "a.sock").exists():
            raise Failure("an agent that ended took the wrong sockets along")


def floods():
    """A login that dials without end keeps its share of connections; the agent is not busy with it,
    and answers root. When it is over, that login is answered again."""
    with cluster() as (lab, logins):
        agent = lab["a"]
        path = logins.run / "a.sock"
        logins.expect(0, "hosts")
        with logins.dialler(path, DIALS) as stay:
            if not SHARE - 4 <= stay <= SHARE:
                raise Failure(f"{stay} of {DIALS} connections stay")
            for words in (["hosts"], ["jobs"]):
                if agent.cli(*words)[0] != 0:
                    raise Failure(f"{words[0]} of root is not answered")
            before = processor_of(agent.process.pid)
            time.sleep(BUSY_S)
            used = (processor_of(agent.process.pid) - before) / BUSY_S
            if used > BUSY_MAX:
                raise Failure(f"the agent uses {used:.2f} of a processor")
            wait_for("a line that counts them", lambda: "connections_refused" in
                     agent.log.read_text(), TOLD_S)
        wait_for("an answer again", lambda: logins.host() == "a", 20)


def without_a_cluster():
    """An agent without a cluster tells another login its version and obeys root alone."""
    with Lab("x", base_port=BASE_PORT + 20, expect=1) as lab:
        lab.found_soon = lambda: None
        logins = Logins(lab)
        lab["x"].start()
        wait_for("an answer", lambda: logins.host() == "x", 10)
        for words in (["hosts"], ["init"], ["join", "muster1.x"], ["leave", "--yes"]):
            code = logins.command(*words)[0]
            if code not in (DENIED, 2):
                raise Failure(f"`muster {' '.join(words)}` of another login: exit {code}")
        if lab["x"].cli("hosts")[0] != 5:
            raise Failure("the agent has changed for what another login said")


def groups():
    """With `socket_group` its members alone reach the agent; an unknown group ends the start."""
    with Lab("g", base_port=BASE_PORT + 40, expect=1) as lab:
        logins = Logins(lab)
        lab["g"].flags = {"socket_group": "nogroup"}
        lab["g"].start()
        wait_for("a socket", (logins.run / "g.sock").exists, 20)
        wait_for("an answer", lambda: logins.host() == "g", 20)
        if mode_of(logins.run / "g.sock") != "socket 660":
            raise Failure(mode_of(logins.run / "g.sock"))
        _, _, err = logins.command("hosts", gid=NAMELESS)
        if "nogroup" not in err:
            raise Failure(f"a login outside the group hears: {err}")
        logins.expect(DENIED, "hosts", gid=NAMELESS)
        lab["g"].kill_agent()
        lab["g"].flags = {"socket_group": "no-such-group"}
        lab["g"].start()
        if lab["g"].process.wait(20) != 2 or "no-such-group" not in lab["g"].log.read_text():
            raise Failure("an unknown group is no reason to stop")


def main():
    if os.geteuid() != 0:
        print("LEFT OUT: only root can be another login")
        return 1 if os.environ.get("MUSTER_NO_SKIP") == "1" else LEFT_OUT
    return 1 if play((rights_of_a_user, doors, floods, without_a_cluster, groups)) else 0


if __name__ == "__main__":
    sys.exit(main())
