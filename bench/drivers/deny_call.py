"""Starts a program under which the kernel refuses some system calls, or tells that it did them and
did nothing: to be run by root.

    deny_call.py [--keep-capabilities] CALL[:FIRST]=RESULT... -- PROGRAM [ARGUMENT]...

CALL is a name of NUMBERS, FIRST its first argument (for prctl). RESULT is an errno; 0 is the lie.
With --keep-capabilities a change of the uid leaves capabilities alone, as securebits can."""

import ctypes
import os
import platform
import struct
import sys

PR_SET_SECCOMP = 22
PR_SET_SECUREBITS = 28
SECCOMP_MODE_FILTER = 2
RET_ERRNO = 0x00050000
RET_ALLOW = 0x7FFF0000
NO_SETUID_FIXUP = 1 << 2
#: Of the classic packet filter that seccomp takes.
LOAD_WORD, JUMP_IF_EQUAL, RETURN = 0x20, 0x15, 0x06
AT_NUMBER, AT_MACHINE, AT_FIRST = 0, 4, 16
MACHINES = {"x86_64": (0xC000003E, {
    "fchown": 93, "setuid": 105, "getgroups": 115, "setgroups": 116, "setresuid": 117,
    "getresuid": 118, "setresgid": 119, "getresgid": 120, "capget": 125, "capset": 126,
    "prctl": 157, "unshare": 272}), "aarch64": (0xC00000B7, {
        "fchown": 55, "capget": 90, "capset": 91, "unshare": 97, "setuid": 146, "setresuid": 147,
        "getresuid": 148, "setresgid": 149, "getresgid": 150, "getgroups": 158, "setgroups": 159,
        "prctl": 167})}


def instruction(code, value, if_true=0, if_false=0):
    return struct.pack("=HBBI", code, if_true, if_false, value)


def filter_of(rules):
    """The program that refuses those calls and allows all others."""
    machine, numbers = MACHINES[platform.machine()]
    program = [instruction(LOAD_WORD, AT_MACHINE), instruction(JUMP_IF_EQUAL, machine, 1, 0),
               instruction(RETURN, RET_ALLOW)]
    for rule in rules:
        call, _, result = rule.partition("=")
        name, _, first = call.partition(":")
        refuse = instruction(RETURN, RET_ERRNO | int(result))
        program += [instruction(LOAD_WORD, AT_NUMBER)]
        if first:
            program += [instruction(JUMP_IF_EQUAL, numbers[name], 0, 3),
                        instruction(LOAD_WORD, AT_FIRST),
                        instruction(JUMP_IF_EQUAL, int(first), 0, 1), refuse]
        else:
            program += [instruction(JUMP_IF_EQUAL, numbers[name], 0, 1), refuse]
    return program + [instruction(RETURN, RET_ALLOW)]


def call_kernel(*words):
    numbers = [ctypes.c_ulong(word) for word in words[1:]]
    if ctypes.CDLL(None, use_errno=True).prctl(words[0], *numbers) != 0:
        raise OSError(ctypes.get_errno(), f"prctl {words[0]}")


def deny(rules):
    program = filter_of(rules)
    content = ctypes.create_string_buffer(b"".join(program))
    head = ctypes.create_string_buffer(struct.pack("@HP", len(program), ctypes.addressof(content)))
    call_kernel(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.addressof(head), 0, 0)


def main(words):
    at = words.index("--")
    rules = [word for word in words[:at] if not word.startswith("--")]
    if "--keep-capabilities" in words[:at]:
        call_kernel(PR_SET_SECUREBITS, NO_SETUID_FIXUP, 0, 0, 0)
    if rules:
        deny(rules)
    os.execvp(words[at + 1], words[at + 1:])


if __name__ == "__main__":
    main(sys.argv[1:])
