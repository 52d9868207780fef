"""Pages of other sites against a node, in a headless Chromium whose user is signed in there. They
try each way that a browser has: fetch, forms, images, scripts, styles, frames, sockets, windows,
and a name of their own that leads to the node. `http_cross_site` counts what a page could read,
and what the node did. The same attacks succeed at a site that forbids nothing, or the judge is blind."""

import http.server
import json
import ssl
import subprocess
import threading

import devtools
from cluster import Broken, figure, settle
from lab import Failure, Lab, free_ports, wait_for
from web_client import Door, answers, make_token

BASE_PORT = 9250
START_S = 60
EVIL, REBOUND = "evil.example", "rebound.example"
#: The other site, the other port of the node's address, and the one that forbids nothing.
SITES = ("127.0.0.2", "127.0.0.1", "127.0.0.1")
#: The browser takes the second for the same site: it sends the cookie along.
PLACES = ("another site", "another port")
#: In names of jobs that only an attack submits.
MARK = "from-another-site"
SECRET = "secret-of-the-victim"
#: The node's answer to a request by another name.
REFUSAL = "is not a name of this node"
#: Told by each way, in JavaScript of the page: what it could read; "" if nothing.
WAYS = """
const spec = JSON.stringify({ argv: ['true'], name: '%(mark)s', gpus: 0, ranks: 1 });
const read = async (promise) => {
  try {
    return await (await promise).text();
  } catch {
    return '';
  }
};
const writes = [['POST', '/v1/jobs', spec], ['POST', '/v1/jobs:dry-run', spec],
  ['POST', '/v1/jobs/%(job)d:cancel'], ['POST', '/v1/hosts/a:drain'], ['PUT', '/v1/queues', '{}'],
  ['PATCH', '/v1/jobs/%(job)d', '{"priority":7}'], ['DELETE', '/v1/tokens/%(token)s'],
  ['POST', '/v1/tokens', '{"for":"x","may":["read"]}'], ['POST', '/v1/logout'],
  ['POST', '/v1/login']];
const reads = ['/', '/v1/whoami', '/v1/jobs', '/v1/hosts', '/v1/jobs/%(job)d', '/v1/events',
  '/v1/jobs/%(job)d/ranks/0/output', '/v1/stats', '/metrics', '/v1/tokens', '/v1/openapi.json'];
const loaded = (tag, properties, isIn = true) => new Promise((resolve) => {
  const element = Object.assign(document.createElement(tag), properties);
  element.onload = () => resolve(element);
  element.onerror = () => resolve(null);
  setTimeout(() => resolve(null), 3000);
  document.documentElement.append(element);
});
const ways = {
  async fetch(node) {
    return (await Promise.all(reads.map((path) =>
      read(fetch(node + path, { credentials: 'include' }))))).join('');
  },
  async fetchOpaque(node) {
    return (await Promise.all(reads.map((path) =>
      read(fetch(node + path, { credentials: 'include', mode: 'no-cors' }))))).join('');
  },
  async stream(node) {
    return (await Promise.all(reads.map((path) => read(fetch(node + path,
      { credentials: 'include', mode: 'no-cors', headers: { accept: 'text/event-stream' } })))))
      .join('');
  },
  async write(node) {
    const types = ['text/plain', 'application/x-www-form-urlencoded', 'application/json'];
    return (await Promise.all(writes.flatMap(([method, path, body]) => types.flatMap((type) =>
      ['cors', 'no-cors'].flatMap((mode) => [{}, { 'muster-client': 'page' }].map((more) =>
        read(fetch(node + path, { method, mode, body, credentials: 'include',
          headers: { 'content-type': type, ...more } })))))))).join('');
  },
  async override(node) {
    return (await Promise.all(writes.map(([method, path]) => read(fetch(
      `${node}${path}?_method=${method}`, { credentials: 'include', mode: 'no-cors' }))))).join('');
  },
  async beacon(node) {
    writes.forEach(([, path, body]) => navigator.sendBeacon(node + path, body ?? ''));
    return '';
  },
  async forms(node) {
    const frame = document.createElement('iframe');
    frame.name = 'sink';
    document.documentElement.append(frame);
    for (const [, path, body] of writes) {
      for (const enctype of ['text/plain', 'application/x-www-form-urlencoded',
        'multipart/form-data']) {
        const form = Object.assign(document.createElement('form'),
          { action: node + path, method: 'post', enctype, target: 'sink' });
        const text = body ?? '{}';
        form.append(Object.assign(document.createElement('input'),
          { name: text.slice(0, -1) + ',"x":"', value: '"}' }));
        document.documentElement.append(form);
        form.submit();
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
    }
    return '';
  },
  async images(node) {
    const found = await Promise.all(reads.map((path) => loaded('img', { src: node + path })));
    return found.filter((each) => each && each.naturalWidth > 0).map((each) => each.src).join(' ');
  },
  async scripts(node) {
    const before = new Set(Object.keys(window));
    const found = await Promise.all(reads.slice(1).map((path) =>
      loaded('script', { src: node + path })));
    const made = Object.keys(window).filter((each) => !before.has(each));
    return [...found.filter(Boolean).map((each) => `ran ${each.src}`), ...made].join(' ');
  },
  async styles(node) {
    const found = await Promise.all(reads.slice(1).map((path) =>
      loaded('link', { rel: 'stylesheet', href: node + path })));
    return found.filter((each) => each?.sheet).map((each) => each.href).join(' ');
  },
  async frames(node) {
    const found = await Promise.all(reads.map((path) => loaded('iframe', { src: node + path })));
    return found.map((each) => {
      try {
        return each?.contentDocument?.body?.innerText ?? '';
      } catch {
        return '';
      }
    }).join('');
  },
  async sockets(node) {
    return (await Promise.all(reads.map((path) => new Promise((resolve) => {
      const socket = new WebSocket(node.replace('https', 'wss') + path);
      socket.onopen = () => resolve('a socket opened');
      socket.onmessage = (event) => resolve(event.data);
      socket.onerror = () => resolve('');
      setTimeout(() => resolve(''), 3000);
    })))).join('');
  },
  async events(node) {
    return (await Promise.all(reads.map((path) => new Promise((resolve) => {
      const source = new EventSource(node + path, { withCredentials: true });
      source.onopen = () => { source.close(); resolve('a stream opened'); };
      source.onerror = () => { source.close(); resolve(''); };
      setTimeout(() => { source.close(); resolve(''); }, 3000);
    })))).join('');
  },
  async windows(node) {
    const other = window.open(`${node}/v1/whoami`);
    await new Promise((resolve) => setTimeout(resolve, 1500));
    try {
      return other?.document?.body?.innerText ?? '';
    } catch {
      return '';
    } finally {
      other?.close();
    }
  },
};
"""


