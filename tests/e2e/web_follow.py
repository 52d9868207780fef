"""Those who follow the output of a rank by the web door of another host: nothing is lost, nothing
comes twice, also where that host dies and they go on at another one. Each case is a function; its
docstring is the promise. `./bench/run web_follow` is the same with a thousand of them."""

import contextlib
import os
import pathlib
import socket
import sys
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scenarios"), str(ROOT / "bench" / "drivers")]

import web_follow  # noqa: E402
from followers import Followers, Stream  # noqa: E402
from lab import Failure, Lab, play, wait_for  # noqa: E402
from web_client import Door, answers, make_token, request_bytes  # noqa: E402

BASE_PORT = int(os.environ.get("MUSTER_TEST_PORT", "7480"))
FOLLOWERS = 20
HEARTBEAT_S = 15
DENIED_S = 10
LINE_BYTES = 16
#: Bytes that the kernel does not take for one client that does not read.
MUCH = 12 << 20
TINY_BYTES, USUAL_BYTES = 2048, 1 << 20
#: A follower that is stuck for longer may lose bytes.
STUCK_S = 2
#: Numbered lines: some, and with the file `go` so many as MUCH has.
WRITER = """
import os, sys, time
go, much, width = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
def write(first, end):
    left = "".join(f"{n:0{width - 1}d}\\n" for n in range(first, end)).encode()
    while left:
        left = left[os.write(1, left[:65536]):]
write(0, 10)
while not os.path.exists(go):
    time.sleep(0.05)
step = 16384
for at in range(10, much // width, step):
    write(at, min(at + step, much // width))
    time.sleep(0.05)
open(go + ".done", "w").close()
time.sleep(4)
write(much // width, much // width + 10)
"""


def demand(is_so, text):
    if not is_so:
        raise Failure(text)


def demand_text(stream, text):
    """The next event of the stream is this output."""
    event = stream.next()
    demand(event is not None and event[0] == "" and event[2]["text"] == text,
           f"status {stream.status}, and {event} instead of {text!r}")


def submit(agent, *words):
    code, out, err = agent.cli("submit", "--gpus", "1", "--host", "a", *words)
    demand(code == 0, f"submit exited {code}: {err}")
    return out.split()[-1].strip(".")


class Cast:
    """A lab of three hosts and their doors, and one who follows a silent rank all the time."""

    def __init__(self, lab, doors):
        self.lab = lab
        self.doors = doors
        quiet = submit(lab["a"], "--", "sh", "-c", "echo begun; exec sleep 1000")
        wait_for("the silent rank", lambda: "begun" in lab["a"].cli("logs", quiet)[1], 20)
        self.quiet = web_follow.path_of(quiet)
        self.silence = Stream(doors["c"], self.quiet, patience=HEARTBEAT_S + 5)
        self.since = time.monotonic()


def no_proof_in_the_query(cast):
    """A proof in the query is refused, and so is a request without one."""
    door = cast.doors["b"]
    fields = [("accept", "text/event-stream")]
    for query, wanted in (("", 401), (f"?access_token={door.access}", 400),
                          (f"?token={door.access}", 400), ("?follow=1", 401)):
        answer = door.send(request_bytes("GET", cast.quiet + query, fields))
        demand(answer is not None and answer.status == wanted,
               f"{query[:14]}: {answer and answer.status} and not {wanted}")
        demand(door.access not in answer.body.decode(), "the answer shows the proof")


def denied_ends_the_stream(cast):
    """When its token is revoked, a stream tells `denied` and ends; the others go on."""
    door = cast.doors["b"]
    line, name = make_token(cast.lab["a"], "gone")
    gone = Door(door.agent, door.port, line)
    # Each voter hears of it with the log, and any of them may be asked about the job.
    wait_for("the token everywhere", lambda: all(
        answers(Door(each.agent, each.port, line), "/v1/jobs") for each in cast.doors.values()), 10)
    with Stream(gone, cast.quiet) as stream, Stream(door, cast.quiet) as other:
        demand_text(stream, "begun\n")
        code, _, err = cast.lab["a"].cli("token", "revoke", name)
        demand(code == 0, f"token revoke: {err}")
        began = time.monotonic()
        told = [event for event in stream if event[0] != ":"]
        took = time.monotonic() - began
        demand([event[0] for event in told] == ["denied"], f"it was told {told}")
        demand(took < DENIED_S, f"only after {took:.1f} s")
        demand_text(other, "begun\n")


