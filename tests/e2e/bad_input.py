"""What a careless user, a careless program and a careless disk do to real agents, and what they
are told. Each case is a function; its docstring is the promise. Names select cases."""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scenarios"))

from bad_members import (  # noqa: E402
    bad_tickets, last_to_vouch, late_newcomer, needed_host_revoked, newcomer, plain_peer,
    readable_keys)
from careless import BASE_PORT, LeftOut, expect, run_agent, start_job, stop, submit  # noqa: E402
from lab import MUSTER, Failure, Lab, descendants_of, wait_for  # noqa: E402
from noise import make_noise  # noqa: E402

NOISE_ROUNDS_MAX = 10

# Agents that refuse to start.

def port_in_use(agent):
    """A port that somebody has: exit 7, naming it."""
    expect("port in use", run_agent(agent, data_dir=str(agent.data.parent / "other")), 7,
           str(agent.port))


def data_dir_locked(agent):
    """The data directory of a live agent: exit 7, naming the directory and the agent's pid."""
    expect("locked", run_agent(agent, listen="127.0.0.1:0"), 7, str(agent.data),
           str(agent.process.pid))


def bad_gpus(agent):
    """--gpus that mean nothing: exit 2, naming what was given."""
    for gpus in ("sim:0xH100", "sim:8", "sim:8x", "nonsense", "sim:-1xH100"):
        expect(gpus, run_agent(agent, data_dir=str(agent.data.parent / "gpus"), gpus=gpus,
                               listen="127.0.0.1:0"), 2, gpus)


def bad_settings(agent):
    """Flags out of range: exit 2, naming the flag."""
    other = str(agent.data.parent / "flags")
    for changes in ({"output_keep": "soon"}, {"listen": "300.1.1.1:99"},
                    {"listen": "0.0.0.0:7450"}, {"log_level": "loud"}):
        flag = "--" + next(iter(changes)).replace("_", "-")
        expect(changes, run_agent(agent, **{"data_dir": other, **changes}), 2, flag)


# Jobs that cannot be, or that misbehave.

def unknown_job(agent):
    """A job nobody submitted: exit 6."""
    for verb in ("show", "why", "logs", "cancel"):
        expect(verb, agent.cli(verb, "4711"), 6, "4711")


def job_too_large(agent):
    """More GPUs than all hosts have: exit 3, with the largest number that fits."""
    expect("too large", submit(agent, "--gpus", "9", "--", "true"), 3, "8")
    expect("unknown type", submit(agent, "--gpus", "1", "--gpu-type", "B999", "--", "true"), 3,
           "B999")


def bad_submit(agent):
    """Zero GPUs, no command, a broken duration: exit 2."""
    expect("zero", submit(agent, "--gpus", "0", "--", "true"), 2)
    expect("no command", submit(agent, "--gpus", "1"), 2)
    expect("duration", submit(agent, "--gpus", "1", "--time-limit", "soon", "--", "true"), 2)
    expect("no such verb", agent.cli("launch"), 2)


def key_of_another_job(agent):
    """A key used again: the same job is the same, another one exits 7 and names the first."""
    words = ("--gpus", "1", "--key", "5" * 32)
    first = submit(agent, *words, "--", "true")
    expect("again", submit(agent, *words, "--", "true"), 0, first[1].strip())
    expect("another", submit(agent, *words, "--wait", "--", "false"), 7, "another command", "job ")


def command_not_found(agent):
    """A program that is nowhere: the job fails with 127 and `show` says so."""
    expect("wait", submit(agent, "--gpus", "1", "--wait", "--", "no-such-program"), 127)
    number = str(agent.ask("jobs", "--all")["jobs"][-1]["job_id"])
    expect("show", agent.cli("show", number), 0, "127", "failed")


def directory_is_missing(agent):
    """A working directory that the host lacks: the job fails, naming it."""
    got = submit(agent, "--gpus", "1", "--wait", "--cwd", "/no/such/place", "--", "true")
    number = str(agent.ask("jobs", "--all")["jobs"][-1]["job_id"])
    if got[0] in (0, 2):
        raise Failure(f"a job in a missing directory exits {got}")
    expect("show", agent.cli("show", number), 0, "/no/such/place")


