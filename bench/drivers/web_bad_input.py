"""Input that is wrong, one kind after the other, with the status and the words that a client gets
from the web door."""

import json
import subprocess
import socket

from lab import MUSTER, free_ports, wait_for
from web_client import SERVER_NAME, WRITER, Reader, ask_once, dial, request_bytes

JSON = ("content-type", "application/json")
DRY_RUN = "/v1/jobs:dry-run"
BODY_MAX = 1 << 20
DEPTH_MAX = 16
HTTPS_PORT = 7449  #: By default.
CONFLICT = 7
CHUNK = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
#: Of an endless body.
CHUNKS_MOST = 400


def posted(body, fields=(JSON, WRITER), target=DRY_RUN):
    content = body if isinstance(body, bytes) else body.encode()
    return lambda door: request_bytes("POST", target, [*fields, *door.proof()], content)


def got(target, fields=(), method="GET", host=SERVER_NAME):
    return lambda door: request_bytes(method, target, [*fields, *door.proof()], host=host)


def headed(*lines, target=DRY_RUN, body=b"{}"):
    """A POST with just these lines beside its proof."""
    def made(door):
        head = [f"POST {target} HTTP/1.1", f"host: {SERVER_NAME}", "muster-client: x",
                "content-type: application/json",
                *(f"{name}: {value}" for name, value in door.proof()), *lines]
        return "\r\n".join(head).encode() + b"\r\n\r\n" + body
    return made


def raw(content):
    return lambda door: content


JOB = '"command":["true"],"directory":"/"'


def nested(depth):
    return "{" + JOB + ',"gpus":1,"environment":' + "[" * (depth - 1) + "]" * (depth - 1) + "}"


