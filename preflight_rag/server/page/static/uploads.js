/** Files on their way into the library: sent by this page, read by the server, found again after a reload. */

import { ApiError, call, forLibrary, OFFLINE } from "./api.js";
import { find, h, icon, toast } from "./dom.js";
import { plural, sentences } from "./words.js";

/** Files are sent in parcels, so that the first are read while the last are still on their way: guesses. */
const PARCEL_FILES = 20;
const PARCEL_BYTES = 16e6;
const PAUSE = 600;
const WORDS = {
  sending: "being sent",
  waiting: "received, waiting for its turn",
  reading: "being read",
  splitting: "being cut into passages",
  embedding: "being prepared for search",
  indexing: "being added to the search",
  ready: "ready",
  stopped: "stopped",
};
/** Where each stage begins and ends on the bar of a file. */
const SPANS = { sending: [0, 15], waiting: [15, 15], reading: [15, 45], splitting: [45, 50], embedding: [50, 92], indexing: [92, 99] };

export class Uploads {
  /** @param {{ limits: () => object, onReady: () => void, onAsk: () => void }} page */
  constructor(page) {
    this.page = page;
    this.element = h("div.uploads", { hidden: true });
    this.head = h("div.uploads-head", { "aria-live": "polite" });
    this.rows = h("div.uploads-rows");
    this.element.append(this.head, this.rows);
    this.sending = [];
    this.known = new Map();
    this.reported = new Set();
    this.views = new Map();
    this.ready = 0;
    this.polling = false;
    this.again = false;
  }

  /** Add files. */
  async add(files) {
    this.#forgetFinished();
    const limit = this.page.limits().upload_bytes ?? Infinity;
    const mine = files.map((file) => ({ file, name: file.name, stage: "sending", done: 0, total: file.size, note: "", over: false }));
    this.sending.push(...mine);
    for (const one of mine) if (one.file.size > limit) Object.assign(one, { stage: "failed", note: `larger than ${size(limit)}, which is the most that this server takes` });
    this.#draw();
    for (const parcel of parcels(mine.filter(({ stage }) => stage === "sending"))) await this.#send(parcel);
  }

  /** What the server fetches itself is on its way like a file that was sent. */
  follow(upload) {
    this.#forgetFinished();
    this.known.set(upload.id, upload);
    this.#draw();
    this.#poll();
  }

  /** The report is of what is added now: what ended before has been reported. */
  #forgetFinished() {
    if (this.isGoing()) return;
    for (const id of this.known.keys()) this.reported.add(id);
    this.known = new Map();
    this.sending = [];
    this.ready = 0;
  }

  /** Whether files are on their way. */
  isGoing() {
    return this.sending.some((one) => !isOver(one)) || [...this.known.values()].some(({ over }) => !over);
  }

  async #send(parcel) {
    const body = new FormData();
    for (const { file } of parcel) body.append("files", file);
    try {
      const upload = await sent(body, (bytes) => this.#sentSoFar(parcel, bytes));
      this.sending = this.sending.filter((one) => !parcel.includes(one));
      this.known.set(upload.id, upload);
    } catch (error) {
      for (const one of parcel) Object.assign(one, { stage: "failed", note: sentences(error) });
    }
    this.#draw();
    this.#poll();
  }

  #sentSoFar(parcel, bytes) {
    let left = bytes;
    for (const one of parcel) {
      one.done = Math.max(0, Math.min(one.total, left));
      left -= one.total;
    }
    this.#draw();
  }

  /** What this person's earlier page had sent, and what became of it. */
  async resume() {
    await this.#poll();
  }

  async #poll() {
    this.again = true;
    if (this.polling) return;
    this.polling = true;
    try {
      for (;;) {
        this.again = false;
        const uploads = (await call("/api/uploads")).uploads.filter(({ id }) => !this.reported.has(id));
        const gone = [...this.known.values()].filter(({ id, over }) => !over && !uploads.some((one) => one.id === id));
        this.known = new Map(uploads.map((one) => [one.id, one]));
        for (const upload of gone) this.known.set(upload.id, { ...upload, over: true, files: upload.files.map((file) => (isOver(file) ? file : { ...file, stage: "failed", note: "the server was started anew; see below whether it is there, or add it again" })) });
        this.#draw();
        if (uploads.every(({ over }) => over) && !this.again) break;
        await new Promise((resolve) => setTimeout(resolve, PAUSE));
      }
    } catch (error) {
      if (this.known.size) toast(sentences(error));
      if (error.code === "offline" && this.known.size) setTimeout(() => this.#poll(), 5 * PAUSE);
    } finally {
      this.polling = false;
    }
  }

  #draw() {
    const uploads = [...this.known.values()];
    const files = [...uploads.flatMap(({ id, files: list }) => list.map((file, place) => [`${id}/${place}`, file])), ...this.sending.map((one) => [one, one])];
    this.element.hidden = !files.length;
    const going = files.some(([, file]) => !isOver(file));
    find("to-library").classList.toggle("busy", going);
    const shown = new Set(files.map(([key]) => key));
    for (const [key, row] of this.views) {
      if (shown.has(key)) continue;
      row.element.remove();
      this.views.delete(key);
    }
    for (const [key, file] of files) {
      if (!this.views.has(key)) {
        this.views.set(key, new Row(file.name));
        this.rows.append(this.views.get(key).element);
      }
      this.views.get(key).show(file);
    }
    // What was not read stands first: of many files nobody looks through those that were.
    const failed = ({ stage }) => stage === "failed" || stage === "stopped";
    const order = [...files.filter(([, file]) => failed(file)), ...files.filter(([, file]) => !failed(file))].map(([key]) => this.views.get(key).element);
    if (order.some((element, place) => this.rows.children[place] !== element)) this.rows.replaceChildren(...order);
    this.#headed(uploads, files.map(([, file]) => file), going);
    const ready = files.filter(([, { stage }]) => stage === "ready").length;
    if (ready > this.ready) this.page.onReady();
    this.ready = ready;
  }

  #headed(uploads, files, going) {
    const count = (name) => uploads.reduce((sum, { report }) => sum + report[name], 0);
    const failed = files.filter(({ stage }) => stage === "failed").length;
    const ready = files.filter(({ stage }) => stage === "ready").length;
    const counts = [[count("added"), "added"], [count("updated"), "updated"], [count("skipped"), "there already"], [failed, "not read"]];
    const counted = counts.filter(([many]) => many).map(([many, word]) => `${many} ${word}`).join(", ");
    // One file's own row says how far it is; a count over it would say the same again.
    const many = files.length > 1 ? `${ready} of ${plural(files.length, "file")} ready${failed ? `, ${failed} not read` : ""}` : "";
    const text = going ? many : `${counted || "Nothing added"}.`;
    const drawn = `${going} ${text}`;
    if (this.head.dataset.text === drawn) return;
    this.head.dataset.text = drawn;
    const stop = h("button.quiet-button", { type: "button", onclick: () => this.#drop() }, icon("close"), going ? "Stop" : "Hide");
    const ask = ready ? h("button.quiet-button", { type: "button", onclick: () => this.page.onAsk() }, icon("chat"), "Ask about it") : null;
    this.head.replaceChildren(...[text ? h("strong", {}, text) : null, ask, stop].filter(Boolean));
  }

  /** Stop what is going on, or put away what is over. */
  async #drop() {
    this.sending = this.sending.filter((one) => !isOver(one));
    for (const { id, over } of [...this.known.values()]) {
      try {
        await call(`/api/uploads/${id}`, { method: "DELETE" });
      } catch {
        /* the server has forgotten it */
      }
      if (over) this.known.delete(id);
    }
    this.head.dataset.text = "";
    this.#draw();
  }
}

