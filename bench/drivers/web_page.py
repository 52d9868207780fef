"""The page that each node serves, in a headless Chromium: against agents, and with a fleet of 8,000
GPUs that tests/e2e/page_mock.py makes up. An operator signs in with a token, looks at each view in
both schemes and two widths, and walks through them by keys."""

import contextlib
import gzip
import json
import pathlib
import subprocess
import sys
import time

import devtools
import page_checks
from cluster import Broken, figure, quantile, settle
from lab import Failure, Lab, free_ports, wait_for
from web_client import Door, answers, make_token

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PAGE = ROOT / "agent" / "edge" / "door" / "page"
MOCK = ROOT / "tests" / "e2e" / "page_mock.py"
BASE_PORT = 9150
LOOKS = ((1280, "light"), (1280, "dark"), (400, "light"), (400, "dark"))
START_S = 60
#: A view reads at first and once again.
VIEW_S = 3
VIEW_READ_S = 30
#: The first answer was shown: a table, or that there is nothing to list.
FORM = "!!document.querySelector('form.login')"
SIGNED_IN = "document.getElementById('nav')?.hidden === false"
READ = "!!document.querySelector('main .listed > :not([hidden])')"
FRAME_SECONDS = 10
#: Tab stops of a view that are looked at.
TABS_MAX = 60
SAYS = "muster-page-7d41"  #: What the rank of the job says.
COOKIE = "__Host-muster"
#: A rank that says a thousand lines a second, in turns on stdout and on stderr.
CHATTERS = """
import sys, time
at = 0
while True:
    print("line", at, "of a rank that says much", file=(sys.stdout, sys.stderr)[at % 2], flush=True)
    at += 1
    time.sleep(0.001)
"""
#: The page gets such a rank for so long.
CHATTER_S = 10
MOCK_HOSTS, MOCK_CHANGES = 1000, 500
MOST_SHOWN = 20


class Findings:
    """What is wrong, by figure."""

    def __init__(self):
        self.found = {"page_errors": [], "page_outside": [], "page_a11y": []}

    def add(self, name, texts, where):
        for text in texts:
            if len(self.found[name]) < MOST_SHOWN:
                print(f"# {name}: {where}: {text}", flush=True)
            self.found[name].append(text)

    def figures(self):
        for name, texts in self.found.items():
            figure(name, len(texts), "")


class Operator:
    """A person at the page of `origin`, in a tab."""

    def __init__(self, browser, origin, findings):
        self.page = browser.page()
        self.origin = origin
        self.findings = findings
        self.where = "start"
        self.rest_s = VIEW_S
        self.page.before(page_checks.WATCH)

    def open(self, path=""):
        trouble = self.page.open(f"{self.origin}/{path}")
        if trouble:
            raise Broken(f"the page does not open: {trouble}")

    def sign_in(self, line):
        """By keys alone; the page has put the focus into the field."""
        page = self.page
        self.where = "sign in"
        page.wait("the form", FORM)
        self.look()
        page.type(line)
        page.key("Enter")
        page.wait("the views", SIGNED_IN)
        kept = page.run("JSON.stringify([{...sessionStorage}, {...localStorage}, document.cookie])")
        if line in kept:
            self.findings.add("page_errors", ["a script can read the token"], self.where)

    def check_cookie(self):
        """Who signs in at a node has one cookie, which no script reads, and a reload keeps."""
        self.where = "cookie"
        cookies = self.page.call("Network.getCookies", urls=[f"{self.origin}/"])["cookies"]
        told = [[each[name] for name in ("name", "secure", "httpOnly", "sameSite", "path")]
                for each in cookies]
        if told != [[COOKIE, True, True, "Strict", "/"]]:
            self.findings.add("page_errors", [f"these are the cookies: {told}"], self.where)
        self.page.run("location.reload()")
        self.page.wait("the views after a reload", SIGNED_IN)
        self.page.wait("the rows after a reload", READ, VIEW_READ_S)

    def sign_out(self):
        self.where = "sign out"
        self.page.run("document.getElementById('sign-out').click()")
        self.page.wait("the form again", FORM)
        self.open()
        self.page.wait("the form after a reload", FORM)
        if self.page.call("Network.getCookies", urls=[f"{self.origin}/"])["cookies"]:
            self.findings.add("page_errors", ["the cookie outlives the sign out"], self.where)

    def show(self, view):
        self.where = view
        self.page.run(f"location.hash = '#/{view}'")
        self.page.wait(f"the view {view}", READ, VIEW_READ_S)
        self.page.rest(self.rest_s)

    def look(self):
        self.findings.add("page_a11y", self.page.run(page_checks.LOOK), self.where)
        tree = self.page.call("Accessibility.getFullAXTree")
        self.findings.add("page_a11y", page_checks.nameless(tree), self.where)
        self.hear()

    def hear(self):
        """What the page told since the last time: errors, and requests to other places."""
        events, self.page.events = self.page.events, []
        for method, told in events:
            if method == "Network.requestWillBeSent":
                url = told["request"]["url"]
                is_own = url.startswith((f"{self.origin}/", "data:", "blob:"))
                self.findings.add("page_outside", [] if is_own else [url], self.where)
            self.findings.add("page_errors", self._errors(method, told), self.where)
        broken = self.page.run("window.__violations.splice(0)")
        self.findings.add("page_errors", [f"against the policy: {each}" for each in broken],
                          self.where)

    def _errors(self, method, told):
        if method == "Runtime.exceptionThrown":
            details = told["exceptionDetails"]
            return [details.get("exception", {}).get("description", details["text"])]
        if method == "Runtime.consoleAPICalled" and told["type"] in ("error", "assert", "warning"):
            return [str([each.get("value", each.get("description")) for each in told["args"]])]
        if method == "Log.entryAdded" and told["entry"]["level"] in ("error", "warning"):
            entry = told["entry"]
            # The node says so that nobody is signed in.
            is_question = entry.get("url", "").endswith("/v1/whoami") and "401" in entry["text"]
            return [] if is_question else [f"{entry['text']} {entry.get('url', '')}"]
        return []

    def picture(self, folder, name):
        if folder:
            self.page.picture(pathlib.Path(folder) / f"{name}.png")


