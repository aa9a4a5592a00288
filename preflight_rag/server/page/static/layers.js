/**
 * What lies over the page, panels and dialogs: the browser's Back closes the uppermost, and focus returns to where it was.
 *
 * A layer that opens adds an entry to the history. One that is closed in another way leaves its entry there, to be used
 * by the next layer; a Back that leads to no other place than that goes one further.
 */

const open = [];
let depth = history.state?.layer ?? 0;
let here = location.href;

if (!history.state) history.replaceState({ layer: 0 }, "");

/** A layer has been opened; `close` is called when Back closes it. Gives the layer, for `lift`. */
export function lay(close) {
  const layer = { close, opener: document.activeElement };
  open.push(layer);
  if (depth < open.length) {
    depth = open.length;
    history.pushState({ layer: depth }, "");
  }
  return layer;
}

/** A layer was closed in another way than by Back: focus returns to what had it, or to what stands in its place. */
export function lift(layer, instead = null) {
  drop(layer);
  refocus(layer, instead);
}

/** A layer was closed in another way than by Back, and focus is where it belongs. */
export function drop(layer) {
  const place = open.indexOf(layer);
  if (place >= 0) open.splice(place, 1);
}

function refocus({ opener }, instead) {
  const there = opener?.isConnected && opener !== document.body && !opener.closest("[inert]");
  (there ? opener : instead)?.focus();
}

/** Change the address quietly; whatever lies over the page stays. */
export function readdress(hash) {
  history.replaceState(history.state ?? { layer: 0 }, "", hash);
  here = location.href;
}

function moved({ state }) {
  const [was, from] = [depth, here];
  if (!state) history.replaceState({ layer: 0 }, "");
  depth = state?.layer ?? 0;
  here = location.href;
  if (!state || depth >= was) return;
  if (open.length > depth) {
    while (open.length > depth) {
      const layer = open.pop();
      layer.close();
      refocus(layer);
    }
    if (location.href !== from) readdress(from);
  } else if (here === from) {
    history.back();
  }
}

addEventListener("popstate", moved);
addEventListener("hashchange", () => !history.state && moved({ state: null }));
