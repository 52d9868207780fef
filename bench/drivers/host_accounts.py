"""Hosts that know the same accounts differently: each has its own passwd and group file, in a mount
namespace of its agent. The files say what a rank of an account must be on a host."""

import dataclasses
import random
import shlex
import stat

from lab import MUSTER

ACCOUNTS = 20
FIRST_UID = 20000
FIRST_GID = 30000
FIRST_TEAM_GID = 31000
TEAMS = 120
TEAMS_USUAL = 8
#: More groups than the first answer of the name service has room for (user_lookup.cc).
CROWDED, CROWD = 4, 100
ALIAS_OF_ROOT, ROOT_ALMOST_EVERYWHERE, SYSTEM_USER, UNKNOWN, OF_ROOTS_GROUP = 17, 16, 18, 19, 15
SYSTEM_UID = 500
NSSWITCH = "passwd: files\ngroup: files\nshadow: files\nhosts: files\n"


@dataclasses.dataclass(frozen=True)
class Account:
    """A line of passwd and what the group file adds to it."""

    name: str
    uid: int
    gid: int
    groups: frozenset  #: With `gid`.
    home: str
    shell: str


def name_of(number):
    return f"acct{number:02}"


class HostAccounts:
    """The files of one host. `place` counts the hosts; that of the login host is 0, which knows all
    accounts. The uid of an account is that of another account on the next host."""

    def __init__(self, directory, host, place, seed=1):
        self.host = host
        self.directory = directory / f"etc-{host}"
        self.directory.mkdir()
        self.directory.chmod(0o755)
        self.rng = random.Random(f"{seed} {host}")
        self.place = place
        self.system_users = [name_of(SYSTEM_USER)] if place == 3 else []
        #: The gid of a team differs from host to host.
        self.teams = [FIRST_TEAM_GID + (team + 7 * place) % TEAMS for team in range(TEAMS)]
        self.members = {}  #: Team -> names.
        self.accounts = {}
        for number in range(ACCOUNTS):
            if self.knows(number):
                self._add(number)
        self._write()

    def knows(self, number):
        if self.place == 0:
            return True
        return number != UNKNOWN and (number + self.place) % 5 != 0

    def _uid(self, number):
        if self.place == 1 and number == ALIAS_OF_ROOT:
            return 0
        if self.place not in (0, 2) and number == ROOT_ALMOST_EVERYWHERE:
            return 0
        if self.place in (1, 3) and number == SYSTEM_USER:
            return SYSTEM_UID
        return FIRST_UID + (number + 3 * self.place) % ACCOUNTS

    def _add(self, number):
        name = name_of(number)
        gid = 0 if number == OF_ROOTS_GROUP and self.place == 2 else (
            FIRST_GID + (number + 2 * self.place) % ACCOUNTS)
        count = CROWD if number == CROWDED else self.rng.randrange(TEAMS_USUAL)
        teams = self.rng.sample(range(TEAMS), count)
        for team in teams:
            self.members.setdefault(team, []).append(name)
        self.accounts[name] = Account(
            name, self._uid(number), gid, frozenset({gid, *(self.teams[team] for team in teams)}),
            f"/home/{self.host}/{name}", "/bin/sh" if self.place % 2 else "/bin/bash")

    def _write(self):
        passwd = ["root:x:0:0:root:/root:/bin/sh", "nobody:x:65534:65534::/nonexistent:/bin/false"]
        passwd += [f"{each.name}:x:{each.uid}:{each.gid}::{each.home}:{each.shell}"
                   for each in self.accounts.values()]
        group = ["root:x:0:", "nogroup:x:65534:"]
        group += [f"prime{number}:x:{FIRST_GID + number}:" for number in range(ACCOUNTS)]
        group += [f"team{team}:x:{self.teams[team]}:{','.join(self.members.get(team, []))}"
                  for team in range(TEAMS)]
        for name, text in (("passwd", "\n".join(passwd) + "\n"), ("nsswitch.conf", NSSWITCH),
                           ("group", "\n".join(group) + "\n"), ("hostname", self.host + "\n")):
            path = self.directory / name
            path.write_text(text)
            path.chmod(0o644)

    def may_run(self, name):
        """Whether a rank of that account may start here."""
        account = self.accounts.get(name)
        return account is not None and account.uid != 0 and (
            account.uid >= 1000 or name in self.system_users)

    def wrap(self, agent, before=()):
        """Lets the agent start in a mount namespace where these files are those of /etc; `before`
        starts it, as deny_call.py does. A rank reads the name of its host in /etc/hostname."""
        binds = " && ".join(f"mount --bind {shlex.quote(str(self.directory / name))} /etc/{name}"
                            for name in ("passwd", "group", "nsswitch.conf", "hostname"))
        path = self.directory / "agent.sh"
        path.write_text("#!/bin/sh\nexec " + " ".join(map(shlex.quote, map(str, before))) +
                        " unshare --mount --propagation private sh -c " +
                        shlex.quote(f'{binds} && exec "$0" "$@"') +
                        f' {shlex.quote(str(MUSTER))} "$@"\n')
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        agent.binary = path
        agent.environment = {"MUSTER_SHARED_USER": "false"}
        if self.system_users:
            agent.environment["MUSTER_SYSTEM_USERS_MAY_RUN"] = ",".join(self.system_users)
