/** Asking for the key of a server that wants one; it is kept by the browser in a cookie that no script can read. */

import { ApiError, call } from "./api.js";
import { dialog, h } from "./dom.js";
import { sentences } from "./words.js";

let asking = null;

async function ask() {
  const key = await dialog("Your key", (close) => {
    const input = h("input", { type: "password", name: "key", autocomplete: "current-password", required: true, "data-first": true });
    const wrong = h("p.notice.error", { role: "alert", hidden: true });
    const form = h(
      "form",
      {},
      h("p", {}, "This page is for people who have a key. Whoever runs it can give you one."),
      h("label.field", {}, h("span", {}, "Key"), input),
      wrong,
      h("div.dialog-actions", {}, h("button.button.primary", { type: "submit" }, "Enter")),
    );
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      try {
        await call("/api/session", { method: "POST", json: { key: input.value.trim() } });
        close(true);
      } catch (error) {
        wrong.textContent = sentences(error);
        wrong.hidden = false;
        input.select();
      }
    });
    return form;
  });
  if (!key) throw new ApiError({ code: "unauthorized", message: "A key is needed.", help: "Reload the page to enter it." }, 401);
}

/** One dialog, however many requests wait for it. */
export function login() {
  asking ??= ask().finally(() => (asking = null));
  return asking;
}
