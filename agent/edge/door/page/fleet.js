// The fleet: racks, hosts and GPUs on a canvas, and a table that says the same. FleetModel keeps a
// byte for each GPU and knows which hosts changed; FleetMap draws those alone, a frame at a time.
import { PAGE_ITEMS, Table, count, counted, duration, el, hostLink, jobLink, links, plain,
  readPages, setText } from "./parts.js";

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
const HELD = 16;
const STATE_BITS = 15;
/** Hosts that left longer ago are not shown, as `muster hosts` does. */
const LEFT_SHOWN_MS = 24 * 3600 * 1000;
/** Words of jobs and users that were met: above this the model is built again. */
const WORDS_MAX = 200_000;
/** A frame draws for so long; the rest of the hosts waits for the next one. */
const FRAME_MS = 8;
/** Pages of GPUs that are read after each list of hosts. */
const PAGES_A_POLL = 2;
/** Hosts of one column of a rack. */
const BLOCK_HOSTS = 48;
/** Sides of a GPU in pixels, for each step of the zoom. */
const SIZES = [5, 7, 9, 12, 16, 22, 30];
const FIRST_ZOOM = 2;
const NAMES_FROM = 12;
const NAME_WIDTH = 92;
const HEAD = 18;
const GAP = 14;

const natural = new Intl.Collator("en", { numeric: true });

