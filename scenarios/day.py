"""A day of work by hand: what users and operators do with a fleet between coffee and going home, each
step as they would type it, on real agents. A step's docstring is its promise."""

import fcntl
import os
import pty
import pwd
import signal
import struct
import subprocess
import sys
import termios
import threading
import time

from lab import MUSTER, ROOT, Agent, Failure, Lab, free_ports, wait_for

GPUS = 4
COLUMNS = 100


def on_screen(agent, *words):
    """(exit code, what stands on a terminal of 100 columns, stderr) of one verb."""
    screen, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 60, COLUMNS, 0, 0))
    environment = dict(os.environ, MUSTER_DATA_DIR=str(agent.data), NO_COLOR="1", PAGER="cat",
                       TERM="xterm")
    process = subprocess.Popen([str(MUSTER), *words], stdin=subprocess.DEVNULL, stdout=terminal,
                               stderr=subprocess.PIPE, env=environment, cwd=ROOT)
    os.close(terminal)
    shown = []

    def look():
        while True:
            try:
                piece = os.read(screen, 65536)
            except OSError:  # The end of a terminal that nobody writes to any more.
                piece = b""
            if not piece:
                return
            shown.append(piece)

    eyes = threading.Thread(target=look, daemon=True)
    eyes.start()
    try:
        _, said = process.communicate(timeout=30)
    finally:
        process.kill()
    eyes.join(10)
    os.close(screen)
    text = b"".join(shown).decode(errors="replace").replace("\r\n", "\n")
    return process.returncode, text, said.decode(errors="replace")


def table(text):
    """Rows of a printed table as lists of words, the line of titles first."""
    return [line.split() for line in text.splitlines()]


class Hand:
    """Whoever types: every answer fits a terminal of 100 columns."""

    def __init__(self, lab):
        self.lab = lab
        self.node = "a"

    def type(self, *words, code=0):
        """stdout and stderr of one command, which must exit with `code`."""
        got, out, err = on_screen(self.lab[self.node], *words)
        if got != code:
            raise Failure(f"muster {' '.join(words)} exited {got}, not {code}: {out}{err}")
        wide = [line for line in out.splitlines() if len(line) > COLUMNS]
        # What a user wrote or typed stays whole; a page of troff is no screen.
        wide = [line for line in wide if words[0] not in ("logs", "man") and
                line.split()[0] not in ("command", "directory")]
        if wide and "--json" not in words:
            raise Failure(f"muster {' '.join(words)}: wider than {COLUMNS} columns: {wide[0]}")
        return out, err

    def says(self, *words, what, code=0):
        out, err = self.type(*words, code=code)
        if what not in " ".join((out + err).split()):
            raise Failure(f"muster {' '.join(words)} does not say '{what}': {out}{err}")
        return out, err

    def sees_errors(self, *words):
        """What stands on the terminal that stderr is; nobody sits at stdin."""
        screen, terminal = pty.openpty()
        subprocess.run([str(MUSTER), *words, "--node", str(self.lab[self.node].data)],
                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=terminal,
                       timeout=30, check=False)
        os.close(terminal)
        text = b""
        while True:
            try:
                piece = os.read(screen, 65536)
            except OSError:  # The end of a terminal that nobody writes to any more.
                piece = b""
            if not piece:
                break
            text += piece
        os.close(screen)
        if not text:
            raise Failure(f"muster {' '.join(words)} said nothing")
        return text.decode(errors="replace").splitlines()

    def submit(self, *words):
        out, _ = self.type("submit", *words)
        return out.split()[1]

    def job(self, number):
        answer = self.lab[self.node].ask("show", number)
        if answer is None:
            raise Failure(f"muster show {number} failed")
        return answer["job"]

    def waits_for(self, number, state, seconds=30):
        wait_for(f"job {number} {state}", lambda: self.job(number)["state"] == state, seconds)

    def host(self, name):
        answer = self.lab[self.node].ask("hosts", "--all")
        found = [host for host in answer["hosts"] if host["host"] == name]
        return found[0] if found else None


