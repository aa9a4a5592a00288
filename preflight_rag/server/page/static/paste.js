/** Text that is pasted becomes a document like any file. */

import { dialog, h } from "./dom.js";

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
