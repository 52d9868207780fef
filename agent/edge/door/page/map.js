// The map: racks, hosts and GPUs on a canvas. It draws the hosts that changed, a frame at a time.
import { HELD, STATES, STATE_BITS, isSound } from "./model.js";
import { el, plain } from "./parts.js";

/** A frame draws for so long; the rest of the hosts waits for the next one. */
const FRAME_MS = 8;
/** Hosts of one column of a rack. */
const BLOCK_HOSTS = 48;
/** Sides of a GPU in pixels, for each step of the zoom. */
const SIZES = [5, 7, 9, 12, 16, 22, 30];
const FIRST_ZOOM = 2;
const LARGEST_FIRST = 4;
const NAMES_FROM = 12;
const NAME_WIDTH = 92;
const HEAD = 18;
const GAP = 14;

/** Draws one GPU: its colour and its glyph. Also for the legend. */
export function drawGpu(ink, x, y, size, code, colours) {
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
export class FleetMap {
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
  /** The zoom of a fleet that is shown for the first time. */
  begin() {
    this.fit(FIRST_ZOOM, LARGEST_FIRST);
  }
  /** The largest zoom at which all of the fleet is in view. */
  fit(least = 0, most = SIZES.length - 1) {
    // A box as high as what it holds says how high it may be.
    const height = parseFloat(getComputedStyle(this.box).maxHeight) || this.box.clientHeight;
    for (this.#zoom = most; this.#zoom > least; --this.#zoom) {
      if (this.#flow(this.box.clientWidth).height <= height) {
        break;
      }
    }
    this.zoomBy(0);
  }

  /** Works out where racks and hosts stand, and draws them. */
  place() {
    const extent = this.#flow(this.box.clientWidth);
    this.space.style.width = `${extent.width}px`;
    this.space.style.height = `${extent.height}px`;
    const [width, height] = [this.box.clientWidth, this.box.clientHeight];
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
