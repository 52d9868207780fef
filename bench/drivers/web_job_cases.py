"""Questions and orders about jobs, by the command line and by HTTP."""

import os

from cluster import Broken
from lab import wait_for
from web_compare import first_difference, numbers, plain

JOB = ("--gpus", "0", "--ranks", "2", "--cpus", "0.1", "--mem", "1M", "--env-none")
ALL_GPUS = ("--gpus", "24", "--cpus", "0.1", "--mem", "1M", "--env-none")


# ---- jobs ----

def body_of(spec, job):
    """The body that submits the same job again."""
    members = {**spec.pop("request"), **spec}
    body = {name: value for name, value in members.items()
            if value is not None and not name.endswith("_base64")}
    body["shell"] = spec["shell"]  # A limit of it may be null: there is none.
    return {**body, "name": job["name"], "priority": job["priority"]}


def submits(parity):
    """The same job by both ways; then under one key, which makes one job."""
    number = parity.submit(*JOB, "--retries", "1", "--priority", "3", "--name", "same")
    shown = parity.ask("show", number)
    body = body_of(dict(shown["spec"]), shown["job"])
    parity.done.add("submit")
    answer = parity.door.send("POST", "/v1/jobs", body=body)
    if answer.status != 201:
        raise Broken(f"submit by HTTP: {answer.status} {answer.text}")
    other = answer.document["job_id"]
    if parity.ask("show", other)["spec"] != shown["spec"]:
        parity.fault("submit", f"{shown['spec']} becomes {parity.ask('show', other)['spec']}")
    if list(answer.document) != list(parity.ask("submit", *JOB, "--hold", "--", "true")):
        parity.fault("submit", f"the keys of {answer.text} differ")
    key = os.urandom(16).hex()
    twice = [parity.door.send("POST", "/v1/jobs", body=body, headers={"Idempotency-Key": key})
             for _ in range(2)]
    if twice[0].text != twice[1].text or twice[0].document["key"] != key:
        parity.fault("submit", f"under one key: {twice[0].text} and {twice[1].text}")
    answer = parity.door.send("POST", "/v1/jobs:dry-run", body=body)
    if answer.status != 200:
        parity.fault("submit", f"a dry run: {answer.status} {answer.text}")
    parity.same_refusal("submit", ("submit", "--gpus", "4000", "--cwd", "/", "--", "true"),
                        ("POST", "/v1/jobs", {"command": ["true"], "gpus": 4000,
                                              "directory": "/"}))
    return [number, other, twice[0].document["job_id"]]


def reads_of_jobs(parity, jobs):
    first, last = jobs[0], jobs[-1]
    for job in jobs:
        parity.wait_state(job, "running")
    parity.same("show", ("show", first), f"/v1/jobs/{first}")
    parity.same("events", ("events", "--job", first), f"/v1/jobs/{first}/events")
    parity.same("why", ("why", first), f"/v1/jobs/{first}/why")
    blocker, waits = parity.submit(*ALL_GPUS), parity.submit(*ALL_GPUS)
    parity.wait_state(blocker, "running")
    parity.same("why", ("why", waits), f"/v1/jobs/{waits}/why")
    parity.same("gpus", ("gpus", "--job", blocker), "/v1/gpus", job=blocker)
    parity.same("hosts", ("hosts",), "/v1/hosts")
    host = parity.lab.names[0]
    parity.same("hosts-show", ("hosts", "show", host), f"/v1/hosts/{host}")
    array = parity.submit(*JOB, "--array", "0-5%2", command=("true",))
    parity.wait_state(array, "completed")
    parity.same("show", ("show", array), f"/v1/jobs/{array}")
    parity.same("show", ("show", f"{array}.3"), f"/v1/jobs/{array}.3")
    parity.same("jobs", ("jobs",), "/v1/jobs")
    for words, query in ((("--all",), {"all": 1}), ((first,), {"job": first}),
                         ((f"{first}-{last}",), {"job": f"{first}-{last}"}),
                         (("--state", "running,queued"), {"state": "running,queued"}),
                         (("--user", "root"), {"user": "root"}),
                         (("--host", host), {"host": host}),
                         (("--name", "sa*"), {"name": "sa*"}),
                         (("--since", "1h"), {"since": "1h"}),
                         (("--limit", "2"), {"limit": 2}),
                         (("--sort", "-id"), {"sort": "-id"}),
                         (("--sort", "name", "--all"), {"sort": "name", "all": 1}),
                         (("--tasks", array), {"tasks": 1, "job": array}),
                         (("--consistent",), {"consistent": 1})):
        parity.same("jobs", ("jobs", *words), "/v1/jobs", **query)
    pages(parity)
    for verb, path in (("show", ""), ("why", "/why")):
        parity.same_refusal(verb, (verb, 999999), ("GET", f"/v1/jobs/999999{path}"))
    parity.same_refusal("jobs", ("jobs", 999999), ("GET", "/v1/jobs/999999"))
    for job in (waits, blocker):
        parity.cli("cancel", job, "-y")


