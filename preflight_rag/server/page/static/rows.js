/** Rows of tables, which the library keeps as lines `Caption. | Column: cell | Column: cell`, shown as the tables they are. */

import { h } from "./dom.js";

const BAR = " | ";

/** A line as `{ caption, cells: [{ column, text }] }`; null where it is no row. As `text/tables.py` reads it. */
export function rowOf(line) {
  if (!line.includes(BAR)) return null;
  const parts = line.trim().split(BAR);
  const caption = parts[0].endsWith(".") && !parts[0].includes(": ") ? parts.shift() : "";
  const cells = parts.map((part) => {
    const at = part.indexOf(": ");
    return at < 0 ? { column: "", text: part } : { column: part.slice(0, at), text: part.slice(at + 2) };
  });
  return cells.length ? { caption, cells } : null;
}

/** A text of nothing but rows as tables, rows with the same columns in one of them; else null. `answered` as of `answeredBy`. */
export function tablesOf(text, answered) {
  const rows = text.split("\n").filter((line) => line.trim()).map(rowOf);
  return rows.length && !rows.includes(null) ? tables(rows, answered) : null;
}

/** What is claimed, `{ short, column }`: the words, and the column of the cell that they are, where the answer names it. */
export function answeredBy({ outcome, short_answer: short, answer }) {
  const named = answer.split("\n").find((line) => line.startsWith("Row: "));
  return { short: outcome === "answered" ? short : "", column: named?.split("; column: ").at(-1).slice(0, -1) };
}

/** The place of the cell that is the answer: by its column, else the only one with these words; -1 for none. */
function answering(cells, { short, column } = {}) {
  const same = cells.flatMap(({ text }, place) => (short && text && (short === text || short.startsWith(`${text} (`)) ? [place] : []));
  const named = same.filter((place) => cells[place].column === column);
  return [named, same].find(({ length }) => length === 1)?.[0] ?? -1;
}

const keyOf = ({ cells }) => JSON.stringify(cells.map(({ column }) => column));

function tables(rows, answered) {
  const groups = [];
  for (const row of rows) {
    if (groups.at(-1)?.key === keyOf(row)) groups.at(-1).rows.push(row);
    else groups.push({ key: keyOf(row), caption: row.caption, rows: [row] });
  }
  const box = h("div.wide-table.rows", { role: "group", tabindex: "0", "aria-label": "From a table of the source" }, groups.map((group) => table(group, answered)));
  // Once it has its place: a wide table is scrolled to the cell that answers.
  requestAnimationFrame(() => {
    const cell = box.querySelector("td:has(mark)");
    if (cell) box.scrollLeft = cell.offsetLeft + cell.offsetWidth - box.clientWidth;
  });
  // The edge behind which further columns are fades out, as not every system shows a bar to scroll by.
  const fade = () => box.classList.toggle("more", box.scrollLeft + box.clientWidth < box.scrollWidth - 1);
  box.addEventListener("scroll", fade, { passive: true });
  new ResizeObserver(fade).observe(box);
  return box;
}

function table({ caption, rows }, answered) {
  const columns = rows[0].cells.map(({ column }) => column.replaceAll("_", " "));
  const head = columns.some(Boolean) ? h("thead", {}, h("tr", {}, columns.map((name) => (name ? h("th", { scope: "col" }, name) : h("td"))))) : null;
  const line = ({ cells, marks = [] }) => {
    const answer = answering(cells, answered);
    const content = (text, place) => [place === answer ? h("mark", {}, text) : text, ...(place ? [] : marks)];
    return h("tr", {}, cells.map(({ column, text }, place) => (place === 0 && !column ? h("th", { scope: "row" }, content(text, place)) : h("td", {}, content(text, place)))));
  };
  return h("table", {}, caption ? h("caption", {}, caption) : null, head, h("tbody", {}, rows.map(line)));
}

/** Paragraphs of an answer that quote rows of tables become tables, one after another in one; marks stand in a row's first cell. */
export function showRows(root, answered) {
  let run = [];
  const end = () => {
    if (run.length) run[0].node.replaceWith(tables(run.map(({ row, marks }) => ({ ...row, marks })), answered));
    run.slice(1).forEach(({ node }) => node.remove());
    run = [];
  };
  for (const node of [...root.children]) {
    const marks = [...node.querySelectorAll(".cite")];
    const copy = node.cloneNode(true);
    copy.querySelectorAll(".cite").forEach((mark) => mark.remove());
    const text = copy.textContent.trim().replace(/^“|”$/g, "");
    const row = node.matches("p") && !text.includes("\n") ? rowOf(text) : null;
    if (row) run.push({ node, row, marks });
    else end();
  }
  end();
}
