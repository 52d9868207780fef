"""Questions and orders about the cluster, its hosts, queues and users, by the command line and by
HTTP."""

from cluster import Broken
from lab import wait_for
from web_compare import CALL_S


# ---- the cluster and its hosts ----

def reads_of_the_cluster(parity):
    parity.same("version", ("version",), "/v1/version")
    parity.same("whoami", ("whoami",), "/v1/whoami")
    parity.same("stats", ("stats",), "/v1/stats")
    parity.same("keys", ("keys",), "/v1/keys")
    parity.same("quorum", ("quorum",), "/v1/quorum")
    parity.same("usage", ("usage",), "/v1/usage")
    for by in ("user", "type", "name"):
        parity.same("usage", ("usage", "--by", by), "/v1/usage", by=by)
    parity.same("usage", ("usage", "--since", "1d"), "/v1/usage", since="1d")
    parity.same("usage", ("usage", "--consistent"), "/v1/usage", consistent=1)


def events(parity):
    host = parity.lab.names[1]
    parity.same("events", ("events",), "/v1/events")
    parity.same("events", ("events", "-n", "3"), "/v1/events", limit=3)
    parity.same("events", ("events", "--host", host), "/v1/events", host=host)
    parity.same("events", ("events", "--level", "warn"), "/v1/events", level="warn")
    name = parity.ask("events")["events"][-1]["name"]
    parity.same("events", ("events", "--event", name), "/v1/events", event=name)
    parity.same("events", ("events", "--since", "1h"), "/v1/events", since="1h")
    parity.same("events", ("events", "--audit"), "/v1/audit")
    parity.same("events", ("events", "--audit", "-n", "2"), "/v1/audit", limit=2)
    parity.same("events", ("events", "--audit", "--user", "root"), "/v1/audit", user="root")
    parity.same("events", ("events", "--audit", "--verb", "submit"), "/v1/audit", verb="submit")
    parity.same("events", ("events", "--audit", "--since", "1h"), "/v1/audit", since="1h")


def hosts(parity):
    host = parity.lab.names[1]
    parity.same("hosts", ("hosts",), "/v1/hosts")
    parity.same("hosts", ("hosts", "--all"), "/v1/hosts", all=1)
    parity.same("hosts-show", ("hosts", "show", host), f"/v1/hosts/{host}")
    parity.same("why-host", ("why-host", host), f"/v1/hosts/{host}/why")
    path = f"/v1/hosts/{host}"
    parity.same_order("hosts-drain", ("hosts", "drain", host, "--why", "fan"),
                      ("POST", path + ":drain", {"why": "fan"}))
    parity.same("hosts-show", ("hosts", "show", host), path)
    parity.same("hosts", ("hosts",), "/v1/hosts")
    parity.same_order("hosts-drain", ("hosts", "drain", host, "--deadline", "1h"),
                      ("POST", path + ":drain", {"deadline_in_ms": 3_600_000}))
    parity.same("hosts-show", ("hosts", "show", host), path)
    parity.same_order("hosts-undrain", ("hosts", "undrain", host), ("POST", path + ":undrain"))
    parity.signed_alone("hosts-set", ("hosts", "set", host, "--may-vouch", "yes"),
                        ("PATCH", path, {"may_vouch": True}))
    parity.same_refusal("hosts-show", ("hosts", "show", "nobody"), ("GET", "/v1/hosts/nobody"))
    parity.same_refusal("why-host", ("why-host", "nobody"), ("GET", "/v1/hosts/nobody/why"))
    parity.same_refusal("hosts-drain", ("hosts", "drain", "nobody"),
                        ("POST", "/v1/hosts/nobody:drain"))
    parity.same_refusal("hosts-remove", ("hosts", "remove", host),
                        ("POST", path + ":remove"))
    parity.same_refusal("hosts-fence", ("hosts", "fence", host, "-y"), ("POST", path + ":fence"))
    parity.same_refusal("hosts-revoke", ("hosts", "revoke", "nobody", "-y"),
                        ("POST", "/v1/hosts/nobody:revoke"))


