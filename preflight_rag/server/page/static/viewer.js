/** A PDF at the page of a quote, with the quote marked. What draws it is pdf.js, which is loaded with the first PDF. */

import { announce, dialog, h, icon } from "./dom.js";
import { findQuote } from "./quote.js";

const MOST_PIXELS = 12e6; // of a page's picture: phones refuse much larger ones
const ZOOMS = [1, 1.5, 2, 3];
const NARROW = 480; // below it a whole page's print is too small to be read
const MARKED = "The quote is marked.";
const IN_PART = "Part of the quote is marked; the rest does not stand on this page word for word.";
const NOT_FOUND = "The quote was not found on this page word for word, so nothing is marked.";
const PROBLEMS = {
  PasswordException: "This PDF asks for a password. Open it in a tab of its own.",
  InvalidPDFException: "This PDF is damaged and cannot be shown here.",
};

let loading = null;
const beside = (name) => new URL(`./pdfjs/${name}`, import.meta.url).href;

async function pdfjs() {
  loading ??= import("./pdfjs/pdf.min.mjs");
  try {
    const found = await loading;
    found.GlobalWorkerOptions.workerSrc = beside("pdf.worker.min.mjs");
    return found;
  } catch (error) {
    loading = null;
    throw error;
  }
}

export const fileAddress = (id, page) => `/api/documents/file?id=${encodeURIComponent(id)}${page ? `#page=${page}` : ""}`;

/**
 * Show a PDF of the library over the page.
 * @param {{ id: string, title: string, page?: number, quote?: string, before?: string, after?: string }} wanted `before` and
 *   `after` are what stands around the quote, by which one of several equal places is chosen.
 */
export async function openPdf(wanted) {
  const view = new PdfView(wanted);
  const closed = dialog(wanted.title, () => view.parts(), { kind: "viewer" });
  view.begin();
  await closed;
  view.end();
}

class PdfView {
  constructor(wanted) {
    Object.assign(this, { wanted, page: wanted.page ?? 1, pages: 0, zoom: 0, turn: 0, pdf: null, task: null, drawing: null });
  }

  parts() {
    const button = (name, label, run) => h("button.icon-button", { type: "button", "aria-label": label, title: label, onclick: run }, icon(name));
    this.previous = button("before", "Previous page", () => this.#go(this.page - 1));
    this.next = button("after", "Next page", () => this.#go(this.page + 1));
    this.smaller = button("smaller", "Smaller", () => this.#zoomed(-1));
    this.larger = button("plus", "Larger", () => this.#zoomed(1));
    this.where = h("span.viewer-where", {}, "");
    this.own = h("a.quiet-button", { href: fileAddress(this.wanted.id, this.page), target: "_blank", rel: "noopener", "aria-label": "In a tab of its own", title: "In a tab of its own" }, icon("open"), h("span", {}, "In a tab of its own"));
    this.note = h("p.viewer-note", { role: "status" }, "Opening the document.");
    this.room = h("div.viewer-room", { tabindex: "0", role: "region", "aria-label": "The page", "data-first": true });
    this.#controls();
    return [h("div.viewer-bar", {}, this.previous, this.where, this.next, this.smaller, this.larger, h("span.spring"), this.own), this.note, this.room];
  }

  async begin() {
    try {
      const library = await pdfjs();
      if (this.turn < 0) return;
      this.task = library.getDocument({
        url: fileAddress(this.wanted.id),
        verbosity: library.VerbosityLevel.ERRORS,
        isEvalSupported: false,
        useWorkerFetch: false,
        useSystemFonts: false, // what a system has in place of Times is broader, and letters run into each other
        standardFontDataUrl: beside(""),
        wasmUrl: beside(""),
      });
      this.pdf = await this.task.promise;
      this.pages = this.pdf.numPages;
      this.zoom = this.room.clientWidth < NARROW ? 1 : 0;
      await this.#go(Math.min(this.page, this.pages));
    } catch (error) {
      if (this.turn >= 0) this.#failed(error);
    }
  }

  /** The dialog was closed. */
  end() {
    this.turn = -1;
    this.drawing?.cancel();
    this.task?.destroy().catch(() => null); // why it could not be loaded is said already
  }

  #controls() {
    this.previous.disabled = this.page <= 1;
    this.next.disabled = this.page >= this.pages;
    this.smaller.disabled = !this.pdf || this.zoom === 0;
    this.larger.disabled = !this.pdf || this.zoom === ZOOMS.length - 1;
    this.where.textContent = this.pages ? `Page ${this.page} of ${this.pages}` : "";
    this.own.href = fileAddress(this.wanted.id, this.page);
  }

  async #go(page) {
    this.page = page;
    await this.#show();
  }

  async #zoomed(step) {
    this.zoom += step;
    await this.#show();
  }

  async #show() {
    this.#controls();
    const turn = (this.turn += 1);
    try {
      const [library, page] = await Promise.all([pdfjs(), this.pdf.getPage(this.page)]);
      const text = await page.getTextContent();
      if (turn === this.turn) await this.#draw(library, page, text);
    } catch (error) {
      if (turn === this.turn && error.name !== "RenderingCancelledException") this.#failed(error);
    }
  }

