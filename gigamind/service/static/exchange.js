// One question and its result: notes, the streaming answer, then its badges.
import { read, send, ServiceError, streamed } from "./api.js";
import { announce, icon, make, pointAt } from "./dom.js";
import { claimKey, claimMark, claimRanges, evaluationCard, evidencesOf, headline, inNotes, missing, qualityBadge, REASONS } from "./evaluation.js";
import { rendered } from "./markup.js";
import { _ } from "./messages.js";
import { forgetNotes } from "./notes.js";
import { language } from "./words.js";

let counted = 0;

export class Exchange {
  /**
   * @param question text of the question
   * @param options of the request: {mode: "search"} or {note_id}
   * @param view {config, openNote(note_id, evidences), again(question), changed(exchange)}
   */
  constructor(question, options, view) {
    Object.assign(this, { question, options, view, id: `exchange-${++counted}` });
    this.state = "waiting"; // then writing, evaluating, and in the end done, stopped or failed
    this.content = "";
    this.notes = [];
    this.answerId = null;
    this.quality = undefined; // null if the server sends none
    this.evaluation = undefined;
    this.failure = null;
    this.cause = null; // of the failure, as the server reports it
    this.finished = false; // the answer is complete
    this.control = new AbortController();
    this.matched = make("div", { class: "matched" });
    this.answer = make("div", { class: "prose answer-text", lang: language() });
    this.status = make("div", { class: "state" });
    this.assessment = make("div", { class: "assessment", hidden: true });
    this.opinion = make("div", { class: "opinion" });
    this.written = byScript(_("Answered by a script, not by a language model"));
    this.judged = byScript(_("Evaluated by a script, not by a language model"));
    this.markScript(view.config.scripted);
    this.element = make("article", { class: "exchange", label: _("Question: {question}", { question }) },
      make("h2", { class: "asked", text: question }),
      make("div", { class: "card" }, this.matched, this.written, this.answer, this.status, this.judged, this.assessment, this.opinion));
  }

  /** Whether the answer is still incomplete. */
  get isOpen() {
    return this.state === "waiting" || this.state === "writing";
  }

  /** Say beside the answer and its badges that they come from a script. */
  markScript(scripted) {
    this.scripted = scripted;
    this.written.hidden = !scripted;
    this.judged.hidden = !scripted || this.assessment.hidden;
  }

  stop() {
    this.control.abort();
  }

  async run() {
    this.become("waiting");
    const body = { feature: "search_qa", content: this.question, options: this.options };
    try {
      for await (const { event, data } of streamed("api/ai/stream", body, this.control.signal)) this.receive(event, data);
      if (!this.finished) this.failure ??= _("The connection to the server was lost.");
      this.become(this.failure ? "failed" : "done");
    } catch (error) {
      if (error.name === "AbortError") return this.become("stopped");
      this.failure = error instanceof ServiceError ? error.message : (this.finished ? _("The connection was lost before the evaluation arrived.") : _("The connection to the server was lost."));
      this.become("failed");
    }
    await this.assess();
  }

  receive(event, data) {
    if (event === "message" && data === "[DONE]") {
      this.finished = !this.failure;
      if (this.finished) this.become("evaluating");
    } else if (event === "message") {
      this.content += JSON.parse(data).chunk;
      if (this.state === "waiting") this.become("writing");
      this.writing ??= requestAnimationFrame(() => this.write());
    } else if (event === "metadata") {
      const told = JSON.parse(data);
      forgetNotes(); // they may have been edited since the last question
      this.answerId = told.answer_id;
      this.notes = told.matched_notes ?? [];
      this.answer.lang = told.lang ?? this.answer.lang;
      this.markScript(told.scripted);
      this.matched.replaceChildren(...this.matchedNotes());
    } else if (event === "error") this.fail(JSON.parse(data));
    else if (event === "quality") this.show({ quality: JSON.parse(data) });
    else if (event === "qa_evaluation") {
      const { details } = JSON.parse(data) ?? {};
      this.details = details && read(details).then(({ evaluation }) => this.show({ evaluation: inNotes(evaluation) }));
    }
  }

  /** Handle a failure of the model: show its reason, and the message of the server for its operator. */
  fail({ code, message }) {
    this.failure = REASONS[code] ?? message;
    this.cause = code in REASONS ? message : null;
  }

