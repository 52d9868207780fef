"""Attempts to leave a room by way of other processes, by what processes share, and by sockets."""

import contextlib
import os
import resource
import select
import signal
import socket
import struct
import subprocess

import escape_calls as calls
from escape_attempt import (ONE_USER, SHARED_MOUNTS, as_child_of_its_supervisor, attempt, contents,
                            in_ipc_of_victim, in_room_of_victim, own_space, secret_of)

SOON_S = 0.3


# ---- the rank of another grant ----

@attempt()
def environment_of_rank(t):
    return secret_of(f"/proc/{t.victim}/environ")


@attempt()
def environment_of_anybody(_):
    """By looking at all processes that are to be seen."""
    for name in os.listdir("/proc"):
        if name.isdigit() and int(name) != os.getpid():
            try:
                found = secret_of(f"/proc/{name}/environ")
            except OSError:
                continue
            if found:
                return found
    return None


@attempt(SHARED_MOUNTS)
def sight_of_rank(t):
    return os.stat(f"/proc/{t.victim}").st_uid == t.victim_uid and "it is seen"


@attempt()
def memory_file_of_rank(t):
    with open(f"/proc/{t.victim}/mem", "rb", buffering=0) as file:
        file.seek(t.address)
        return calls.secret_in(file.read(64))


@attempt()
def memory_of_rank(t):
    return calls.secret_in(calls.memory_of(t.victim, t.address, 64))


@attempt()
def change_of_memory(t):
    return calls.change_memory_of(t.victim, t.scratch, b"changed")


@attempt()
def trace_of_rank(t):
    calls.seize(t.victim)
    return "it is traced"


@attempt()
def trace_as_root_of_space(t):
    own_space(t)
    calls.seize(t.victim)
    return "it is traced"


@attempt()
def signal_to_rank(t):
    os.kill(t.victim, signal.SIGURG)
    return "it took the signal"


@attempt()
def signal_as_root_of_space(t):
    own_space(t)
    os.kill(t.victim, signal.SIGURG)
    return "it took the signal"


@attempt()
def descriptor_of_rank(t):
    process = calls.kernel("pidfd_open", t.victim, 0)
    return calls.kernel("pidfd_getfd", process, 1, 0) >= 0 and "its output"


@attempt()
def open_files_of_rank(t):
    folder = f"/proc/{t.victim}/fd"
    found = []
    for name in os.listdir(folder):
        with contextlib.suppress(FileNotFoundError):  # It was closed since.
            found.append(os.readlink(f"{folder}/{name}"))
    return found


@attempt()
def root_of_rank(t):
    return secret_of(f"/proc/{t.victim}/root{t.closed_file}")


@attempt()
def mounts_of_rank(t):
    calls.enter(t.victim, "mnt", calls.CLONE_NEWNS)
    return "its mounts"


def as_its_user(t):
    os.setgroups([])
    os.setresgid(t.victim_gid, t.victim_gid, t.victim_gid)
    os.setresuid(t.victim_uid, t.victim_uid, t.victim_uid)


@attempt(plant=as_its_user)
def limits_of_rank(t):
    return resource.prlimit(t.victim, resource.RLIMIT_CORE)


@attempt()
def priority_of_rank(t):
    os.setpriority(os.PRIO_PROCESS, t.victim, os.getpriority(os.PRIO_PROCESS, t.victim))
    return "it is set"


@attempt()
def processors_of_rank(t):
    os.sched_setaffinity(t.victim, os.sched_getaffinity(t.victim))
    return "they are set"


@attempt()
def counter_of_rank(t):
    return calls.count_of(t.victim)


# ---- supervisors and the agent ----

def with_one_that_may_end(t):
    t.own_supervisor = subprocess.Popen(["sleep", "60"]).pid


@attempt(plant=with_one_that_may_end)
def death_of_own_supervisor(t):
    watched = calls.kernel("pidfd_open", t.own_supervisor, 0)
    os.kill(t.own_supervisor, signal.SIGKILL)
    return select.select([watched], [], [], SOON_S)[0] and "it is dead"


@attempt(plant=as_child_of_its_supervisor)
def trace_of_own_supervisor(t):
    calls.seize(t.own_supervisor)
    return "it is traced"


@attempt(plant=as_child_of_its_supervisor)
def memory_of_own_supervisor(t):
    with open(f"/proc/{t.own_supervisor}/mem", "rb", buffering=0):
        return "it is open"


@attempt(plant=as_child_of_its_supervisor)
def environment_of_own_supervisor(t):
    return contents(f"/proc/{t.own_supervisor}/environ")


@attempt(plant=as_child_of_its_supervisor)
def folder_of_own_supervisor(t):
    """Its working directory lies in DATA, below what hides DATA."""
    return os.listdir(f"/proc/{t.own_supervisor}/cwd/..")


@attempt(plant=as_child_of_its_supervisor)
def open_files_of_own_supervisor(t):
    folder = f"/proc/{t.own_supervisor}/fd"
    return [os.readlink(f"{folder}/{name}") for name in os.listdir(folder)]


