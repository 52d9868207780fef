// The page of a node: who asks, which view is shown, and when it is read again. Each view has a URL
// of its own behind #. A view has `title`, `element`, poll(ask) and, if it holds something,
// close().
import { Door, Problem } from "./door.js";
import { FleetView } from "./fleet.js";
import { EventsView, HostView, QueuesView, QuorumView } from "./hosts.js";
import { JobView, JobsView } from "./jobs.js";
import { duration, el, plain, setText, wallTime } from "./parts.js";

const POLL_MS = 2_000;
const BACKOFF_MAX_MS = 60_000;
/** A list that takes long to read is read less often: a fifth of the time at most. */
const REST_FACTOR = 4;
const OLD_MS = 10_000;
const TOAST_MS = 8_000;

const byId = (id) => document.getElementById(id);

const VIEWS = { fleet: FleetView, jobs: JobsView, job: JobView, host: HostView,
  events: EventsView, quorum: QuorumView, queues: QueuesView };
const NEEDS_NAME = new Set(["job", "host"]);

class App {
  #door = new Door();
  #view = null;
  #whoami = null;
  #timer = 0;
  #reading = null;
  #failures = 0;
  #lostSince = null;
  #banners = new Map();

  begin() {
    window.addEventListener("hashchange", () => this.#route(true));
    document.addEventListener("visibilitychange", () => this.#turnSoon());
    window.addEventListener("online", () => this.#turnSoon());
    byId("sign-out").addEventListener("click", () => this.#signOut());
    byId("skip").addEventListener("click", (event) => {
      event.preventDefault();
      byId("main").focus();
    });
    beginTheme();
    this.#enter();
  }

  /** Rights as scheduler/access/authorize.cc has them. The node judges each order itself. */
  mayOperate() {
    const who = this.#whoami;
    return who !== null && who.access_token === null &&
      ["operator", "admin"].includes(who.user_role);
  }
  mayCancel(job, team) {
    const who = this.#whoami;
    if (who === null || ["viewer", "none", null].includes(who.user_role)) {
      return false;
    }
    const isOwn = job.user === who.user;
    if (who.access_token !== null) {
      return isOwn && who.token_rights.includes("submit");
    }
    const isOfTeam = who.user_role === "lead" && who.member_of.includes(team);
    return isOwn || isOfTeam || ["operator", "admin"].includes(who.user_role);
  }

  /** Gives an order and says how it went. */
  async order(path, body, done) {
    try {
      const told = await this.#door.post(path, body);
      const refusal = told.errors?.[0]?.error;
      this.#toast(refusal ?? done, refusal ? "bad" : "good");
    } catch (problem) {
      this.#toast(problem.status === 0
        ? "The node did not answer: it is not known whether the order was accepted."
        : problem.message, "bad");
    }
    this.#turnSoon();
  }

  /** One notice of each name; null takes it away. */
  banner(name, text, kind = "warn") {
    let place = this.#banners.get(name);
    if (text === null) {
      place?.remove();
      this.#banners.delete(name);
      return;
    }
    if (!place) {
      place = el("p");
      this.#banners.set(name, place);
      byId("banners").append(place);
    }
    place.className = kind;
    setText(place, text);
  }

  name(view, title) {
    if (view === this.#view) {
      setText(this.heading, title);
      document.title = `${plain(title)} - Muster`;
    }
  }

  #toast(text, kind) {
    this.banner("done", null);
    this.banner("done", text, kind);
    const place = this.#banners.get("done");
    setTimeout(() => this.#banners.get("done") === place && this.banner("done", null), TOAST_MS);
  }

  /** Asks the node who asks: the cookie says it, or the node knows without one. */
  async #enter() {
    clearTimeout(this.#timer);
    try {
      this.#welcome((await this.#door.get("v1/whoami")).body);
    } catch (problem) {
      if (problem.status === 401 || problem.status === 403) {
        this.#forget(problem.status === 403 ? problem.message : "");
        return;
      }
      this.#tell(problem);
      this.#timer = setTimeout(() => this.#enter(), this.#pause(problem));
    }
  }

  #welcome(whoami) {
    this.#whoami = whoami;
    this.#lift();
    const role = whoami.user_role ? ` (${whoami.user_role})` : "";
    const token = whoami.made_for ? `, token ${whoami.made_for}` : "";
    setText(byId("asker"), `${whoami.user ?? "not known"}${role}${token}`);
    byId("sign-out").hidden = whoami.access_token === null;
    byId("nav").hidden = false;
    this.#route(false);
  }

  async #signOut() {
    try {
      await this.#door.signOut();
      this.#forget("");
    } catch (problem) {
      this.#toast(`You are still signed in: ${problem.message}.`, "bad");
    }
  }

  #forget(why) {
    this.#whoami = null;
    this.#leave();
    this.#lift();
    byId("nav").hidden = byId("sign-out").hidden = true;
    setText(byId("asker"), "");
    setText(byId("source"), "");
    this.#showLogin(why);
  }

