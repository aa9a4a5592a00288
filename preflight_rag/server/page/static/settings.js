/** How questions are asked: route, model, filters. Remembered in this browser. */

import { call } from "./api.js";
import { dialog, find, h } from "./dom.js";
import { ROUTES } from "./route.js";
import { modelField } from "./connect.js";
import { isNone, modelName, plural } from "./words.js";

const KEY = "preflight.settings";

const NOTES = {
  auto: "Each question is read in the way that suits what is found.",
  plain: "All that is found in one go: the quickest.",
  "map-reduce": "A little at a time, then put together: for what hides among much.",
  corg: "Documents are compared first: for several things of one name, and for contradictions.",
};

export class Settings {
  /** @param {{ where: () => string | null }} sources @param {() => Promise<void>} onModel */
  constructor(sources, onModel) {
    this.sources = sources;
    this.onModel = onModel;
    this.info = { models: [], routes: Object.keys(ROUTES), settings: {}, limits: {} };
    try {
      this.chosen = JSON.parse(localStorage.getItem(KEY)) ?? {};
    } catch {
      this.chosen = {};
    }
    this.partitionSize = () => this.info.settings?.partition_size ?? 4;
    find("quick-route").addEventListener("change", (event) => this.#keep({ ...this.chosen, route: event.target.value }));
    for (const id of ["open-settings", "quick-settings"]) find(id).addEventListener("click", () => this.edit());
  }

  /** What the server offers has come. */
  offered(info) {
    this.info = info;
    if (this.chosen.model && !info.models.includes(this.chosen.model)) delete this.chosen.model;
    const options = info.routes.map((name) => h("option", { value: name }, ROUTES[name] ?? name));
    find("quick-route").replaceChildren(...options);
    this.#show();
  }

  /** The settings as fields of a question; what is not set is left to the server. */
  body() {
    const { route, model, k, where, since, pubmed, clarify, instructions } = this.chosen;
    const given = { route: route === "auto" ? undefined : route, model, k, since, pubmed, clarify, instructions };
    const lines = (where ?? "").split("\n").map((line) => line.trim()).filter(Boolean);
    const picked = this.sources.where();
    if (picked) lines.push(picked);
    if (lines.length) given.where = lines;
    return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined && value !== "" && value !== null));
  }

  #keep(chosen) {
    this.chosen = chosen;
    try {
      localStorage.setItem(KEY, JSON.stringify(chosen));
    } catch {
      /* storage is switched off: they hold until the page is closed */
    }
    this.#show();
  }

  #show() {
    find("quick-route").value = this.chosen.route ?? "auto";
    const { where = "", since } = this.chosen;
    const filters = where.split("\n").filter((line) => line.trim()).length + (since ? 1 : 0);
    const parts = [filters ? plural(filters, "filter") : null, this.body().pubmed ? "PubMed" : null, isNone(this.chosen.model ?? this.info.model) ? null : modelName(this.chosen.model ?? this.info.model)];
    find("quick-summary").textContent = parts.filter(Boolean).join(" · ") || "Settings";
  }

  /** Whether questions are suggested after an answer. */
  suggests() {
    return this.chosen.suggest !== false;
  }

  /** The dialog. */
  async edit() {
    const { settings = {} } = this.info;
    const chosen = { ...this.chosen };
    await dialog("Settings", (close) => {
      const form = h("form.settings", {}, this.#writing(chosen, settings, close), this.#reading(chosen, settings), this.#sources(chosen, settings), this.#routes(chosen), this.#account(close));
      const actions = h("div.dialog-actions", {}, h("button.button", { type: "button", onclick: () => this.#reset(close) }, "Defaults"), h("button.button.primary", { type: "submit" }, "Save"));
      form.append(actions);
      form.addEventListener("submit", (event) => {
        event.preventDefault();
        this.#keep(read(form));
        close();
      });
      return form;
    });
  }

  #reset(close) {
    this.#keep({});
    close();
  }

  #routes(chosen) {
    const option = (name) => {
      const input = h("input", { type: "radio", name: "route", value: name, checked: (chosen.route ?? "auto") === name });
      return h("label.radio", {}, input, h("span", {}, h("strong", {}, ROUTES[name] ?? name), h("small", {}, NOTES[name])));
    };
    return h("fieldset", {}, h("legend", {}, "How documents are read"), this.info.routes.map(option));
  }

  #sources(chosen, settings) {
    const where = h("textarea", { name: "where", rows: "2", placeholder: "year>=2020\ntitle ~ trial", spellcheck: "false" });
    where.value = chosen.where ?? "";
    return h(
      "fieldset",
      {},
      h("legend", {}, "Which documents"),
      h("label.field", {}, h("span", {}, "Not older than"), h("input", { name: "since", value: chosen.since ?? "", placeholder: "2020, 2020-06 or 2020-06-30", autocomplete: "off" })),
      settings.pubmed ? check("pubmed", "Also search PubMed, live", chosen.pubmed ?? true) : null,
      h("details.more", { open: Boolean(chosen.where) }, h("summary", {}, "Conditions"), h("label.field", {}, h("span", {}, "Only where", h("small", {}, " one condition a line")), where)),
    );
  }

  /** Who writes the answers, and how. */
  #writing(chosen, settings, close) {
    const instructions = h("textarea", { name: "instructions", rows: "3", maxlength: "4000", placeholder: "Answer in French, in short sentences" });
    instructions.value = chosen.instructions ?? "";
    const always = settings.instructions ? h("p.meta", {}, `On this server it always holds: ${settings.instructions}`) : null;
    const changed = async () => {
      close();
      await this.onModel();
    };
    return h(
      "fieldset",
      {},
      h("legend", {}, "How answers are written"),
      modelField(this.info, changed),
      h("label.field", {}, h("span", {}, "Instructions", h("small", {}, " tone, language, form; a language model follows them, without one nothing is written anew")), instructions),
      always,
      check("suggest", "Suggest what to ask next", chosen.suggest ?? true),
    );
  }

  #reading(chosen, settings) {
    const models = this.info.models.length > 1 ? [h("label.field", {}, h("span", {}, "Model"), h("select", { name: "model" }, this.info.models.map((name) => h("option", { value: name, selected: name === (chosen.model ?? this.info.model) }, modelName(name)))))] : [];
    return h(
      "fieldset",
      {},
      h("legend", {}, "Answers"),
      models,
      h("label.field", {}, h("span", {}, "Passages read"), h("input", { name: "k", type: "number", min: "1", max: "200", value: chosen.k ?? "", placeholder: String(settings.k ?? 16) })),
      check("clarify", "Ask me when many things share one name", chosen.clarify ?? settings.clarify),
    );
  }

  #account(close) {
    if (!this.info.auth) return null;
    const leave = async () => {
      await call("/api/session", { method: "DELETE" });
      close();
      location.reload();
    };
    return h("p.account", {}, `Signed in as ${this.info.user}. `, h("button.quiet-button", { type: "button", onclick: leave }, "Sign out"));
  }
}

function check(name, label, checked) {
  return h("label.check", {}, h("input", { type: "checkbox", name, checked: Boolean(checked) }), h("span", {}, label));
}

function read(form) {
  const fields = new FormData(form);
  const text = (name) => String(fields.get(name) ?? "").trim() || undefined;
  return {
    route: text("route"),
    model: text("model"),
    k: text("k") ? Number(text("k")) : undefined,
    where: text("where"),
    since: text("since"),
    pubmed: form.elements.pubmed ? fields.has("pubmed") : undefined,
    clarify: fields.has("clarify"),
    instructions: text("instructions"),
    suggest: fields.has("suggest"),
  };
}
