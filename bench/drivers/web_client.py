"""A small client of the web door: HTTPS by an agent's own root certificate, plain HTTP on its unix
socket, access tokens. It sends any bytes, so that drivers can send what no library would."""

import http.client
import io
import json
import pathlib
import socket
import ssl

import lab as lab_module

SERVER_NAME = "localhost"  #: In the certificate of each agent, and a name that it answers to.
PATIENCE_S = 10
#: The other side ended the connection, in one of the ways to do so.
ENDED = (BrokenPipeError, ConnectionResetError, ssl.SSLEOFError, ssl.SSLZeroReturnError)
#: With any value, it lets a request change something.
WRITER = ("muster-client", "bench")


class Answer:
    """A whole answer. `fields` has lower-case names."""

    def __init__(self, status, fields, body, closes):
        self.status = status
        self.fields = fields
        self.body = body
        self.closes = closes  #: The door ends the connection behind it.

    def json(self):
        return json.loads(self.body)

    def text(self):
        """The detail of an error, or the body."""
        if self.fields.get("content-type") == "application/problem+json":
            return self.json()["detail"]
        return self.body.decode(errors="replace").strip()


class Reader(io.BufferedReader):
    """Reads answers off a connection, one behind the other."""

    def __init__(self, link):
        super().__init__(socket.SocketIO(link, "r"), 1 << 16)

    def makefile(self, *_):
        return self

    def close(self):
        """Each answer closes the file that it was read from; the next one needs it."""

    def answer(self, method="GET"):
        """The next answer; nothing if the connection ended without a whole one. TimeoutError if it
        does not come in time."""
        response = http.client.HTTPResponse(self, method=method)
        try:
            response.begin()
            body = response.read()
        except (http.client.HTTPException, *ENDED):
            return None
        fields = {name.lower(): value for name, value in response.getheaders()}
        return Answer(response.status, fields, body, response.will_close)


def request_bytes(method, target, fields=(), body=b"", host=SERVER_NAME):
    """One request as bytes, with nothing in it but host, the fields and the length of a body."""
    lines = [f"{method} {target} HTTP/1.1", f"host: {host}"]
    lines += [f"{name}: {value}" for name, value in fields]
    lines += [f"content-length: {len(body)}"] if body else []
    return "\r\n".join(lines).encode("utf-8", "surrogateescape") + b"\r\n\r\n" + body


def dial(port, source="", patience=PATIENCE_S, receive_bytes=0):
    """A TCP connection to a port of the loopback, from that of its addresses."""
    link = socket.socket()
    try:
        link.settimeout(patience)
        if receive_bytes:
            link.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
        # As curl and browsers do: else a small write waits 40 ms for the other side.
        link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if source:
            link.bind((source, 0))
        link.connect(("127.0.0.1", port))
    except BaseException:
        link.close()
        raise
    return link


class Door:
    """Where an agent answers: its port of HTTPS, or its unix socket if `port` is 0. Its
    connection is kept until an answer ends it."""

    def __init__(self, agent, port=0, access=""):
        self.agent = agent
        self.port = port
        self.access = access
        self._tls = None
        self._link = None
        self._reader = None

    @property
    def root(self):
        return self.agent.data / "https" / "root.pem"

    def tls(self):
        if self._tls is None:
            self._tls = ssl.create_default_context(cafile=str(self.root))
        return self._tls

    def connect(self, source="", patience=PATIENCE_S, receive_bytes=0):
        """A new connection, after its handshake."""
        if not self.port:
            link = socket.socket(socket.AF_UNIX)
            link.settimeout(patience)
            link.connect(str(self.agent.data / "http.sock"))
            return link
        link = dial(self.port, source, patience, receive_bytes)
        try:
            return self.tls().wrap_socket(link, server_hostname=SERVER_NAME)
        except BaseException:
            link.close()
            raise

    def proof(self):
        return [("authorization", f"Bearer {self.access}")] if self.access else []

    def request(self, method, target, body=None, fields=()):
        """An Answer; `body` is sent as JSON."""
        sent = list(fields) + self.proof() + [WRITER]
        content = b""
        if body is not None:
            sent.append(("content-type", "application/json"))
            content = json.dumps(body).encode()
        return self.send(request_bytes(method, target, sent, content), method)

    def get(self, target, fields=()):
        return self.request("GET", target, fields=fields)

    def send(self, content, method="GET"):
        """The Answer to these bytes; nothing if the connection ended without one."""
        return self.send_all([(content, method)])[0]

    def send_all(self, requests):
        """The Answer to each of [(bytes, method)], which are all sent at once. Behind an answer
        that ends the connection the rest is sent again on a new one."""
        answers = []
        while len(answers) < len(requests):
            is_kept = self._link is not None
            if not is_kept:
                self._link = self.connect()
                self._reader = Reader(self._link)
            heard = self._exchange(requests[len(answers):])
            # A connection that was kept may have ended meanwhile.
            answers += heard or ([] if is_kept else [None])
        return answers

    def _exchange(self, requests):
        """The answers that this connection gives, up to the first that ends it."""
        answers = []
        try:
            try:
                self._link.sendall(b"".join(content for content, _ in requests))
            except ENDED:
                pass  # The door may have answered before it had all.
            for _, method in requests:
                answer = self._reader.answer(method)
                answers += [answer] if answer else []
                if answer is None or answer.closes:
                    self.close()
                    return answers
        except BaseException:
            self.close()
            raise
        return answers

    def close(self):
        if self._link is not None:
            self._link.close()
            self._link = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def ask_once(door, content, method="GET", source="", patience=PATIENCE_S):
    """The Answer to these bytes on a connection of their own."""
    with door.connect(source, patience) as link:
        try:
            link.sendall(content)
        except ENDED:
            pass  # The door may have answered before it had all.
        return Reader(link).answer(method)


def give_doors(lab, first_port):
    """{name: Door}: from the next start on each agent of the lab has HTTPS at a port of its own."""
    doors = {}
    first = lab_module.free_ports(first_port, len(lab.names))
    for port, name in enumerate(lab.names, first):
        lab[name].environment = {"MUSTER_HTTPS": f"127.0.0.1:{port}"}
        doors[name] = Door(lab[name], port)
    return doors


def make_token(agent, label="bench", rights="read,submit", ttl="1h"):
    """(the line, the token's name)."""
    code, out, err = agent.cli("token", "create", "--for", label, "--may", rights, "--ttl", ttl,
                               "--json")
    if code != 0:
        raise OSError(f"token create: {err}")
    made = json.loads(out)
    return made["line"], made["access_token"]


def answers(door, target="/healthz"):
    """Whether the door answers this with 200, on a new connection; for waiting."""
    try:
        answer = ask_once(door, request_bytes("GET", target, door.proof()))
    except (OSError, ssl.SSLError):
        return False
    return answer is not None and answer.status == 200


def descriptors(pid):
    """How many a process has open."""
    return len(list(pathlib.Path(f"/proc/{pid}/fd").iterdir()))
