"""Becomes the host of a level of `bench/run escapes`, then its agent:

    escape_host.py LEVEL FOLDER SECRET -- PROGRAM [ARGUMENT]...

Its /run has the folder of a login, its /dev the usual nodes and those of GPUs without a driver. The
agent has a session keyring with a secret in it, as one that was started by hand has. To be run by
root."""

import os
import stat
import sys

sys.dont_write_bytecode = True

import deny_call  # noqa: E402
import escape_calls as calls  # noqa: E402
from escape_attempt import private_mounts  # noqa: E402

GPUS = 4
NVIDIA_MAJOR, CONTROL_MINOR = 195, 255
USUAL = {"null": (1, 3), "zero": (1, 5), "full": (1, 7), "random": (1, 8), "urandom": (1, 9),
         "tty": (5, 0), "ptmx": (5, 2)}
#: Of root's agent, where the kernel denies namespaces of processes: unshare(CLONE_NEWPID).
DENIED = ["unshare:536870912=1"]
OWN_UID, OWN_GID = 5, 60  #: "games": the agent of the level "own".


def make_nodes(folder, nodes, kind=stat.S_IFCHR):
    for name, (major, minor) in nodes.items():
        os.mknod(f"{folder}/{name}", kind | 0o666, os.makedev(major, minor))
        os.chmod(f"{folder}/{name}", 0o666)


def gpu_nodes():
    return {f"nvidia{minor}": (NVIDIA_MAJOR, minor) for minor in range(GPUS)}


def make_devices(stage, more):
    """A /dev of this process and its children alone; `more` nodes by name."""
    private_mounts()
    calls.mount("tmpfs", stage, "tmpfs", calls.MS_NOSUID, "mode=755")
    make_nodes(stage, {**USUAL, **gpu_nodes(), "nvidiactl": (NVIDIA_MAJOR, CONTROL_MINOR), **more})
    os.mkdir(f"{stage}/shm", 0o1777)
    os.chmod(f"{stage}/shm", 0o1777)
    calls.mount(stage, "/dev", None, 8192)  # MS_MOVE


def make_runtime_folders(secret):
    """One of a login, readable by all, so that only the room hides it."""
    calls.mount("tmpfs", "/run", "tmpfs", calls.MS_NOSUID | calls.MS_NODEV, "mode=755")
    os.makedirs("/run/user/5")
    with open("/run/user/5/secret", "w", encoding="ascii") as file:
        file.write(secret)


def main(words):
    level, folder, secret = words[:3]
    make_devices(f"{folder}/stage", {})
    make_runtime_folders(secret)
    calls.join_keyring()
    calls.add_key("muster-agent", secret.encode(), calls.AT_SESSION)
    if level == "own":
        os.setgroups([])
        os.setresgid(OWN_GID, OWN_GID, OWN_GID)
        os.setresuid(OWN_UID, OWN_UID, OWN_UID)
    if level == "bare":
        deny_call.deny(DENIED)
    os.execvp(words[4], words[4:])


if __name__ == "__main__":
    main(sys.argv[1:])
