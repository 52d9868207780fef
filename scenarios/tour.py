"""The README's tour, played: each command of its `console` blocks is typed into one shell and must
succeed, and its output must have the shape of the lines below it there. The tour leaves no file with a
secret that another login could read. `--write 1` puts this run's output where the shape differs.

Shape: ids, times, places in the log, names of hosts and runs of blanks may differ, and so may the
order of lines; other numbers may not. A line `...`, at most one below a command, stands for any lines."""

import getpass
import os
import pathlib
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from lab import MUSTER, ROOT, Failure, free_ports

#: The documents with blocks to play, each from a heading to the next one of its level.
PLAYED = [("README.md", "## A tour of five minutes")]
#: In the README, and what stands for them here: a machine may have others.
DIRECTORY = "/tmp/m"
PORT = 7450
PORTS = 10
STEP_LIMIT_S = 90
MARK = "tour-mark-7c1f"


class Step:
    """One command and what the document says that it prints."""

    def __init__(self, path, line, command):
        self.path, self.line, self.command = path, line, command
        self.expected = []


def blocks_of(text, heading):
    """(line index, lines) of each console block of the section."""
    lines = text.splitlines()
    begin = lines.index(heading)
    level = heading.split()[0] + " "
    end = next((i for i in range(begin + 1, len(lines)) if lines[i].startswith(level)), len(lines))
    found, at = [], begin
    while at < end:
        if lines[at] == "```console":
            close = lines.index("```", at)
            found.append((at + 1, lines[at + 1:close]))
            at = close
        at += 1
    return found


def steps_of(path, heading):
    steps = []
    for first, lines in blocks_of((ROOT / path).read_text(), heading):
        for index, line in enumerate(lines):
            if line.startswith("$ "):
                steps.append(Step(path, first + index, line[2:]))
            elif line.startswith("> ") and steps and not steps[-1].expected:
                steps[-1].command += "\n" + line[2:]
            elif steps:
                steps[-1].expected.append(line)
    if not steps:
        raise Failure(f"{path} has nothing to play under '{heading}'")
    return steps


#: May differ between two runs, the longer forms first. Other numbers are compared.
WORDS = [(re.compile(pattern), word) for pattern, word in (
    (r"\s+", " "),
    (r"\b[0-9a-f]{8,}\b", "ID"),
    (r"\b(\d+d)?(\d+h)?(\d+m)?\d+(\.\d+)?(ms|us|s|m|h|d)\b", "SPAN"),
    (r"\b\d+ s\b", "SPAN"),
    (r"\b(term|commit|applied|step) \d+", r"\1 N"),
    (r"\bsum=\d+", "sum=N"),
    (r"\b[a-e]\b(,\s?[a-e]\b)*", "HOST"),
    (r"\b(leader|voter)$", "VOTER"),
    (rf"\b(root|{re.escape(getpass.getuser())})\b", "USER"),
)]
#: A voter's place in the log, and the CPUs of a GPU's share of this machine.
VARY = re.compile(r"^HOST ID \w+ yes |^1 train 40 ")


def shape(line):
    line = line.strip()
    for pattern, word in WORDS:
        line = pattern.sub(word, line)
    found = VARY.match(line)
    return line if not found else found[0] + re.sub(r"\d+", "N", line[found.end():])


def same_shape(expected, said):
    """Between two lines `...` the order of lines is free: rows of a table come by names."""
    parts = [[]]
    for line in expected:
        if line.strip() == "...":
            parts.append([])
        else:
            parts[-1].append(line)
    if len(parts) == 1:
        return sorted(map(shape, expected)) == sorted(map(shape, said))
    first, last = parts[0], parts[-1]
    return len(first) + len(last) <= len(said) and \
        same_shape(first, said[:len(first)]) and \
        same_shape(last, said[len(said) - len(last):])


