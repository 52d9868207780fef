"""A rank of one login against the grant of another, and against its host: whatever it gets hold of
is an escape. Each attempt has a control, the same one where it has to succeed."""

import contextlib
import json
import os
import pathlib
import secrets
import shutil
import signal
import subprocess
import sys
import threading
import time
import traceback

import cluster
import escape_calls as calls
import escape_host
import escape_rank
from cluster import Broken, figure
from escape_attempt import ENDS_GRANT, LEVELS, SHARED_MOUNTS, claimed, context_of
from fake_gpus import LIBRARY, FakeGpus
from lab import MUSTER, Agent, Enough, Failure, Lab, wait_for

HERE = pathlib.Path(__file__).resolve().parent
VICTIM, ATTACKER = ("games", 5, 60), ("nobody", 65534, 65534)
MEMORY_MB = 64
ATTACK_S = 120
#: One that every login may execute.
PYTHON = "/usr/bin/python3"
JOB_S = 60
END_S = 10  #: For the victim, when all is over.
RACES = 12
GROUP_OF_PASSWORDS = 42
FILES = ("escape_rank.py", "escape_host.py", "escape_attempt.py", "escape_calls.py",
         "escapes_files.py", "escapes_processes.py", "deny_call.py")


class LevelAgent(Agent):
    """An agent on a host of that level."""

    def command(self, **changes):
        lab = self.lab
        return [sys.executable, str(lab.directory / "escape" / "escape_host.py"), lab.level,
                str(lab.directory), lab.secret, "--", *super().command(**changes)]

    def cli(self, *arguments, timeout=15):
        """Who may say everything: root, or the user of the agent."""
        name, uid, gid = VICTIM if self.lab.level == "own" else ("root", 0, 0)
        done = say(self.lab, (name, uid, gid), self.data / "agent.sock", *arguments,
                   timeout=timeout)
        return done.returncode, done.stdout, done.stderr


def say(lab, login, node, *words, timeout=30):
    name, uid, gid = login
    home = lab.directory / "homes" / name
    if not home.exists():
        make_folder(home, login, 0o700)
    environment = {"PATH": os.environ["PATH"], "HOME": str(home), "USER": name,
                   "MUSTER_NODE": str(node), "MUSTER_DATA_DIR": str(lab["a"].data)}
    return subprocess.run([str(lab.directory / "muster"), *words], capture_output=True, text=True,
                          cwd="/", env=environment, user=uid, group=gid, extra_groups=[],
                          timeout=timeout, stdin=subprocess.DEVNULL)


