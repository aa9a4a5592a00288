/**
 * The relations of COrg as a picture: documents as rows in boxes, one box for each answer, in one column or, where there
 * is room, two; what relates them runs through the space beside or between, relations of one kind together. Texts are
 * measured, so that none runs into another, and the same input gives the same picture. Of more than `MOST` documents the
 * first are shown, the cited ones before others; all on demand.
 */

import { h, svg } from "./dom.js";
import { plural } from "./words.js";

export const KINDS = {
  counterfactual: { name: "disagree", long: "answer differently", inWords: "answering differently", dash: "" },
  distracting: { name: "different", long: "speak of different things of one name", inWords: "speaking of different things of one name", dash: "7 5" },
  duplicated: { name: "the same", long: "say the same", inWords: "saying the same", dash: "1 5" },
  ambiguous: { name: "unclear", long: "do not say what they speak of", inWords: "not saying what they speak of", dash: "12 4 2 4" },
};

export const MOST = 8;
const HEAD = 44;
const GAP = 18;
const LINE = 15;
const TWO_COLUMNS = 520; // below it titles would have less room than half a column gives them: a guess
const FONTS = { name: "600 13px", small: "12px", pill: "550 11px" }; // as 4-evidence.css has them

/** The id that relations have of a cited passage's context: its own, or its document's first passage. */
export function contextOf(answer) {
  const ids = new Set(answer.relations.flatMap(({ a, b }) => [a, b]));
  const first = new Map(answer.relations.flatMap(({ a, b, documents = [] }) => [[documents[0], a], [documents[1], b]]));
  return (found) => (ids.has(found.passage_id) ? found.passage_id : (first.get(found.document_id) ?? found.passage_id));
}

/**
 * Boxes of documents: one for each group that has any, then one for what was set aside.
 * A document: `{ id, n, title, date }`; `id` is its first passage's, `n` the first citation's number, or null.
 */
export function boxesOf(answer, titles) {
  const numbers = new Map();
  const context = contextOf(answer);
  for (const found of answer.citations) {
    titles.set(context(found), { title: found.title || found.document_id, date: found.date });
    if (!numbers.has(context(found))) numbers.set(context(found), found.n);
  }
  const placed = new Set();
  const passage = (id) => ({ id, n: numbers.get(id) ?? null, ...(titles.get(id) ?? { title: "A document" }) });
  const take = (ids) => ids.filter((id) => id && !placed.has(id) && placed.add(id)).map(passage);
  const ofCitation = new Map(answer.citations.map((found) => [found.n, context(found)]));
  const boxes = answer.groups.map((group) => ({
    entity: group.entity,
    descriptor: group.descriptor ?? "",
    passages: take(group.citations.map((n) => ofCitation.get(n))),
  }));
  const others = take(answer.relations.flatMap(({ a, b }) => [a, b]));
  if (others.length) boxes.push({ entity: "Not cited", descriptor: "", aside: true, passages: others });
  return boxes.filter((box) => box.passages.length);
}

/** The boxes with the first so many documents: of each box one, then what room there is. */
function first(boxes, most) {
  let room = most - Math.min(most, boxes.length);
  return boxes.slice(0, most).map((box) => {
    const kept = box.passages.slice(0, 1 + room);
    room -= kept.length - 1;
    return { ...box, passages: kept };
  });
}

let measured = null;

/** The width of a text as it will be drawn. */
function width(text, font) {
  measured ??= document.createElement("canvas").getContext("2d");
  measured.font = `${font} ${getComputedStyle(document.body).fontFamily}`;
  return measured.measureText(text).width;
}

/** Where everything stands in a picture of this width. */
export function layout(boxes, relations, room) {
  const columns = room < TWO_COLUMNS ? 1 : 2;
  const gutter = columns === 1 ? 112 : Math.max(120, Math.round(room * 0.26));
  const breadth = (room - gutter) / columns;
  const bottoms = Array.from({ length: columns }, () => 0);
  const placed = boxes.map((box) => {
    const column = bottoms.indexOf(Math.min(...bottoms));
    const [x, top] = [column ? room - breadth : 0, bottoms[column]];
    let y = top + HEAD;
    const passages = box.passages.map((passage) => {
      const title = lines(passage.title, breadth - 54, FONTS.small, 3);
      const height = title.length * LINE + 14;
      y += height;
      return { ...passage, title, y: y - height / 2 };
    });
    bottoms[column] = y + 4 + GAP;
    return { ...box, passages, column, x, y: top, width: breadth, height: y + 4 - top, side: column ? x : x + breadth, ends: 0 };
  });
  const { between, within } = bundles(placed, relations);
  const ends = between.map((bundle) => [end(bundle.first, bundle.count), end(bundle.last, bundle.count)]);
  const spans = ends.map(([from, to]) => Math.abs(from.y - to.y)).sort((one, other) => one - other);
  const edges = between.map((bundle, place) => ({ ...bundle, ...curve(ends[place], gutter, spans) }));
  label(edges, placed, room);
  return { width: room, height: Math.max(...bottoms) - GAP, boxes: placed, edges, within };
}