#: (name, bytes for a door, statuses, words that the answer has)
CASES = (
    ("the body has 1 MiB and a byte", posted(b" " * (BODY_MAX + 1)), (413,), "1048576 bytes"),
    ("the body has 1 MiB", posted("{" + JOB + ',"gpus":1}' + " " * (BODY_MAX - len(JOB) - 11)),
     (200,), "not submitted"),
    ("the body is announced with 1 TiB", headed(f"content-length: {1 << 40}", body=b""), (413,),
     "1048576 bytes"),
    ("JSON is 17 deep", posted(nested(DEPTH_MAX + 1)), (400,), "more than 16"),
    ("JSON is 16 deep, of a wrong kind", posted(nested(DEPTH_MAX)), (400,), "environment[0]"),
    ("JSON is 100,000 deep", posted(nested(100_000)), (400,), "more than 16"),
    ("not UTF-8", posted(b'{"command":["\xff"],"gpus":1}'), (400,), "UTF-8"),
    ("half a surrogate", posted('{"command":["\\ud800"],"gpus":1}'), (400,), ""),
    ("a member twice", posted('{"gpus":1,"gpus":2,"command":["true"]}'), (400,), "gpus"),
    ("a number below 0", posted("{" + JOB + ',"gpus":-1}'), (400,), "gpus"),
    ("a number beyond 64 bits", posted("{" + JOB + ',"gpus":18446744073709551616}'), (400,),
     "gpus"),
    ("a number with a fraction", posted("{" + JOB + ',"gpus":1.5}'), (400,), "gpus"),
    ("a number beyond all", posted('{"command":["true"],"gpus":1e400}'), (400,), ""),
    ("a zero byte in a word", posted('{"command":["a\\u0000b"],"gpus":1}'), (400,), "command"),
    ("no JSON", posted("command=true"), (400,), "JSON"),
    ("bytes behind the object", posted("{" + JOB + "} x"), (400,), ""),
    ("a list, no object", posted("[]"), (400,), "object"),
    ("no body", got(DRY_RUN, [WRITER], "POST"), (400,), "body"),
    ("a body where none is taken", posted("{}", target="/v1/jobs/1:suspend"), (400,), "no body"),
    ("the wrong content type", posted("{" + JOB + "}", (("content-type", "text/plain"), WRITER)),
     (415,), "application/json"),
    ("no content type", posted("{" + JOB + "}", (WRITER,)), (415,), "application/json"),
    ("a form", posted("a=b", (("content-type", "application/x-www-form-urlencoded"), WRITER)),
     (415,), "application/json"),
    ("an unknown member", posted("{" + JOB + ',"gpus":1,"gpuss":1}'), (400,), "gpuss"),
    ("an unknown parameter", got("/v1/jobs?stat=queued"), (400,), "stat"),
    ("a parameter twice", got("/v1/jobs?limit=1&limit=2"), (400,), "limit"),
    ("a parameter below 0", got("/v1/jobs?limit=-1"), (400,), "limit"),
    ("a parameter beyond 64 bits", got("/v1/jobs?limit=99999999999999999999"), (400,), "limit"),
    ("a parameter that is not UTF-8", got("/v1/jobs?name=%ff"), (400,), "UTF-8"),
    ("a job that never was", got("/v1/jobs/999999"), (404,), "999999"),
    ("a job that is no number", got("/v1/jobs/x"), (400,), "x"),
    ("a host that is not there", got("/v1/hosts/zz"), (404,), "zz"),
    ("a path that is not there", got("/v1/jbos"), (404,), "/v1/jobs"),
    ("a method that is not taken", got("/v1/jobs", [WRITER], "DELETE"), (405,), "GET"),
    ("a header of more than 16 KiB", got("/v1/jobs", [("x", "a" * (17 << 10))]), (431,), ""),
    ("a header of 1 MiB", got("/v1/jobs", [("x", "a" * (1 << 20))]), (431,), ""),
    ("a target of 100 KiB", got("/v1/jobs?name=" + "a" * (100 << 10)), (414, 431), ""),
    ("1,000 headers", got("/v1/jobs", [(f"x{number}", "y" * 20) for number in range(1000)]), (431,),
     ""),
    ("%00 in the path", got("/v1/jobs/%00"), (400,), "path"),
    ("a zero byte in the path", got("/v1/jobs\0/1"), (400,), ""),
    (".. in the path", got("/v1/../../etc/passwd"), (404,), "no path"),
    ("%2e%2e in the path", got("/%2e%2e/%2e%2e/etc/passwd"), (404,), "no path"),
    ("half a percent in the path", got("/v1/jobs/%4"), (400,), "path"),
    ("a path without /", got("v1/jobs"), (400,), "path"),
    ("another host", got("/v1/jobs", host="evil.example"), (421,), "evil.example"),
    ("no host", raw(b"GET /v1/jobs HTTP/1.1\r\n\r\n"), (400,), ""),
    ("two hosts", got("/v1/jobs", [("host", "evil.example")]), (400,), "host"),
    ("a change without muster-client", posted("{" + JOB + "}", (JSON,)), (403,), "muster-client"),
    ("a change by a page of another site",
     posted("{" + JOB + "}", (JSON, WRITER, ("origin", "https://evil.example"))), (403,),
     "evil.example"),
    ("a change by a page without an origin",
     posted("{" + JOB + "}", (JSON, WRITER, ("origin", "null"))), (403,), "null"),
    ("two content-length", headed("content-length: 2", "content-length: 2"), (400,),
     "content-length"),
    ("two content-length that differ", headed("content-length: 2", "content-length: 3"), (400,),
     "content-length"),
    ("content-length beside transfer-encoding",
     headed("content-length: 2", "transfer-encoding: chunked", body=b"2\r\n{}\r\n0\r\n\r\n"),
     (400,), "transfer-encoding"),
    ("another transfer-encoding", headed("transfer-encoding: gzip"), (400,), "chunked"),
    ("content-length below 0", headed("content-length: -1"), (400, 413), ""),
    ("content-length beyond 64 bits", headed("content-length: 18446744073709551616"),
     (400, 413), ""),
    ("a chunk without a size", headed("transfer-encoding: chunked", body=b"zz\r\n{}\r\n"),
     (400,), ""),
    ("chunks of 2 MiB", headed("transfer-encoding: chunked", body=CHUNK * 32 + b"0\r\n\r\n"),
     (413,), "1048576 bytes"),
    # The library takes an answer behind a body alone, so the connection ends without one.
    ("chunks without end", headed("transfer-encoding: chunked", body=CHUNK * CHUNKS_MOST), (None,),
     ""),
    ("two proofs", got("/v1/whoami", [("authorization", "Bearer x")]), (400, 401), "uthorization"),
    ("a version that is not there", raw(b"GET / HTTP/9.9\r\nhost: localhost\r\n\r\n"),
     (400, 505), ""),
    ("no HTTP", raw(b"\0\1\2\3\r\n\r\n"), (400, None), ""),
)


def plain_words(port, content):
    """What the port of HTTPS says to bytes that are no TLS."""
    with dial(port) as link:
        link.sendall(content)
        said = b""
        try:
            while part := link.recv(4096):
                said += part
        except ConnectionResetError:
            pass
        return said


def plain_http(door):
    """(status, words) of the port of HTTPS to HTTP without TLS: one line that says https."""
    said = plain_words(door.port, b"GET /v1/jobs HTTP/1.1\r\nhost: localhost\r\n\r\n")
    head, _, body = said.partition(b"\r\n\r\n")
    is_one_line = body.count(b"\n") == 1 and b"https" in body
    return int(head.split()[1]) if head else None, body.decode() if is_one_line else ""


def garbage(door):
    """Bytes that are neither: the connection ends, perhaps with an alert of TLS."""
    said = plain_words(door.port, b"\0\1garbage" * 40)
    return None, "" if b"HTTP" in said else "closed"


def long_plain_http(door):
    """A first request that is larger than what is read at once."""
    said = plain_words(door.port, b"POST /v1/jobs HTTP/1.1\r\nhost: localhost\r\n"
                                  b"content-length: 60000\r\n\r\n" + b"x" * 60_000)
    return int(said.split()[1]) if said.startswith(b"HTTP") else None, said.decode(errors="replace")


