/** Thumbs under an answer, with a reason: kept on the server, where they become questions of an evaluation. */

import { announce, h, icon, toast } from "./dom.js";
import { sentences } from "./words.js";

const REASONS = { good: ["Right", "Well explained"], bad: ["Wrong", "Something is missing", "Not what I asked", "The source does not say this"] };

export class Thumbs {
  /** @param {{ verdict: object | null, page: { judged: Function } }} turn */
  constructor(turn) {
    this.turn = turn;
    const thumb = (good, name, label) => h("button.icon-button.small.thumb", { type: "button", "aria-label": label, title: label, onclick: () => this.#press(good) }, icon(name));
    this.up = thumb(true, "up", "Good answer");
    this.down = thumb(false, "down-thumb", "Not a good answer");
    this.room = h("div.why");
    this.element = h("span.thumbs", {}, this.up, this.down);
    this.#show();
  }

  #show() {
    const { verdict } = this.turn;
    this.up.setAttribute("aria-pressed", String(verdict?.good === true));
    this.down.setAttribute("aria-pressed", String(verdict?.good === false));
  }

  async #press(good) {
    const again = this.turn.verdict?.good === good;
    if (!(await this.#keep(again ? { good: null } : { good }))) return;
    this.room.remove();
    if (again) announce("Taken back.");
    else this.#askWhy(good);
  }

  async #keep(verdict) {
    try {
      await this.turn.page.judged(this.turn, verdict);
    } catch (error) {
      toast(sentences(error));
      return false;
    }
    this.turn.verdict = verdict.good === null ? null : verdict;
    this.#show();
    return true;
  }

  #askWhy(good) {
    const reason = h("input", { type: "text", name: "reason", maxlength: "500", autocomplete: "off" });
    const expected = h("input", { type: "text", name: "expected", maxlength: "1000", autocomplete: "off" });
    const pick = (text) => h("button.button.small", { type: "button", onclick: () => (reason.value = text) }, text);
    const form = h(
      "form",
      {},
      h("p", {}, good ? "Thank you. What is good about it?" : "Thank you. What is wrong with it?"),
      h("div.options", {}, REASONS[good ? "good" : "bad"].map(pick)),
      h("label.field", {}, h("span", {}, "Reason"), reason),
      good ? null : h("label.field", {}, h("span", {}, "What would be right", h("small", {}, " if you know it")), expected),
      h("div.dialog-actions.start", {}, h("button.button.primary", { type: "submit" }, "Keep"), h("button.button", { type: "button", onclick: () => this.room.remove() }, "Close")),
    );
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      if (!(await this.#keep({ good, reason: reason.value.trim(), expected: expected.value.trim() }))) return;
      this.room.remove();
      toast("Kept on this server.");
    });
    this.room.replaceChildren(form);
    this.element.closest(".reply-foot").append(this.room);
    reason.focus({ preventScroll: true });
    this.room.scrollIntoView({ block: "nearest" });
  }
}
