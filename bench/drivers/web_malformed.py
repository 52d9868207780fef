"""Malformed requests of HTTP, made by number: those that are nearly right, heads, chunks, JSON and
queries that no client sends, and records that are no TLS. A seed and a number make the same bytes
in each run."""

import functools
import json
import random
import ssl

from web_client import WRITER, request_bytes

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "get", "BREW")
TARGETS = ("/", "/healthz", "/v1/jobs", "/v1/jobs/1", "/v1/jobs/1/why", "/v1/hosts", "/v1/hosts/a",
           "/v1/jobs/1/ranks/0/output", "/v1/queues", "/v1/users", "/v1/events",
           "/v1/jobs:dry-run", "/v1/usage", "/v1/stats", "/v1/gpus", "/v1/audit", "/v1/shares")
BODY = {"command": ["true"], "directory": "/", "gpus": 1, "gpu_type": "H100", "name": "n",
        "retries": 1, "environment": ["A=1"], "array": {"first": 1, "last": 2}, "after": ["ok:1"]}
BODY_TEXT = json.dumps(BODY)
JSON = ("content-type", "application/json")
QUERIES = ("consistent=1", "limit=5", "after=1", "state=queued", "since=1h", "all=1", "job=1")
WILD_NUMBERS = ("-1", "18446744073709551616", "1e400", "0.1", "00", "-0", "9" * 400, "1e-5", "NaN")
WILD_TEXTS = ("", "\0", "\xff", "%00", "%", "%zz", "../" * 30, None, "\r\n", "\u2028",
              "a" * 20 + "\t", "'\"<>", "1" * 60, ":::", "*", "{", "%2f" * 9)
CHUNKS = (b"5\r\nhello\r\n", b"ffffffffffffffff\r\n", b"-1\r\n", b"0\r\n\r\n", b"zz\r\n",
          b"5;a=b\r\nhello\r\n", b"3\r\nhello\r\n", b"00000000000000000001\r\n{\r\n", b"\r\n",
          b"0\r\nx: y\r\n\r\n", b"1" * 5000, None)
FIELD_NAMES = ("authorization", "content-length", "transfer-encoding", "x", "", " y", "connection",
               "expect", "cookie", "range", "upgrade", "if-none-match")
FIELD_VALUES = ("chunked", "0", "5", "-1", "99999999999999999999", "100-continue", "close", "h2c",
                "Bearer x", "identity", None)
#: Lines of a head that differ; a longer one has them again.
LINES_MADE = 40
BODY_MAX = 1 << 20
DEPTHS = (15, 16, 17, 1000, 300000)


def noise(rng, most=2000):
    return rng.randbytes(rng.randrange(1, most))


def wild_text(rng):
    text = rng.choice(WILD_TEXTS)
    return "A" * rng.randrange(9000) if text is None else text


def valid(rng):
    """A whole request as it should be, but for the chance of its parts."""
    target = rng.choice(TARGETS) + rng.choice(["", "?" + rng.choice(QUERIES)])
    if rng.randrange(3):
        return request_bytes("GET", target, [WRITER])
    return request_bytes("POST", "/v1/jobs:dry-run", [WRITER, JSON], BODY_TEXT.encode())


def flipped_bytes(rng):
    content = bytearray(valid(rng))
    for _ in range(rng.randrange(1, 6)):
        content[rng.randrange(len(content))] = rng.randrange(256)
    return bytes(content)


def cut_or_grown(rng):
    content = valid(rng)
    at = rng.randrange(len(content))
    return rng.choice([content[:at], content[:at] + noise(rng) + content[at:], content[:at] * 2,
                       content + noise(rng), content.replace(b"\r\n", rng.choice([b"\n", b"\r"]))])


def wild_line(rng):
    value = rng.choice(FIELD_VALUES)
    return (rng.choice(FIELD_NAMES) + rng.choice([": ", ":", " : ", ""]) +
            (wild_text(rng) if value is None else value))


def wild_head(rng):
    """Headers, methods, targets and versions that no client sends."""
    method = rng.choice(METHODS + ("", "G\0T", "A" * 300))
    version = rng.choice([" HTTP/1.1", " HTTP/1.0", " HTTP/9.9", "", " HTTP/1.1 x", " http/1.1"])
    lines = [f"{method} {rng.choice(TARGETS)}{wild_text(rng)}{version}",
             rng.choice(["host: localhost", "host: ", "", "Host : localhost", "host: [",
                         "host: a:b"])]
    count = rng.choice([0, 1, 3, 30, 300, 1500])
    made = [wild_line(rng) for _ in range(min(count, LINES_MADE))]
    lines += made + rng.choices(made, k=count - len(made)) if made else []
    return "\r\n".join(lines).encode("utf-8", "replace") + b"\r\n\r\n" + noise(rng, 40)


