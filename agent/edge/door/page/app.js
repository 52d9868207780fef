// The page of a node: who asks, which view is shown, and when it is read again. Each view has a URL
// of its own behind #. A view has `title`, `element`, poll(ask) and, if it holds something,
// close().
import { FleetView, hostStateText } from "./fleet.js";
import { Door, Problem, Table, bytesText, count, counted, duration, el, fields, hostLink, jobLink,
  links, plain, readPages, setText, showFields, thousandths, wallTime } from "./parts.js";

const POLL_MS = 2_000;
const BACKOFF_MAX_MS = 60_000;
/** A list that takes long to read is read less often: a fifth of the time at most. */
const REST_FACTOR = 4;
const OLD_MS = 10_000;
const TOAST_MS = 8_000;
/** Jobs that the queue view reads: five pages. */
const JOBS_MAX = 5_000;
const EVENTS_KEPT = 2_000;
/** Pages of events that one poll reads. */
const EVENT_PAGES = 10;
/** Characters of output on the screen, and answers that one poll reads. */
const OUTPUT_KEPT = 400_000;
const OUTPUT_ANSWERS = 8;
const OUTPUT_TAIL_BYTES = 128 * 1024;

const byId = (id) => document.getElementById(id);
const part = (text) => encodeURIComponent(text);
const isEnded = (state) => ["completed", "failed", "cancelled"].includes(state);
const WAITING = ["queued", "suspended"];
const RUNNING = ["scheduled", "running", "stopping"];
const ENDED = ["completed", "failed", "cancelled"];
const button = (text, act, kind) =>
  el("button", { type: "button", class: kind, on: { click: act } }, text);
const state = (job) => `${job.state}${job.is_doubtful ? " (not certain)" : ""}`;
const typed = (gpus, type) => `${count(gpus)}${type ? ` ${type}` : ""}`;
const gpusText = (job) =>
  (job.gpus > 0 ? typed(job.gpus, job.gpu_type) : counted(job.ranks ?? 0, "rank"));
const known = (number) => (number === null ? "not known" : count(number));

/** A part of a view that the asker may not see, or that is not there, fails alone. */
async function orElse(promise, place) {
  try {
    const value = await promise;
    place.hidden = true;
    return value;
  } catch (problem) {
    if (![403, 404, 409, 410, 422].includes(problem.status)) {
      throw problem;
    }
    place.hidden = false;
    setText(place, problem.message);
    return null;
  }
}

class QueueView {
  title = "Queue";

