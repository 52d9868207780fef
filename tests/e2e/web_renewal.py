"""HTTPS takes another certificate under connections that are in use. Each case is a function; its
docstring is the promise. `./bench/run web_renewal` is the same with 200 connections, with three
voters, and without a hurry."""

import contextlib
import os
import pathlib
import shutil
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scenarios"), str(ROOT / "bench" / "drivers")]

import web_renewal  # noqa: E402
from lab import Failure, Lab, play, wait_for  # noqa: E402
from real import clocks  # noqa: E402
from web_attack import keep_keys  # noqa: E402
from web_client import answers, give_doors, make_token  # noqa: E402
from web_renewal import REFUSED, SiteDoor, SiteFiles, Told, Watched, kept_by  # noqa: E402

BASE_PORT = int(os.environ.get("MUSTER_TEST_PORT", "7480"))
CONNECTIONS = 40
#: WebParts::kAskPeriod after its first certificate an agent looks whether that is due, and 90
#: seconds after each question from then on. A busy machine may let the first look pass: once more.
ASKS_S = 4
TRIES = 3
LONG_AGO_DAYS = 120


def demand(is_so, text):
    if not is_so:
        raise Failure(text)


def demand_no_faults(watched):
    faults = watched.faults()
    demand(not faults, f"{len(faults)} exchanges failed or saw a wrong certificate: {faults[:5]}")
    demand(len(watched.crowd.links) == watched.crowd.count, "connections are missing")


class Cast:
    """The host a, a lone voter, which signs its own certificates; `ended` is one that holds no
    more. The others show files of a site, which are those of a."""

    def __init__(self, lab):
        self.lab = lab
        self.first = lab["a"]
        self.days_back = 0
        self.doors = give_doors(lab, web_renewal.DOOR_PORT)
        keep_keys(lab)
        self.first.environment |= clocks.environment_of(self.first)
        self.turn_back(LONG_AGO_DAYS)
        self.first.start()
        self.ended = self.own()
        self.doors["a"].access = make_token(self.first, ttl="1d")[0]
        self.pairs = ()  #: That holds yet, and the one that it was renewed by.

    def turn_back(self, days):
        clocks.jump(self.first, (self.days_back - days) * web_renewal.DAY_S)
        self.days_back = days

    def own(self):
        return wait_for("a certificate", lambda: kept_by(self.first), 20)

    def start_site(self, name):
        """(SiteFiles, SiteDoor) of a host with a certificate that holds."""
        files = SiteFiles(self.lab[name])
        files.put_pair(self.pairs[0])
        door = SiteDoor(self.lab[name], self.doors[name].port, self.doors["a"].root)
        door.access = self.doors["a"].access
        self.lab[name].start()
        return files, door


def renewed(cast):
    """Whether the certificate that a makes now is renewed while connections are in use."""
    cast.first.kill_agent()
    shutil.rmtree(cast.first.data / "https")
    cast.turn_back(web_renewal.DUE_DAYS)
    cast.first.start()
    old = cast.own()
    wait_for("the door", lambda: answers(cast.doors["a"], "/v1/whoami"), 10)
    with Watched(cast.doors["a"], CONNECTIONS) as watched:
        cast.turn_back(0)
        with contextlib.suppress(Failure):
            wait_for("the renewal", lambda: kept_by(cast.first).key != old.key, ASKS_S)
        if kept_by(cast.first).key == old.key or watched.due != [old.fingerprint]:
            return False
        cast.pairs = (old, kept_by(cast.first))
        watched.shows(cast.pairs[1])
    demand_no_faults(watched)
    return True


def a_renewal_ends_no_connection(cast):
    """A certificate that is due is renewed; all connections go on, new ones see the new one."""
    demand(any(renewed(cast) for _ in range(TRIES)), "it is not renewed")


def only_good_files_of_a_site_are_taken(cast):
    """New files are shown to new connections. Those that do not match, are cut short or hold no
    more leave the old ones in force, with an event, until good ones come. No connection ends."""
    old, new = cast.pairs
    sites = {name: cast.start_site(name) for name in "bcd"}
    for name, (_, door) in sites.items():
        wait_for(f"the door of {name}", lambda door=door: answers(door, "/v1/whoami"), 20)
    late, mixed, short = (files for files, _ in sites.values())
    with contextlib.ExitStack() as stack:
        watched = [stack.enter_context(Watched(door, count)) for (_, door), count in zip(
            sites.values(), (CONNECTIONS, CONNECTIONS // 4, CONNECTIONS // 4))]
        told = [Told(each.agent, REFUSED) for each in watched]
        late.put_pair(cast.ended)
        mixed.put(key=new.key)
        short.put(certificates=new.certificates[:len(new.certificates) // 2])
        for each, refused, words in zip(watched, told, ("not now", "do not match", "cannot use")):
            reason = web_renewal.reason_of(each, refused)
            demand(words in reason, f"the reason is {reason}")
        late.put_pair(new)
        mixed.put(certificates=new.certificates)
        short.put_pair(new)
        for each in watched:
            each.shows(new)
    for each in watched:
        demand_no_faults(each)


CASES = [a_renewal_ends_no_connection, only_good_files_of_a_site_are_taken]


def main():
    with Lab("abcd", base_port=BASE_PORT, expect=1) as lab:
        return 1 if play(CASES, Cast(lab)) else 0


if __name__ == "__main__":
    sys.exit(main())
