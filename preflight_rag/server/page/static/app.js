/** The page: puts its parts together, and says which view is shown, which panels are open, which keys do what. */

import { call, lookAt, questionsOf, whenKeyIsWanted } from "./api.js";
import { Chat, welcome } from "./chat.js";
import { withoutModel } from "./connect.js";
import { announce, deadEnd, find, h, wayTo } from "./dom.js";
import { Evidence } from "./evidence.js";
import { lay, lift, readdress } from "./layers.js";
import { Library } from "./library.js";
import { login } from "./login.js";
import { fromAddress, pastedText } from "./paste.js";
import { Settings } from "./settings.js";
import { Sources } from "./sources.js";
import { Threads } from "./threads.js";
import { plural, sentences } from "./words.js";

/** Give pasted text to the library as a file of its own. */
const paste = async () => {
  const file = await pastedText();
  if (file) addFiles([file]);
};
/** Have the server fetch a document. */
const fetchAddress = async () => {
  if (!info.library) await loadInfo(); // it may be asked for before the page knows what its server allows
  const upload = await fromAddress(info.fetch_from ?? []);
  if (upload) library.follow(upload);
};
const threadsColumn = matchMedia("(min-width: 760px)");
const evidenceColumn = matchMedia("(min-width: 1180px)");

whenKeyIsWanted(login);

let info = { limits: {} };
let suggestions = [];
let suggested = "";
const sources = new Sources();
const settings = new Settings(sources, loadInfo);
const evidence = new Evidence({ onOpen: () => panel("evidence", true), onClose: () => panel("evidence", false), partitionSize: () => settings.partitionSize(), withoutModel: () => withoutModel(info, loadInfo) });
const threads = new Threads({
  current: () => (find("library").hidden ? chat.id : null),
  onDeleted: (id) => id === chat.id && go("#/"),
  onRenamed: (id, title) => id === chat.id && (find("chat-title").textContent = title),
});
const library = new Library({ onChange: loadInfo, onPaste: paste, onAddress: fetchAddress, limits: () => info.limits ?? {}, onAsk: () => go("#/"), onAskOf: askOf, onQuestion: askThat, onGone: () => sources.checked().catch(() => {}) });
const chat = new Chat({ evidence, settings, threads, go, welcome: () => welcome({ library: info.library, write: info.write ?? true, suggestions, onAsk: (question) => chat.ask(question), onFiles: addFiles, onPaste: paste }) });

/** What the server is, what it offers, and what could be asked first. */
async function loadInfo() {
  info = await offered();
  settings.offered(info);
  tellOfModel(info.model_problem);
  const alone = withoutModel(info, loadInfo);
  find("no-model").replaceChildren(...(alone ? [alone] : []));
  library.allow(info.write ?? true);
  const { name, documents } = info.library;
  find("where").textContent = `${name} · ${plural(documents, "document")}`;
  if (!chat.id && !chat.runs.size && find("turns").querySelector(".welcome")) chat.startNew();
  suggest();
}

/** What the server is; the library that this tab looked at may be gone, then the first one is shown. */
async function offered() {
  try {
    const found = await call("/api/info");
    lookAt(found.libraries?.length > 1 ? found.library.name : "");
    choices(found);
    return found;
  } catch (error) {
    if (error.status !== 404) throw error;
    lookAt("");
    return call("/api/info");
  }
}

/** Let people choose among the libraries that the server has. */
function choices({ libraries = [], library: { name } }) {
  const several = libraries.length > 1;
  find("library-choice").hidden = !several;
  find("choose-library").replaceChildren(...(several ? libraries : []).map((one) => h("option", { value: one, selected: one === name }, one)));
}

/** Look at another library: the page begins anew there, as every link within it does. */
function chooseLibrary({ target: { value } }) {
  lookAt(value);
  document.cookie = `preflight_library=${encodeURIComponent(value)}; path=/; samesite=strict; max-age=31536000`;
  history.replaceState(null, "", "#/");
  location.reload();
}

