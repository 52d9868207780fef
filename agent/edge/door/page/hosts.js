// One host, the events, the voters and the tree of queues.
import { hostStateText } from "./model.js";
import { Table, button, confirmed, count, counted, duration, el, fields, hostLink, jobLink, links,
  marked, orElse, part, setText, showFields, thousandths, typed, wallTime } from "./parts.js";

const EVENTS_KEPT = 2_000;
/** Pages of events that one poll reads. */
const EVENT_PAGES = 10;
const known = (number) => (number === null ? "not known" : count(number));

export class HostView {
  constructor(app, host) {
    this.app = app;
    this.host = host;
    this.title = `Host ${host}`;
    this.drain = button("Drain the host", () => this.#drain(), "danger");
    this.undrain = button("Put it back into service", () => this.#undrain());
    this.drain.hidden = this.undrain.hidden = true;
    this.summary = fields([]);
    this.gpus = new Table("GPUs", [{ title: "GPU", kind: "number" },
      { title: "State", kind: "state" }, { title: "Job" }, { title: "User" },
      { title: "Rank", kind: "number" }, { title: "UUID", kind: "code" }],
    "The host has no GPUs.");
    this.trouble = el("p", { class: "warn", hidden: true });
    this.evidence = fields([]);
    this.claims = new Table("Claims that it does not answer", [{ title: "Observer" },
      { title: "Kind" }, { title: "Age", kind: "number" }],
    "No host claims that it does not answer.");
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
    showFields(this.summary, [["State", marked(hostStateText(body))],
      ["For", duration(body.since_ms)],
      ["Drained", drain], ["Rack", body.rack], ["Spine", body.spine], ["Address", body.address],
      ["GPUs", `${typed(body.gpus, body.gpu_type)}; in use: ${known(body.gpus_used)}; ` +
        `free: ${known(body.gpus_free)}`],
      ["CPUs", `${count(body.cpus)}, ${thousandths(body.cpu_used_thousandths ?? 0)} given to jobs`],
      ["Memory", `${count(body.memory_mib)} MiB; given to jobs: ${known(body.memory_used_mib)}`],
      ["Jobs", body.job_ids?.length > 0 ? links(body.job_ids, (id) => jobLink(id), 16) : "none"],
      ["Labels", body.labels.join(", ")], ["Voter", body.is_voter ? (body.is_leader
        ? "yes, it leads" : "yes") : "no"], ["Version", body.version],
      ["Id", { text: body.host_id, kind: "code" }]]);
    this.gpus.show(body.gpu_list.map((gpu, at) => ({ key: gpu.uuid || String(at),
      kind: { free: "", used: "", drained: "out" }[gpu.state] ?? "lost",
      cells: [String(at), marked(gpu.state), gpu.job_id === null ? ""
        : jobLink(gpu.job_id, `${gpu.job_id}${gpu.job_name ? ` ${gpu.job_name}` : ""}`),
      gpu.user ?? "", gpu.job_id === null ? "" : String(gpu.rank), gpu.uuid] })));
    const why = await orElse(ask(`v1/hosts/${part(this.host)}/why`), this.trouble);
    if (why !== null) {
      this.#showWhy(why.body);
    }
  }

  #showWhy(why) {
    showFields(this.evidence, [["Heard by", why.heard_by.join(", ") || "no observer"],
      ["Is suspect at", counted(why.suspect_from, "claim")],
      ["Is unreachable at", counted(why.unreachable_from, "claim")]]);
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

const eventTable = (caption) => new Table(caption, [{ title: "Time", kind: "time" },
  { title: "Level", kind: "state" }, { title: "Event", kind: "long" }], "There are no events.");
/** The newest first. */
const eventRows = (events) => [...events].reverse().map((event) => ({ key: String(event.sequence),
  kind: event.level === "alarm" ? "lost" : "",
  cells: [event.unix_ms ? wallTime(event.unix_ms) : `${duration(event.age_ms)} ago`,
    marked(event.level),
    event.text] }));

export class EventsView {
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

export class QuorumView {
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
      ["Cluster", { text: body.cluster, kind: "code" }],
      ["Answered by", `${body.answered_by} (${body.role})`],
      ["Seeds that do not answer", body.seeds_unmet.map((seed) =>
        `${seed.address}: ${seed.silence}`).join("; ")]]);
    this.voters.show(body.voters.map((voter) => ({ key: voter.host_id,
      kind: voter.state === "alive" ? "" : "lost",
      cells: [hostLink(voter.host), marked(`${voter.state}${voter.is_learner ? ", learns" : ""}` +
        `${voter.host_id === body.leader_id ? ", leads" : ""}`), voter.rack ?? "-",
      voter.entries_behind === null ? "-" : count(voter.entries_behind),
      voter.contact_ms === null ? "-" : `${duration(voter.contact_ms)} ago`, voter.why ?? ""] })));
  }
}

export class QueuesView {
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
        href: `#/jobs?queue=${part(queue.queue)}` } : count(queue.pending),
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

