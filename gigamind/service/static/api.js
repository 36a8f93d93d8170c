// Requests to the server, with the token of this window if one is required.
import { make } from "./dom.js";
import { _ } from "./messages.js";
import { language } from "./words.js";

const TOKEN = "gigamind.token";
const STATUSES = {
  413: _("The text is too long. Shorten it."),
  422: _("The question is empty or too long."),
  429: _("Too many questions. Try again in a moment."),
  503: _("The server is busy. Try again in a moment."),
};

/** A failed request; its message is a sentence for people. */
export class ServiceError extends Error {}

/** Send a request; ask for the token if the server requires one.  @throws {ServiceError} */
async function request(path, { body, signal } = {}) {
  for (let refused = false; ; refused = true) {
    const token = sessionStorage.getItem(TOKEN);
    const headers = { "Accept-Language": language(), ...(token && { Authorization: `Bearer ${token}` }), ...(body && { "Content-Type": "application/json" }) };
    let answer;
    try {
      answer = await fetch(path, { method: body ? "POST" : "GET", headers, body: body && JSON.stringify(body), signal });
    } catch (error) {
      if (error.name === "AbortError") throw error;
      throw new ServiceError(_("The server cannot be reached. Check that it is running."));
    }
    if (answer.ok) return answer;
    if (answer.status !== 401 || !(await askForToken(refused && token !== null))) throw new ServiceError(await detailOf(answer));
  }
}

async function detailOf(answer) {
  if (answer.status in STATUSES) return STATUSES[answer.status];
  const body = await answer.json().catch(() => null);
  return typeof body?.detail === "string" ? body.detail : _("The server returned error {status}.", { status: answer.status });
}

export const read = async (path, signal) => (await request(path, { signal })).json();
export const send = (path, body) => request(path, { body });

/** Yield the events of an answer as {event, data}.  @throws {ServiceError} before the first */
export async function* streamed(path, body, signal) {
  const answer = await request(path, { body, signal });
  yield* events(answer.body.pipeThrough(new TextDecoderStream()).getReader());
}

/** Yield server-sent events from chunks that may end anywhere; comments are heartbeats and skipped. */
export async function* events(reader) {
  let rest = "";
  let event = "message";
  let data = [];
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    rest += value;
    const pending = rest.endsWith("\r") ? 1 : 0; // its "\n" may be the next piece
    const lines = rest.slice(0, rest.length - pending).split(/\r\n|\n|\r/);
    rest = lines.pop() + rest.slice(rest.length - pending);
    for (const line of lines) {
      const [, field, content] = /^([^:]*):? ?(.*)$/s.exec(line);
      if (line === "") {
        if (data.length) yield { event, data: data.join("\n") };
        event = "message";
        data = [];
      } else if (field === "event") event = content;
      else if (field === "data") data.push(content);
    }
  }
}

let asking = null; // several requests may get a 401 at the same time

function askForToken(refused) {
  asking ??= new Promise((resolve) => {
    const field = make("input", { type: "password", name: "token", id: "token", autocomplete: "off", required: true });
    const form = make("form", {},
      make("h2", { word: _("Access token"), id: "token-title" }),
      make("p", { word: _("This server requires an access token. Your browser keeps the token until you close this window.") }),
      refused ? make("p", { class: "trouble", role: "alert", word: _("The server rejected this token.") }) : null,
      make("label", { for: "token", word: _("Token") }), field,
      make("div", { class: "row end" },
        make("button", { type: "button", class: "quiet", word: _("Close"), on: { click: () => dialog.close() } }),
        make("button", { class: "primary", word: _("Continue") })));
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      sessionStorage.setItem(TOKEN, field.value.trim());
      dialog.close("entered");
    });
    const dialog = make("dialog", { class: "box", "aria-labelledby": "token-title" }, form);
    dialog.addEventListener("close", () => {
      dialog.remove();
      asking = null;
      resolve(dialog.returnValue === "entered");
    });
    document.body.append(dialog);
    dialog.showModal();
  });
  return asking;
}
