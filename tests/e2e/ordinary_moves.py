"""Ordinary moves are no damage: another disk, other addresses, a cleaner of temporary files, a HUP;
and a name has one bearer. Each case is a function; its docstring is the promise."""

import os
import pathlib
import signal
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scenarios"))

from careless import expect, run_agent, stop, submit  # noqa: E402
from lab import Failure, Lab, play, wait_for  # noqa: E402

BASE_PORT = int(os.environ.get("MUSTER_TEST_PORT", "7480"))


def logged(agent, text, since=0):
    return text in agent.log.read_text()[since:]


def stop_all(lab):
    for name in "abc":
        lab[name].process.send_signal(signal.SIGTERM)
    for name in "abc":
        lab[name].process.wait(20)


def start_all(lab):
    for name in "abc":
        lab[name].start()


def check_running(lab):
    for name in "abc":
        if lab[name].process and not lab[name].is_running():
            words = lab[name].log.read_text().strip().rpartition("\n")[2]
            raise Failure(f"agent {name} ended: {words}")
    return True


def is_whole(lab):
    """All three take a job, and remember the first one."""
    check_running(lab)
    answer = lab["b"].ask("jobs", "--all")
    names = [job["name"] for job in answer["jobs"]] if answer else []
    hosts = (lab["b"].ask("hosts") or {"hosts": []})["hosts"]
    free = sum(host["gpus_free"] or 0 for host in hosts)
    return "before" in names and free == 6


def a_name_has_one_bearer(lab):
    """Refused at a join, at a start under another name, and while its bearer is off."""
    new = lab["d"]
    new.flags = {"name": "a", "ticket": str(lab.directory / "none")}
    new.start()
    ticket = str(lab.directory / "hosts.ticket")
    wait_for("d asks for a ticket", lambda: new.cli("version")[0] == 0, 10)
    expect("join", new.cli("join", ticket), 7, "the name a belongs to host", "--name")
    stop(new)
    stop(lab["c"])
    expect("rename", run_agent(lab["c"], name="b"), 7, "the name b belongs to host", "--name")
    stop(lab["b"])
    lab["c"].start()
    wait_for("two of three lead", lambda: (lab["a"].ask("quorum") or {}).get("leader"), 20)
    new.flags["name"] = "b"
    new.start()
    wait_for("d asks for a ticket", lambda: new.cli("version")[0] == 0, 10)
    wait_for("b is off", lambda: any(
        host["host"] == "b" and host["state"] != "alive"
        for host in (lab["a"].ask("hosts") or {"hosts": []})["hosts"]), 20)
    wait_for("the name is kept", lambda: "is off" in new.cli("join", ticket)[2], 20)
    stop(new)
    lab["b"].start()
    wait_for("all are back", lambda: is_whole(lab), 40)


def what_is_taken_away_comes_back(lab):
    """The socket and its link within seconds; a HUP ends nothing and is told of."""
    agent = lab["a"]
    links = lab.directory / "run"
    (agent.data / "agent.sock").unlink()
    for link in [*links.glob("*.sock"), *links.glob("http/*.sock")]:
        link.unlink()
    wait_for("a socket", lambda: (agent.data / "agent.sock").exists(), 10)
    wait_for("an answer", lambda: agent.cli("version")[0] == 0, 5)
    wait_for("links", lambda: all((links / name).exists() for name in (
        "a.sock", "agent.sock", "http/a.sock", "http/agent.sock")), 10)
    agent.process.send_signal(signal.SIGHUP)
    wait_for("a line about it", lambda: logged(agent, "event=hangup"), 10)
    check_running(lab)


def addresses_change(lab):
    """Each has the address of another one, and all are told by --seeds where the others are."""
    stop_all(lab)
    ports = [lab[name].port for name in "abc"]
    for name, port in zip("abc", ports[1:] + ports[:1]):
        lab[name].port = port
    start_all(lab)
    wait_for("the cluster is back", lambda: is_whole(lab), 60)


def a_disk_is_replaced(lab):
    """Three directories are copied: the voters are silent until they are told of the move."""
    stop_all(lab)
    for name in "abc":
        data = lab[name].data
        subprocess.run(["cp", "-a", data, f"{data}.copy"], check=True)
        subprocess.run(["mv", data, f"{data}.old"], check=True)
        subprocess.run(["mv", f"{data}.copy", data], check=True)
    start_all(lab)
    for name in "abc":
        wait_for(f"{name} is silent", lambda name=name: logged(lab[name], "event=raft_copied"), 10)
    if lab["a"].cli("submit", "--timeout", "1s", "--", "true")[0] == 0:
        raise Failure("a job was taken by copies that nobody vouches for")
    stop_all(lab)
    for name in "abc":
        lab[name].flags["moved"] = None
    start_all(lab)
    wait_for("the cluster is back", lambda: is_whole(lab), 40)


def main():
    cases = [a_name_has_one_bearer, what_is_taken_away_comes_back, addresses_change,
             a_disk_is_replaced]
    with Lab("abcd", gpus="sim:2xH100,cpus=4,mem=4G", base_port=BASE_PORT) as lab:
        # One more thread, which no signal may end.
        lab["a"].environment = {"MUSTER_AUDIT_FILE": str(lab.directory / "audit.log")}
        start_all(lab)
        wait_for("a leader", lambda: (lab["a"].ask("quorum") or {}).get("leader"), 20)
        wait_for("all GPUs", lambda: submit(lab["a"], "--gpus", "6", "--wait", "--name", "before",
                                            "--", "true")[0] == 0, 60)
        broken = play(cases, lab)
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
