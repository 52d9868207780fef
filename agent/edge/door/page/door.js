// The requests to the node that served this page, once or as a stream of events.
const REQUEST_TIMEOUT_MS = 15_000;
/** A node says that a stream lives at least this often; one that says nothing is given up. */
const STREAM_SILENCE_MS = 60_000;
/** Items that one page of a list holds at most. */
export const PAGE_ITEMS = 1000;
/** A node that always names a next page ends there. */
const PAGES_MAX = 500;

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

function urlOf(path, query) {
  const url = new URL(path, document.baseURI);
  for (const [name, value] of Object.entries(query)) {
    if (value !== "" && value !== null && value !== undefined) {
      url.searchParams.set(name, value);
    }
  }
  return url;
}

const headersOf = (body) => ({ accept: "application/json", "muster-client": "page",
  ...(body === undefined ? {} : { "content-type": "application/json" }) });

/** The events of a stream (text/event-stream), from pieces of its text. */
export class EventReader {
  #rest = "";
  #name = "";
  #data = [];
  #id = "";

  constructor(take) {
    this.take = take;
  }

  read(text) {
    const lines = (this.#rest + text).split(/\r\n|\n|\r(?!$)/);
    this.#rest = lines.pop();
    lines.forEach((line) => this.#line(line));
  }

  #line(line) {
    if (line === "") {
      if (this.#data.length > 0) {
        this.take(this.#name || "message", this.#data.join("\n"), this.#id);
      }
      [this.#name, this.#data] = ["", []];
      return;
    }
    const [, name, value = ""] = /^([^:]*)(?:: ?(.*))?$/s.exec(line);
    if (name === "event") {
      this.#name = value;
    } else if (name === "data") {
      this.#data.push(value);
    } else if (name === "id") {
      this.#id = value;
    }
  }
}

/** Who asks is in a cookie that no script can read. */
export class Door {
  /** Signs in: the node puts the line of the access token into the cookie. */
  async signIn(token) {
    const { text } = await this.#send("POST", "v1/login", {}, undefined, undefined,
      { authorization: `Bearer ${token}` });
    return JSON.parse(text);
  }
  async signOut() {
    await this.#send("POST", "v1/logout", {}, undefined, undefined);
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

  /**
   * Follows `path` until its end. `take(name, data, id)` is given each event. False: the node does
   * not follow this path, so it has to be polled.
   */
  async follow(path, query, take, signal) {
    const ends = new AbortController();
    const stop = () => ends.abort();
    signal.addEventListener("abort", stop);
    let timer = setTimeout(stop, REQUEST_TIMEOUT_MS);
    try {
      const response = await fetch(urlOf(path, query), { signal: ends.signal, cache: "no-store",
        headers: { accept: "text/event-stream", "muster-client": "page" },
        credentials: "same-origin", redirect: "error" });
      if (!response.ok) {
        throw problemOf(response, await response.text());
      }
      if (!(response.headers.get("content-type") ?? "").startsWith("text/event-stream")) {
        stop();
        return false;
      }
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      const events = new EventReader(take);
      for (;;) {
        clearTimeout(timer);
        timer = setTimeout(stop, STREAM_SILENCE_MS);
        const { value, done } = await reader.read();
        if (done) {
          return true;
        }
        events.read(value);
        // While more is there, reads end at once: without a rest the page would do nothing else.
        await new Promise((resolve) => setTimeout(resolve));
      }
    } catch (error) {
      throw error instanceof Problem ? error : new Problem(0, "the stream has ended");
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", stop);
    }
  }

  async #send(method, path, query, body, signal, more = {}) {
    const url = urlOf(path, query);
    const ends = new AbortController();
    const stop = () => ends.abort();
    signal?.addEventListener("abort", stop);
    const timer = setTimeout(stop, REQUEST_TIMEOUT_MS);
    try {
      const response = await fetch(url, { method, headers: { ...headersOf(body), ...more }, body,
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
