#!/usr/bin/python3
"""The first process of a guest: mounts what a host has, plays benches, and switches it off.

The words behind `vm=` of the kernel's command line are the folder of the tree; `plan` in / has a
line for each bench: SECONDS NAME COMMAND... What they print goes to the console."""

import ctypes
import fcntl
import os
import pathlib
import shlex
import signal
import socket
import struct
import subprocess
import sys
import time

C = ctypes.CDLL(None, use_errno=True)
DISK = "/dev/nvme0n1"
POWER_OFF = 0x4321FEDC
SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x8913, 0x8914, 1
ENVIRONMENT = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "USER": "root",
               "LANG": "C.UTF-8"}
CONTROLLERS = {"cpu", "cpuset", "memory", "pids"}


def mount(source, at, kind, options=""):
    os.makedirs(at, exist_ok=True)
    if C.mount(source.encode(), at.encode(), kind.encode(), 0, options.encode()) != 0:
        raise OSError(ctypes.get_errno(), f"mount {at}: {os.strerror(ctypes.get_errno())}")


def make_host():
    mount("proc", "/proc", "proc")
    mount("sysfs", "/sys", "sysfs")
    mount("devtmpfs", "/dev", "devtmpfs")
    mount("devpts", "/dev/pts", "devpts", "gid=5,mode=620,ptmxmode=666")
    mount("tmpfs", "/dev/shm", "tmpfs", "mode=1777")
    mount("tmpfs", "/run", "tmpfs", "mode=755")
    mount("tmpfs", "/tmp", "tmpfs", "mode=1777")
    mount("cgroup2", "/sys/fs/cgroup", "cgroup2")
    # Pages of files in memory would count as memory of ranks.
    mount(DISK, "/var/tmp", "ext4")
    os.chmod("/var/tmp", 0o1777)
    for name, to in (("fd", "/proc/self/fd"), ("stdin", "fd/0"), ("stdout", "fd/1"),
                     ("stderr", "fd/2")):
        if not os.path.lexists(f"/dev/{name}"):
            os.symlink(to, f"/dev/{name}")
    with socket.socket() as one:
        name = struct.pack("16sH14x", b"lo", 0)
        flags = struct.unpack("16sH14x", fcntl.ioctl(one, SIOCGIFFLAGS, name))[1]
        fcntl.ioctl(one, SIOCSIFFLAGS, struct.pack("16sH14x", b"lo", flags | IFF_UP))


def play(limit_s, words, folder):
    """Its exit status; 124 = it did not end. Orphans come to this process, which waits for them."""
    child = subprocess.Popen(words, cwd=folder, env=ENVIRONMENT, stdin=subprocess.DEVNULL,
                             start_new_session=True)
    deadline = time.monotonic() + limit_s
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return 1
        if pid == child.pid:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() > deadline:
            os.killpg(child.pid, signal.SIGKILL)
            return 124
        if pid == 0:
            time.sleep(0.02)


def main():
    print("vm: begun", flush=True)
    make_host()
    command = pathlib.Path("/proc/cmdline").read_text().split()
    folder = next(word[3:] for word in command if word.startswith("vm="))
    there = set(pathlib.Path("/sys/fs/cgroup/cgroup.controllers").read_text().split())
    print(f"vm: Linux {os.uname().release}, controllers {' '.join(sorted(there))}", flush=True)
    if not CONTROLLERS <= there:
        print(f"vm: it lacks {sorted(CONTROLLERS - there)}", flush=True)
    for line in pathlib.Path("/plan").read_text().splitlines():
        limit_s, name, *words = shlex.split(line)
        print(f"vm: play {name}", flush=True)
        began = time.monotonic()
        code = play(float(limit_s), words, folder)
        print(f"vm: end {name} {code} {time.monotonic() - began:.1f}", flush=True)
    print("vm: over", flush=True)


if __name__ == "__main__":
    try:
        main()
    except BaseException as error:  # The kernel panics when its first process ends.
        print(f"vm: broken: {error!r}", flush=True)
    sys.stdout.flush()
    os.sync()
    C.reboot(POWER_OFF)
