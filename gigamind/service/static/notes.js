// Notes: their texts, the position of passages, and the reader that shows both.
import { read } from "./api.js";
import { icon, make } from "./dom.js";
import { linesAround, rendered } from "./markup.js";
import { _, n_ } from "./messages.js";

const texts = new Map(); // note_id -> promise of {note_id, title, text}

/** Load a note once; retry after a failure.  @throws {ServiceError} */
export function noteOf(id) {
  if (!texts.has(id)) {
    const note = read(`api/notes/${id.split("/").map(encodeURIComponent).join("/")}`);
    note.catch(() => texts.delete(id));
    texts.set(id, note);
  }
  return texts.get(id);
}

export const forgetNotes = () => texts.clear();

/** The position of a quote in the current text of its note, or null: the note may have been edited. */
export function locate(text, evidence) {
  const { utf16_start: start, utf16_end: end, selector } = evidence;
  if (text.slice(start, end) === selector.exact) return { start, end };
  for (const [before, behind] of [[selector.prefix, selector.suffix], ["", ""]]) {
    const at = text.indexOf(before + selector.exact + behind);
    if (at >= 0) return { start: at + before.length, end: at + before.length + selector.exact.length };
  }
  return null;
}

const marked = (place) => ({ ...place, make: () => make("mark") });

/** The lines of a note around a marked passage; only the quote if the note cannot be loaded. */
export async function excerpt(noteId, evidence) {
  const quote = () => make("p", {}, make("mark", { text: evidence.selector.exact }));
  if (noteId === null) return [quote()];
  try {
    const { text } = await noteOf(noteId);
    const place = locate(text, evidence);
    if (!place) return [quote(), make("p", { class: "aside", word: _("This passage is not in the note. The note may have changed since the evaluation.") })];
    return [rendered(text, { ranges: [marked(place)], ...linesAround(text, place.start, place.end) }).nodes];
  } catch (error) {
    return [quote(), make("p", { class: "aside", word: _("The note could not be loaded: {reason}", { reason: error.message }) })];
  }
}

/** Shows one note at a time in an element. */
export class Reader {
  constructor(element) {
    this.element = element;
    this.shown = null;
  }

  /** Show something in the place of a note. */
  clear(element) {
    this.shown = null;
    this.element.replaceChildren(element);
  }

  /** Show a note with passages marked, the first of them in view. */
  async show(id, evidences = []) {
    this.shown = id;
    this.element.replaceChildren(make("p", { class: "aside", word: _("Loading…") }));
    try {
      const note = await noteOf(id);
      if (this.shown !== id) return; // another note was chosen meanwhile
      const places = evidences.map((evidence) => locate(note.text, evidence));
      const { nodes, pieces } = rendered(note.text, { ranges: places.filter(Boolean).map(marked) });
      const heading = nodes.querySelector(".heading");
      if (heading?.textContent === note.title && !heading.querySelector("mark")) heading.remove(); // same as the title above
      this.element.replaceChildren(
        make("div", { class: "note-head" }, make("h2", { text: note.title, id: `${this.element.id}-title` }), make("p", { class: "aside path", text: note.note_id })),
        places.includes(null) ? make("p", { class: "aside", word: _("This passage is not in the note. The note may have changed since the evaluation.") }) : "",
        make("div", { class: "prose note-text" }, nodes));
      const first = pieces.values().next().value?.[0];
      if (first) first.scrollIntoView({ block: "center" });
      else this.element.scrollTop = 0;
    } catch (error) {
      if (this.shown === id) this.element.replaceChildren(make("p", { class: "trouble", role: "alert", word: _("The note could not be loaded: {reason}", { reason: error.message }) }));
    }
  }
}

/** A note over the page, from the side; Escape closes it. */
export function noteSheet() {
  const page = make("div", { class: "page", id: "sheet-note", tabindex: 0, role: "region", label: _("Note") });
  const reader = new Reader(page);
  const close = make("button", { class: "icon-button", label: _("Close"), tip: _("Close"), on: { click: () => sheet.close() } }, icon("cross"));
  const sheet = make("dialog", { class: "sheet", label: _("Note") }, close, page);
  sheet.addEventListener("click", (event) => event.target === sheet && sheet.close()); // beside it
  document.body.append(sheet);
  return (id, evidences) => {
    if (!sheet.open) sheet.showModal();
    reader.show(id, evidences);
  };
}

/** The list of notes with its filter; `listed` is called whenever its links are new. */
export async function noteList(element, listed) {
  const field = make("input", { type: "search", id: "filter", autocomplete: "off", placeholder: _("Find notes") });
  const count = make("p", { class: "aside", role: "status" });
  const list = make("ul");
  element.replaceChildren(make("label", { for: "filter", class: "hidden", word: _("Find notes") }), field, count, list);
  let notes = [];
  try {
    notes = await read("api/notes");
  } catch (error) {
    count.replaceChildren(make("span", { class: "trouble", word: _("The list of notes could not be loaded: {reason}", { reason: error.message }) }));
    return;
  }
  const plain = (text) => text.normalize("NFC").toLowerCase();
  const show = () => {
    const words = plain(field.value).split(/\s+/).filter(Boolean);
    const found = notes.filter((note) => words.every((word) => plain(`${note.title} ${note.note_id}`).includes(word)));
    list.replaceChildren(...found.map((note) => make("li", {},
      make("a", { href: `#/notes/${encodeURIComponent(note.note_id)}`, "data-note": note.note_id },
        make("span", { class: "name", text: note.title }), make("span", { class: "aside path", text: note.note_id })))));
    count.replaceChildren(found.length ? make("span", { word: n_("{n} matching note", "{n} matching notes", { n: found.length }) }) : make("span", { word: _("No matching notes.") }));
    listed();
  };
  field.addEventListener("input", show);
  show();
}