class Stage:
    """A host of a level, with a victim's grant on it and an attacker's."""

    def __init__(self, lab):
        self.lab = lab
        self.agent = lab["a"]
        self.tag = lab.directory.name
        self.folder = lab.directory
        self.victim = VICTIM
        self.attacker = VICTIM if lab.level == "own" else ATTACKER
        self.door = self.agent.data / "agent.sock"
        if lab.level != "own":
            self.door = lab.directory / "run" / "a.sock"
        key = secrets.randbelow(1 << 29) * 4 + 4
        self.names = {
            "level": lab.level, "folder": str(self.folder), "data": str(self.agent.data),
            "open_file": f"/tmp/{self.tag}-open", "closed_file": f"/tmp/{self.tag}-closed",
            "shared_file": f"/dev/shm/{self.tag}", "socket": f"/tmp/{self.tag}-socket",
            "abstract": f"{self.tag}-abstract", "queue": f"{self.tag}-queue", "open_key": key,
            "closed_key": key + 1, "left_key": key + 2, "left_file": f"/tmp/{self.tag}-left",
            "mark": f"{self.tag}-mark", "muster": str(self.folder / "muster"),
            "door": str(self.door), "memory_mb": MEMORY_MB, "gpu": 0,
            "victim_uid": self.victim[1], "victim_gid": self.victim[2],
            "victim_login": self.victim[0]}

    def write(self):
        """What the job programs read; it lies where every login reads it."""
        path = self.folder / "context.json"
        path.write_text(json.dumps(self.names))
        path.chmod(0o644)
        return path

    def submit(self, login, word, *options, name=()):
        """The number of a job that runs that word of escape_rank."""
        kept = ("--isolation", "keep") if self.lab.level == "bare" else ()
        done = say(self.lab, login, self.door, "submit", "--json", "--mem", f"{MEMORY_MB}M",
                   "--cpus", "0.2", "--grace", "2s", *kept, *options, "--", PYTHON,
                   str(self.folder / "escape" / "escape_rank.py"), word,
                   str(self.folder / "context.json"), *name)
        if done.returncode != 0:
            raise Broken(f"submit {word}: exit {done.returncode}: {done.stderr}")
        return str(json.loads(done.stdout)["job_id"])

    def job(self, number):
        answer = self.agent.ask("show", number)
        return answer or {"job": {"state": ""}, "attempts": []}

    def state(self, number):
        return self.job(number)["job"]["state"]

    def token(self, number):
        attempts = self.job(number)["attempts"]
        return attempts[-1]["token"] if attempts else ""

    def output(self, number):
        """What its rank wrote so far."""
        token = self.token(number)
        path = self.agent.data / "grants" / token / "rank-0.log"
        return path.read_text(errors="replace") if token and path.exists() else ""

    def finished(self, number, within_s=JOB_S):
        """Its output, once it has ended."""
        wait_for(f"the end of job {number}",
                 lambda: self.state(number) in ("completed", "failed", "cancelled"), within_s)
        return self.output(number)

    # ---- the play ----

    def begin(self):
        """The victim has its secrets in place, and the attacker is told where."""
        self.write()
        secret = "MUSTER_SECRET=muster-secret-" + secrets.token_hex(16)
        number = self.submit(self.victim, "victim", "--gpus", "1", "-e", secret)
        self.names["job"] = number
        told = self.folder / "open" / "victim.json"
        with contextlib.suppress(Exception):
            wait_for("a victim", told.exists, 30)
        if not told.exists():
            raise Broken(f"no victim: {self.job(number)['job']} {self.output(number)}")
        self.names |= json.loads(told.read_text())
        token = self.token(number)
        grant = self.agent.data / "grants" / token
        held = [self.submit(self.victim, "list", "--gpus", "1", "--hold") for _ in range(2)]
        kind, handle = calls.handle_of(str(grant / "rank-0.log"))
        ranks = list(self.agent.ranks_of(number))
        if len(ranks) != 1:
            raise Broken(f"the victim has the processes {ranks}")
        self.names |= {
            "held_job": held[0], "other_held_job": held[1], "token": token,
            "victim": ranks[0], "supervisor": int((grant / "pid").read_text().split()[0]),
            "agent": self.agent.process.pid, "handle_kind": kind, "handle": handle.hex(),
            **groups_of(ranks[0])}
        self.write()

    def attack(self):
        """{name: (outcome, words)} of all attempts that the level claims to hold."""
        number = self.submit(self.attacker, "attack", "--gpus", "1")
        wait_for("all attempts", lambda: "DONE all" in self.output(number) or
                 self.state(number) in ("completed", "failed"), ATTACK_S)
        lines = [line.split(" ", 2) for line in self.output(number).splitlines()]
        found = {line[1]: (line[0], line[-1]) for line in lines if len(line) > 1}
        shared = found.pop("abstract_sockets", ("", "?"))[1]
        print(f"# {self.lab.level}: abstract sockets of others, shared as the network is: {shared}",
              flush=True)
        found.pop("all", None)
        missing = set(claimed(self.lab.level)) - set(found) - ENDS_GRANT
        if missing:
            raise Broken(f"attempts without an end: {sorted(missing)[:5]} of {len(missing)}: "
                         f"{self.output(number)[-400:]} {self.job(number)['job']['state']}")
        self.finished(number)
        return found | self.greedy()

    def greedy(self):
        """The same of attempts that take too much: their grant may end, if that is said."""
        names = [name for name in claimed(self.lab.level) if name in ENDS_GRANT]
        jobs = {name: self.submit(self.attacker, "attack", "--ranks", "1", "--gpus", "0",
                                  name=[name]) for name in names}
        found = {}
        for name, number in jobs.items():
            lines = [line.split(" ", 2) for line in self.finished(number).splitlines()]
            told = next(((line[0], line[-1]) for line in lines if line[1:2] == [name]), None)
            why = self.agent.cli("why", number)[1]
            # A plain SIGKILL is said to be one where "memory may have run out": that is no cause.
            if not told and self.state(number) == "failed" and "out of memory: " in why:
                told = ("held", "its grant was ended")
            found[name] = told or ("BROKE", f"no word, and its job says: {why}")
        return found

    def control(self, name):
        """Whether root of the host gets hold of it, in the mounts of the agent."""
        t = context_of(dict(self.names, is_control=True, own_supervisor=self.names["supervisor"],
                            secret=self.lab.secret, inherited=[]))
        return escape_rank.tried(name, t, enter_host)

    # ---- attempts by what a job may say, and by what it leaves ----

    def directories(self):
        """Directories of jobs that lead into DATA."""
        supervisor = self.names["supervisor"] if self.lab.level == "bare" else 1
        return {"directory_of_itself": "/proc/self/cwd",
                "directory_of_supervisor": f"/proc/{supervisor}/cwd",
                "directory_of_its_root": f"/proc/{supervisor}/root{self.agent.data}/grants",
                "directory_of_grants": f"{self.agent.data}/grants",
                "directory_of_an_agent": f"/proc/{self.names['agent']}/cwd/a/grants"}

    def is_told(self, text):
        """Whether that is about the victim, or about DATA."""
        return calls.secret_in(text.encode()) or (
            self.names["token"] in text or "rank-0.log" in text) and "a folder of DATA"

    def listing(self, path):
        """The number of a job that lists this directory."""
        return self.submit(self.attacker, "list", "--gpus", "0", "--ranks", "1", "--cwd", path)

    def told_by(self, number):
        return self.is_told(self.finished(number))

    def raced(self):
        """The job's directory in /tmp is now a folder of its own, now a link to a closed one."""
        place = pathlib.Path(f"/tmp/{self.tag}-race")
        closed = pathlib.Path(f"/tmp/{self.tag}-closed-folder")
        make_folder(closed, self.victim, 0o700)
        (closed / "secret").write_text("muster-secret-" + bytes(16).hex())
        make_folder(place, self.attacker, 0o755)
        make_folder(place / "way", self.attacker, 0o755)
        target = self.agent.data / "grants" if self.lab.level == "own" else closed
        is_over = threading.Event()
        flips = threading.Thread(target=flip, args=(place, target, is_over))
        flips.start()
        try:
            numbers = [self.listing(str(place / "way")) for _ in range(RACES)]
            return next(filter(None, map(self.told_by, numbers)), None)
        finally:
            is_over.set()
            flips.join()
            shutil.rmtree(place, ignore_errors=True)
            shutil.rmtree(closed, ignore_errors=True)

    def left(self):
        """What is there of that which a grant left behind."""
        commands = [pathlib.Path(f"/proc/{name}/cmdline") for name in os.listdir("/proc")
                    if name.isdigit()]
        mark = self.names["mark"].encode()
        there = {}
        for path in commands:
            with contextlib.suppress(OSError):
                if mark in path.read_bytes():
                    there.setdefault("left_processes", []).append(int(path.parent.name))
        if os.path.exists(self.names["left_file"]):
            there["left_file"] = self.names["left_file"]
        segments = pathlib.Path("/proc/sysvipc/shm").read_text().splitlines()[1:]
        if any(int(line.split()[0]) == self.names["left_key"] for line in segments):
            there["left_segment"] = "memory of the host"
        return there

    def after(self):
        """[(name, what it got)] of the attempts that no rank makes alone."""
        jobs = {name: self.listing(path) for name, path in self.directories().items()}
        number = self.submit(self.attacker, "survive", "--gpus", "0", "--ranks", "1")
        got = {"race_for_a_directory": self.raced()}
        got |= {name: self.told_by(job) for name, job in jobs.items()}
        self.finished(number)
        kept = ("left_file", "left_segment") if self.lab.level in SHARED_MOUNTS else ()
        there = self.left()
        remove(self.names, there)
        return got | {name: there.get(name) for name in
                      ("left_processes", "left_file", "left_segment") if name not in kept}

    def controls_after(self, names):
        """Those of them that are seen where they have to be."""
        folder = f"/proc/{self.names['supervisor']}/cwd"
        seen = subprocess.run([sys.executable, str(HERE / "escape_rank.py"), "list",
                               str(self.write())], cwd=folder, capture_output=True, text=True)
        is_told = bool(self.is_told(seen.stdout))
        subprocess.run([sys.executable, str(HERE / "escape_rank.py"), "survive", str(self.write())],
                       check=True)
        there = self.left()
        remove(self.names, there)
        return [name for name in names
                if (name in there if name.startswith("left_") else is_told)]

    def end(self):
        """Where mounts are shared the victim takes its files along."""
        remove(self.names, self.left())
        with contextlib.suppress(Exception):
            self.agent.cli("cancel", self.names["job"], "--yes")
            self.finished(self.names["job"], END_S)