def look_at_all(operator, views, pictures="", looks=LOOKS):
    """Each view, in each of these widths and schemes."""
    for width, scheme in looks:
        operator.page.size(width)
        operator.page.media(scheme=scheme)
        for view in views:
            operator.show(view)
            operator.where = f"{view}, {width} px, {scheme}"
            operator.look()
            operator.picture(pictures, f"{view.replace('/', '-')}-{width}-{scheme}")
    operator.page.size(LOOKS[0][0])
    operator.page.media(scheme=LOOKS[0][1])


def look_still(operator, views):
    """Each view, for those who asked for less motion."""
    operator.page.media(scheme="light", motion="reduce")
    for view in views:
        operator.show(view)
        operator.findings.add("page_a11y", operator.page.run(page_checks.STILL), f"{view}, still")
    operator.page.media(scheme="light")


def tab_to(operator, what, condition):
    """Tab until the condition holds of `document.activeElement`; each stop must be seen."""
    for _ in range(TABS_MAX):
        operator.page.key("Tab")
        # The page scrolls to it in the next frame.
        operator.page.rest(devtools.SHORT_S)
        unseen = operator.page.run(page_checks.FOCUS)
        operator.findings.add("page_a11y", [unseen] if unseen else [], operator.where)
        if operator.page.run(f"((at) => {condition})(document.activeElement)"):
            return True
    operator.findings.add("page_a11y", [f"Tab does not reach {what}"], operator.where)
    return False


def walk_by_keys(operator):
    """Through all views by Tab and Enter, on the map by arrows, to a host, a job and back."""
    page = operator.page
    operator.open()
    page.wait("the fleet", "!!document.querySelector('main td a')")
    names = page.run("[...document.querySelectorAll('#nav a')].map((each) => each.textContent)")
    for name in names:
        operator.where = f"keys to {name}"
        page.run("document.activeElement.blur()")
        if not tab_to(operator, name, f"at.closest('#nav') && at.textContent === '{name}'"):
            continue
        page.key("Enter")
        with told(operator, f"Enter on {name} opens nothing"):
            page.wait(name, f"document.querySelector('main h1')?.textContent === '{name}' && "
                            "document.querySelector('#nav [aria-current]').textContent === "
                            f"'{name}'", 5)
    walk_on_map(operator)
    operator.where = "keys to a job"
    operator.show("jobs")
    if tab_to(operator, "a job", "(at.getAttribute('href') ?? '').startsWith('#/job/')"):
        page.key("Enter")
        with told(operator, "Enter opens no job"):
            page.wait("the job", "document.querySelector('main h1')?.textContent"
                                 ".startsWith('Job ')", 5)
    operator.hear()


@contextlib.contextmanager
def told(operator, text):
    try:
        yield
    except devtools.Trouble:
        operator.findings.add("page_a11y", [text], operator.where)


