/** The list of conversations: search, rename, delete. */

import { call, thread } from "./api.js";
import { announce, confirmed, find, h, icon, promptFor, toast } from "./dom.js";
import { ago, plural, sentences } from "./words.js";

const STATES = { asking: "asks you", interrupted: "cut off", running: "running", failed: "failed" };

export class Threads {
  /** @param {{ current: () => string | null, onDeleted: (id: string) => void, onRenamed: (id: string, title: string) => void }} page */
  constructor(page) {
    this.page = page;
    this.list = find("thread-list");
    this.others = find("other-threads");
    this.search = find("thread-search");
    let pause = 0;
    this.search.addEventListener("input", () => {
      clearTimeout(pause);
      pause = setTimeout(() => this.refresh({ aloud: true }), 150);
    });
  }

  async refresh({ aloud = false } = {}) {
    const query = this.search.value.trim();
    let found;
    try {
      found = await call(`/api/threads?query=${encodeURIComponent(query)}`);
    } catch {
      return;
    }
    if (query !== this.search.value.trim()) return;
    const others = found.threads.filter(({ page }) => page === false);
    this.list.replaceChildren(...found.threads.filter(({ page }) => page !== false).map((one) => this.#item(one)));
    this.others.hidden = !others.length;
    this.others.querySelector("summary").textContent = `From other programs (${others.length.toLocaleString("en")})`;
    this.others.querySelector("ul").replaceChildren(...others.map((one) => this.#item(one)));
    // What is looked for, or shown, is not hidden in a closed part.
    if (others.length && (query || others.some(({ thread_id: id }) => id === this.page.current()))) this.others.open = true;
    const none = find("no-threads");
    none.hidden = found.threads.length > 0;
    none.textContent = query ? `No conversation holds “${query}”.` : "Your conversations appear here.";
    if (aloud) announce(plural(found.threads.length, "conversation"));
  }

  /** Mark the conversation that is shown. */
  mark() {
    for (const item of document.querySelectorAll(".thread-list li")) this.#marked(item, item.dataset.id);
  }

  #marked(item, id) {
    const shown = id === this.page.current();
    item.classList.toggle("current", shown);
    if (shown) item.querySelector("a").setAttribute("aria-current", "page");
    else item.querySelector("a").removeAttribute("aria-current");
  }

  #item({ thread_id: id, title, turns, status, updated }) {
    const state = STATES[status] ? h("span.state", {}, STATES[status]) : null;
    const button = (name, label, run) => h("button.icon-button.small", { type: "button", "aria-label": `${label}: ${title}`, title: label, onclick: run }, icon(name));
    const item = h(
      "li",
      { "data-id": id },
      h("a", { href: `#/t/${encodeURIComponent(id)}`, title }, h("span.thread-title", {}, title), h("span.meta", {}, state, `${plural(turns, "question")} · ${ago(updated)}`)),
      h("span.thread-acts", {}, button("edit", "Rename", () => this.#rename(id, title)), button("bin", "Delete", () => this.#delete(id, title))),
    );
    this.#marked(item, id);
    return item;
  }

  async #rename(id, title) {
    const given = await promptFor("Rename the conversation", "Title", title);
    if (given === null || given === title) return;
    await this.#attempt(async () => {
      await call(thread(id), { method: "PATCH", json: { title: given } });
      this.page.onRenamed(id, given);
    });
  }

  async #delete(id, title) {
    if (!(await confirmed("Delete this conversation?", `“${title}” and all its answers will be gone. The documents stay.`, "Delete"))) return;
    await this.#attempt(async () => {
      await call(thread(id), { method: "DELETE" });
      this.page.onDeleted(id);
      toast("Deleted.");
    });
  }

  async #attempt(work) {
    try {
      await work();
    } catch (error) {
      toast(sentences(error));
    }
    await this.refresh();
  }
}
