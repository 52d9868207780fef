// The view of the fleet: the map, and a table that says the same.
import { PAGE_ITEMS, readPages } from "./door.js";
import { FleetMap, drawGpu } from "./map.js";
import { FleetModel, HELD, STATES, STATE_BITS, hostStateText, hostWords, isSound,
  totalsText } from "./model.js";
import { Table, button, count, counted, duration, el, hostLink, jobLink, links, marked,
  setText } from "./parts.js";

/** Pages of GPUs that are read after each list of hosts. */
const PAGES_A_POLL = 2;

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
    this.bar = el("div", { class: "bar", "aria-hidden": "true" });
    this.legend = el("ul", { class: "legend" });
    this.table = new Table("Hosts of the fleet", [{ title: "Rack", kind: "short" },
      { title: "Host", kind: "name" }, { title: "State", kind: "state" },
      { title: "GPUs", kind: "long" }, { title: "Jobs", kind: "name" }]);
    const zoom = (text, label, act) => {
      const made = button(text, act);
      made.setAttribute("aria-label", label);
      return made;
    };
    this.element = el("div", { class: "fleet" }, this.sum, this.bar, this.legend, this.storm,
      el("div", { class: "tools" }, zoom("+", "Zoom in", () => this.map.zoomBy(1)),
        zoom("−", "Zoom out", () => this.map.zoomBy(-1)),
        zoom("Fit", "Show the whole fleet", () => this.map.fit()), this.readout),
      el("div", { class: "beside" },
        el("section", { "aria-label": "Map" }, this.map.box), this.table.element),
      el("p", { id: "map-keys", class: "quiet" },
        "On the map: arrow keys move, Page Up and Page Down change the rack, Enter opens the " +
        "host, J opens the job, + and − zoom, 0 shows all. The table says the same."), this.tip);
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
    if (hasMoved && this.table.box.hidden) {
      this.map.begin();
    } else if (hasMoved) {
      this.map.place();
    }
    this.map.request();
    const { hosts } = this.#model;
    const totals = this.#model.totals();
    const sound = hosts.filter(isSound).length;
    setText(this.sum, `${counted(hosts.length, "host")}, ${count(sound)} sound; ` +
      `${counted(this.#model.gpus, "GPU")}.`);
    this.#showLegend(totals);
    this.table.show(hosts.map((host, at) => ({ key: host.host_id,
      kind: isSound(host) ? "" : host.state === "alive" ? "out" : "lost",
      cells: [host.rack ?? "-", hostLink(host.host), marked(hostWords(host),
        host.detail ?? undefined), totalsText(this.#model.totalsOf(at)) || "none",
      links(host.job_ids ?? [], (id) => jobLink(id))] })));
  }

  #showLegend(totals) {
    if (this.legend.children.length === 0) {
      STATES.forEach(() => this.legend.append(el("li", {},
        el("canvas", { width: 32, height: 32, "aria-hidden": "true" }), el("span"))));
      STATES.forEach((state) => this.bar.append(el("i", { class: state.name })));
    }
    STATES.forEach((state, code) => {
      const item = this.legend.children[code];
      item.hidden = this.bar.children[code].hidden = totals[code] === 0;
      this.bar.children[code].style.flexGrow = totals[code];
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
