// The jobs: the list, one job, why it waits, and the output of its ranks.
import { readPages } from "./door.js";
import { Table, button, bytesText, confirmed, count, counted, duration, el, fields, hostLink,
  jobLink, links, marked, orElse, part, plain, setText, showFields, thousandths, typed,
  wallTime } from "./parts.js";

/** Jobs that the list reads: five pages. */
const JOBS_MAX = 5_000;
/** Characters of output on the screen, and answers that one poll reads. */
const OUTPUT_KEPT = 400_000;
/** What a block of it holds, about. The oldest go first; only the last one needs a new layout. */
const OUTPUT_BLOCK = 8_000;
/** Characters that an element costs as much as. */
const OUTPUT_SPAN = 100;
const OUTPUT_ANSWERS = 8;
const OUTPUT_TAIL_BYTES = 128 * 1024;

const WAITING = ["queued", "suspended"];
const RUNNING = ["scheduled", "running", "stopping"];
const ENDED = ["completed", "failed", "cancelled"];
const isEnded = (state) => ENDED.includes(state);
const state = (job) => marked(`${job.state}${job.is_doubtful ? " (not certain)" : ""}`);
const gpusText = (job) =>
  (job.gpus > 0 ? typed(job.gpus, job.gpu_type) : counted(job.ranks ?? 0, "rank"));

export class JobsView {
  title = "Jobs";

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
      button("Clear", () => { location.hash = "#/jobs"; }));
    const columns = (last) => [{ title: "Job", kind: "number" },
      { title: "Name", kind: "name" }, { title: "State", kind: "state" },
      { title: "GPUs", kind: "short" }, { title: "User", kind: "name" },
      { title: "Queue", kind: "name" }, ...last];
    this.waiting = new Table("Jobs that wait", columns([{ title: "Waits", kind: "number" },
      { title: "Reason", kind: "long" }]), "No job waits.");
    this.running = new Table("Jobs that run", columns([{ title: "Runs", kind: "number" },
      { title: "Hosts", kind: "name" }, { title: "Reason", kind: "long" }]), "No job runs.");
    this.ended = new Table("Jobs that ended", columns([{ title: "Ended", kind: "time" },
      { title: "Exit", kind: "number" }, { title: "Reason", kind: "long" }]), "No job ended so.");
    this.sum = el("p", { class: "sum" }, "Reading the jobs…");
    this.element = el("div", {}, this.form, this.sum, this.waiting.element, this.running.element,
      this.ended.element);
    this.choice = Object.fromEntries(["state", "user", "queue"].map((name) =>
      [name, query.get(name) ?? ""]));
  }

  #choose() {
    const chosen = new URLSearchParams([...new FormData(this.form)].filter(([, value]) => value));
    location.hash = `#/jobs${chosen.size > 0 || String(chosen) ? `?${chosen}` : ""}`;
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
      cells: [jobLink(job.job_id), job.name || "(no name)", state(job), gpusText(job), job.user,
        job.queue ?? "-", ...last(job)] }));
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

/** The output of one rank, as it grows: followed if the node can, else read again and again. */
class OutputPane {
  #rank = 0;
  #next = null;
  #attempt = null;
  /** [text, stream] of what was heard since the last frame, and the weight of it. */
  #heard = [];
  #heardSize = 0;
  #kept = 0;
  #isAtEnd = false;
  #canFollow = true;
  #stream = null;

  constructor(job) {
    this.path = (rank) => `v1/jobs/${part(job)}/ranks/${rank}/output`;
    this.input = el("input", { type: "number", min: 0, value: 0, class: "short", on: {
      change: () => {
        this.#rank = Math.max(0, Math.floor(Number(this.input.value) || 0));
        this.#begin(this.#attempt);
      } } });
    this.follows = el("input", { type: "checkbox", checked: true });
    this.note = el("span", { class: "quiet" });
    this.trouble = el("p", { class: "warn", hidden: true });
    this.text = el("pre", { class: "output", tabindex: 0, role: "region", "aria-label": "Output" });
    this.element = el("section", { "aria-label": "Output of a rank" },
      el("div", { class: "tools" }, el("h2", {}, "Output"), el("label", {}, "Rank", this.input),
        el("label", {}, this.follows, "Follow"), this.note,
        el("span", { class: "quiet" }, "stderr is in italics")),
      this.trouble, this.text);
    this.element.hidden = true;
  }

  close() {
    this.#stream?.abort();
    this.#stream = null;
  }

