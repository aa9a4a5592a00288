/** Making elements, and the few things that every part of the page says or asks: status, toast, dialogs. */

import { drop, lay, lift } from "./layers.js";

/**
 * An element: `h("p.note", { id: "x", onclick: f }, "text", child)`. Strings become text, never markup.
 * Attributes that are null, undefined or false are left out; true stands for an empty value.
 */
export function h(tag, attributes = {}, ...children) {
  const [name, ...classes] = tag.split(".");
  const node = document.createElement(name || "div");
  if (classes.length) node.classList.add(...classes);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (key === "class") node.classList.add(...value.split(" "));
    else node.setAttribute(key, value === true ? "" : value);
  }
  node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

const SVG = "http://www.w3.org/2000/svg";

/** An SVG element, with attributes. */
export function svg(tag, attributes = {}, ...children) {
  const node = document.createElementNS(SVG, tag);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...children);
  return node;
}

/** One of the page's icons; hidden from screen readers, since the text beside it or the label says the same. */
export function icon(name) {
  return svg("svg", { class: "icon", "aria-hidden": "true" }, svg("use", { href: `#i-${name}` }));
}

export const find = (id) => document.getElementById(id);

/** The server's sanitised HTML as nodes: the only place where markup is parsed, and in an inert document. */
export function nodesOf(html) {
  const parsed = new DOMParser().parseFromString(html, "text/html");
  return [...parsed.body.childNodes].map((node) => document.importNode(node, true));
}

/** Show nodes in place of what a parent has, and touch only those that differ: text that stands does not flicker. */
export function showNodes(parent, nodes) {
  const had = [...parent.childNodes];
  nodes.forEach((node, place) => {
    const old = had[place];
    if (old === undefined) parent.append(node);
    else if (!old.isEqualNode(node)) old.replaceWith(node);
  });
  had.slice(nodes.length).forEach((node) => node.remove());
}

/** Tell screen readers, once and briefly. */
export function announce(text) {
  find("status").textContent = text;
}

/** What stands in the place of something that is no longer there: one line, and the ways out. */
export function deadEnd(text, ...ways) {
  return h("div.dead-end", {}, icon("none"), h("div", { role: "alert" }, h("h1", {}, text)), h("p.dead-ways", {}, ways));
}

/** A way out: a link within the page, as a button. */
export const wayTo = (hash, text) => h("a.button", { href: hash }, text);

let fading = 0;

/** A short notice for eyes and ears that goes away by itself. */
export function toast(text) {
  const place = find("toast");
  place.textContent = text;
  place.hidden = false;
  announce(text);
  clearTimeout(fading);
  fading = setTimeout(() => (place.hidden = true), 3200);
}

/** A modal dialog, which the browser's Back closes, too; resolves with what `close(value)` was given, or null. `fill(close)` makes its content. */
export function dialog(title, fill, { kind = "" } = {}) {
  return new Promise((resolve) => {
    let outcome = null;
    const heading = h("h2", { id: "dialog-title" }, title);
    const node = h("dialog", { class: kind || null, "aria-labelledby": "dialog-title" });
    const close = (value = null) => {
      outcome = value;
      node.close();
    };
    const cross = h("button.icon-button", { type: "button", "aria-label": "Close", onclick: () => close() }, icon("close"));
    node.append(h("div.dialog-head", {}, heading, cross), ...[fill(close)].flat());
    node.addEventListener("close", () => {
      node.remove();
      // The browser has returned the focus at once; whoever writes elsewhere since then goes on there.
      (document.activeElement === document.body ? lift : drop)(layer);
      resolve(outcome);
    });
    node.addEventListener("click", (event) => event.target === node && close());
    const layer = lay(() => node.close());
    document.body.append(node);
    node.showModal();
    node.querySelector("[data-first]")?.focus();
  });
}

/** Ask before something is lost. Resolves true when confirmed. */
export async function confirmed(title, text, action) {
  const answer = await dialog(title, (close) => [
    h("p", {}, text),
    h(
      "div.dialog-actions",
      {},
      h("button.button", { type: "button", "data-first": true, onclick: () => close(false) }, "Cancel"),
      h("button.button.danger", { type: "button", onclick: () => close(true) }, action),
    ),
  ]);
  return answer === true;
}

/** Ask for one line of text. Resolves with it, or null; with `required: false` also with none. */
export function promptFor(title, label, value, { required = true } = {}) {
  return dialog(title, (close) => {
    const input = h("input", { type: "text", value, maxlength: "500", "data-first": true, required });
    const form = h(
      "form",
      {},
      h("label.field", {}, h("span", {}, label), input),
      h("div.dialog-actions", {}, h("button.button.primary", { type: "submit" }, "Save")),
    );
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      if (input.value.trim() || !required) close(input.value.trim());
    });
    return form;
  });
}
