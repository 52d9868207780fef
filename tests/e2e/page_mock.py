"""Serves the page of a node with the answers of a made-up cluster, to try the page in a browser:

    python3 tests/e2e/page_mock.py                     # 1,000 hosts of 8 GPUs, any token signs in
    python3 tests/e2e/page_mock.py --as-login          # nobody signs in; the asker is an operator
    python3 tests/e2e/page_mock.py --trouble quorum    # or: old, lost, token

It is no test and no node: it judges nothing. Field names are those of agent/api/json."""

import argparse
import http.server
import json
import pathlib
import random
import re
import time
import urllib.parse

PAGE = pathlib.Path(__file__).resolve().parents[2] / "agent/edge/door/page"
TYPES = {".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8",
         ".js": "text/javascript; charset=utf-8"}
POLICY = ("default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
          "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
          "require-trusted-types-for 'script'")
#: A browser takes no Secure cookie of the real name from plain HTTP.
COOKIE = "muster-mock="
GPUS = 8
PAGE_ITEMS = 1000
USERS = ["ann", "bob", "carol", "dave"]
QUEUES = ["research/nlp", "research/vision", "notebooks", "default"]
STARTED = time.time()


def now_ms():
    return int(time.time() * 1000)


class Refusal(Exception):
    def __init__(self, status, detail, retry_ms=None):
        super().__init__(detail)
        self.status, self.retry_ms = status, retry_ms


