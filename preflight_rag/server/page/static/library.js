/** The library: adding files, what is in it, taking documents out. */

import { call, questionsOf } from "./api.js";
import { announce, confirmed, find, h, icon, promptFor, toast } from "./dom.js";
import { Uploads } from "./uploads.js";
import { asSentence, basename, dateOf, isWeb, namesApart, plural, sentences } from "./words.js";

const PAGE = 50;
const OPENED = 3; // new documents whose overview is opened at once: a guess at what fits a screen
const SHOWN_COUNTS = 4; // of what was read of a document, before its details are opened

/** What was read of a document, and what was left out; one of which less than expected was read is marked. */
function readReport(read) {
  if (!read || !(read.summary.length || read.left_out.length || read.less.length)) return null;
  const all = asSentence(`read: ${read.summary.join(", ")}`);
  const less = read.less.map((reason) => h("p.less", {}, asSentence(`less than expected was read: ${reason}`)));
  const left = read.left_out.map(({ what, why }) => h("p", {}, asSentence(`left out: ${what}${why ? ` (${why})` : ""}`)));
  if (!less.length && !left.length && read.summary.length <= SHOWN_COUNTS) return h("p.meta.read", {}, all);
  const mark = less.length ? h("span.less", {}, icon("warn"), "Less than expected was read") : left.length ? h("span", {}, "Not all of it was read") : null;
  const some = `Read: ${read.summary.slice(0, SHOWN_COUNTS).join(", ")}${read.summary.length > SHOWN_COUNTS ? ", …" : ""}`;
  return h("details.read", {}, h("summary.meta", {}, mark, h("span", {}, some), h("span.show", {}, "Details")), h("div.meta", {}, h("p", {}, all), less, left));
}

/** What a document is and what it answers, asked for when it is opened; a question goes to this document alone. */
function overview(id, name, onQuestion) {
  const body = h("div.overview-body");
  const node = h("details.overview", {}, h("summary.meta", {}, h("span.show", {}, "Overview"), h("span.sr-only", {}, `: ${name}`)), body);
  node.addEventListener("toggle", async () => {
    if (!node.open || body.childNodes.length) return;
    const waits = h("p.meta", { role: "status" }, "Asking it questions, to show those that it answers …");
    body.append(waits);
    try {
      const address = `id=${encodeURIComponent(id)}`;
      const { what, gist, audience } = await call(`/api/documents/overview?${address}`);
      waits.before(h("p", {}, h("strong", {}, what), audience ? ` · for ${audience}` : ""), ...(gist ? [h("p.gist", {}, `“${gist}”`)] : []));
      if (!node.isConnected) return; // the list was drawn anew, or the document is gone
      const questions = await questionsOf(`/api/documents/questions?${address}`, () => node.isConnected);
      const list = questions.map((one) => h("li", {}, h("button", { type: "button", onclick: () => onQuestion(one) }, one)));
      waits.replaceWith(...(list.length ? [h("p.meta", {}, "It answers, for example:"), h("ul.suggestions", {}, list)] : []));
    } catch (error) {
      body.replaceChildren(h("p.meta", {}, sentences(error)));
    }
  });
  return node;
}

/** Which details of which document these are. */
const placeOf = (details) => `${details.classList[0]} ${details.closest("li").dataset.id}`;

export class Library {
  /** @param {{ onChange: () => void, limits: () => object, onAsk: () => void, onQuestion: (id: string, name: string, question: string) => void }} page */
  constructor(page) {
    this.page = page;
    this.root = find("library");
    this.shown = 0;
    this.known = null; // documents that were listed when files were last chosen
    this.opened = new Set(); // of those that came since, whose overview was opened
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
    this.drop = h("div.drop.large", {}, pick, icon("upload"), h("label", { for: "files" }, h("strong", {}, "Choose files"), " or drop them here"), " ", h("button.quiet-button", { type: "button", onclick: () => this.page.onPaste() }, "Paste text"), " ", h("button.quiet-button", { type: "button", onclick: () => this.page.onAddress() }, "Add from the web"), h("p.meta", {}, "PDF, Word and other office documents, web pages, e-books, mail, text, tables, records of PubMed"));
    this.uploads = new Uploads({ limits: this.page.limits, onReady: () => this.#grown(), onAsk: () => this.page.onAsk() });
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
      h("div.library-in", {}, h("h1", {}, "Library"), this.figures, this.drop, this.uploads.element, h("label.search", {}, icon("search"), h("span.sr-only", {}, "Search documents"), this.search), this.list, this.none, this.more),
    );
  }

  /** Files have become ready: they are in the list at once. */
  #grown() {
    clearTimeout(this.growing);
    this.growing = setTimeout(async () => {
      this.page.onChange();
      const before = new Set(this.opened);
      await this.refresh();
      // What was just added tells what it is; of many only the first few.
      const fresh = [...this.list.children].filter(({ dataset: { id } }) => this.known && !this.known.has(id) && !before.has(id));
      for (const row of fresh.slice(0, Math.max(0, OPENED - before.size))) this.#openOverview(row);
    }, 150);
  }

