"""Throws malformed requests at a web door by many connections at once, and judges each answer: its
form, its status, and that over HTTPS, where no request has a proof, it tells no more than that."""

import json
import random
import re
import selectors
import socket
import ssl
import time

from web_client import SERVER_NAME, ask_once, dial, request_bytes
from web_malformed import KINDS, wild_tls

AT_ONCE = 48
#: Connections without a proof have a limit for each address.
SOURCES = ("127.0.0.1", "127.0.0.2", "127.0.0.3", "127.0.0.4")
#: A request that is not whole gets no answer: then the client ends its side.
QUIET_S = 0.1
#: Then the door has to end the connection. A question may take ten seconds.
LEAVING_S = 15
LOOK_S = 0.02
CONNECT_S = 5
READ_BYTES = 1 << 16
#: Faults that are printed.
TOLD_MOST = 20
HEAD = re.compile(rb"HTTP/1\.[01] (\d{3})[^\r\n]*\r\n((?:[^\r\n]+\r\n)*)\r\n")
PROBLEM = "application/problem+json"
STREAM = "text/event-stream"
#: What the rules of REST say to one request or another.
TOLD = (200, 201, 304, 400, 401, 403, 404, 405, 409, 410, 411, 413, 414, 415, 421, 422, 429, 431)
#: A door or a node with too much to do.
BUSY = (503, 504)
#: Of the library, to a version of HTTP that is not there.
NO_VERSION = 505
#: Of them, those that need no proof and tell no more than the request and the page do.
UNPROVEN = (304, 400, 401, 403, 404, 405, 411, 413, 414, 415, 421, 431, NO_VERSION, *BUSY)
SECRET = b"muster-access-1."
BODILESS = (204, 304)
PAGE_FILE = re.compile(r'(?:src|href)="(/?[\w.-]+\.(?:js|css|svg|ico))"')


class Told:
    """One answer, out of the bytes of a connection."""

    def __init__(self, status, fields, body):
        self.status = status
        self.fields = fields
        self.body = body

    @property
    def closes(self):
        return self.fields.get("connection", "").lower() == "close"


def first_answer(content, is_head):
    """(the first whole answer of `content`, its size); nothing if more has to come. ValueError if
    it is no answer. Behind an answer to a HEAD there may be a body, which has to be dropped."""
    match = HEAD.match(content)
    if match is None:
        if b"\r\n\r\n" in content or not b"HTTP/1.".startswith(content[:7]):
            raise ValueError(f"no answer: {bytes(content[:60])!r}")
        return None
    status = int(match[1])
    lines = [line.partition(":") for line in match[2].decode("latin-1").splitlines()]
    fields = {name.strip().lower(): value.strip() for name, _, value in lines}
    if status < 200:
        rest = first_answer(content[match.end():], is_head)
        return rest and (rest[0], rest[1] + match.end())
    if is_head or status in BODILESS:
        return Told(status, fields, b""), match.end()
    if fields.get("content-type") == STREAM:
        # It goes on for as long as its client is there, which now leaves.
        return Told(status, {**fields, "connection": "close"}, b""), match.end()
    if "content-length" not in fields:
        raise ValueError(f"{status} without a length: {fields}")
    end = match.end() + int(fields["content-length"])
    return (Told(status, fields, bytes(content[match.end():end])), end) if len(content) >= end \
        else None


class Judge:
    """Knows what needs no proof: the page, and that the door is open."""

    def __init__(self, door, canary):
        self.canary = canary.encode()
        self.public = {b""}
        page = self._read(door, "/")
        for name in ["healthz", *PAGE_FILE.findall(page.decode())]:
            self._read(door, "/" + name.lstrip("/"))

    def _read(self, door, target):
        answer = ask_once(door, request_bytes("GET", target))
        if answer is None or answer.status != 200:
            raise OSError(f"{target} is not answered without a proof")
        self.public.add(answer.body)
        return answer.body

    def fault(self, answer, is_proven):
        """The first that is wrong with an answer, or nothing."""
        if answer.status not in (*TOLD, *BUSY, NO_VERSION):
            return f"status {answer.status}"
        if SECRET in answer.body:
            return "an access token is in it"
        if not is_proven and self.canary in answer.body:
            return "a job is in it, and there was no proof"
        is_public = answer.status == 200 and answer.body in self.public
        if not is_proven and answer.status not in UNPROVEN and not is_public:
            return f"status {answer.status} without a proof"
        if answer.fields.get("content-type") == PROBLEM and answer.body:
            return problem_fault(answer)
        return ""