/** One file's row. */
class Row {
  constructor(name) {
    this.bar = h("progress", { max: "100", "aria-label": `Progress of ${name}` });
    this.note = h("span.meta");
    this.element = h("div.upload", {}, h("span.upload-name", {}, name), this.note, this.bar);
  }

  show({ stage, done, total, note, known }) {
    const text = words({ stage, done, total, note, known });
    const said = `${stage} ${text}`;
    const [from, to] = SPANS[stage] ?? [100, 100];
    this.bar.value = from + (to - from) * (total ? done / total : 0);
    if (this.said === said) return;
    this.said = said;
    this.element.classList.toggle("ok", stage === "ready");
    this.element.classList.toggle("bad", stage === "failed" || stage === "stopped");
    this.bar.hidden = isOver({ stage });
    this.note.replaceChildren(...(stage === "ready" ? [icon("check")] : isOver({ stage }) ? [icon("warn")] : []), text);
  }
}

const isOver = ({ stage }) => ["ready", "failed", "stopped"].includes(stage);

function words({ stage, done, total, note, known }) {
  if (stage === "failed") return note;
  if (stage === "ready") return [known ? "was there already" : "ready", note].filter(Boolean).join("; ");
  if (stage === "sending") return total ? `being sent, ${Math.round((100 * done) / total)} %` : WORDS.sending;
  if (stage === "reading" && total) return `being read, page ${Math.min(done + 1, total)} of ${total}`;
  if (stage === "embedding" && total) return `${WORDS.embedding}, ${Math.round((100 * done) / total)} %`;
  return WORDS[stage] ?? stage;
}

/** Files in parcels, each small enough that what it holds is soon read. */
function* parcels(files) {
  let parcel = [];
  let bytes = 0;
  for (const one of files) {
    if (parcel.length && (parcel.length === PARCEL_FILES || bytes + one.total > PARCEL_BYTES)) {
      yield parcel;
      [parcel, bytes] = [[], 0];
    }
    parcel.push(one);
    bytes += one.total;
  }
  if (parcel.length) yield parcel;
}

/** Send a form, and hear how far that is, which `fetch` does not tell. */
function sent(body, progress) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("POST", "/api/documents");
    request.setRequestHeader("Prefer", "respond-async");
    for (const [name, value] of Object.entries(forLibrary())) request.setRequestHeader(name, value);
    request.upload.addEventListener("progress", ({ loaded }) => progress(loaded));
    request.addEventListener("error", () => reject(new ApiError(OFFLINE)));
    request.addEventListener("load", () => {
      let reply = {};
      try {
        reply = JSON.parse(request.responseText);
      } catch {
        /* no JSON: the status says enough */
      }
      if (request.status === 202) resolve(reply);
      else reject(new ApiError(reply.error ?? { message: `The server answered ${request.status}.`, help: "Try again." }, request.status));
    });
    request.send(body);
  });
}

function size(bytes) {
  if (bytes < 1e6) return `${Math.max(1, Math.round(bytes / 1000)).toLocaleString("en")} kB`;
  return bytes < 1e9 ? `${(bytes / 1e6).toFixed(1)} MB` : `${(bytes / 1e9).toFixed(1)} GB`;
}