def walk_on_map(operator):
    page = operator.page
    operator.where = "keys on the map"
    operator.show("fleet")
    if not tab_to(operator, "the map", "at.tagName === 'CANVAS'"):
        return
    said = set()
    for key in ("ArrowRight", "ArrowDown", "ArrowLeft", "End", "Home"):
        page.key(key)
        page.rest(devtools.SHORT_S)
        said.add(page.run("document.querySelector('.readout').textContent"))
    if len(said) < 3:
        operator.findings.add("page_a11y", [f"arrows on the map say only {said}"], operator.where)
    page.key("Enter")
    with told(operator, "Enter on the map opens no host"):
        page.wait("the host", "document.querySelector('main h1')?.textContent"
                              ".startsWith('Host ')", 5)


def check_cancel(operator, job):
    """The order needs a confirmation, Escape keeps the job, and the focus is in the dialog."""
    page = operator.page
    operator.where = "cancel"
    operator.show(f"job/{job}")
    if not tab_to(operator, "the order", "at.classList.contains('danger')"):
        return
    page.key("Enter")
    with told(operator, "no dialog opens"):
        page.wait("the dialog", "!!document.querySelector('dialog[open]')?.contains("
                                "document.activeElement)", 5)
        operator.look()
        page.key("Escape")
        page.wait("no dialog", "!document.querySelector('dialog')", 5)
    operator.hear()


# Agents.

class Cluster:
    """Three agents with HTTPS; a job with output, one that waits, and a drained host."""

    def __init__(self, lab):
        self.lab = lab
        self.first = free_ports(BASE_PORT, len(lab.names))
        for at, name in enumerate(lab.names):
            lab[name].environment = {"MUSTER_HTTPS": f"127.0.0.1:{self.first + at}"}
        lab.start()
        settle(lab, START_S)
        self.agent = lab[lab.names[0]]
        self.origin = f"https://127.0.0.1:{self.first}"

    def ask(self, *words):
        code, out, err = self.agent.cli(*words)
        if code != 0:
            raise Broken(f"muster {' '.join(words)}: {err.strip()}")
        return out

    def fill(self):
        """(the running job, the waiting job)"""
        drained = self.lab.names[-1]
        wait_for("a drained host", lambda: self.agent.cli("hosts", "drain", drained, "--why",
                                                          "fan 3")[0] == 0, START_S)
        talks = f"n=0; while true; do echo {SAYS} $n; echo odd $n >&2; n=$((n+1)); sleep 1; done"
        runs = json.loads(self.ask("submit", "--json", "--name", "talks", "--gpus", "4", "--", "sh",
                                   "-c", talks))["job_id"]
        waits = json.loads(self.ask("submit", "--json", "--name", "waits", "--gpus", "14", "--",
                                    "sleep", "600"))["job_id"]
        self.ask("submit", "--json", "--name", "fails", "--gpus", "1", "--", "false")
        wait_for("the job runs", lambda: self.state_of(runs) == "running", START_S)
        return runs, waits

    def token(self, label, rights):
        """(the line, the token's name), once each host has heard of it with the log."""
        line, name = make_token(self.agent, label, rights)
        doors = [Door(self.lab[each], self.first + at, line)
                 for at, each in enumerate(self.lab.names)]
        wait_for("the token everywhere", lambda: all(answers(door, "/v1/whoami")
                                                     for door in doors), START_S)
        return line, name

    def state_of(self, job):
        answer = self.agent.ask("show", str(job))
        return answer and answer["job"]["state"]


def views_of(cluster, runs, waits):
    return ["fleet", "jobs", "queues", "events", "quorum", f"job/{runs}", f"job/{waits}",
            f"host/{cluster.lab.names[-1]}"]


def check_content(operator, cluster, runs, waits):
    """What the views have to say, as the CLI does."""
    page = operator.page
    drained = cluster.lab.names[-1]
    for view, words in ((f"job/{runs}", [SAYS, "running"]),
                        (f"job/{waits}", ["Why it waits", "queued", "Wanted"]),
                        (f"host/{drained}", ["drained", "fan 3"]),
                        ("fleet", ["drained", "3 hosts"]), ("jobs", ["talks", "waits"]),
                        ("quorum", ["Voters", "alive"]), ("queues", ["default"]),
                        ("events", ["Events of this host"])):
        operator.show(view)
        for word in words:
            try:
                page.wait(word, f"document.querySelector('main').innerText.includes({word!r})", 10)
            except devtools.Trouble as trouble:
                raise Broken(f"{view} does not say {word!r}: {trouble}") from trouble
    operator.show(f"job/{runs}")
    size = "document.querySelector('pre.output').textContent.length"
    before = page.run(size)
    page.wait("more output", f"{size} > {before}", 10)
    operator.hear()


