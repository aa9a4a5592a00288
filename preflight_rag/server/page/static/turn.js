/** One turn of the conversation: the question, what happens meanwhile, the answer, and what can be done with it. */

import { answeredBy, showRows } from "./rows.js";
import { announce, h, icon, nodesOf, showNodes, toast } from "./dom.js";
import { cards, doubt, joinMarks } from "./answer.js";
import { gapsInWords, ICONS, sentence, stageName } from "./route.js";
import { Thumbs } from "./thumbs.js";
import { Progress } from "./timeline.js";
import { asMarkdown, asSentence, byDocument, helpOf, nameOf, ranges, seconds, sourceNumbers, yearAndPages } from "./words.js";

/** Stands above what was written of an answer that has no end. */
const UNFINISHED = "Unfinished; sources not checked";

export class TurnView {
  /**
   * @param {string} question
   * @param {{ evidence: object, again: Function, reply: Function, resume: Function, partitionSize: Function }} page
   */
  constructor(question, page) {
    Object.assign(this, { question, page, answer: null, draft: "", progress: null, pace: 0 });
    this.number = null;
    this.verdict = null;
    this.asked = h("div.asked-row");
    this.head = h("div.reply-head");
    this.body = h("div.answer");
    this.foot = h("div.reply-foot");
    this.element = h(
      "article.turn",
      {},
      this.asked,
      h("div.reply", {}, this.head, this.body, this.foot),
    );
    this.#showAsked();
    this.element.addEventListener("click", (event) => {
      const mark = event.target.closest(".cite");
      if (mark) this.#evidence({ tab: "sources", n: Number(mark.dataset.n) });
    });
  }

