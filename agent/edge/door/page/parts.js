// The parts that all views share: elements, words, and tables that stay fast with many rows. Text
// from the cluster becomes text nodes alone: no function here takes markup.

/** Rows above which a table keeps only those in view. */
const ROWS_DRAWN = 500;
/** Rows beyond the view, so that the Tab key and a slow frame find the next ones. */
const ROWS_AROUND = 15;
const ROW_HEIGHT = 25;
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

export const button = (text, act, kind) =>
  el("button", { type: "button", class: kind, on: { click: act } }, text);
/** A word with a mark of its colour; the word alone says it, too. */
const TONES = { running: "busy", scheduled: "busy", started: "busy", used: "busy", "in use": "busy",
  completed: "good", alive: "good", free: "good", queued: "warn", stopping: "warn",
  suspect: "warn", warn: "warn", withheld: "warn", quarantined: "warn", failed: "bad",
  unreachable: "bad", dead: "bad", unhealthy: "bad", alarm: "bad", masked: "odd" };
export const marked = (text, title) => ({ text, title,
  kind: `mark ${TONES[/^(in use|[a-z]*)/.exec(text)[0]] ?? "idle"}` });
export const part = (text) => encodeURIComponent(text);
export const typed = (gpus, type) => `${count(gpus)}${type ? ` ${type}` : ""}`;

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
    // It says that there is nothing only when that was read.
    this.above.hidden = this.below.hidden = this.box.hidden = this.empty.hidden = true;
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

/** Asks a person. null: not confirmed; else {text} with what the field holds. */
export function confirmed({ title, text, field, does, not }) {
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

/** A part of a view that the asker may not see, or that is not there, fails alone. */
export async function orElse(promise, place) {
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

