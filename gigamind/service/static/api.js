// What the page asks of its server, with the token of this window where one is needed.
import { make } from "./dom.js";
import { known, language, say } from "./words.js";

const TOKEN = "gigamind.token";

/** An answer of the server that is none of what was asked for; its message is a sentence for people. */
export class ServiceError extends Error {}

/** Ask, and be asked for the token once where the server wants one.  @throws {ServiceError} */
async function request(path, { body, signal } = {}) {
  for (let refused = false; ; refused = true) {
    const token = sessionStorage.getItem(TOKEN);
    const headers = { "Accept-Language": language(), ...(token && { Authorization: `Bearer ${token}` }), ...(body && { "Content-Type": "application/json" }) };
    let answer;
    try {
      answer = await fetch(path, { method: body ? "POST" : "GET", headers, body: body && JSON.stringify(body), signal });
    } catch (error) {
      if (error.name === "AbortError") throw error;
      throw new ServiceError(say("page.noConnection"));
    }
    if (answer.ok) return answer;
    if (answer.status !== 401 || !(await askForToken(refused && token !== null))) throw new ServiceError(await detailOf(answer));
  }
}

async function detailOf(answer) {
  const word = known(`page.status${answer.status}`);
  if (word) return say(word);
  const told = await answer.json().catch(() => null);
  return typeof told?.detail === "string" ? told.detail : say("page.status", { status: answer.status });
}

export const read = async (path, signal) => (await request(path, { signal })).json();
export const send = (path, body) => request(path, { body });

/** The events of an answer to a question, as {event, data}.  @throws {ServiceError} before the first */
export async function* streamed(path, body, signal) {
  const answer = await request(path, { body, signal });
  yield* events(answer.body.pipeThrough(new TextDecoderStream()).getReader());
}

/** Server-sent events out of pieces of text that may end anywhere; comments are heartbeats and left out. */
export async function* events(reader) {
  let rest = "";
  let event = "message";
  let data = [];
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    rest += value;
    const held = rest.endsWith("\r") ? 1 : 0; // its "\n" may be the next piece
    const lines = rest.slice(0, rest.length - held).split(/\r\n|\n|\r/);
    rest = lines.pop() + rest.slice(rest.length - held);
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

let asking = null; // several requests may meet a 401 at once

function askForToken(refused) {
  asking ??= new Promise((resolve) => {
    const field = make("input", { type: "password", name: "token", id: "token", autocomplete: "off", required: true });
    const form = make("form", {},
      make("h2", { word: "page.tokenTitle", id: "token-title" }),
      make("p", { word: "page.tokenLead" }),
      refused ? make("p", { class: "trouble", role: "alert", word: "page.tokenRefused" }) : null,
      make("label", { for: "token", word: "page.token" }), field,
      make("div", { class: "row end" },
        make("button", { type: "button", class: "quiet", word: "page.close", on: { click: () => dialog.close() } }),
        make("button", { class: "primary", word: "page.enter" })));
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
