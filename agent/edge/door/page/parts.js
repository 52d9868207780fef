// The parts that all views share: elements, words, tables that stay fast with many rows, and the
// requests to this node. Text from the cluster becomes text nodes alone: no function here takes
// markup.

/** Rows above which a table keeps only those in view. */
const ROWS_DRAWN = 500;
/** Rows beyond the view, so that the Tab key and a slow frame find the next ones. */
const ROWS_AROUND = 15;
const ROW_HEIGHT = 30;
const REQUEST_TIMEOUT_MS = 15_000;
/** Items that one page of a list holds at most. */
export const PAGE_ITEMS = 1000;
/** A node that always names a next page ends there. */
const PAGES_MAX = 500;
const TOKEN_PLACE = "muster-access";
/** Control characters, and marks that turn the direction of text, would forge what people read. */
const UNPRINTABLE =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

export function plain(text) {
  return String(text).replace(UNPRINTABLE, "\uFFFD");
}

/**
 * An element. `properties` are attributes; `on` holds its listeners; a value of false, null or
 * undefined leaves the attribute out. Children are elements or text.
 */
export function el(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name === "on") {
      for (const [event, listener] of Object.entries(value)) {
        made.addEventListener(event, listener);
      }
    } else if (value !== false && value !== null && value !== undefined) {
      made.setAttribute(name, value === true ? "" : value);
    }
  }
  made.append(...children.flat().filter((child) => child !== null && child !== undefined)
    .map((child) => (child instanceof Node ? child : plain(child))));
  return made;
}

/** Sets it only if it differs: a live region then says nothing twice, and a selection stays. */
export function setText(element, text) {
  const wanted = plain(text);
  if (element.textContent !== wanted) {
    element.textContent = wanted;
  }
}

const numbers = new Intl.NumberFormat("en");
export const count = (number) => numbers.format(number);
export const counted = (number, one, many = `${one}s`) =>
  `${count(number)} ${number === 1 ? one : many}`;

export function duration(ms) {
  if (ms === null || ms === undefined) {
    return "-";
  }
  const seconds = Math.floor(ms / 1000);
  const [minutes, hours, days] = [60, 3600, 86400].map((unit) => Math.floor(seconds / unit));
  if (days > 0) {
    return `${days} d ${hours % 24} h`;
  }
  if (hours > 0) {
    return `${hours} h ${minutes % 60} min`;
  }
  return minutes > 0 ? `${minutes} min ${seconds % 60} s` : `${seconds} s`;
}

const pad = (number) => String(number).padStart(2, "0");
/** In the time zone of the browser. */
export function wallTime(unixMs) {
  if (!unixMs) {
    return "-";
  }
  const at = new Date(unixMs);
  return `${at.getFullYear()}-${pad(at.getMonth() + 1)}-${pad(at.getDate())} ` +
    `${pad(at.getHours())}:${pad(at.getMinutes())}:${pad(at.getSeconds())}`;
}

export function bytesText(bytes) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let [amount, unit] = [bytes, 0];
  for (; amount >= 1024 && unit + 1 < units.length; ++unit) {
    amount /= 1024;
  }
  return `${amount >= 10 || unit === 0 ? Math.round(amount) : amount.toFixed(1)} ${units[unit]}`;
}

/** 1500 -> "1.5", 8000 -> "8". */
export const thousandths = (amount) => numbers.format(Math.round(amount / 100) / 10);

export const jobLink = (id, text = String(id)) =>
  ({ text, href: `#/job/${encodeURIComponent(id)}` });
export const hostLink = (name) => ({ text: name, href: `#/host/${encodeURIComponent(name)}` });

/** At most `most` links, then the number of the others. */
export function links(items, toLink, most = 3) {
  const shown = items.slice(0, most).map(toLink);
  return items.length > most ? [...shown, { text: `+${items.length - most}` }] : shown;
}

/** Names and what stands there, as a description list. */
export function fields(pairs) {
  const list = el("dl", { class: "fields" });
  showFields(list, pairs);
  return list;
}
export function showFields(list, pairs) {
  const shown = pairs.filter(([, value]) => value !== null && value !== undefined && value !== "");
  while (list.children.length > shown.length) {
    list.lastChild.remove();
  }
  shown.forEach(([name, value], at) => {
    if (at >= list.children.length) {
      list.append(el("div", {}, el("dt"), el("dd")));
    }
    const [term, place] = list.children[at].children;
    setText(term, name);
    fill(place, value);
  });
}

