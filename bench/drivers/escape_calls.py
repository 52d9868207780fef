"""Calls of the kernel that Python has no words for, as attempts to leave a room make them. Each
raises OSError with its errno."""

import ctypes
import os
import platform
import re
import struct

LIBC = ctypes.CDLL(None, use_errno=True)
NUMBERS = {"x86_64": {"init_module": 175, "mq_open": 240, "mq_unlink": 241, "mq_timedsend": 242,
                      "mq_timedreceive": 243, "add_key": 248, "keyctl": 250,
                      "perf_event_open": 298, "bpf": 321},
           "aarch64": {"init_module": 105, "mq_open": 180, "mq_unlink": 181, "mq_timedsend": 182,
                       "mq_timedreceive": 183, "add_key": 217, "keyctl": 219,
                       "perf_event_open": 241, "bpf": 280}}[platform.machine()]
NUMBERS |= {"pidfd_send_signal": 424, "pidfd_open": 434, "clone3": 435, "pidfd_getfd": 438}
CLONE_NEWNS, CLONE_NEWIPC, CLONE_NEWUSER = 0x20000, 0x8000000, 0x10000000
MS_NOSUID, MS_NODEV, MS_REMOUNT, MS_BIND, MS_PRIVATE, MS_REC = 2, 4, 32, 4096, 1 << 18, 16384
MNT_DETACH = 2
PTRACE_PEEKDATA, PTRACE_DETACH, PTRACE_SEIZE = 2, 17, 0x4206
AT_FDCWD = -100
AT_SYMLINK_FOLLOW = 0x400
HANDLE_BYTES = 128
IPC_CREAT, IPC_RMID, SHM_RDONLY = 0o1000, 0, 0o10000
AF_PACKET, ETH_P_ALL = 17, 3
SO_PEERPIDFD = 77
TIOCSTI = 0x5412
BPF_PROG_DETACH, BPF_CGROUP_DEVICE = 9, 6
CLONE_INTO_CGROUP = 0x200000000
KEYCTL_JOIN, KEYCTL_SEARCH, KEYCTL_READ = 1, 10, 11
AT_SESSION = -3
CAP_FILE_V2_EFFECTIVE = 0x02000001
CAP_DAC_READ_SEARCH = 2
SECRET = re.compile(rb"muster-secret-[0-9a-f]{32}")


def secret_in(data):
    """The secret of a victim in those bytes, or nothing."""
    found = SECRET.search(data)
    return found.group().decode() if found else None


def checked(result, what):
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{what}: {os.strerror(code)}")
    return result


def call(name, *words):
    """A function of the C library; words are whole numbers, bytes, None or pointers."""
    function = getattr(LIBC, name)
    function.restype = ctypes.c_int
    return checked(function(*[ctypes.c_long(word) if isinstance(word, int) else word
                              for word in words]), name)


def kernel(name, *words):
    """A call of the kernel that the C library may not have."""
    LIBC.syscall.restype = ctypes.c_long
    return checked(LIBC.syscall(ctypes.c_long(NUMBERS[name]),
                                *[ctypes.c_long(word) if isinstance(word, int) else word
                                  for word in words]), name)


def mount(source, target, kind, flags=0, options=None):
    call("mount", *[word.encode() if isinstance(word, str) else word
                    for word in (source, target, kind)], flags,
         options.encode() if options else None)


def umount(target, flags=0):
    call("umount2", target.encode(), flags)


def unshare(flags):
    call("unshare", flags)


def become_root_of_own_space():
    """A user namespace and a mount namespace of its own, in which this process may do what root
    may."""
    uid, gid = os.geteuid(), os.getegid()
    unshare(CLONE_NEWUSER | CLONE_NEWNS)
    for name, text in (("setgroups", "deny"), ("uid_map", f"0 {uid} 1"), ("gid_map", f"0 {gid} 1")):
        with open(f"/proc/self/{name}", "w", encoding="ascii") as file:
            file.write(text)


def enter(pid, kind, flag):
    """The namespace of that process."""
    file = os.open(f"/proc/{pid}/ns/{kind}", os.O_RDONLY)
    try:
        call("setns", file, flag)
    finally:
        os.close(file)


def vector(address, size):
    return ctypes.create_string_buffer(struct.pack("@PN", address, size))


def memory_of(pid, address, size):
    """By process_vm_readv."""
    here = ctypes.create_string_buffer(size)
    call("process_vm_readv", pid, vector(ctypes.addressof(here), size), 1, vector(address, size), 1,
         0)
    return here.raw