  async #draw(library, page, text) {
    this.drawing?.cancel();
    const wide = page.getViewport({ scale: 1 }).width;
    const scale = (Math.min(this.room.clientWidth - 24, 900) / wide) * ZOOMS[this.zoom];
    const viewport = page.getViewport({ scale });
    const fine = Math.min(devicePixelRatio || 1, Math.sqrt(MOST_PIXELS / (viewport.width * viewport.height)));
    const canvas = h("canvas", { width: Math.floor(viewport.width * fine), height: Math.floor(viewport.height * fine), "aria-hidden": "true" });
    const layer = h("div.textLayer", {});
    const sheet = h("div.sheet", {}, canvas, layer);
    sheet.style.width = `${viewport.width}px`;
    sheet.style.height = `${viewport.height}px`;
    sheet.style.setProperty("--total-scale-factor", String(scale));
    this.room.replaceChildren(sheet);
    const words = new library.TextLayer({ textContentSource: text, container: layer, viewport });
    await words.render();
    this.#mark(words);
    this.drawing = page.render({ canvas, viewport, transform: [fine, 0, 0, fine, 0, 0] });
    await this.drawing.promise;
    sheet.dataset.drawn = "true";
  }

  /** Mark the quote on its page, and what of it runs over onto the next. */
  #mark(words) {
    const { quote, before, after, page } = this.wanted;
    const at = Math.min(page ?? 1, this.pages);
    if (!quote || (this.page !== at && this.page !== at + 1)) {
      this.#say("");
      return;
    }
    const { spans, share } = findQuote(quote, words.textContentItemsStr, { before, after });
    for (const [part, start, end] of spans.toReversed()) {
      const node = words.textDivs[part].firstChild;
      const range = new Range();
      range.setStart(node, start);
      range.setEnd(node, end);
      range.surroundContents(h("mark"));
    }
    this.#scrollTo(this.room.querySelector("mark"));
    if (this.page === at || spans.length) this.#say(!spans.length ? NOT_FOUND : share > 0.95 ? MARKED : IN_PART, !spans.length);
    else this.#say("");
  }

  /** Bring a mark into view; on a narrow screen with the beginning of its lines, unless it begins far to the right. */
  #scrollTo(mark) {
    if (!mark) return;
    mark.scrollIntoView({ block: "center", inline: "nearest" });
    const { room } = this;
    const left = mark.getBoundingClientRect().left - room.getBoundingClientRect().left + room.scrollLeft;
    if (left < room.clientWidth / 2) room.scrollLeft = 0;
  }

  #say(text, loud = false) {
    this.note.textContent = text;
    this.note.classList.toggle("loud", loud);
  }

  #failed(error) {
    const gone = error.status === 404 ? "This file is no longer there. The quote in the evidence is what was read of it." : null;
    this.#say(gone ?? PROBLEMS[error.name] ?? "This document could not be shown here. Open it in a tab of its own.", true);
    if (gone) this.own.remove();
    announce(this.note.textContent);
  }
}