def enter_host(t):
    calls.enter(t.agent, "mnt", calls.CLONE_NEWNS)


def make_folder(path, login, mode):
    path.mkdir()
    os.chown(path, login[1], login[2])
    path.chmod(mode)


def flip(place, target, is_over):
    way, spare, link = place / "way", place / "spare", place / "link"
    while not is_over.is_set():
        with contextlib.suppress(OSError):
            way.rename(spare)
            link.symlink_to(target)
            link.rename(way)
            time.sleep(0.002)
            way.unlink()
            spare.rename(way)
            time.sleep(0.002)


def remove(names, there):
    for pid in there.get("left_processes", []):
        with contextlib.suppress(OSError):
            os.kill(pid, 9)
    with contextlib.suppress(OSError):
        os.unlink(names["left_file"])
    with contextlib.suppress(OSError):
        calls.call("shmctl", calls.call("shmget", names["left_key"], 0, 0), calls.IPC_RMID, None)


def groups_of(pid):
    """The mount point of control groups of version 2, and the group of that process."""
    mounts = map(str.split, pathlib.Path("/proc/self/mountinfo").read_text().splitlines())
    places = [words[4] for words in mounts if "cgroup2" in words[words.index("-"):]]
    lines = pathlib.Path(f"/proc/{pid}/cgroup").read_text().splitlines()
    own = next((line[3:] for line in lines if line.startswith("0::")), "")
    return {"groups": places[0] if places else "", "victim_group": (places or [""])[0] + own}


