"""Hosts that are let in, or are not, and hosts that are thrown out: what people are told of it."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scenarios"))

from careless import BASE_PORT, expect, run_agent, start_job, stop, submit  # noqa: E402
from lab import Failure, Lab, wait_for  # noqa: E402
from noise import make_noise  # noqa: E402


def newcomer(lab, name):
    """An agent without a cluster, whose socket is there."""
    agent = lab[name]
    lab.found_soon = lambda: None
    agent.start()
    wait_for(f"the socket of {name}", (agent.data / "agent.sock").exists, 10)
    return agent


def bad_tickets(agent):
    """A ticket that is cut off, mistyped, over, for another host, of members that are gone: why."""
    with Lab("y", base_port=BASE_PORT + 160, expect=0) as lab, \
            Lab("z", base_port=BASE_PORT + 180, expect=1) as gone:
        gone.start()
        dead = wait_for("a ticket of z", lambda: gone["z"].cli("ticket")[1], 20)
        other = newcomer(lab, "y")
        expect("at a member", agent.cli("join", dead), 7, "member of a cluster already: ",
               agent.ask("quorum")["cluster"][:8])
        gone["z"].kill_agent()
        good = agent.cli("ticket")[1].strip()
        expect("cut off", other.cli("join", good[:-7]), 2, "cut off or mistyped")
        wrong = good[:40] + ("A" if good[40] != "A" else "B") + good[41:]
        expect("mistyped", other.cli("join", wrong), 2, "cut off or mistyped", "whole line")
        expect("a later kind", other.cli("join", good.replace("muster1.", "muster2.")), 2,
               "version")
        expect("no ticket", other.cli("join", "nonsense"), 2, "nonsense", "muster ticket")
        ended = agent.ask("ticket")
        expect("revoke", agent.cli("ticket", "revoke", ended["ticket"]), 0)
        expect("ended", other.cli("join", ended["line"]), 7, "the ticket was revoked by")
        named = agent.cli("ticket", "--host", "somebody")[1]
        expect("another's", other.cli("join", named), 7, "for host somebody")
        expect("dead addresses", other.cli("join", dead, timeout=30), 5, gone["z"].endpoint)
        brief = agent.cli("ticket", "--ttl", "1s")[1]
        start_job(agent, "sleep", "3")  # Cluster time is told each second while a job runs.
        wait_for("it ran out", lambda: "expired" in agent.cli("ticket", "list")[1], 15)
        expect("expired", other.cli("join", brief), 7, "has expired")
        expect("still none", other.cli("hosts"), 5, "muster join")
        expect("a good one", other.cli("join", good), 0)
        expect("used", run_used(good), 7, "the ticket was used")
        expect("remove", other.cli("leave", "--force", "--yes"), 0)


def late_newcomer(_):
    """A host joins a cluster whose hosts changed their link keys twice: their records have others."""
    with Lab("efg", base_port=BASE_PORT + 100) as lab, \
            Lab("y", base_port=BASE_PORT + 160, expect=0) as late:
        lab.start()
        for name in lab.names:
            wait_for("three voters alive", lambda name=name: (
                lab[name].ask("quorum") or {}).get("tolerates") == 1, 20)
        for _round in range(2):
            wait_for("all keys are changed", lambda: lab["e"].cli(
                "keys", "rotate", "--all", timeout=60)[0] == 0, 60)
        ticket = wait_for("a ticket", lambda: lab["e"].cli("ticket")[1], 20)
        expect("join", newcomer(late, "y").cli("join", ticket, timeout=60), 0)
        wait_for("all see y alive", lambda: all(
            any(host["host"] == "y" and host["state"] == "alive"
                for host in (lab[name].ask("hosts") or {"hosts": []})["hosts"])
            for name in lab.names), 20)


def run_used(ticket):
    """What a second host hears that comes with it."""
    with Lab("w", base_port=BASE_PORT + 200, expect=0) as second:
        return newcomer(second, "w").cli("join", ticket)


def readable_keys(_):
    """Keys that others of the machine may read, or could replace: refused, with the chmod to do."""
    with Lab("y", base_port=BASE_PORT + 40, expect=1) as lab:
        other = lab["y"]
        lab.start()
        wait_for("a leader", lambda: (other.ask("quorum") or {}).get("leader"), 15)
        stop(other)
        keys = other.data / "id" / "data.mdb"
        keys.chmod(0o644)
        got = run_agent(other)
        expect("readable keys", got, 1, f"chmod 600 {keys}")
        keys.chmod(0o600)
        other.data.chmod(0o777)
        got = run_agent(other)
        expect("a writable directory", got, 1, f"chmod go-w {other.data}")
        other.data.chmod(0o755)
        other.start()
        wait_for("a leader again", lambda: (other.ask("quorum") or {}).get("leader"), 15)


def voters_of(agent):
    return {voter["host"] for voter in agent.ask("quorum")["voters"] if not voter["is_learner"]}


def needed_host_revoked(_):
    """The leader's host is not thrown out, a voter that cannot be spared is replaced first, and one
    whose agent is off loses its vote with the order."""
    with Lab("efgk", base_port=BASE_PORT + 100) as lab:
        lab.start()
        for name in lab.names:
            wait_for("three voters alive", lambda name=name: (
                lab[name].ask("quorum") or {}).get("tolerates") == 1, 20)
        leader = lab[wait_for("a leader", lambda: (lab["e"].ask("quorum") or {}).get("leader"), 15)]
        first, second = [lab[name] for name in "efg" if lab[name] is not leader]
        # The log has the founders a moment after they agreed.
        wait_for("the roll in the log", lambda: first.cli(
            "hosts", "revoke", leader.name, "--yes")[0] != 6, 15)
        expect("the leader", first.cli("hosts", "revoke", leader.name, "--yes"), 7,
               "hand the leadership over")
        expect("nobody", first.cli("hosts", "revoke", "nobody", "--yes"), 6, "nobody")
        expect("unasked", leader.cli("hosts", "revoke", first.name), 2, "--yes")
        first.kill_agent()
        expect("needed", leader.cli("hosts", "revoke", second.name, "--yes", "--timeout", "30s"), 0)
        if second.name in voters_of(leader) or "k" not in voters_of(leader):
            raise Failure(f"after the first revocation these vote: {voters_of(leader)}")
        expect("off", leader.cli("hosts", "revoke", first.name, "--yes"), 0)
        if voters_of(leader) != {leader.name, "k"}:
            raise Failure(f"after both revocations these vote: {voters_of(leader)}")
        expect("a job", submit(leader, "--gpus", "16", "--wait", "--", "true"), 0)


def knows_of(asked, name, right):
    """Whether that host has heard of the other's right, which may be a moment behind the log."""
    return f'"may_vouch":{right}' in asked.cli("hosts", "show", name, "--json")[1]