def finds_the_own_jobs(lab, hand):
    """`jobs` says whose, where, since when and why; columns, order and choice are the user's."""
    script = lab.directory / "train.py"
    script.write_text("import time\ntime.sleep(600)\n")
    first = hand.submit("--gpus", "2", "--", "python3", "-u", str(script))
    hand.waits_for(first, "running")
    rows = table(hand.type("jobs")[0])
    if rows[0] != ["ID", "NAME", "USER", "STATE", "GPUS", "HOSTS", "AGE", "TIME", "REASON"]:
        raise Failure(f"columns: {rows[0]}")
    if rows[1][1] != "train.py" or rows[1][3] != "running":
        raise Failure(f"called after its script: {rows[1]}")
    many = [hand.submit("--gpus", "1", "--name", f"sweep-{i}", "--", "sleep", "600")
            for i in range(12)]
    wide = table(hand.type("jobs", "--name", "sweep-*", "-o", "id,state", "--sort", "-id",
                           "--no-header")[0])
    if [row[0] for row in wide] != many[::-1]:
        raise Failure(f"order: {wide}")
    if len(table(hand.type("jobs", "--limit", "3", "--no-header")[0])) != 3:
        raise Failure("--limit 3 shows another number")
    hand.says("cancel", "--name", "sweep-*", code=2, what="--yes")
    hand.type("cancel", "--name", "sweep-*", "--yes")
    wait_for("all of the sweep cancelled", lambda: not hand.type(
        "jobs", "--name", "sweep-*", "--state", "queued,running,scheduled,stopping",
        "--no-header")[0], 30)
    hand.type("cancel", f"{first}-{many[0]}")
    shown = lab["b"].ask("jobs", first)["jobs"][0]
    if not shown["submit_unix_ms"] or shown["user"] != pwd.getpwuid(os.geteuid()).pw_name:
        raise Failure(f"times and user: {shown}")


def follows_a_job_to_its_end(lab, hand):
    """`submit --wait` says each change; Ctrl-C without a terminal leaves the job and says so."""
    command = [MUSTER, "submit", "--node", lab["a"].data, "--wait", "--", "sleep", "600"]
    with subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True) as waits:
        try:
            number = waits.stdout.readline().split()[1]
            hand.waits_for(number, "running")
            time.sleep(1.2)
            waits.send_signal(signal.SIGINT)
            _, told = waits.communicate(timeout=15)
        except BaseException:
            waits.kill()  # Or leaving the block waits for its 600 s.
            raise
    if waits.returncode != 130 or "running on" not in told or "was left as it is" not in told:
        raise Failure(f"exit {waits.returncode}: {told}")
    hand.says("events", "--job", number, what="running: all ready")
    hand.type("cancel", number)
    hand.says("submit", "--wait", "--", "sh", "-c", "kill -9 $$", code=137,
              what="memory may have run out")


def reads_what_it_needs(lab, hand):
    """The environment is the submitter's short list; the last lines of some ranks, or one of their
    streams, or what was written lately, are enough."""
    os.environ["DAY_OF_WORK"] = "monday"
    number = hand.submit("--gpus", "2", "-e", "DAY_OF_WORK", "-e", "COLOUR=blue", "--", "sh", "-c",
                         "seq 1 1000; env | sort; echo last of $RANK")
    hand.waits_for(number, "completed")
    out, _ = hand.type("logs", number, "--rank", "0-1", "--tail", "1")
    if sorted(out.splitlines()) != ["[0] last of 0", "[1] last of 1"]:
        raise Failure(f"--tail 1 of two ranks: {out}")
    whole, _ = hand.type("logs", number)
    for wanted in ("DAY_OF_WORK=monday", "COLOUR=blue", "PATH="):
        if wanted not in whole:
            raise Failure(f"{wanted} is missing in the environment")
    both = hand.submit("--", "sh", "-c", "echo early; sleep 3; echo fine; echo bad >&2; exit 3")
    hand.waits_for(both, "failed")
    for words, wanted in ((["--stderr"], ["bad"]), (["--stdout"], ["early", "fine"]),
                          (["--since", "2s"], ["bad", "fine"]), ([], ["bad", "early", "fine"])):
        out, _ = hand.type("logs", both, *words)
        if sorted(out.split()) != wanted:
            raise Failure(f"logs {words}: {out}")
    hand.says("show", both, what="kept 14d after the end")
    bare = hand.submit("--env-none", "--", "sh", "-c", "env")
    hand.waits_for(bare, "completed")
    if "DAY_OF_WORK" in hand.type("logs", bare)[0]:
        raise Failure("--env-none passes variables on")
    hand.says("submit", "-e", "RANK=7", "--", "true", what="set for each rank by Muster")
    hand.says("submit", "-e", "NOT_SET_HERE", "--", "true", code=2, what="not set here")


