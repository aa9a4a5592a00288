/** Connecting a language model: its address, name and key go to the server, which keeps them and shows no key again. */

import { call } from "./api.js";
import { confirmed, dialog, h, toast } from "./dom.js";
import { isNone, modelName, sentences } from "./words.js";

/** The part of the settings that says which model writes the answers, for those who may connect another one. */
export function modelField({ model, model_entry: entry }, onChange) {
  if (!entry?.allowed) return null;
  const about = entry.host ? `${modelName(model)}, from ${entry.host}` : modelName(model);
  const connect = h("button.button.small", { type: "button", onclick: async () => (await asked()) && onChange() }, entry.host ? "Change" : "Connect a language model");
  const leave = entry.host ? h("button.button.small", { type: "button", onclick: async () => (await left()) && onChange() }, "Disconnect") : null;
  return h("div.model-field", {}, h("p", {}, "Answers are written by: ", h("strong", {}, about)), h("div.dialog-actions.start", {}, connect, leave));
}

/** Says that no language model writes the answers, with the way to one for those who may connect it; null where one does. */
export function withoutModel({ model, model_problem: problem, model_entry: entry }, onChange) {
  if (!isNone(model) || problem) return null;
  const connect = entry?.allowed ? h("button.quiet-button", { type: "button", onclick: async () => (await asked()) && onChange() }, "Connect a language model") : null;
  return h("div.no-model", {}, h("span", {}, h("strong", {}, "No language model."), h("span.meaning", {}, " Answers are the documents’ own words.")), connect);
}

async function asked() {
  return dialog("Connect a language model", (close) => {
    const field = (name, label, attributes, note) => {
      const input = h("input", { name, autocomplete: "off", spellcheck: "false", ...attributes });
      return [input, h("label.field", {}, h("span", {}, label, note ? h("small", {}, ` ${note}`) : null), input)];
    };
    const [address, addressField] = field("base_url", "Address", { type: "url", required: true, placeholder: "https://api.openai.com/v1", "data-first": true }, "of any server that speaks as OpenAI's does");
    const [model, modelRow] = field("model", "Model", { type: "text", placeholder: "its first one" }, "if you know its name");
    const [key, keyRow] = field("key", "Key", { type: "password", autocomplete: "new-password" }, "if it asks for one");
    const wrong = h("p.notice.error", { role: "alert", hidden: true });
    const send = h("button.button.primary", { type: "submit" }, "Connect");
    const form = h(
      "form",
      {},
      h("p", {}, "Questions, and the passages that are found for them, are sent to this address. The key is kept in a file on the server that only its owner can read; no page shows it again."),
      addressField,
      modelRow,
      keyRow,
      wrong,
      h("div.dialog-actions", {}, send),
    );
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      send.disabled = true;
      send.textContent = "Trying it";
      wrong.hidden = true;
      try {
        const { model: name } = await call("/api/model", { method: "PUT", json: { base_url: address.value.trim(), model: model.value.trim(), key: key.value } });
        toast(`Connected: ${modelName(name)}.`);
        close(true);
      } catch (error) {
        wrong.textContent = sentences(error);
        wrong.hidden = false;
      } finally {
        send.disabled = false;
        send.textContent = "Connect";
      }
    });
    return form;
  });
}

async function left() {
  if (!(await confirmed("Disconnect the model?", "Its address and its key are deleted from the server.", "Disconnect"))) return false;
  try {
    await call("/api/model", { method: "DELETE" });
    return true;
  } catch (error) {
    toast(sentences(error));
    return false;
  }
}
