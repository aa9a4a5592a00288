/** The conversation: opening one, asking, streaming, stopping, going on. */

import { ApiError, call, events, OFFLINE, thread } from "./api.js";
import { find, h, toast } from "./dom.js";
import { TurnView } from "./turn.js";
import { sentences } from "./words.js";

const CUT_OFF = "This answer was not finished.";

export class Chat {
  /** @param {{ evidence, settings, threads, welcome: () => Node, go: (hash: string, quiet?: boolean) => void }} page */
  constructor(page) {
    this.page = page;
    this.id = null;
    this.runs = new Map();
    this.opened = 0;
    this.question = find("question");
    this.turns = find("turns");
    this.#listen();
    this.startNew();
  }

  #listen() {
    find("composer").addEventListener("submit", (event) => {
      event.preventDefault();
      this.send();
    });
    this.question.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
      event.preventDefault();
      this.send();
    });
    this.question.addEventListener("input", () => this.#grow());
    find("stop").addEventListener("click", () => this.stop());
  }

  #grow() {
    this.question.style.height = "auto";
    this.question.style.height = `${Math.min(this.question.scrollHeight, 220)}px`;
    find("send").disabled = !this.question.value.trim();
  }

  #parts() {
    return {
      evidence: this.page.evidence,
      partitionSize: this.page.settings.partitionSize,
      again: (question, options) => this.ask(question, options),
      reload: () => this.#show(this.id),
      reply: (view, choice) => this.#goOn(view, "reply", { choice }),
      resume: (view) => this.#goOn(view, "resume", {}),
    };
  }

  /** An empty conversation; its id comes with its first answer. */
  startNew() {
    this.id = null;
    this.opened += 1;
    this.turns.replaceChildren(this.page.welcome());
    this.#titled("");
    this.page.evidence.clear();
    this.#controls();
    this.#grow();
  }

  #titled(title) {
    find("chat-head").hidden = !this.id;
    find("chat-title").textContent = title;
    if (this.id) find("export").href = `${thread(this.id)}/export`;
    document.title = title ? `${title} - Preflight RAG` : "Preflight RAG";
  }

  /** Show a conversation; what still runs in it goes on running. */
  async open(id) {
    if (id !== this.id) await this.#show(id);
  }

  async #show(id) {
    const opened = (this.opened += 1);
    this.id = id;
    this.#controls();
    let found;
    try {
      found = await call(thread(id));
    } catch (error) {
      if (opened !== this.opened) return;
      toast(sentences(error));
      this.page.go("#/");
      return;
    }
    if (opened !== this.opened) return;
    const running = this.runs.get(id);
    const views = found.turns.filter((turn) => !(running && turn.status === "running")).map((turn) => this.#restored(turn));
    if (running) views.push(running.view);
    this.turns.replaceChildren(...views.map((view) => view.element));
    this.#titled(found.title);
    this.#latest();
    const last = views.findLast((view) => view.answer);
    if (last) this.page.evidence.show(last, { open: false });
    else this.page.evidence.clear();
  }

  #restored({ question, status, answer, html, error, clarification }) {
    const view = new TurnView(question, this.#parts());
    if (answer) view.finish(answer, html, { quiet: true });
    else if (clarification && status === "asking") view.clarify(clarification);
    else if (status === "failed") view.fail({ message: error?.message ?? error ?? "This turn failed.", help: error?.help }, { resumable: true });
    else view.stopped(CUT_OFF);
    return view;
  }

  #latest({ smooth = false } = {}) {
    for (const turn of this.turns.children) turn.classList.toggle("latest", turn === this.turns.lastElementChild);
    this.turns.lastElementChild?.scrollIntoView({ block: "start", behavior: smooth ? "smooth" : "instant" });
  }

  send() {
    const question = this.question.value.trim();
    if (!question) return;
    if (this.runs.has(this.id)) {
      toast("An answer is being written; Esc stops it.");
      return;
    }
    this.question.value = "";
    this.#grow();
    this.ask(question);
  }

  /** Ask in this conversation. */
  async ask(question, { discard = false } = {}) {
    if (this.runs.has(this.id)) return;
    if (!this.id) this.turns.replaceChildren();
    const view = new TurnView(question, this.#parts());
    this.turns.append(view.element);
    this.question.focus({ preventScroll: true });
    const json = { question, ...this.page.settings.body(), stream: true, html: true };
    if (this.id) json.thread_id = this.id;
    if (discard) json.discard = true;
    await this.#run(view, "/api/ask", json);
  }

  async #goOn(view, verb, more) {
    if (this.runs.has(this.id)) return;
    await this.#run(view, `${thread(this.id)}/${verb}`, { ...more, stream: true, html: true });
  }

  async #run(view, path, json) {
    const run = { view, id: this.id, abort: new AbortController(), ended: false };
    this.runs.set(run.id, run);
    view.start();
    this.#latest({ smooth: true });
    this.#controls();
    try {
      for await (const event of events(path, { json, signal: run.abort.signal })) this.#take(run, event);
      if (!run.ended) throw new ApiError({ ...OFFLINE, message: "The connection was lost before the answer was whole." });
    } catch (error) {
      if (error.name === "AbortError") view.stopped();
      else view.fail(error, { resumable: Boolean(run.id) && error.code === "offline" });
    } finally {
      this.runs.delete(run.id);
      this.#controls();
      this.page.threads.refresh();
    }
  }

  #take(run, { name, data }) {
    const { view } = run;
    if (name === "start") this.#named(run, data);
    else if (name === "progress") view.moved(data);
    else if (name === "stage") view.ended(data);
    else if (name === "html") view.html(data.html);
    else if (name === "clarify") view.clarify(data);
    else if (name === "answer") view.finish(data.answer, data.html);
    else if (name === "error") view.fail(data);
    else if (name === "stopped") view.stopped();
    run.ended ||= ["clarify", "answer", "error", "stopped"].includes(name);
  }

  #named(run, { thread_id: id }) {
    if (run.id === id) return;
    const shown = this.id === run.id && run.view.element.isConnected;
    this.runs.delete(run.id);
    run.id = id;
    this.runs.set(id, run);
    if (!shown) return;
    this.id = id;
    this.#titled(run.view.question);
    this.page.go(`#/t/${encodeURIComponent(id)}`, true);
    this.page.threads.refresh();
    this.#controls();
  }

  /** Stop what is being written in this conversation. */
  async stop() {
    const run = this.runs.get(this.id);
    if (!run) return;
    find("stop").disabled = true;
    const late = setTimeout(() => run.abort.abort(), 2000);
    try {
      if (run.id) await call(`${thread(run.id)}/stop`, { method: "POST" });
      else run.abort.abort();
    } catch {
      clearTimeout(late);
      run.abort.abort();
    }
    this.question.focus({ preventScroll: true });
  }

  #controls() {
    const running = this.runs.has(this.id);
    find("send").hidden = running;
    find("stop").hidden = !running;
    find("stop").disabled = false;
  }
}

/** What an empty conversation shows: what this is, a few questions to start from, and a place for files. */
export function welcome({ library, write, suggestions, onAsk, onFiles }) {
  const empty = library && library.documents === 0;
  const title = empty ? "Add documents to begin" : "What would you like to know?";
  const text = empty
    ? "Drop PDF, Word, HTML, Markdown or text files here. They stay on this machine."
    : "Answers come from your documents, with each source word for word beside them.";
  const pick = h("input.sr-only", { type: "file", multiple: true, id: "first-files", onchange: (event) => onFiles([...event.target.files]) });
  return h(
    "div.welcome",
    {},
    h("h1", {}, title),
    h("p", {}, text),
    suggestions.length ? h("ul.suggestions", {}, suggestions.map((one) => h("li", {}, h("button", { type: "button", onclick: () => onAsk(one) }, one)))) : null,
    write ? h("div.drop", {}, pick, h("label", { for: "first-files" }, h("strong", {}, "Choose files"), " or drop them anywhere on this page")) : null,
  );
}
