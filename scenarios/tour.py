"""The README's tour, pasted as it stands there into a shell: each of its commands succeeds, and what it
leaves behind can be read by no other login."""

import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import time

from lab import MUSTER, ROOT, Failure, free_ports

HEADING = "## A tour"
#: In the README, and what stands for them here: a machine may have others.
DIRECTORY = "/tmp/m"
PORT = 7450
PORTS = 10
LIMIT_S = 240
#: A command that fails is told of; the next one is pasted all the same.
TELL = "trap 'echo \"TOUR rc=$? $BASH_COMMAND\" >&2' ERR\n"


def blocks():
    """The lines of the section that are marked to be pasted."""
    text = (ROOT / "README.md").read_text()
    section = text[text.index(f"\n{HEADING}\n") + 1:]
    section = section[:section.index("\n## ", 1)]
    found = re.findall(r"^```sh\n(.*?)^```", section, re.DOTALL | re.MULTILINE)
    if not found:
        raise Failure(f"the README has nothing to paste under '{HEADING}'")
    return "".join(found)


def agents_below(directory):
    """Processes that the paste started and that are still there."""
    pids = []
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if f"{directory}/".encode() in (entry / "cmdline").read_bytes():
                    pids.append(int(entry.name))
            except OSError:
                continue
    return [pid for pid in pids if pid != os.getpid()]


def end(directory):
    for number in (signal.SIGTERM, signal.SIGKILL):
        deadline = time.monotonic() + 10
        for pid in agents_below(directory):
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                continue
        while agents_below(directory) and time.monotonic() < deadline:
            time.sleep(0.1)


def open_to_others(directory):
    """Tickets that another login could read, were the directory open to it."""
    found = []
    for path in directory.rglob("*"):
        if path.is_file() and path.stat().st_mode & 0o077 and path.stat().st_size < 65536:
            if b"muster1." in path.read_bytes():
                found.append(path)
    return found


def tell(base_port):
    """True when all that was pasted succeeded; prints what did not."""
    home = pathlib.Path(tempfile.mkdtemp(prefix="muster-tour-"))
    directory = home / "m"
    port = free_ports(base_port, PORTS)
    text = blocks().replace(DIRECTORY, str(directory))
    for number in range(PORTS):
        text = text.replace(f":{PORT + number}", f":{port + number}")
    environment = {**os.environ, "PATH": f"{MUSTER.parent}:{os.environ['PATH']}",
                   "MUSTER_RUNTIME_DIR": str(home / "run")}
    began = time.monotonic()
    try:
        with open(home / "said", "w+b") as said:
            shell = subprocess.Popen(["bash", "--norc"], stdin=subprocess.PIPE, stdout=said,
                                     stderr=subprocess.STDOUT, cwd=ROOT, env=environment)
            shell.communicate((TELL + text).encode(), timeout=LIMIT_S)
            said.seek(0)
            lines = said.read().decode(errors="replace").splitlines()
        failed = [line for line in lines if line.startswith("TOUR rc=")]
        secrets = open_to_others(home)
        for line in lines if failed else []:
            print(f"# {line}")
        for path in secrets:
            print(f"# open to other logins: {path}")
        print(f"figure tour_ok {0 if failed or secrets else 1} of_1", flush=True)
        print(f"figure tour_failed {len(failed)} count", flush=True)
        print(f"figure tour_duration {time.monotonic() - began:.1f} s", flush=True)
        return not failed and not secrets
    finally:
        end(home)
        shutil.rmtree(home, ignore_errors=True)
