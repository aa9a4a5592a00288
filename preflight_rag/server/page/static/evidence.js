/** The panel beside the answer: its sources word for word, how they relate, and how they were read. */

import { call } from "./api.js";
import { announce, dialog, find, h, icon } from "./dom.js";
import { contextOf, draw, legend, table } from "./graph.js";
import { cost, ICONS, numbers, sentence, stageName } from "./route.js";
import { finished } from "./timeline.js";
import { answeredBy, tablesOf } from "./rows.js";
import { fileAddress, openPdf } from "./viewer.js";
import { basename, cut, isNone, namesApart, place, plural, sentences, webLink } from "./words.js";

const TABS = { sources: "Sources", relations: "Relations", how: "How this was answered" };
const PASSAGE_GONE = "This passage is no longer in the library: its document was changed or taken out. The quote above is what it said.";
const passages = new Map();

/** A passage with its surroundings, asked for once. */
function passage(id) {
  if (!passages.has(id)) {
    const asked = call(`/api/passages/${encodeURIComponent(id)}`);
    asked.catch(() => passages.delete(id));
    passages.set(id, asked);
  }
  return passages.get(id);
}

export class Evidence {
  /** @param {{ onOpen: () => void, onClose: () => void, partitionSize: () => number, withoutModel: () => Node | null }} page */
  constructor(page) {
    this.page = page;
    this.root = find("evidence");
    this.tab = "sources";
    this.turn = null;
    this.clear();
  }

  clear() {
    this.turn = null;
    this.root.replaceChildren(
      this.#head([]),
      h("div.evidence-empty", {}, icon("quote"), h("p", {}, "What an answer stands on appears here: each source word for word, and how it was answered.")),
    );
  }

  /** Show a turn's evidence; with `n`, its citation is opened and scrolled to. */
  async show(turn, { tab, n, open = true } = {}) {
    this.turn = turn;
    this.tab = tab ?? (this.#tabs().includes(this.tab) ? this.tab : "sources");
    if (open) this.page.onOpen();
    this.#draw();
    if (n) await this.#openSource(n);
  }

  /** The turn that is shown has moved on. */
  refresh(turn) {
    if (this.turn !== turn) return;
    if (!this.#tabs().includes(this.tab)) this.tab = "sources";
    this.#draw();
  }

  #tabs() {
    const { answer } = this.turn;
    if (!answer) return ["how"];
    return ["sources", ...(answer.relations.length || (answer.groups.length > 1 && answer.route.name === "corg") ? ["relations"] : []), "how"];
  }

  #head(tabs) {
    const buttons = tabs.map((name) => {
      const count = name === "sources" ? h("span.count", {}, String(this.turn.answer.citations.length)) : null;
      return h(
        "button",
        { type: "button", role: "tab", id: `tab-${name}`, "aria-controls": "evidence-body", "aria-selected": String(name === this.tab), tabindex: name === this.tab ? "0" : "-1", onclick: () => this.#choose(name) },
        TABS[name],
        count,
      );
    });
    const list = tabs.length ? h("div.tabs", { role: "tablist", "aria-label": "Evidence" }, buttons) : h("h2", {}, "Evidence");
    list.addEventListener("keydown", (event) => this.#arrow(event, tabs));
    const close = h("button.icon-button.no-evidence-column", { type: "button", "aria-label": "Close evidence", onclick: () => this.page.onClose() }, icon("close"));
    return h("div.evidence-head", {}, list, close);
  }

  #arrow(event, tabs) {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    this.#choose(tabs[(tabs.indexOf(this.tab) + step + tabs.length) % tabs.length]);
    find(`tab-${this.tab}`).focus();
  }

  #choose(name) {
    this.tab = name;
    this.#draw();
  }