function hostWords(host) {
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

/** No elements, no clock: tests run it without a browser. */
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
const totalsText = (totals) => STATES.map((state, code) => [totals[code], state.says])
  .filter(([number]) => number > 0).map(([number, says]) => `${count(number)} ${says}`).join(", ");

/** Draws one GPU: its colour and its glyph. Also for the legend. */
function drawGpu(ink, x, y, size, code, colours) {
  const state = STATES[code & STATE_BITS].name;
  const line = Math.max(1, size / 8);
  ink.strokeStyle = ink.fillStyle = colours[state];
  ink.lineWidth = line;
  const [from, to] = [line / 2, size - line / 2];
  const path = (...points) => {
    ink.beginPath();
    points.forEach(([px, py], at) => (at === 0 ? ink.moveTo(x + px, y + py)
      : ink.lineTo(x + px, y + py)));
    ink.stroke();
  };
  if (state === "used") {
    ink.fillRect(x, y, size, size);
    return;
  }
  ink.strokeRect(x + from, y + from, size - line, size - line);
  const [low, middle, high] = [size * 0.25, size / 2, size * 0.75];
  switch (state) {
    case "masked":
      path([low, low], [high, high]);
      path([low, high], [high, low]);
      break;
    case "quarantined":
      path([middle, low], [middle, high]);
      path([low, middle], [high, middle]);
      break;
    case "unhealthy":
      ink.beginPath();
      ink.moveTo(x + middle, y + low);
      ink.lineTo(x + high, y + high);
      ink.lineTo(x + low, y + high);
      ink.fill();
      break;
    case "drained":
      path([from, to], [to, from]);
      break;
    case "withheld":
      path([low, middle], [high, middle]);
      break;
    case "unreachable":
      path([from, from], [middle, high], [to, from]);
      break;
    case "unknown":
      ink.fillRect(x + middle - line / 2, y + middle - line / 2, line, line);
      break;
    default:
      break;
  }
  if (code >= HELD) {
    ink.fillStyle = colours.used;
    ink.fillRect(x + middle, y + middle, size / 2, size / 2);
  }
}

/** The canvas, its scrolling box, the pointer and the keys. */
class FleetMap {
  #model;
  #zoom = FIRST_ZOOM;
  #blocks = [];
  #blockOf = new Uint32Array(0);
  #isWhole = false;
  #isAsked = false;
  #cursor = { host: 0, gpu: 0 };
  #hasFocus = false;
  #colours = {};
  #sprites = null;
  #ratio = 1;

  /** `onPlace(host, gpu, isKey)` is told what the pointer or the cursor is on; gpu -1: the host. */
  constructor(model, onPlace, onOpen) {
    this.#model = model;
    this.onPlace = onPlace;
    this.onOpen = onOpen;
    this.canvas = el("canvas", { tabindex: 0, role: "application",
      "aria-roledescription": "map of GPUs", "aria-label": "Map of the fleet",
      "aria-describedby": "map-keys" });
    this.space = el("div", { class: "map-space" }, this.canvas);
    this.box = el("div", { class: "map-box" }, this.space);
    this.ink = this.canvas.getContext("2d");
    this.#listen();
  }

  #listen() {
    const redraw = () => this.redraw();
    this.box.addEventListener("scroll", redraw);
    this.resizes = new ResizeObserver(() => this.place());
    this.resizes.observe(this.box);
    this.schemes = matchMedia("(prefers-color-scheme: dark)");
    this.onScheme = () => this.restyle();
    this.schemes.addEventListener("change", this.onScheme);
    document.addEventListener("muster-theme", this.onScheme);
    this.canvas.addEventListener("pointermove", (event) => this.#point(event, false));
    this.canvas.addEventListener("pointerleave", () => this.onPlace(-1, -1, false));
    this.canvas.addEventListener("click", (event) => this.#point(event, true));
    this.canvas.addEventListener("dblclick", () => this.#open(false));
    this.canvas.addEventListener("keydown", (event) => this.#key(event));
    this.canvas.addEventListener("focus", () => this.#focus(true));
    this.canvas.addEventListener("blur", () => this.#focus(false));
    this.box.addEventListener("wheel", (event) => {
      if (event.ctrlKey) {
        event.preventDefault();
        this.zoomBy(event.deltaY < 0 ? 1 : -1);
      }
    }, { passive: false });
  }

  close() {
    this.resizes.disconnect();
    this.schemes.removeEventListener("change", this.onScheme);
    document.removeEventListener("muster-theme", this.onScheme);
  }

  get size() {
    return SIZES[this.#zoom];
  }
  #rowHeight() {
    return this.size + (this.size >= NAMES_FROM ? 4 : 2);
  }
  /** From the left of a host to its first GPU: the mark of its state, and its name. */
  #inset() {
    return this.size + 4 + (this.size >= NAMES_FROM ? NAME_WIDTH : 0);
  }

  zoomBy(steps) {
    this.#zoom = Math.max(0, Math.min(SIZES.length - 1, this.#zoom + steps));
    this.#sprites = null;
    this.place();
    this.#showCursor();
  }
  /** The largest zoom at which all of the fleet is in view. */
  fit() {
    for (this.#zoom = SIZES.length - 1; this.#zoom > 0; --this.#zoom) {
      if (this.#flow(this.box.clientWidth).height <= this.box.clientHeight) {
        break;
      }
    }
    this.zoomBy(0);
  }

  /** Works out where racks and hosts stand, and draws them. */
  place() {
    const [width, height] = [this.box.clientWidth, this.box.clientHeight];
    const extent = this.#flow(width);
    this.space.style.width = `${Math.max(width, extent.width)}px`;
    this.space.style.height = `${Math.max(height, extent.height)}px`;
    this.#ratio = window.devicePixelRatio || 1;
    this.canvas.width = Math.round(width * this.#ratio);
    this.canvas.height = Math.round(height * this.#ratio);
    this.canvas.style.width = `${width}px`;
    this.canvas.style.height = `${height}px`;
    this.#sprites = null;
    this.redraw();
  }

  #flow(width) {
    this.#blocks = this.#cut();
    let [x, y, tallest, widest] = [GAP, GAP / 2, 0, 0];
    for (const block of this.#blocks) {
      if (x > GAP && x + block.width > width) {
        [x, y, tallest] = [GAP, y + tallest + GAP, 0];
      }
      [block.x, block.y] = [x, y];
      x += block.width + GAP;
      tallest = Math.max(tallest, block.height);
      widest = Math.max(widest, x);
    }
    return { width: widest, height: y + tallest + GAP };
  }

  /** A block for each rack, and several for one with many hosts. */
  #cut() {
    const { hosts, first } = this.#model;
    const blocks = [];
    this.#blockOf = new Uint32Array(hosts.length);
    hosts.forEach((host, at) => {
      const last = blocks.at(-1);
      const isSame = last && last.rack === host.rack;
      if (!isSame || at - last.from >= BLOCK_HOSTS) {
        blocks.push({ rack: host.rack, part: isSame ? last.part + 1 : 1, from: at, end: at,
          columns: 0 });
      }
      const block = blocks.at(-1);
      block.end = at + 1;
      block.columns = Math.max(block.columns, first[at + 1] - first[at]);
      this.#blockOf[at] = blocks.length - 1;
    });
    for (const block of blocks) {
      block.width = Math.max(64, this.#inset() + block.columns * (this.size + 1));
      block.height = HEAD + (block.end - block.from) * this.#rowHeight();
    }
    return blocks;
  }

  restyle() {
    this.#colours = {};
    this.#sprites = null;
    this.redraw();
  }
  colours() {
    if (!this.#colours.text) {
      const style = getComputedStyle(document.documentElement);
      for (const name of ["text", "quiet", "panel", "focus", "bad",
        ...STATES.map((each) => each.name)]) {
        this.#colours[name] = style.getPropertyValue(`--${name}`).trim() || "#808080";
      }
    }
    return this.#colours;
  }

  redraw() {
    this.#isWhole = true;
    this.request();
  }
  /** Draws in the next frame what changed. */
  request() {
    if (!this.#isAsked) {
      this.#isAsked = true;
      requestAnimationFrame(() => this.#frame());
    }
  }

  #frame() {
    this.#isAsked = false;
    const dirty = this.#model.takeDirty();
    this.ink.setTransform(this.#ratio, 0, 0, this.#ratio, 0, 0);
    this.#sprites ??= this.#drawSprites();
    if (this.#isWhole) {
      this.#isWhole = false;
      this.#drawAll();
      return;
    }
    const end = performance.now() + FRAME_MS;
    let at = 0;
    // The clock is asked after each 16 hosts: it costs as much as drawing one.
    while (at < dirty.length && (at % 16 !== 0 || performance.now() < end)) {
      this.#drawHost(dirty[at++]);
    }
    for (; at < dirty.length; ++at) {
      this.#model.markDirty(dirty[at]);
      this.request();
    }
  }

  #drawAll() {
    const { ink } = this;
    const colours = this.colours();
    const [width, height] = [this.box.clientWidth, this.box.clientHeight];
    ink.fillStyle = colours.panel;
    ink.fillRect(0, 0, width, height);
    for (const block of this.#blocks) {
      const [x, y] = [block.x - this.box.scrollLeft, block.y - this.box.scrollTop];
      if (x > width || y > height || x + block.width < 0 || y + block.height < 0) {
        continue;
      }
      ink.fillStyle = colours.text;
      ink.font = "600 12px system-ui, sans-serif";
      ink.textBaseline = "middle";
      const rack = block.rack === null ? "no rack" : plain(block.rack);
      ink.fillText(block.part > 1 ? `${rack} (${block.part})` : rack, x, y + HEAD / 2, block.width);
      for (let host = block.from; host < block.end; ++host) {
        this.#drawHost(host);
      }
    }
  }

  #cellOf(host, gpu) {
    const block = this.#blocks[this.#blockOf[host]];
    const inset = gpu < 0 ? 0 : this.#inset() + gpu * (this.size + 1);
    return { x: block.x - this.box.scrollLeft + inset,
      y: block.y - this.box.scrollTop + HEAD + (host - block.from) * this.#rowHeight(),
      width: block.width };
  }

  #drawHost(host) {
    if (host >= this.#blockOf.length) {
      return;
    }
    const { ink, size } = this;
    const { x, y, width } = this.#cellOf(host, -1);
    if (y > this.box.clientHeight || y + size < 0) {
      return;
    }
    const colours = this.colours();
    ink.fillStyle = colours.panel;
    ink.fillRect(x - 2, y - 2, width + 4, size + 4);
    this.#drawMark(this.#model.hosts[host], x, y);
    if (size >= NAMES_FROM) {
      ink.fillStyle = colours.text;
      ink.font = "11px system-ui, sans-serif";
      ink.textBaseline = "middle";
      const name = plain(this.#model.hosts[host].host);
      ink.fillText(name.length > 15 ? `${name.slice(0, 14)}…` : name, x + size + 4, y + size / 2,
        NAME_WIDTH - 4);
    }
    const from = this.#model.first[host];
    const gpus = this.#model.first[host + 1] - from;
    const side = this.#sprites.height;
    for (let gpu = 0; gpu < gpus; ++gpu) {
      ink.drawImage(this.#sprites, this.#model.codes[from + gpu] * side, 0, side, side,
        x + this.#inset() + gpu * (size + 1), y, size, size);
    }
    this.#drawCursor(host);
  }

  /** A host that is not sound has a mark: "!" of one that is silent, "–" of one out of service. */
  #drawMark(host, x, y) {
    if (isSound(host)) {
      return;
    }
    const { ink, size } = this;
    const isLost = host.state !== "alive";
    ink.fillStyle = isLost ? this.colours().bad : this.colours().quiet;
    if (isLost) {
      ink.fillRect(x + size * 0.4, y, Math.max(2, size * 0.2), size * 0.6);
      ink.fillRect(x + size * 0.4, y + size * 0.75, Math.max(2, size * 0.2), size * 0.25);
    } else {
      ink.fillRect(x, y + size * 0.4, size, Math.max(2, size * 0.2));
    }
  }

  #drawCursor(host) {
    const { ink, size } = this;
    if (this.#hasFocus && host === this.#cursor.host) {
      const { x, y } = this.#cellOf(host, this.#cursor.gpu);
      ink.strokeStyle = this.colours().focus;
      ink.lineWidth = 2;
      ink.strokeRect(x - 1, y - 1, size + 2, size + 2);
    }
  }

  /** Every code once, side by side: a GPU is then one copy of pixels. */
  #drawSprites() {
    const side = Math.max(1, Math.round(this.size * this.#ratio));
    const sprites = el("canvas", { width: side * 2 * HELD, height: side });
    const ink = sprites.getContext("2d");
    for (let code = 0; code < STATES.length; ++code) {
      for (const each of [code, code + HELD]) {
        drawGpu(ink, each * side, 0, side, each, this.colours());
      }
    }
    return sprites;
  }

  /** {host, gpu} at a place of the window; null if there is no host. */
  #at(event) {
    const frame = this.canvas.getBoundingClientRect();
    const x = event.clientX - frame.left + this.box.scrollLeft;
    const y = event.clientY - frame.top + this.box.scrollTop;
    const block = this.#blocks.find((each) => x >= each.x && x < each.x + each.width &&
      y >= each.y + HEAD && y < each.y + each.height);
    if (!block) {
      return null;
    }
    const host = Math.min(block.end - 1,
      block.from + Math.floor((y - block.y - HEAD) / this.#rowHeight()));
    const gpu = Math.floor((x - block.x - this.#inset()) / (this.size + 1));
    const isGpu = gpu >= 0 && gpu < this.#gpusOf(host);
    return { host, gpu: isGpu ? gpu : -1 };
  }
  #gpusOf(host) {
    return this.#model.first[host + 1] - this.#model.first[host];
  }

  #point(event, isChosen) {
    const place = this.#at(event);
    if (isChosen && place) {
      this.#move(place.host, place.gpu);
    } else {
      this.onPlace(place?.host ?? -1, place?.gpu ?? -1, false, event);
    }
  }

  #focus(hasFocus) {
    this.#hasFocus = hasFocus;
    if (this.#model.hosts.length > 0) {
      this.#move(this.#cursor.host, this.#cursor.gpu, hasFocus);
    }
  }

  #move(host, gpu, isTold = true) {
    const old = this.#cursor.host;
    const next = Math.max(0, Math.min(this.#model.hosts.length - 1, host));
    this.#cursor = { host: next, gpu: Math.max(-1, Math.min(this.#gpusOf(next) - 1, gpu)) };
    for (const each of [old, next]) {
      if (each < this.#model.hosts.length) {
        this.#model.markDirty(each);
      }
    }
    this.request();
    if (isTold) {
      this.#showCursor();
      this.onPlace(next, this.#cursor.gpu, true);
    }
  }

  #showCursor() {
    if (!this.#hasFocus || this.#cursor.host >= this.#blockOf.length) {
      return;
    }
    const { x, y } = this.#cellOf(this.#cursor.host, this.#cursor.gpu);
    const [width, height] = [this.box.clientWidth, this.box.clientHeight];
    const room = this.size + GAP;
    this.box.scrollLeft += x < GAP ? x - GAP : Math.max(0, x + room - width);
    this.box.scrollTop += y < HEAD ? y - HEAD - GAP : Math.max(0, y + room - height);
  }

  #open(isJob) {
    this.onOpen(this.#cursor.host, this.#cursor.gpu, isJob);
  }

  #key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || this.#model.hosts.length === 0) {
      return;
    }
    const { host, gpu } = this.#cursor;
    const block = this.#blockOf[Math.min(host, this.#blockOf.length - 1)];
    const blockAt = (step) => this.#blocks[Math.max(0, Math.min(this.#blocks.length - 1,
      block + step))].from;
    const acts = {
      ArrowLeft: () => this.#move(host, gpu - 1),
      ArrowRight: () => this.#move(host, gpu + 1),
      ArrowUp: () => this.#move(host - 1, gpu),
      ArrowDown: () => this.#move(host + 1, gpu),
      Home: () => this.#move(host, 0),
      End: () => this.#move(host, this.#gpusOf(host) - 1),
      PageUp: () => this.#move(blockAt(-1), gpu),
      PageDown: () => this.#move(blockAt(1), gpu),
      Enter: () => this.#open(false),
      j: () => this.#open(true),
      "+": () => this.zoomBy(1),
      "-": () => this.zoomBy(-1),
      0: () => this.fit(),
    };
    if (acts[event.key]) {
      event.preventDefault();
      acts[event.key]();
    }
  }
}