def bytes_of(begin, end):
    """What WRITER writes there."""
    first = begin // LINE_BYTES
    text = "".join(f"{n:0{LINE_BYTES - 1}d}\n" for n in range(first, end // LINE_BYTES + 1))
    return text[begin - first * LINE_BYTES:end - first * LINE_BYTES]


def read_on(stream):
    """Until the other side or the case ends it."""
    with contextlib.suppress(OSError):
        for _ in stream:
            pass


@contextlib.contextmanager
def being_read(stream):
    """A thread reads the stream meanwhile. It has ended before the socket is closed: else it could
    read from the next file of this process that gets the number, as from the pipe of a command."""
    reader = threading.Thread(target=read_on, args=(stream,), daemon=True)
    reader.start()
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            stream.link.shutdown(socket.SHUT_RDWR)
        reader.join()


def a_gap_names_what_was_lost(cast):
    """One that does not read is told by `gap` which bytes it lost, and the rest is right."""
    go = cast.lab.directory / "go"
    job = submit(cast.lab["a"], "--", sys.executable, "-c", WRITER, str(go), str(MUCH),
                 str(LINE_BYTES))
    path = web_follow.path_of(job)
    wait_for("its lines", lambda: cast.lab["a"].cli("logs", job)[1].count("\n") == 10, 20)
    # Another one reads all the time, so that the host knows how much there is.
    with Stream(cast.doors["b"], path, receive_bytes=TINY_BYTES) as stream, \
            Stream(cast.doors["b"], path) as fast, being_read(fast):
        demand_text(stream, bytes_of(0, 160))
        go.touch()
        wait_for("it has written all", go.with_suffix(".done").exists, 30)
        time.sleep(STUCK_S + 0.5)
        stream.link.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, USUAL_BYTES)
        at, gaps = 160, []
        for name, _, data in stream:
            if name == "gap":
                demand(data["from"] == at < data["to"], f"at {at} a gap of {data}")
                gaps.append(data)
                at = data["to"]
            elif name == "":
                end = at + len(data["text"])
                demand(data["offset_bytes"] == at and data["text"] == bytes_of(at, end),
                       f"behind {at} came the bytes of {data['offset_bytes']}")
                at = end
    demand(name == "end" and at == MUCH + 160, f"it ended at {at} with {name}: {data}")
    demand(gaps, "it lost nothing: it was not slow")
    print(f"        lost {sum(gap['to'] - gap['from'] for gap in gaps)} of {at} bytes", flush=True)


def all_lines_once_on_two_hosts(cast):
    """Each of many gets each line once, also when the host that they ask is killed."""
    lab, doors = cast.lab, cast.doors
    job, stop, total = web_follow.start_rank(lab, 100)
    served, other = web_follow.Served(lab["b"]), web_follow.Served(lab["c"])
    with Followers(web_follow.path_of(job), doors["b"].access, FOLLOWERS) as crowd:
        crowd.dial(doors["b"].port, web_follow.roots_of(lab))
        web_follow.gather(crowd, served)
        web_follow.watch(crowd, served, 2)
        web_follow.kill_and_resume(lab, crowd, served, other, doors["c"].port)
        lines = web_follow.end_rank(crowd, other, stop, total)
        wrong, _ = web_follow.faults(crowd.tell(), lines)
    demand(not wrong, f"of {lines} lines: {dict(wrong)}")


def silence_has_a_heartbeat(cast):
    """While nothing is written, a heartbeat comes each 15 seconds."""
    demand_text(cast.silence, "begun\n")
    heard = cast.silence.next()
    took = time.monotonic() - cast.since
    demand(heard == (":", "", None), f"it heard {heard}")
    demand(took >= HEARTBEAT_S - 2, f"already after {took:.1f} s")


CASES = [no_proof_in_the_query, denied_ends_the_stream, a_gap_names_what_was_lost,
         all_lines_once_on_two_hosts, silence_has_a_heartbeat]


def main():
    with Lab("abc", base_port=BASE_PORT) as lab:
        cast = Cast(lab, web_follow.build(lab))
        with contextlib.closing(cast.silence.link):
            return 1 if play(CASES, cast) else 0


if __name__ == "__main__":
    sys.exit(main())