@attempt(plant=as_child_of_its_supervisor)
def descriptor_of_own_supervisor(t):
    process = calls.kernel("pidfd_open", t.own_supervisor, 0)
    return [calls.kernel("pidfd_getfd", process, number, 0) for number in range(3)]


@attempt()
def signal_to_supervisor(t):
    os.kill(t.supervisor, signal.SIGURG)
    return "it took the signal"


@attempt()
def mounts_of_supervisor(t):
    calls.enter(t.supervisor, "mnt", calls.CLONE_NEWNS)
    return "its mounts"


@attempt()
def signal_to_agent(t):
    os.kill(t.agent, signal.SIGURG)
    return "it took the signal"


@attempt()
def memory_of_agent(t):
    with open(f"/proc/{t.agent}/mem", "rb", buffering=0):
        return "it is open"


@attempt()
def process_behind_socket(t):
    """The kernel hands out a descriptor of the process that listens, whatever its number is."""
    with socket.socket(socket.AF_UNIX) as one:
        one.connect(t.door)
        process = struct.unpack("@i", one.getsockopt(socket.SOL_SOCKET, calls.SO_PEERPIDFD, 4))[0]
        return calls.kernel("pidfd_getfd", process, 2, 0) >= 0 and "its log"


@attempt()
def signal_behind_socket(t):
    with socket.socket(socket.AF_UNIX) as one:
        one.connect(t.door)
        process = struct.unpack("@i", one.getsockopt(socket.SOL_SOCKET, calls.SO_PEERPIDFD, 4))[0]
        calls.kernel("pidfd_send_signal", process, signal.SIGURG, None, 0)
        return "it took the signal"


def with_an_open_file(t):
    t.inherited = [os.dup(0)]


@attempt(plant=with_an_open_file)
def inherited_descriptors(t):
    """All that a rank has beyond its three streams."""
    return t.inherited


# ---- what processes share ----

@attempt(plant=in_ipc_of_victim)
def closed_segment(t):
    return calls.secret_in(calls.shared_segment(t.closed_key, calls.SHM_RDONLY))


@attempt(SHARED_MOUNTS, plant=in_ipc_of_victim)
def open_segment(t):
    return calls.secret_in(calls.shared_segment(t.open_key, calls.SHM_RDONLY))


@attempt(SHARED_MOUNTS, plant=in_ipc_of_victim)
def message_queue(t):
    return calls.secret_in(calls.received_message(t.open_key))


@attempt(SHARED_MOUNTS, plant=in_ipc_of_victim)
def posix_message_queue(t):
    return calls.posix_queue(t.queue, os.O_RDONLY)


def with_the_keys_of_agent(t):
    calls.join_keyring()
    calls.add_key("muster-agent", t.secret.encode(), calls.AT_SESSION)


@attempt(plant=with_the_keys_of_agent)
def keys_of_agent(_):
    """The session keyring of the agent, as its parent left it."""
    return calls.secret_in(calls.key_content(calls.key_named("muster-agent", calls.AT_SESSION)))


def with_the_key_of_rank(t):
    calls.join_keyring()
    t.key = calls.add_key("muster-secret", t.secret.encode(), calls.AT_SESSION)


@attempt(plant=with_the_key_of_rank)
def key_of_rank(t):
    """A key in the session keyring of the victim, by its number."""
    return calls.secret_in(calls.key_content(t.key))


# ---- sockets ----

def dialled(path):
    with socket.socket(socket.AF_UNIX) as one:
        one.connect(path)
        return "it is answered"


@attempt(SHARED_MOUNTS, plant=in_room_of_victim)
def socket_of_rank(t):
    return dialled(t.socket)


@attempt()
def socket_of_supervisor(t):
    return dialled(f"{t.data}/grants/{t.token}/sock")


@attempt(ONE_USER)
def socket_of_root(t):
    return dialled(f"{t.data}/agent.sock")


def muster(t, *words):
    """The output of a verb that was obeyed."""
    done = subprocess.run([t.muster, *words], capture_output=True, timeout=20, check=False,
                          stdin=subprocess.DEVNULL, env={"PATH": os.environ["PATH"],
                                                         "USER": t.victim_login,
                                                         "LOGNAME": t.victim_login,
                                                         "MUSTER_USER": t.victim_login,
                                                         "MUSTER_NODE": t.door})
    if done.returncode != 0:
        raise OSError(None, f"exit {done.returncode} " + done.stderr.decode().strip()[:80])
    return done.stdout


@attempt(ONE_USER)
def order_to_cancel(t):
    return muster(t, "cancel", t.held_job, "--yes")


@attempt(ONE_USER)
def order_to_resume(t):
    return muster(t, "resume", t.other_held_job)


@attempt(ONE_USER)
def order_to_drain(t):
    return muster(t, "hosts", "drain", "a")


@attempt(ONE_USER)
def output_by_the_agent(t):
    return calls.secret_in(muster(t, "logs", t.job))


@attempt(ONE_USER)
def environment_by_the_agent(t):
    return calls.secret_in(muster(t, "show", "--json", t.job))


def abstract_socket(t):
    """Shared, for the network is: it is told, and no escape."""
    try:
        return dialled("\0" + t.abstract)
    except OSError:
        return None

