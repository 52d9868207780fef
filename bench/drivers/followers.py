"""Many TLS clients of the web door that follow the output of one rank, in few processes. Each
counts every line for itself: what it got twice or not at all, and when. One thread of each process
reads all of its connections: a thread or a coroutine each would cost more than the door does."""

import collections
import errno
import http.client
import json
import multiprocessing
import os
import random
import re
import select
import signal
import socket
import ssl
import time

from web_client import SERVER_NAME, Reader, request_bytes

ADDRESSES = 200  #: From 127.0.1.1 on: the door limits the connections of one address.
LINE = re.compile(r"(\d+) (\d+)[^\n]*\n")
KNOWN_MAX = 4096
AGAIN_S = 0.5  #: After a dial that failed; up to twice as long.
HEAD_MAX = 1 << 14
TOLD_MAX = 240  #: Letters of a reason.
#: Dials under way in one process. It works for all of its clients: more of them would pass the
#: door's deadlines by its own slowness.
DIALS_MAX = 40
TLS_WAITS = {ssl.SSLWantReadError: select.EPOLLIN, ssl.SSLWantWriteError: select.EPOLLOUT}


class Piece:
    """One event, and the lines that end in it. The same for all that hold `carry` before it."""

    def __init__(self, text, carry):
        fields = dict(line.partition(": ")[::2] for line in text.split("\n") if line)
        self.name = fields.get("event", "")
        self.id = fields.get("id", "")
        self.data = json.loads(fields["data"]) if "data" in fields else {}
        self.is_output = "data" in fields and not self.name
        self.begin = self.end = self.data.get("offset_bytes", 0)
        self.carry = carry
        self.first, self.times, self.is_whole = 0, [], True
        self.foreign = 0
        if self.is_output:
            self.take(carry)

    def take(self, carry):
        written = self.data["text"]
        self.end += len(written.encode())
        if self.data["stream"] == "muster":
            return
        whole, cut, self.carry = (carry + written).rpartition("\n")
        found = [(int(number), int(at)) for number, at in LINE.findall(whole + cut)]
        self.foreign = (whole + cut).count("\n") - len(found)
        self.numbers = [number for number, _ in found]
        self.times = [at for _, at in found]
        self.first = self.numbers[0] if found else 0
        self.is_whole = self.numbers == list(range(self.first, self.first + len(found)))


class Follower:
    """One client: its connection, what it has, and what it misses."""

    def __init__(self, number):
        self.source = f"127.0.1.{1 + number % ADDRESSES}"
        self.link = None
        self.stage = "away"  #: "dial", "hands", "head", "open", "over"
        self.due = 0.0
        self.raw = b""    #: Chunks of HTTP that are not whole yet.
        self.text = b""   #: An event that is not whole yet.
        self.open_ns = 0  #: Since when its stream is open.
        self.id = ""
        self.at = 0
        self.carry = ""
        self.next = 0  #: The number of the next line.
        self.lost = self.doubled = self.misplaced = self.foreign = 0
        self.opened = 0  #: Streams.
        self.new_ns = 0  #: When the first line came that was written on this stream.

    def count(self, numbers):
        for number in numbers:
            if number < self.next:
                self.doubled += 1
                continue
            self.lost += number - self.next
            self.next = number + 1