def prepare(lab):
    """What lies on the host: programs, a library with GPUs, files that a careless admin left."""
    folder = lab.directory
    folder.chmod(0o755)
    for name in ("escape", "lib", "nodes", "stage", "open", "homes"):
        (folder / name).mkdir()
    (folder / "open").chmod(0o1777)
    for name in FILES:
        shutil.copy(HERE / name, folder / "escape" / name)
    shutil.copy(MUSTER, folder / "muster")
    shutil.copy(LIBRARY, folder / "lib" / LIBRARY.name)
    FakeGpus(folder / "nvml", escape_host.GPUS)
    shutil.copy("/usr/bin/id", folder / "as_root")
    (folder / "as_root").chmod(0o4755)
    shutil.copy("/usr/bin/id", folder / "as_group")
    os.chown(folder / "as_group", 0, GROUP_OF_PASSWORDS)
    (folder / "as_group").chmod(0o2755)
    shutil.copy("/usr/bin/cat", folder / "reads_all")
    calls.give_capability(str(folder / "reads_all"))
    escape_host.make_nodes(folder / "nodes", {**escape_host.gpu_nodes(), "kmsg": (1, 11),
                                              "mem": (1, 1)})
    escape_host.make_nodes(folder / "nodes", {"disk": (7, 0)}, 0o060000)