/** Questions to begin with, which the server has asked before it names them: they come when they come. */
async function suggest() {
  const { name, documents } = info.library;
  const library = `${name} ${documents}`;
  if (suggested === library) return;
  suggested = library;
  suggestions = [];
  if (!documents) return;
  try {
    const questions = await questionsOf("/api/suggestions", () => suggested === library);
    if (suggested !== library) return;
    suggestions = questions;
    find("turns").querySelector(".welcome")?.dispatchEvent(new CustomEvent("suggestions", { detail: questions }));
  } catch {
    suggested = ""; // a page is whole without; they are asked for again when it is next loaded
  }
}

/** Ask of one document alone. */
function askOf(id, name) {
  sources.only(id, name);
  go("#/");
}

/** Ask one document a question at once. */
function askThat(id, name, question) {
  sources.only(id, name);
  // Once the conversation is shown: what shows it begins a new one.
  addEventListener("hashchange", () => chat.ask(question), { once: true });
  go("#/");
}

/** Say above the question that the language model is away, and why; null takes that back. */
function tellOfModel(problem) {
  find("model-away").hidden = !problem;
  find("model-problem").textContent = problem ? `The language model is away, so answers show what the documents say, word for word. ${problem}` : "";
}

addEventListener("preflight-answer", ({ detail: { gaps, receipt } }) => {
  const away = gaps.find(({ stage }) => stage === "model");
  if (away || receipt.model === info.model) tellOfModel(away?.error);
});

function addFiles(files) {
  if (!files.length || info.write === false) return;
  go("#/library");
  library.upload(files);
}

/** Go to a view; quietly, when what it shows stands there already. */
function go(hash, quiet = false) {
  if (quiet) readdress(hash);
  else if (location.hash === hash || (hash === "#/" && !location.hash)) route();
  else location.hash = hash;
  if (quiet) threads.mark();
}

/** Show what the address names. */
function route() {
  const hash = location.hash || "#/";
  if (!hash.startsWith("#/")) return;
  const inLibrary = hash === "#/library";
  find("rooms").dataset.view = inLibrary ? "library" : "chat";
  find("library").hidden = !inLibrary;
  find("chat").hidden = inLibrary;
  for (const [id, shown] of [["to-chat", !inLibrary], ["to-library", inLibrary]]) {
    if (shown) find(id).setAttribute("aria-current", "page");
    else find(id).removeAttribute("aria-current");
  }
  panel("threads", false);
  panel("evidence", false);
  // From the library, "Ask" leads back to the conversation that is open.
  find("to-chat").href = inLibrary && chat.id ? `#/t/${encodeURIComponent(chat.id)}` : "#/";
  if (inLibrary) {
    library.refresh();
    document.title = "Library - Preflight RAG";
  } else if (hash.startsWith("#/t/")) {
    chat.open(decodeURIComponent(hash.slice(4)));
  } else if (hash !== "#/") {
    chat.startNew(deadEnd("There is nothing at this address.", wayTo("#/", "New conversation"), wayTo("#/library", "Library")));
  } else {
    chat.startNew();
    if (threadsColumn.matches) find("question").focus();
  }
  threads.mark();
}

const laid = {};

/** Open or close a panel that lies over the page where there is no room for a column of its own. */
function panel(name, open) {
  const column = name === "threads" ? threadsColumn.matches : evidenceColumn.matches;
  const shown = open && !column;
  const place = find(name);
  const was = place.classList.contains("open");
  if (shown && !was) laid[name] = lay(() => panel(name, false));
  place.classList.toggle("open", shown);
  place.inert = !column && !open;
  find(`open-${name}`).setAttribute("aria-expanded", String(shown));
  const over = ["threads", "evidence"].some((one) => find(one).classList.contains("open"));
  find("backdrop").hidden = !over;
  for (const id of ["middle", name === "threads" ? "evidence" : "threads"]) {
    if (id === "middle") find(id).inert = over;
  }
  if (shown && !was) place.querySelector("button, a, input")?.focus();
  if (!shown && was) lift(laid[name], find(`open-${name}`));
}