def problem_fault(answer):
    try:
        problem = json.loads(answer.body)
    except ValueError:
        return "its body is no JSON"
    if problem.get("status") != answer.status or not problem.get("detail"):
        return f"its body is no problem of {answer.status}"
    return "more than one line" if "\n" in problem["detail"] else ""


class Line:
    """One connection, the malformed request on it, and the bytes that came back."""

    def __init__(self, link, way):
        self.link = link
        self.way = way
        self.needs_shake = way == "https"
        self.numbers = []
        self.unsent = self.held = b""
        self.heard = bytearray()
        self.answers = 0
        self.ends_it = self.is_ended = self.is_head = False
        self.wants_write = True
        self.events = 0
        self.moved_at = time.monotonic()

    def give(self, numbers, contents, rng):
        self.numbers = numbers
        content = b"".join(contents)
        #: Which of its answers would have a body is not worked out: the first is judged.
        self.is_head = b"HEAD" in content
        cut = len(content) if rng.randrange(8) else rng.randrange(len(content) + 1)
        self.unsent, self.held = content[:cut], content[cut:]  # The rest comes a moment later.
        self.ends_it = rng.randrange(4) == 0
        self.answers = 0
        self.heard.clear()
        self.moved_at = time.monotonic()

    def step(self):
        """Does all that goes without waiting. False when the connection has ended."""
        self.wants_write = False
        try:
            if self.needs_shake:
                self.link.do_handshake()
                self.needs_shake = False
                self.moved_at = time.monotonic()
            self._send()
        except (ssl.SSLWantReadError, BlockingIOError):
            self.wants_write = bool(self.unsent) and not self.needs_shake
        except ssl.SSLWantWriteError:
            self.wants_write = True
        except OSError:
            if self.needs_shake:
                return False
            self.unsent = self.held = b""  # The door may have answered before it had all.
        return self._hear()

    def _send(self):
        while self.unsent:
            count = self.link.send(self.unsent[:READ_BYTES])
            self.unsent = self.unsent[count:]
            self.moved_at = time.monotonic()
        if self.held:
            self.unsent, self.held = self.held, b""
            self.wants_write = True
        elif self.ends_it:
            self.end_side()

    def _hear(self):
        while True:
            try:
                part = self.link.recv(READ_BYTES)
            except (ssl.SSLWantReadError, ssl.SSLWantWriteError, BlockingIOError):
                return True
            except OSError:
                return False
            if not part:
                return False
            self.heard += part
            self.moved_at = time.monotonic()

    def end_side(self):
        if not self.is_ended:
            self.is_ended = True
            try:
                socket.socket.shutdown(self.link, socket.SHUT_WR)
            except OSError:
                pass
            self.moved_at = time.monotonic()


