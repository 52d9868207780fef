"""Ranks run as the person of their job, as the host on which they run knows that person, or they do
not run: 1,000 jobs of 20 accounts on hosts that know these differently, and a host where one step
after the other of becoming that person fails."""

import collections
import concurrent.futures
import os
import time

import broken_steps
from accounts_lab import LOGIN_HOST, AccountsLab
from cluster import BASE_PORT, Broken, figure
from host_accounts import ACCOUNTS, UNKNOWN, name_of
from lab import Lab

RANK_HOSTS = "bcde"
GPUS = 8
GANG_GPUS = 12  #: On two hosts.
GANG_EACH = 25  #: Of so many jobs of an account one is a gang.
UNKNOWN_JOBS = 5  #: Of the account that no host of ranks knows.
AT_ONCE = 3
#: Jobs that are open; beyond, no more are submitted.
OPEN_MAX = 150
PATIENCE_S = 60  #: Without a job that ends.
#: Writes what it is; the file gets its name when it is whole. A rank has that of its host from the
#: file system that it sees.
PROGRAM = """
f=$EVIDENCE/$MUSTER_JOB_ID.$MUSTER_ATTEMPT.$RANK.$$
{ echo "host $(cat /etc/hostname)"; echo "home $HOME"; echo "user $USER"; echo "logname $LOGNAME"
  echo "shell $SHELL"; echo "cwd $(pwd)"; cat /proc/self/status; } > $f && mv $f $f.whole
"""
ZERO_SETS = ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")


# Ranks, as they were.

def faults_of(place, path, account):
    """The differences between a rank and its person, by its words and by the owner of its file."""
    said = {}
    for line in path.read_text().splitlines():
        key, _, value = line.replace(":", " ", 1).partition(" ")
        said[key] = value.split()
    host = " ".join(said.get("host", []))
    owner = path.stat()
    faults = [f"a rank of root: {said['Uid']}, its file is of {owner.st_uid}"] if (
        owner.st_uid == 0 or "0" in said["Uid"]) else []
    if host not in place.accounts or not place.accounts[host].may_run(account):
        return [*faults, f"it ran on {host}, which may not run it"]
    known = place.accounts[host].accounts[account]
    wanted = {"Uid": [str(known.uid)] * 4, "Gid": [str(known.gid)] * 4, "home": [known.home],
              "user": [account], "logname": [account], "shell": [known.shell], "cwd": ["/"],
              "NoNewPrivs": ["1"], **{each: ["0" * 16] for each in ZERO_SETS}}
    faults += [f"{key} is {said.get(key)}, not {value} on {host}" for key, value in wanted.items()
               if said.get(key) != value]
    if frozenset(map(int, said["Groups"])) != known.groups:
        faults.append(f"groups {said['Groups']}, not {sorted(known.groups)} on {host}")
    if (owner.st_uid, owner.st_gid) != (known.uid, known.gid):
        faults.append(f"its file is of {owner.st_uid} {owner.st_gid}")
    return faults


class Tally:
    """Wrong ranks of the jobs {number: (account, ranks)}."""

    def __init__(self, place, jobs):
        self.wrong, self.of_root, self.hosts = 0, 0, collections.Counter()
        self.ranks = collections.Counter()
        for path in place.evidence.iterdir():
            job = int(path.name.split(".")[0])
            if path.suffix != ".whole":
                raise Broken(f"a rank of job {job} wrote a part of {path.name} alone")
            faults = faults_of(place, path, jobs[job][0])
            self.ranks[job] += 1
            self.hosts[path.read_text().split()[1]] += 1
            self.wrong += bool(faults)
            self.of_root += any("of root" in fault for fault in faults)
            for fault in faults[:3]:
                print(f"# {path.name} of {jobs[job][0]}: {fault}", flush=True)


# The jobs.

def plan(place, count):
    """[(account, GPUs)]: as many of each account, in turns."""
    able = {name_of(number): sum(place.accounts[host].may_run(name_of(number))
                                 for host in RANK_HOSTS) for number in range(ACCOUNTS)}
    if [name for name, hosts in able.items() if not hosts] != [name_of(UNKNOWN)]:
        raise Broken(f"some accounts can run nowhere: {able}")
    wanted, turn = [], 0
    while len(wanted) < count:
        number, round_of_it = turn % ACCOUNTS, turn // ACCOUNTS
        name = name_of(number)
        turn += 1
        if number == UNKNOWN and round_of_it >= UNKNOWN_JOBS:
            continue
        is_gang = able[name] > 1 and (round_of_it + number) % GANG_EACH == 1
        wanted.append((name, GANG_GPUS if is_gang else 1))
    return wanted


