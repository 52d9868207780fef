"""The page of a node in a real browser: an operator signs in with a token, reads what the command
line says, and does without a mouse. Each case is a function; its docstring is the promise.
`./bench/run web_page` is the same in all widths and schemes, with a large fleet, and timed."""

import contextlib
import os
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scenarios"), str(ROOT / "bench" / "drivers")]

import devtools  # noqa: E402
import web_page  # noqa: E402
from cluster import Broken  # noqa: E402
from lab import Failure, Lab, play  # noqa: E402

LEFT_OUT = 77
BASE_PORT = int(os.environ.get("MUSTER_TEST_PORT", "7480"))
#: A narrow window in the dark; the other cases see a wide one in the light.
LOOK = (400, "dark")
REST_S = 0.1


class Cast:
    """A browser at the first of three hosts, and what the views have to show."""

    def __init__(self, lab, browser):
        self.cluster = web_page.Cluster(lab)
        self.runs, self.waits = self.cluster.fill()
        self.findings = web_page.Findings()
        self.operator = web_page.Operator(browser, self.cluster.origin, self.findings)
        self.operator.rest_s = REST_S

    def demand_none(self):
        """The page did nothing wrong since the last time."""
        self.operator.hear()
        found = [text for texts in self.findings.found.values() for text in texts]
        for texts in self.findings.found.values():
            texts.clear()
        if found:
            raise Failure(f"{len(found)} findings, as {found[0]}")


@contextlib.contextmanager
def as_failure():
    """What the browser or the page did not do breaks the promise."""
    try:
        yield
    except (devtools.Trouble, Broken) as trouble:
        raise Failure(str(trouble)) from trouble


def a_token_becomes_a_cookie(cast):
    """By keys alone a person signs in; no script reads the cookie, and a reload keeps it."""
    with as_failure():
        line, _ = cast.cluster.token("page", "read,submit")
        cast.operator.open()
        cast.operator.sign_in(line)
        cast.operator.check_cookie()
        cast.demand_none()


def views_say_what_the_command_line_says(cast):
    """Jobs, why one waits, hosts, voters, queues and events; output grows while one looks."""
    with as_failure():
        web_page.check_content(cast.operator, cast.cluster, cast.runs, cast.waits)
        cast.demand_none()


def everybody_can_read_them(cast):
    """Contrast, names, headings, and no view wider than a narrow window."""
    with as_failure():
        views = web_page.views_of(cast.cluster, cast.runs, cast.waits)
        web_page.look_at_all(cast.operator, views, looks=[LOOK])
        cast.demand_none()


def keys_are_enough(cast):
    """Tab, arrows and Enter reach each view, a host, a job, and the question before a cancel."""
    with as_failure():
        web_page.walk_by_keys(cast.operator)
        web_page.check_cancel(cast.operator, cast.runs)
        cast.demand_none()


def much_output_blocks_nothing(cast):
    """Beside a rank that says a thousand lines a second, the page still answers."""
    with as_failure():
        web_page.check_chatter(cast.operator, cast.cluster)
        cast.demand_none()


def signed_out_is_out(cast):
    """Without the cookie, or with a token that was revoked, the page asks for a token."""
    with as_failure():
        cast.operator.sign_out()
        cast.demand_none()
        web_page.check_revoked(cast.operator, cast.cluster)


CASES = [a_token_becomes_a_cookie, views_say_what_the_command_line_says, everybody_can_read_them,
         keys_are_enough, much_output_blocks_nothing, signed_out_is_out]


def main():
    if not devtools.is_installed():
        print("web_page: left out, Debian's chromium-headless-shell is not installed", flush=True)
        return LEFT_OUT
    web_page.BASE_PORT = BASE_PORT + 20
    web_page.CHATTER_S = 3
    with Lab("abc", base_port=BASE_PORT) as lab, \
            devtools.Browser(lab.directory, "--ignore-certificate-errors") as browser:
        return 1 if play(CASES, Cast(lab, browser)) else 0


if __name__ == "__main__":
    sys.exit(main())
