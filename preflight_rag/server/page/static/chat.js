/** The conversation: opening one, asking, streaming, stopping, going on. */

import { ApiError, call, events, OFFLINE, thread } from "./api.js";
import { deadEnd, find, h, toast, wayTo } from "./dom.js";
import { TurnView } from "./turn.js";
import { sentences } from "./words.js";

const CUT_OFF = "This answer was not finished.";
/** The server is gone, or the way to it: nobody knows whether it still writes, so nothing is said about that. */
const AWAY = { ...OFFLINE, help: "Your question is kept; try again when it is back." };
/** Where a question is kept that no server has yet, in case the page is loaded again. */
const UNSENT = "preflight-unsent";
/** Before the conversation and the question of a draft that is kept. */
const DRAFT = "preflight-draft/";
/** Milliseconds before each new try to hear the rest of an answer, when the connection was lost. */
const TRIES = [300, 1000, 2000, 4000, 8000];

export class Chat {
  /** @param {{ evidence, settings, threads, welcome: () => Node, go: (hash: string, quiet?: boolean) => void }} page */
  constructor(page) {
    this.page = page;
    this.id = null;
    this.runs = new Map();
    this.opened = 0;
    this.unstopped = new Set();
    this.tabs = new BroadcastChannel("preflight");
    this.question = find("question");
    this.turns = find("turns");
    this.#listen();
    this.question.value = sessionStorage.getItem(UNSENT) ?? "";
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
    this.tabs.addEventListener("message", ({ data }) => this.#elsewhere(data));
    document.addEventListener("visibilitychange", () => document.hidden || this.#caughtUp());
    addEventListener("online", () => this.#stopLate());
  }

  /** Another tab has begun or ended a turn. */
  #elsewhere({ thread: id, ended }) {
    this.page.threads.refresh();
    if (id === this.id && !ended && !this.runs.has(id)) this.#show(id);
  }

  /** The page is looked at again: what has happened elsewhere meanwhile is shown. */
  async #caughtUp() {
    const { id } = this;
    if (!id || this.runs.has(id)) return;
    try {
      const found = await call(thread(id));
      if (id === this.id && !this.runs.has(id) && (found.running || found.turns.length !== this.turns.children.length)) await this.#show(id);
    } catch {
      /* it is shown as it was */
    }
  }

  /** Stop, now that the server can be reached again, what could not be stopped before. */
  async #stopLate() {
    for (const id of this.unstopped) {
      try {
        await call(`${thread(id)}/stop`, { method: "POST" });
        this.unstopped.delete(id);
      } catch {
        return;
      }
    }
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
      edited: (view, question) => this.ask(question, { instead: view }),
      judged: (view, verdict) => call(`${thread(this.id)}/turns/${view.number}/feedback`, { method: "PUT", json: verdict }),
      reload: () => this.#show(this.id),
      reply: (view, choice) => this.#goOn(view, "reply", { choice }),
      resume: (view) => this.#goOn(view, "resume", {}),
      listen: (view) => this.runs.has(this.id) || this.#hear(view, this.id),
    };
  }

  /** An empty conversation, or what is shown in its place; its id comes with its first answer. */
  startNew(instead = null) {
    this.id = null;
    this.opened += 1;
    this.turns.replaceChildren(instead ?? this.page.welcome());
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
      if (opened === this.opened) this.#dead(error, id);
      return;
    }
    if (opened !== this.opened) return;
    const running = this.runs.get(id);
    const goesOn = running || found.running;
    const views = found.turns.filter((turn) => !(goesOn && turn.status === "running")).map((turn) => this.#restored(turn));
    const last = found.turns.at(-1);
    const heard = !running && goesOn && last?.status === "running" ? new TurnView(last.question, this.#parts()) : null;
    if (running) views.push(running.view);
    else if (heard) views.push(heard);
    this.turns.replaceChildren(...views.map((view) => view.element));
    if (found.forked_from) views[found.forked_from.turn - 1]?.cameFrom(`#/t/${encodeURIComponent(found.forked_from.thread_id)}`);
    this.#titled(found.title);
    if (heard) this.#hear(heard, id);
    else if (found.running && !running) setTimeout(() => this.#caughtUp(), 300);
    this.#latest();
    const shown = views.findLast((view) => view.answer);
    if (shown && shown === views.at(-1)) this.#suggest(shown, id);
    if (shown) this.page.evidence.show(shown, { open: false });
    else this.page.evidence.clear();
  }

  /** The address names a conversation that cannot be shown; what is asked now begins a new one. */
  #dead(error, id) {
    this.id = null;
    const gone = error.status === 404;
    const again = h("button.button", { type: "button", onclick: () => this.open(id) }, "Try again");
    const text = gone ? "This conversation is no longer here: it was deleted, or the link is wrong." : sentences(error);
    this.turns.replaceChildren(deadEnd(text, gone ? null : again, wayTo("#/", "New conversation")));
    this.#titled("");
    this.page.evidence.clear();
    this.#controls();
  }

  #restored({ turn, question, status, answer, html, error, clarification, feedback }) {
    const view = new TurnView(question, this.#parts());
    view.number = turn;
    view.verdict = feedback;
    if (answer) view.finish(answer, html, { quiet: true });
    else if (clarification && status === "asking") view.clarify(clarification);
    else if (status === "failed") view.fail({ message: error?.message ?? error ?? "This turn failed.", help: error?.help }, { resumable: true });
    else view.stopped(CUT_OFF, sessionStorage.getItem(`${DRAFT}${this.id}/${question}`));
    return view;
  }

  /** What was written of an answer that was stopped stays, also when the page is loaded again; a whole one replaces it. */
  #keepDraft({ id, view }) {
    const name = `${DRAFT}${id}/${view.question}`;
    if (view.draft && !view.answer) sessionStorage.setItem(name, view.draft);
    else sessionStorage.removeItem(name);
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

  /** Ask in this conversation; `instead` of a turn, it goes on from there in a conversation of its own. */
  async ask(question, { discard = false, instead = null } = {}) {
    if (this.runs.has(this.id)) {
      if (instead) toast("An answer is being written; Esc stops it.");
      return;
    }
    await this.#stopLate();
    if (!this.id) this.turns.replaceChildren();
    this.turns.querySelectorAll(".next").forEach((one) => one.remove());
    const view = new TurnView(question, this.#parts());
    const json = { question, ...this.page.settings.body(), stream: true, html: true, keep: true };
    if (this.id) json.thread_id = this.id;
    if (discard) json.discard = true;
    if (instead?.number) {
      json.turn = instead.number;
      while (this.turns.lastElementChild !== instead.element) this.turns.lastElementChild.remove();
      instead.element.replaceWith(view.element);
      view.cameFrom(`#/t/${encodeURIComponent(this.id)}`);
    } else {
      this.turns.append(view.element);
    }
    this.question.focus({ preventScroll: true });
    await this.#run(view, "/api/ask", json);
  }

  async #goOn(view, verb, more) {
    if (this.runs.has(this.id)) return;
    await this.#run(view, `${thread(this.id)}/${verb}`, { ...more, stream: true, html: true, keep: true });
  }

  async #run(view, path, json) {
    await this.#led(view, (run) => events(path, { json, signal: run.abort.signal }));
  }

  /** Hear a turn that runs on the server: what was written so far, and the rest as it comes. */
  async #hear(view, id) {
    await this.#led(view, (run) => this.#rest(run, id), true);
  }

  #rest(run, id) {
    return events(`${thread(id)}/events?html=true`, { method: "GET", signal: run.abort.signal });
  }

  async #led(view, listen, begun = false) {
    const run = { view, id: this.id, abort: new AbortController(), ended: false, begun };
    this.runs.set(run.id, run);
    view.start();
    this.#latest({ smooth: true });
    this.#controls();
    try {
      await this.#heard(run, listen);
    } catch (error) {
      if (error.name === "AbortError") view.stopped(this.unstopped.has(run.id) ? "The server can't be reached; the answer is stopped as soon as it can be." : undefined);
      else if (error.status === 404 && run.begun) await this.#over(run);
      else {
        if (error.code === "offline" && !run.begun) sessionStorage.setItem(UNSENT, view.question);
        view.fail(error, { away: error.code === "offline" && run.begun });
      }
    } finally {
      this.#keepDraft(run);
      this.runs.delete(run.id);
      this.#controls();
      this.page.threads.refresh();
      if (run.id) this.tabs.postMessage({ thread: run.id, ended: true });
    }
  }

  /** Hear a turn to its end; where the connection is lost, it is taken up again. */
  async #heard(run, listen) {
    let tries = 0;
    for (;;) {
      try {
        for await (const event of listen(run)) {
          tries = 0;
          this.#take(run, event);
        }
        if (run.ended) return;
        throw new ApiError(AWAY);
      } catch (error) {
        if (error.code !== "offline" || !run.begun || tries === TRIES.length) throw error.code === "offline" ? new ApiError(AWAY) : error;
        run.view.waits();
        await new Promise((resolve) => setTimeout(resolve, TRIES[tries]));
        run.abort.signal.throwIfAborted();
        tries += 1;
        listen = () => this.#rest(run, run.id);
      }
    }
  }

  /** The turn had ended before it could be heard: what it came to is shown. */
  async #over(run) {
    this.runs.delete(run.id);
    if (this.id === run.id && run.view.element.isConnected) await this.#show(run.id);
  }

  #take(run, { name, data }) {
    const { view } = run;
    if (name === "start") {
      sessionStorage.removeItem(UNSENT);
      this.#named(run, data);
      run.begun = true;
    } else if (!run.told) {
      run.told = true;
      this.tabs.postMessage({ thread: run.id, ended: false });
    }
    if (name === "progress") view.moved(data);
    else if (name === "stage") view.ended(data);
    else if (name === "html") view.html(data.html);
    else if (name === "clarify") view.clarify(data);
    else if (name === "answer") {
      this.#answered(run, data);
      dispatchEvent(new CustomEvent("preflight-answer", { detail: data.answer }));
    } else if (name === "error") view.fail(data);
    else if (name === "stopped") view.stopped();
    run.ended ||= ["clarify", "answer", "error", "stopped"].includes(name);
  }

  #answered({ view, id }, { answer, html }) {
    view.finish(answer, html);
    this.#suggest(view, id);
  }

  /** Offer what could be asked next, where the documents say more. */
  async #suggest(view, id) {
    if (!id || !view.number || !this.page.settings.suggests()) return;
    try {
      const { questions } = await call(`${thread(id)}/turns/${view.number}/suggestions`, { method: "POST" });
      const other = this.runs.get(id)?.view ?? view;
      if (view.element === this.turns.lastElementChild && other === view) view.suggest(questions, (question) => this.ask(question));
    } catch {
      /* an answer is whole without */
    }
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
      if (run.begun) await call(`${thread(run.id)}/stop`, { method: "POST" });
      else run.abort.abort();
    } catch {
      clearTimeout(late);
      this.unstopped.add(run.id);
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
export function welcome({ library, write, suggestions, onAsk, onFiles, onPaste }) {
  const empty = library && library.documents === 0;
  const title = empty ? "Add documents to begin" : "What would you like to know?";
  const text = empty
    ? "Drop PDF, Word, HTML, Markdown or text files here. They stay on this machine."
    : "Answers come from your documents, with each source word for word beside them.";
  const pick = h("input.sr-only", { type: "file", multiple: true, id: "first-files", onchange: (event) => onFiles([...event.target.files]) });
  // Below the rest, in a place that is kept free: nothing moves when they come.
  const place = h("div.starting");
  const offer = (questions) => place.replaceChildren(...(questions.length ? [h("h2", {}, "Your documents answer, for example"), h("ul.suggestions", {}, questions.map((one) => h("li", {}, h("button", { type: "button", onclick: () => onAsk(one) }, one))))] : []));
  offer(suggestions);
  const node = h(
    "div.welcome",
    {},
    h("h1", {}, title),
    h("p", {}, text),
    write ? h("div.drop", {}, pick, h("label", { for: "first-files" }, h("strong", {}, "Choose files"), " or drop them anywhere on this page"), " ", h("button.quiet-button", { type: "button", onclick: onPaste }, "Paste text")) : null,
    empty ? null : place,
  );
  node.addEventListener("suggestions", ({ detail }) => offer(detail));
  return node;
}