  /** The question, with a way to put it in other words. */
  #showAsked() {
    const change = h("button.icon-button.small.change", { type: "button", "aria-label": "Change this question", title: "Change this question and ask again from here", onclick: () => this.#change() }, icon("edit"));
    this.asked.replaceChildren(h("h2.asked", {}, h("span.sr-only", {}, "You asked: "), this.question), change, ...(this.origin ? [this.origin] : []));
  }

  #change() {
    const input = h("textarea", { rows: "2", "aria-label": "The question in other words" });
    input.value = this.question;
    const send = () => {
      const question = input.value.trim();
      if (question) this.page.edited(this, question);
    };
    const back = () => this.#showAsked();
    const form = h(
      "form.change-form",
      {},
      input,
      h("p.meta", {}, "The conversation goes on from here. The one before stays in the list."),
      h("div.dialog-actions.start", {}, h("button.button.primary", { type: "submit" }, "Ask again"), h("button.button", { type: "button", onclick: back }, "Cancel")),
    );
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      send();
    });
    input.addEventListener("keydown", (event) => {
      if (event.key === "Escape") {
        event.stopPropagation();
        back();
      } else if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
        event.preventDefault();
        send();
      }
    });
    this.asked.replaceChildren(form);
    input.focus();
  }

  /** The question was changed: a link leads to the conversation as it was. */
  cameFrom(address) {
    this.origin = h("a.origin", { href: address }, "Changed. See it as it was");
    this.#showAsked();
  }

  /** The connection was lost, and is sought again. */
  waits() {
    this.note.textContent = "Connecting again";
  }

  #evidence(where = {}) {
    this.page.evidence.show(this, where);
  }

  /** The turn begins, or goes on. */
  start() {
    this.progress = new Progress();
    this.live = false;
    this.answer = null;
    this.note = h("span.note", {}, "Sending");
    this.clock = h("span.clock", { "aria-hidden": "true" });
    const stages = h("button.progress", { type: "button", title: "Show the steps", onclick: () => this.#evidence({ tab: "how" }) }, h("span.pulse", { "aria-hidden": "true" }), this.note, this.clock);
    this.head.replaceChildren(stages);
    if (!this.draft) this.body.replaceChildren();
    this.foot.replaceChildren();
    this.element.setAttribute("aria-busy", "true");
    this.pace = setInterval(() => this.#tick(), 200);
    announce("Working on the answer.");
  }

  #tick() {
    if (this.progress.elapsed > 0.6 && !this.live) {
      this.live = true;
      this.page.evidence.show(this, { tab: "how", open: false });
    }
    this.clock.textContent = this.progress.elapsed < 1 ? "" : seconds(this.progress.elapsed);
    this.page.evidence.refresh(this);
  }

  #end() {
    clearInterval(this.pace);
    this.element.removeAttribute("aria-busy");
    this.head.replaceChildren();
  }

  moved(event) {
    this.progress.moved(event);
    const count = event.total ? ` (${event.done ?? 0} of ${event.total})` : "";
    this.note.textContent = stageName(event.stage) + count;
  }

  ended(event) {
    this.progress.ended(event);
  }

  /** The answer so far. */
  html(html) {
    this.draft = html;
    showNodes(this.body, nodesOf(html));
  }

  /** The whole answer. */
  finish(answer, html, { quiet = false } = {}) {
    this.#end();
    this.answer = answer;
    this.number = answer.turn;
    this.html(html ?? "");
    if (html === null || html === undefined) this.body.textContent = answer.answer;
    this.body.dataset.outcome = answer.outcome;
    this.body.classList.toggle("with-short", Boolean(answer.short_answer));
    const inWords = sentence(answer, this.page.partitionSize());
    this.head.replaceChildren(
      h("button.route", { type: "button", title: "How this was answered", onclick: () => this.#evidence({ tab: "how" }) }, icon(ICONS[answer.route.name] ?? "plain"), h("span", {}, inWords)),
    );
    joinMarks(this.body, answer.citations);
    showRows(this.body, answeredBy(answer));
    if (answer.groups.length > 1) this.#asCards(answer);
    doubt(this.body, answer.statements);
    const sources = answer.groups.length > 1 ? [] : this.#sources(answer);
    this.foot.replaceChildren(...this.#notices(answer), ...sources, this.#actions(answer));
    if (quiet) return;
    const cited = answer.citations.length;
    announce(`The answer is ready, with ${cited === 1 ? "one source" : `${cited} sources`}. ${inWords}`);
    this.page.evidence.show(this, { open: false, tab: "sources" });
  }

  #asCards(answer) {
    const lead = answer.outcome === "evidence" ? [...this.body.querySelectorAll(":scope > p:first-child")].map((line) => line.cloneNode(true)) : [];
    const text = h("details.whole", {}, h("summary", {}, "The same as text"), h("div", {}, [...this.body.childNodes]));
    this.body.replaceChildren(...lead, cards(answer), text);
  }

  #notices(answer) {
    const found = [];
    const doubted = answer.statements.filter((statement) => statement.supported === false);
    const against = doubted.some((statement) => statement.contradicted);
    if (doubted.length) {
      const what = doubted.length === 1 ? "One statement is" : `${doubted.length} statements are`;
      found.push(`${what} ${against ? "contradicted or not supported" : "not supported"} by ${answer.citations.length ? "the cited sources" : "any passage that was read"}.`);
    }
    const loose = answer.citations.filter((citation) => !citation.verified).length;
    if (loose) found.push(`${loose === 1 ? "One quote was" : `${loose} quotes were`} not found in the source.`);
    if (answer.gaps.length) found.push(...gapsInWords(answer.gaps));
    return found.map((text) => h("p.notice", {}, icon("warn"), h("span", {}, text)));
  }

  #sources(answer) {
    const chip = (cited) => {
      const [name, more] = [nameOf(cited[0]), yearAndPages(cited)];
      const sure = cited.every(({ verified }) => verified);
      const label = `${sourceNumbers(cited)}: ${[name, more].filter(Boolean).join(", ")}${sure ? "" : ", quote not found"}`;
      const parts = [h("span.n", {}, ranges(cited.map(({ n }) => n))), h("span.chip-title", {}, name), more ? h("span.chip-more", {}, more) : null];
      return h("li", {}, h("button.chip", { type: "button", class: sure ? null : "unverified", onclick: () => this.#evidence({ tab: "sources", n: cited[0].n }), "aria-label": label }, parts));
    };
    return answer.citations.length ? [h("ul.chips", { "aria-label": "Sources" }, byDocument(answer.citations).map(chip))] : [];
  }

  #actions(answer) {
    const title = "How often an answer with these signs was right on documents that it was measured on";
    const sure = answer.confidence === null ? null : h("span.sure", { title }, `${Math.round(answer.confidence * 100)}% sure`);
    const act = (name, text, run) => h("button.quiet-button", { type: "button", onclick: run }, icon(name), h("span", {}, text));
    return h(
      "div.turn-actions",
      {},
      act("copy", "Copy", () => this.#copy(answer)),
      act("again", "Ask again", () => this.page.again(this.question)),
      act("quote", "Evidence", () => this.#evidence()),
      new Thumbs(this).element,
      sure,
      h("span.sure.time", {}, seconds(answer.receipt.seconds)),
    );
  }

  async #copy(answer) {
    try {
      await navigator.clipboard.writeText(asMarkdown(answer));
      toast("Copied, with its sources.");
    } catch {
      toast("The browser did not allow copying.");
    }
  }

  /** What could be asked next. */
  suggest(questions, ask) {
    this.foot.querySelector(".next")?.remove();
    if (!questions.length) return;
    const button = (question) => h("li", {}, h("button", { type: "button", onclick: () => ask(question) }, question));
    this.foot.append(h("section.next", { "aria-label": "You could ask next" }, h("h3", {}, "You could ask next"), h("ul.suggestions", {}, questions.map(button))));
  }

  /** The turn waits for the person to say what is meant; several choices may be taken, or all. */
  clarify({ question, choices }) {
    this.#end();
    const buttons = choices.map(({ label, entity, descriptor }) => {
      const about = descriptor && !label.includes(descriptor) ? `${entity} · ${descriptor}` : "";
      const button = h("button.option", { type: "button", "aria-pressed": "false", "data-label": label }, icon("check"), h("span", {}, label, about ? h("small", {}, about) : null));
      button.addEventListener("click", () => {
        button.setAttribute("aria-pressed", String(button.getAttribute("aria-pressed") !== "true"));
        go.disabled = !buttons.some((one) => one.getAttribute("aria-pressed") === "true");
      });
      return button;
    });
    const taken = () => buttons.filter((one) => one.getAttribute("aria-pressed") === "true").map((one) => one.dataset.label);
    const go = h("button.button.primary", { type: "button", disabled: true, onclick: () => this.page.reply(this, taken()) }, "Answer for these");
    const all = h("button.button", { type: "button", onclick: () => this.page.reply(this, "all") }, "Answer for all");
    this.body.replaceChildren(h("div.clarify", { role: "group", "aria-label": question }, h("p", {}, question), h("div.options", {}, buttons), h("div.dialog-actions", {}, all, go)));
    this.foot.replaceChildren();
    announce(`${question} ${choices.length} choices.`);
  }

  /** The turn was stopped by the person, or cut off earlier; what was written of it stays. */
  stopped(text = "Stopped.", draft = null) {
    this.#end();
    if (draft) this.html(draft);
    this.#offer(h("p.notice.calm", {}, h("span", {}, text)), this.#finishes());
    announce(this.draft ? `${text} ${UNFINISHED}.` : text);
  }

  #finishes() {
    if (this.draft) this.head.replaceChildren(h("p.unfinished", {}, icon("warn"), h("span", {}, UNFINISHED)));
    return h("button.button", { type: "button", onclick: () => this.page.resume(this) }, "Finish this answer");
  }

  /** The turn failed: what happened, what helps, and a way to go on; `away`: it may go on where nobody hears it. */
  fail({ code, message, help: forAnyone }, { resumable = false, away = false } = {}) {
    const help = helpOf({ help: forAnyone });
    this.#end();
    if (code === "turn_unfinished") {
      const drop = h("button.button", { type: "button", onclick: () => this.page.again(this.question, { discard: true }) }, "Drop it and ask this");
      const back = h("button.button", { type: "button", onclick: () => this.page.reload() }, "Show it");
      this.foot.replaceChildren(h("p.notice", { role: "alert" }, icon("warn"), h("span", {}, "An earlier answer in this conversation was not finished.")), h("div.dialog-actions.start", {}, back, drop));
      return;
    }
    const notice = h("p.notice.error", { role: "alert" }, icon("warn"), h("span", {}, h("strong", {}, asSentence(message)), help ? ` ${help}` : ""));
    this.#offer(notice, this.#wayOn(resumable, away));
    if (!resumable) notice.scrollIntoView({ block: "nearest" }); // a refused question may fill several screens
  }

  #wayOn(resumable, away) {
    const finish = this.draft || resumable ? this.#finishes() : null;
    if (away) return h("button.button", { type: "button", onclick: () => this.page.listen(this) }, "Try again");
    return resumable ? finish : null;
  }

  #offer(notice, wayOn) {
    const again = h("button.button", { type: "button", onclick: () => this.page.again(this.question) }, icon("again"), "Ask again");
    this.foot.replaceChildren(notice, h("div.dialog-actions.start", {}, wayOn, again));
  }
}
