"""Attempts to leave a room by way of files, mounts, devices and the kernel's own settings."""

import contextlib
import errno
import fcntl
import os
import pty
import resource
import socket
import stat
import subprocess

import escape_calls as calls
from escape_attempt import (NO_GROUPS, SHARED_MOUNTS, as_another_login, attempt, contents,
                            in_room_of_victim, own_space, private_mounts, secret_of)

NO_RULES = {"own": "only root loads programs that decide about devices"}
MEGABYTE = 1 << 20
LOOKED_AT_MAX = 20000  #: Files of /sys, and of /proc/sys.
NVIDIA_MAJOR = 195
#: The kernel let the call through; there is no driver behind the node.
REACHED = (0, errno.ENXIO)


def opened(path, flags=os.O_RDWR):
    """Whether the kernel lets it through to the driver."""
    try:
        os.close(os.open(path, flags))
    except OSError as error:
        if error.errno not in REACHED:
            raise
    return f"{path} is open"


# ---- files of the host and of other grants ----

@attempt()
def grants_listed(t):
    return os.listdir(f"{t.data}/grants")


@attempt()
def output_of_rank(t):
    return secret_of(f"{t.data}/grants/{t.token}/rank-0.log")


@attempt()
def room_of_rank(t):
    return opened(f"{t.data}/grants/{t.token}/room", os.O_WRONLY)


@attempt()
def keys_of_host(t):
    return contents(f"{t.data}/id/data.mdb", 64)


@attempt(SHARED_MOUNTS, plant=in_room_of_victim)
def temporary_file(t):
    return secret_of(t.open_file)


@attempt(plant=in_room_of_victim)
def closed_temporary_file(t):
    return secret_of(t.closed_file)


@attempt(SHARED_MOUNTS, plant=in_room_of_victim)
def file_of_shared_memory(t):
    return secret_of(t.shared_file)


@attempt({**SHARED_MOUNTS, "own": "it is a folder of the ranks' own user"})
def runtime_folder(_):
    return secret_of("/run/user/5/secret")


def by_handle(t):
    return calls.secret_in(os.read(calls.open_handle("/var/tmp", t.handle_kind,
                                                     bytes.fromhex(t.handle)), 65536))


@attempt()
def handle_of_output(t):
    """The kernel opens a file by its number, wherever it is mounted."""
    return by_handle(t)


@attempt()
def handle_as_root_of_space(t):
    own_space(t)
    return by_handle(t)


@attempt()
def passwords(_):
    return contents("/etc/shadow", 64)


# ---- becoming more ----

def printed_by(*command):
    return subprocess.run(command, capture_output=True, check=True,
                          stdin=subprocess.DEVNULL).stdout


@attempt(plant=as_another_login)
def setuid_file(t):
    return b"euid=0" in printed_by(f"{t.folder}/as_root") and "it runs as root"


@attempt(plant=as_another_login)
def setgid_file(t):
    return b"egid=42" in printed_by(f"{t.folder}/as_group") and "it has the group of passwords"


@attempt(plant=as_another_login)
def capable_file(t):
    return subprocess.run([f"{t.folder}/reads_all", "/etc/shadow"], capture_output=True,
                          check=False).stdout[:4]


@attempt()
def user_of_root(_):
    os.setresuid(0, 0, 0)
    return "it is root"


@attempt()
def groups_of_root(_):
    os.setgroups([0, 6])
    return "it has the groups"


@attempt()
def another_root(t):
    os.chroot(t.folder)
    return "its root is another"


@attempt()
def real_time(_):
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    return "it is scheduled first"


@attempt()
def higher_priority(_):
    return os.nice(-5) < 0 and "it is nicer to itself"


# ---- mounts of the room ----

@attempt(SHARED_MOUNTS, plant=in_room_of_victim)
def data_uncovered(t):
    calls.umount(t.data, calls.MNT_DETACH)
    return os.listdir(t.data)


@attempt(SHARED_MOUNTS, plant=in_room_of_victim)
def data_uncovered_as_root_of_space(t):
    own_space(t)
    calls.umount(t.data, calls.MNT_DETACH)
    return os.listdir(t.data)


@attempt(SHARED_MOUNTS, plant=in_room_of_victim)
def data_beside_its_cover(t):
    """A bind that leaves out what is mounted below."""
    own_space(t)
    calls.mount(t.folder, "/tmp", None, calls.MS_BIND)
    return os.listdir("/tmp/a/grants")