def check_chatter(operator, cluster):
    """A rank that says much: the page shows it, and does other things besides."""
    page = operator.page
    told = cluster.ask("submit", "--json", "--name", "chatters", "--gpus", "0", "--ranks", "1",
                       "--cpus", "0.1", "--", sys.executable, "-c", CHATTERS)
    job = json.loads(told)["job_id"]
    wait_for("the job runs", lambda: cluster.state_of(job) == "running", START_S)
    operator.show(f"job/{job}")
    deadline, slowest = time.monotonic() + CHATTER_S, 0
    while time.monotonic() < deadline:
        asked = time.monotonic()
        page.run("1")
        slowest = max(slowest, time.monotonic() - asked)
        page.rest(devtools.SHORT_S)
    page.wait("its lines", "document.querySelector('pre.output').textContent.includes('says much')")
    operator.look()
    print(f"# beside a rank that says much, the page answers in {1000 * slowest:.0f} ms",
          flush=True)
    cluster.ask("cancel", str(job))


def check_revoked(operator, cluster):
    """Revoked, a token signs nobody in any more: the page that has it shows the form."""
    line, name = cluster.token("revoked", "read")
    operator.sign_in(line)
    cluster.ask("token", "revoke", name)
    operator.page.wait("the form of one whose token is revoked", FORM, START_S)
    # The browser logs the refusals that tell the page so.
    operator.page.events.clear()


def first_rows_ms(operator, rounds=5):
    """From the navigation until the fleet has rows; the median."""
    times = []
    for _ in range(rounds):
        operator.page.open("about:blank")
        operator.open()
        times.append(operator.page.wait("rows", "window.__firstRows"))
    operator.hear()
    return quantile(times, 0.5)


def at_agents(findings, pictures):
    """The median time to the first rows."""
    with Lab("abc", base_port=BASE_PORT + 100) as lab:
        cluster = Cluster(lab)
        runs, waits = cluster.fill()
        line, _ = cluster.token("page", "read,submit")
        with devtools.Browser(lab.directory, "--ignore-certificate-errors") as browser:
            operator = Operator(browser, cluster.origin, findings)
            operator.open()
            operator.sign_in(line)
            operator.check_cookie()
            check_content(operator, cluster, runs, waits)
            views = views_of(cluster, runs, waits)
            look_at_all(operator, views, pictures)
            look_still(operator, views)
            walk_by_keys(operator)
            check_cancel(operator, runs)
            check_chatter(operator, cluster)
            paint = first_rows_ms(operator)
            operator.sign_out()
            operator.hear()
            check_revoked(operator, cluster)
    return paint


def at_mock(findings, pictures):
    """(median time to the first rows, the slowest second's frames) of a large fleet."""
    mock = subprocess.Popen([sys.executable, str(MOCK), "--hosts", str(MOCK_HOSTS), "--changes",
                             str(MOCK_CHANGES)], stdout=subprocess.PIPE, text=True)
    try:
        origin = mock.stdout.readline().strip().rstrip("/")
        with Lab("a") as place, devtools.Browser(place.directory) as browser:
            operator = Operator(browser, origin, findings)
            operator.open()
            operator.sign_in("mock")
            operator.where = "large fleet"
            operator.page.size(LOOKS[0][0])
            operator.page.wait("rows", "window.__firstRows")
            operator.page.rest(VIEW_S)
            operator.look()
            frames = operator.page.call("Runtime.evaluate", expression=page_checks.FRAMES %
                                        FRAME_SECONDS, awaitPromise=True, returnByValue=True)
            operator.picture(pictures, "large-fleet")
            return first_rows_ms(operator), frames["result"]["value"]
    finally:
        mock.kill()
        mock.wait()


def web_page(pictures="", agents=1, mock=1):
    findings = Findings()
    files = sorted(PAGE.iterdir())
    figure("page_bytes", len(gzip.compress(b"".join(file.read_bytes() for file in files), 9)), "B")
    paints = []
    try:
        if agents:
            paints.append(at_agents(findings, pictures))
        if mock:
            paint, frames = at_mock(findings, pictures)
            paints.append(paint)
            print(f"# frames of each second: {frames}", flush=True)
            figure("page_fps", min(frames), "1/s")
    except devtools.Trouble as trouble:
        raise Failure(str(trouble)) from trouble
    print("# first rows: " + ", ".join(f"{each:.0f} ms" for each in paints), flush=True)
    figure("page_paint_ms", max(paints), "ms")
    findings.figures()
