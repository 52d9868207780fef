"""What runs in the grants of `bench/run escapes`: escape_rank.py WORD CONTEXT [NAME].

    victim   holds a secret in each place where a rank may keep one, until it is told to end
    attack   makes that attempt, or all that its level claims to hold; a line each
    list     prints what its working directory shows
    survive  leaves processes, a file and a segment behind"""

import contextlib
import ctypes
import json
import os
import pathlib
import signal
import socket
import sys

sys.dont_write_bytecode = True
#: The descriptors that it came with, before it opens anything.
INHERITED = [int(name) for name in os.listdir("/proc/self/fd") if int(name) > 2]
INHERITED = [number for number in INHERITED if os.path.exists(f"/proc/self/fd/{number}")]

import escape_calls as calls  # noqa: E402
import escapes_files  # noqa: E402, F401
import escapes_processes  # noqa: E402
from escape_attempt import ATTEMPTS, ENDS_GRANT, claimed, context_of, outcome  # noqa: E402

LIMIT_S = 20  #: Of one attempt.
LEFT_BEHIND = 60
LEFT_S = 600  #: They go by themselves, then.
LINES_MAX = 20


def tried(name, t, before=None):
    """(outcome, words): "ESCAPED", "held" or "BROKE". In a child, for it may lose what it has."""
    function, _, plant = ATTEMPTS[name]
    here, there = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(LIMIT_S)
        try:
            if before:
                before(t)
            if t.is_control and plant:
                plant(t)
            escaped, text = outcome(function, t)
            word = "ESCAPED" if escaped else "held"
        except BaseException as error:  # It must not go on as another copy of this program.
            word, text = "BROKE", repr(error)
        os.write(there, json.dumps([word, text[:200]]).encode())
        os._exit(0)
    os.close(there)
    with open(here, "rb") as file:
        answer = file.read()
    os.waitpid(child, 0)
    return json.loads(answer) if answer else ["BROKE", "it ended without a word"]


def attack(t):
    t.is_control = False
    t.own_supervisor = os.getppid()
    t.inherited = INHERITED
    alone = sys.argv[3:]
    for name in alone or [name for name in claimed(t.level) if name not in ENDS_GRANT]:
        word, text = tried(name, t)
        print(word, name, text.replace("\n", " "), flush=True)
    if alone:
        return
    print("SHARED abstract_sockets", escapes_processes.abstract_socket(t) or "not reached",
          flush=True)
    print("DONE all attempts", flush=True)


def write_file(path, content, mode):
    with open(path, "wb", opener=lambda name, flags: os.open(name, flags, mode)) as file:
        file.write(content)
    os.chmod(path, mode)


class Belongings:
    """The places of a victim's secret. Those that outlive a process go again with close()."""

    def __init__(self, t, secret):
        self.memory = ctypes.create_string_buffer(secret)
        self.scratch = ctypes.create_string_buffer(64)
        self.files = {t.open_file: 0o644, t.closed_file: 0o600, t.shared_file: 0o644}
        self.t = t
        for path, mode in self.files.items():
            write_file(path, secret, mode)
        self.segments = [calls.make_segment(t.closed_key, secret, 0o600),
                         calls.make_segment(t.open_key, secret, 0o666)]
        self.messages = [calls.send_message(t.open_key, secret, 0o666) for _ in range(4)][0]
        calls.posix_queue(t.queue, os.O_CREAT | os.O_RDWR, 0o666)
        calls.join_keyring()
        self.key = calls.add_key("muster-secret", secret, calls.AT_SESSION)
        self.sockets = [listening(t.socket), listening("\0" + t.abstract)]
        os.chmod(t.socket, 0o666)

    def close(self):
        for path in (*self.files, self.t.socket):
            with contextlib.suppress(OSError):
                os.unlink(path)
        for number in self.segments:
            calls.call("shmctl", number, calls.IPC_RMID, None)
        calls.call("msgctl", self.messages, calls.IPC_RMID, None)
        calls.kernel("mq_unlink", self.t.queue.encode())


def listening(path):
    one = socket.socket(socket.AF_UNIX)
    one.bind(path)
    one.listen(16)
    return one


def victim(t):
    os.umask(0)
    secret = os.environ["MUSTER_SECRET"].encode()
    own = Belongings(t, secret)
    print(secret.decode(), flush=True)
    told = {"address": ctypes.addressof(own.memory), "scratch": ctypes.addressof(own.scratch),
            "key": own.key}
    place = pathlib.Path(t.folder) / "open" / "victim.json"
    write_file(place.with_suffix(".new"), json.dumps(told).encode(), 0o644)
    place.with_suffix(".new").rename(place)
    signal.signal(signal.SIGURG, lambda *_: None)
    ending = {signal.SIGTERM, signal.SIGINT}
    signal.pthread_sigmask(signal.SIG_BLOCK, ending)
    signal.sigwait(ending)
    own.close()


def list_folder(_):
    """Of the job's directory and of the one above it: names, and a secret."""
    for folder in (".", ".."):
        with contextlib.suppress(OSError):
            print(folder, *os.listdir(folder)[:LINES_MAX], flush=True)
    with contextlib.suppress(OSError):
        print(pathlib.Path("secret").read_text(), flush=True)


def leave_behind(t):
    """Processes of sessions of their own, with other parents, that ignore TERM; a file; memory."""
    here, there = os.pipe()
    for _ in range(LEFT_BEHIND):
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                signal.signal(signal.SIGTERM, signal.SIG_IGN)
                os.execv("/bin/sleep", [t.mark, str(LEFT_S)])
            os._exit(0)
    os.close(there)
    os.read(here, 1)  # Its end comes when all of them carry the mark.
    write_file(t.left_file, b"left", 0o644)
    calls.make_segment(t.left_key, b"left", 0o666)


WORDS = {"victim": victim, "attack": attack, "list": list_folder, "survive": leave_behind}

if __name__ == "__main__":
    WORDS[sys.argv[1]](context_of(json.loads(pathlib.Path(sys.argv[2]).read_text())))