def killed_by_signal(agent):
    """A rank that a signal ended: 128 + its number, and `show` names it."""
    expect("wait", submit(agent, "--gpus", "1", "--wait", "--", "sh", "-c", "kill -SEGV $$"), 139)
    number = str(agent.ask("jobs", "--all")["jobs"][-1]["job_id"])
    expect("show", agent.cli("show", number), 0, "signal 11")


def ignores_term(agent):
    """Cancel ends even what ignores TERM, once the grace is over."""
    number = start_job(agent, "sh", "-c", "trap '' TERM; while :; do sleep 0.2; done",
                       options=("--gpus", "1", "--grace", "1s"))
    expect("cancel", agent.cli("cancel", number), 0)
    wait_for("cancelled", lambda: agent.ask("show", number)["job"]["state"] == "cancelled", 15)


def forks_away(agent):
    """What a rank left behind in the background ends with its grant."""
    marker = f"31{os.getpid() % 10000}.5"
    expect("wait", submit(agent, "--gpus", "1", "--wait", "--", "sh", "-c",
                          f"setsid sleep {marker} >/dev/null 2>&1 & exit 0"), 0)
    wait_for("the forked process gone", lambda: not descendants_of(
        lambda command: marker.encode() in command.split(b"\0")), 10)


def no_quorum(agent):
    """Without a majority: submit says so with exit 5, however large the job is, and reads answer."""
    with Lab("pq", base_port=BASE_PORT + 20) as lab:  # Two of the three that were asked for.
        three = f"{lab.seeds()},127.0.0.1:9"
        lab.seeds = lambda: three
        lab.start()
        wait_for("answers", lambda: lab["p"].ask("hosts"), 10)
        expect("submit", submit(lab["p"], "--gpus", "1", "--", "true"), 5, "quorum")
        # Nobody has registered yet: nothing can be called impossible.
        expect("submit", submit(lab["p"], "--gpus", "4096", "--", "true"), 5, "quorum")
        expect("hosts", lab["p"].cli("hosts"), 0)


def seeds_unreachable(agent):
    """Seeds that nobody answers on: the log says so, naming them."""
    with Lab("z", base_port=BASE_PORT + 30) as lab:
        lab.seeds = lambda: "127.0.0.1:9,127.0.0.1:11,127.0.0.1:13"
        lab.start()
        wait_for("a line about the seeds", lambda: "127.0.0.1:9 no known member there" in (
            lab["z"].data / "agent.log").read_text(), 30)
        for verb in ("hosts", "quorum"):
            _, out, _ = lab["z"].cli(verb)
            if "! seed 127.0.0.1:11 does not answer: no known member there" not in out:
                raise Failure(f"{verb} says nothing of the seeds: {out}")
        if "the cluster is being founded: 1 of 3 founders are here" not in out:
            raise Failure(f"quorum does not say who is missing: {out}")


def seed_without_address(agent):
    """A seed whose name has no address does no harm while another one answers."""
    with Lab("mn", base_port=BASE_PORT + 100, expect=1) as lab:
        lab.seeds = lambda: lab["m"].endpoint
        lab["m"].start()
        lab.seeds = lambda: f"no..host:7450,{lab['m'].endpoint}"
        lab["n"].start()
        wait_for("one cluster", lambda: {host["host"] for host in (
            lab["n"].ask("hosts") or {"hosts": []})["hosts"]} == {"m", "n"}, 15)
        if "seed_left_out" not in (lab["n"].data / "agent.log").read_text():
            raise Failure("nothing is said of the seed without an address")
        expect("none", run_agent(lab["n"], data_dir=str(lab.directory / "o"),
                                 listen="127.0.0.1:0", seeds="no..host:7450"), 2,
               "no..host")
        own = f"127.0.0.1:{lab['n'].port + 4}"
        expect("none but itself", run_agent(
            lab["n"], data_dir=str(lab.directory / "o"), listen=own,
            seeds=f"no..host:7450,{own}"), 2, "no..host")


