/** Underline statements that their sources do not support, where they stand in the answer. */

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