#: Ways in which a page reads something of a site that forbids nothing.
READERS = ("fetch", "write", "images", "scripts", "styles", "frames", "events")
#: What such a site answers, by what the browser wants it for.
OPEN_ANSWERS = {"image": ("image/gif", b"GIF89a\1\0\1\0\0\0\0,\0\0\0\0\1\0\1\0\0\2\0;"),
                "script": ("text/javascript", b"window.planted = 1;"), "style": ("text/css", b"")}


class Site(http.server.BaseHTTPRequestHandler):
    """A site that forbids nothing, over HTTPS. `server.heard` has what it was asked, as text."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def _answer(self):
        self.rfile.read(int(self.headers.get("content-length") or 0))
        used_as = self.headers.get("sec-fetch-dest", "")
        self.server.heard.append(f"{self.command} {self.path} {used_as}")
        is_stream = "text/event-stream" in self.headers.get("accept", "")
        kind, body = OPEN_ANSWERS.get(used_as, ("text/event-stream" if is_stream else "text/html",
                                                b"<!DOCTYPE html><p>kittens"))
        self.send_response(200)
        for name, value in (("content-type", kind), ("content-length", str(len(body))),
                            ("access-control-allow-origin", self.headers.get("origin", "*")),
                            ("access-control-allow-credentials", "true"),
                            ("access-control-allow-methods", "GET, POST, PUT, PATCH, DELETE"),
                            ("access-control-allow-headers", "content-type, muster-client")):
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = _answer


def serve_site(address, directory):
    """An HTTPS server at that address, with a certificate of its own."""
    key, certificate = directory / "evil.key", directory / "evil.pem"
    if not certificate.exists():
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                        "ec_paramgen_curve:P-256", "-nodes", "-keyout", str(key), "-out",
                        str(certificate), "-days", "2", "-subj", f"/CN={EVIL}"],
                       check=True, capture_output=True)
    server = http.server.ThreadingHTTPServer((address, 0), Site)
    server.daemon_threads = True
    server.handle_error = lambda *_: None  # A page that is left ends its connections.
    server.heard = []
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    # Each handshake is in the thread of its connection.
    server.socket = context.wrap_socket(server.socket, server_side=True,
                                        do_handshake_on_connect=False)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


class Victim:
    """A signed-in browser, and what its user has at the node."""

    def __init__(self, lab):
        self.lab = lab
        self.agent = lab["a"]
        self.port = free_ports(BASE_PORT, 1)
        self.agent.environment = {"MUSTER_HTTPS": f"127.0.0.1:{self.port}"}
        lab.start()
        settle(lab, START_S)
        self.line, self.token = wait_for("a token", self._token, START_S)
        submitted = self.agent.ask("submit", "--name", SECRET, "--", "sh", "-c",
                                   f"echo {SECRET}; sleep 600")
        self.job = submitted["job_id"]
        self.origin = f"https://127.0.0.1:{self.port}"
        # A node has no certificate of HTTPS until it is in the cluster.
        wait_for("the door", lambda: answers(Door(self.agent, self.port, self.line), "/v1/whoami"),
                 START_S)

    def _token(self):
        try:
            return make_token(self.agent, "page", "read,submit")
        except OSError:
            return None

    def sign_in(self, page):
        trouble = page.open(f"{self.origin}/")
        if trouble:
            raise Broken(f"the page does not open: {trouble}")
        page.wait("the form", "!!document.querySelector('form.login')")
        page.type(self.line)
        page.key("Enter")
        page.wait("the views", "!document.getElementById('nav').hidden")

    def is_signed_in(self, page):
        page.open(f"{self.origin}/")
        page.wait("the page", "!!document.querySelector('form.login, #nav:not([hidden])')")
        return not page.run("document.getElementById('nav').hidden")

    def state(self):
        """What an attack could change: it is the same before and behind it."""
        shown = self.agent.ask("show", str(self.job))["job"]
        jobs = [job["name"] for job in self.agent.ask("jobs", "--all")["jobs"]]
        hosts = [host["drain"] is not None for host in self.agent.ask("hosts")["hosts"]]
        listed = json.loads(self.agent.cli("token", "list", "--json")[1])["access_tokens"]
        tokens = sorted(each["access_token"] for each in listed)
        queues = self.agent.ask("queue")["queues_version"]
        return json.dumps([shown["state"], shown["priority"], sorted(jobs), hosts, queues, tokens])


def framed_at(page, node, events):
    """The places of the node that a frame shows: in the process of the tab, or in another one."""
    urls = [told["frame"]["url"] for method, told in events
            if method == "Page.frameNavigated" and told["frame"].get("parentId")]
    urls += [each["url"] for each in page.browser.call("Target.getTargets")["targetInfos"]
             if each["type"] == "iframe"]
    return [url for url in urls if url.startswith(node)]


def attack(page, victim, node, place):
    """[what went wrong], with each way from the page that is open in the tab."""
    wrong = []
    script = WAYS % {"mark": MARK, "job": victim.job, "token": victim.token}
    page.run(f"(() => {{ {script} window.__ways = ways; }})()")
    for way in page.run("Object.keys(window.__ways)"):
        before = len(page.events)
        told = page.run(f"window.__ways[{way!r}]({node!r})") or ""
        framed = framed_at(page, node, page.events[before:]) if way == "frames" else []
        if told:
            wrong.append(f"{place}, {way}: the page reads {told[:120]!r}")
        if framed:
            wrong.append(f"{place}, {way}: the node is framed: {framed[0]}")
    return wrong


def demand_sight(page, victim, url, planted):
    """The attacks from that page must succeed at the planted site, in each way that can."""
    page.open(url)
    page.wait("the page", "document.readyState === 'complete'")
    node = f"https://{planted.server_address[0]}:{planted.server_address[1]}"
    del planted.heard[:]
    found = attack(page, victim, node, "planted")
    blind = [way for way in READERS if not any(f" {way}: " in each for each in found)]
    heard = "\n".join(planted.heard)
    blind += [sign for sign in ("PUT /", "PATCH /", "DELETE /", "_method=DELETE",
                                "POST /v1/jobs iframe") if sign not in heard]
    if blind:
        raise Broken(f"the judge is blind from {url}: {', '.join(blind)}")


def check(page, victim, node, url, place):
    """The attacks from one page, then what they did."""
    wrong = []
    before = victim.state()
    trouble = page.open(url)
    if trouble:
        raise Broken(f"the page of {place} does not open: {trouble}")
    page.wait("the page", "document.readyState === 'complete'")
    wrong += attack(page, victim, node, place)
    after = victim.state()
    if MARK in after or before != after:
        wrong.append(f"{place}: the node changed: {before} became {after}")
    if not victim.is_signed_in(page):
        wrong.append(f"{place}: the user is signed out")
        victim.sign_in(page)
    return wrong


def check_rebound(page, victim):
    """A name of the attacker that leads to the node: the browser holds it for the attacker's. The
    policy of the node is left out, as a page that the attacker served before has none."""
    node = f"https://{REBOUND}:{victim.port}"
    page.call("Page.setBypassCSP", enabled=True)
    page.open(f"{node}/")
    page.rest(1)
    text = page.run("document.documentElement.innerText")
    wrong = [] if REFUSAL in text else [f"rebound: it serves {text[:120]!r}"]
    before = victim.state()
    page.run(f"(() => {{ {WAYS % {'mark': MARK, 'job': victim.job, 'token': victim.token}} "
             "window.__ways = ways; })()")
    told = {way: page.run(f"window.__ways[{way!r}]('')") or "" for way in
            ("fetch", "write", "stream", "override", "events")}
    page.call("Page.setBypassCSP", enabled=False)
    if REFUSAL not in told["fetch"] or REFUSAL not in told["write"]:
        raise Broken(f"the judge is blind: by another name it reads {told['fetch'][:120]!r}")
    for way, each in told.items():
        if SECRET in each or '"user"' in each or (way == "events" and each):
            wrong.append(f"rebound, {way}: the page reads {each[:200]!r}")
    if victim.state() != before:
        wrong.append("rebound: the node changed")
    return wrong


def attack_all(lab, servers, places):
    """[what went wrong], from the page of each of these places, and by another name."""
    wrong = []
    victim = Victim(lab)
    site, neighbour, planted = servers
    pages = dict(zip(PLACES, (f"https://{EVIL}:{site.server_address[1]}/",
                              f"https://127.0.0.1:{neighbour.server_address[1]}/")))
    with devtools.Browser(lab.directory, "--ignore-certificate-errors",
                          f"--host-resolver-rules=MAP {EVIL} 127.0.0.2, MAP {REBOUND} 127.0.0.1",
                          "--disable-popup-blocking") as browser:
        page = browser.page()
        victim.sign_in(page)
        if SECRET not in page.run("fetch('/v1/jobs').then((each) => each.text())"):
            raise Broken("the judge is blind: the own page reads no job")
        for place in places:
            demand_sight(page, victim, pages[place], planted)
            wrong += check(page, victim, victim.origin, pages[place], place)
        wrong += check_rebound(page, victim)
    before = victim.state()
    victim.agent.cli("submit", "--name", MARK, "--", "true")
    if victim.state() == before:
        raise Broken("the judge is blind: it sees no job that was submitted")
    return wrong


def faults_in(lab, places=PLACES):
    """[what went wrong] in a lab of one host."""
    servers = [serve_site(address, lab.directory) for address in SITES]
    try:
        return attack_all(lab, servers, places)
    except devtools.Trouble as trouble:
        raise Failure(str(trouble)) from trouble
    finally:
        for server in servers:
            server.shutdown()


def web_cross_site():
    with Lab("a", base_port=BASE_PORT + 50, expect=1) as lab:
        wrong = faults_in(lab)
    for each in wrong:
        print(f"# {each}", flush=True)
    figure("http_cross_site", len(wrong), "")