def change_memory_of(pid, address, data):
    """By process_vm_writev; how many bytes went there."""
    here = ctypes.create_string_buffer(data, len(data))
    return call("process_vm_writev", pid, vector(ctypes.addressof(here), len(data)), 1,
                vector(address, len(data)), 1, 0)


def seize(pid):
    call("ptrace", PTRACE_SEIZE, pid, None, None)


def handle_of(path):
    """(type, bytes) by which the kernel finds the file, wherever it is mounted."""
    handle = ctypes.create_string_buffer(struct.pack("@Ii", HANDLE_BYTES, 0) + bytes(HANDLE_BYTES))
    place = ctypes.c_int()
    call("name_to_handle_at", AT_FDCWD, path.encode(), handle, ctypes.byref(place),
         AT_SYMLINK_FOLLOW)
    size, kind = struct.unpack_from("@Ii", handle)
    return kind, handle.raw[8:8 + size]


def open_handle(near, kind, content):
    """`near`: any folder of the same file system."""
    handle = ctypes.create_string_buffer(struct.pack("@Ii", len(content), kind) + content)
    place = os.open(near, os.O_RDONLY)
    try:
        return call("open_by_handle_at", place, handle, os.O_RDONLY)
    finally:
        os.close(place)


def shared_segment(key, flags):
    """The bytes of a segment of System V."""
    number = call("shmget", key, 0, flags)
    LIBC.shmat.restype = ctypes.c_void_p
    place = LIBC.shmat(number, None, SHM_RDONLY)
    if place in (None, ctypes.c_void_p(-1).value):
        raise OSError(ctypes.get_errno(), "shmat")
    return ctypes.string_at(place, 64)


def make_segment(key, content, mode):
    number = call("shmget", key, 4096, IPC_CREAT | mode)
    LIBC.shmat.restype = ctypes.c_void_p
    ctypes.memmove(LIBC.shmat(number, None, 0), content, len(content))
    return number


def send_message(key, content, mode):
    number = call("msgget", key, IPC_CREAT | mode)
    call("msgsnd", number, ctypes.create_string_buffer(struct.pack("@l", 1) + content),
         len(content), 0)
    return number


def received_message(key):
    number = call("msgget", key, 0)
    message = ctypes.create_string_buffer(8 + 64)
    call("msgrcv", number, message, 64, 0, 0o4000)  # IPC_NOWAIT
    return message.raw


def posix_queue(name, flags, mode=0):
    return kernel("mq_open", name.encode(), flags, mode, None)


def add_key(name, content, ring):
    return kernel("add_key", b"user", name.encode(), content, len(content), ring)


def key_named(name, ring):
    return kernel("keyctl", KEYCTL_SEARCH, ring, b"user", name.encode(), 0)


def key_content(number):
    content = ctypes.create_string_buffer(128)
    kernel("keyctl", KEYCTL_READ, number, content, 128)
    return content.raw


def join_keyring():
    """A session keyring of its own."""
    kernel("keyctl", KEYCTL_JOIN, None)


def give_capability(path):
    """A program that executes the file may read everything, where its capabilities count."""
    os.setxattr(path, "security.capability", struct.pack(
        "<5I", CAP_FILE_V2_EFFECTIVE, 1 << CAP_DAC_READ_SEARCH, 0, 0, 0))


def detach_program(group):
    """Takes the program that decides about devices from a control group."""
    folder = os.open(group, os.O_RDONLY)
    try:
        attributes = ctypes.create_string_buffer(struct.pack("@4I", folder, 0, BPF_CGROUP_DEVICE, 0)
                                                 + bytes(112))
        kernel("bpf", BPF_PROG_DETACH, attributes, 128)
    finally:
        os.close(folder)


def count_of(pid):
    """A counter of the processor's clock on that process."""
    attributes = bytearray(112)
    struct.pack_into("@IIQQQQ", attributes, 0, 1, 112, 0, 0, 0, 0)  # PERF_TYPE_SOFTWARE, CPU_CLOCK
    struct.pack_into("@Q", attributes, 40, 1 << 5)  # exclude_kernel
    return kernel("perf_event_open", ctypes.create_string_buffer(bytes(attributes)), pid, -1, -1, 0)


def child_in(group):
    """Makes a child that begins in that control group."""
    folder = os.open(group, os.O_RDONLY)
    try:
        words = ctypes.create_string_buffer(struct.pack(
            "@11Q", CLONE_INTO_CGROUP, 0, 0, 0, 17, 0, 0, 0, 0, 0, folder))
        child = kernel("clone3", words, 88)
    finally:
        os.close(folder)
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    return child
