"use strict";

// The data of the page, and what both kinds of items are built with.  Every text goes in through textContent: a note
// cannot become markup.
const data = JSON.parse(document.getElementById("data").textContent);
const named = (fields, values) => Object.fromEntries(fields.map((field, at) => [field, values[at]]));
const say = (key, values = {}) => data.words[key].replace(/\{(\w+)\}/g, (_, name) => values[name]);
const why = (code) => data.words[`code_${code}`] ?? code; // of a verdict that is not there
const figure = (value) => (value === null ? "–" : value.toFixed(3));

// Direction overrides of a note or a model would turn round what stands beside them.
const upright = (text) => String(text).replace(/[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, (one) =>
  `‹U+${one.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}›`);

// Marks of Markdown that a reader does not see, as ranges: offsets stay those of the note.
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

// Where the words of a text stand.  Chinese and Japanese have no spaces between them: there, each character is one.
const WORD = /[\p{sc=Han}\p{sc=Hira}\p{sc=Kana}]|(?:(?![\p{sc=Han}\p{sc=Hira}\p{sc=Kana}])[\p{L}\p{M}\p{N}_])+/gu;
const wordsOf = (text) => [...text.matchAll(WORD)].map(({ index, 0: word }) => [index, index + word.length]);

// A part of a note as a reader sees it.
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
