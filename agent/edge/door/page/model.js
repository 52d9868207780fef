// The fleet as FleetModel keeps it: a byte for each GPU, and which hosts changed. No elements, no
// clock: tests run it without a browser.
import { count } from "./parts.js";

/** Codes of GPUs are indexes of this. The glyph tells a state without its colour. */
export const STATES = [
  { name: "unknown", says: "not known" },
  { name: "free", says: "free" },
  { name: "used", says: "in use" },
  { name: "masked", says: "masked" },
  { name: "quarantined", says: "quarantined" },
  { name: "unhealthy", says: "unhealthy" },
  { name: "drained", says: "drained" },
  { name: "withheld", says: "withheld" },
  { name: "unreachable", says: "unreachable" },
];
const CODES = new Map(STATES.map((state, code) => [state.name, code]));
const UNKNOWN = 0;
const FREE = 1;
const USED = 2;
/** Added to a code of a GPU that a job holds although its state is another one. */
export const HELD = 16;
export const STATE_BITS = 15;
/** Hosts that left longer ago are not shown, as `muster hosts` does. */
const LEFT_SHOWN_MS = 24 * 3600 * 1000;
/** Words of jobs and users that were met: above this the model is built again. */
const WORDS_MAX = 200_000;

const natural = new Intl.Collator("en", { numeric: true });

export function hostWords(host) {
  if (host.is_removed) {
    return "removed";
  }
  if (host.drain && host.state === "alive") {
    return host.job_ids?.length ? "draining" : "drained";
  }
  const startsNothing = host.state === "alive" && (host.detail ?? "").startsWith("starts nothing");
  return startsNothing ? "alive, starts nothing" : host.state;
}
export const hostStateText = (host) =>
  host.detail && !host.drain ? `${hostWords(host)} (${host.detail})` : hostWords(host);
export const isSound = (host) => hostWords(host) === "alive";

const isShown = (host) =>
  !host.is_removed && (host.state !== "left" || host.since_ms < LEFT_SHOWN_MS);

export class FleetModel {
  hosts = [];
  #place = new Map();
  #signs = [];
  /** The first GPU of each host, and the end of the last one. */
  first = new Uint32Array(1);
  codes = new Uint8Array(0);
  #jobs = new Int32Array(0);
  #users = new Int32Array(0);
  #words = [""];
  #wordOf = new Map([["", 0]]);
  /** 1: its GPUs were read one by one. */
  #isRead = new Uint8Array(0);
  /** 1: it changed since its GPUs were read. */
  isStale = new Uint8Array(0);
  #isDirty = new Uint8Array(0);
  #dirty = [];

  get gpus() {
    return this.codes.length;
  }
  placeOf(hostId) {
    return this.#place.get(hostId) ?? -1;
  }
  job(gpu) {
    return this.#words[this.#jobs[gpu]];
  }
  user(gpu) {
    return this.#words[this.#users[gpu]];
  }

  /** The hosts to draw since the last call. */
  takeDirty() {
    const taken = this.#dirty;
    this.#dirty = [];
    for (const host of taken) {
      this.#isDirty[host] = 0;
    }
    return taken;
  }
  /** Says again what a frame had no time for. */
  markDirty(host) {
    if (this.#isDirty[host] === 0) {
      this.#isDirty[host] = 1;
      this.#dirty.push(host);
    }
  }

  /** True if hosts came, went or moved, so that their places have to be worked out again. */
  setHosts(documents) {
    const shown = documents.filter(isShown);
    const isSame = shown.length === this.hosts.length && this.#words.length < WORDS_MAX &&
      shown.every((each) => {
        const known = this.hosts[this.placeOf(each.host_id)];
        return known && known.gpus === each.gpus && known.rack === each.rack &&
          known.host === each.host;
      });
    if (!isSame) {
      this.#build(shown);
    }
    for (const each of shown) {
      const host = this.placeOf(each.host_id);
      const sign = `${each.state} ${each.detail} ${each.gpus_used} ${each.gpus_free} ` +
        `${each.gpus_healthy} ${each.drain ? 1 : 0} ${each.job_ids}`;
      this.hosts[host] = each;
      if (this.#signs[host] !== sign) {
        this.#signs[host] = sign;
        this.isStale[host] = 1;
        this.#reconcile(host);
        this.markDirty(host);
      }
    }
    return !isSame;
  }

  /** GPUs of /v1/gpus; those of hosts that are not known wait for the next list of hosts. */
  setGpus(list) {
    for (const each of list) {
      const host = this.placeOf(each.host_id);
      const gpu = host < 0 ? 0 : this.first[host] + each.gpu_index;
      if (host < 0 || gpu >= this.first[host + 1]) {
        continue;
      }
      const isHeld = each.job_id !== null;
      const code = each.state === "healthy"
        ? (isHeld ? USED : FREE)
        : (CODES.get(each.state) ?? UNKNOWN) + (isHeld ? HELD : 0);
      this.#set(host, gpu, code, isHeld ? String(each.job_id) : "", each.user ?? "");
      this.#isRead[host] = 1;
      this.isStale[host] = 0;
    }
  }