def seeds_come_late(agent):
    """An agent that is there before its ticket says what it waits for, and joins once it can."""
    with Lab("mn", base_port=BASE_PORT + 100, expect=1) as lab:
        lab.seeds = lambda: lab["m"].endpoint
        lab["n"].start()
        wait_for("a word of what it waits for", lambda: "no_cluster_yet" in (
            lab["n"].data / "agent.log").read_text(), 30)
        expect("hosts", lab["n"].cli("hosts"), 5, "muster join")
        lab["m"].start()
        wait_for("one cluster", lambda: {host["host"] for host in (
            lab["n"].ask("hosts") or {"hosts": []})["hosts"]} == {"m", "n"}, 15)
        wait_for("a gang over both", lambda: submit(
            lab["n"], "--gpus", "16", "--wait", "--", "true")[0] == 0, 15)


def nobody_there(agent):
    """A node that does not exist: exit 1 for a question, 5 for a submit, 6 for a host's name."""
    expect("hosts", agent.cli("hosts", "--node", "/nowhere"), 1, "/nowhere/agent.sock")
    expect("submit", agent.cli("submit", "--node", "/nowhere", "--gpus", "1", "--", "true"), 5)
    expect("name", agent.cli("hosts", "--node", "nobody"), 6, "nobody")
    expect("address", agent.cli("hosts", "--node", "127.0.0.1:9"), 2, "127.0.0.1:9", "--node NAME")


# A disk that lies. Each works on the data of a stopped agent.