class Shell:
    """A bash that is typed into, command by command. Its processes are one group."""

    def __init__(self, environment):
        self.process = subprocess.Popen(["bash", "--norc"], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                        cwd=ROOT, env=environment, start_new_session=True)
        self.unread = b""

    def type(self, command):
        """(exit status, lines): the status is None if the command does not end in time."""
        self.process.stdin.write(f"{command}\necho {MARK} $?\n".encode())
        self.process.stdin.flush()
        lines, deadline = [], time.monotonic() + STEP_LIMIT_S
        while True:
            line = self.line_until(deadline)
            if line is None:
                os.killpg(self.process.pid, signal.SIGKILL)
                return None, lines
            if line.startswith(MARK):
                return int(line.split()[1]), lines
            lines.append(line)

    def line_until(self, deadline):
        """None: there was no whole line in time, or the shell has ended."""
        output = self.process.stdout.fileno()
        while b"\n" not in self.unread:
            ready, _, _ = select.select([output], [], [], max(0, deadline - time.monotonic()))
            more = os.read(output, 65536) if ready else b""
            if not more:
                return None
            self.unread += more
        line, _, self.unread = self.unread.partition(b"\n")
        return line.decode(errors="replace")

    def close(self):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait(timeout=10)


class Stage:
    """Where the tour is played: its own directory and ports, in place of the document's."""

    def __init__(self, home, base_port):
        self.directory = home / "m"
        self.port = free_ports(base_port, PORTS)

    def here(self, text):
        text = text.replace(DIRECTORY, str(self.directory))
        for number in range(PORTS):
            text = re.sub(rf"([:=]){PORT + number}\b", rf"\g<1>{self.port + number}", text)
        return text

    def there(self, text):
        text = text.replace(str(self.directory), DIRECTORY)
        for number in range(PORTS):
            text = re.sub(rf":{self.port + number}\b", f":{PORT + number}", text)
        return text


def agents_below(directory):
    """Processes that the tour started and that are still there."""
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


def rewrite(path, said):
    """Puts what was printed below its command; said: {line index of a command: lines}."""
    lines, written, at = (ROOT / path).read_text().splitlines(), [], 0
    while at < len(lines):
        written.append(lines[at])
        told = said.get(at)
        at += 1
        if told is not None:
            while lines[at].startswith("> "):
                written.append(lines[at])
                at += 1
            written.extend(told)
            while lines[at] != "```" and not lines[at].startswith("$ "):
                at += 1
    (ROOT / path).write_text("\n".join(written) + "\n")


def play(steps, stage, shell):
    """[(step, what is wrong, lines)] of all steps that failed or printed another shape."""
    wrong = []
    for step in steps:
        status, lines = shell.type(stage.here(step.command))
        lines = [stage.there(line) for line in lines]
        if status != 0:
            wrong.append((step, f"exit status {status}", lines))
        elif not same_shape(step.expected, lines):
            wrong.append((step, "another shape", lines))
        if status is None:
            break
    return wrong


def tell(base_port, write=False):
    """True when every command succeeded and printed what the documents say."""
    home = pathlib.Path(tempfile.mkdtemp(prefix="muster-tour-"))
    stage = Stage(home, base_port)
    environment = {**os.environ, "PATH": f"{MUSTER.parent}:{os.environ['PATH']}", "COLUMNS": "100",
                   "MUSTER_RUNTIME_DIR": str(home / "run"), "MUSTER_SHARED_USER": "true"}
    steps = [step for path, heading in PLAYED for step in steps_of(path, heading)]
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # Its processes are ended below.
    began = time.monotonic()
    try:
        shell = Shell(environment)
        wrong = play(steps, stage, shell)
        shell.close()
        secrets = open_to_others(home)
        left = agents_below(home)
        for step, why, lines in wrong:
            print(f"# {step.path}:{step.line + 1}: {why}: {step.command}")
            for line in lines:
                print(f"#   {line}")
        for path in secrets:
            print(f"# open to other logins: {path}")
        print(f"figure tour_ok {0 if wrong or secrets or left else 1} of_1", flush=True)
        print(f"figure tour_commands {len(steps)} count", flush=True)
        print(f"figure tour_wrong {len(wrong)} count", flush=True)
        print(f"figure tour_processes_left {len(left)} count", flush=True)
        print(f"figure tour_duration {time.monotonic() - began:.1f} s", flush=True)
        if write:
            for path in {step.path for step, _, _ in wrong}:
                rewrite(path, {step.line: lines for step, why, lines in wrong
                               if step.path == path and why == "another shape"})
        return not wrong and not secrets and not left
    finally:
        end(home)
        shutil.rmtree(home, ignore_errors=True)