def gpus(parity):
    host = parity.lab.names[1]
    parity.same("gpus", ("gpus",), "/v1/gpus")
    parity.same("gpus", ("gpus", "--consistent"), "/v1/gpus", consistent=1)
    parity.same("gpus", ("gpus", "--host", host), "/v1/gpus", host=host)
    parity.same("gpus", ("gpus", "--host", host), f"/v1/hosts/{host}/gpus")
    uuid = parity.ask("gpus", "--host", host)["gpu_list"][0]["uuid"]
    for verb in ("mask", "unmask"):
        parity.same_order(f"gpus-{verb}", ("gpus", verb, uuid, "--why", "test"),
                          ("POST", f"/v1/gpus/{uuid}:{verb}", {"why": "test"}))
        parity.same("gpus", ("gpus", "--host", host), "/v1/gpus", host=host)
    parity.same_refusal("gpus-mask", ("gpus", "mask", "GPU-nowhere", "--why", "x"),
                        ("POST", "/v1/gpus/GPU-nowhere:mask", {"why": "x"}))


def quorum(parity):
    """Of three voters one goes and comes, by the one way and by the other."""
    host = parity.lab.names[2]

    def settled(count):
        voters = parity.ask("quorum")["voters"]
        return len(voters) == count and not any(voter["is_learner"] for voter in voters)

    def taken(request):
        """The answer, unless the leader cannot do it yet: it has to hear the host first."""
        answer = parity.door.send(*request[:2], body=request[2])
        return answer if answer.status != 503 else None

    def typed(verb, *flags):
        """The same by the command line: 5 is its 503."""
        code, out, err = parity.agent.cli("quorum", verb, host, *flags, "--json")
        if code not in (0, 5):
            raise Broken(f"muster quorum {verb} exited {code}: {out}{err}")
        return out if code == 0 else None

    told = {}
    for way in ("cli", "http"):
        for verb, count, flags in (("remove", 2, ("--yes",)), ("add", 3, ())):
            parity.done.add(f"quorum-{verb}")
            if way == "cli":
                told[verb] = wait_for(f"{verb} {host}",
                                      lambda asked=(verb, *flags): typed(*asked), 60)
            else:
                request = ("POST", f"/v1/quorum:{verb}", {"host": host})
                answer = wait_for(f"{verb} {host}", lambda asked=request: taken(asked), 60)
                parity.compare(f"quorum-{verb}", ("quorum", verb), request, told[verb], answer)
            wait_for(f"{count} voters", lambda wanted=count: settled(wanted), 60)
    leader = parity.ask("quorum")["leader"]
    parity.same_order("quorum-transfer", ("quorum", "transfer", leader),
                      ("POST", "/v1/quorum:transfer", {"host": leader}))
    parity.same_refusal("quorum-add", ("quorum", "add", "nobody"),
                        ("POST", "/v1/quorum:add", {"host": "nobody"}))
    wait_for("a leader", lambda: parity.ask("quorum")["leader"], 30)


def keys(parity):
    host = parity.lab.names[2]
    parity.signed_alone("keys-rotate", ("keys", "rotate", host, "--no-wait", "-y"),
                        ("POST", "/v1/keys:rotate", {"host": host}))


# ---- queues ----

def tree_of(document, leave_out=()):
    """The body that sets the tree which /v1/queues describes."""
    own = ("queue", "weight", "guaranteed", "max", "tiers", "queue_members", "is_fifo",
           "time_limit_max_ms", "allows_no_time_limit", "max_pending")
    queues = [{name: queue[name] for name in own if queue[name] is not None}
              for queue in document["queues"] if queue["queue"] not in ("default", *leave_out)]
    return {"queues_version": document["queues_version"], "queues": queues,
            "half_life_ms": document["half_life_ms"]}


