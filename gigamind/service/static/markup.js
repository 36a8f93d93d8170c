// The Markdown of answers and notes as elements, never as HTML.  Every text node is a slice of the source, so that
// offsets into the source (UTF-16 code units, as JavaScript counts) can be marked whatever the markup around them.
import { make } from "./dom.js";
import { _ } from "./messages.js";

const LIST = /^(\s*)(?:[-*+]|(\d{1,9})[.)])\s+/;
const ROW = /^\s*\|.*\|\s*$/;
const RULED = /^[\s|:-]+$/;
const INLINE = /(`[^`\n]+`)|(\*\*(?=\S)[^*\n]+\*\*)|(!?\[\[[^[\]\n]+\]\])|(\[(?:노트|note)\s*\d{1,3}(?:\s*,\s*(?:(?:노트|note)\s*)?\d{1,3})*\])/gi;
const CITED = /(?:(?:노트|note)\s*)?(\d{1,3})/gi;

/**
 * @param text the source
 * @param ranges what to mark: {start, end, make}, `make()` gives the element around a piece; a range may need several
 * @param cite gives the element of a citation by its number, or null
 * @param from, to the part of the source to show, whole lines
 * @returns {nodes: DocumentFragment, pieces: Map(range -> its elements, in order)}
 */
export function rendered(text, { ranges = [], cite = () => null, from = 0, to = text.length } = {}) {
  const writer = new Writer(text, ranges, cite);
  const nodes = document.createDocumentFragment();
  const lines = linesOf(text, from, to);
  for (let at = 0; at < lines.length; ) at = writer.block(nodes, lines, at);
  return { nodes, pieces: writer.pieces };
}

/** Offsets of the lines around [start, end), without the blank ones at the ends. */
export function linesAround(text, start, end) {
  const stop = text.indexOf("\n", end);
  return { from: text.lastIndexOf("\n", start - 1) + 1, to: stop < 0 ? text.length : stop };
}

function linesOf(text, from, to) {
  const lines = [];
  for (let start = from; start <= to; ) {
    const stop = text.indexOf("\n", start);
    const end = stop < 0 || stop > to ? to : stop;
    lines.push({ start, end: text[end - 1] === "\r" && end > start ? end - 1 : end });
    start = end + 1;
  }
  return lines;
}

class Writer {
  pieces = new Map();

  constructor(text, ranges, cite) {
    this.text = text;
    this.ranges = [...ranges].sort((one, other) => one.start - other.start);
    this.cite = cite;
  }

  line({ start, end }) {
    return this.text.slice(start, end);
  }

  /** Write the block that begins with a line; gives the line after it. */
  block(parent, lines, at) {
    const line = this.line(lines[at]);
    if (!line.trim()) return at + 1;
    if (lines[at].start === 0 && line === "---") {
      const close = lines.findIndex((one, index) => index > 0 && this.line(one) === "---");
      if (close > 0) return this.frontMatter(parent, lines.slice(1, close), close);
    }
    if (/^\s*(```|~~~)/.test(line)) return this.code(parent, lines, at);
    const heading = /^(#{1,6})\s+/.exec(line);
    if (heading) {
      const level = heading[1].length;
      const element = make("p", { class: `heading level-${level}`, role: "heading", "aria-level": Math.min(6, level + 1) });
      this.inline(element, lines[at].start + heading[0].length, lines[at].end);
      parent.append(element);
      return at + 1;
    }
    if (/^\s*([-*_])(\s*\1){2,}\s*$/.test(line)) {
      parent.append(make("hr"));
      return at + 1;
    }
    if (ROW.test(line)) return this.table(parent, lines, at);
    if (LIST.test(line)) return this.list(parent, lines, at);
    return this.paragraph(parent, lines, at);
  }

  frontMatter(parent, lines, close) {
    const element = make("details", { class: "front" }, make("summary", { word: _("Properties") }));
    for (const { start, end } of lines) {
      const row = make("span");
      this.slice(row, start, end);
      element.append(row);
    }
    element.open = element.querySelector("mark") !== null;
    parent.append(element);
    return close + 1;
  }

  code(parent, lines, at) {
    const fence = /^\s*(```|~~~)/.exec(this.line(lines[at]))[1];
    const code = make("code");
    let next = at + 1;
    for (; next < lines.length && !this.line(lines[next]).trim().startsWith(fence); next++) {
      this.slice(code, lines[next].start, Math.min(this.text.length, lines[next].end + 1));
    }
    parent.append(make("pre", { tabindex: 0 }, code));
    return next + 1;
  }

  table(parent, lines, at) {
    const table = make("table");
    const headed = at + 1 < lines.length && RULED.test(this.line(lines[at + 1])) && ROW.test(this.line(lines[at + 1]));
    let next = at;
    for (; next < lines.length && ROW.test(this.line(lines[next])); next++) {
      const line = this.line(lines[next]);
      if (RULED.test(line)) continue;
      const row = make("tr");
      let start = line.indexOf("|") + 1;
      for (const cell of line.slice(start, line.lastIndexOf("|")).split(/(?<!\\)\|/)) {
        const element = headed && next === at ? make("th", { scope: "col" }) : make("td");
        const lead = cell.length - cell.trimStart().length;
        this.inline(element, lines[next].start + start + lead, lines[next].start + start + Math.max(lead, cell.trimEnd().length));
        row.append(element);
        start += cell.length + 1;
      }
      table.append(row);
    }
    parent.append(make("div", { class: "wide", tabindex: 0 }, table));
    return next;
  }

  list(parent, lines, at) {
    const [, , number] = LIST.exec(this.line(lines[at]));
    const list = make(number ? "ol" : "ul");
    let next = at;
    let item = null;
    for (; next < lines.length; next++) {
      const line = this.line(lines[next]);
      const bullet = LIST.exec(line);
      if (bullet) {
        if (Boolean(bullet[2]) !== Boolean(number) && !bullet[1]) break;
        item = make("li", { class: bullet[1].length > 1 ? `deeper ${bullet[2] ? "" : "plain"}` : false, value: bullet[2] });
        list.append(item);
        this.inline(item, lines[next].start + bullet[0].length, lines[next].end);
      } else if (item && /^\s+\S/.test(line)) {
        item.append(make("br"));
        this.inline(item, lines[next].start + line.search(/\S/), lines[next].end);
      } else break;
    }
    parent.append(list);
    return next;
  }

  paragraph(parent, lines, at) {
    const quoted = /^\s*>\s?/;
    const isQuote = quoted.test(this.line(lines[at]));
    const element = make(isQuote ? "blockquote" : "p");
    let next = at;
    for (; next < lines.length; next++) {
      const line = this.line(lines[next]);
      const begins = /^(#{1,6}\s|\s*```|\s*~~~)/.test(line) || ROW.test(line) || LIST.test(line);
      if (!line.trim() || (next > at && (begins || quoted.test(line) !== isQuote))) break;
      if (next > at) element.append(make("br"));
      const lead = isQuote ? quoted.exec(line)[0].length : 0;
      this.inline(element, lines[next].start + lead, lines[next].end);
    }
    parent.append(element);
    return next;
  }

  inline(parent, start, end) {
    let at = start;
    for (const found of this.text.slice(start, end).matchAll(INLINE)) {
      const begin = start + found.index;
      const stop = begin + found[0].length;
      this.slice(parent, at, begin);
      const [, code, bold, wiki, citation] = found;
      if (code) this.within(parent, make("code"), begin + 1, stop - 1);
      else if (bold) {
        const strong = make("strong");
        this.inline(strong, begin + 2, stop - 2);
        parent.append(strong);
      } else if (wiki) {
        const open = begin + wiki.indexOf("[[") + 2;
        const alias = wiki.lastIndexOf("|");
        this.within(parent, make("span", { class: "wiki" }), alias < 0 ? open : begin + alias + 1, stop - 2);
      } else if (citation) this.citations(parent, begin, stop);
      at = stop;
    }
    this.slice(parent, at, end);
  }

  /** "[노트 1, 2]": a citation for each number; as it is written where one of them is unknown. */
  citations(parent, start, end) {
    const content = this.text.slice(start + 1, end - 1);
    const chips = [...content.matchAll(CITED)].map(([, number]) => this.cite(Number(number)));
    if (chips.includes(null)) return this.slice(parent, start, end);
    const group = make("span", { class: "citations" }, ...chips);
    parent.append(group);
    const range = this.rangeAt(start);
    if (range) this.keep(range, group);
  }

  within(parent, element, start, end) {
    this.slice(element, start, end);
    parent.append(element);
  }

  rangeAt(offset) {
    return this.ranges.find((range) => range.start <= offset && offset < range.end);
  }

  /** Text of the source, in the elements of the ranges that it lies in. */
  slice(parent, start, end) {
    for (let at = start; at < end; ) {
      const range = this.rangeAt(at);
      const later = this.ranges.find((one) => one.start > at);
      const stop = Math.min(end, range ? range.end : (later?.start ?? end));
      const part = this.text.slice(at, stop);
      if (range && part.trim()) {
        const words = part.trim(); // a line under the space before a citation looks torn off
        const lead = part.indexOf(words);
        const piece = range.make();
        piece.textContent = words;
        parent.append(...[part.slice(0, lead), piece, part.slice(lead + words.length)].filter(Boolean));
        this.keep(range, piece);
      } else parent.append(part);
      at = stop;
    }
  }

  keep(range, element) {
    this.pieces.set(range, [...(this.pieces.get(range) ?? []), element]);
  }
}