  constructor(app, argument, query) {
    this.app = app;
    const text = (name, label) => el("label", {}, label,
      el("input", { name, type: "search", value: query.get(name), autocomplete: "off",
        on: { change: () => this.#choose() } }));
    const states = [["", "waits or runs"], ...[...WAITING, ...RUNNING, ...ENDED]
      .map((each) => [each, each])];
    this.form = el("form", { class: "tools", "aria-label": "Choose jobs",
      on: { submit: (event) => { event.preventDefault(); this.#choose(); } } },
      el("label", {}, "State", el("select", { name: "state", on: { change: () => this.#choose() } },
        states.map(([value, says]) =>
          el("option", { value, selected: value === (query.get("state") ?? "") }, says)))),
      text("user", "User"), text("queue", "Queue"),
      button("Clear", () => { location.hash = "#/queue"; }));
    const columns = (last) => [{ title: "ID", kind: "number" }, { title: "Name" },
      { title: "User" }, { title: "Queue" }, { title: "State", kind: "state" },
      { title: "GPUs", kind: "short" }, ...last];
    this.waiting = new Table("Jobs that wait", columns([{ title: "Waits", kind: "number" },
      { title: "Reason", kind: "long" }]), "No job waits.");
    this.running = new Table("Jobs that run", columns([{ title: "Runs", kind: "number" },
      { title: "Hosts" }, { title: "Reason", kind: "long" }]), "No job runs.");
    this.ended = new Table("Jobs that ended", columns([{ title: "Ended" },
      { title: "Exit", kind: "number" }, { title: "Reason", kind: "long" }]), "No job ended so.");
    this.sum = el("p", { class: "sum" }, "Reading the jobs…");
    this.element = el("div", {}, this.form, this.sum, this.waiting.element, this.running.element,
      this.ended.element);
    this.choice = Object.fromEntries(["state", "user", "queue"].map((name) =>
      [name, query.get(name) ?? ""]));
  }

  #choose() {
    const chosen = new URLSearchParams([...new FormData(this.form)].filter(([, value]) => value));
    location.hash = `#/queue${chosen.size > 0 || String(chosen) ? `?${chosen}` : ""}`;
  }

  async poll(ask) {
    const { state: wanted, user, queue } = this.choice;
    const states = wanted ? [wanted] : [...WAITING, ...RUNNING];
    const jobs = [];
    let [isCut, hidden] = [false, 0];
    await readPages(ask, "v1/jobs", { all: 1, state: states.join(","), user, after: "0" }, "jobs",
      (items, body) => {
        jobs.push(...items);
        hidden = body.gpus_of_other_teams;
        isCut = jobs.length >= JOBS_MAX;
        return !isCut;
      });
    const isBelow = (path) => path === queue || (path ?? "").startsWith(`${queue}/`);
    const chosen = queue === "" ? jobs : jobs.filter((job) => isBelow(job.queue));
    const of = (group) => chosen.filter((job) => group.includes(job.state));
    const [waiting, running, ended] = [of(WAITING), of(RUNNING), of(ENDED)];
    const says = (list, word) => `${counted(list.length, "job")} ${word}`;
    const sum = ENDED.includes(wanted) ? says(ended, wanted)
      : `${says(waiting, "waiting")}, ${says(running, "running")}`;
    setText(this.sum, `${sum}.` +
      `${hidden > 0 ? ` Jobs of other teams hold ${counted(hidden, "GPU")}.` : ""}` +
      `${isCut ? ` Only ${count(jobs.length)} jobs were read: choose a state or a user.` : ""}`);
    const rows = (list, last) => list.map((job) => ({ key: String(job.job_id),
      kind: job.is_doubtful ? "lost" : "",
      cells: [jobLink(job.job_id), jobLink(job.job_id, job.name || "(no name)"), job.user,
        job.queue ?? "-", state(job), gpusText(job), ...last(job)] }));
    this.waiting.show(rows(waiting, (job) => [duration(job.age_ms), job.reason ?? ""]));
    this.running.show(rows(running, (job) => [duration(job.run_ms), links(job.hosts, hostLink),
      job.reason ?? ""]));
    this.ended.show(rows(ended.reverse(), (job) => [wallTime(job.end_unix_ms),
      String(job.exit_code ?? "-"), job.reason ?? ""]));
    this.waiting.element.hidden = wanted !== "" && !WAITING.includes(wanted);
    this.running.element.hidden = wanted !== "" && !RUNNING.includes(wanted);
    this.ended.element.hidden = !ENDED.includes(wanted);
  }
}

/** null if there was no attempt yet. */
const lastOf = (attempts) =>
  attempts.reduce((last, each) => (each.attempt > (last?.attempt ?? 0) ? each : last), null);

/** The output of one rank, as it grows. */
class OutputPane {
  #rank = 0;
  #next = null;
  #attempt = null;
  #kept = 0;
  #isAtEnd = false;

  constructor(job) {
    this.path = (rank) => `v1/jobs/${part(job)}/ranks/${rank}/output`;
    this.input = el("input", { type: "number", min: 0, value: 0, on: { change: () => {
      this.#rank = Math.max(0, Math.floor(Number(this.input.value) || 0));
      this.#begin(this.#attempt);
    } } });
    this.follows = el("input", { type: "checkbox", checked: true });
    this.note = el("p", { class: "quiet" });
    this.trouble = el("p", { class: "warn", hidden: true });
    this.text = el("pre", { class: "output", tabindex: 0, role: "region", "aria-label": "Output" });
    this.element = el("section", { "aria-label": "Output of a rank" }, el("h2", {}, "Output"),
      el("div", { class: "tools" }, el("label", {}, "Rank", this.input),
        el("label", {}, this.follows, "Follow"),
        el("span", { class: "quiet" }, "stderr is in italics")),
      this.trouble, this.text, this.note);
  }

  #begin(attempt) {
    this.#attempt = attempt;
    this.#next = null;
    this.#kept = 0;
    this.#isAtEnd = false;
    this.text.replaceChildren();
    setText(this.note, "");
  }

  async poll(ask, attempts) {
    const attempt = lastOf(attempts);
    this.element.hidden = attempt === null;
    if (attempt === null) {
      return;
    }
    if (attempt.attempt !== this.#attempt) {
      this.#begin(attempt.attempt);
    }
    const rank = this.#rank;
    this.#next ??= this.#tailOf(attempt, rank);
    for (let answer = 0; answer < OUTPUT_ANSWERS && !this.#isAtEnd; ++answer) {
      const told = await orElse(ask.lines(this.path(rank), { offset: this.#next }), this.trouble);
      if (told === null || rank !== this.#rank || this.#take(told) === 0) {
        break;
      }
    }
    setText(this.note,
      `Attempt ${attempt.attempt}, rank ${rank}: read to byte ${count(this.#next)}` +
      `${this.#isAtEnd ? "; the rank has ended and this is all." : "."}`);
  }

  /** The output of a rank that ended may be long: its tail is read. */
  #tailOf(attempt, rank) {
    const known = attempt.members.flatMap((member) => member.rank_list)
      .find((each) => each.rank === rank);
    return Math.max(0, (known?.output_bytes ?? 0) - OUTPUT_TAIL_BYTES);
  }

  /** The number of bytes that were new. */
  #take({ body, next }) {
    const from = this.#next;
    for (const piece of body) {
      const size = piece.base64 === null || piece.base64 === undefined
        ? new TextEncoder().encode(piece.text).length : atob(piece.base64).length;
      this.#next = Math.max(this.#next, piece.offset_bytes + size);
      this.#isAtEnd ||= piece.is_ended;
      this.#append(piece.text, piece.stream ?? "stdout");
    }
    this.#next = Math.max(this.#next, Number(next ?? 0));
    return this.#next - from;
  }

  #append(text, stream) {
    // Colours of terminals are left out, and a progress bar becomes lines.
    const clean = plain(text.replace(/\u001b\[[0-9;?]*[ -/]*[@-~]/g, "").replace(/\r\n?/g, "\n"));
    if (clean === "") {
      return;
    }
    const isLow = this.text.scrollTop + this.text.clientHeight >= this.text.scrollHeight - 40;
    this.text.append(el("span", { class: stream }, clean));
    this.#kept += clean.length;
    while (this.#kept > OUTPUT_KEPT && this.text.children.length > 1) {
      this.#kept -= this.text.firstChild.textContent.length;
      this.text.firstChild.remove();
    }
    if (this.follows.checked && isLow) {
      this.text.scrollTop = this.text.scrollHeight;
    }
  }
}

class JobView {
  constructor(app, job) {
    this.app = app;
    this.job = job;
    this.title = `Job ${job}`;
    this.cancel = button("Cancel the job", () => this.#cancel(), "danger");
    this.cancel.hidden = true;
    this.summary = fields([]);
    this.spec = fields([]);
    this.trouble = el("p", { class: "warn", hidden: true });
    this.headline = el("p");
    this.whyFields = fields([]);
    this.holders = new Table("Jobs that hold what it could use", [{ title: "Job" },
      { title: "Name" }, { title: "GPUs", kind: "number" }, { title: "Hosts", kind: "long" }]);
    this.why = el("section", { hidden: true, "aria-label": "Why it waits" },
      el("h2", {}, "Why it waits"), this.trouble, this.headline, this.whyFields,
      this.holders.element);
    this.output = new OutputPane(job);
    this.attempts = new Table("Attempts", [{ title: "Attempt", kind: "number" }, { title: "Token" },
      { title: "State", kind: "state" }, { title: "Cause", kind: "long" }, { title: "Hosts" }],
    "There was no attempt yet.");
    this.ranks = new Table("Ranks of the last attempt", [{ title: "Rank", kind: "number" },
      { title: "Host" }, { title: "State", kind: "state" }, { title: "Detail", kind: "long" },
      { title: "Output", kind: "number" }], "There are no ranks.");
    this.history = new Table("History", [{ title: "Time" }, { title: "State", kind: "state" },
      { title: "Cause", kind: "long" }]);
    this.element = el("div", {}, el("div", { class: "tools" }, this.cancel), this.summary, this.why,
      this.output.element, this.attempts.element, this.ranks.element, this.history.element,
      el("h2", {}, "As it was submitted"), this.spec);
  }

  async poll(ask) {
    const { body } = await ask(`v1/jobs/${part(this.job)}`);
    const { job, spec, attempts } = body;
    this.app.name(this, `Job ${job.job_id}${job.name ? `: ${job.name}` : ""}`);
    this.cancel.hidden = isEnded(job.state) || !this.app.mayCancel(job, spec.team);
    this.#showSummary(job, body.array);
    this.#showSpec(spec, body.is_private);
    this.#showAttempts(attempts);
    this.history.show(body.transitions.map((step, at) => ({ key: `${step.index} ${at}`,
      cells: [wallTime(step.unix_ms), step.state, step.cause] })));
    this.why.hidden = !WAITING.includes(job.state);
    if (!this.why.hidden) {
      const why = await orElse(ask(`v1/jobs/${part(this.job)}/why`), this.trouble);
      this.#showWhy(why?.body);
    }
    await this.output.poll(ask, attempts);
  }

  #showSummary(job, array) {
    const tasks = job.tasks && `${count(job.tasks.count)}: ${count(job.tasks.running)} run, ` +
      `${count(job.tasks.completed)} completed, ${count(job.tasks.failed)} failed, ` +
      `${count(job.tasks.cancelled)} cancelled` +
      `${array ? `, ${count(array.waiting + array.queued)} wait` : ""}`;
    showFields(this.summary, [["State", state(job)], ["Reason", job.reason], ["Cause", job.cause],
      ["User", job.user], ["Queue", job.queue], ["Tier", job.tier], ["Priority", job.priority],
      ["GPUs", gpusText(job)],
      ["Hosts", job.hosts.length > 0 ? links(job.hosts, hostLink, 16) : null],
      ["Attempt", job.attempt], ["Tasks", tasks],
      ["Begins after", job.after?.length > 0 ? job.after.join(", ") : null],
      ["Begins not before", job.begin_unix_ms && wallTime(job.begin_unix_ms)],
      ["Has to start by", job.deadline_unix_ms && wallTime(job.deadline_unix_ms)],
      ["Submitted", wallTime(job.submit_unix_ms)], ["Started", wallTime(job.start_unix_ms)],
      ["Ended", wallTime(job.end_unix_ms)], ["Ran for", duration(job.run_ms)],
      ["GPU time", `${thousandths(job.gpu_ms / 3600)} GPU hours`], ["Exit code", job.exit_code]]);
  }

  #showSpec(spec, isPrivate) {
    const { request } = spec;
    const list = (values) => (values.length > 0 ? values.join(", ") : null);
    showFields(this.spec, [
      ["Command", isPrivate ? "You may not read it." : spec.argv.join(" ")],
      ["Directory", spec.directory], ["Team", spec.team],
      ["GPUs on each host", request.gpus_per_host], ["GPU types", list(request.gpu_types)],
      ["Labels", list(request.labels)], ["Without labels", list(request.not_labels)],
      ["On hosts", list(request.hosts)], ["Not on hosts", list(request.not_hosts)],
      ["Close together", request.pack], ["Time limit", spec.time_limit_ms === null ? "none"
        : duration(spec.time_limit_ms)], ["Retries", spec.retries],
      ["If a host is lost", spec.on_lost_host], ["Time to stop", duration(spec.grace_ms)]]);
  }

  #showAttempts(attempts) {
    const hosts = (members) => links(members.map((member) => member.host), hostLink, 8);
    this.attempts.show([...attempts].reverse().map((each) => ({ key: String(each.attempt),
      cells: [String(each.attempt), each.token, each.state, each.cause ?? "",
        hosts(each.members)] })));
    const last = lastOf(attempts);
    this.ranks.show((last?.members ?? []).flatMap((member) => member.rank_list.map((rank) => ({
      key: String(rank.rank), cells: [String(rank.rank), hostLink(member.host), rank.state,
        rank.detail ?? (member.host_state && member.host_state !== "alive"
          ? `host ${member.host_state}` : ""), bytesText(rank.output_bytes)] }))));
  }

  #showWhy(why) {
    if (!why) {
      return;
    }
    const list = (values) => (values.length > 0 ? values.join("; ") : null);
    setText(this.headline, why.headline);
    showFields(this.whyFields, [["Wanted", count(why.wanted)], ["Free for it", count(why.free)],
      ["Lacking", count(why.lacking)], ["Jobs ahead", count(why.ahead_count)],
      ["First of those", why.ahead.length > 0 ? links(why.ahead, (id) => jobLink(id), 8) : null],
      ["Next in its pool", why.turn?.first_job ? jobLink(why.turn.first_job) : null],
      ["Rule", why.turn?.reason ?? why.turn?.rule],
      ["Would be next with", why.turn?.next_with],
      ["Starts at the latest in", why.turn?.starts_in_ms ? duration(why.turn.starts_in_ms) : null],
      ["Would start if these ended", why.would_start.length > 0
        ? links(why.would_start, (id) => jobLink(id), 8) : null],
      ["Would fit with", list(why.would_fit_with)], ["Largest that fits now", why.fits_now || null],
      ["Full queue", why.full_queue && `${why.full_queue}: ${why.full_text ?? ""}`],
      ["Hosts that cannot take it", list(why.filters.map((each) =>
        `${counted(each.host_count, "host")}: ${each.reason}`))],
      ["GPUs out of use", list(why.withheld.map((each) => `${count(each.gpus)} ${each.reason}`))]]);
    this.holders.element.hidden = why.holders.length === 0;
    this.holders.show(why.holders.map((each, at) => ({ key: String(each.job_id ?? `others ${at}`),
      cells: [each.job_id === null ? "others" : jobLink(each.job_id), each.name, count(each.gpus),
        links(each.hosts, hostLink, 6)] })));
  }

  async #cancel() {
    const answer = await confirmed({ title: `Cancel job ${this.job}?`,
      text: "Its ranks are stopped, and the job does not start again. This cannot be undone.",
      does: "Cancel the job", not: "Keep the job" });
    if (answer) {
      await this.app.order(`v1/jobs/${part(this.job)}:cancel`, undefined,
        `Job ${this.job} is cancelled.`);
    }
  }
}

class HostView {
  constructor(app, host) {
    this.app = app;
    this.host = host;
    this.title = `Host ${host}`;
    this.drain = button("Drain the host", () => this.#drain(), "danger");
    this.undrain = button("Put it back into service", () => this.#undrain());
    this.drain.hidden = this.undrain.hidden = true;
    this.summary = fields([]);
    this.gpus = new Table("GPUs", [{ title: "GPU", kind: "number" }, { title: "UUID" },
      { title: "State", kind: "state" }, { title: "Job" }, { title: "User" },
      { title: "Rank", kind: "number" }], "The host has no GPUs.");
    this.trouble = el("p", { class: "warn", hidden: true });
    this.evidence = fields([]);
    this.claims = new Table("Claims that it does not answer", [{ title: "Observer" },
      { title: "Kind" }, { title: "Age", kind: "number" }], "No host claims that.");
    this.events = eventTable("Newest events about it");
    this.element = el("div", {}, el("div", { class: "tools" }, this.drain, this.undrain),
      this.summary, this.gpus.element, el("h2", {}, "Evidence"), this.trouble, this.evidence,
      this.claims.element, this.events.element);
  }

  async poll(ask) {
    const { body } = await ask(`v1/hosts/${part(this.host)}`);
    const mayOperate = this.app.mayOperate();
    this.drain.hidden = !mayOperate || body.drain !== null || body.is_removed === true;
    this.undrain.hidden = !mayOperate || body.drain === null;
    const drain = body.drain && `by ${body.drain.by}, ${duration(body.drain.since_ms)} ago` +
      `${body.drain.why ? `: ${body.drain.why}` : ""}`;
    showFields(this.summary, [["State", hostStateText(body)], ["For", duration(body.since_ms)],
      ["Drained", drain], ["Rack", body.rack], ["Spine", body.spine], ["Address", body.address],
      ["GPUs", `${typed(body.gpus, body.gpu_type)}; in use: ${known(body.gpus_used)}; ` +
        `free: ${known(body.gpus_free)}`],
      ["CPUs", `${count(body.cpus)}, ${thousandths(body.cpu_used_thousandths ?? 0)} given to jobs`],
      ["Memory", `${count(body.memory_mib)} MiB; given to jobs: ${known(body.memory_used_mib)}`],
      ["Jobs", body.job_ids?.length > 0 ? links(body.job_ids, (id) => jobLink(id), 16) : "none"],
      ["Labels", body.labels.join(", ")], ["Voter", body.is_voter ? (body.is_leader
        ? "yes, it leads" : "yes") : "no"], ["Version", body.version], ["Id", body.host_id]]);
    this.gpus.show(body.gpu_list.map((gpu, at) => ({ key: gpu.uuid || String(at),
      kind: ["free", "used"].includes(gpu.state) ? "" : "lost",
      cells: [String(at), gpu.uuid, gpu.state, gpu.job_id === null ? ""
        : jobLink(gpu.job_id, `${gpu.job_id}${gpu.job_name ? ` ${gpu.job_name}` : ""}`),
      gpu.user ?? "", gpu.job_id === null ? "" : String(gpu.rank)] })));
    const why = await orElse(ask(`v1/hosts/${part(this.host)}/why`), this.trouble);
    if (why !== null) {
      this.#showWhy(why.body);
    }
  }

  #showWhy(why) {
    showFields(this.evidence, [["Heard by", why.heard_by.join(", ") || "no observer"],
      ["Suspect from", counted(why.suspect_from, "claim")],
      ["Unreachable from", counted(why.unreachable_from, "claim")]]);
    this.claims.show(why.claims.map((claim) => ({ key: `${claim.observer} ${claim.kind}`,
      cells: [hostLink(claim.observer), `${claim.kind.replaceAll("_", " ")}` +
        `${claim.is_weak ? " (weak)" : ""}`, duration(claim.age_ms)] })));
    this.events.show(eventRows(why.events));
  }

  async #drain() {
    const answer = await confirmed({ title: `Drain host ${this.host}?`,
      text: "No job starts there any more. Jobs that run there go on to their end.",
      field: "Reason, for others to read", does: "Drain the host", not: "Leave it" });
    if (answer) {
      await this.app.order(`v1/hosts/${part(this.host)}:drain`,
        answer.text ? { why: answer.text } : undefined, `Host ${this.host} is drained.`);
    }
  }

  async #undrain() {
    const answer = await confirmed({ title: `Put host ${this.host} back into service?`,
      text: "Jobs can start there again.", does: "Put it back", not: "Leave it" });
    if (answer) {
      await this.app.order(`v1/hosts/${part(this.host)}:undrain`, undefined,
        `Host ${this.host} takes jobs again.`);
    }
  }
}

const eventTable = (caption) => new Table(caption, [{ title: "Time" },
  { title: "Level", kind: "state" }, { title: "Event", kind: "long" }], "There are no events.");
/** The newest first. */
const eventRows = (events) => [...events].reverse().map((event) => ({ key: String(event.sequence),
  kind: event.level === "alarm" ? "lost" : "",
  cells: [event.unix_ms ? wallTime(event.unix_ms) : `${duration(event.age_ms)} ago`, event.level,
    event.text] }));

class EventsView {
  title = "Events";
  #events = [];
  #by = null;
  #last = 0;

  constructor(app, argument, query) {
    const level = query.get("level") ?? "info";
    this.levels = ["info", "warn", "alarm"];
    this.level = this.levels.includes(level) ? level : "info";
    this.select = el("select", { on: { change: () => {
      location.hash = `#/events?level=${this.select.value}`;
    } } }, this.levels.map((each) => el("option", { value: each, selected: each === this.level },
      each === "info" ? "all" : `${each} and above`)));
    this.note = el("p", { class: "quiet" });
    this.table = eventTable("Events of this host, the newest first");
    this.element = el("div", {}, el("div", { class: "tools" },
      el("label", {}, "Level", this.select)), this.note, this.table.element);
  }

  async poll(ask) {
    for (let page = 0; page < EVENT_PAGES; ++page) {
      const after = this.#last > 0 ? this.#last : null;
      const { body, next } = await ask("v1/events", { after });
      this.#take(body);
      if (next === null || body.events.length === 0) {
        break;
      }
    }
    const from = this.levels.indexOf(this.level);
    this.table.show(eventRows(this.#events.filter((each) =>
      this.levels.indexOf(each.level) >= from)));
  }

  #take(body) {
    if (this.#by !== null && this.#by !== body.answered_by) {
      // Another host counts its events in its own way.
      [this.#events, this.#by, this.#last] = [[], body.answered_by, 0];
      return;
    }
    this.#by = body.answered_by;
    this.#events.push(...body.events.filter((each) => each.sequence > this.#last));
    this.#events.splice(0, Math.max(0, this.#events.length - EVENTS_KEPT));
    this.#last = Math.max(this.#last, this.#events.at(-1)?.sequence ?? 0);
    setText(this.note, `Each host keeps its own events. These are of host ${body.answered_by}.`);
  }
}

class QuorumView {
  title = "Quorum";

  constructor() {
    this.summary = fields([]);
    this.voters = new Table("Voters", [{ title: "Host" }, { title: "State", kind: "state" },
      { title: "Rack" }, { title: "Behind", kind: "number" }, { title: "Heard", kind: "number" },
      { title: "Why", kind: "long" }]);
    this.element = el("div", {}, this.summary, this.voters.element);
  }

  async poll(ask) {
    const { body } = await ask("v1/quorum");
    const founds = body.founders_wanted > 0
      ? `${count(body.founders_met)} of ${count(body.founders_wanted)} founders are here` : null;
    showFields(this.summary, [
      ["Leader", body.leader ? hostLink(body.leader) : "no leader is known"],
      ["May still fail", counted(body.tolerates, "voter")], ["Voters wanted", body.voters_wanted],
      ["Founding", founds], ["Term", body.term], ["Epoch", body.epoch],
      ["Committed entry", body.commit_index], ["Applied entry", body.applied_index],
      ["Cluster", body.cluster], ["Answered by", `${body.answered_by} (${body.role})`],
      ["Seeds that do not answer", body.seeds_unmet.map((seed) =>
        `${seed.address}: ${seed.silence}`).join("; ")]]);
    this.voters.show(body.voters.map((voter) => ({ key: voter.host_id,
      kind: voter.state === "alive" ? "" : "lost",
      cells: [hostLink(voter.host), `${voter.state}${voter.is_learner ? ", learns" : ""}` +
        `${voter.host_id === body.leader_id ? ", leads" : ""}`, voter.rack ?? "-",
      voter.entries_behind === null ? "-" : count(voter.entries_behind),
      voter.contact_ms === null ? "-" : `${duration(voter.contact_ms)} ago`, voter.why ?? ""] })));
  }
}

class QueuesView {
  title = "Queues";

  constructor() {
    this.note = el("p", { class: "quiet" });
    this.trouble = el("p", { class: "warn", hidden: true });
    this.tree = new Table("Queues", [{ title: "Queue" }, { title: "Weight", kind: "number" },
      { title: "Guaranteed" }, { title: "Max" }, { title: "Waiting", kind: "number" },
      { title: "Running", kind: "number" }, { title: "Longest wait", kind: "number" }]);
    this.shares = new Table("Shares, for each pool", [{ title: "Queue" }, { title: "Pool" },
      { title: "Held", kind: "number" }, { title: "Part by weight", kind: "number" },
      { title: "Of pool", kind: "number" }, { title: "Mean use", kind: "number" },
      { title: "Credit", kind: "number" }, { title: "Waiting", kind: "number" },
      { title: "State", kind: "long" }], "No queue holds something, and no job waits.");
    this.element = el("div", {}, this.note, this.tree.element, this.trouble, this.shares.element);
  }

  async poll(ask) {
    const { body } = await ask("v1/queues");
    const amounts = (list) => list.map((each) => `${count(each.amount)} ${each.amount_of}`)
      .join(", ") || "-";
    // Depth is shown by the margin, and said by the whole path.
    const queueCell = (path, user) => ({ text: user ? `${path}, user ${user}` : path,
      kind: `level${Math.min(7, path.split("/").length - 1)}` });
    setText(this.note, `${body.queues_version === null ? "Nobody has set queues. "
      : `Change ${count(body.queues_version)}. `}Use counts by half after ` +
      `${duration(body.half_life_ms)}. Fleet: ${amounts(body.fleet)}.`);
    this.tree.show(body.queues.map((queue) => ({ key: queue.queue, cells: [queueCell(queue.queue),
      count(queue.weight), amounts(queue.guaranteed), amounts(queue.max),
      queue.is_leaf && queue.pending > 0 ? { text: count(queue.pending),
        href: `#/queue?queue=${part(queue.queue)}` } : count(queue.pending),
      count(queue.running), duration(queue.longest_wait_ms)] })));
    const shares = await orElse(ask("v1/shares"), this.trouble);
    this.shares.show((shares?.body.shares ?? []).map((share) => ({
      key: `${share.queue} ${share.user ?? ""} ${share.pool}`,
      cells: [queueCell(share.queue, share.user), share.pool_name || share.pool,
        thousandths(share.held_thousandths), thousandths(share.part_thousandths),
        count(share.pool_size), `${thousandths(share.mean_permille * 100)} %`,
        String(share.credit_permille / 1000), count(share.pending),
        [share.is_next && "its job is next", share.is_owed && "owed its guarantee",
          share.at_max && `at the max of ${share.at_max}`].filter(Boolean).join(", ")] })));
  }
}

/** Asks a person. null: not confirmed; else {text} with what the field holds. */
function confirmed({ title, text, field, does, not }) {
  return new Promise((resolve) => {
    const input = field && el("input", { maxlength: 200, autocomplete: "off" });
    const close = (answer) => {
      dialog.close();
      dialog.remove();
      resolve(answer);
    };
    const yes = () => close({ text: input ? input.value.trim() : "" });
    const stay = button(not, () => close(null));
    const dialog = el("dialog", { "aria-labelledby": "dialog-title",
      "aria-describedby": "dialog-text",
      on: { cancel: (event) => { event.preventDefault(); close(null); } } },
      el("h2", { id: "dialog-title" }, title), el("p", { id: "dialog-text" }, text),
      input ? el("label", {}, field, input) : null,
      el("div", { class: "tools" }, stay, button(does, yes, "danger")));
    document.body.append(dialog);
    dialog.showModal();
    (input || stay).focus();
  });
}

const VIEWS = { fleet: FleetView, queue: QueueView, job: JobView, host: HostView,
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
    byId("sign-out").addEventListener("click", () => this.#signOut(""));
    byId("skip").addEventListener("click", (event) => {
      event.preventDefault();
      byId("main").focus();
    });
    beginTheme();
    this.#signIn();
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

  async #signIn() {
    clearTimeout(this.#timer);
    try {
      const { body } = await this.#door.get("v1/whoami");
      this.#whoami = body;
      this.#lift();
      setText(byId("asker"), `${body.user ?? "not known"}${body.user_role
        ? ` (${body.user_role})` : ""}${body.made_for ? `, token ${body.made_for}` : ""}`);
      byId("sign-out").hidden = !this.#door.hasToken;
      byId("nav").hidden = false;
      this.#route(false);
    } catch (problem) {
      if (problem.status === 401 || problem.status === 403) {
        this.#signOut(this.#door.hasToken ? problem.message : "");
        return;
      }
      this.#tell(problem);
      this.#timer = setTimeout(() => this.#signIn(), this.#pause(problem));
    }
  }

  #signOut(why) {
    this.#door.keep("");
    this.#whoami = null;
    this.#leave();
    this.#lift();
    byId("nav").hidden = byId("sign-out").hidden = true;
    setText(byId("asker"), "");
    this.#showLogin(why);
  }

  #showLogin(why) {
    const input = el("input", { type: "password", id: "token", autocomplete: "off",
      spellcheck: "false", "aria-describedby": "token-help" });
    const trouble = el("p", { class: "bad", role: "alert", hidden: why === "" }, why);
    const form = el("form", { class: "login", on: { submit: (event) => {
      event.preventDefault();
      const token = input.value.trim();
      if (!/^[\x21-\x7e]+$/.test(token)) {
        trouble.hidden = false;
        setText(trouble, "Paste the one line of an access token, without blanks.");
        input.focus();
        return;
      }
      this.#door.keep(token);
      this.#signIn();
    } } },
    el("h1", { tabindex: -1 }, "Sign in"), trouble, el("label", { for: "token" }, "Access token"),
    input, el("p", { id: "token-help", class: "quiet" },
      "Make one in a terminal: muster token create --for page --may read --ttl 1d. This page " +
      "keeps the token in this tab until you close it or sign out (sessionStorage), and sends it " +
      "to this node alone. An extension of the browser could read it: use a token with few " +
      "rights and a short time."),
    el("button", { type: "submit" }, "Sign in"));
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
    } else if (this.#view !== null) {
      this.#turn();
    } else if (this.#whoami === null && this.#failures > 0) {
      this.#signIn();
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
      if (problem.status === 401) {
        this.#signOut(problem.message);
        return;
      }
      this.#tell(problem);
      pause = this.#pause(problem);
    }
    this.#timer = setTimeout(() => this.#turn(), pause);
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
  const themes = ["automatic", "light", "dark"];
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