def flip_a_byte(directory):
    """Flips one byte in the middle of each record page: whatever is read shows it."""
    path = directory / "data.mdb"
    data = bytearray(path.read_bytes())
    for page in range(2, len(data) // 4096):
        data[page * 4096 + 4000] ^= 0x55
    path.write_bytes(data)


def damaged_disk(agent):
    """Damage in id/ is refused with advice; damage in state/ is rebuilt and said."""
    with Lab("y", base_port=BASE_PORT + 40, expect=1) as lab:
        other = lab["y"]
        lab.start()
        wait_for("a leader", lambda: (other.ask("quorum") or {}).get("leader"), 15)
        other.process.send_signal(signal.SIGTERM)
        other.process.wait(10)
        flip_a_byte(other.data / "state")
        other.start()
        wait_for("a leader again", lambda: (other.ask("quorum") or {}).get("leader"), 15)
        if "rows_damaged" not in (other.data / "agent.log").read_text():
            raise Failure("state/ was damaged and the log does not say so")
        other.process.send_signal(signal.SIGTERM)
        other.process.wait(10)
        flip_a_byte(other.data / "id")
        got = run_agent(other)
        if got[0] == 0 or "id" not in got[2] or "move the data directory away" not in got[2]:
            raise Failure(f"a damaged id/ was answered with {got}")


def voters(agent):
    """Their names and why each votes."""
    known = (agent.ask("quorum") or {}).get("voters", [])
    return {voter["host"]: voter["why"] for voter in known if not voter["is_learner"]}


def raft_lost_or_copied(agent):
    """A voter whose raft/ was lost, damaged or copied back votes again from a new seat, by itself."""
    with Lab("efg", base_port=BASE_PORT + 100) as lab:
        other, asked = lab["f"], lab["e"]
        lab.start()
        wait_for("a leader", lambda: (asked.ask("quorum") or {}).get("leader"), 15)
        raft = other.data / "raft"
        kept, again = lab.directory / "kept", lab.directory / "again"
        shutil.copytree(raft, kept)
        for why, doing in (
                ("missing", lambda: shutil.rmtree(raft)),
                ("damaged", lambda: flip_a_byte(raft)),
                ("older than id/", lambda: (shutil.rmtree(raft), shutil.copytree(kept, raft))),
                ("was copied", lambda: (raft.rename(again), shutil.copytree(again, raft)))):
            stop(other)
            doing()
            other.start()
            log = other.data / "agent.log"
            wait_for(f"the log says that raft/ was {why}", lambda: any(
                why in line and ("raft_set_aside" in line or "raft_discarded" in line)
                for line in log.read_text().splitlines()), 10)
            wait_for(f"f lost its vote ({why})", lambda: "f" not in voters(asked), 30)
            wait_for(f"f votes again ({why})", lambda: voters(asked).get("f") == "joined later", 30)
            expect(f"a job after {why}", submit(other, "--gpus", "24", "--wait", "--", "true"), 0)
        stop(other)
        (other.data / "id").rename(lab.directory / "id")
        expect("a lost id/", run_agent(other), 7, "raft", "move the data directory away")


def doubled_id(agent):
    """A cloned disk under one id: both end with 7 and say why; the original comes back alone."""
    with Lab("bcd", base_port=BASE_PORT + 120) as lab:
        lab.start()
        wait_for("a leader", lambda: (lab["b"].ask("quorum") or {}).get("leader"), 15)
        port = lab["d"].port + 4
        origin = lab["d"]
        stop(origin)
        clone = lab.directory / "clone"
        shutil.copytree(origin.data, clone, ignore=shutil.ignore_patterns("agent.sock"))
        (clone / "raft/marker").unlink()  # A clone of the whole disk keeps the marker's inode.
        (clone / "raft/marker").hardlink_to(origin.data / "raft/marker")
        origin.start()
        wait_for("d is back", lambda: any(host["host"] == "d" and host["state"] == "alive"
                                          for host in lab["b"].ask("hosts")["hosts"]), 15)
        got = run_agent(origin, seconds=20, data_dir=str(clone),
                        listen=f"127.0.0.1:{port}")
        expect("the clone", got, 7, "host_id_doubled", str(clone), "joins as a new host")
        origin.process.wait(10)
        if origin.process.returncode != 7:
            raise Failure(f"the original ended with {origin.process.returncode}")
        origin.start()
        wait_for("a job on all hosts", lambda: submit(
            lab["b"], "--gpus", "24", "--wait", "--time-limit", "20s", "--", "true")[0] == 0, 40)


def clock_set_back(agent):
    """Wall time is display data: a clock wrong by ten years under live agents harms nothing, nor does
    it let a ticket run out."""
    library = next(pathlib.Path("/usr/lib").glob("*/faketime/libfaketime.so.1"), None)
    if library is None:
        raise LeftOut("libfaketime is not installed")
    with Lab("uvw", base_port=BASE_PORT + 50) as lab:
        clock = lab.directory / "clock"
        clock.write_text("+0")
        lab["v"].environment = {  # Else BOOTTIME, by which the agent lives, would jump as well.
            "LD_PRELOAD": str(library), "FAKETIME_TIMESTAMP_FILE": str(clock),
            "FAKETIME_NO_CACHE": "1", "FAKETIME_DONT_FAKE_MONOTONIC": "1"}
        lab.start()
        wait_for("a leader", lambda: (lab["v"].ask("quorum") or {}).get("leader"), 15)
        ticket = lab["v"].cli("ticket")[1]
        clock.write_text("-3650d")
        time.sleep(3)
        expect("job", submit(lab["v"], "--gpus", "24", "--wait", "--", "true"), 0)
        if {host["state"] for host in lab["u"].ask("hosts")["hosts"]} != {"alive"}:
            raise Failure("a clock set back made hosts look dead")
        clock.write_text("+3650d")
        time.sleep(1)
        expect("a later job", submit(lab["v"], "--gpus", "24", "--wait", "--", "true"), 0)
        with Lab("x", base_port=BASE_PORT + 160, expect=0) as late:
            expect("join", newcomer(late, "x").cli("join", ticket), 0)
        log = (lab["v"].data / "agent.log").read_text()
        if str(time.gmtime().tm_year - 10) not in log:
            raise Failure("the clock was not set back: this test tests nothing")


def foreign_member(agent):
    """A member of another cluster is no member here, whatever addresses it knows."""
    with Lab("rst", base_port=BASE_PORT + 60) as lab, \
            Lab("w", base_port=BASE_PORT + 80, expect=0) as foreign:
        foreign.seeds = lambda: lab["r"].endpoint
        foreign.found_soon = lambda: None
        code, ticket, err = agent.cli("ticket")
        if code != 0:
            raise Failure(f"ticket: {err}")
        (foreign.directory / "hosts.ticket").touch(mode=0o600)
        (foreign.directory / "hosts.ticket").write_text(ticket)
        foreign.start()
        wait_for("w is a member", lambda: any(
            host["host"] == "w" for host in (agent.ask("hosts") or {"hosts": []})["hosts"]), 15)
        lab.start()
        wait_for("a leader", lambda: (lab["s"].ask("quorum") or {}).get("leader"), 15)
        # Until all three said hello to it, it refuses a job that needs them all.
        wait_for("a job on all GPUs", lambda: submit(
            lab["r"], "--gpus", "24", "--wait", "--", "true")[0] == 0, 15)
        for name in lab.names:
            met = {host["host"] for host in lab[name].ask("hosts")["hosts"]}
            if met != {"r", "s", "t"}:
                raise Failure(f"{name} knows {met}")


def asked_node_dies(_):
    """The asked node dies with a submit in its hands: it goes on through another, to one job."""
    with Lab("lmn", base_port=BASE_PORT + 100) as lab:
        lab.start()
        wait_for("a leader that has all hosts", lambda: (
            (lab["l"].ask("quorum") or {}).get("leader") and
            submit(lab["l"], "--gpus", "24", "--wait", "--", "true")[0] == 0), 30)
        leader = lab[lab["l"].ask("quorum")["leader"]]
        asked, other = [agent for agent in lab.agents.values() if agent is not leader]
        # With the leader asleep the submit is accepted by nobody and lies at the asked node.
        leader.process.send_signal(signal.SIGSTOP)
        client = subprocess.Popen([str(MUSTER), "submit", "-v", "--json", "--gpus", "1", "--name",
                                   "once", "--node", f"{asked.data},{other.data}", "--", "true"],
                                  text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        key = client.stderr.readline()
        time.sleep(0.5)
        asked.kill_agent()
        leader.process.send_signal(signal.SIGCONT)
        out, err = client.communicate(timeout=30)
        if client.returncode != 0 or json.loads(out)["key"] not in key:
            raise Failure(f"submit: exit {client.returncode}, {out}{key}{err}")
        wait_for("the job's end", lambda: (
            other.ask("show", str(json.loads(out)["job_id"])) or {"job": {"state": ""}}
        )["job"]["state"] == "completed", 20)
        jobs = [job for job in other.ask("jobs", "--all")["jobs"] if job["name"] == "once"]
        if len(jobs) != 1:
            raise Failure(f"submitted once, accepted {len(jobs)} times")


def needed_voter_leaves(_):
    """A voter leaves with a warning, the next one not without --force; `quorum` counts the rest."""
    with Lab("ijk", base_port=BASE_PORT + 120) as lab:
        lab.start()
        for name in lab.names:
            wait_for("three voters alive", lambda name=name: (
                lab[name].ask("quorum") or {}).get("tolerates") == 1, 20)
        expect("leave", lab["i"].cli("leave", "--yes"), 0, "warning: host i is a voter", "2 of 3 voters")
        wait_for("its end", lambda: not lab["i"].is_running(), 5)
        wait_for("no failure tolerated", lambda: (
            lab["j"].ask("quorum") or {}).get("tolerates") == 0, 10)
        expect("leave", lab["j"].cli("leave", "--yes"), 7, "not a majority", "--force")
        wait_for("the remaining two to decide", lambda: submit(
            lab["j"], "--gpus", "8", "--wait", "--", "true")[0] == 0, 15)
        expect("leave", lab["j"].cli("leave", "--force", "--yes"), 0, "warning")


def majority_lost(_):
    """Two of three voters are gone with their disks: the third goes on by hand; so does what runs."""
    with Lab("ghij", base_port=BASE_PORT + 140) as lab:
        lab.start()
        asked = lab["j"]
        wait_for("a job on all GPUs", lambda: submit(
            asked, "--gpus", "32", "--wait", "--", "true")[0] == 0, 30)
        jobs = [start_job(asked, "sleep", "100", options=("--gpus", "8")) for _ in lab.names]
        # A job runs when all of its hosts are told to start; the processes come a moment later.
        ranks = {}
        wait_for("16 ranks on i and j", lambda: (
            ranks.update({(name, job): lab[name].ranks_of(job) for name in "ij" for job in jobs})
            or sum(len(found) for found in ranks.values()) == 16), 10)
        expect("with all alive", asked.cli("quorum", "recover", "--yes"), 7, "leader")
        # j joined a moment ago: that nobody answers there is for all three others to say.
        wait_for("three that observe g and h", lambda: all(
            len((asked.ask("why-host", name) or {}).get("heard_by", [])) == 3 for name in "gh"), 20)
        for name in "gh":
            lab[name].kill_host()
            shutil.rmtree(lab[name].data)
            lab[name].data.mkdir()
        wait_for("a question", lambda: asked.cli("quorum", "recover")[0] == 2, 20)
        expect("unasked", asked.cli("quorum", "recover"), 2, "--yes", "no answer")
        expect("recover", asked.cli("quorum", "recover", "--yes", timeout=40), 0,
               "i leads", "epoch 2")
        lab["i"].kill_agent()
        lab["i"].start()
        for name in "gh":  # They come back as other hosts, whose names are theirs.
            lab[name].flags = {"name": f"{name}2"}
            lab[name].start()
        wait_for("three voters", lambda: len(voters(asked)) == 3, 60)
        expect("a submit", submit(asked, "--gpus", "8", "--", "true"), 0)
        if "raft_set_aside" in lab["i"].log.read_text() or \
                "raft_discarded" in lab["i"].log.read_text():
            raise Failure("i threw the recovered log away when it started again")
        if ranks != {(name, job): lab[name].ranks_of(job) for name, job in ranks}:
            raise Failure("what ran on i and j was touched")


def noisy_peers(agent):
    """Forty peers that send frames of a mebibyte of noise: bounded memory, and it leads on."""
    def resident():
        status = pathlib.Path(f"/proc/{agent.process.pid}/status").read_text()
        return int(status.split("VmRSS:")[1].split()[0]) / 1024

    before = most = resident()
    term = agent.ask("quorum")["term"]

    def look():
        nonlocal most
        most = max(most, resident())

    sent = {"bytes": 0, "dials": 0}
    for _ in range(NOISE_ROUNDS_MAX):  # A busy machine makes less of it in the same time.
        for key, more in make_noise(("127.0.0.1", agent.port), 40, 3, look).items():
            sent[key] = sent.get(key, 0) + more
        if sent["bytes"] >= 100e6 and sent["dials"] >= 80:
            break
    else:
        raise Failure(f"the peers made no noise or were not cut off: {sent}")
    if most - before > 64:
        raise Failure(f"it grew from {before:.0f} to {most:.0f} MB")
    expect("a submit", submit(agent, "--gpus", "1", "--wait", "--", "true"), 0)
    if agent.ask("quorum")["term"] != term:
        raise Failure("it lost its place")


CASES = [port_in_use, data_dir_locked, bad_gpus, bad_settings, unknown_job, job_too_large,
         bad_submit, key_of_another_job, command_not_found, directory_is_missing, killed_by_signal, ignores_term,
         forks_away, nobody_there, no_quorum, seeds_unreachable, seed_without_address, seeds_come_late,
         bad_tickets, late_newcomer, readable_keys, needed_host_revoked, last_to_vouch, plain_peer,
         damaged_disk, raft_lost_or_copied, doubled_id, clock_set_back, foreign_member, asked_node_dies,
         needed_voter_leaves, majority_lost, noisy_peers]


def main():
    wanted = sys.argv[1:]
    broken = 0
    with Lab("x", base_port=BASE_PORT, expect=1) as lab:
        lab.start()
        agent = lab["x"]
        wait_for("a leader", lambda: (agent.ask("quorum") or {}).get("leader"), 15)
        wait_for("its GPUs", lambda: submit(
            agent, "--gpus", "1", "--wait", "--", "true")[0] == 0, 15)
        for case in CASES:
            if wanted and case.__name__ not in wanted:
                continue
            began = time.monotonic()
            try:
                case(agent)
                print(f"ok      {case.__name__} {time.monotonic() - began:.1f} s", flush=True)
            except LeftOut as why:
                print(f"LEFT OUT {case.__name__}: {why}", flush=True)
                broken += os.environ.get("MUSTER_NO_SKIP") == "1"
            except Failure as failure:
                broken += 1
                print(f"BROKEN  {case.__name__}: {case.__doc__}\n        {failure}", flush=True)
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
