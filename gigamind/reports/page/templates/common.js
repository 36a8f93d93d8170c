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

function make(tag, options = {}, ...children) {
  const { text, attributes = {}, on = {}, ...properties } = options;
  const element = Object.assign(document.createElement(tag), properties);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  for (const [name, listener] of Object.entries(on)) element.addEventListener(name, listener);
  if (text !== undefined) element.textContent = upright(text);
  element.append(...children.filter((child) => child !== null));
  return element;
}