def pages(parity):
    """Pages of two have together what one answer has."""
    for path, key, after in (("/v1/jobs", "jobs", "0"), ("/v1/hosts", "hosts", None),
                             ("/v1/events", "events", "0"), ("/v1/audit", "audit", "0")):
        extra = {"all": 1} if key == "jobs" else {}
        seen, query = [], {"limit": 2, **extra, **({"after": after} if after else {})}
        for _ in range(1000):
            answer = parity.door.get(path, **query)
            seen += [plain(each) for each in answer.document[key]]
            if "muster-next" not in answer.headers:
                break
            query["after"] = answer.headers["muster-next"]
        whole = parity.door.get(path, limit=1000, **extra, **({"after": "0"} if after else {}))
        wanted = [plain(each) for each in whole.document[key]]
        if seen[:len(wanted)] != wanted:
            parity.fault(key, f"pages of {path} have {len(seen)}, one answer {len(wanted)}")


def outputs(parity, job):
    def whole():
        return len(parity.cli("logs", job, "-r", "0").splitlines()) >= 2

    wait_for("output", whole, 20)
    parity.done.add("logs")
    told = parity.cli("logs", job, "-r", "0")
    path = f"/v1/jobs/{job}/ranks/0/output"
    answer = parity.door.get(path)
    if told != answer.text:
        parity.fault("logs", f"muster logs {job} -r 0 and GET {path}: "
                             f"{first_difference(told, answer.text)}")
    for stream in ("stdout", "stderr"):
        told = parity.cli("logs", job, "-r", "0", f"--{stream}")
        answer = parity.door.get(path, stream=stream)
        if told != answer.text:
            parity.fault("logs", f"--{stream}: {first_difference(told, answer.text)}")
    parity.same_refusal("logs", ("logs", 999999), ("GET", "/v1/jobs/999999/ranks/0/output"))
    parity.same_refusal("logs", ("logs", job, "-r", "7"),
                        ("GET", f"/v1/jobs/{job}/ranks/7/output"))


def job_orders(parity):
    """Each order at two jobs alike, one by each way."""
    for order, options in (("cancel", ("--hold",)), ("resume", ("--hold",)), ("suspend", ()),
                           ("requeue", ())):
        pair = [parity.submit(*JOB, *options) for _ in range(2)]
        for job in pair if not options else []:
            parity.wait_state(job, "running")
        flags = ("-y",)
        told = parity.cli(order, pair[0], *flags)
        request = ("POST", f"/v1/jobs/{pair[1]}:{order}")
        answer = parity.door.send(*request)
        parity.done.add(order)
        parity.compare(order, (order, pair[0]), request, told, answer, numbers(*pair))
        for job in pair:
            parity.cli("cancel", job, "-y") if order != "cancel" else None
    job, other = parity.submit(*JOB, "--hold"), parity.submit(*JOB, "--hold")
    parity.same_refusal("cancel", ("cancel", 999999, "-y"), ("POST", "/v1/jobs/999999:cancel"))
    parity.same_order("priority", ("priority", job, "5"),
                      ("PATCH", f"/v1/jobs/{other}", {"priority": 5}), numbers(job, other))
    for words, body in ((("--time-limit", "2h"), {"time_limit_ms": 7_200_000}),
                        (("--time-limit", "+1h"), {"time_limit_added_ms": 3_600_000}),
                        (("--time-limit", "none"), {"time_limit_ms": None}),
                        (("--priority", "-4"), {"priority": -4}),
                        (("--tier", "batch"), {"tier": "batch"}),
                        (("--begin", "none", "--deadline", "none"),
                         {"begin_in_ms": None, "deadline_in_ms": None})):
        parity.same_order("edit", ("edit", job, *words), ("PATCH", f"/v1/jobs/{other}", body),
                          numbers(job, other))
    for each in (job, other):
        parity.cli("cancel", each, "-y")
    parity.same_order("cancel", ("cancel", job, "-y"), ("POST", f"/v1/jobs/{job}:cancel"))
    parity.same_refusal("edit", ("edit", job, "--priority", "1"),
                        ("PATCH", f"/v1/jobs/{job}", {"priority": 1}))
    array = parity.submit(*JOB, "--array", "0-9%1")
    told = parity.cli("cancel", f"{array}.2-3", "-y")
    answer = parity.door.send("POST", f"/v1/jobs/{array}.5:cancel", body={"last": "6"})
    if answer.status != 200:
        parity.fault("cancel", f"a run of tasks: {answer.status} {answer.text}; {told}")
    parity.cli("cancel", array, "-y")