class Thrower:
    """Malformed requests by number; request N of a seed is always the same. A connection that the
    door keeps may have the next one, too, and some come together."""

    def __init__(self, door, seed, judge):
        self.door = door
        self.seed = seed
        self.judge = judge
        self.selector = selectors.DefaultSelector()
        self.lines = set()
        self.kept = {"unix": [], "https": []}
        self.answered = self.unsaid = self.busy = self.wrong = self.stuck = self.connections = 0
        self.reused = 0
        self.statuses = {}

    def throw(self, numbers, each=None):
        """Throws them all, until each has been answered or its connection has ended. `each` is
        called at each number that begins; it ends the throwing by returning False."""
        waiting = iter(numbers)
        is_over = False
        while self.lines or not is_over:
            while not is_over and len(self.lines) < AT_ONCE:
                number = next(waiting, None)
                is_over = number is None or (each is not None and each(number) is False)
                if not is_over:
                    self._begin(number)
            for key, _ in self.selector.select(LOOK_S):
                self._step(key.data)
            self._look()

    def under_way(self):
        return sorted(number for line in self.lines for number in line.numbers)

    def forget(self):
        """All connections end: the agent has."""
        for line in [*self.lines, *self.kept["unix"], *self.kept["https"]]:
            self._drop(line)
        self.kept = {"unix": [], "https": []}

    def _begin(self, number):
        rng = random.Random(self.seed * 1_000_003 + number)
        way = rng.randrange(8)  # Of 8: one is TLS, three are HTTPS, four the unix socket.
        if way == 0:
            kind, contents = "raw", [wild_tls(rng)]
        else:
            kind = "https" if way < 4 else "unix"
            count = rng.randrange(2, 5) if rng.randrange(16) == 0 else 1
            contents = [rng.choice(KINDS)(rng) for _ in range(count)]
        line = self._kept_line(kind) if rng.randrange(8) else None
        try:
            line = line or self._connect(kind)
        except (OSError, ssl.SSLError):
            self.unsaid += 1
            return  # An honest request will say whether that is serious.
        line.give([number], contents, rng)
        self.lines.add(line)
        self._step(line)

    def _kept_line(self, kind):
        kept = self.kept.get(kind)
        self.reused += bool(kept)
        return kept.pop() if kept else None

    def _connect(self, kind):
        self.connections += 1
        if kind == "unix":
            link = socket.socket(socket.AF_UNIX)
            link.settimeout(CONNECT_S)
            link.connect(str(self.door.agent.data / "http.sock"))
        else:
            link = dial(self.door.port, SOURCES[self.connections % len(SOURCES)], CONNECT_S)
        link.setblocking(False)
        if kind == "https":
            link = self.door.tls().wrap_socket(link, server_hostname=SERVER_NAME,
                                               do_handshake_on_connect=False)
        return Line(link, kind)

    def _step(self, line):
        is_open = line.step()
        is_whole = self._judge(line)
        if line not in self.lines:
            return self._drop(line)  # It was kept, and the door ended it or spoke unasked.
        if is_whole and is_open and line.way in self.kept and not line.is_ended:
            self._watch(line, 0)
            self.lines.discard(line)
            return self.kept[line.way].append(line)
        if not is_open or is_whole:
            self.unsaid += line.answers == 0
            return self._drop(line)
        self._watch(line, selectors.EVENT_READ | (selectors.EVENT_WRITE * line.wants_write))

    def _watch(self, line, events):
        if events == line.events:
            return
        if not line.events:
            self.selector.register(line.link, events, line)
        elif not events:
            self.selector.unregister(line.link)
        else:
            self.selector.modify(line.link, events, line)
        line.events = events

    def _drop(self, line):
        self._watch(line, 0)
        self.lines.discard(line)
        line.link.close()

    def _judge(self, line):
        """Looks at the answers that are whole. True if nothing more is to be waited for."""
        if line.way == "raw":
            if line.heard.startswith(b"HTTP") and b" 400 " not in line.heard[:20]:
                self._fault(line, f"bytes that are no TLS got {bytes(line.heard[:200])!r}")
            line.heard.clear()
            return False
        while line.heard:
            try:
                found = first_answer(line.heard, line.is_head)
            except ValueError as error:
                self._fault(line, str(error))
                return True
            if found is None:
                return False
            answer, size = found
            del line.heard[:size]
            line.answers += 1
            self._count(line, answer)
            if answer.closes or line.is_head:
                line.end_side()  # The door ends it; a body behind a HEAD is no answer.
                return True
        return line.answers > 0 and not line.unsent and not line.held

    def _count(self, line, answer):
        self.answered += 1
        self.statuses[answer.status] = self.statuses.get(answer.status, 0) + 1
        self.busy += answer.status in BUSY
        fault = self.judge.fault(answer, line.way == "unix")
        if fault:
            self._fault(line, f"{fault}: {answer.status} {answer.body[:200]!r}")

    def _fault(self, line, text):
        self.wrong += 1
        if self.wrong <= TOLD_MOST:
            print(f"# WRONG request {line.numbers} by {line.way}: {text}", flush=True)

    def _look(self):
        now = time.monotonic()
        for line in [line for line in self.lines if now - line.moved_at > QUIET_S]:
            if not line.is_ended:
                line.end_side()
            elif now - line.moved_at > LEAVING_S:
                self.stuck += 1
                print(f"# STUCK request {line.numbers} by {line.way}: {bytes(line.heard[:80])!r}, "
                      f"{len(line.unsent)} bytes unsent", flush=True)
                self._drop(line)