def queues(parity):
    parity.same("queue", ("queue",), "/v1/queues")
    parity.cli("queue", "set", "research", "weight=2")
    parity.cli("queue", "set", "research/nlp", "max.gpus=16", "tiers=batch,standard")
    parity.same("queue", ("queue",), "/v1/queues")
    parity.same("queue", ("queue", "--waiting"), "/v1/queues", waiting=1)
    parity.same("queue", ("queue", "--consistent"), "/v1/queues", consistent=1)
    parity.same("queue-show", ("queue", "show", "research"), "/v1/queues", queue="research")
    parity.same("queue-export", ("queue", "export"), "/v1/queues", consistent=1)
    parity.same_refusal("queue-show", ("queue", "show", "nowhere"),
                        ("GET", "/v1/queues?queue=nowhere"))
    told = parity.cli("queue", "set", "research", "weight=3")
    parity.cli("queue", "set", "research", "weight=2")

    def put(change=lambda tree: None, leave_out=(), **members):
        tree = tree_of(parity.door.get("/v1/queues", consistent=1).document, leave_out)
        change(tree)
        return parity.door.send("PUT", "/v1/queues", body={**tree, **members})

    def heavier(tree):
        tree["queues"][0]["weight"] = 3

    request = ("PUT", "/v1/queues")
    parity.done |= {"queue-set", "queue-import", "queue-remove"}
    parity.compare("queue-set", ("queue", "set", "research", "weight=3"), request, told,
                   put(heavier))
    file = parity.lab.directory / "queues.toml"
    file.write_text('[queue."research"]\nweight = 5\n[queue."research/nlp"]\nmax.gpus = 16\n'
                    'tiers = ["batch", "standard"]\n')

    def as_in_file(tree):
        tree["queues"][0]["weight"] = 5

    dry = ("queue", "import", file, "--dry-run")
    parity.compare("queue-import", dry, request, parity.cli(*dry), put(as_in_file, dry_run=True))
    told = parity.cli("queue", "remove", "research/nlp", "-y")
    parity.cli("queue", "set", "research/nlp", "max.gpus=16", "tiers=batch,standard")
    parity.compare("queue-remove", ("queue", "remove", "research/nlp"), request, told,
                   put(leave_out=("research/nlp",)))
    parity.same("share", ("share",), "/v1/shares")
    parity.same("share", ("share", "--users"), "/v1/shares", users=1)
    parity.same("share", ("share", "research"), "/v1/shares", queue="research")
    old = {**tree_of(parity.door.get("/v1/queues", consistent=1).document),
           "queues_version": 1}
    answer = parity.door.send("PUT", "/v1/queues", body=old)
    if answer.status != 409:
        parity.fault("queue-set", f"from an old version: {answer.status} {answer.text}")


# ---- users, access tokens and tickets ----

def users(parity):
    change = ("PATCH", "/v1/users")

    def ordered(verb, words, body):
        parity.signed_alone(verb, words, (*change, body))

    ordered("team-add", ("team", "add", "nlp"), {"teams": [{"team": "ops"}]})
    ordered("team-set", ("team", "set", "nlp", "--priority-max", "7"),
            {"teams": [{"team": "nlp", "priority_max": 7}]})
    ordered("user-add", ("user", "add", "anna", "--role", "user"),
            {"users": [{"user": "berta", "user_role": "user"}]})
    ordered("user-set", ("user", "set", "anna", "--role", "lead", "--join", "nlp"),
            {"users": [{"user": "anna", "user_role": "lead", "joins": ["nlp"]}]})
    ordered("access-set", ("access", "set", "jobs=team"), {"visible_jobs": "team"})
    ordered("access-set", ("access", "set", "jobs=all"), {"unix_users": "user"})
    for verb, words, show in (("user-list", ("user", "list"), None),
                              ("team-list", ("team", "list"), "teams"),
                              ("access", ("access",), "access")):
        parity.same(verb, words, "/v1/users", **({"show": show} if show else {}))
    file = parity.lab.directory / "users.toml"
    file.write_text('[user."anna"]\nrole = "viewer"\n')
    ordered("users-apply", ("users", "apply", file),
            {"users": [{"user": "anna", "user_role": "viewer", "leaves": ["nlp"]}]})
    ordered("user-remove", ("user", "remove", "anna"),
            {"users": [{"user": "berta", "is_removed": True}]})
    ordered("team-remove", ("team", "remove", "nlp"),
            {"teams": [{"team": "ops", "is_removed": True}]})