class Cluster:
    """Jobs come and go by themselves: `changes` GPUs a second change."""

    def __init__(self, hosts, changes):
        self.random = random.Random(7)
        self.names = [f"gpu{at}" for at in range(hosts)]
        self.ids = [f"{at:032x}" for at in range(1, hosts + 1)]
        self.held = [[None] * GPUS for _ in range(hosts)]
        self.states = [["healthy"] * GPUS for _ in range(hosts)]
        self.drains = {}
        self.silent = {at for at in range(hosts) if at % 97 == 96}
        self.jobs = {}
        self.ended = {}
        self.last = 0
        self.changes = changes
        self.told = time.time()
        self.events = []
        for at in range(hosts):
            for gpu in range(GPUS):
                if self.random.random() < 0.02:
                    self.states[at][gpu] = self.random.choice(
                        ["masked", "quarantined", "unhealthy", "withheld"])
        for at in range(0, hosts, 50):
            self.drains[at] = {"by": "carol@head", "why": "fan 3", "since_ms": 90_000,
                               "will_requeue": False, "requeue_in_ms": None}
        for at in range(hosts):
            if self.random.random() < 0.8:
                self.start([at])
        self.waiting = [self.new_job("queued") for _ in range(700)]

    def new_job(self, state):
        self.last += 1
        self.jobs[self.last] = {"state": state, "hosts": [], "user": self.random.choice(USERS),
                                "queue": self.random.choice(QUEUES), "begun": now_ms(),
                                "name": self.random.choice(["train", "eval", "<b>bold</b>"])}
        return self.last

    def start(self, hosts):
        job = self.new_job("running")
        self.jobs[job]["hosts"] = hosts
        for at in hosts:
            for gpu in range(GPUS):
                if self.held[at][gpu] is None and self.states[at][gpu] == "healthy":
                    self.held[at][gpu] = job

    def end(self, job, state):
        self.ended[job] = dict(self.jobs.pop(job), state=state)
        for at in self.ended[job]["hosts"]:
            self.held[at] = [None if each == job else each for each in self.held[at]]

    def move(self):
        """Lets time pass: as many GPUs change as the time since the last call asks for."""
        due = int((time.time() - self.told) * self.changes / GPUS)
        if due > 0:
            self.told = time.time()
        for _ in range(min(due, len(self.names))):
            at = self.random.randrange(len(self.names))
            job = next((each for each in self.held[at] if each is not None), None)
            if job is None and at not in self.drains:
                self.start([at])
            elif job in self.jobs:
                self.end(job, "completed")
        self.note("info", f"jobs_moved count={due}")

    def note(self, level, text):
        self.events.append({"sequence": len(self.events) + 1, "age_ms": 0, "level": level,
                            "text": text, "name": text.split()[0], "unix_ms": now_ms()})

    def place(self, name):
        if name not in self.names and name not in self.ids:
            raise Refusal(404, f"there is no host {name}: `muster hosts` lists them")
        return self.names.index(name) if name in self.names else self.ids.index(name)

    def find(self, number):
        job = int(number.split(".")[0]) if number.split(".")[0].isdigit() else 0
        if job not in self.jobs and job not in self.ended:
            raise Refusal(404, f"there is no job {number}; `muster jobs --all` lists them")
        return job, self.jobs.get(job) or self.ended[job]

    def is_free(self, at, gpu):
        return (self.held[at][gpu] is None and self.states[at][gpu] == "healthy"
                and at not in self.drains and at not in self.silent)

    def host(self, at):
        held = self.held[at]
        state = "suspect" if at in self.silent else "alive"
        return {"host": self.names[at], "host_id": self.ids[at], "state": state,
                "detail": "silent" if at in self.silent else None, "since_ms": 60_000,
                "generation": 1, "address": f"10.0.{at // 250}.{at % 250 + 1}:7450",
                "rack": f"r{at // 32}", "gpu_type": "H100", "gpus": GPUS,
                "gpus_healthy": GPUS - self.states[at].count("unhealthy"), "cpus": 96,
                "memory_mib": 1_048_576, "is_voter": at < 5, "is_leader": at == 0,
                "version": "0.1.0", "claimed_by": [], "https": None,
                "gpus_used": GPUS - held.count(None),
                "gpus_free": sum(self.is_free(at, gpu) for gpu in range(GPUS)),
                "cpu_used_thousandths": 12_000 * (GPUS - held.count(None)),
                "memory_used_mib": 1024, "job_ids": sorted({job for job in held if job}),
                "drain": self.drains.get(at), "is_removed": False, "cluster_since_ms": 60_000}

    def listed_gpu(self, at, gpu):
        job = self.held[at][gpu]
        state = self.states[at][gpu]
        state = "drained" if state == "healthy" and at in self.drains else state
        return {"host": self.names[at], "host_id": self.ids[at], "gpu_index": gpu,
                "uuid": f"GPU-{at:04}-{gpu}", "gpu_type": "H100", "state": state, "job_id": job,
                "user": self.jobs[job]["user"] if job else None,
                "token": f"1.{job}" if job else None, "since_ms": None, "why": None, "by": None,
                "model": None, "health": None, "health_why": None, "health_since_ms": None,
                "evidence": [], "use_percent": None, "gpu_memory_used_bytes": None,
                "gpu_memory_bytes": None, "celsius": None, "milliwatts": None, "throttle": [],
                "processes": [], "processes_left_out": 0}

    def shown_gpu(self, at, gpu):
        job = self.held[at][gpu]
        known = self.jobs.get(job, {})
        state = self.states[at][gpu]
        return {"uuid": f"GPU-{at:04}-{gpu}",
                "state": "used" if job else "free" if self.is_free(at, gpu) else
                         "drained" if state == "healthy" else state,
                "job_id": job, "job_name": known.get("name"), "user": known.get("user"),
                "rank": gpu if job else None, "token": f"1.{job}" if job else None}

    def summary(self, number, job):
        is_ended = number in self.ended
        runs = job["state"] == "running"
        return {"job_id": number, "name": job["name"], "user": job["user"], "state": job["state"],
                "gpus": GPUS, "ranks": None, "gpu_type": "H100", "attempt": 1 if runs else None,
                "priority": 0, "queue": job["queue"], "tier": "standard",
                "exit_code": 0 if is_ended else None, "cause": "started" if runs else None,
                "hosts": [self.names[at] for at in job["hosts"]], "is_doubtful": False,
                "reason": None if runs or is_ended else "waits for 8 H100: 3 are free",
                "submit_unix_ms": job["begun"], "start_unix_ms": job["begun"] if runs else None,
                "end_unix_ms": now_ms() if is_ended else None, "after": [], "begin_unix_ms": None,
                "deadline_unix_ms": None, "age_ms": now_ms() - job["begun"],
                "run_ms": now_ms() - job["begun"] if runs else None, "gpu_ms": 3_600_000,
                "tasks": None}

    def detail(self, number, job):
        members = [{"host_id": self.ids[at], "host": self.names[at], "first_rank": 0,
                    "gpu_uuids": [], "cpu_thousandths": 12_000, "memory_mib": 1024,
                    "state": "running", "rank_list": [
                        {"rank": rank, "state": "running", "detail": None, "output_bytes": 0,
                         "lost_bytes": 0, "surplus_bytes": 0} for rank in range(GPUS)],
                    "host_state": "alive", "host_detail": None, "host_since_ms": 60_000}
                   for at in job["hosts"]]
        attempts = [{"attempt": 1, "token": f"1.{number}", "state": "started", "cause": None,
                     "members": members, "members_left_out": 0}] if members else []
        request = {"gpus": GPUS, "gpus_per_host": None, "ranks": None, "ranks_per_host": None,
                   "cpu_thousandths": None, "memory_mib": None, "gpu_types": ["H100"],
                   "labels": [], "not_labels": [], "hosts": [], "not_hosts": [], "pack": "any",
                   "pack_wait_ms": None}
        spec = {"request": request, "argv": ["./train", "--epochs", "3"], "environment": [],
                "directory": "/home/ann", "team": "nlp", "is_held": False, "retries": 0,
                "isolation_ms": None, "keep_when_isolated": False, "grace_ms": 30_000,
                "patience_ms": 60_000, "on_lost_host": "requeue", "time_limit_ms": 86_400_000}
        steps = [{"index": 9, "cluster_ms": 1, "unix_ms": job["begun"], "state": job["state"],
                  "cause": "submitted"}]
        return {"job": self.summary(number, job), "spec": spec, "is_private": False,
                "attempts": attempts, "transitions": steps, "array": None,
                "output": {"kept_ms": 1, "kept_bytes": 1, "kept_files": 1}}

    def why(self, number, job):
        return {"job_id": number, "state": job["state"], "wanted": GPUS, "free": 3, "lacking": 5,
                "headline": "It waits for 8 H100 on one host: 3 are free.", "ahead": [1, 2],
                "holders": [{"job_id": 1, "name": "train", "gpus": 8, "cpu_thousandths": 1,
                             "hosts": ["gpu1"]}],
                "would_start": [1], "fits_now": 3, "ahead_count": 12, "left_out": [],
                "withheld": [{"reason": "masked", "gpus": 4}], "awaits_hosts": False,
                "holders_more": 0, "has_gpus": True, "open_host_count": 4,
                "filters": [{"reason": "drained", "host_count": 20}], "largest": [],
                "would_fit_with": ["3 GPUs"], "queue": job["queue"], "tier": "standard",
                "full_queue": None, "full_text": None, "others_wait": 0,
                "turn": {"pool": "h100", "first_job": 1, "rule": "share", "reason": None,
                         "next_with": None, "starts_in_ms": 60_000, "planned_hosts": 1,
                         "own_side": None, "other_side": None},
                "after": [], "begin_unix_ms": None, "deadline_unix_ms": None,
                "storm": {"mode": "normal", "since_ms": 0, "reason": None}}