  #begin(attempt) {
    this.close();
    this.#attempt = attempt;
    this.#next = null;
    this.#heard = [];
    this.#heardSize = this.#kept = 0;
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
    if (this.#stream !== null) {
      return;
    }
    const rank = this.#rank;
    this.#next ??= this.#tailOf(attempt, rank);
    for (let answer = 0; answer < OUTPUT_ANSWERS && !this.#isAtEnd; ++answer) {
      const told = await orElse(ask.lines(this.path(rank),
        { offset: this.#next, attempt: this.#attempt }), this.trouble);
      if (told === null || rank !== this.#rank || this.#take(told) === 0) {
        break;
      }
    }
    if (this.#canFollow && !this.#isAtEnd && this.trouble.hidden && rank === this.#rank) {
      this.#follow(ask, rank);
    }
    this.#showNote();
  }

  #showNote() {
    const how = this.#isAtEnd ? "ended, this is all" : this.#stream ? "live" : "read every 2 s";
    setText(this.note, `attempt ${this.#attempt}, to byte ${count(this.#next ?? 0)}, ${how}`);
  }

  /** A stream that ends early is begun again behind the next poll. */
  async #follow(ask, rank) {
    const stream = new AbortController();
    this.#stream = stream;
    try {
      const take = (name, data) => this.#stream === stream && this.#hear(name, JSON.parse(data));
      this.#canFollow = await ask.follow(this.path(rank),
        { offset: this.#next, attempt: this.#attempt }, take, stream.signal);
    } catch (problem) {
      // The next poll tells what is wrong. A node that refuses streams is polled.
      this.#canFollow &&= ![400, 404, 405, 406].includes(problem.status);
    }
    if (this.#stream === stream) {
      this.#stream = null;
      this.#showNote();
    }
  }

  /** The events of agent/api/rest/follow_text.h. */
  #hear(name, told) {
    if (told.offset_bytes !== undefined) {
      this.#take({ body: [told], next: null });
    }
    if (name === "gap") {
      this.#next = Math.max(this.#next, told.to);
      this.#append(`[bytes ${count(told.from)} to ${count(told.to)} are gone]\n`, "muster");
    } else if (name === "stale" || name === "denied") {
      this.trouble.hidden = false;
      setText(this.trouble, told.text);
    } else {
      this.trouble.hidden = true;
    }
    this.#isAtEnd ||= name === "end";
    this.#showNote();
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

  /** Shown with the next frame: each look at the layout costs much, and a rank may say much. */
  #append(text, stream) {
    if (this.#heard.length === 0) {
      requestAnimationFrame(() => this.#showHeard());
    }
    const last = this.#heard.at(-1);
    if (last?.[1] === stream && last[0].length < OUTPUT_BLOCK) {
      last[0] += text;
    } else {
      this.#heard.push([text, stream]);
      this.#heardSize += OUTPUT_SPAN;
    }
    this.#heardSize += text.length;
    while (this.#heardSize > OUTPUT_KEPT && this.#heard.length > 1) {
      this.#heardSize -= this.#heard.shift()[0].length + OUTPUT_SPAN;
    }
  }

  #showHeard() {
    const isLow = this.text.scrollTop + this.text.clientHeight >= this.text.scrollHeight - 40;
    const heard = this.#heard;
    this.#heard = [];
    this.#heardSize = 0;
    for (const [text, stream] of heard) {
      // Colours of terminals are left out, and a progress bar becomes lines.
      const clean = plain(text.replace(/\u001b\[[0-9;?]*[ -/]*[@-~]/g, "")
        .replace(/\r\n?/g, "\n"));
      if (clean !== "") {
        this.#write(clean, stream);
      }
    }
    while (this.#kept > OUTPUT_KEPT && this.text.children.length > 1) {
      this.#kept -= this.text.firstChild.size;
      this.text.firstChild.remove();
    }
    if (this.follows.checked && isLow) {
      this.text.scrollTop = this.text.scrollHeight;
    }
  }

  #write(text, stream) {
    let block = this.text.lastChild;
    // A block ends with a line, unless that line is very long.
    if (!block || (block.size > OUTPUT_BLOCK && (block.isWhole || block.size > 4 * OUTPUT_BLOCK))) {
      block = Object.assign(el("div"), { size: 0 });
      this.text.append(block);
    }
    const last = block.lastChild;
    const isNew = last?.className !== stream;
    isNew ? block.append(el("span", { class: stream }, text)) : last.append(text);
    block.isWhole = text.endsWith("\n");
    const size = text.length + (isNew ? OUTPUT_SPAN : 0);
    block.size += size;
    this.#kept += size;
  }
}

export class JobView {
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
    this.attempts = new Table("Attempts", [{ title: "Attempt", kind: "number" },
      { title: "Token", kind: "name" },
      { title: "State", kind: "state" }, { title: "Cause", kind: "long" }, { title: "Hosts" }],
    "There was no attempt yet.");
    this.ranks = new Table("Ranks of the last attempt", [{ title: "Rank", kind: "number" },
      { title: "Host" }, { title: "State", kind: "state" }, { title: "Detail", kind: "long" },
      { title: "Output", kind: "number" }], "There are no ranks.");
    this.history = new Table("History", [{ title: "Time", kind: "time" },
      { title: "State", kind: "state" },
      { title: "Cause", kind: "long" }]);
    this.element = el("div", {}, el("div", { class: "tools" }, this.cancel), this.summary, this.why,
      this.output.element, this.attempts.element, this.ranks.element, this.history.element,
      el("h2", {}, "As it was submitted"), this.spec);
  }

  close() {
    this.output.close();
  }
  /** Nobody looks. */
  rest() {
    this.output.close();
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
      cells: [wallTime(step.unix_ms), marked(step.state), step.cause] })));
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
      ["Submitted", wallTime(job.submit_unix_ms)],
      ["Started", job.start_unix_ms && wallTime(job.start_unix_ms)],
      ["Ended", job.end_unix_ms && wallTime(job.end_unix_ms)],
      ["Ran for", job.run_ms === null ? null : duration(job.run_ms)],
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
      cells: [String(each.attempt), each.token, marked(each.state), each.cause ?? "",
        hosts(each.members)] })));
    const last = lastOf(attempts);
    this.ranks.show((last?.members ?? []).flatMap((member) => member.rank_list.map((rank) => ({
      key: String(rank.rank), cells: [String(rank.rank), hostLink(member.host), marked(rank.state),
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
      ["GPUs out of use",
        list(why.withheld.map((each) => `${count(each.gpus)}: ${each.reason}`))]]);
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