  #draw() {
    const tabs = this.#tabs();
    if (!tabs.includes(this.tab)) this.tab = tabs[0];
    const focused = this.root.contains(document.activeElement) ? document.activeElement.id : "";
    const body = h("div.evidence-body", { id: "evidence-body", role: "tabpanel", "aria-labelledby": `tab-${this.tab}`, tabindex: "0" });
    this.root.replaceChildren(this.#head(this.turn.answer ? tabs : []), body);
    if (!this.turn.answer) body.removeAttribute("role");
    body.append(...{ sources: () => this.#sources(), relations: () => this.#relations(body), how: () => this.#how() }[this.tab]());
    if (focused) find(focused)?.focus();
  }

  #sources() {
    const { answer } = this.turn;
    const doubted = answer.statements.filter((statement) => statement.supported === false);
    const list = answer.citations.length
      ? answer.citations.map((found) => this.#source(found, namesApart(answer.citations.map(({ source }) => source ?? ""))))
      : [h("p.empty-note", {}, answer.abstained ? "No answer was found, so there is nothing to cite." : "This answer cites no source.")];
    const unclaimed = answer.unclaimed ? [h("p.empty-note.unclaimed", {}, answer.unclaimed)] : [];
    const alone = isNone(answer.receipt.model) ? [this.page.withoutModel()].filter(Boolean) : [];
    return [...alone, ...unclaimed, ...(doubted.length ? [doubts(doubted)] : []), ...list];
  }

  #source(found, nameOfFile) {
    const content = h("div.passage", { id: `passage-${found.n}`, hidden: true });
    const toggle = h(
      "button.source-head",
      { type: "button", id: `source-${found.n}`, "aria-expanded": "false", "aria-controls": content.id },
      h("span.n", {}, h("span.sr-only", {}, "Source "), String(found.n)),
      h("span.source-title", {}, found.title || found.document_id),
      icon("down"),
    );
    toggle.addEventListener("click", () => (content.hidden ? this.#openSource(found.n) : this.#closeSource(found.n)));
    return h(
      "article.source",
      { class: found.verified ? null : "unverified" },
      h("h3", {}, toggle),
      h("p.meta", {}, place(found, nameOfFile)),
      found.also_in?.length ? h("p.meta.also-in", {}, `Also in ${found.also_in.map(({ source, document_id: id }) => basename(source || id)).join(", ")}`) : null,
      found.verified ? null : h("p.verdict", {}, icon("warn"), "These words were not found in the source."),
      h("div.quoted", { id: `quote-${found.n}` }, tablesOf(found.quote, answeredBy(this.turn.answer)) ?? h("blockquote.quote", {}, found.quote)),
      content,
    );
  }

  #closeSource(n) {
    find(`passage-${n}`).hidden = true;
    find(`quote-${n}`).hidden = false;
    find(`source-${n}`).setAttribute("aria-expanded", "false");
  }

  async #openSource(n) {
    const found = this.turn.answer.citations.find((citation) => citation.n === n);
    const content = find(`passage-${n}`);
    if (!found || !content) return;
    for (const other of this.turn.answer.citations) if (other.n !== n) this.#closeSource(other.n);
    find(`source-${n}`).setAttribute("aria-expanded", "true");
    try {
      content.replaceChildren(...inContext(await passage(found.passage_id), found));
      find(`quote-${n}`).hidden = found.verified;
    } catch (error) {
      content.replaceChildren(h("p.verdict", {}, icon("warn"), error.status === 404 ? PASSAGE_GONE : sentences(error)));
    }
    content.hidden = false;
    (content.querySelector("mark") ?? content).scrollIntoView({ block: "center" });
    announce(`Source ${n}: ${found.title || found.document_id}. ${found.verified ? "The quote is highlighted." : "Its words were not found in the source."}`);
  }

  #relations(body) {
    const { answer } = this.turn;
    const slot = h("div.graph-slot");
    const enlarge = h("button.quiet-button", { type: "button", onclick: () => this.#enlarge() }, icon("open"), "Enlarge");
    const show = (titles, most) => {
      const { picture, inWords, hidden } = draw(answer, titles, Math.min(Math.max(body.clientWidth - 32, 300), 560), most);
      const rest = hidden ? h("button.quiet-button", { type: "button", onclick: () => show(titles, Infinity) }, icon("down"), `Show ${hidden} more`) : null;
      slot.replaceChildren(h("p.graph-summary", {}, inWords), picture, h("div.graph-foot", {}, legend(answer.relations), rest, enlarge), table(answer, titles));
    };
    this.#titles().then((titles) => show(titles));
    return [slot];
  }

  async #enlarge() {
    const titles = await this.#titles();
    const { picture } = draw(this.turn.answer, titles, Math.min(window.innerWidth - 80, 860), Infinity);
    dialog("How the documents relate", () => h("div.graph-slot", {}, picture, legend(this.turn.answer.relations)), { kind: "large" });
  }

  /** Titles and dates of the documents that are related but not cited. */
  async #titles() {
    const { answer } = this.turn;
    const cited = new Set(answer.citations.map(contextOf(answer)));
    const others = [...new Set(answer.relations.flatMap(({ a, b }) => [a, b]))].filter((id) => !cited.has(id));
    const found = await Promise.allSettled(others.map(async (id) => [id, (await passage(id)).passage]));
    const known = found.filter(({ status }) => status === "fulfilled").map(({ value }) => value);
    return new Map(known.map(([id, one]) => [id, { title: one.title || one.document_id, date: one.date }]));
  }

