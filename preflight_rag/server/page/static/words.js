/** Small pieces of text: dates, places, plurals, and the light markup of a group's answer. */

import { h, icon } from "./dom.js";

export const plural = (count, one, many = `${one}s`) => `${count.toLocaleString("en")} ${count === 1 ? one : many}`;

export const number = (value, digits = 2) =>
  value === null || value === undefined ? "–" : Number(value.toPrecision(digits)).toLocaleString("en", { maximumFractionDigits: 4 });

/** A line as a sentence: its first letter large, a full stop at its end. */
export const asSentence = (line) => line.trim().replace(/^./, (first) => first.toUpperCase()).replace(/([^.!?])$/, "$1.");

/** Ways out that are for programs: calls of the API and commands. */
const FOR_PROGRAMS = /\/api\b|`preflight /;

/** What helps, where it is for people; else nothing. */
export const helpOf = ({ help }) => (help && !FOR_PROGRAMS.test(help) ? asSentence(help) : "");

/** What went wrong and what helps, as sentences. */
export const sentences = (error) => [error.message && asSentence(error.message), helpOf(error)].filter(Boolean).join(" ");

/** Seconds as people say them: `40 ms`, `1.3 s`, `2 min 5 s`. */
export function seconds(value) {
  if (value < 0.0995) return `${Math.max(1, Math.round(value * 1000))} ms`;
  if (value < 60) return `${value < 9.95 ? value.toFixed(1) : Math.round(value)} s`;
  return `${Math.floor(value / 60)} min ${Math.round(value % 60)} s`;
}

/** `2022-01-10` as `10 Jan 2022`; a year or a month stays one. */
export function day(date) {
  const parts = /^(\d{4})(?:-(\d{2}))?(?:-(\d{2}))?/.exec(date ?? "");
  if (!parts) return date ?? "";
  const [, year, month, dayOfMonth] = parts;
  const name = month && ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"][month - 1];
  return [dayOfMonth && Number(dayOfMonth), name, year].filter(Boolean).join(" ");
}

/** How long ago a moment was; moments are ISO texts or seconds since 1970. */
export function ago(moment) {
  if (!moment) return "";
  const then = typeof moment === "number" ? moment * 1000 : Date.parse(moment);
  const minutes = Math.floor((Date.now() - then) / 60000);
  if (Number.isNaN(minutes)) return "";
  if (minutes < 1) return "just now";
  if (minutes < 60) return `${minutes} min ago`;
  if (minutes < 24 * 60) return `${Math.floor(minutes / 60)} h ago`;
  if (minutes < 7 * 24 * 60) return plural(Math.floor(minutes / 1440), "day") + " ago";
  return day(new Date(then).toISOString());
}

/** A path's last part; addresses and PMIDs stay whole. */
export const basename = (source) => (/^(https?:|PMID|PMC)/i.test(source) ? source : source.split(/[\\/]/).pop() || source);

/** What files are called beside each other: by their names, and with their folder where two have one name. */
export function namesApart(paths) {
  const count = new Map();
  for (const path of new Set(paths)) count.set(basename(path), (count.get(basename(path)) ?? 0) + 1);
  return (path) => (count.get(basename(path)) > 1 ? path.split(/[\\/]/).slice(-2).join("/") : basename(path));
}

/** When a document is from, as it says itself; else only when its file was saved, called so. */
export const dateOf = ({ date, file_saved: saved }) => (date ? day(date) : saved ? `file saved ${day(saved)}` : "");

// Endings of shows, templates and flat files, too; the same two lists as in text/page_names.py.
const SLIDES = /\.(?:pptx|pptm|ppt|ppsx|ppsm|potx|potm|odp|otp|fodp)$/i;
const SHEETS = /\.(?:xlsx|xlsm|xls|xltx|xltm|ods|ots|fods)$/i;

/** What people call a page of a file: of slides and sheets it is one of those. */
const kindOfPage = (source) => (SLIDES.test(source) ? "slide" : SHEETS.test(source) ? "sheet" : "page");

/** Where a citation stands: file, page, date. */
export const place = (cited, nameOfFile = basename) => [cited.source && nameOfFile(cited.source), cited.page && `${kindOfPage(cited.source ?? "")} ${cited.page}`, dateOf(cited)].filter(Boolean).join(" · ");

const SITES = { "doi.org": "the publisher", "pubmed.ncbi.nlm.nih.gov": "PubMed", "pmc.ncbi.nlm.nih.gov": "PubMed Central" };

/** Whether this is an address of http or https: nothing else is linked to. */
export const isWeb = (url) => Boolean(url) && URL.canParse(url) && ["http:", "https:"].includes(new URL(url).protocol);

/** A link to where a document can be read in the open web, or null. */
export function webLink(url) {
  if (!isWeb(url)) return null;
  const { hostname } = new URL(url);
  return h("a.quiet-button.web", { href: url, target: "_blank", rel: "noopener noreferrer" }, icon("open"), `Open at ${SITES[hostname] ?? hostname}`);
}

/** Numbers in a row as people write them: `1, 3–5`. */
export function ranges(numbers) {
  const runs = [];
  for (const one of [...new Set(numbers)].sort((a, b) => a - b)) {
    if (runs.at(-1)?.[1] === one - 1) runs.at(-1)[1] = one;
    else runs.push([one, one]);
  }
  return runs.map(([first, last]) => (first === last ? `${first}` : last === first + 1 ? `${first}, ${last}` : `${first}–${last}`)).join(", ");
}

/** The citations of each document, documents in the order in which they are first cited. */
export function byDocument(citations) {
  const found = new Map();
  for (const one of citations) {
    const key = one.document_id || one.passage_id || `${one.n}`;
    found.set(key, [...(found.get(key) ?? []), one]);
  }
  return [...found.values()];
}

/** What a document is called: its title, else its file's name. */
export const nameOf = ({ title, source, document_id: id }) => title || basename(source || id || "A document");

/** Which sources these are, for those who hear the page: `Sources 1, 2`. */
export const sourceNumbers = (cited) => `${cited.length === 1 ? "Source" : "Sources"} ${ranges(cited.map(({ n }) => n))}`;

const YEAR = /(?<!\d)(?:19|20)\d\d(?!\d)/;

/** The year of a document, or of its file's name where the title has none: it tells editions of one title apart. */
function yearOf({ date, source, title }) {
  if (date) return YEAR.exec(date)?.[0];
  return YEAR.test(title ?? "") ? "" : YEAR.exec(basename(source ?? ""))?.[0];
}

/** A document's year and the pages that are cited of it: `2021 · p. 3, 7`. */
export function yearAndPages(cited) {
  const pages = cited.map(({ page }) => page).filter(Boolean);
  const kind = kindOfPage(cited[0].source ?? "");
  return [yearOf(cited[0]), pages.length && `${kind === "page" ? "p." : kind} ${ranges(pages)}`].filter(Boolean).join(" · ");
}

/** A text in code points, as the server counts them, cut at these offsets. */
export function cut(text, start, end) {
  const points = Array.from(text);
  return [points.slice(0, start), points.slice(start, end), points.slice(end)].map((part) => part.join(""));
}

/** Lines of light Markdown (bold, code, lists) as nodes; citation marks are left out, since a card shows its own. */
export function light(text) {
  const blocks = [];
  // Spaces are tried from their first one only, and a line's rest is anything: else long runs of them cost quadratic time.
  for (const line of text.replace(/(?<!\s)\s*\[\d+\]/g, "").split(/\n+/)) {
    if (!line.trim()) continue;
    const item = /^\s*(?:[-*]|\d+\.)\s+(.*)$/s.exec(line);
    if (!item) blocks.push(h("p", {}, inline(line)));
    else if (blocks.at(-1)?.tagName === "UL") blocks.at(-1).append(h("li", {}, inline(item[1])));
    else blocks.push(h("ul", {}, h("li", {}, inline(item[1]))));
  }
  return blocks;
}

function inline(line) {
  return line.split(/(\*\*[^*]+\*\*|`[^`]+`)/).map((part) => {
    if (/^\*\*.+\*\*$/.test(part)) return h("strong", {}, part.slice(2, -2));
    if (/^`.+`$/.test(part)) return h("code", {}, part.slice(1, -1));
    return part;
  });
}

/** An answer as Markdown with its sources, for the clipboard. */
export function asMarkdown(answer) {
  const notes = answer.citations.map(
    (found) => `[${found.n}] ${found.title || found.document_id} - ${place(found)}: "${found.quote.replace(/\s+/g, " ")}"`,
  );
  return [answer.answer, ...(notes.length ? [notes.join("\n")] : [])].join("\n\n");
}

/** A model as people call it: without who offers it. */
export const isNone = (name) => ["offline", "preflight reader"].includes(name);

export const modelName = (name) => (isNone(name) ? "No language model" : (name ?? "").replace(/^[a-z_]+:/, ""));