def states_of(agent):
    answer = agent.ask("jobs", "--all") or {"jobs": []}
    return {job["job_id"]: job["state"] for job in answer["jobs"]}


def is_open(state):
    return state in ("queued", "scheduled", "running", "stopping", "suspended")


def run_all(place, wanted):
    """Submits them and waits until all have ended that can; {number: (account, ranks)}."""
    agent, jobs = place.lab[LOGIN_HOST], {}
    todo = collections.deque(wanted)
    hopeless = sum(account == name_of(UNKNOWN) for account, _ in wanted)
    ended, last_end = 0, time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as hands:
        while True:
            states = states_of(agent)
            still = sum(is_open(state) for state in states.values())
            batch = [todo.popleft() for _ in range(min(len(todo), max(0, OPEN_MAX - still)))]
            for (account, gpus), number in zip(batch, hands.map(
                    lambda each: place.submit(*each, PROGRAM), batch)):
                jobs[number] = (account, gpus)
            if len(jobs) - still > ended:
                ended, last_end = len(jobs) - still, time.monotonic()
            open_ones = {number for number, state in states.items() if is_open(state)}
            if not todo and not batch and len(open_ones) <= hopeless:
                break
            if time.monotonic() - last_end > PATIENCE_S:
                raise Broken(f"no job ended for {PATIENCE_S} s: {sorted(open_ones)[:20]} of "
                             f"{[jobs[one][0] for one in sorted(open_ones)[:20]]} are open")
            time.sleep(1)
    return jobs


def check_ends(place, jobs):
    """Each job that could run has succeeded; the others said why they wait, and are cancelled."""
    agent = place.lab[LOGIN_HOST]
    states = states_of(agent)
    for number, (account, _) in sorted(jobs.items()):
        if account == name_of(UNKNOWN) and not is_open(states.get(number)):
            print(f"# job {number} of {account} is {states.get(number)}", flush=True)
        elif account == name_of(UNKNOWN):
            why = agent.cli("why", str(number))[1]
            if "unknown on this host" not in why:
                raise Broken(f"job {number} of {account} does not say why it waits: {why}")
            if agent.cli("cancel", str(number))[0] != 0:
                raise Broken(f"job {number} cannot be cancelled")
        elif states.get(number) != "completed":
            raise Broken(f"job {number} of {account} is {states.get(number)}: "
                         f"{agent.cli('show', str(number))[1]}")


def many_jobs(count):
    with Lab(LOGIN_HOST + RANK_HOSTS, base_port=BASE_PORT, expect=1,
             gpus=f"sim:{GPUS}xH100") as lab:
        place = AccountsLab(lab)
        place.start()
        began = time.monotonic()
        jobs = run_all(place, plan(place, count))
        check_ends(place, jobs)
        took = time.monotonic() - began
        tally = Tally(place, jobs)
        for number, (account, ranks) in jobs.items():
            if account != name_of(UNKNOWN) and tally.ranks[number] < ranks:
                raise Broken(f"job {number}: {tally.ranks[number]} of {ranks} ranks told of them")
        refused = sum(agent.log.read_text().count("unknown on this host") for agent in lab.live())
        print(f"# {len(jobs)} jobs in {took:.0f} s, {refused} lines of refusals, ranks by host "
              f"{dict(sorted(tally.hosts.items()))}", flush=True)
        if refused == 0:
            raise Broken("no host refused anything: the hosts are alike")
    return tally


def ranks_as_person(jobs=1000, steps=0):
    """With --steps N the first N of the steps alone; 0: all of them. --jobs 0 leaves jobs out."""
    if os.geteuid() != 0:
        raise Broken("only root can become another user")
    wrong = []
    if jobs:
        tally = many_jobs(jobs)
        figure("wrong_user_ranks", tally.wrong, "count")
        figure("uid0_ranks", tally.of_root, "count")
        figure("person_ranks", sum(tally.ranks.values()), "count")
        wrong += [f"{tally.wrong} ranks were not their person"] * bool(tally.wrong)
    ignored, tried = broken_steps.try_all(steps)
    figure("steps_ignored", ignored, "count")
    figure("steps_tried", tried, "count")
    wrong += [f"{ignored} ranks started though a step failed"] * bool(ignored)
    if wrong:
        raise Broken("; ".join(wrong))
