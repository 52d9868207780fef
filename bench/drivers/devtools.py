"""A headless Chromium on this machine, driven by its debugging port: a small client of WebSockets
(RFC 6455), and what drivers need of the protocol of DevTools. One thread: events are taken while an
answer is awaited, or by `Page.rest()`."""

import base64
import contextlib
import json
import os
import pathlib
import signal
import socket
import struct
import subprocess
import time

CHROMIUM = "/usr/bin/chromium-headless-shell"
START_S = 30
CALL_S = 90
SHORT_S = 0.05
TEXT, CLOSE, PING, PONG = 1, 8, 9, 10
FLAGS = ("--headless", "--remote-debugging-port=0", "--no-first-run", "--disable-extensions",
         "--disable-background-networking", "--disable-component-update", "--disable-sync",
         "--disable-default-apps", "--no-default-browser-check", "--mute-audio",
         "--disable-gpu", "--disable-dev-shm-usage", "--force-color-profile=srgb")
KEYS = {"Tab": (9, ""), "Enter": (13, "\r"), "Escape": (27, ""), "ArrowLeft": (37, ""),
        "ArrowUp": (38, ""), "ArrowRight": (39, ""), "ArrowDown": (40, ""), "Home": (36, ""),
        "End": (35, ""), "PageUp": (33, ""), "PageDown": (34, ""), " ": (32, " ")}


class Trouble(Exception):
    """The browser did not do what it was told."""


def is_installed():
    return os.access(CHROMIUM, os.X_OK)