def drains_a_host(lab, hand):
    """Nothing new is placed there, `hosts` says who, why and what it waits for; the deadline queues
    the rest again; agent and drain come back together."""
    number = hand.submit("--gpus", str(GPUS), "--", "sleep", "600")
    hand.waits_for(number, "running")
    name = hand.job(number)["hosts"][0]
    hand.node = "b" if name == "a" else "a"
    hand.says("hosts", "drain", name, "--why", "fan 3", what=f"waits for job {number}")
    wait_for("the drain shown", lambda: "fan 3" in hand.type("hosts")[0], 10)
    hand.says("hosts", "show", name, what=number)
    lab[name].kill_agent()
    time.sleep(1)
    lab[name].start()
    wait_for(f"{name} drained after its restart",
             lambda: (hand.host(name) or {}).get("state") == "alive" and hand.host(name)["drain"],
             30)
    if hand.job(number)["state"] != "running":
        raise Failure("the job did not outlive its agent")
    hand.says("hosts", "drain", name, "--why", "disk 2", "--deadline", "3s", what="disk 2")
    wait_for("the job elsewhere", lambda: hand.job(number)["attempt"] == 2 and
             hand.job(number)["hosts"] not in ([], [name]), 60)
    if lab[hand.node].ask("show", number)["job"]["state"] not in ("running", "scheduled"):
        raise Failure("queued again, but not placed")
    hand.type("hosts", "undrain", name)
    wait_for("nothing drained", lambda: "drained" not in hand.type("hosts")[0], 10)
    hand.type("cancel", number)
    hand.node = "a"


def lets_small_jobs_pass_a_stranded_one(lab, hand):
    """A job that the hosts that are up could not hold steps aside and is first when they are back."""
    hand.type("hosts", "drain", "e", "--requeue")
    large = hand.submit("--gpus", str(5 * GPUS), "--", "sleep", "1")
    small = hand.submit("--gpus", "1", "--", "sleep", "600")
    hand.waits_for(small, "running")
    hand.says("why", large, what="other jobs pass it")
    late = hand.submit("--gpus", str(4 * GPUS), "--", "true")
    hand.says("priority", late, "7", what="has priority 7")
    hand.type("priority", small, "7", code=7)
    hand.type("cancel", late, small)
    hand.type("hosts", "undrain", "e")
    hand.waits_for(large, "completed", 60)
    hand.says("usage", what=hand.job(large)["user"])
    hand.says("usage", "--by", "type", what="H100")


def says_that_processes_are_gone(lab, hand):
    """A host whose agent and ranks died together is not `running`; who has looked ends the wait."""
    number = hand.submit("--gpus", "1", "--", "sleep", "600")
    hand.waits_for(number, "running")
    name = hand.job(number)["hosts"][0]
    hand.node = "b" if name == "a" else "a"
    lab[name].kill_host()
    wait_for("running?", lambda: f"{number} " in hand.type("jobs")[0] and
             "running?" in hand.type("jobs")[0], 30)
    hand.says("why", number, what="unless host " + name + " comes back first")
    hand.type("hosts", "fence", name, "--yes", code=7)
    hand.says("hosts", "fence", name, "--processes-gone", code=2, what="--yes")
    hand.type("hosts", "fence", name, "--processes-gone", "--yes")
    wait_for("the job elsewhere", lambda: hand.job(number)["attempt"] == 2, 30)
    hand.waits_for(number, "running")
    hand.type("cancel", number)
    lab[name].start()
    wait_for(f"{name} back", lambda: (hand.host(name) or {}).get("state") == "alive", 30)
    hand.node = "a"


