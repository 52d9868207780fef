"""The two ways to one agent, the command line and HTTP, compared question by question and order by
order."""

import json
import re
import time
import urllib.parse

from cluster import Broken
from lab import wait_for
from web_door import Door

CALL_S = 30
#: Two answers of the command line around one of HTTP have to be the same so soon.
TRIES = 12
#: Numbers that differ between two questions though nothing happened.
VOLATILE = re.compile(r'"(age_ms|since_ms|cluster_since_ms|host_since_ms|contact_ms|uptime_ms|'
                      r'run_ms|gpu_ms|ends_in_ms|requeue_in_ms|starts_in_ms|longest_wait_ms|'
                      r'owed_wait_ms|mean_permille|credit_permille|count|bytes|cpu_us)":\d+')
SLEEPER = ("sh", "-c", "echo to stdout; sleep 0.2; echo to stderr >&2; exec sleep 600")


def steady(text):
    return VOLATILE.sub(r'"\1":0', text)


def plain(document):
    return steady(json.dumps(document, separators=(",", ":")))


def first_difference(left, right, around=90):
    at = next((i for i, (a, b) in enumerate(zip(left, right)) if a != b),
              min(len(left), len(right)))
    begin = max(0, at - around)
    return f"...{left[begin:at + around]!r} is not ...{right[begin:at + around]!r}"


class Parity:
    """Compares the two ways to one agent; `wrong` has a list of faults for each verb."""

    def __init__(self, lab, name="a"):
        self.lab = lab
        self.agent = lab[name]
        self.door = Door(self.agent)
        self.done = set()
        self.wrong = {}
        self.notes = []

    def fault(self, verb, text):
        print(f"# {verb}: {text}", flush=True)
        self.wrong.setdefault(verb, []).append(text)

    def cli(self, *words, code=0):
        """What the command line prints with --json; it has to exit so."""
        split = words.index("--") if "--" in words else len(words)
        words = [*map(str, words[:split]), "--json", *map(str, words[split:])]
        got, out, err = self.agent.cli(*words, timeout=CALL_S)
        if got != code:
            raise Broken(f"muster {' '.join(words)} exited {got}: {out}{err}")
        return out

    def ask(self, *words):
        return json.loads(self.cli(*words))

    def same(self, verb, words, path, /, **query):
        """A question: two answers of the command line around one of HTTP."""
        self.done.add(verb)
        before = self.cli(*words)
        for _ in range(TRIES):
            answer = self.door.get(path, **query)
            after = self.cli(*words)
            if steady(answer.text) in (steady(before), steady(after)) and answer.status == 200:
                return answer
            if steady(before) == steady(after) and answer.status != 200:
                break
            before = after
            time.sleep(0.25)
        self.fault(verb, f"muster {' '.join(map(str, words))} and GET {path} {query or ''} "
                         f"({answer.status}): "
                         f"{first_difference(steady(after), steady(answer.text))}")
        return answer

    def same_order(self, verb, words, request, masks=()):
        """An order, given by both ways in turn. `request`: (method, path, body). `masks`: pairs of
        patterns and what stands for them, in both documents."""
        self.done.add(verb)
        told = self.cli(*words)
        answer = self.sent(request)
        self.compare(verb, words, request, told, answer, masks)
        return answer

    def compare(self, verb, words, request, told, answer, masks=()):
        left, right = told, answer.text
        for pattern, word in masks:
            left, right = re.sub(pattern, word, left), re.sub(pattern, word, right)
        if left != right or answer.status not in (200, 201):
            self.fault(verb, f"muster {' '.join(map(str, words))} and {request[0]} {request[1]} "
                             f"({answer.status}): {first_difference(left, right)}")

    def sent(self, request):
        """The answer to (method, path, body); the body may be absent, the path may have a query."""
        path, _, query = request[1].partition("?")
        return self.door.send(request[0], path, dict(urllib.parse.parse_qsl(query)),
                              request[2] if len(request) > 2 else None)

    def signed_alone(self, verb, words, request):
        """An order that administrators sign: HTTP carries no signature, so that it is refused, and
        the description of its body still has to fit."""
        self.done.add(verb)
        answer = self.sent(request)
        self.cli(*words)
        problem = answer.document
        if answer.status != 403 or problem["exit_code"] != 4 or "signed" not in problem["detail"]:
            self.fault(verb, f"{request[0]} {request[1]} without a signature: {answer.status} "
                             f"{answer.text}")

    def same_refusal(self, verb, words, request):
        """An error by both ways: its exit code and its wait; a text that differs is noted."""
        split = words.index("--") if "--" in words else len(words)
        words = [*map(str, words[:split]), "--json", *map(str, words[split:])]
        code, out, err = self.agent.cli(*words, timeout=CALL_S)
        lines = [line for line in (out + err).splitlines() if line.startswith('{"error"')]
        answer = self.sent(request)
        what = f"muster {' '.join(words)} and {request[0]} {request[1]}"
        if code == 0 or answer.status < 400:
            self.fault(verb, f"{what}: exit {code}, status {answer.status}: {out} {answer.text}")
            return
        problem = answer.document
        if problem["exit_code"] != code:
            self.fault(verb, f"{what}: exit {code} {err} {out}, and {answer.text}")
        error = json.loads(lines[0]) if lines else {"error": err.strip()}
        if lines and error["retry_after_ms"] != problem["retry_after_ms"]:
            self.fault(verb, f"{what}: waits {error['retry_after_ms']} and "
                             f"{problem['retry_after_ms']}")
        if error["error"] != problem["detail"]:
            self.notes.append(f"{verb}: {error['error']!r} by the command line, "
                              f"{problem['detail']!r} by HTTP")

    def submit(self, *options, command=SLEEPER):
        return self.ask("submit", *options, "--", *command)["job_id"]

    def wait_state(self, job, *states):
        wait_for(f"job {job} {states}", lambda: self.ask("show", job)["job"]["state"] in states, 30)


def numbers(*jobs):
    """A mask: each of these jobs is JOB."""
    return [(r"\b(" + "|".join(str(job) for job in jobs) + r")\b", "JOB")]
