/** Text that is pasted, and what is at a web address, becomes a document like any file. */

import { call } from "./api.js";
import { dialog, h } from "./dom.js";
import { sentences } from "./words.js";

/** Ask for a web address that the server fetches; resolves with the upload that began, or null. */
export function fromAddress(allowed) {
  return dialog("Add from the web", (close) => {
    if (!allowed.length) return h("p", {}, "This server fetches nothing from the web. Its operator allows it with ", h("code", {}, "--fetch-from ADDRESS"), "; or save the page, and add the file.");
    const address = h("input", { type: "url", required: true, maxlength: "2000", "data-first": true, placeholder: allowed[0], autocomplete: "off", spellcheck: "false" });
    const wrong = h("p.notice.error", { role: "alert", hidden: true });
    const send = h("button.button.primary", { type: "submit" }, "Add to the library");
    const form = h("form", {}, h("p", {}, `The server fetches what begins with ${allowed.join(", ")}.`), h("label.field", {}, h("span", {}, "Address"), address), wrong, h("div.dialog-actions", {}, send));
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      send.disabled = true;
      wrong.hidden = true;
      try {
        close(await call("/api/documents/url", { method: "POST", json: { url: address.value.trim() } }));
      } catch (error) {
        wrong.textContent = sentences(error);
        wrong.hidden = false;
      } finally {
        send.disabled = false;
      }
    });
    return form;
  });
}

/** Ask for a text and what to call it; resolves with a file, or null. */
export function pastedText() {
  return dialog("Paste text", (close) => {
    const name = h("input", { type: "text", maxlength: "120", required: true, placeholder: "Minutes of the meeting in May" });
    const text = h("textarea", { rows: "10", required: true, "data-first": true });
    const form = h(
      "form",
      {},
      h("label.field", {}, h("span", {}, "Text"), text),
      h("label.field", {}, h("span", {}, "What it is called"), name),
      h("div.dialog-actions", {}, h("button.button.primary", { type: "submit" }, "Add to the library")),
    );
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const called = name.value.replace(/[\\/:*?"<>|\p{Cc}]+/gu, " ").trim();
      if (called && text.value.trim()) close(new File([text.value], `${called}.txt`, { type: "text/plain" }));
    });
    return form;
  });
}
