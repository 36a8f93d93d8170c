// Elements and icons.  Text of notes, answers and servers becomes text nodes here, never markup.
import { worded } from "./words.js";

const SVG = "http://www.w3.org/2000/svg";
const ICONS = {
  "shield-check": "M12 3l7.5 2.8v5.4c0 4.6-3 8.2-7.5 9.8-4.5-1.6-7.5-5.2-7.5-9.8V5.8z M8.6 12l2.4 2.4 4.4-4.8",
  "triangle-alert": "M12 4.2 2.9 19.8h18.2z M12 10v4.2 M12 17v.1",
  "octagon-alert": "M8.4 3h7.2L21 8.4v7.2L15.6 21H8.4L3 15.6V8.4z M12 7.8v5 M12 16v.1",
  abstains: "M4 5h16v11.5h-8.5L7 20.5v-4H4z M9 10.8h6",
  check: "M5 12.6 9.6 17 19 7.4",
  cross: "M6.5 6.5l11 11 M17.5 6.5l-11 11",
  question: "M8.8 9.2a3.2 3.2 0 1 1 4.7 2.9c-1 .6-1.5 1.2-1.5 2.4 M12 18v.1",
  minus: "M6 12h12",
  checklist: "M4 7l1.6 1.6L8.4 5.6 M4 16l1.6 1.6 2.8-3 M12 7h8 M12 16.5h8",
  note: "M6 3.5h8l4.5 4.5v12.5H6z M13.5 3.5V8.5h5",
  up: "M12 19.5v-14 M6 11l6-6 6 6",
  stop: "M6.5 6.5h11v11h-11z",
  again: "M19.5 12a7.5 7.5 0 1 1-2.2-5.3L19.5 9 M19.5 4.5V9H15",
  thumb: "M7.5 11v9H4.5v-9z M7.5 11 11 4.2c1.6 0 2.6 1.3 2.2 2.8L12.6 10h5c1.3 0 2.2 1.1 1.9 2.4l-1.3 5.8a2.2 2.2 0 0 1-2.1 1.8H7.5",
  save: "M6.5 4h11v16L12 16l-5.5 4z",
  globe: "M12 3.5a8.5 8.5 0 1 0 0 17 8.5 8.5 0 0 0 0-17z M3.5 12h17 M12 3.5c2.4 2.4 3.4 5.2 3.4 8.5s-1 6.1-3.4 8.5c-2.4-2.4-3.4-5.2-3.4-8.5s1-6.1 3.4-8.5z",
};

/**
 * An element.  `text` or `word` (a message or a function) is its text, `label` its name for screen readers, `tip` shows on
 * hover; `on` maps events to listeners; anything else is an attribute.  Children that are null are left out.
 */
export function make(tag, { text, word, label, tip, placeholder, on = {}, ...attributes } = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, value);
  }
  if (text !== undefined) element.textContent = text;
  for (const [attribute, phrase] of Object.entries({ text: word, "aria-label": label, title: tip, placeholder })) {
    if (phrase) worded(element, phrase, attribute);
  }
  for (const [event, listener] of Object.entries(on)) element.addEventListener(event, listener);
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

/** A decorative drawing beside text. */
export function icon(name) {
  const drawing = document.createElementNS(SVG, "svg");
  for (const [key, value] of Object.entries({ viewBox: "0 0 24 24", class: `icon ${name}`, "aria-hidden": "true", focusable: "false" })) {
    drawing.setAttribute(key, value);
  }
  const path = document.createElementNS(SVG, "path");
  path.setAttribute("d", ICONS[name]);
  drawing.append(path);
  return drawing;
}

/** Say something to screen readers. */
export function announce(sentence) {
  document.getElementById("announcements").textContent = String(sentence);
}

/** Bring an element into view and to the keyboard, and show for a moment which it is. */
export function pointAt(element, block = "center") {
  const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
  element.tabIndex = -1;
  element.focus({ preventScroll: true });
  element.scrollIntoView({ block, behavior: still ? "auto" : "smooth" });
  element.classList.remove("pointed");
  void element.offsetWidth; // restarts the animation
  element.classList.add("pointed");
}