def last_to_vouch(_):
    """The last host that may vouch for its logins keeps that: it is not thrown out, and leaves by
    --force alone; nobody could submit or administer any more."""
    with Lab("efg", base_port=BASE_PORT + 100) as lab:
        lab.start()
        for name in lab.names:
            wait_for("three voters alive", lambda name=name: (
                lab[name].ask("quorum") or {}).get("tolerates") == 1, 20)
        leader = wait_for("a leader", lambda: (lab["e"].ask("quorum") or {}).get("leader"), 15)
        last = next(name for name in "efg" if name != leader)
        for name in [each for each in lab.names if each != last]:
            wait_for("its right is taken", lambda name=name: lab[last].cli(
                "hosts", "set", name, "--may-vouch", "no")[0] == 0, 15)
            wait_for("the last one knows", lambda name=name: (
                knows_of(lab[last], name, "false")), 15)
        kept = "is the last host that may vouch"
        expect("set", lab[last].cli("hosts", "set", last, "--may-vouch", "no"), 7, kept)
        expect("revoke", lab[last].cli("hosts", "revoke", last, "--yes"), 7, kept)
        expect("leave", lab[last].cli("leave", "--yes"), 7, kept, "--force")
        expect("a job", submit(lab[last], "--gpus", "24", "--wait", "--", "true"), 0)
        other = next(name for name in "efg" if name not in (leader, last))
        expect("given to another", lab[last].cli("hosts", "set", other, "--may-vouch", "yes"), 0)
        wait_for("the last one knows", lambda: knows_of(lab[last], other, "true"), 15)
        expect("then it leaves", lab[last].cli("leave", "--yes", timeout=60), 0)
        expect("and the other one may", submit(lab[other], "--gpus", "1", "--wait", "--", "true"), 0)


def plain_peer(_):
    """A peer without keys is refused, counted and named in one line."""
    with Lab("h", base_port=BASE_PORT + 40, expect=1) as lab:
        lab.start()
        asked = lab["h"]
        wait_for("a leader", lambda: (asked.ask("quorum") or {}).get("leader"), 15)
        sent = make_noise(("127.0.0.1", asked.port), 3, 1, lambda: None)
        if sent["dials"] < 3:
            raise Failure(f"nobody dialled: {sent}")
        wait_for("a line that counts them", lambda: "connections_refused" in
                 asked.log.read_text(), 15)
        lines = [line for line in asked.log.read_text().splitlines()
                 if "connections_refused" in line]
        if len(lines) != 1 or "no_key=0" in lines[0]:
            raise Failure(f"plain peers are told of in {lines}")