def queues(cluster):
    waiting = sum(job["state"] == "queued" for job in cluster.jobs.values())
    return {"queues_version": 3, "half_life_ms": 604_800_000,
            "fleet": [{"amount_of": "h100", "amount": GPUS * len(cluster.names)}],
            "queues": [{"queue": path, "is_leaf": path != "research", "weight": 1,
                        "guaranteed": [{"amount_of": "h100", "amount": 64}], "max": [],
                        "tiers": [], "queue_members": [], "is_fifo": False,
                        "time_limit_max_ms": None, "allows_no_time_limit": False,
                        "max_pending": None, "pools": [], "pending": waiting // 4, "running": 9,
                        "longest_wait_ms": 600_000} for path in ["research", *QUEUES]]}


def shares():
    return {"half_life_ms": 604_800_000,
            "shares": [{"queue": path, "user": user, "pool": "h100", "pool_name": "H100",
                        "held_thousandths": 64_000,
                        "borrowed_thousandths": None if user else 0, "pool_held_thousandths": 6_400_000,
                        "pool_size": 8000, "part_thousandths": 2_000_000, "weight": 1,
                        "weights": 4, "mean_permille": 250, "credit_permille": 1100,
                        "pending": 12, "is_owed": False, "is_next": path == "default",
                        "at_max": None} for path in QUEUES for user in (None, "ann")]}