const partsOf = (cell) => (Array.isArray(cell) ? cell : [cell ?? ""])
  .map((part) => (typeof part === "object" ? part : { text: String(part) }));

/**
 * A cell is text, or {text, href, kind, title}, or an array of these. An element that shows it
 * already is left alone, so that the focus on its link stays.
 */
function fill(place, cell) {
  const parts = partsOf(cell);
  const told = parts.map((part) => `${part.text}\u0001${part.href ?? ""}\u0001${part.kind ?? ""}` +
    `\u0001${part.title ?? ""}`).join("\u0002");
  if (place.told === told) {
    return;
  }
  place.told = told;
  place.replaceChildren(...parts.flatMap((part, at) => {
    const made = part.href
      ? el("a", { href: part.href, title: part.title, class: part.kind }, part.text)
      : part.kind || part.title
        ? el("span", { class: part.kind, title: part.title }, part.text)
        : document.createTextNode(plain(part.text));
    return at === 0 ? [made] : [document.createTextNode(", "), made];
  }));
}

/**
 * A table in a box that scrolls. Each column is {title, kind}. Beyond ROWS_DRAWN rows only those in
 * view are elements; assistive technology learns the number of all of them.
 */
export class Table {
  #columns;
  #rows = [];
  #drawn = new Map();
  #height = ROW_HEIGHT;
  #isAsked = false;

  constructor(caption, columns, empty = "There is nothing to list.") {
    this.#columns = columns;
    this.above = el("tr", { "aria-hidden": "true" }, el("td", { colspan: columns.length }));
    this.below = el("tr", { "aria-hidden": "true" }, el("td", { colspan: columns.length }));
    this.body = el("tbody", {}, this.above, this.below);
    this.caption = el("caption", {}, caption);
    this.table = el("table", {}, this.caption,
      el("thead", {}, el("tr", { "aria-rowindex": 1 }, columns.map((column) =>
        el("th", { scope: "col", class: column.kind }, column.title)))), this.body);
    this.empty = el("p", { class: "quiet" }, empty);
    this.box = el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": caption,
      on: { scroll: () => this.#ask() } }, this.table);
    this.element = el("div", { class: "listed" }, this.box, this.empty);
    this.above.hidden = this.below.hidden = true;
    this.show([]);
  }

  /** Each row is {key, cells, kind}; keys differ. */
  show(rows) {
    this.#rows = rows;
    this.empty.hidden = rows.length > 0;
    this.box.hidden = rows.length === 0;
    this.table.setAttribute("aria-rowcount", rows.length + 1);
    this.table.classList.toggle("virtual", rows.length > ROWS_DRAWN);
    this.#draw();
  }

  #ask() {
    if (this.#rows.length > ROWS_DRAWN && !this.#isAsked) {
      this.#isAsked = true;
      requestAnimationFrame(() => {
        this.#isAsked = false;
        this.#draw();
      });
    }
  }

  #inView() {
    const all = this.#rows.length;
    if (all <= ROWS_DRAWN) {
      return [0, all];
    }
    const top = Math.floor(this.box.scrollTop / this.#height);
    const first = Math.max(0, Math.min(top, all) - ROWS_AROUND);
    const seen = Math.ceil((this.box.clientHeight || 600) / this.#height);
    return [first, Math.min(all, first + seen + 2 * ROWS_AROUND)];
  }

  #draw() {
    const [first, end] = this.#inView();
    const focused = this.box.contains(document.activeElement) ? document.activeElement : null;
    const wanted = new Set();
    for (let at = first; at < end; ++at) {
      wanted.add(this.#rows[at].key);
    }
    for (const [key, row] of this.#drawn) {
      if (!wanted.has(key)) {
        row.remove();
        this.#drawn.delete(key);
      }
    }
    let next = this.above.nextSibling;
    for (let at = first; at < end; ++at) {
      const row = this.#rowAt(at);
      if (row === next) {
        next = next.nextSibling;
      } else {
        this.body.insertBefore(row, next);
      }
    }
    this.#stretch(this.above, first);
    this.#stretch(this.below, this.#rows.length - end);
    this.#measure();
    if (focused && focused !== document.activeElement) {
      (this.box.contains(focused) ? focused : this.box).focus({ preventScroll: true });
    }
  }

  #rowAt(at) {
    const { key, cells, kind } = this.#rows[at];
    let row = this.#drawn.get(key);
    if (!row) {
      row = el("tr", {}, this.#columns.map((column) => el("td", { class: column.kind })));
      this.#drawn.set(key, row);
    }
    row.className = kind ?? "";
    row.setAttribute("aria-rowindex", at + 2);
    cells.forEach((cell, column) => fill(row.children[column], cell));
    return row;
  }

  #stretch(row, rows) {
    row.hidden = rows === 0;
    row.firstChild.style.height = `${rows * this.#height}px`;
  }