@attempt(SHARED_MOUNTS, plant=in_room_of_victim)
def data_below_an_overlay(t):
    own_space(t)
    calls.mount("tmpfs", "/tmp", "tmpfs", 0)
    for name in ("up", "work", "seen"):
        os.mkdir(f"/tmp/{name}")
    calls.mount("overlay", "/tmp/seen", "overlay", 0,
                f"lowerdir={t.folder},upperdir=/tmp/up,workdir=/tmp/work")
    return os.listdir("/tmp/seen/a/grants")


@attempt(SHARED_MOUNTS, plant=in_room_of_victim)
def host_below_its_tmp(_):
    calls.umount("/tmp", calls.MNT_DETACH)
    return "the host's /tmp is there"


@attempt(SHARED_MOUNTS, plant=in_room_of_victim)
def larger_tmp(_):
    calls.mount(None, "/tmp", None, calls.MS_REMOUNT, "size=10g")
    return "it holds 10 GiB"


@attempt(SHARED_MOUNTS, plant=in_room_of_victim)
def larger_tmp_as_root_of_space(t):
    own_space(t)
    calls.mount(None, "/tmp", None, calls.MS_REMOUNT, "size=10g")
    return "it holds 10 GiB"


@attempt(plant=lambda t: private_mounts())
def another_proc(t):
    """That of the host, in a space of its own."""
    own_space(t)
    calls.mount("proc", "/proc", "proc", 0)
    return os.path.exists(f"/proc/{t.victim}") and "the host's processes"


@attempt()
def another_sys(t):
    own_space(t)
    calls.mount("sysfs", "/mnt", "sysfs", 0)
    return "a /sys of its own"


@attempt()
def groups_mounted(t):
    own_space(t)
    calls.mount("cgroup2", "/mnt", "cgroup2", 0)
    return os.access("/mnt/cgroup.procs", os.W_OK) and "control groups that it may change"


@attempt()
def disk_mounted(t):
    """An image as a file system: its bytes would meet the kernel's parser."""
    own_space(t)
    try:
        calls.mount(f"{t.folder}/nodes/disk", "/mnt", "ext4", 0)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.EIO, errno.ENXIO):
            raise
    return "the kernel read it"


# ---- devices ----

@attempt()
def gpu_by_path(t):
    return opened(f"/dev/nvidia{t.gpu}")


@attempt(NO_RULES)
def gpu_left_open(t):
    """A node that lies about, open to everybody."""
    return opened(f"{t.folder}/nodes/nvidia{t.gpu}")


@attempt(NO_RULES)
def kernel_log_left_open(t):
    return opened(f"{t.folder}/nodes/kmsg", os.O_RDONLY)


@attempt(NO_RULES)
def disk_left_open(t):
    return opened(f"{t.folder}/nodes/disk", os.O_RDONLY)


@attempt()
def gpu_through_supervisor(t):
    return opened(f"/proc/{t.own_supervisor}/root/dev/nvidia{t.gpu}")


@attempt()
def gpu_through_rank(t):
    return opened(f"/proc/{t.victim}/root/dev/nvidia{t.gpu}")


def made_node(t, folder):
    path = f"{folder}/node-{os.getpid()}"
    os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(NVIDIA_MAJOR, t.gpu))
    try:
        return opened(path)
    finally:
        os.unlink(path)


@attempt()
def gpu_by_node(t):
    return made_node(t, f"{t.folder}/open")


@attempt()
def gpu_by_node_as_root_of_space(t):
    own_space(t)
    return made_node(t, f"{t.folder}/open")


@attempt()
def all_devices_mounted(t):
    own_space(t)
    calls.mount("devtmpfs", "/mnt", "devtmpfs", 0)
    return "the host's /dev"


@attempt(NO_RULES)
def memory_left_open(t):
    return opened(f"{t.folder}/nodes/mem", os.O_RDONLY)


def with_a_terminal(_):
    private_mounts()
    os.mkdir("/dev/pts")
    calls.mount("devpts", "/dev/pts", "devpts", 0, "newinstance,ptmxmode=0666")
    child, _fd = pty.fork()
    if child != 0:
        os._exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))


@attempt(plant=with_a_terminal)
def words_into_terminal(_):
    with open("/dev/tty", "rb", buffering=0) as terminal:
        fcntl.ioctl(terminal, calls.TIOCSTI, b"\n")
        return "they are typed"


# ---- control groups ----

def own_group():
    for line in contents("/proc/self/cgroup").decode().splitlines():
        if line.startswith("0::"):
            return line[3:]
    raise OSError(errno.ENOENT, "no control group")


@attempt(NO_GROUPS)
def leaving_its_group(t):
    with open(f"{t.groups}/cgroup.procs", "w", encoding="ascii") as file:
        file.write("0")
    return own_group()


@attempt(NO_GROUPS)
def joining_a_group(t):
    with open(f"{t.victim_group}/cgroup.procs", "w", encoding="ascii") as file:
        file.write("0")
    return own_group()