def takes_a_host_away(lab, hand):
    """`leave` names what hinders it; what is gone for good is removed, and its name is free."""
    number = hand.submit("--gpus", str(GPUS), "--", "sleep", "600")
    hand.waits_for(number, "running")
    name = hand.job(number)["hosts"][0]
    got, _, err = lab[name].cli("leave", "--yes")
    if got != 7 or f"job {number} " not in err:
        raise Failure(f"leave of a busy host exited {got}: {err}")
    hand.type("cancel", number)
    hand.waits_for(number, "cancelled")
    lab["e"].kill_host()
    wait_for("e unreachable", lambda: hand.host("e")["state"] == "unreachable", 30)
    hand.type("hosts", "remove", "d", code=7)
    wait_for("e removed", lambda: lab["a"].cli("hosts", "remove", "e")[0] == 0, 30)
    wait_for("e hidden", lambda: not [row for row in table(hand.type("hosts")[0])
                                      if row and row[0] == "e"], 10)
    hand.says("hosts", "--all", what="removed")
    lab["e"].start()
    wait_for("e back", lambda: [row for row in table(hand.type("hosts")[0])
                                if row[:1] == ["e"] and row[2] == "alive"], 30)


def is_told_what_happened(lab, hand):
    """Events of any host, any host asked through the agent here; slips of the hand are answered."""
    hand.says("events", "--host", "e", "-n", "200", what="agent_started")
    hand.says("events", "-n", "3", what="newest 3 events of host a")
    hand.says("events", "-n", "3", "--node", "b", what="newest 3 events of host b")
    hand.says("submit", "--node", "d", "--wait", "--", "true", what="exited 0")
    hand.says("hosts", "--node", "nobody", code=6, what="there is no host 'nobody'")
    hand.says("hosts", "--node", "127.0.0.1:7450", code=2, what="--node NAME")
    hand.says("ps", code=2, what="did you mean jobs")
    hand.says("nodes", code=2, what="did you mean hosts")
    hand.says("show", "999999", code=6, what="there is no job")
    hand.says("submit", "--gpu-type", "H1000", "--", "true", code=3, what="there are: H100")
    hand.says("man", "hosts", "drain", what="no new job is placed there")
    for words in (("submit", "--gpu-type", "H1000", "--", "true"),
                  ("hosts", "fence", "a"), ("quorum", "remove", "a"), ("jobs", "--state", "lost")):
        wide = [line for line in hand.sees_errors(*words) if len(line) > COLUMNS]
        if wide:
            raise Failure(f"muster {' '.join(words)}: wider than {COLUMNS} columns: {wide[0]}")


def says_which_seeds_do_not_answer(lab, hand):
    """A host says which seeds it never met, and how, where it is looked for."""
    dead = free_ports(lab["e"].port + 10, 4)
    lone = Agent(lab, "lone", dead + 2)
    lone.flags = {"seeds": f"127.0.0.1:{dead}"}
    lone.start()
    try:
        wait_for("the unmet seed in hosts",
                 lambda: f"seed 127.0.0.1:{dead} does not answer: "
                         "no known member there" in lone.cli("hosts")[1], 20)
    finally:
        lone.kill_host()


STEPS = (finds_the_own_jobs, follows_a_job_to_its_end, reads_what_it_needs, drains_a_host,
         lets_small_jobs_pass_a_stranded_one, says_that_processes_are_gone, takes_a_host_away,
         is_told_what_happened, says_which_seeds_do_not_answer)


def tell(base_port):
    """True when the whole day went as promised."""
    began = time.monotonic()
    kept = 0
    with Lab("abcde", gpus=f"sim:{GPUS}xH100", base_port=base_port) as lab:
        lab.start()
        hand = Hand(lab)
        wait_for("five hosts and a leader", lambda: len([
            host for host in (lab["a"].ask("hosts") or {"hosts": []})["hosts"]
            if host["state"] == "alive" and host["gpus_used"] is not None]) == 5, 30)
        for step in STEPS:
            at = time.monotonic()
            try:
                step(lab, hand)
                kept += 1
                word = "ok"
            except Failure as failure:
                word = f"BROKEN: {failure}"
                hand.node = "a"
            print(f"  {step.__name__:36} {time.monotonic() - at:5.1f} s  {word}", flush=True)
    print(f"figure day_steps_ok {kept} count")
    print(f"figure day_steps {len(STEPS)} count")
    print(f"figure day_seconds {time.monotonic() - began:.1f} s", flush=True)
    return kept == len(STEPS)


if __name__ == "__main__":
    sys.exit(0 if tell(int(os.environ.get("MUSTER_TEST_PORT", "7480"))) else 1)