  become(state) {
    this.state = state;
    if (!this.isOpen) this.write();
    this.status.replaceChildren(...this.notice());
    this.status.classList.toggle("writing", state === "writing");
    this.element.setAttribute("aria-busy", this.isOpen);
    if (state === "evaluating") this.show({});
    if (state !== "evaluating") this.running?.remove();
    this.view.changed(this);
  }

  /** The current state or failure. */
  notice() {
    const wait = (word) => make("p", { class: "quietly" }, make("span", { class: "dots", "aria-hidden": "true" }), make("span", { word }));
    const again = () => make("button", { class: "quiet", on: { click: () => this.view.again(this.question) } }, icon("again"), make("span", { word: _("Ask again") }));
    if (this.state === "waiting") {
      announce(_("Writing the answer…"));
      return [wait(this.options.note_id ? _("Reading the note…") : _("Searching notes…"))];
    }
    if (this.state === "evaluating") announce(_("The answer is complete."));
    if (this.state === "stopped") return [make("p", { class: "aside", role: "status", word: this.content ? _("Stopped. The partial answer was not evaluated.") : _("Stopped.") }), again()];
    if (this.state !== "failed") return this.isOpen || this.content ? [] : [make("p", { class: "aside", word: _("The answer is empty.") })];
    const lead = this.finished ? null : this.content ? _("The answer was interrupted.") : _("No answer was received.");
    return [
      make("div", { class: "trouble", role: "alert" }, icon("octagon-alert"),
        make("p", {}, lead ? make("strong", { word: lead }) : null, lead ? " " : null, make("span", { word: this.failure }))),
      this.cause ? make("p", { class: "aside path", lang: this.answer.lang, text: this.cause }) : null,
      again(),
    ].filter(Boolean);
  }

  matchedNotes() {
    if (this.options.note_id) return [];
    if (!this.notes.length) return [make("p", { class: "aside", word: _("No notes match the question.") })];
    return [
      make("h3", { word: _("Notes found") }),
      make("ol", {}, ...this.notes.map((note, at) => make("li", {},
        make("button", { class: "note-chip", tip: _("Open note {number}: {title}", { number: at + 1, title: note.title }), on: { click: () => this.open(at + 1) } },
          make("span", { class: "number", text: at + 1 }), make("span", { class: "name", text: note.title }),
          note.score === null ? null : make("span", { class: "score", word: _("relevance {score}", { score: note.score.toFixed(2) }) }))))),
    ];
  }

  /** Write the answer so far, with marks on judged claims. */
  write() {
    cancelAnimationFrame(this.writing);
    this.writing = null;
    const ranges = this.evaluation ? claimRanges(this.evaluation) : [];
    const cite = (number) => this.citation(number);
    const { nodes, pieces } = rendered(this.content, { ranges, cite });
    this.answer.replaceChildren(nodes);
    for (const [range, elements] of pieces) glue(elements.at(-1), range, claimMark(range.claim, () => this.showClaim(range.claim)));
    if (ranges.length) this.answer.append(claimKey(this.evaluation));
    this.view.changed(this);
  }

  citation(number) {
    const note = this.notes[number - 1];
    if (!note) return null;
    return make("button", { class: "citation", label: _("Open note {number}: {title}", { number, title: note.title }), tip: _("Open note {number}: {title}", { number, title: note.title }), on: { click: () => this.open(number) } },
      icon("note"), make("span", { text: number }));
  }

  /** Show a note; by default with the evidence of all claims that cite it. */
  open(number, evidences = this.evaluation ? evidencesOf(this.evaluation, number) : []) {
    const id = this.notes[number - 1]?.note_id;
    if (id) this.view.openNote(id, evidences);
  }

  showClaim(claim) {
    const row = document.getElementById(`${this.id}-claim-${claim.id}`);
    const details = row?.closest("details");
    if (details) details.open = true;
    if (row) pointAt(row);
  }

  /** Show a new part of the assessment. */
  show(part) {
    Object.assign(this, part);
    if (this.evaluation) {
      this.notes = this.evaluation.source_coverage.map((use, at) => ({ ...this.notes[at], note_id: use.note_id ?? this.notes[at]?.note_id ?? null, title: use.note_title }));
      this.write();
      announce(_("The evaluation is complete. {result}", { result: headline(this.evaluation) }));
    }
    this.running?.remove();
    this.running = this.state === "evaluating" && this.evaluation === undefined && this.view.config.quality_gate
      ? make("p", { class: "quietly", role: "status" }, make("span", { class: "dots", "aria-hidden": "true" }), make("span", { word: _("Evaluating…") })) : null;
    if (part.quality) this.assessment.append(qualityBadge(part.quality));
    if (part.evaluation) {
      this.assessment.prepend(evaluationCard(part.evaluation, {
        id: this.id, lang: this.answer.lang, notes: this.notes, open: (...place) => this.open(...place), wrong: (claim) => this.wrong(claim),
      }));
    }
    if (this.running) this.assessment.prepend(this.running);
    this.assessment.hidden = this.assessment.childElementCount === 0;
    this.markScript(this.scripted);
    this.view.changed(this);
  }