def tokens(parity):
    secret = [(r'"line":"[^"]+"', '"line":"SECRET"'), (r'"access_token":"\w+"', '"access_token":0'),
              (r'"ticket":"\w+"', '"ticket":0')]
    told = parity.ask("token", "create", "--for", "ci", "--may", "read,submit", "--force")
    answer = parity.same_order(
        "token-create", ("token", "create", "--for", "ci", "--may", "read", "--force"),
        ("POST", "/v1/tokens", {"made_for": "ci", "token_rights": ["read"]}), secret)
    parity.same("token-list", ("token", "list"), "/v1/tokens")
    parity.same("token-list", ("token", "list", "--all"), "/v1/tokens", all=1)
    bearer = {"Authorization": "Bearer " + answer.document["line"]}
    # The leader made it; this node hears of it with the log.
    wait_for("the token here", lambda: parity.door.send(
        "GET", "/v1/whoami", headers=bearer).status == 200, 10)
    whoami = parity.door.send("GET", "/v1/whoami", headers=bearer)
    if whoami.status != 200 or whoami.document["made_for"] != "ci":
        parity.fault("whoami", f"with an access token: {whoami.status} {whoami.text}")
    wrong = parity.door.send("GET", "/v1/version", headers={
        "Authorization": "Bearer " + answer.document["line"][:-1] + "0"})
    if wrong.status not in (401, 403):
        parity.fault("version", f"with a wrong access token: {wrong.status} {wrong.text}")
    parity.same_order("token-revoke", ("token", "revoke", told["access_token"]),
                      ("DELETE", "/v1/tokens/" + answer.document["access_token"]), secret)
    parity.same_refusal("token-revoke", ("token", "revoke", "00000000"),
                        ("DELETE", "/v1/tokens/00000000"))
    told = parity.ask("ticket", "--uses", "2", "--force")
    answer = parity.same_order("ticket", ("ticket", "--uses", "2", "--ttl", "2h", "--force"),
                               ("POST", "/v1/tickets", {"uses": 2, "ttl_ms": 7_200_000}), secret)
    parity.same("ticket-list", ("ticket", "list"), "/v1/tickets")
    parity.same_order("ticket-revoke", ("ticket", "revoke", told["ticket"]),
                      ("DELETE", "/v1/tickets/" + answer.document["ticket"]), secret)
    parity.same_refusal("ticket-revoke", ("ticket", "revoke", "000000000000"),
                        ("DELETE", "/v1/tickets/000000000000"))


# ---- refusals, and hosts that go ----

def refusals(parity):
    """Requests that no rule takes are refused by name, as the description says."""
    for method, path, body, status, text in (
            ("GET", "/v1/jbos", None, 404, "/v1/jobs"),
            ("DELETE", "/v1/hosts", None, 405, "GET, HEAD"),
            ("GET", "/v1/jobs?statee=x", None, 400, "statee"),
            ("GET", "/v1/jobs?state=x", None, 400, "state"),
            ("POST", "/v1/jobs", {"comand": ["x"]}, 400, "com"),
            ("POST", "/v1/jobs", "{", 400, "JSON"),
            ("POST", "/v1/jobs", '{"name":"a","name":"b"}', 400, "twice"),
            ("POST", "/v1/jobs/x:cancel", None, 400, "x"),
            ("POST", "/v1/quorum:add", {}, 400, "host")):
        path, _, rest = path.partition("?")
        query = dict([rest.split("=")]) if rest else {}
        answer = parity.door.send(method, path, query, body)
        if answer.status != status or text not in answer.document["detail"]:
            parity.fault("refusals", f"{method} {path} {query}: {answer.status} {answer.text}")
    for method in ("POST", "PATCH", "PUT", "DELETE"):
        answer = parity.door.send(method, "/v1/jobs", headers={"Origin": "https://elsewhere"})
        if answer.status < 400:
            parity.fault("refusals", f"{method} of another site: {answer.status}")


def departures(parity):
    """A host dies: it is fenced, removed and revoked, by either way."""
    host = parity.lab.names[2]
    parity.lab[host].kill_host()
    row = f"/v1/hosts/{host}"
    wait_for("its end", lambda: parity.ask("hosts", "show", host)["state"] == "unreachable", 90)
    parity.same("why-host", ("why-host", host), row + "/why")
    for order, flags, body in (("fence", ("--processes-gone", "-y"), {"processes_gone": True}),
                               ("remove", (), None)):
        parity.done.add(f"hosts-{order}")
        answer = parity.door.send("POST", f"{row}:{order}", body=body)
        code, out, err = parity.agent.cli("hosts", order, host, *flags, "--json", timeout=CALL_S)
        if code == 0 and answer.status == 200:
            parity.compare(f"hosts-{order}", ("hosts", order, host), ("POST", f"{row}:{order}"),
                           out, answer)
        else:
            parity.notes.append(f"hosts-{order}: first {answer.status} {answer.text.strip()}, then "
                                f"exit {code} {out}{err}")
        parity.same("hosts", ("hosts", "--all"), "/v1/hosts", all=1)
    parity.signed_alone("hosts-revoke", ("hosts", "revoke", host, "-y"), ("POST", row + ":revoke"))