  /** The number of GPUs by code, without HELD. */
  totals(from = 0, end = this.gpus) {
    const totals = new Uint32Array(STATES.length);
    for (let gpu = from; gpu < end; ++gpu) {
      ++totals[this.codes[gpu] & STATE_BITS];
    }
    return totals;
  }
  totalsOf(host) {
    return this.totals(this.first[host], this.first[host + 1]);
  }

  #build(shown) {
    this.hosts = [...shown].sort((a, b) =>
      natural.compare(a.rack ?? "\uFFFF", b.rack ?? "\uFFFF") || natural.compare(a.host, b.host));
    const all = this.hosts.length;
    this.#place = new Map(this.hosts.map((each, at) => [each.host_id, at]));
    this.first = new Uint32Array(all + 1);
    this.hosts.forEach((each, at) => {
      this.first[at + 1] = this.first[at] + each.gpus;
    });
    const gpus = this.first[all];
    this.codes = new Uint8Array(gpus);
    this.#jobs = new Int32Array(gpus);
    this.#users = new Int32Array(gpus);
    this.#words = [""];
    this.#wordOf = new Map([["", 0]]);
    this.#signs = new Array(all).fill(null);
    this.#isRead = new Uint8Array(all);
    this.isStale = new Uint8Array(all).fill(1);
    this.#isDirty = new Uint8Array(all);
    this.#dirty = [];
  }

  #word(text) {
    let at = this.#wordOf.get(text);
    if (at === undefined) {
      at = this.#words.length;
      this.#words.push(text);
      this.#wordOf.set(text, at);
    }
    return at;
  }

  #set(host, gpu, code, job, user) {
    const [jobWord, userWord] = [this.#word(job), this.#word(user)];
    if (this.codes[gpu] !== code || this.#jobs[gpu] !== jobWord || this.#users[gpu] !== userWord) {
      this.codes[gpu] = code;
      this.#jobs[gpu] = jobWord;
      this.#users[gpu] = userWord;
      this.markDirty(host);
    }
  }

  /**
   * The list of hosts counts the GPUs in use and names jobs. Until the GPUs are read again one by
   * one, the map follows these counts.
   */
  #reconcile(host) {
    const { gpus_used: used, gpus_free: free } = this.hosts[host];
    if (used === null) {
      return;
    }
    if (this.#isRead[host] === 0) {
      this.#guess(host, used, free);
      return;
    }
    const jobs = new Set((this.hosts[host].job_ids ?? []).map(String));
    const [from, end] = [this.first[host], this.first[host + 1]];
    let held = 0;
    for (let gpu = from; gpu < end; ++gpu) {
      if (this.codes[gpu] === USED && !jobs.has(this.job(gpu)) && this.#jobs[gpu] !== 0) {
        this.#set(host, gpu, FREE, "", "");
      }
      const code = this.codes[gpu];
      held += code === USED || code >= HELD ? 1 : 0;
      jobs.delete(this.job(gpu));
    }
    const job = jobs.size === 1 ? [...jobs][0] : "";
    for (let gpu = from; gpu < end && held < used; ++gpu) {
      if (this.codes[gpu] === FREE) {
        this.#set(host, gpu, USED, job, "");
        ++held;
      }
    }
    for (let gpu = end; gpu > from && held > used; --gpu) {
      if (this.codes[gpu - 1] === USED) {
        this.#set(host, gpu - 1, FREE, "", "");
        --held;
      }
    }
  }

  #guess(host, used, free) {
    const { gpus, gpus_healthy: healthy, drain, state, job_ids: jobs } = this.hosts[host];
    const rest = drain ? "drained" : state === "alive" ? "withheld" : "unreachable";
    const job = jobs?.length === 1 ? String(jobs[0]) : "";
    for (let at = 0; at < gpus; ++at) {
      const gpu = this.first[host] + at;
      if (at < used) {
        this.#set(host, gpu, USED, job, "");
      } else if (at < used + free) {
        this.#set(host, gpu, FREE, "", "");
      } else {
        this.#set(host, gpu, CODES.get(at >= healthy ? "unhealthy" : rest), "", "");
      }
    }
  }
}

/** "6 in use, 1 free" */
export const totalsText = (totals) => STATES.map((state, code) => [totals[code], state.says])
  .filter(([number]) => number > 0).map(([number, says]) => `${count(number)} ${says}`).join(", ");
