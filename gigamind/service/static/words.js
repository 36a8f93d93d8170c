// The language of the page.  An element remembers its messages, so that a switch of language changes what is on the page
// and keeps what is open, typed or focused.
import { message, useTable } from "./messages.js";

const KEPT = "gigamind.language";
const memory = new Map(); // for values that the browser does not store
const bound = new WeakMap(); // element -> Map(attribute -> message or function)

/** The language of the last visit; at first the one that the browser prefers, else the first of these. */
const keptLanguage = (languages) =>
  [kept(KEPT), ...navigator.languages.map((wanted) => wanted.split("-")[0])].find((wanted) => languages.includes(wanted)) ?? languages[0];
export const language = () => document.documentElement.lang;

/** Return a value that this browser keeps, or null; with a value, keep it and return whether it is stored. */
export function kept(name, value) {
  try {
    if (value === undefined) return memory.get(name) ?? localStorage.getItem(name);
    memory.set(name, value);
    localStorage.setItem(name, value);
    return memory.delete(name);
  } catch {
    return value === undefined ? null : false;
  }
}

async function loaded(name) {
  const answer = await fetch(`locales/${name}.json`);
  if (!answer.ok) throw new Error(`locales/${name}.json: ${answer.status}`);
  return answer.json();
}

/** Show the page in a language; its messages are loaded unless they are given. */
async function useLanguage(name, messages = loaded(name)) {
  useTable(await messages);
  kept(KEPT, name);
  document.documentElement.lang = name;
  for (const element of document.querySelectorAll("[data-word], [data-label]")) {
    for (const [attribute, text] of wordsOf(element)) write(element, attribute, text);
  }
}

/** Show the page in the language of the last visit, else the first wanted one; the button switches to the next language. */
export async function switchesLanguage(button, languages, { wanted = languages, messages = {} } = {}) {
  const use = async (name) => {
    await useLanguage(name, messages[name]);
    button.lang = languages[(languages.indexOf(name) + 1) % languages.length];
    button.textContent = new Intl.DisplayNames([button.lang], { type: "language" }).of(button.lang);
  };
  button.addEventListener("click", () => use(button.lang));
  await use(keptLanguage(wanted));
}

/** Give an element a message, as its text or in an attribute; a function returns the text in each language. */
export function worded(element, text, attribute = "text") {
  const words = wordsOf(element);
  words.set(attribute, text);
  bound.set(element, words);
  element.dataset.word ??= "";
  write(element, attribute, text);
  return element;
}

// The messages in the HTML: data-word="Send", data-label for the accessible name.
function wordsOf(element) {
  const words = bound.get(element) ?? new Map();
  if (!words.size) {
    if (element.dataset.word) words.set("text", message(element.dataset.word));
    if (element.dataset.label) words.set("aria-label", message(element.dataset.label));
    bound.set(element, words);
  }
  return words;
}

function write(element, attribute, text) {
  const phrase = String(typeof text === "function" ? text() : text);
  if (attribute === "text") element.textContent = phrase;
  else element.setAttribute(attribute, phrase);
}