  #how() {
    const { answer, progress } = this.turn;
    if (!answer) return [h("h3", {}, "So far"), progress.view()];
    const { route, receipt } = answer;
    const size = this.page.partitionSize();
    return [
      h("p.route-sentence", {}, icon(ICONS[route.name] ?? "plain"), sentence(answer, size)),
      ...(answer.unclaimed ? [h("p.unclaimed", {}, `No answer is claimed: ${answer.unclaimed}`)] : []),
      numbers(route),
      h("h3", {}, "Steps"),
      finished(receipt),
      h("p.meta", {}, cost(receipt).join(" · ")),
      ...saved(receipt.saved),
      ...searched(answer),
      ...listed("Left out before reading", answer.pruned.map((one) => `${one.title || one.document_id}: ${Math.round(one.answerable * 100)}% likely to hold the answer`)),
      ...listed("Missing from this answer", answer.gaps.map((gap) => `${stageName(gap.stage)}: ${gap.error}`)),
    ];
  }
}

function inContext({ passage: one, before, after, file, document }, found) {
  const [start, end] = found.verified ? [found.start, found.end] : [0, 0];
  const [left, quote, right] = cut(one.text, start, end);
  return [
    h(
      "p.passage-text",
      {},
      before ? h("span.around", {}, `… ${before.trimStart()} `) : null,
      left,
      quote ? h("mark", {}, quote) : null,
      right,
      after ? h("span.around", {}, ` ${after.trimEnd()} …`) : null,
    ),
    h("p.ways", {}, original(one, file, document, found, { before: left, after: right }), webLink(found.url ?? document?.url)),
    ...missing(document, file),
  ];
}

/** The way to the document's file: a PDF opens here, at the quote; anything else in a tab of its own. */
function original(one, file, document, found, around) {
  if (!file) return null;
  const at = found.page ? ` at page ${found.page}` : "";
  const wanted = { id: one.document_id, title: one.title || document.name, page: found.page ?? 1, quote: found.verified ? found.quote : "", ...around };
  if (document.kind === "pdf") return h("button.quiet-button", { type: "button", onclick: () => openPdf(wanted) }, icon("open"), `Open the PDF${at}`);
  return h("a.quiet-button", { href: fileAddress(one.document_id, found.page), target: "_blank", rel: "noopener" }, icon("open"), `Open the original${at}`);
}

/** A line where there is no file to open, which says why. */
function missing(document, file) {
  if (file || (document?.url && !document.gone)) return [];
  if (!document) return [h("p.meta", {}, "This document has been taken out of the library since. The answer keeps its words.")];
  const gone = `The file ${document.name} is no longer where it was read from. Put it back, or add it to the library again.`;
  return [h("p.meta", {}, document.gone ? gone : "The library keeps the text of this document, not its file.")];
}

function doubts(statements) {
  const line = (statement) => {
    const marks = statement.citations.map((n) => `[${n}]`).join("") || "any passage";
    return h("li", { class: statement.contradicted ? "against" : null }, h("strong", {}, statement.contradicted ? "Contradicted" : "Not supported"), ` by ${marks}: ${statement.text}`);
  };
  return h("section.doubts", { "aria-label": "Statements that do not hold" }, h("h3", {}, icon("warn"), `${plural(statements.length, "statement")} did not hold`), h("ul", {}, statements.map(line)));
}

function saved({ calls, input_tokens: tokens, why }) {
  if (!why) return [];
  const change = (value, one) => `${plural(Math.abs(value), one)} ${value < 0 ? "more" : "fewer"}`;
  return [h("p.meta", {}, `Against the other way: ${change(calls, "call")}, ${change(tokens, "input token")} (${why}).`)];
}

function searched(answer) {
  const queries = listed("Searched for", answer.queries);
  const spelling = listed("Spelling", answer.corrections.map(([was, now]) => `${was} → ${now}`));
  const rungs = listed("Searches, from narrow to wide", answer.expressions.map((rung) => `${rung.where}: ${rung.expression}, ${plural(rung.hits, "hit")}${rung.note ? ` (${rung.note})` : ""}`));
  return [...queries, ...spelling, ...rungs];
}

function listed(title, items) {
  return items.length ? [h("h3", {}, title), h("ul.plain-list", {}, items.map((item) => h("li", {}, item)))] : [];
}

