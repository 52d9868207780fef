"""An attempt to leave the room of a grant, and the list of all. An attempt is a function of the
context `t`: it returns what it got hold of, which is an escape, or nothing, or raises the error
that held it. Its control is the same function in a context where it has to succeed."""

import os
import types

import escape_calls as calls

#: root's agent on a host with all abilities; an agent of a user of its own, whose ranks run as it;
#: root's agent where the kernel denies namespaces of processes.
LEVELS = ("room", "own", "bare")
SHARED_MOUNTS = {"bare": "ranks share the mounts of the host"}
ONE_USER = {"own": "all ranks run as the user of the agent, who may say all that the agent hears"}
NO_GROUPS = {"own": "only root makes control groups here"}
#: By name: (function, {level: why it claims nothing}, control).
ATTEMPTS = {}
#: Names of those that may end their grant, where its memory is watched; each has a job of its own.
ENDS_GRANT = set()


def attempt(unclaimed=None, plant=None, ends_grant=False):
    """`plant(t)` prepares the control: root on the host, in the mounts that the agent sees."""
    def enter(function):
        ATTEMPTS[function.__name__] = (function, unclaimed or {}, plant)
        if ends_grant:
            ENDS_GRANT.add(function.__name__)
        return function
    return enter


def claimed(level):
    """The names of the attempts that this level claims to hold."""
    return [name for name, (_, unclaimed, _) in ATTEMPTS.items() if level not in unclaimed]


def outcome(function, t):
    """(has it escaped, what it got or what held it)."""
    try:
        got = function(t)
    except OSError as error:
        name = error.filename if isinstance(error.filename, str) else ""
        return False, f"{os.strerror(error.errno) if error.errno else error} {name}".strip()
    return bool(got), str(got) if got else "nothing to be had"


def contents(path, size=1 << 20):
    with open(path, "rb") as file:
        return file.read(size)


def secret_of(path):
    return calls.secret_in(contents(path))


def own_space(t):
    """As root of a space of its own; a control is root already and only moves its mounts apart."""
    if t.is_control:
        private_mounts()
    else:
        calls.become_root_of_own_space()


def private_mounts():
    calls.unshare(calls.CLONE_NEWNS)
    calls.mount(None, "/", None, calls.MS_REC | calls.MS_PRIVATE)


# ---- plants ----

def in_room_of_victim(t):
    """Where the files of the victim lie, but with the rights of root."""
    if t.level == "own":  # From another user namespace its mounts are locked.
        calls.enter(t.victim, "user", calls.CLONE_NEWUSER)
        os.setresgid(t.victim_gid, t.victim_gid, t.victim_gid)
        os.setresuid(t.victim_uid, t.victim_uid, t.victim_uid)
    calls.enter(t.victim, "mnt", calls.CLONE_NEWNS)
    private_mounts()


def in_ipc_of_victim(t):
    calls.enter(t.victim, "ipc", calls.CLONE_NEWIPC)


def as_child_of_its_supervisor(t):
    t.own_supervisor = t.supervisor


def as_another_login(_):
    """On the host, without what a supervisor takes from a rank."""
    os.setgroups([])
    os.setresgid(65534, 65534, 65534)
    os.setresuid(65534, 65534, 65534)


def context_of(words):
    return types.SimpleNamespace(**words)