  #showLogin(why) {
    const input = el("input", { type: "password", id: "token", autocomplete: "off",
      spellcheck: "false", "aria-describedby": "token-help" });
    const trouble = el("p", { class: "bad", role: "alert", hidden: why === "" }, why);
    const refuse = (text) => {
      trouble.hidden = false;
      setText(trouble, text);
      input.focus();
    };
    const signIn = async () => {
      const token = input.value.trim();
      if (!/^[\x21-\x7e]+$/.test(token)) {
        refuse("Paste the one line of an access token, without blanks.");
        return;
      }
      try {
        this.#welcome(await this.#door.signIn(token));
      } catch (problem) {
        refuse(problem.message);
      }
    };
    const form = el("form", { class: "login", "aria-label": "Sign in",
      on: { submit: (event) => { event.preventDefault(); signIn(); } } },
    el("h1", { tabindex: -1 }, "Sign in"), trouble, el("label", { for: "token" }, "Access token"),
    input, el("button", { type: "submit" }, "Sign in"),
    el("p", { id: "token-help", class: "quiet" }, "Make one in a terminal: ",
      el("code", {}, "muster token create --for page --may read --ttl 1d"), ". Your browser " +
      "keeps it for 12 hours in a cookie that no script can read, and sends it to this host " +
      "alone. Sign out to remove it; ", el("code", {}, "muster token revoke"),
      " ends it everywhere."));
    document.title = "Sign in - Muster";
    byId("main").replaceChildren(form);
    input.focus();
  }

  #route(isMove) {
    if (this.#whoami === null) {
      return;
    }
    const [path, query = ""] = location.hash.replace(/^#\/?/, "").split("?");
    const [name, ...rest] = path.split("/");
    let argument = "";
    try {
      argument = decodeURIComponent(rest.join("/"));
    } catch {
      // The name of no job and of no host: it leads to the fleet.
    }
    if (!Object.hasOwn(VIEWS, name) || (NEEDS_NAME.has(name) && argument === "")) {
      location.replace("#/fleet");
      return;
    }
    this.#leave();
    this.#view = new VIEWS[name](this, argument, new URLSearchParams(query));
    this.heading = el("h1", { tabindex: -1 });
    byId("main").replaceChildren(this.heading, this.#view.element);
    this.name(this.#view, this.#view.title);
    for (const link of byId("nav").children) {
      const isHere = link.getAttribute("href") === `#/${name}`;
      isHere ? link.setAttribute("aria-current", "page") : link.removeAttribute("aria-current");
    }
    if (isMove) {
      this.heading.focus();
    }
    this.#turn();
  }

  #leave() {
    this.#stop();
    this.#view?.close?.();
    this.#view = null;
    this.banner("blind", null);
  }
  #stop() {
    clearTimeout(this.#timer);
    this.#reading?.abort();
    this.#reading = null;
  }
  #turnSoon() {
    if (document.hidden) {
      this.#stop();
      this.#view?.rest?.();
    } else if (this.#view !== null) {
      this.#turn();
    } else if (this.#whoami === null && this.#failures > 0) {
      this.#enter();
    }
  }

  /** Reads the view once, and plans the next time. Only the newest turn counts. */
  async #turn() {
    this.#stop();
    if (document.hidden || this.#view === null) {
      return;
    }
    const reading = new AbortController();
    this.#reading = reading;
    const begun = performance.now();
    let pause = POLL_MS;
    try {
      const oldest = await this.#poll(reading.signal);
      if (this.#reading !== reading) {
        return;
      }
      this.#lift();
      this.banner("old", oldest > OLD_MS ? `These answers are ${duration(oldest)} old: the node ` +
        "has no contact to the quorum, or it has just started." : null);
      pause = Math.max(POLL_MS, REST_FACTOR * (performance.now() - begun));
    } catch (problem) {
      if (this.#reading !== reading) {
        return;
      }
      if (problem.status === 401 || (problem.status === 403 && await this.#isOut())) {
        this.#forget(problem.message);
        return;
      }
      this.#tell(problem);
      pause = this.#pause(problem);
    }
    this.#timer = setTimeout(() => this.#turn(), pause);
  }

  /** A token that ended is refused as one that may not see something. */
  async #isOut() {
    try {
      await this.#door.get("v1/whoami");
      return false;
    } catch (problem) {
      return problem.status === 401 || problem.status === 403;
    }
  }

  /** The age of the oldest answer. */
  async #poll(signal) {
    let oldest = 0;
    const noted = async (promise) => {
      const answer = await promise;
      oldest = Math.max(oldest, answer.ageMs);
      const by = answer.body.answered_by;
      setText(byId("source"), by ? `Answered by ${by}.` : byId("source").textContent);
      return answer;
    };
    const ask = (path, query) => noted(this.#door.get(path, query, signal));
    ask.lines = (path, query) => noted(this.#door.getLines(path, query, signal));
    ask.follow = (...wish) => this.#door.follow(...wish);
    await this.#view.poll(ask);
    return oldest;
  }

  /** Longer with each failure, by chance, and not before the node wants to be asked. */
  #pause(problem) {
    const longest = Math.min(BACKOFF_MAX_MS, POLL_MS * 2 ** Math.min(this.#failures, 5));
    return Math.max(problem.retryMs ?? 0, longest * (0.5 + Math.random() / 2));
  }

  #lift() {
    this.#failures = 0;
    this.#lostSince = null;
    for (const name of ["lost", "quorum", "failed"]) {
      this.banner(name, null);
    }
  }

  #tell(problem) {
    if (!(problem instanceof Problem)) {
      console.error(problem);
    }
    ++this.#failures;
    const kind = problem.status === 0 ? "lost" : problem.status === 503 ? "quorum" : "failed";
    for (const other of ["lost", "quorum", "failed"].filter((name) => name !== kind)) {
      this.banner(other, null);
    }
    this.#lostSince = kind === "lost" ? this.#lostSince ?? Date.now() : null;
    const texts = {
      lost: () => `The connection to this node is lost since ${wallTime(this.#lostSince)}. ` +
        "The page shows older answers and tries again by itself.",
      quorum: () => `No quorum: ${problem.message}. The page may show older answers. No order is ` +
        "accepted now. The page tries again by itself.",
      failed: () => problem.message,
    };
    this.banner(kind, texts[kind](), "bad");
  }
}

/** Automatic, light, dark: the choice stays in this browser. */
function beginTheme() {
  const themes = ["auto", "light", "dark"];
  const switcher = byId("theme");
  let at = Math.max(0, themes.indexOf(localStorage.getItem("muster-theme")));
  const show = () => {
    if (at === 0) {
      delete document.documentElement.dataset.theme;
    } else {
      document.documentElement.dataset.theme = themes[at];
    }
    setText(switcher, `Theme: ${themes[at]}`);
    document.dispatchEvent(new Event("muster-theme"));
  };
  switcher.addEventListener("click", () => {
    at = (at + 1) % themes.length;
    localStorage.setItem("muster-theme", themes[at]);
    show();
  });
  show();
}

new App().begin();
