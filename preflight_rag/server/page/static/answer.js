/** An answer on the page: cards where there are several, and a line under what its sources do not support. */

import { h, icon } from "./dom.js";
import { tablesOf } from "./rows.js";
import { byDocument, light, nameOf, ranges, sourceNumbers, yearAndPages } from "./words.js";

/** Sets of groups of which the answer says that their sources contradict each other; any other is a set of its own. */
export function sides(answer) {
  const cited = answer.groups.map(({ citations }) =>
    new Set(answer.citations.filter(({ n }) => citations.includes(n)).flatMap((found) => [found.passage_id, found.document_id])),
  );
  const set = answer.groups.map((_, place) => place);
  const join = (a, b) => {
    const [from, to] = [Math.max(set[a], set[b]), Math.min(set[a], set[b])];
    set.forEach((value, place) => value === from && (set[place] = to));
  };
  for (const { a, b, documents, announced } of answer.relations) {
    if (!announced) continue;
    const [one, other] = [a, b].map((id, side) => cited.findIndex((ids) => ids.has(id) || ids.has(documents[side])));
    if (one >= 0 && other >= 0 && one !== other) join(one, other);
  }
  return [...new Set(set)].map((name) => answer.groups.filter((_, place) => set[place] === name));
}

function card(group, answer, withQuote) {
  const cited = answer.citations.filter(({ n }) => group.citations.includes(n));
  const [first] = cited;
  const mark = (of) => h("button.cite", { type: "button", "data-n": String(of[0].n), "aria-label": sourceNumbers(of) }, ranges(of.map(({ n }) => n)));
  return h(
    "article.card",
    {},
    h("h3", {}, group.entity, group.descriptor ? h("span.descriptor", {}, group.descriptor) : null),
    h("div.card-answer", { class: group.answer.length <= 40 ? "short" : null }, light(group.answer)),
    withQuote && first ? (tablesOf(first.quote, { short: group.answer }) ?? h("blockquote", {}, first.quote)) : null,
    h("p.card-foot", {}, h("span.marks", {}, byDocument(cited).map(mark)), h("span", {}, first ? [nameOf(first) === group.entity ? "" : nameOf(first), yearAndPages(cited)].filter(Boolean).join(" · ") : "")),
  );
}

/** All answers of a turn as cards. */
export function cards(answer) {
  const sets = sides(answer);
  const alone = sets.filter((groups) => groups.length === 1).map(([group]) => card(group, answer, false));
  const against = sets
    .filter((groups) => groups.length > 1)
    .map((groups) =>
      h(
        "section.against",
        { "aria-label": "Sources that contradict each other" },
        h("p.against-head", {}, icon("warn"), "These sources contradict each other"),
        h("div.cards", {}, groups.map((group) => card(group, answer, true))),
      ),
    );
  return h("div.groups", {}, against, alone.length ? h("div.cards", {}, alone) : null);
}

/** Marks of one document that stand side by side become one mark; their numbers stay those of the text. */
export function joinMarks(root, citations) {
  const documents = new Map(byDocument(citations).flatMap((cited) => cited.map(({ n }) => [n, cited])));
  for (const mark of root.querySelectorAll(".cite")) {
    const cited = documents.get(Number(mark.dataset.n));
    const joined = [mark];
    for (let next = mark.nextSibling; cited && mark.isConnected && next; next = joined.at(-1).nextSibling) {
      if (!next.matches?.(".cite") || documents.get(Number(next.dataset.n)) !== cited) break;
      joined.push(next);
    }
    if (joined.length < 2) continue;
    const numbers = joined.map((one) => Number(one.dataset.n));
    mark.textContent = ranges(numbers);
    mark.setAttribute("aria-label", `Sources ${ranges(numbers)}`);
    joined.slice(1).forEach((one) => one.remove());
  }
}

const plain = (text) => text.replace(/[*_`#]|\[\d+\]/g, "").replace(/\s+/g, " ").trim();

/** The answer's text, with the place of each character in the page; spaces run together, marks left out. */
function characters(root) {
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  const found = [];
  while (walker.nextNode()) {
    const node = walker.currentNode;
    if (node.parentElement.closest(".cite")) continue;
    for (let offset = 0; offset < node.data.length; offset += 1) {
      const character = /\s/.test(node.data[offset]) ? " " : node.data[offset];
      if (character !== " " || found.at(-1)?.character !== " ") found.push({ character, node, offset });
    }
  }
  return found;
}

/** Mark the statements, where the browser can highlight without touching the document. */
export function doubt(root, statements) {
  const wanted = statements.filter((statement) => statement.supported === false);
  if (!wanted.length || !globalThis.Highlight) return;
  const found = characters(root);
  const text = found.map(({ character }) => character).join("");
  for (const statement of wanted) {
    const sought = plain(statement.text).replace(/\.$/, "");
    const start = sought ? text.indexOf(sought) : -1;
    if (start < 0) continue;
    const range = new Range();
    range.setStart(found[start].node, found[start].offset);
    const last = found[start + sought.length - 1];
    range.setEnd(last.node, last.offset + 1);
    const name = statement.contradicted ? "contradicted" : "unsupported";
    if (!CSS.highlights.has(name)) CSS.highlights.set(name, new Highlight());
    CSS.highlights.get(name).add(range);
  }
}
