/** The library: adding files, what is in it, taking documents out. */

import { ApiError, call, events } from "./api.js";
import { announce, confirmed, find, h, icon, promptFor, toast } from "./dom.js";
import { basename, day, plural, sentences } from "./words.js";

const PAGE = 50;

export class Library {
  /** @param {{ onChange: () => void, limits: () => object, onAsk: () => void }} page */
  constructor(page) {
    this.page = page;
    this.root = find("library");
    this.shown = 0;
    this.write = true;
    this.#build();
  }

  /** Who may not change documents sees no way to. */
  allow(write) {
    this.write = write;
    if (write && !this.drop.isConnected) this.figures.after(this.drop);
    else if (!write) this.drop.remove();
  }

  #build() {
    const pick = h("input.sr-only", { type: "file", multiple: true, id: "files", onchange: () => this.#picked(pick) });
    this.drop = h("div.drop.large", {}, pick, icon("upload"), h("label", { for: "files" }, h("strong", {}, "Choose files"), " or drop them here"), h("p.meta", {}, "PDF, Word and other office documents, web pages, e-books, mail, text, tables, records of PubMed"));
    this.uploads = h("div.uploads", { "aria-live": "polite" });
    this.figures = h("dl.figures");
    this.search = h("input", { type: "search", id: "document-search", placeholder: "Search documents", autocomplete: "off" });
    let pause = 0;
    this.search.addEventListener("input", () => {
      clearTimeout(pause);
      pause = setTimeout(() => this.#list({ aloud: true }), 150);
    });
    this.list = h("ul.documents");
    this.more = h("button.button", { type: "button", hidden: true, onclick: () => this.#list({ more: true }) }, "Show more");
    this.none = h("p.empty-note", { hidden: true });
    this.root.replaceChildren(
      h("div.library-in", {}, h("h1", {}, "Library"), this.figures, this.drop, this.uploads, h("label.search", {}, icon("search"), h("span.sr-only", {}, "Search documents"), this.search), this.list, this.none, this.more),
    );
  }

  async refresh() {
    await Promise.all([this.#figures(), this.#list({})]);
  }

  async #figures() {
    try {
      const { documents, passages, kinds } = await call("/api/stats");
      const count = (value) => (value ?? 0).toLocaleString("en");
      const figures = [["documents", count(documents)], ["passages", count(passages)]];
      const sorts = Object.entries(kinds ?? {}).sort(([, one], [, other]) => other - one).slice(0, 4);
      if (sorts.length > 1) figures.push(["kinds of file", sorts.map(([kind, many]) => `${kind.toUpperCase()} ${count(many)}`).join(" · ")]);
      this.figures.replaceChildren(...figures.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))));
    } catch (error) {
      this.figures.replaceChildren();
      toast(sentences(error));
    }
  }

  async #list({ more = false, aloud = false }) {
    const query = this.search.value.trim();
    const offset = more ? this.shown : 0;
    let found;
    try {
      found = await call(`/api/documents?query=${encodeURIComponent(query)}&offset=${offset}&limit=${PAGE}`);
    } catch (error) {
      toast(sentences(error));
      return;
    }
    if (query !== this.search.value.trim()) return;
    const rows = found.documents.map((one) => this.#row(one));
    if (more) this.list.append(...rows);
    else this.list.replaceChildren(...rows);
    this.shown = offset + rows.length;
    this.more.hidden = this.shown >= found.total;
    this.none.hidden = found.total > 0;
    this.none.textContent = query ? `No document holds “${query}” in its title or source.` : "Nothing here yet.";
    if (aloud) announce(plural(found.total, "document"));
  }

  #row({ tags = [], id, title, name: file_name, source, date, passages, file, gone }) {
    const origin = file_name || basename(source || id);
    const name = title || origin;
    const address = `/api/documents/file?id=${encodeURIComponent(id)}`;
    const ask = h("button.icon-button.small", { type: "button", "aria-label": `Ask this document: ${name}`, title: "Ask this document alone", onclick: () => this.page.onAskOf(id, name) }, icon("chat"));
    const label = h("button.icon-button.small", { type: "button", "aria-label": `Tags: ${name}`, title: "Tags", onclick: () => this.#tag(id, name, tags) }, icon("tag"));
    const remove = h("button.icon-button.small", { type: "button", "aria-label": `Delete: ${name}`, title: "Delete", onclick: () => this.#delete(id, name) }, icon("bin"));
    const heading = file ? h("a", { href: address, target: "_blank", rel: "noopener" }, name) : name;
    const meta = [origin !== name && origin, date && day(date), plural(passages, "passage"), gone && "its file is no longer there"].filter(Boolean).join(" · ");
    return h("li", {}, icon("file"), h("div", {}, h("h2", {}, heading), h("p.meta", {}, meta), tags.length ? h("p.tags", {}, tags.map((one) => h("span.tag", {}, one))) : null), h("span.row-acts", {}, ask, this.write ? [label, remove] : null));
  }

  async #tag(id, name, tags) {
    const given = await promptFor(`Tags of “${name}”`, "Tags, with commas between them", tags.join(", "), { required: false });
    if (given === null) return;
    try {
      await call(`/api/documents?id=${encodeURIComponent(id)}`, { method: "PATCH", json: { tags: given.split(",") } });
    } catch (error) {
      toast(sentences(error));
    }
    await this.#list({});
    this.page.onGone();
  }

  async #delete(id, name) {
    if (!(await confirmed("Delete this document?", `“${name}” will no longer be found. Answers that cite it keep their quotes.`, "Delete"))) return;
    try {
      await call(`/api/documents?id=${encodeURIComponent(id)}`, { method: "DELETE" });
      toast("Deleted.");
      this.page.onGone();
    } catch (error) {
      toast(sentences(error));
    }
    this.page.onChange();
    await this.refresh();
  }

  #picked(input) {
    const files = [...input.files];
    input.value = "";
    if (files.length) this.upload(files);
  }

  /** Add files: one row each, which moves on with the server's events. */
  async upload(files) {
    const limit = this.page.limits().upload_bytes ?? Infinity;
    const rows = files.map((file) => new Upload(file.name));
    this.uploads.replaceChildren(...rows.map((row) => row.element));
    const whole = files.reduce((sum, file) => sum + file.size, 0);
    if (whole > limit) {
      for (const row of rows) row.failed(`these files are larger than ${size(limit)} together; send fewer at once`);
      return;
    }
    const body = new FormData();
    for (const file of files) body.append("files", file);
    const known = new Map();
    try {
      for await (const { name, data } of events("/api/documents", { body })) this.#uploaded({ rows, known }, name, data);
    } catch (error) {
      for (const row of rows) row.failed(sentences(error));
    }
    for (const row of rows) row.failed("the server did not say what became of it; look for it below");
    this.page.onChange();
    await this.refresh();
  }

  /** The server names files in its own way, first all of them in the order in which they were sent. */
  #uploaded({ rows, known }, event, data) {
    if (event === "error") throw new ApiError(data);
    if (event === "report") this.#reported(rows, known, data);
    if (event !== "progress") return;
    if (data.stage === "received") known.set(data.name, [...(known.get(data.name) ?? []), rows[[...known.values()].flat().length]]);
    else if (data.stage === "documents") for (const row of known.get(data.name) ?? []) row.moved("read");
    else for (const row of rows) row.moved("being indexed", data);
  }

  #reported(rows, known, { added, updated, skipped, failed }) {
    for (const { name, reason } of failed) for (const row of known.get(name) ?? []) row.failed(reason);
    for (const row of rows) row.done("ready");
    const counts = [[added, "added"], [updated, "updated"], [skipped, "there already"], [failed.length, "not read"]];
    const counted = counts.filter(([count]) => count).map(([count, word]) => `${count} ${word}`).join(", ");
    const ask = added + updated + skipped ? h("button.quiet-button", { type: "button", onclick: () => this.page.onAsk() }, icon("chat"), "Ask about it") : null;
    this.uploads.append(h("p.upload-report", {}, h("strong", {}, `${counted || "Nothing added"}.`), " ", ask));
  }
}

/** One file on its way. */
class Upload {
  constructor(name) {
    this.bar = h("progress", { "aria-label": `Progress of ${name}` });
    this.note = h("span.meta", {}, "sending");
    this.element = h("div.upload", {}, h("span.upload-name", {}, name), this.note, this.bar);
    this.over = false;
  }

  moved(text, { done = null, total = null } = {}) {
    if (this.over) return;
    this.note.textContent = text;
    if (!total) return;
    this.bar.max = total;
    this.bar.value = done;
  }

  done(text) {
    if (this.over) return;
    this.over = true;
    this.bar.remove();
    this.element.classList.add("ok");
    this.note.replaceChildren(icon("check"), text);
  }

  failed(reason) {
    if (this.over) return;
    this.over = true;
    this.bar.remove();
    this.element.classList.add("bad");
    this.note.replaceChildren(icon("warn"), reason);
  }
}

function size(bytes) {
  if (bytes < 1e6) return `${Math.max(1, Math.round(bytes / 1000)).toLocaleString("en")} kB`;
  return bytes < 1e9 ? `${(bytes / 1e6).toFixed(1)} MB` : `${(bytes / 1e9).toFixed(1)} GB`;
}
