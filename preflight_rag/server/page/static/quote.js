/**
 * Finding a quote in a page's text, of which a PDF only knows pieces: over line breaks, hyphens at their ends, ligatures and
 * spaces of any kind, by letters and digits alone. Pure: values in, values out.
 */

/** Letters that a piece must have in a row to be taken for part of a quote that is not there as a whole; a guess. */
const PIECE = 24;

/** The share of a quote's letters that must be found for its pieces to be marked; a guess. */
const ENOUGH = 0.6;

/** Letters and digits of texts in a row, without accents and case, and where each stands: `[part, start, end]`. */
export function folded(parts) {
  const letters = [];
  const places = [];
  parts.forEach((text, part) => {
    let at = 0;
    for (const character of text) {
      for (const letter of character.normalize("NFKD").toLowerCase()) {
        if (!/[\p{L}\p{N}]/u.test(letter)) continue;
        letters.push(letter);
        places.push([part, at, at + character.length]);
      }
      at += character.length;
    }
  });
  return { letters, text: letters.join(""), places };
}

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

/**
 * Where a quote stands in the parts of a page: spans `[part, start, end]` of each part that holds some of it, and which share
 * of its letters was found. Where too little was, there are no spans.
 */
export function findQuote(quote, parts, { before = "", after = "" } = {}) {
  const page = folded(parts);
  const text = page.letters.every((letter) => letter.length === 1) ? page.text : page.letters.map((letter) => letter[0]).join("");
  const sought = fold(quote).slice(0, 20000);
  if (!sought) return { spans: [], share: 0 };
  const exact = whole(text, sought, fold(before), fold(after));
  const runs = exact.length ? exact : pieces(text, sought);
  const share = runs.reduce((sum, [start, end]) => sum + end - start, 0) / sought.length;
  return { spans: share < ENOUGH ? [] : spansOf(runs, page.places), share };
}

function spansOf(runs, places) {
  const spans = [];
  for (const [start, end] of runs) {
    for (const [part, from, to] of places.slice(start, end)) {
      const last = spans.at(-1);
      if (last && last[0] === part && from >= last[1] && from - last[2] < 4) last[2] = to;
      else spans.push([part, from, to]);
    }
  }
  return spans;
}