function closePanels() {
  for (const name of ["threads", "evidence"]) if (find(name).classList.contains("open")) panel(name, false);
}

/** Keys that work everywhere on the page. */
function pressed(event) {
  if (document.querySelector("dialog[open]")) return;
  const typing = event.target.closest?.("input, textarea, select");
  if (event.key === "Escape") {
    if (document.querySelector(".open")) closePanels();
    else if (!find("stop").hidden) chat.stop();
  } else if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey) {
    event.preventDefault();
    toQuestion();
  } else if (event.key.toLowerCase() === "k" && (event.ctrlKey || event.metaKey)) {
    event.preventDefault();
    panel("threads", true);
    find("thread-search").select();
  }
}

function toQuestion() {
  closePanels();
  if (!find("library").hidden) {
    addEventListener("hashchange", () => find("question").focus(), { once: true });
    go("#/");
  }
  find("question").focus();
}

/** Light or dark: the system's, until one is chosen. */
function themed() {
  const system = matchMedia("(prefers-color-scheme: dark)");
  const button = find("toggle-theme");
  const isDark = () => (document.documentElement.dataset.theme ?? (system.matches ? "dark" : "light")) === "dark";
  const show = () => {
    button.setAttribute("aria-label", isDark() ? "Use light colours" : "Use dark colours");
    button.querySelector("use").setAttribute("href", isDark() ? "#i-light" : "#i-dark");
  };
  button.addEventListener("click", () => {
    const theme = isDark() ? "light" : "dark";
    document.documentElement.dataset.theme = theme;
    try {
      localStorage.setItem("preflight.theme", theme);
    } catch {
      /* storage is switched off: it holds until the page is closed */
    }
    show();
    announce(`${theme} colours`);
  });
  system.addEventListener("change", show);
  show();
}

/** Files may be dropped anywhere. */
function dropping() {
  const carriesFiles = (event) => [...(event.dataTransfer?.types ?? [])].includes("Files");
  const over = (event) => {
    if (!carriesFiles(event)) return;
    event.preventDefault();
    document.body.classList.add("dropping");
  };
  document.addEventListener("dragover", over);
  document.addEventListener("dragleave", (event) => !event.relatedTarget && document.body.classList.remove("dropping"));
  document.addEventListener("drop", (event) => {
    document.body.classList.remove("dropping");
    if (!carriesFiles(event)) return;
    event.preventDefault();
    addFiles([...event.dataTransfer.files]);
  });
}

async function begin() {
  themed();
  dropping();
  find("new-thread").addEventListener("click", () => go("#/"));
  find("choose-library").addEventListener("change", chooseLibrary);
  find("open-threads").addEventListener("click", () => panel("threads", true));
  find("close-threads").addEventListener("click", () => panel("threads", false));
  find("open-evidence").addEventListener("click", () => panel("evidence", true));
  find("backdrop").addEventListener("click", closePanels);
  find("skip").addEventListener("click", (event) => {
    event.preventDefault();
    toQuestion();
  });
  document.addEventListener("keydown", pressed);
  addEventListener("hashchange", route);
  for (const column of [threadsColumn, evidenceColumn]) column.addEventListener("change", () => ["threads", "evidence"].forEach((name) => panel(name, false)));
  route();
  try {
    await loadInfo();
    await threads.refresh();
    await Promise.all([sources.checked(), library.resume()]);
  } catch (error) {
    const retry = h("button.button", { type: "button", onclick: () => location.reload() }, "Try again");
    find("turns").replaceChildren(h("p.notice.error", { role: "alert" }, sentences(error)), retry);
  }
}

begin();