def ended_job(door):
    """A job that is over is there; one is forgotten only after very many others (410)."""
    answer = door.get("/v1/jobs/1")
    return answer.status, answer.text()


def sent_again(door):
    """A refused request does not break the next one on its connection."""
    with door.connect() as link:
        reader = Reader(link)
        told = []
        for target in ("/v1/jobs?stat=1", "/v1/whoami"):
            link.sendall(request_bytes("GET", target, door.proof()))
            answer = reader.answer()
            told.append(answer and answer.status)
        return told[-1], f"{told[0]} first"


def smuggled(door):
    """What follows a request of doubtful length is not taken for the next one."""
    inner = request_bytes("GET", "/v1/whoami", door.proof())
    content = headed("content-length: 4", "transfer-encoding: chunked",
                     body=b"0\r\n\r\n" + inner)(door)
    with door.connect() as link:
        link.sendall(content)
        reader = Reader(link)
        first, second = reader.answer(), reader.answer()
    return first and first.status, "not taken" if second is None else second.text()


OTHERS = (
    ("plain HTTP on the port of HTTPS", plain_http, (400,), "https"),
    ("60 kB of plain HTTP there", long_plain_http, (400,), "https"),
    ("garbage on the port of HTTPS", garbage, (None,), "closed"),
    ("a job that is there", ended_job, (200,), ""),
    ("a good request behind a bad one", sent_again, (200,), "400 first"),
    ("a request inside another one", smuggled, (400,), "not taken"),
)


def told(door, made):
    """(status, words) for one case."""
    content = made(door)
    answer = ask_once(door, content, content.split(b" ")[0].decode(errors="replace"))
    return (None, "") if answer is None else (answer.status, answer.text())


def of_port_in_use(lab):
    """[(name, words, whether they are right)]: the default port, and one that was asked for."""
    with socket.socket() as holder:
        try:
            holder.bind(("127.0.0.1", HTTPS_PORT))
            holder.listen()
        except OSError:
            pass  # Another program holds it, which does as well.
        rows = [default_port(lab)]
    return rows + [asked_port(lab)]


def start_beside(lab, name, https):
    """An agent of its own, without a cluster; (process, its log)."""
    data = lab.directory / name
    data.mkdir(exist_ok=True)
    port = free_ports(lab["a"].port + 20, 2)
    log = open(data / "agent.log", "ab")
    environment = {"PATH": "/usr/bin:/bin", "HOME": "/", "MUSTER_RUNTIME_DIR": str(data / "run"),
                   "MUSTER_SHARED_USER": "true", **({"MUSTER_HTTPS": https} if https else {})}
    process = subprocess.Popen(
        [str(MUSTER), "agent", "--name", name, "--listen", f"127.0.0.1:{port}", "--data-dir",
         str(data), "--gpus", "none"], stdout=log, stderr=log, stdin=subprocess.DEVNULL,
        start_new_session=True, env=environment)
    log.close()
    return process, data / "agent.log"


def default_port(lab):
    """The agent says so and goes on."""
    process, log = start_beside(lab, "second", "")
    environment = {"PATH": "/usr/bin:/bin", "MUSTER_DATA_DIR": str(log.parent),
                   "HOME": str(log.parent)}

    def ask(verb):
        return subprocess.run([str(MUSTER), verb], env=environment, capture_output=True).returncode

    try:
        wait_for("a second cluster", lambda: ask("init") in (0, CONFLICT), 30)
        wait_for("its answer", lambda: ask("hosts") == 0, 20)
        words = [line for line in log.read_text().splitlines() if "https_port_taken" in line]
        line = words[0].partition(" event=")[2] if words else "no event https_port_taken"
        return "the default port is in use", line, bool(words) and process.poll() is None
    finally:
        process.kill()
        process.wait()


def asked_port(lab):
    """The agent ends with the exit code of a conflict."""
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        https = f"127.0.0.1:{holder.getsockname()[1]}"
        process, log = start_beside(lab, "third", https)
        try:
            code = process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            code = None
            process.kill()
            process.wait()
    words = log.read_text().strip().rpartition("\n")[2]
    return "a port that was asked for is in use", f"exit {code}: {words}", code == CONFLICT


def check(lab, door, verbose=0):
    """How many cases got something else than they should; each is told, with `verbose` all are."""
    rows = []
    for name, made, statuses, words in CASES:
        status, text = told(door, made)
        rows.append((name, f"{status} {text}", status in statuses and words in text))
    for name, ask, statuses, words in OTHERS:
        status, text = ask(door)
        rows.append((name, f"{status} {text}", status in statuses and words in text))
    rows += of_port_in_use(lab)
    for name, text, is_right in rows:
        if verbose or not is_right:
            line = json.dumps(text[:200], ensure_ascii=True)[1:-1]
            print(f"# {'' if is_right else 'WRONG '}{name}: {line}", flush=True)
    return sum(not is_right for _, _, is_right in rows)