class Crowd:
    """The followers of one process, and its loop."""

    def __init__(self, path, access, numbers):
        self.path = path
        self.access = access
        self.followers = [Follower(number) for number in numbers]
        self.by_fd = {}
        self.port = 0
        self.tls = None
        self.poll = select.epoll()
        self.away = len(self.followers)  #: Of them.
        self.known = {}    #: (bytes of an event, carry) -> Piece
        self.came = collections.Counter()     #: (id of a piece, ms) -> followers, while open
        self.delays = collections.Counter()   #: ms -> lines that were written while it was open
        self.late = collections.Counter()     #: ms -> lines that waited for the follower
        self.events = collections.Counter()
        self.failed = collections.Counter()   #: Why dials and streams ended.
        self.turns = []  #: Seconds of each turn of the loop.
        self.now_ns = 0

    # ---- the ways of a connection ----

    def dial(self, follower):
        link = socket.socket()
        link.setblocking(False)
        try:
            link.bind((follower.source, 0))
            error = link.connect_ex(("127.0.0.1", self.port))
            if error not in (0, errno.EINPROGRESS):
                raise OSError(error, os.strerror(error))
        except OSError as error:
            link.close()
            self.fail(follower, error)
            return
        self.hold(follower, link, "dial", select.EPOLLOUT)

    def hold(self, follower, link, stage, events):
        if follower.link is not None and follower.link.fileno() in self.by_fd:
            self.poll.modify(link.fileno(), events)
        else:
            self.poll.register(link.fileno(), events)
        self.away -= follower.stage == "away"
        follower.link, follower.stage = link, stage
        self.by_fd[link.fileno()] = follower

    def drop(self, follower, stage="away"):
        if follower.link is not None:
            fd = follower.link.fileno()
            self.by_fd.pop(fd, None)
            self.poll.unregister(fd)
            follower.link.close()
        self.away += (stage == "away") - (follower.stage == "away")
        follower.link, follower.stage = None, stage
        follower.raw = follower.text = b""

    def fail(self, follower, why, wait=AGAIN_S):
        self.failed[f"{follower.stage}: {why if isinstance(why, str) else why!r}"[:TOLD_MAX]] += 1
        # One that was open, and is cut, comes again at once, as all the others do.
        follower.due = time.monotonic() + (
            0 if follower.stage == "open" else wait * (1 + random.random()))
        self.drop(follower)

    def begin_tls(self, follower):
        error = follower.link.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if error:
            raise OSError(error, os.strerror(error))
        # The descriptor stays the same.
        follower.link = self.tls.wrap_socket(follower.link, server_hostname=SERVER_NAME,
                                             do_handshake_on_connect=False)
        follower.stage = "hands"
        self.shake(follower)

    def shake(self, follower):
        try:
            follower.link.do_handshake()
        except tuple(TLS_WAITS) as wait:
            self.poll.modify(follower.link.fileno(), TLS_WAITS[type(wait)])
            return
        fields = [("authorization", f"Bearer {self.access}"), ("accept", "text/event-stream")]
        fields += [("last-event-id", follower.id)] if follower.id else []
        follower.link.send(request_bytes("GET", self.path, fields))
        follower.stage = "head"
        self.poll.modify(follower.link.fileno(), select.EPOLLIN)

    def ready(self, follower):
        try:
            if follower.stage == "dial":
                self.begin_tls(follower)
            elif follower.stage == "hands":
                self.shake(follower)
            else:
                self.read(follower)
        except ssl.SSLWantReadError:
            pass
        except (OSError, ValueError) as error:
            self.fail(follower, error)

    def read(self, follower):
        data = follower.link.recv(1 << 16)
        while follower.link.pending():
            data += follower.link.recv(1 << 16)
        if not data:
            self.fail(follower, "ended")
            return
        self.now_ns = time.time_ns()
        follower.raw += data
        if follower.stage == "head" and not self.take_head(follower):
            return
        if self.take_chunks(follower):
            self.take_events(follower)

    def take_head(self, follower):
        """Whether the stream is open now."""
        head, cut, rest = follower.raw.partition(b"\r\n\r\n")
        if not cut:
            if len(head) > HEAD_MAX:
                self.fail(follower, "a head without an end")
            return False
        lines = head.decode("latin-1").lower().split("\r\n")
        status = lines[0].split()[1]
        fields = dict(line.partition(": ")[::2] for line in lines[1:])
        if status != "200" or fields.get("content-type") != "text/event-stream":
            if len(rest) < int(fields.get("content-length", 0)):
                return False
            self.fail(follower, f"status {status} {rest.decode(errors='replace')}",
                      float(fields.get("retry-after", AGAIN_S)))
            return False
        follower.stage, follower.raw = "open", rest
        follower.open_ns, follower.new_ns = self.now_ns, 0
        follower.opened += 1
        return True

    def take_chunks(self, follower):
        """False if the connection is dropped: the body is over."""
        raw, at = follower.raw, 0
        while (cut := raw.find(b"\r\n", at)) >= 0:
            size = int(raw[at:cut], 16)
            if len(raw) < cut + 4 + size:
                break
            if size == 0:
                self.fail(follower, "the body ended")
                return False
            follower.text += raw[cut + 2:cut + 2 + size]
            at = cut + 4 + size
        follower.raw = raw[at:]
        return True

    # ---- what events say ----

    def take_events(self, follower):
        *whole, follower.text = follower.text.split(b"\n\n")
        for text in whole:
            if text in (b":", b"retry: 2000"):
                self.events["beat" if text == b":" else "begin"] += 1
                continue
            key = (text, follower.carry)
            piece = self.known.get(key)
            if piece is None:
                if len(self.known) >= KNOWN_MAX:
                    self.settle()
                    self.known.clear()
                piece = self.known[key] = Piece(text.decode(), follower.carry)
            self.take(follower, piece)
            if follower.stage == "over":
                return

    def take(self, follower, piece):
        self.events[piece.name] += 1
        if piece.name == "end":
            follower.misplaced += piece.begin != follower.at
            self.drop(follower, "over")
            return
        if piece.name == "gap":
            follower.id, follower.at = piece.id, piece.data["to"]
            follower.carry = ""
            return
        if not piece.is_output:
            return
        follower.misplaced += piece.begin != follower.at or piece.id != str(piece.end)
        follower.id, follower.at = piece.id, piece.end
        follower.carry = piece.carry
        follower.foreign += piece.foreign
        if not piece.times:
            return
        if piece.is_whole and piece.first == follower.next:
            follower.next += len(piece.times)
        else:
            follower.count(piece.numbers)
        if piece.times[0] >= follower.open_ns:
            self.came[piece, self.now_ns // 1_000_000] += 1
        else:
            for at in piece.times:
                kept = self.delays if at >= follower.open_ns else self.late
                kept[(self.now_ns - at) // 1_000_000] += 1
        if not follower.new_ns and piece.times[-1] >= follower.open_ns:
            follower.new_ns = self.now_ns

    def settle(self):
        """Pieces and when they came to how many, as delays."""
        for (piece, ms), count in self.came.items():
            for at in piece.times:
                self.delays[ms - at // 1_000_000] += count
        self.came.clear()

    # ---- the loop ----

    def run(self, pipe):
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        self.poll.register(pipe.fileno(), select.EPOLLIN)
        while True:
            found = self.poll.poll(0.02)
            began = time.monotonic()
            for fd, _ in found:
                if fd == pipe.fileno():
                    if not self.obey(pipe):
                        return
                elif fd in self.by_fd:
                    self.ready(self.by_fd[fd])
            self.dial_due(began)
            if found:
                self.turns.append(time.monotonic() - began)

    def dial_due(self, now):
        if not self.port or not self.away:
            return
        dialling = sum(each.stage in ("dial", "hands", "head") for each in self.followers)
        for follower in self.followers:
            if dialling >= DIALS_MAX:
                return
            if follower.stage == "away" and follower.due <= now:
                self.dial(follower)
                dialling += 1

    def obey(self, pipe):
        try:
            word, *values = pipe.recv()
        except EOFError:
            return False
        if word == "dial":
            port, roots = values
            self.tls = ssl.create_default_context(cadata=roots)
            self.port = port
        elif word == "look":
            pipe.send(self.look())
        elif word == "tell":
            self.settle()
            pipe.send(self.told())
        elif word == "forget":  # The clock of delays begins here.
            self.settle()
            self.delays.clear()
            self.late.clear()
            self.turns.clear()
        return word != "end"

    def look(self):
        stages = collections.Counter(follower.stage for follower in self.followers)
        news = [follower.new_ns for follower in self.followers]
        return {"stages": stages, "opened": sum(each.opened for each in self.followers),
                "next": min(follower.next for follower in self.followers),
                "news": news, "failed": dict(self.failed)}

    def told(self):
        keys = ("next", "lost", "doubled", "misplaced", "foreign", "opened", "stage")
        return {"followers": [{key: getattr(each, key) for key in keys}
                              for each in self.followers],
                "delays": dict(self.delays), "late": dict(self.late),
                "events": dict(self.events), "failed": dict(self.failed), "turns": self.turns,
                "cpu": time.process_time()}


class Followers:
    """All of them, in processes of their own; a context manager."""

    def __init__(self, path, access, count, processes=2):
        self.count = count
        self.pipes, self.hands = [], []
        for part in range(processes):
            ours, theirs = multiprocessing.Pipe()
            crowd = Crowd(path, access, range(part, count, processes))
            hand = multiprocessing.Process(target=crowd.run, args=(theirs,), daemon=True)
            self.pipes.append(ours)
            self.hands.append(hand)

    def __enter__(self):
        for hand in self.hands:
            hand.start()
        return self

    def __exit__(self, *_):
        for hand in self.hands:
            hand.kill()
            hand.join()

    def _say(self, *words):
        for pipe in self.pipes:
            pipe.send(words)

    def dial(self, port, roots):
        """All that are away dial this port from now on; they trust these certificates, in PEM."""
        self._say("dial", port, roots)

    def forget_delays(self):
        self._say("forget")

    def _hear(self, word):
        self._say(word)
        return [pipe.recv() for pipe in self.pipes]

    def look(self):
        """How many are in which stage, the line that the last of them waits for, and when each has
        got news on its stream (0 = not yet)."""
        looks = self._hear("look")
        return {"stages": sum((each["stages"] for each in looks), collections.Counter()),
                "opened": sum(each["opened"] for each in looks),
                "next": min(each["next"] for each in looks),
                "news": [news for each in looks for news in each["news"]],
                "failed": sum((collections.Counter(each["failed"]) for each in looks),
                              collections.Counter())}

    def tell(self):
        """All that they counted, added up."""
        told = self._hear("tell")
        both = {name: sum((collections.Counter(each[name]) for each in told),
                          collections.Counter())
                for name in ("delays", "late", "events", "failed")}
        return {**both, "followers": [each for part in told for each in part["followers"]],
                "turns": [turn for part in told for turn in part["turns"]],
                "cpu": sum(part["cpu"] for part in told)}


def quantile_of(counts, share):
    """Of a Counter of values."""
    left = share * sum(counts.values())
    for value in sorted(counts):
        left -= counts[value]
        if left <= 0:
            return value
    return 0


class Stream:
    """One answer that goes on, read event by event as it is wanted; a context manager."""

    def __init__(self, door, path, last_id="", receive_bytes=0, patience=20):
        self.link = door.connect(patience=patience, receive_bytes=receive_bytes)
        try:
            fields = [*door.proof(), ("accept", "text/event-stream")]
            fields += [("last-event-id", last_id)] if last_id else []
            self.link.sendall(request_bytes("GET", path, fields))
            self.response = http.client.HTTPResponse(Reader(self.link))
            self.response.begin()
        except BaseException:
            self.link.close()
            raise
        self.status = self.response.status

    def next(self):
        """(name, id, data) of the next event, (":", "", None) for a heartbeat; None at the end."""
        fields = {}
        while line := self.response.readline():
            if line == b":\n":
                fields[":"] = ""
            elif line != b"\n":
                name, _, value = line.decode().rstrip("\n").partition(": ")
                fields[name] = value
            elif ":" in fields:
                return ":", "", None
            elif "data" in fields:
                return fields.get("event", ""), fields.get("id", ""), json.loads(fields["data"])
            else:
                fields = {}
        return None

    def __iter__(self):
        return iter(self.next, None)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.link.close()