  /** After the stream: show why there is no evaluation, and offer feedback. */
  async assess() {
    if (this.answerId === null) return;
    await Promise.resolve(this.details).catch(() => null); // told below as missing
    const lacks = { quality: this.quality ?? null, qa_evaluation: this.evaluation ?? null };
    if (this.view.config.quality_gate && this.state === "done" && Object.values(lacks).includes(null)) {
      const reasons = await read(`api/ai/answers/${encodeURIComponent(this.answerId)}`).then((known) => known.why ?? {}, (error) => error);
      const why = (name) => make("span", {
        word: reasons instanceof Error ? _("Why the result is missing could not be loaded: {reason}", { reason: reasons.message }) : REASONS[reasons[name]] ?? _("The result is missing for an unknown reason. Check the log of the server."),
      });
      if (lacks.qa_evaluation === null) this.assessment.prepend(missing(_("The answer's reliability was not evaluated"), why("qa_evaluation")));
      if (lacks.quality === null) this.assessment.append(missing(_("No checklist result"), why("quality")));
    }
    this.assessment.hidden = this.assessment.childElementCount === 0;
    this.markScript(this.scripted);
    if (this.view.config.feedback && this.content) this.opinion.replaceChildren(...this.opinions());
    this.view.changed(this);
  }

  opinions() {
    const told = make("span", { class: "aside", role: "status" });
    const thumbs = [["good", _("Good answer")], ["bad", _("Bad answer")]].map(([kind, word]) =>
      make("button", { class: `icon-button ${kind}`, label: word, tip: word, "aria-pressed": "false" }, icon("thumb")));
    thumbs.forEach((thumb, at) => thumb.addEventListener("click", async () => {
      if (!(await recorded(told, _("Your feedback is recorded."), "api/feedback", { answer_id: this.answerId, kind: "answer", good: at === 0 }))) return;
      thumbs.forEach((one) => one.setAttribute("aria-pressed", one === thumb));
    }));
    const save = make("button", { class: "quiet" }, icon("save"), make("span", { word: _("Save the question to the dataset") }));
    save.addEventListener("click", async () => {
      save.disabled = await recorded(told, _("The question is saved."), "api/questions", { answer_id: this.answerId });
    });
    return [make("div", { class: "row", role: "group", label: _("Feedback on this answer") }, ...thumbs, save, told)];
  }

  /** The button that says that a claim is wrong; null where feedback is off. */
  wrong(claim) {
    if (!this.view.config.feedback) return null;
    const told = make("span", { class: "aside", role: "status" });
    const button = make("button", { class: "quiet small", word: _("This claim is wrong"), "aria-pressed": "false" });
    button.addEventListener("click", async () => {
      if (await recorded(told, _("Your feedback is recorded."), "api/feedback", { answer_id: this.answerId, kind: "claim", claim_id: claim.id, good: false })) {
        button.setAttribute("aria-pressed", "true");
      }
    });
    return make("div", { class: "row" }, button, told);
  }
}

function byScript(word) {
  return make("p", { class: "by-script", hidden: true }, icon("triangle-alert"), make("span", { word }));
}

// Put a mark after a claim, on the line of its last word: at the start of a line it would seem to belong to the next claim.
function glue(last, range, mark) {
  const together = make("span", { class: "together" });
  const [words, word] = last.matches(".claim") ? /^(.*\s)?(\S*)$/s.exec(last.textContent).slice(1) : [null, null];
  last.after(together);
  if (words) {
    last.textContent = words;
    const end = range.make();
    end.textContent = word;
    together.append(end, mark);
  } else {
    const before = last.previousSibling;
    together.append(...(before?.classList?.contains("citations") ? [before] : []), last, mark);
  }
}

async function recorded(told, word, path, body) {
  try {
    await send(path, body);
    told.replaceChildren(make("span", { word }));
    return true;
  } catch (error) {
    told.replaceChildren(make("span", { class: "trouble-text", word: _("Your input was not saved: {reason}", { reason: error.message }) }));
    return false;
  }
}
