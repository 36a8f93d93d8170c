// The words of the page, from locales/<language>.json.  An element remembers its word, so that a switch of language
// changes what is on the page already and keeps what is open, typed or focused.
const KEPT = "gigamind.language";
const bound = new WeakMap(); // element -> Map(attribute -> [key, values])
let table = {};

/** The language of the last visit; at the first, the one of these that the browser asks for before others, else the first. */
export const keptLanguage = (languages) =>
  [localStorage.getItem(KEPT), ...navigator.languages.map((wanted) => wanted.split("-")[0])].find((wanted) => languages.includes(wanted)) ?? languages[0];
export const language = () => document.documentElement.lang;

/** Load a language and put it in the place of the one before. */
export async function useLanguage(name) {
  const answer = await fetch(`locales/${name}.json`);
  if (!answer.ok) throw new Error(`locales/${name}.json: ${answer.status}`);
  table = await answer.json();
  localStorage.setItem(KEPT, name);
  document.documentElement.lang = name;
  for (const element of document.querySelectorAll("[data-word], [data-label]")) {
    for (const [attribute, [key, values]] of wordsOf(element)) write(element, attribute, key, values);
  }
}

/** The phrase "table.key", its {placeholders} filled; a value that is a function is asked in each language. */
export function say(key, values = {}) {
  const [group, name] = key.split(".");
  const phrase = table[group]?.[name] ?? key;
  return phrase.replace(/\{(\w+)\}/g, (_, place) => (typeof values[place] === "function" ? values[place]() : values[place]));
}

/** The first of these phrases that there is. */
export const known = (...keys) => keys.find((key) => key.split(".").reduce((group, name) => group?.[name], table) !== undefined);

/** Give an element a phrase, as its text or in an attribute; `key` may be a function that says it in each language. */
export function worded(element, key, values = {}, attribute = "text") {
  const words = wordsOf(element);
  words.set(attribute, [key, values]);
  bound.set(element, words);
  element.dataset.word ??= typeof key === "string" ? key : "";
  write(element, attribute, key, values);
  return element;
}

// What the HTML says itself: data-word="page.skip", data-label for the accessible name.
function wordsOf(element) {
  const words = bound.get(element) ?? new Map();
  if (!words.size) {
    if (element.dataset.word) words.set("text", [element.dataset.word, {}]);
    if (element.dataset.label) words.set("aria-label", [element.dataset.label, {}]);
    bound.set(element, words);
  }
  return words;
}

function write(element, attribute, key, values) {
  const phrase = typeof key === "function" ? key() : say(key, values);
  if (attribute === "text") element.textContent = phrase;
  else element.setAttribute(attribute, phrase);
}