  #openOverview(row) {
    this.opened.add(row.dataset.id);
    row.querySelector("details.overview").open = true;
  }

  /** What an earlier page of this person had begun to add. */
  async resume() {
    if (this.write) await this.uploads.resume();
  }

  async refresh() {
    await Promise.all([this.#figures(), this.#list({})]);
  }

  async #figures() {
    try {
      const { documents, kinds } = await call("/api/stats");
      const count = (value) => (value ?? 0).toLocaleString("en");
      const figures = [["documents", count(documents)]];
      const sorts = Object.entries(kinds ?? {}).sort(([, one], [, other]) => other - one);
      if (sorts.length > 1) figures.push(["kinds of file", sorts.map(([kind, many]) => `${kind ? kind.toUpperCase() : "no file"} ${count(many)}`).join(" · ")]);
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
    const nameOfFile = namesApart(found.documents.map(({ source, id }) => source || id));
    const rows = found.documents.map((one) => this.#row(one, nameOfFile));
    const open = new Set([...this.list.querySelectorAll("details[open]")].map(placeOf)); // a redrawn list closes nothing
    if (more) this.list.append(...rows);
    else this.list.replaceChildren(...rows);
    this.#shownOnce();
    for (const details of this.list.querySelectorAll("details")) {
      const fresh = details.classList.contains("overview") && this.opened.has(details.closest("li").dataset.id);
      if (fresh || open.has(placeOf(details))) details.open = true;
    }
    this.shown = offset + rows.length;
    this.more.hidden = this.shown >= found.total;
    this.none.hidden = found.total > 0;
    this.none.textContent = query ? `No document holds “${query}” in its title or source.` : "Nothing here yet.";
    if (aloud) announce(plural(found.total, "document"));
  }

  /** A file with the text of another one stands with that one, as where else it is. */
  #shownOnce() {
    const all = new Map([...this.list.querySelectorAll("li[data-id]")].map((row) => [row.dataset.id, row]));
    for (const row of [...this.list.children]) {
      const original = all.get(row.dataset.copyOf);
      if (!original || original === row || original.contains(row)) continue;
      let copies = original.querySelector(":scope > div > details.copies");
      if (!copies) {
        copies = h("details.copies", {}, h("summary.meta"), h("ul.documents"));
        original.querySelector(":scope > div").append(copies);
      }
      copies.lastChild.append(row);
      const names = [...copies.lastChild.children].map(({ dataset: { name } }) => name);
      copies.firstChild.replaceChildren(h("span.show", {}, `Also in ${names.join(", ")}`), " · the same text, searched once");
    }
  }

  #row({ read = null, tags = [], id, title, name: file_name, source, date, saved, file, gone, url, copy_of: copyOf = "" }, nameOfFile) {
    const path = source || id;
    const origin = nameOfFile(path) === basename(path) ? file_name || basename(path) : nameOfFile(path);
    const name = title || origin;
    const address = `/api/documents/file?id=${encodeURIComponent(id)}`;
    const ask = h("button.icon-button.small", { type: "button", "aria-label": `Ask this document: ${name}`, title: "Ask this document alone", onclick: () => this.page.onAskOf(id, name) }, icon("chat"));
    const label = h("button.icon-button.small", { type: "button", "aria-label": `Tags: ${name}`, title: "Tags", onclick: () => this.#tag(id, name, tags) }, icon("tag"));
    const remove = h("button.icon-button.small", { type: "button", "aria-label": `Delete: ${name}`, title: "Delete", onclick: () => this.#delete(id, name) }, icon("bin"));
    const to = file ? address : isWeb(url) ? url : null;
    const heading = to ? h("a", { href: to, target: "_blank", rel: "noopener noreferrer" }, name) : name;
    const meta = [origin !== name && origin, dateOf({ date, file_saved: saved }), gone && "its file is no longer there", copyOf && `shares text with ${basename(copyOf)}, searched once`].filter(Boolean).join(" · ");
    const about = overview(id, name, (question) => this.page.onQuestion(id, name, question));
    return h("li", { "data-id": id, "data-copy-of": copyOf || null, "data-name": origin }, icon("file"), h("div", {}, h("h2", {}, heading), h("p.meta", {}, meta), tags.length ? h("p.tags", {}, tags.map((one) => h("span.tag", {}, one))) : null, readReport(read), about), h("span.row-acts", {}, ask, this.write ? [label, remove] : null));
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

  /** What is listed before documents are added, so that those which come are known as new. */
  async #before() {
    if (this.uploads.isGoing()) return;
    const listed = await call("/api/documents?limit=500").catch(() => ({ documents: [] }));
    [this.known, this.opened] = [new Set(listed.documents.map(({ id }) => id)), new Set()];
  }

  /** Show what becomes of something that the server fetches. */
  async follow(upload) {
    await this.#before();
    this.uploads.follow(upload);
  }

  /** Add files; what has become of them is shown as it comes. */
  async upload(files) {
    await this.#before();
    return this.uploads.add(files);
  }
}