  /** The height of a row depends on the fonts of the reader. */
  #measure() {
    const height = this.above.nextSibling?.offsetHeight;
    if (this.#rows.length > ROWS_DRAWN && height > 0 && height !== this.#height) {
      this.#height = height;
      this.#ask();
    }
  }
}

/** An answer that is no success. `status` 0: no answer came. */
export class Problem extends Error {
  constructor(status, detail, retryMs = 0) {
    super(detail);
    this.status = status;
    this.retryMs = retryMs;
  }
}

function problemOf(response, text) {
  let told = {};
  try {
    told = JSON.parse(text) ?? {};
  } catch {
    // A proxy before the node may answer in another format.
  }
  const seconds = Number(response.headers.get("retry-after")) || 0;
  const detail = told.detail ?? told.error ?? told.title ?? `the answer was ${response.status}`;
  return new Problem(response.status, detail, Math.max(told.retry_after_ms ?? 0, seconds * 1000));
}

/** The requests to the node that served this page. */
export class Door {
  #token;

  constructor() {
    this.#token = sessionStorage.getItem(TOKEN_PLACE) ?? "";
  }

  get hasToken() {
    return this.#token !== "";
  }
  /** sessionStorage ends with the tab; no other tab and no other site can read it. */
  keep(token) {
    this.#token = token;
    if (token === "") {
      sessionStorage.removeItem(TOKEN_PLACE);
    } else {
      sessionStorage.setItem(TOKEN_PLACE, token);
    }
  }

  /** {body, ageMs, next}; `next` is the place where the next page of a list begins, or null. */
  async get(path, query = {}, signal = undefined) {
    const { text, ageMs, next } = await this.#send("GET", path, query, undefined, signal);
    const body = JSON.parse(text);
    return { body, ageMs: Number(ageMs ?? body.age_ms ?? 0), next };
  }

  /** The same of lines of JSON: the body is an array. */
  async getLines(path, query = {}, signal = undefined) {
    const { text, ageMs, next } = await this.#send("GET", path, query, undefined, signal);
    const body = text.split("\n").filter((line) => line !== "").map((line) => JSON.parse(line));
    return { body, ageMs: Number(ageMs ?? 0), next };
  }

  /** An order without `body` has none: some refuse an empty one. */
  async post(path, body = undefined) {
    const sent = body === undefined ? undefined : JSON.stringify(body);
    const { text } = await this.#send("POST", path, {}, sent, undefined);
    return text === "" ? {} : JSON.parse(text);
  }

  async #send(method, path, query, body, signal) {
    const url = new URL(path, document.baseURI);
    for (const [name, value] of Object.entries(query)) {
      if (value !== "" && value !== null && value !== undefined) {
        url.searchParams.set(name, value);
      }
    }
    const ends = new AbortController();
    const stop = () => ends.abort();
    signal?.addEventListener("abort", stop);
    const timer = setTimeout(stop, REQUEST_TIMEOUT_MS);
    try {
      const response = await fetch(url, { method, headers: this.#headers(body), body,
        signal: ends.signal, cache: "no-store", credentials: "same-origin", redirect: "error" });
      const text = await response.text();
      if (!response.ok) {
        throw problemOf(response, text);
      }
      return { text, ageMs: response.headers.get("muster-age-ms"),
        next: response.headers.get("muster-next") };
    } catch (error) {
      throw error instanceof Problem ? error : new Problem(0, "the node does not answer");
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener("abort", stop);
    }
  }

  #headers(body) {
    const headers = { accept: "application/json", "muster-client": "page" };
    if (this.#token !== "") {
      headers.authorization = `Bearer ${this.#token}`;
    }
    if (body !== undefined) {
      headers["content-type"] = "application/json";
    }
    return headers;
  }
}

/**
 * Pages of a list: `path` answers {[key]: [...]}, and where the next page begins. `take` is given
 * the items of each page, the document, and the place where it began; false ends the reading.
 */
export async function readPages(ask, path, query, key, take) {
  let { after = null } = query;
  for (let page = 0; page < PAGES_MAX; ++page) {
    const { body, next } = await ask(path, { ...query, limit: PAGE_ITEMS, after });
    if (take(body[key], body, after) === false || next === null || next === after) {
      return;
    }
    after = next;
  }
}
