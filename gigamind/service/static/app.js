// The page: a view for all notes and a view beside the open note, each with a conversation.
import { read } from "./api.js";
import { icon, make } from "./dom.js";
import { gradeBadge } from "./evaluation.js";
import { Exchange } from "./exchange.js";
import { _ } from "./messages.js";
import { noteList, noteSheet, Reader } from "./notes.js";
import { switchesLanguage, worded } from "./words.js";

const byId = (id) => document.getElementById(id);

/** A conversation: its exchanges and the input field. */
class Conversation {
  constructor(element, { config, hint, options, openNote, empty }) {
    Object.assign(this, { config, options, openNote, open: null, empty });
    this.exchanges = make("div", { class: "exchanges" }, empty);
    this.field = make("textarea", { id: `${element.id}-question`, rows: 1, placeholder: hint });
    this.button = make("button", { class: "send", label: _("Send"), tip: _("Send") }, icon("up"));
    this.form = make("form", { class: "composer" },
      make("div", { class: "field" }, make("label", { class: "hidden", for: this.field.id, word: _("Question") }), this.field, this.button),
      make("p", { class: "fine" }, make("span", { class: "keys", word: _("Enter sends, Shift+Enter starts a new line.") }), " ",
        make("span", { word: _("Model that answers: {model} · Model that evaluates: {judge}", { model: config.model, judge: config.judge_model }) })),
      config.feedback ? make("p", { class: "fine recorded", word: _("Feedback and saved questions are stored on this server to improve the evaluation.") }) : null);
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      if (this.open) this.open.stop();
      else this.ask(this.field.value.trim());
    });
    this.field.addEventListener("keydown", (event) => {
      // While Hangul is composed, Enter ends the syllable.
      if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
      event.preventDefault();
      if (!this.open) this.form.requestSubmit();
    });
    this.field.addEventListener("input", () => this.fit());
    addEventListener("scroll", () => {
      const box = this.scrolled();
      this.follows = box.scrollHeight - box.scrollTop - box.clientHeight < 80; // after scrolling up, the view stays
    }, { capture: true, passive: true });
    element.append(this.exchanges, this.form);
  }

  ask(question) {
    if (!question || this.open) return;
    this.field.value = "";
    this.fit();
    const exchange = new Exchange(question, this.options(), {
      config: this.config, openNote: this.openNote, again: (one) => this.ask(one), changed: (one) => this.changed(one),
    });
    this.empty?.remove();
    this.exchanges.append(exchange.element);
    this.follows = true;
    exchange.run();
  }

  /** Update the button, and keep the end of a growing answer in view. */
  changed(exchange) {
    if (exchange.element.parentElement !== this.exchanges) return exchange.stop();
    this.open = exchange.isOpen ? exchange : this.open === exchange ? null : this.open;
    this.label();
    if (this.follows && (exchange.isOpen || exchange.state === "evaluating")) this.toEnd();
  }

  label() {
    const word = this.open ? _("Stop") : _("Send");
    const state = this.open ? "stop" : "ask";
    if (this.button.dataset.now === state) return;
    this.button.dataset.now = state;
    this.button.replaceChildren(icon(this.open ? "stop" : "up"));
    worded(this.button, word, "aria-label");
    worded(this.button, word, "title");
  }

  toEnd() {
    const box = this.scrolled();
    box.scrollTop = box.scrollHeight;
  }

  /** The pane if it scrolls by itself, else the page. */
  scrolled() {
    return getComputedStyle(this.exchanges).overflowY === "auto" ? this.exchanges : document.scrollingElement;
  }

  /** Remove all exchanges and stop a running one. */
  clear() {
    const open = this.open;
    this.open = null;
    this.exchanges.replaceChildren();
    open?.stop();
    this.label();
  }

  fit() {
    this.field.style.blockSize = "auto";
    this.field.style.blockSize = `${Math.min(this.field.scrollHeight, 200)}px`;
  }
}

function welcome() {
  const levels = [["high", _("Nearly all claims are confirmed by notes, and the question is answered.")], ["medium", _("At least half of the claims are confirmed by notes, but some are not, or the answer is incomplete.")], ["low", _("Less than half of the claims are confirmed by notes. Do not rely on this answer.")]];
  return make("div", { class: "welcome" },
    make("h2", { word: _("Ask a question about your notes") }), make("p", { class: "lead", word: _("Answers are based on your notes. Each answer shows how reliable it is.") }),
    make("ul", {}, ...levels.map(([grade, word]) => make("li", {}, gradeBadge(grade), make("p", { word })))));
}

function chatView(config) {
  const sheet = noteSheet();
  new Conversation(byId("chat"), { config, hint: _("What would you like to know?"), options: () => ({ mode: "search" }), openNote: sheet, empty: welcome() });
}

function notesView(config) {
  const view = byId("notes");
  const reader = new Reader(byId("reader"));
  const none = make("div", { class: "none" }, icon("note"), make("p", { class: "aside", word: _("Choose a note from the list to read it and to ask about it.") }));
  const show = (pane) => {
    view.dataset.pane = pane;
    for (const button of view.querySelectorAll(".panes button")) button.setAttribute("aria-pressed", button.dataset.pane === pane);
  };
  const mark = () => {
    for (const link of byId("list").querySelectorAll("a")) link.ariaCurrent = link.dataset.note === reader.shown ? "true" : null;
  };
  const conversation = new Conversation(byId("beside"), {
    config, hint: _("Ask a question about this note"), options: () => ({ note_id: reader.shown }),
    openNote: (id, evidences) => {
      show("note");
      reader.show(id, evidences);
    },
  });
  for (const button of view.querySelectorAll(".panes button")) button.addEventListener("click", () => show(button.dataset.pane));
  let listed = null;
  return (id) => {
    listed ??= noteList(byId("list"), mark);
    view.classList.toggle("chosen", id !== null);
    if (id !== null && id === reader.shown) return;
    show(id === null ? "list" : "note");
    conversation.clear();
    if (id === null) reader.clear(none);
    else reader.show(id);
    mark();
  };
}

async function start() {
  let config;
  const languages = await (await fetch("locales")).json();
  await switchesLanguage(byId("language"), languages);
  try {
    config = await read("api/config");
  } catch (error) {
    byId("chat").append(make("p", { class: "trouble", role: "alert", text: error.message }));
    return;
  }
  byId("vault").textContent = config.vault;
  byId("scripted").hidden = !config.scripted;
  document.title = `${config.vault} · gigamind`;
  chatView(config);
  const openNotes = notesView(config);
  const route = () => {
    const [, view, note] = /^#\/(chat|notes)(?:\/(.+))?$/.exec(location.hash) ?? [null, "chat"];
    if (location.hash && !location.hash.startsWith("#/")) return; // the skip link
    for (const name of ["chat", "notes"]) {
      byId(name).hidden = name !== view;
      document.querySelector(`nav a[href="#/${name}"]`).ariaCurrent = name === view ? "page" : null;
    }
    if (view === "notes") openNotes(note ? decodeURIComponent(note) : null);
  };
  addEventListener("hashchange", route);
  route();
}

start();
