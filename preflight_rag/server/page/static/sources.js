/** Which documents a question is asked of: some of them by name, folders, tags. Remembered in this browser. */

import { call } from "./api.js";
import { dialog, find, h, icon, toast } from "./dom.js";
import { plural, sentences } from "./words.js";

const KEY = "preflight.sources";
const PAGE = 40;
const NONE = { documents: [], folders: [], tags: [] };

const quoted = (value) => (value.includes('"') ? `'${value}'` : `"${value}"`);

/** One condition that holds for everything that was picked; null for all documents. */
export function condition({ documents, folders, tags }) {
  const parts = [];
  const awkward = documents.filter(({ id }) => id.includes('"'));
  const plain = documents.filter(({ id }) => !id.includes('"'));
  if (plain.length) parts.push(`id in (${plain.map(({ id }) => quoted(id)).join(", ")})`);
  for (const { id } of awkward) parts.push(`id = ${id}`);
  if (tags.length) parts.push(`tags in (${tags.map(quoted).join(", ")})`);
  for (const name of folders) parts.push(`folder = ${name}`);
  return parts.length ? parts.join(" || ") : null;
}

export class Sources {
  constructor() {
    try {
      this.chosen = { ...NONE, ...JSON.parse(localStorage.getItem(KEY)) };
    } catch {
      this.chosen = NONE;
    }
    find("pick-sources").addEventListener("click", () => this.pick());
    this.#show();
  }

  /** The condition for a question, or null. */
  where() {
    return condition(this.chosen);
  }

  /** Ask of this document alone. */
  only(id, name) {
    this.#keep({ ...NONE, documents: [{ id, name }] });
  }

  /** A document, or a tag, is no longer there. */
  async checked() {
    const { documents, folders, tags } = this.chosen;
    if (!documents.length && !folders.length && !tags.length) return;
    const known = await call("/api/sources");
    const names = (list) => new Set(list.map(({ name }) => name));
    const [tagNames, folderNames] = [names(known.tags), names(known.folders)];
    const there = await Promise.all(documents.map(async ({ id }) => (await call(`/api/documents?id=${encodeURIComponent(id)}`)).total > 0));
    this.#keep({ documents: documents.filter((_, place) => there[place]), folders: folders.filter((name) => folderNames.has(name)), tags: tags.filter((name) => tagNames.has(name)) });
  }

  #keep(chosen) {
    this.chosen = chosen;
    try {
      localStorage.setItem(KEY, JSON.stringify(chosen));
    } catch {
      /* storage is switched off: it holds until the page is closed */
    }
    this.#show();
  }

  #show() {
    const button = find("pick-sources");
    const text = summary(this.chosen);
    button.classList.toggle("on", text !== "All documents");
    find("sources-summary").textContent = text;
    button.title = text === "All documents" ? "Choose which documents are asked" : `Only these are asked: ${text}`;
  }

  /** The dialog. */
  async pick() {
    let known;
    try {
      known = await call("/api/sources");
    } catch (error) {
      toast(sentences(error));
      return;
    }
    const taken = { documents: new Map(this.chosen.documents.map((one) => [one.id, one.name])), folders: new Set(this.chosen.folders), tags: new Set(this.chosen.tags) };
    await dialog("Which documents are asked", (close) => this.#form(known, taken, close), { kind: "picker" });
  }

  /** Before the dialog is gone: whoever asks at once asks of these. */
  #take({ documents, folders, tags }) {
    this.#keep({ documents: [...documents].map(([id, name]) => ({ id, name })), folders: [...folders], tags: [...tags] });
  }

  #form(known, taken, close) {
    const use = h("button.button.primary", { type: "submit" });
    const all = h("button.button", { type: "button", onclick: () => (clear(taken), this.#take(taken), close(true)) }, "All documents");
    const count = () => {
      const text = summary({ documents: [...taken.documents], folders: [...taken.folders], tags: [...taken.tags] });
      all.hidden = text === "All documents";
      use.textContent = text === "All documents" ? "Ask all documents" : `Ask ${text}`;
    };
    const box = (label, count_, checked, change) => {
      const input = h("input", { type: "checkbox", checked });
      input.addEventListener("change", () => {
        change(input.checked);
        count();
      });
      return h("label.check.pick", {}, input, h("span", {}, label, count_ === null ? null : h("small", {}, ` ${count_}`)));
    };
    const flip = (set, name) => (on) => (on ? set.add(name) : set.delete(name));
    const kinds = [
      ["Tags", known.tags, taken.tags],
      ["Folders", known.folders, taken.folders],
    ].map(([title, list, set]) =>
      list.length ? h("fieldset", {}, h("legend", {}, title), h("div.picks", {}, list.map(({ name, documents }) => box(folderName(name), documents.toLocaleString("en"), set.has(name), flip(set, name))))) : null,
    );
    const list = h("div.picks.documents-picked");
    const more = h("button.button.small", { type: "button", hidden: true }, "Show more");
    const search = h("input", { type: "search", id: "pick-search", placeholder: "Search documents", autocomplete: "off", "aria-label": "Search documents" });
    let shown = 0;
    const load = async (add) => {
      const query = search.value.trim();
      let found;
      try {
        found = await call(`/api/documents?query=${encodeURIComponent(query)}&offset=${add ? shown : 0}&limit=${PAGE}`);
      } catch (error) {
        toast(sentences(error));
        return;
      }
      if (query !== search.value.trim()) return;
      const rows = found.documents.map(({ id, title, name }) => box(title || name || id, null, taken.documents.has(id), (on) => (on ? taken.documents.set(id, title || name || id) : taken.documents.delete(id))));
      const before = !add && !query ? [...taken.documents].filter(([id]) => !found.documents.some((one) => one.id === id)) : [];
      const picked = before.map(([id, name]) => box(name, null, true, (on) => (on ? taken.documents.set(id, name) : taken.documents.delete(id))));
      if (add) list.append(...rows);
      else list.replaceChildren(...picked, ...rows);
      shown = (add ? shown : 0) + found.documents.length;
      more.hidden = shown >= found.total;
      if (!list.childElementCount) list.replaceChildren(h("p.empty-note", {}, query ? `No document holds “${query}” in its title.` : "There are no documents yet."));
    };
    more.addEventListener("click", () => load(true));
    let pause = 0;
    search.addEventListener("input", () => {
      clearTimeout(pause);
      pause = setTimeout(() => load(false), 150);
    });
    const form = h(
      "form.picker-form",
      {},
      kinds,
      h("fieldset", {}, h("legend", {}, "Documents"), h("label.search", {}, icon("search"), search), list, more),
      h("div.dialog-actions", {}, all, use),
    );
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#take(taken);
      close(true);
    });
    search.addEventListener("keydown", (event) => event.key === "Enter" && event.preventDefault());
    count();
    load(false);
    return form;
  }
}

function clear(taken) {
  for (const each of Object.values(taken)) each.clear();
}

/** What the server calls the folder of uploads has a plain name here. */
const folderName = (name) => (name.endsWith("/uploads") ? "Added on this page" : name);

function summary({ documents, folders, tags }) {
  const parts = [];
  if (tags.length) parts.push(tags.length === 1 ? `“${tags[0]}”` : plural(tags.length, "tag"));
  if (folders.length) parts.push(folders.length === 1 ? folderName(folders[0]) : plural(folders.length, "folder"));
  if (documents.length) parts.push(plural(documents.length, "document"));
  return parts.join(" and ") || "All documents";
}