class WebSocket:
    """The client's side of one connection."""

    def __init__(self, port, path):
        self.link = socket.create_connection(("127.0.0.1", port), timeout=CALL_S)
        key = base64.b64encode(os.urandom(16)).decode()
        self.link.sendall((f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n"
                           "Upgrade: websocket\r\nConnection: Upgrade\r\n"
                           f"Sec-WebSocket-Key: {key}\r\n"
                           "Sec-WebSocket-Version: 13\r\n\r\n").encode())
        self.bytes = b""
        while b"\r\n\r\n" not in self.bytes:
            self._more()
        head, self.bytes = self.bytes.split(b"\r\n\r\n", 1)
        if b" 101 " not in head.split(b"\r\n")[0]:
            raise Trouble(f"no WebSocket: {head[:80]!r}")

    def _more(self):
        more = self.link.recv(1 << 20)
        if not more:
            raise Trouble("the browser ended the connection")
        self.bytes += more

    def _take(self, count):
        while len(self.bytes) < count:
            self._more()
        taken, self.bytes = self.bytes[:count], self.bytes[count:]
        return taken

    def send(self, content, kind=TEXT):
        size = len(content)
        head = bytes([0x80 | kind])
        if size < 126:
            head += bytes([0x80 | size])
        elif size < 1 << 16:
            head += bytes([0x80 | 126]) + struct.pack(">H", size)
        else:
            head += bytes([0x80 | 127]) + struct.pack(">Q", size)
        mask = os.urandom(4)
        stream = (mask * (size // 4 + 1))[:size]
        masked = int.from_bytes(content, "big") ^ int.from_bytes(stream, "big")
        self.link.sendall(head + mask + masked.to_bytes(size, "big"))

    def receive(self, patience):
        """The next message; nothing if none begins within `patience` seconds."""
        whole = b""
        while True:
            if not self.bytes and not whole:
                self.link.settimeout(max(0.001, patience))
                try:
                    self._more()
                except (TimeoutError, BlockingIOError):
                    return None
            self.link.settimeout(CALL_S)
            first, size = self._take(2)
            size &= 0x7f
            if size >= 126:
                wide = self._take(2 if size == 126 else 8)
                size = int.from_bytes(wide, "big")
            content = self._take(size)
            kind = first & 0x0f
            if kind == CLOSE:
                raise Trouble("the browser closed the connection")
            if kind == PING:
                self.send(content, PONG)
            elif kind != PONG:
                whole += content
                if first & 0x80:
                    return whole

    def close(self):
        self.link.close()


class Browser:
    """One process of Chromium with a profile of its own in `directory`; a context manager that
    leaves nothing running."""

    def __init__(self, directory, *flags):
        self.profile = pathlib.Path(directory) / f"chromium-{os.urandom(4).hex()}"
        own = ["--no-sandbox"] if os.geteuid() == 0 else []
        with open(f"{self.profile}.log", "ab") as log:
            self.process = subprocess.Popen(
                [CHROMIUM, *FLAGS, *own, f"--user-data-dir={self.profile}", *flags, "about:blank"],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
        try:
            self.socket = self._dial()
        except BaseException:
            self.close()
            raise
        self.last = 0
        self.pages = {}

    def _dial(self):
        told = self.profile / "DevToolsActivePort"
        deadline = time.monotonic() + START_S
        while time.monotonic() < deadline and self.process.poll() is None:
            with contextlib.suppress(OSError, ValueError):
                port, path = told.read_text().split("\n")[:2]
                return WebSocket(int(port), path)
            time.sleep(SHORT_S)
        raise Trouble(f"{CHROMIUM} does not start: see {self.profile}.log")

    def call(self, method, session=None, **parameters):
        """The result of one command; events that come before it are told to their pages."""
        self.last += 1
        number = self.last
        message = {"id": number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        self.socket.send(json.dumps(message).encode())
        deadline = time.monotonic() + CALL_S
        while time.monotonic() < deadline:
            told = self.take(deadline - time.monotonic())
            if told and told.get("id") == number:
                if "error" in told:
                    raise Trouble(f"{method}: {told['error']['message']}")
                return told["result"]
        raise Trouble(f"{method}: no answer in {CALL_S} s; the browser has used "
                      f"{self.cpu_seconds():.0f} s of a core")

    def cpu_seconds(self):
        """Of all its processes: a page in a loop uses a core, a starved one hardly any."""
        ticks = 0
        for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
            with contextlib.suppress(OSError):
                fields = stat.read_text().rpartition(")")[2].split()
                if int(fields[2]) == self.process.pid:  # The process group.
                    ticks += int(fields[11]) + int(fields[12])
        return ticks / os.sysconf("SC_CLK_TCK")

    def take(self, patience):
        """The next message, if there is one by then; an event is told to its page."""
        told = self.socket.receive(patience)
        if told is None:
            return None
        message = json.loads(told)
        page = self.pages.get(message.get("sessionId"))
        if page and "method" in message:
            page.hear(message["method"], message["params"])
        return message

    def page(self):
        """A tab of its own."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.pages[session] = page = Page(self, session, target)
        page.begin()
        return page

    def close(self):
        if getattr(self, "socket", None):
            self.socket.close()
        with contextlib.suppress(ProcessLookupError):
            # Its own group: the processes of its tabs, too.
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Page:
    """One tab: `events` are all that it told, as (method, parameters)."""

    def __init__(self, browser, session, target):
        self.browser, self.session, self.target = browser, session, target
        self.events = []

    def begin(self):
        for domain in ("Page", "Runtime", "Log", "Network", "Accessibility",
                       "Inspector"):
            self.call(f"{domain}.enable")

    def hear(self, method, parameters):
        if method == "Inspector.targetCrashed":
            raise Trouble("the tab has crashed")
        self.events.append((method, parameters))

    def call(self, method, **parameters):
        return self.browser.call(method, self.session, **parameters)

    def rest(self, seconds):
        """Lets the page go on."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            self.browser.take(deadline - time.monotonic())

    def run(self, expression):
        """The value of a JavaScript expression, awaited if it is a promise."""
        told = self.call("Runtime.evaluate", expression=expression, awaitPromise=True,
                         returnByValue=True, userGesture=True)
        if "exceptionDetails" in told:
            raise Trouble(f"{expression[:80]}: {told['exceptionDetails'].get('exception', {})}")
        return told["result"].get("value")

    def wait(self, what, expression, seconds=15):
        """The value of the expression, once it is true."""
        deadline = time.monotonic() + seconds
        while True:
            with contextlib.suppress(Trouble):  # The document is just being replaced.
                value = self.run(expression)
                if value:
                    return value
            if time.monotonic() > deadline:
                raise Trouble(f"not within {seconds} s: {what}; the page says: " +
                              str(self.run("document.body.innerText.slice(0, 400)")))
            self.rest(SHORT_S)

    def before(self, script):
        """Runs it in each later document before its own scripts."""
        self.call("Page.addScriptToEvaluateOnNewDocument", source=script)

    def open(self, url):
        told = self.call("Page.navigate", url=url)
        return told.get("errorText")

    def size(self, width, height=900):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=1, mobile=False)

    def media(self, **features):
        """As in scheme="dark", motion="reduce"."""
        names = {"scheme": "prefers-color-scheme", "motion": "prefers-reduced-motion"}
        self.call("Emulation.setEmulatedMedia", features=[
            {"name": names[name], "value": value} for name, value in features.items()])

    def key(self, name, shift=False):
        code, text = KEYS.get(name, (ord(name[0].upper()), name))
        event = {"key": name, "windowsVirtualKeyCode": code, "modifiers": 8 if shift else 0}
        self.call("Input.dispatchKeyEvent", type="keyDown" if text else "rawKeyDown", text=text,
                  **event)
        self.call("Input.dispatchKeyEvent", type="keyUp", **event)

    def type(self, text):
        self.call("Input.insertText", text=text)

    def picture(self, path):
        told = self.call("Page.captureScreenshot", format="png")
        pathlib.Path(path).write_bytes(base64.b64decode(told["data"]))
