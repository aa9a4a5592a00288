/** Talking to the server: JSON calls, errors as one line with the way out, and streams of events. */

/** What went wrong, and what helps. `code` is the server's, or `offline` when it could not be reached. */
export class ApiError extends Error {
  constructor({ code = "error", message = "Something went wrong.", help = "" } = {}, status = 0) {
    super(message);
    Object.assign(this, { code, help, status });
  }
}

export const OFFLINE = {
  code: "offline",
  message: "The server can't be reached.",
  help: "Check that it still runs, then try again.",
};

let askForKey = null;

/** Register what is called when the server wants a key; it resolves when a session is open. */
export function whenKeyIsWanted(ask) {
  askForKey = ask;
}

async function problem(response) {
  try {
    const { error, detail } = await response.json();
    return new ApiError(error ?? { message: typeof detail === "string" ? detail : undefined }, response.status);
  } catch {
    return new ApiError({ message: `The server answered ${response.status}.`, help: "Try again." }, response.status);
  }
}

const LIBRARY = "preflight.library";
/** Which of several libraries this tab looks at; "" where there is one. */
let library = sessionStorage.getItem(LIBRARY) ?? "";

/** Look at this library from now on. */
export function lookAt(name) {
  library = name;
  sessionStorage.setItem(LIBRARY, name);
}

/** The header that says which library a request is for. */
export const forLibrary = () => (library ? { "X-Preflight-Library": encodeURIComponent(library) } : {});

/** One request; `json` is sent as the body. Throws `ApiError`. */
export async function request(path, { method = "GET", json, body, signal, headers = {} } = {}) {
  const options = { method, signal, headers: { ...forLibrary(), ...headers }, body };
  if (json !== undefined) {
    options.body = JSON.stringify(json);
    options.headers["Content-Type"] = "application/json";
  }
  let response;
  try {
    response = await fetch(path, options);
  } catch (error) {
    throw error.name === "AbortError" ? error : new ApiError(OFFLINE);
  }
  if (response.status === 401 && askForKey && path !== "/api/session") {
    await askForKey();
    return request(path, { method, json, body, signal, headers });
  }
  if (!response.ok) throw await problem(response);
  return response;
}

/** One request whose reply is JSON (null when there is none). */
export async function call(path, options) {
  const response = await request(path, options);
  return response.status === 204 ? null : response.json();
}

/** Questions that the server finds out meanwhile: asked for again until they are there, or nobody wants them. */
export async function questionsOf(path, wanted = () => true) {
  for (;;) {
    const { questions, ready } = await call(path);
    if (ready || !wanted()) return questions;
    await new Promise((resolve) => setTimeout(resolve, 1500));
    if (!wanted()) return questions;
  }
}

/** A request whose reply is a stream of server-sent events, as `{ name, data }`. */
export async function* events(path, options) {
  const headers = { Accept: "text/event-stream" };
  const response = await request(path, { method: "POST", headers, ...options });
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  let whole = false;
  try {
    for (;;) {
      const { value, done } = await reader.read();
      whole = done;
      if (done) return;
      const blocks = (rest + value.replaceAll("\r\n", "\n")).split("\n\n");
      rest = blocks.pop();
      for (const block of blocks) {
        const event = parsed(block);
        if (event) yield event;
      }
    }
  } catch (error) {
    throw error.name === "AbortError" ? error : new ApiError({ ...OFFLINE, message: "The connection was lost." });
  } finally {
    if (!whole) reader.cancel().catch(() => {});
  }
}

function parsed(block) {
  let name = "message";
  const data = [];
  for (const line of block.split("\n")) {
    if (line.startsWith("event:")) name = line.slice(6).trim();
    else if (line.startsWith("data:")) data.push(line.slice(5).trimStart());
  }
  return data.length ? { name, data: JSON.parse(data.join("\n")) } : null;
}

export const thread = (id) => `/api/threads/${encodeURIComponent(id)}`;
