
// The data of the page, and functions that build its items.  Every text is set through textContent, so that a note cannot
// become markup.
const data = JSON.parse(document.getElementById("data").textContent);
const named = (fields, values) => Object.fromEntries(fields.map((field, at) => [field, values[at]]));
useWords(data.words);
// The reason of a missing verdict.
const why = (code) => ({
  rate_limited: _("too many requests to the model server"),
  quota_exhausted: _("the API quota is used up"),
  server_error: _("error of the model server"),
  timeout: _("the model server did not reply in time"),
  malformed_response: _("the reply of the model server is unreadable"),
  auth_failed: _("the model server rejected the API key"),
  bad_request: _("the model server rejected the request"),
  context_too_long: _("the text is too long for the model"),
  refused: _("the model refused the request"),
  content_filtered: _("blocked by a content filter"),
  truncated: _("the model's reply was cut off"),
  invalid_output: _("the model's reply has the wrong format"),
  budget_exceeded: _("budget exceeded"),
  cassette_miss: _("the recording has no reply to this request"),
  not_asked: _("the model was not called because earlier requests failed for the same reason"),
})[code] ?? code;
const figure = (value) => (value === null ? "–" : value.toFixed(3));

// Direction overrides in a note or a reply could change the text around them, so they are shown as codes.
const upright = (text) => String(text).replace(/[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, (one) =>
  `‹U+${one.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}›`);

// The ranges of invisible Markdown marks; offsets are those of the note.
const LEAD = /^[ \t]*(?:#{1,6}[ \t]+|>[ \t]?|[-*+][ \t]+(?:\[[ xX]\][ \t]+)?|\|(?:[ \t:|-]*\|$\n?)?[ \t]*|```.*$\n?)/gmu;
const TAIL = /[ \t]*\|[ \t]*$|[ \t]+\^[\w-]+$/gmu;
const STRONG = /\*\*|~~|`/gu;
const SLANTED = /(?<![\w*])\*(?=[^\s*])[^*\n]*[^\s*]\*(?!\*)/gu;
const LINK = /!?\[\[([^[\]|#\n]*)(#[^[\]|\n]*)?(?:\|([^[\]\n]*))?\]\]|\[([^[\]\n]+)\]\([^()\s]+\)/gu;

function marksOf(text) {
  const marks = [LEAD, TAIL, STRONG].flatMap((form) => [...text.matchAll(form)].map(({ index, 0: mark }) => [index, index + mark.length]));
  for (const { index, 0: words } of text.matchAll(SLANTED)) marks.push([index, index + 1], [index + words.length - 1, index + words.length]);
  for (const { index, 0: link, 1: target, 2: place, 3: alias, 4: label } of text.matchAll(LINK)) {
    const kept = label ?? alias ?? (target || (place ?? "#").slice(1));
    const start = index + (alias === undefined ? link.indexOf(kept) : link.lastIndexOf("|") + 1);
    marks.push([index, start], [start + kept.length, index + link.length]);
  }
  return marks.sort((a, b) => a[0] - b[0]);
}

// The ranges of the words of a text.  Chinese and Japanese have no spaces: each character is a word.
const WORD = /[\p{sc=Han}\p{sc=Hira}\p{sc=Kana}]|(?:(?![\p{sc=Han}\p{sc=Hira}\p{sc=Kana}])[\p{L}\p{M}\p{N}_])+/gu;
const wordsOf = (text) => [...text.matchAll(WORD)].map(({ index, 0: word }) => [index, index + word.length]);

// A part of a note without its Markdown marks.
function readable(text, from = 0, to = text.length, marks = marksOf(text)) {
  let [seen, at] = ["", from];
  for (const [start, end] of marks) {
    seen += text.slice(at, Math.max(at, Math.min(start, to)));
    at = Math.max(at, Math.min(end, to));
  }
  return seen + text.slice(at, to);
}

function make(tag, options = {}, ...children) {
  const { text, attributes = {}, on = {}, ...properties } = options;
  const element = Object.assign(document.createElement(tag), properties);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  for (const [name, listener] of Object.entries(on)) element.addEventListener(name, listener);
  if (text !== undefined) element.textContent = upright(text);
  element.append(...children.filter((child) => child !== null));
  return element;
}

// A ranking of notes with their scores; expected notes are marked.
function shortRanking(item, hits) {
  if (!hits.length) return make("p", { text: _("The search found nothing.") });
  return make("ol", { className: "before" }, ...hits.map(([note, score]) => {
    const line = make("li", {}, make("span", { text: data.notes[note] }), make("span", { className: "faint", text: ` ${figure(score)}` }));
    if (item.expected.includes(note)) line.append(" ", make("span", { className: "tick", text: _("expected note") }));
    return line;
  }));
}

// What a search covers of an item with a query, tags and rankings.
const searchedIn = (item, hits) => [item.id, item.query, ...[...item.expected, ...hits.map((hit) => hit[0])].map((note) => data.notes[note]),
  ...item.tags.map((tag) => data.tags[tag])];
const expectedNames = (item) => item.expected.map((note) => data.notes[note]).join(", ") || "–";
