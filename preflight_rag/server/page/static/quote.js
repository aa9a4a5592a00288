/**
 * Finding a quote in a page's text, of which a PDF only knows pieces: over line breaks, hyphens at their ends, ligatures and
 * spaces of any kind, by letters and digits alone. Pure: values in, values out.
 */

/** Letters that a piece must have in a row to be taken for part of a quote that is not there as a whole; a guess. */
const PIECE = 24;

/** The share of a quote's letters that must be found for its pieces to be marked; a guess. */
const ENOUGH = 0.6;

/** Letters and digits of texts in a row, without accents and case, and where each unit stands: `[part, start, end]`. */
function folded(parts) {
  const places = [];
  let text = "";
  parts.forEach((content, part) => {
    let at = 0;
    for (const character of content) {
      const letters = character.normalize("NFKD").toLowerCase().replace(/[^\p{L}\p{N}]/gu, "");
      for (let unit = 0; unit < letters.length; unit += 1) places.push([part, at, at + character.length]);
      text += letters;
      at += character.length;
    }
  });
  return { text, places };
}

/** Characters between two letters of a quote that are marked with them: spaces and signs. */
const BRIDGED = 4;

const fold = (text) => folded([text]).text;

/** How many letters two texts have in common at the end of the one, or at the beginning of the other. */
function common(one, other, backwards) {
  const at = (text, place) => text[backwards ? text.length - 1 - place : place];
  let count = 0;
  while (count < Math.min(one.length, other.length) && at(one, count) === at(other, count)) count += 1;
  return count;
}

/** Where a quote stands as a whole; of several places the one whose surroundings fit best. */
function whole(text, sought, before, after) {
  let best = null;
  for (let start = text.indexOf(sought); start >= 0; start = text.indexOf(sought, start + 1)) {
    const end = start + sought.length;
    const fit = common(text.slice(Math.max(start - 80, 0), start), before, true) + common(text.slice(end, end + 80), after, false);
    if (!best || fit > best.fit) best = { start, end, fit };
  }
  return best ? [[best.start, best.end]] : [];
}

/** The longest pieces of a quote that stand in a text, from its beginning on. */
function pieces(text, sought) {
  const found = [];
  let at = 0;
  while (at + PIECE <= sought.length) {
    if (!text.includes(sought.slice(at, at + PIECE))) {
      at += 1;
      continue;
    }
    let [fits, fails] = [PIECE, sought.length - at + 1];
    while (fails - fits > 1) {
      const middle = (fits + fails) >> 1;
      if (text.includes(sought.slice(at, at + middle))) fits = middle;
      else fails = middle;
    }
    const start = text.indexOf(sought.slice(at, at + fits));
    found.push([start, start + fits]);
    at += fits;
  }
  return found;
}

/** Letters that the cells of a row must have together to be looked for; a guess. */
const ROW = 8;

/** Where the row of a table stands: its cells in order, without the names of their columns; the caption may come first. */
function row(text, quote) {
  const cells = quote.split(" | ").map((cell) => fold(cell.replace(/^[^:]*: /, "")));
  for (let first = 0; first < Math.min(3, cells.length - 1); first += 1) {
    const sought = cells.slice(first).join("");
    const start = sought.length < ROW ? -1 : text.indexOf(sought);
    if (start >= 0 && text.indexOf(sought, start + 1) < 0) return [[start, start + sought.length]];
  }
  return [];
}

/**
 * Where a quote stands in the parts of a page: spans `[part, start, end]` of each part that holds some of it, and which share
 * of its letters was found. Where too little was, there are no spans.
 */
export function findQuote(quote, parts, { before = "", after = "" } = {}) {
  const { text, places } = folded(parts);
  const sought = fold(quote);
  if (!sought) return { spans: [], share: 0 };
  const exact = whole(text, sought, fold(before), fold(after));
  const inRow = exact.length || !quote.includes(" | ") ? [] : row(text, quote);
  if (inRow.length) return { spans: spansOf(inRow, places), share: 1 };
  const runs = exact.length ? exact : pieces(text, sought);
  const share = runs.reduce((sum, [start, end]) => sum + end - start, 0) / sought.length;
  return { spans: share < ENOUGH ? [] : spansOf(runs, places), share };
}

function spansOf(runs, places) {
  const spans = [];
  const letters = new Set(runs.flatMap(([start, end]) => Array.from({ length: end - start }, (_, place) => start + place)));
  for (const place of [...letters].sort((one, other) => one - other)) {
    const [part, from, to] = places[place];
    const last = spans.at(-1);
    if (last?.[0] === part && from - last[2] < BRIDGED) last[2] = to;
    else spans.push([part, from, to]);
  }
  return spans;
}