/** The view of #/fleet. */
export class FleetView {
  title = "Fleet";
  #model = new FleetModel();
  /** Pages of GPUs: the place behind which each begins, and the hosts that it held. */
  #pages = new Map();
  #nextPage = 0;

  constructor(app) {
    this.app = app;
    this.map = new FleetMap(this.#model, (...place) => this.#tell(...place),
      (...place) => this.#open(...place));
    this.sum = el("p", { class: "sum" }, "Reading the hosts…");
    this.storm = el("p", { class: "warn", hidden: true });
    this.readout = el("p", { class: "readout", "aria-live": "polite" },
      "Point at a GPU, or use the arrow keys on the map.");
    this.tip = el("div", { class: "tip", "aria-hidden": "true", hidden: true });
    this.legend = el("ul", { class: "legend" });
    this.table = new Table("Hosts of the fleet", [{ title: "Rack", kind: "short" },
      { title: "Host" }, { title: "State", kind: "state" }, { title: "GPUs", kind: "long" },
      { title: "Jobs" }]);
    const button = (text, label, act) =>
      el("button", { type: "button", "aria-label": label, on: { click: act } }, text);
    this.element = el("div", { class: "fleet" },
      this.sum, this.storm,
      el("div", { class: "beside" },
        el("section", { "aria-label": "Map" },
          el("div", { class: "tools" }, button("+", "Zoom in", () => this.map.zoomBy(1)),
            button("−", "Zoom out", () => this.map.zoomBy(-1)),
            button("Fit", "Show the whole fleet", () => this.map.fit())),
          this.map.box, this.readout, this.legend,
          el("p", { id: "map-keys", class: "quiet" },
            "On the map: arrow keys move, Page Up and Page Down change the rack, Enter opens the " +
            "host, J opens the job, + and − zoom, 0 shows all. The table says the same.")),
        this.table.element), this.tip);
  }

  close() {
    this.map.close();
  }

  async poll(ask) {
    // All at once: for a page the node reads all of them, too.
    const { body: { hosts, storm } } = await ask("v1/hosts");
    const hasMoved = this.#model.setHosts(hosts);
    const isBlind = hosts.length > 0 && hosts.every((host) => host.gpus_used === null);
    this.app.banner("blind", isBlind
      ? "No voter answered: the use of the GPUs is not known. The states of hosts are this " +
        "host's own view." : null);
    this.#showStorm(storm);
    this.#show(hasMoved);
    try {
      await this.#readGpus(ask, hasMoved || this.#pages.size === 0);
    } catch (problem) {
      // The host behind which a page begins may be gone: all are read the next time.
      this.#pages.clear();
      throw problem;
    }
    this.#show(false);
  }

  /** All of them at first; then those pages whose hosts changed, and the others in turns. */
  async #readGpus(ask, isAll) {
    if (isAll) {
      this.#pages.clear();
      await readPages(ask, "v1/gpus", {}, "gpu_list",
        (items, body, after) => this.#takeGpus(items, after));
      return;
    }
    const pages = [...this.#pages.keys()];
    const staleness = (page) => this.#pages.get(page)
      .reduce((sum, id) => sum + (this.#model.isStale[this.#model.placeOf(id)] ?? 0), 0);
    const stale = pages.map((page) => [staleness(page), page]).filter(([number]) => number > 0)
      .sort((a, b) => b[0] - a[0]).slice(0, PAGES_A_POLL - 1).map(([, page]) => page);
    const inTurn = pages[this.#nextPage++ % pages.length];
    for (const after of new Set([...stale, inTurn])) {
      const { body } = await ask("v1/gpus", { limit: PAGE_ITEMS, after });
      this.#takeGpus(body.gpu_list, after);
    }
  }

  #takeGpus(items, after) {
    this.#pages.set(after, [...new Set(items.map((gpu) => gpu.host_id))]);
    this.#model.setGpus(items);
    this.map.request();
  }

  #showStorm(storm) {
    this.storm.hidden = !storm || storm.mode === "normal";
    setText(this.storm, this.storm.hidden ? ""
      : `Many hosts are silent at once (${storm.mode.replaceAll("_", " ")}` +
        `${storm.reason ? `: ${storm.reason}` : ""}), for ${duration(storm.since_ms)}.`);
  }

  #show(hasMoved) {
    if (hasMoved) {
      this.map.place();
    }
    this.map.request();
    const { hosts } = this.#model;
    const totals = this.#model.totals();
    const sound = hosts.filter(isSound).length;
    setText(this.sum, `${counted(hosts.length, "host")}, ${count(sound)} sound; ` +
      `${counted(this.#model.gpus, "GPU")}: ${totalsText(totals) || "none"}.`);
    this.#showLegend(totals);
    this.table.show(hosts.map((host, at) => ({ key: host.host_id,
      kind: isSound(host) ? "" : host.state === "alive" ? "out" : "lost",
      cells: [host.rack ?? "-", hostLink(host.host), { text: hostWords(host),
        title: host.detail ?? undefined }, totalsText(this.#model.totalsOf(at)) || "none",
      links(host.job_ids ?? [], (id) => jobLink(id))] })));
  }

  #showLegend(totals) {
    if (this.legend.children.length === 0) {
      STATES.forEach(() => this.legend.append(el("li", {},
        el("canvas", { width: 32, height: 32, "aria-hidden": "true" }), el("span"))));
    }
    STATES.forEach((state, code) => {
      const item = this.legend.children[code];
      item.hidden = totals[code] === 0;
      setText(item.lastChild, `${state.says}: ${count(totals[code])}`);
      const ink = item.firstChild.getContext("2d");
      ink.clearRect(0, 0, 32, 32);
      drawGpu(ink, 2, 2, 28, code, this.map.colours());
    });
  }

  #text(host, gpu) {
    const known = this.#model.hosts[host];
    const where = `${known.rack ? `rack ${known.rack}, ` : ""}host ${known.host}, ` +
      hostStateText(known);
    if (gpu < 0) {
      return `${where}: ${totalsText(this.#model.totalsOf(host)) || "no GPUs"}`;
    }
    const at = this.#model.first[host] + gpu;
    const code = this.#model.codes[at];
    const job = this.#model.job(at);
    const user = this.#model.user(at);
    const holder = job ? ` by job ${job}${user ? ` of ${user}` : ""}` : "";
    const held = code >= HELD ? ", held" : "";
    return `${where}; GPU ${gpu}: ${STATES[code & STATE_BITS].says}${held}${holder}`;
  }

  #tell(host, gpu, isKey, event) {
    this.tip.hidden = host < 0 || isKey;
    if (host < 0) {
      return;
    }
    const text = this.#text(host, gpu);
    if (isKey) {
      setText(this.readout, text);
      return;
    }
    setText(this.tip, text);
    this.tip.style.left = `${Math.min(event.clientX + 14, window.innerWidth - 280)}px`;
    this.tip.style.top = `${event.clientY + 16}px`;
  }

  #open(host, gpu, isJob) {
    const known = this.#model.hosts[host];
    const job = gpu < 0 ? "" : this.#model.job(this.#model.first[host] + gpu);
    if (isJob && job !== "") {
      location.hash = jobLink(job).href;
    } else if (!isJob && known) {
      location.hash = hostLink(known.host).href;
    }
  }
}