def end_slice(*_):
    """The runner has seen enough: data of the lab go, too."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise Enough


def play(level):
    """({name: words} of what escaped, how many attempts, names without a control)."""
    with Lab("a", base_port=cluster.BASE_PORT, expect=1) as lab:
        signal.signal(signal.SIGTERM, end_slice)
        lab.level = level
        lab.secret = "muster-secret-" + secrets.token_hex(16)
        prepare(lab)
        agent = lab.agents["a"] = LevelAgent(lab, "a", lab["a"].port)
        agent.binary = lab.directory / "muster"
        agent.flags = {"gpus": f"nvml:{lab.directory / 'lib' / LIBRARY.name}"}
        agent.environment = {"MUSTER_FAKE_NVML": str(lab.directory / "nvml"),
                             "MUSTER_SHARED_USER": "false", "MUSTER_SYSTEM_USERS_MAY_RUN": "games"}
        if level == "own":
            os.chown(agent.data, escape_host.OWN_UID, escape_host.OWN_GID)
        lab.start()
        # Until the agent has seen that they are clean, a job is refused for want of them.
        wait_for("GPUs", lambda: lab.check_started() and any(
            gpu["state"] == "healthy" for gpu in (agent.ask("gpus") or {"gpu_list": []})["gpu_list"]),
            30)
        stage = Stage(lab)
        try:
            stage.begin()
            return judge(level, stage)
        finally:
            stage.end()


def judge(level, stage):
    found = stage.attack()
    broken = {name: words for name, (word, words) in found.items() if word == "BROKE"}
    if broken:
        raise Broken(f"attempts of {level} that broke: {broken}")
    escaped = {name: words for name, (word, words) in found.items() if word == "ESCAPED"}
    after = stage.after()
    escaped |= {name: got for name, got in after.items() if got}
    if not os.path.exists(f"/proc/{stage.names['victim']}/environ"):
        escaped["any_of_them"] = "the victim is gone"
    seen = stage.controls_after(after)
    blind = {name: "not seen" for name in after if name not in seen}
    for name in found:
        word, words = stage.control(name)
        if word != "ESCAPED":
            blind[name] = words
    for name, words in escaped.items():
        print(f"# {level}: ESCAPED by {name}: {words}", flush=True)
    for name, words in blind.items():
        print(f"# {level}: the control of {name} does not succeed: {words}", flush=True)
    return len(escaped), {*found, *after}, {*found, *after} - set(blind)


class AtOnce:
    """The levels in processes of their own, which it ends when it ends."""

    def __init__(self, levels):
        self.children = {}
        for level in levels:
            here, there = os.pipe()
            child = os.fork()
            if child == 0:
                os.close(here)
                os._exit(tell(level, there))
            os.close(there)
            self.children[level] = (child, here)

    def __enter__(self):
        return self

    def results(self):
        """(level, what play() says) of each; Broken if one did not come to its end."""
        for level, (_, here) in self.children.items():
            with open(here, "rb", closefd=False) as file:
                answer = file.read()
            if not answer:
                raise Broken(f"the level {level} did not come to its end")
            yield level, json.loads(answer)

    def __exit__(self, *_):
        for child, here in self.children.values():
            os.close(here)
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGTERM)
        for child, _ in self.children.values():
            os.waitpid(child, 0)


def tell(level, to):
    """As exit status of a child, which must not go on as its parent."""
    try:
        escaped, names, seen = play(level)
        os.write(to, json.dumps([escaped, sorted(names), sorted(seen)]).encode())
        return 0
    except (Broken, Failure) as failure:
        print(f"# {level}: {failure}", flush=True)
    except BaseException as error:
        if not isinstance(error, Enough):
            traceback.print_exc()
    return 1


def escapes(levels=",".join(LEVELS)):
    if os.geteuid() != 0 or not os.access(PYTHON, os.X_OK):
        print(f"# escapes: left out, needs root, and {PYTHON} for all logins")
        return
    count, distinct, controlled, blind = 0, set(), set(), 0
    with AtOnce(levels.split(",")) as running:
        for level, (escaped, names, seen) in running.results():
            count += escaped
            distinct |= set(names)
            controlled |= set(seen)
            blind += len(set(names) - set(seen))
            figure(f"escapes_{level}", escaped, "count")
            figure(f"attempts_{level}", len(names), "count")
    figure("escapes", count, "count")
    figure("attempts", len(distinct), "count")
    figure("levels", len(levels.split(",")), "count")
    figure("controls_seen", len(controlled), "count")
    if count or blind:
        raise Broken(f"{count} attempts escaped, {blind} have no control that succeeds")