/** Relations between two boxes run together where they are of one kind; those within a box join its passages. */
function bundles(boxes, relations) {
  const home = new Map(boxes.flatMap((box) => box.passages.map((passage) => [passage.id, { box, passage }])));
  const between = new Map();
  const within = [];
  for (const { a, b, kind, inferred } of relations) {
    const [from, to] = [home.get(a), home.get(b)];
    if (!(kind in KINDS) || !from || !to) continue;
    if (from.box === to.box) {
      within.push({ kind, box: from.box, ys: [from.passage.y, to.passage.y].sort((one, other) => one - other) });
      continue;
    }
    const [first, last] = boxes.indexOf(from.box) < boxes.indexOf(to.box) ? [from, to] : [to, from];
    const key = `${boxes.indexOf(first.box)} ${boxes.indexOf(last.box)} ${kind}`;
    if (!between.has(key)) between.set(key, { kind, first, last, count: 0, inferred: false });
    const bundle = between.get(key);
    bundle.count += 1;
    bundle.inferred ||= inferred;
  }
  return { between: [...between.values()], within };
}

/** Where a bundle leaves a box: beside its passage when there is one, else beside the middle, each a little lower. */
function end({ box, passage }, count) {
  box.ends += 1;
  return { x: box.side, y: count === 1 ? passage.y : box.y + box.height / 2 + (box.ends - 1) * 13 - 6, column: box.column };
}

