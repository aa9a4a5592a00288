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

/** A text of nothing but rows as tables, rows with the same columns in one of them; else null. */
export function tablesOf(text) {
  const rows = text.split("\n").filter((line) => line.trim()).map(rowOf);
  return rows.length && !rows.includes(null) ? tables(rows) : null;
}

const keyOf = ({ cells }) => JSON.stringify(cells.map(({ column }) => column));

function tables(rows) {
  const groups = [];
  for (const row of rows) {
    if (groups.at(-1)?.key === keyOf(row)) groups.at(-1).rows.push(row);
    else groups.push({ key: keyOf(row), caption: row.caption, rows: [row] });
  }
  return h("div.wide-table.rows", { role: "group", tabindex: "0", "aria-label": "From a table of the source" }, groups.map(table));
}

function table({ caption, rows }) {
  const columns = rows[0].cells.map(({ column }) => column.replaceAll("_", " "));
  const marked = rows.some(({ marks }) => marks?.length);
  const head = columns.some(Boolean) ? h("thead", {}, h("tr", {}, columns.map((name) => (name ? h("th", { scope: "col" }, name) : h("td"))), marked ? h("td") : null)) : null;
  const cell = ({ column, text }, place) => (place === 0 && !column ? h("th", { scope: "row" }, text) : h("td", {}, text));
  const line = ({ cells, marks = [] }) => h("tr", {}, cells.map(cell), marked ? h("td", {}, marks) : null);
  return h("table", {}, caption ? h("caption", {}, caption) : null, head, h("tbody", {}, rows.map(line)));
}

/** Paragraphs of an answer that quote rows of tables become tables, one after another in one; marks end their rows. */
export function showRows(root) {
  let run = [];
  const end = () => {
    if (run.length) run[0].node.replaceWith(tables(run.map(({ row, marks }) => ({ ...row, marks }))));
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