@attempt(NO_GROUPS)
def child_in_a_group(t):
    return calls.child_in(t.victim_group)


@attempt(NO_GROUPS)
def death_by_group(t):
    return opened(f"{t.victim_group}/cgroup.kill", os.O_WRONLY)


@attempt(NO_GROUPS)
def stop_by_group(t):
    return opened(f"{t.victim_group}/cgroup.freeze", os.O_WRONLY)


def with_a_group(t):
    t.own_group = f"{t.groups}/escape-{os.getpid()}"
    os.mkdir(t.own_group)


@attempt(NO_GROUPS, plant=with_a_group)
def rules_detached(t):
    group = getattr(t, "own_group", "") or t.groups + own_group()
    try:
        calls.detach_program(group)
    except OSError as error:
        if error.errno != errno.ENOENT:
            raise
    finally:
        if t.is_control:
            os.rmdir(group)
    return "the kernel looked for the program"


# ---- the kernel's settings ----

def files_below(folder, left_out=()):
    """At most LOOKED_AT_MAX of them."""
    left = LOOKED_AT_MAX
    for place, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if f"{place}/{name}" not in left_out]
        for name in names[:left]:
            if not os.path.islink(f"{place}/{name}"):
                yield f"{place}/{name}"
        left -= min(left, len(names))


def opens(path):
    with contextlib.suppress(OSError):
        os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK))
        return True
    return False


def takes_its_own_words(path):
    """Some files open to everybody, and ask at each word."""
    with contextlib.suppress(OSError):
        value = contents(path, 4096)
        with open(path, "wb", buffering=0) as file:
            return file.write(value) > 0
    return False


@attempt()
def settings_of_devices(_):
    left_out = ("/sys/fs", "/sys/kernel/debug", "/sys/kernel/tracing")
    return next(filter(opens, files_below("/sys", left_out)), None)


@attempt()
def settings_of_kernel(_):
    return next((path for path in files_below("/proc/sys")
                 if opens(path) and takes_its_own_words(path)), None)


@attempt()
def program_of_cores(_):
    return opened("/proc/sys/kernel/core_pattern", os.O_WRONLY)


@attempt()
def log_of_kernel(_):
    """By syslog(2); /proc/sys/kernel/dmesg_restrict decides on it."""
    return calls.call("klogctl", 10, None, 0)


@attempt()
def name_of_host(_):
    socket.sethostname(socket.gethostname())
    return "it is set"


@attempt()
def swap(_):
    try:
        calls.call("swapon", b"/nonexistent", 0)
    except OSError as error:
        if error.errno != errno.ENOENT:
            raise
    return "the kernel looked for the file"


@attempt()
def frames_of_network(_):
    with socket.socket(calls.AF_PACKET, socket.SOCK_RAW, socket.htons(calls.ETH_P_ALL)):
        return "all frames of the host"


# ---- too much of something ----

def with_a_large(place):
    def plant(_):
        private_mounts()
        calls.mount("tmpfs", place, "tmpfs", 0, "size=1g,mode=1777")
    return plant


def filled(t, place):
    """More than the memory of its grant."""
    path = f"{place}/full-{os.getpid()}"
    block = bytes(MEGABYTE)
    try:
        with open(path, "wb", buffering=0) as file:
            for _ in range(t.memory_mb + 2):
                if file.write(block) < MEGABYTE:
                    raise OSError(errno.ENOSPC, "less was taken", path)
    finally:
        with contextlib.suppress(OSError):
            os.unlink(path)
    return f"{t.memory_mb + 2} MiB"


@attempt(SHARED_MOUNTS, plant=with_a_large("/tmp"), ends_grant=True)
def too_much_in_tmp(t):
    return filled(t, "/tmp")


@attempt(SHARED_MOUNTS, plant=with_a_large("/dev/shm"), ends_grant=True)
def too_much_in_shared_memory(t):
    return filled(t, "/dev/shm")


@attempt(SHARED_MOUNTS, plant=with_a_large("/dev"), ends_grant=True)
def too_much_in_dev(t):
    return filled(t, "/dev")


@attempt(SHARED_MOUNTS, plant=with_a_large("/tmp"), ends_grant=True)
def too_many_files(t):
    """One file for each page that the grant has, and more."""
    os.mkdir("/tmp/many")
    count = t.memory_mb * MEGABYTE // 4096 + 1024
    try:
        for number in range(count):
            os.close(os.open(f"/tmp/many/{number}", os.O_CREAT | os.O_WRONLY))
    finally:
        subprocess.run(["rm", "-rf", "/tmp/many"], check=False)
    return f"{count} files"