def quorum(cluster):
    return {"cluster": "ab" * 16, "role": "follower", "term": 4, "leader": "gpu0",
            "leader_id": cluster.ids[0], "commit_index": 912, "applied_index": 912,
            "tolerates": 2, "voters_wanted": 5, "epoch": 1, "founders_wanted": 0,
            "founders_met": 0, "seeds_unmet": [],
            "voters": [{"host": cluster.names[at], "host_id": cluster.ids[at], "match_index": None,
                        "contact_ms": None, "state": "alive", "is_learner": False,
                        "entries_behind": None, "rack": f"r{at}", "why": "rack of its own"}
                       for at in range(min(5, len(cluster.names)))]}


def piece(number, offset):
    """A line of output each second."""
    line = "step {:07}: loss 0.25 \u001b[32mok\u001b[0m\n"
    size = len(line.format(0))
    first = offset // size
    count = max(0, min(500, int(time.time() - STARTED) + 20 - first))
    text = "".join(line.format(first + at) for at in range(count))
    return {"job_id": number, "attempt": 1, "rank": 0, "offset_bytes": first * size, "text": text,
            "base64": None, "stream": "stdout", "unix_ms": now_ms(), "is_ended": False}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    cluster = None
    options = None
    cookie = None  #: That the next answer sets.

    def log_message(self, *_):
        pass

    def send(self, status, kind, body, fields=()):
        self.send_response(status)
        for name, value in [("content-type", kind), ("content-length", str(len(body))),
                            ("content-security-policy", POLICY),
                            ("x-content-type-options", "nosniff"), *fields]:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def told(self, document, next_page=None):
        age = 34_000 if self.options.trouble == "old" else 120
        document = dict(document, answered_by="gpu3", age_ms=age)
        fields = [("muster-answered-by", "gpu3"), ("muster-age-ms", str(age))]
        fields += [("muster-next", next_page)] if next_page is not None else []
        fields += [("set-cookie", self.cookie)] if self.cookie else []
        self.cookie = None
        self.send(200, "application/json", json.dumps(document).encode() + b"\n", fields)

    def refused(self, status, detail, retry_ms=None):
        fields = [("www-authenticate", "Bearer")] if status == 401 else []
        fields += [("retry-after", "3")] if status == 503 else []
        self.send(status, "application/problem+json", json.dumps(
            {"type": "about:blank", "title": "Refused", "status": status, "detail": detail,
             "exit_code": 1, "retry_after_ms": retry_ms}).encode() + b"\n", fields)

    def answer(self):
        split = urllib.parse.urlsplit(self.path)
        path = urllib.parse.unquote(split.path)
        query = dict(urllib.parse.parse_qsl(split.query))
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        try:
            if path.startswith("/v1/"):
                self.check(path)
                self.answer_v1(path, query, body)
            else:
                self.answer_file(path)
        except Refusal as refusal:
            self.refused(refusal.status, str(refusal), refusal.retry_ms)
        except BrokenPipeError:
            self.close_connection = True  # The page went on to another view.

    do_GET = do_POST = answer

    def check(self, path):
        trouble = self.options.trouble
        if trouble == "lost":
            self.close_connection = True
            raise ConnectionAbortedError
        shown = self.headers.get("authorization") or COOKIE in self.headers.get("cookie", "")
        if trouble == "token" or not (self.options.as_login or shown or path == "/v1/logout"):
            raise Refusal(401, "the access token has expired: make another one "
                               "(muster token create)")
        if trouble == "quorum" and path != "/v1/whoami":
            raise Refusal(503, "no leader is known: a majority of the voters does not answer", 3000)
        if self.command == "POST" and not self.headers.get("muster-client"):
            raise Refusal(403, "a request that changes something needs the header muster-client")

    def answer_file(self, path):
        file = PAGE / ("index.html" if path == "/" else path[1:])
        if file.parent != PAGE or file.suffix not in TYPES or not file.is_file():
            raise Refusal(404, f"there is no path {path}")
        self.send(200, TYPES[file.suffix], file.read_bytes(), [("cache-control", "no-cache")])

    def answer_v1(self, path, query, body):
        for pattern, answer in ROUTES:
            found = re.fullmatch(pattern, f"{self.command} {path}")
            if found:
                answer(self, *found.groups(), query=query, body=body)
                return
        raise Refusal(404, f"there is no path {path}")

    def login(self, query, body):
        line = self.headers.get("authorization", "").removeprefix("Bearer ")
        self.cookie = f"{COOKIE}{line}; HttpOnly; SameSite=Strict; Path=/; Max-Age=43200"
        self.whoami(query, body)

    def logout(self, query, body):
        self.send(204, "", b"", [("set-cookie", f"{COOKIE}; HttpOnly; Path=/; Max-Age=0")])

    def whoami(self, query, body):
        is_login = self.options.as_login
        self.told({"user": "ann", "host": "gpu3", "is_vouched": True,
                   "user_role": "operator" if is_login else "user", "has_record": True,
                   "member_of": ["nlp"], "keys": [], "users_version": 3,
                   "access_token": None if is_login else "5f0c1d22",
                   "made_for": None if is_login else "page",
                   "token_rights": [] if is_login else ["read", "submit"],
                   "ends_in_ms": None if is_login else 3_600_000})

    def hosts(self, query, body):
        self.cluster.move()
        first = self.cluster.ids.index(query["after"]) + 1 if "after" in query else 0
        end = min(first + PAGE_ITEMS, len(self.cluster.names))
        self.told({"hosts": [self.cluster.host(at) for at in range(first, end)],
                   "storm": {"mode": "normal", "since_ms": 0, "reason": None}, "seeds_unmet": [],
                   "voter_notes": []},
                  self.cluster.ids[end - 1] if end < len(self.cluster.names) else None)

    def gpus(self, query, body):
        first = self.cluster.ids.index(query["after"]) + 1 if "after" in query else 0
        end = min(first + PAGE_ITEMS // GPUS, len(self.cluster.names))
        self.told({"gpu_list": [self.cluster.listed_gpu(at, gpu) for at in range(first, end)
                                for gpu in range(GPUS)], "driver": None},
                  self.cluster.ids[end - 1] if end < len(self.cluster.names) else None)

    def host(self, name, query, body):
        at = self.cluster.place(name)
        self.told(dict(self.cluster.host(at), labels=["disk=nvme"], spine="s1", islands=[0] * GPUS,
                       may_vote=at < 5, may_vouch=False,
                       gpu_list=[self.cluster.shown_gpu(at, gpu) for gpu in range(GPUS)]))

    def why_host(self, name, query, body):
        at = self.cluster.place(name)
        claims = [{"observer": "gpu7", "kind": "silent", "is_weak": False, "age_ms": 4000}]
        self.told(dict(self.cluster.host(at), claims=claims if at in self.cluster.silent else [],
                       heard_by=["gpu1", "gpu2"], suspect_from=3, unreachable_from=6,
                       storm={"mode": "normal", "since_ms": 0, "reason": None},
                       events=self.cluster.events[-5:]))

    def jobs(self, query, body):
        states = [each for each in query.get("state", "").split(",") if each]
        every = {**self.cluster.ended, **self.cluster.jobs}
        first = int(query.get("after", "0"))
        found = [self.cluster.summary(number, job) for number, job in sorted(every.items())
                 if number > first and (not states or job["state"] in states)
                 and query.get("user", job["user"]) == job["user"]]
        page = found[:PAGE_ITEMS]
        self.told({"jobs": page, "hidden_jobs": 0, "gpus_of_other_teams": 0},
                  str(page[-1]["job_id"]) if len(found) > len(page) else None)

    def job(self, number, query, body):
        self.told(self.cluster.detail(*self.cluster.find(number)))

    def why(self, number, query, body):
        self.told(self.cluster.why(*self.cluster.find(number)))

    def follow_output(self, number, offset):
        """Events until the reader goes."""
        self.close_connection = True
        self.send_response(200)
        for name, value in [("content-type", "text/event-stream"), ("cache-control", "no-store")]:
            self.send_header(name, value)
        self.end_headers()
        while True:
            told = piece(number, offset)
            if told["text"]:
                offset = told["offset_bytes"] + len(told["text"].encode())
                event = f"id: {offset}\ndata: {json.dumps(told)}\n\n"
                try:
                    self.wfile.write(event.encode())
                except OSError:
                    return
            time.sleep(0.2)

    def output(self, number, rank, query, body):
        if "text/event-stream" in self.headers.get("accept", ""):
            self.follow_output(int(number), int(query.get("offset", "0")))
            return
        told = piece(int(number), int(query.get("offset", "0")))
        after = str(told["offset_bytes"] + len(told["text"].encode()))
        self.send(200, "application/json", json.dumps(told).encode() + b"\n",
                  [("muster-answered-by", "gpu3"), ("muster-age-ms", "0"), ("muster-next", after)])

    def event_list(self, query, body):
        after = int(query.get("after", "0"))
        self.cluster.note("warn", "host_suspect host=gpu96")
        self.told({"events": [each for each in self.cluster.events if each["sequence"] > after],
                   "lost_events": 0, "last_sequence": len(self.cluster.events)})

    def cancel(self, number, query, body):
        job, _ = self.cluster.find(number)
        if job in self.cluster.jobs:
            self.cluster.end(job, "cancelled")
        self.told({"cancelled_jobs": [job], "errors": []})

    def drain(self, name, query, body):
        at = self.cluster.place(name)
        self.cluster.drains[at] = {"by": "ann@gpu3", "why": json.loads(body or b"{}").get("why"),
                                   "since_ms": 0, "will_requeue": False, "requeue_in_ms": None}
        self.told({"drained": name, "host_id": self.cluster.ids[at]})

    def undrain(self, name, query, body):
        at = self.cluster.place(name)
        self.cluster.drains.pop(at, None)
        self.told({"undrained": name, "host_id": self.cluster.ids[at]})


ROUTES = [
    (r"GET /v1/whoami", Handler.whoami),
    (r"POST /v1/login", Handler.login),
    (r"POST /v1/logout", Handler.logout),
    (r"GET /v1/hosts", Handler.hosts),
    (r"GET /v1/hosts/([^/:]+)", Handler.host),
    (r"GET /v1/hosts/([^/:]+)/why", Handler.why_host),
    (r"POST /v1/hosts/([^/:]+):drain", Handler.drain),
    (r"POST /v1/hosts/([^/:]+):undrain", Handler.undrain),
    (r"GET /v1/gpus", Handler.gpus),
    (r"GET /v1/jobs", Handler.jobs),
    (r"GET /v1/jobs/([^/:]+)", Handler.job),
    (r"GET /v1/jobs/([^/:]+)/why", Handler.why),
    (r"GET /v1/jobs/([^/:]+)/ranks/(\d+)/output", Handler.output),
    (r"POST /v1/jobs/([^/:]+):cancel", Handler.cancel),
    (r"GET /v1/events", Handler.event_list),
    (r"GET /v1/quorum", lambda self, query, body: self.told(quorum(self.cluster))),
    (r"GET /v1/queues", lambda self, query, body: self.told(queues(self.cluster))),
    (r"GET /v1/shares", lambda self, query, body: self.told(shares())),
]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    parser.add_argument("--hosts", type=int, default=1000)
    parser.add_argument("--changes", type=int, default=500, help="GPUs that change in a second")
    parser.add_argument("--as-login", action="store_true")
    parser.add_argument("--trouble", choices=["", "quorum", "old", "lost", "token"], default="")
    Handler.options = parser.parse_args()
    Handler.cluster = Cluster(Handler.options.hosts, Handler.options.changes)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", Handler.options.port), Handler)
    print(f"http://127.0.0.1:{server.server_address[1]}/", flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        pass


if __name__ == "__main__":
    main()
