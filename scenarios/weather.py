"""Draws a scenario file of random faults: many at once, each undone after a while."""

import random

#: The last faults are over so long before the end.
CALM_S = 60
FIRST_S = 5
#: Hosts in trouble at one time: more would leave no majority for most of the time.
HURT_SHARE = 0.3


class Weather:
    """A file of `minutes`; the same seed draws the same file."""

    def __init__(self, hosts, minutes, seed):
        self.random = random.Random(seed)
        self.hosts = hosts
        self.end = minutes * 60 - CALM_S
        self.acts = []  #: [(s, line)]
        self.hurt = {}  #: Host -> well again at.
        self.cables = 0.0  #: Whole again at.

    def text(self):
        t = FIRST_S
        while t < self.end:
            self._draw(t)
            t += self.random.uniform(2, 9)
        last = self.end + 10
        for line in ("heal", "thaw all", "free disk all", "start all"):
            self.acts.append((last, line))
        lines = [f"at {when:.0f}s {line}" for when, line in sorted(self.acts)]
        return "\n".join(["# Random faults.", f"hosts {self.hosts} gpus 4 racks 4",
                          f"length {self.end + CALM_S}s", "", *lines]) + "\n"

    def _draw(self, t):
        kinds = [(self._kill, 4), (self._restart, 2), (self._freeze, 3), (self._power, 2),
                 (self._disk, 2), (self._clock, 1), (self._lead, 2), (self._leader, 2),
                 (self._cut, 5), (self._loss, 2), (self._flap, 1), (self._ring, 1)]
        draw = self.random.choices([kind for kind, _ in kinds], [share for _, share in kinds])[0]
        draw(t)

    def _say(self, t, line):
        self.acts.append((t, line))

    def _hosts(self, t, count, until):
        """So many that nothing else has in hand, fewer if there are not; they are in hand now."""
        self.hurt = {host: well for host, well in self.hurt.items() if well > t}
        room = int(self.hosts * HURT_SHARE) - len(self.hurt)
        free = [host for host in range(self.hosts) if host not in self.hurt]
        chosen = self.random.sample(free, max(0, min(count, room)))
        self.hurt.update((host, until + 2) for host in chosen)
        return ",".join(f"h{host}" for host in chosen)

    def _until(self, t, least, most):
        return min(t + self.random.uniform(least, most), self.end)

    def _pair(self, t, count, least, most, begin, end):
        until = self._until(t, least, most)
        who = self._hosts(t, count, until)
        if who:
            self._say(t, f"{begin} {who}")
            self._say(until, f"{end} {who}")

    def _few(self):
        return self.random.choices([1, 2, 3], [6, 2, 1])[0]

    def _kill(self, t):
        self._pair(t, self._few(), 1, 25, "kill", "start")

    def _restart(self, t):
        who = self._hosts(t, self._few(), t + 3)
        if who:
            self._say(t, f"restart {who}")

    def _freeze(self, t):
        self._pair(t, self._few(), 0.5, 25, "freeze", "thaw")

    def _power(self, t):
        # Long enough, now and then, for a voter to be replaced.
        most = self.random.choice([15, 15, 90])
        self._pair(t, self._few(), 4, most, "power off", "power on")

    def _disk(self, t):
        self._pair(t, 1, 3, 20, "fill disk", "free disk")

    def _clock(self, t):
        who = self._hosts(t, 1, t)
        if who:
            self._say(t, f"clock jump {who} {self.random.choice(['', 'back '])}1h")

    def _lead(self, t):
        self._say(t, f"lead h{self.random.randrange(self.hosts)}")

    def _leader(self, t):
        until = self._until(t, 1, 15)
        begin, end = self.random.choice([("kill leader", "start all"), ("freeze leader", "thaw all")])
        self._say(t, begin)
        self._say(until, end)

    def _with_cables(self, t, least, most, *lines):
        """One fault of the cables at a time: `heal` mends them all."""
        if t < self.cables:
            return
        until = self._until(t, least, most)
        for line in lines:
            self._say(t, line)
        self._say(until, "heal")
        self.cables = until + 3

    def _side(self):
        side = self.random.choice(
            ["half", "first 30%", "last 30%", "rack 1", "rack 2 and rack 3", "leader", "voters"]
            + [f"h{self.random.randrange(self.hosts)}"] * 3)
        if self.random.random() < 0.2:
            bridge = self.random.randrange(self.hosts)
            return f"{side} but h{bridge} from rest but h{bridge}"
        return f"{side} from rest"

    def _cut(self, t):
        way = self.random.choice(["", "", " one-way"])
        self._with_cables(t, 1, 40, f"cut {self._side()}{way}")

    def _loss(self, t):
        self._with_cables(t, 5, 40, f"cut {self._side()} loss {self.random.choice([5, 20, 60])}%")

    def _flap(self, t):
        if t < self.cables:
            return
        every, turns = self.random.uniform(1, 6), self.random.randrange(2, 6)
        self._say(t, f"flap {self._side()} every {every * 1000:.0f}ms for {every * turns * 1000:.0f}ms")
        self.cables = t + every * (turns + 1) + 3

    def _ring(self, t):
        self._with_cables(t, 5, 25, "ring all")