def wild_chunks(rng):
    head = (b"POST /v1/jobs:dry-run HTTP/1.1\r\nhost: localhost\r\nmuster-client: x\r\n"
            b"content-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n")
    parts = [rng.choice(CHUNKS) for _ in range(rng.randrange(1, 30))]
    return head + b"".join(noise(rng, 60) if part is None else part for part in parts)


@functools.cache
def deep(depth):
    return ("{\"a\":" * depth + "1" + "}" * depth).encode()[:BODY_MAX]


@functools.cache
def long_list(number):
    """More values than a body may have."""
    rng = random.Random(number)
    return ("[" + ",".join("1" * rng.randrange(1, 3) for _ in range(70000)) + "]").encode()


def wild_json(rng):
    """A request that is well, with a body that is not."""
    kind = rng.randrange(6)
    if kind == 0:
        key = rng.choice(list(BODY))
        wrong = rng.choice([None, True, -1, 1.5, [], {}, "x" * 3000, [[1]], {"a": {"a": 1}}, "\0"])
        content = json.dumps({**BODY, key: wrong}).encode()
    elif kind == 1:
        content = deep(rng.choice(DEPTHS))
    elif kind == 2:
        content = BODY_TEXT.replace("1", rng.choice(WILD_NUMBERS), 2).encode()
    elif kind == 3:
        content = BODY_TEXT.encode()[:-1] + b"," + BODY_TEXT.encode()[1:]
    elif kind == 4:
        content = BODY_TEXT.encode().replace(b"true", noise(rng, 30))
    else:
        content = long_list(rng.randrange(4))
    return request_bytes("POST", "/v1/jobs:dry-run", [WRITER, JSON], content)


def wild_length(rng):
    """A length that its body has not, said in one of the ways to say it."""
    said = rng.choice([str(len(BODY_TEXT) + rng.randrange(-40, 40)), "0", "-5", "+5", "0x10", "5 5",
                       "5, 5", "1e3", "", "4294967296", "9223372036854775808", str(1 << 64)])
    name = rng.choice(["content-length", "Content-Length", "content-length ", "content_length"])
    lines = ["POST /v1/jobs:dry-run HTTP/1.1", "host: localhost", "muster-client: x",
             "content-type: application/json", f"{name}: {said}"]
    lines += [f"content-length: {rng.randrange(300)}"] * (rng.randrange(5) == 0)
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + BODY_TEXT.encode()


def wild_query(rng):
    pieces = []
    for _ in range(rng.randrange(1, 40)):
        wild = "x=" + wild_text(rng).replace("\r\n", "")
        pieces.append(rng.choice(QUERIES + (wild, "=", "&", "a", "follow=1", "name=%c3")) +
                      rng.choice(["", "%", "+", rng.choice(WILD_NUMBERS)]))
    return request_bytes("GET", rng.choice(TARGETS) + "?" + "&".join(pieces), [WRITER])


def odd_path(rng):
    """Paths that go up, are empty, end early or are no UTF-8; all else is as it should be."""
    parts = [rng.choice(["v1", "jobs", "1", "..", ".", "", "%2e%2e", "%00", "%c3", "%ff", "\xff",
                         "jobs:dry-run", ":", "a:b:c", "1.1", "18446744073709551616", "-1", "hosts",
                         "%2f", "%25", "~", "etc", "passwd", "index.html", wild_text(rng)])
             for _ in range(rng.randrange(1, 9))]
    target = rng.choice(["/", "/", "/", "", "//", "http://localhost/", "*"]) + "/".join(parts)
    return request_bytes(rng.choice(METHODS), target, [WRITER])


@functools.cache
def client_hello():
    """The first message of a real client."""
    sent = ssl.MemoryBIO()
    link = ssl.create_default_context().wrap_bio(ssl.MemoryBIO(), sent, server_hostname="localhost")
    try:
        link.do_handshake()
    except ssl.SSLWantReadError:
        pass
    return sent.read()


def wild_tls(rng):
    """No request: records of TLS that are wrong, as the first words of a connection."""
    content = bytearray(client_hello())
    kind = rng.randrange(4)
    if kind == 0:
        return noise(rng)
    if kind == 1:
        return bytes(content[:rng.randrange(1, len(content))])
    if kind == 2:
        return bytes([rng.choice([20, 21, 22, 23, 24, 0x80]), 3, 3]) + noise(rng)
    for _ in range(rng.randrange(1, 5)):
        content[rng.randrange(len(content))] = rng.randrange(256)
    return bytes(content) + noise(rng, 60)


KINDS = (flipped_bytes, cut_or_grown, wild_head, wild_chunks, wild_json, wild_length, wild_query,
         odd_path)