/** A curve through the space between the columns; between two boxes of one column the longer ones go farther out. */
function curve([from, to], gutter, spans) {
  const rank = spans.indexOf(Math.abs(from.y - to.y)) / Math.max(spans.length - 1, 1);
  const reach = gutter * (from.column === to.column ? 0.4 + 0.75 * rank : 0.5);
  const inner = (point) => point.x + (point.column ? -reach : reach);
  const [c1, c2] = [inner(from), inner(to)];
  const at = (t) => {
    const [a, b, c, d] = [(1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t * t * (1 - t), t ** 3];
    return { x: a * from.x + b * c1 + c * c2 + d * to.x, y: (a + b) * from.y + (c + d) * to.y };
  };
  return { path: `M${from.x} ${from.y}C${c1} ${from.y} ${c2} ${to.y} ${to.x} ${to.y}`, at };
}

const SPOTS = Array.from({ length: 41 }, (_, place) => 0.5 + (place % 2 ? 1 : -1) * Math.ceil(place / 2) * 0.022);

/** Give each curve its label where nothing else stands; where there is no room the line's style has to say it. */
function label(edges, boxes, room) {
  const apart = (one, other) => one.x + one.width + 3 <= other.x || other.x + other.width + 3 <= one.x || one.y + one.height + 3 <= other.y || other.y + other.height + 3 <= one.y;
  const taken = [...boxes];
  for (const edge of edges) {
    edge.name = KINDS[edge.kind].name + (edge.count > 1 ? ` ×${edge.count}` : "") + (edge.inferred ? "*" : "");
    const broad = Math.ceil(width(edge.name, FONTS.pill)) + 14;
    const pill = (t) => {
      const { x, y } = edge.at(t);
      return { x: x - broad / 2, y: y - 9, width: broad, height: 18 };
    };
    edge.spot = SPOTS.map(pill).find((one) => one.x >= 0 && one.x + one.width <= room && one.y >= 0 && taken.every((other) => apart(one, other))) ?? null;
    if (edge.spot) taken.push(edge.spot);
  }
}

/** A text in at most so many lines, each as broad as the room at most. */
function lines(text, room, font, most) {
  const fits = (line) => width(line, font) <= room;
  const found = [""];
  for (const word of text.split(/\s+/)) {
    const longer = `${found.at(-1)} ${word}`.trim();
    if (fits(longer)) {
      found[found.length - 1] = longer;
      continue;
    }
    if (found.at(-1)) found.push("");
    for (const character of word) {
      if (!fits(found.at(-1) + character) && found.at(-1)) found.push("");
      found[found.length - 1] += character;
    }
  }
  if (found.length <= most) return found;
  let last = found[most - 1];
  while (last && !fits(`${last}…`)) last = last.slice(0, -1);
  return [...found.slice(0, most - 1), `${last.trimEnd()}…`];
}

function text(name, x, y, content, anchor = "start") {
  const node = svg("text", { class: name, x, y, "text-anchor": anchor });
  node.textContent = content;
  return node;
}

function drawBox(box) {
  const [entity] = lines(box.entity, box.width - 24, FONTS.name, 1);
  const [descriptor] = lines(box.descriptor, box.width - 24, FONTS.small, 1);
  const title = svg("title");
  title.textContent = [box.entity, box.descriptor].filter(Boolean).join(", ");
  const frame = { class: box.aside ? "box aside" : "box", x: box.x + 1, y: box.y + 1, width: box.width - 2, height: box.height - 2, rx: 12 };
  const parts = [svg("rect", frame), text("box-name", box.x + 12, box.y + (descriptor ? 20 : 27), entity)];
  if (descriptor) parts.push(text("box-descriptor", box.x + 12, box.y + 37, descriptor));
  return svg("g", {}, title, ...parts);
}

function drawPassage({ n, title, y }, box) {
  const top = y + 4 - ((title.length - 1) * LINE) / 2;
  const name = text("node-title", box.x + 42, top, "");
  for (const [place, line] of title.entries()) {
    const part = svg("tspan", { x: box.x + 42, y: top + place * LINE });
    part.textContent = line;
    name.append(part);
  }
  return [
    svg("circle", { class: n ? "dot" : "dot aside", cx: box.x + 23, cy: y, r: 11 }),
    text("dot-number", box.x + 23, y + 4, n ? String(n) : "–", "middle"),
    name,
  ];
}

const stroke = (kind, path) => svg("path", { class: `edge ${kind}`, d: path, "stroke-dasharray": KINDS[kind].dash });

/** A relation within a box: a line down its numbers, that goes round those between. */
function drawWithin({ kind, box, ys: [from, to] }) {
  const x = box.x + 23;
  const near = to - from < 60;
  return stroke(kind, near ? `M${x} ${from + 12}V${to - 12}` : `M${x - 10} ${from + 6}C${x - 22} ${from + 20} ${x - 22} ${to - 20} ${x - 10} ${to - 6}`);
}

function drawLabel({ kind, spot, name }) {
  if (!spot) return [];
  const pill = { class: `pill ${kind}`, x: spot.x, y: spot.y, width: spot.width, height: spot.height, rx: 9 };
  return [svg("rect", pill), text(`pill-name ${kind}`, spot.x + spot.width / 2, spot.y + 12.8, name, "middle")];
}

/** In one sentence, what the picture shows. */
export function summary(boxes, relations) {
  const counts = Object.entries(KINDS)
    .map(([kind, { inWords }]) => [relations.filter((relation) => relation.kind === kind).length, inWords])
    .filter(([count]) => count)
    .map(([count, inWords]) => `${plural(count, "pair")} ${inWords}`);
  const answers = boxes.filter((box) => !box.aside).length;
  const passages = boxes.reduce((sum, box) => sum + box.passages.length, 0);
  return `${plural(passages, "document")} in ${plural(answers, "group")}${counts.length ? `: ${counts.join(", ")}` : ""}.`;
}

/** The picture of at most so many documents, its text alternative for all, and how many are left out. */
export function draw(answer, titles, width, most = MOST) {
  const all = boxesOf(answer, titles);
  const boxes = first(all, most);
  const plan = layout(boxes, answer.relations, width);
  const inWords = summary(all, answer.relations);
  const count = (of) => of.reduce((sum, box) => sum + box.passages.length, 0);
  const picture = svg(
    "svg",
    { class: "graph", viewBox: `0 0 ${plan.width} ${plan.height}`, role: "img", "aria-label": `Relations: ${inWords}` },
    ...plan.boxes.map(drawBox),
    ...plan.within.map(drawWithin),
    ...plan.boxes.flatMap((box) => box.passages.flatMap((passage) => drawPassage(passage, box))),
    ...plan.edges.map(({ kind, path }) => stroke(kind, path)),
    ...plan.edges.flatMap(drawLabel),
  );
  return { picture, inWords, hidden: count(all) - count(boxes) };
}

/** What the lines mean: only the kinds that occur. */
export function legend(relations) {
  const kinds = Object.keys(KINDS).filter((kind) => relations.some((relation) => relation.kind === kind));
  const sample = (kind) =>
    svg("svg", { class: "sample", viewBox: "0 0 36 10", "aria-hidden": "true" }, svg("path", { class: `edge ${kind}`, d: "M2 5H34", "stroke-dasharray": KINDS[kind].dash }));
  return h(
    "ul.legend",
    {},
    kinds.map((kind) => h("li", {}, sample(kind), KINDS[kind].long)),
    relations.some((relation) => relation.inferred) ? h("li", {}, "* follows from other pairs, at least in part") : null,
  );
}

/** The same as a table, for those who cannot see the picture or want it exactly. */
export function table(answer, titles) {
  const passages = new Map(boxesOf(answer, titles).flatMap((box) => box.passages.map((one) => [one.id, one])));
  const name = (id) => {
    const one = passages.get(id);
    return one ? `${one.n ? `[${one.n}] ` : ""}${one.title}` : id;
  };
  const row = ({ a, b, kind, inferred }) =>
    h("tr", {}, h("td", {}, name(a)), h("td", {}, (KINDS[kind]?.name ?? "unrelated") + (inferred ? " (follows from other pairs)" : "")), h("td", {}, name(b)));
  const heads = ["Document", "Relation", "Document"].map((head) => h("th", { scope: "col" }, head));
  return h(
    "details.numbers",
    {},
    h("summary", {}, "As a table"),
    h("div.wide-table", { tabindex: "0", role: "region", "aria-label": "Relations of documents" }, h("table", {}, h("thead", {}, h("tr", {}, heads)), h("tbody", {}, answer.relations.map(row)))),
  );
}
