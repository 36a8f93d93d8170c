// One question and what comes back: notes, the answer as it streams, then its badges.
import { read, send, ServiceError, streamed } from "./api.js";
import { announce, camel, icon, make, pointAt } from "./dom.js";
import { claimKey, claimMark, claimRanges, evaluationCard, evidencesOf, headline, inNotes, missing, qualityBadge } from "./evaluation.js";
import { rendered } from "./markup.js";
import { forgetNotes } from "./notes.js";
import { known, language, say } from "./words.js";

let counted = 0;

export class Exchange {
  /**
   * @param question what is asked
   * @param options of the request: {mode: "search"} or {note_id}
   * @param view {config, openNote(note_id, evidences), again(question), changed(exchange)}
   */
  constructor(question, options, view) {
    Object.assign(this, { question, options, view, id: `exchange-${++counted}` });
    this.state = "waiting"; // then writing, evaluating, and in the end done, stopped or failed
    this.content = "";
    this.notes = [];
    this.answerId = null;
    this.quality = undefined; // null where the server says that there is none
    this.evaluation = undefined;
    this.failure = null;
    this.cause = null; // of the failure, in the server's words
    this.finished = false; // the answer came to its end
    this.control = new AbortController();
    this.matched = make("div", { class: "matched" });
    this.answer = make("div", { class: "prose answer-text", lang: language() });
    this.status = make("div", { class: "state" });
    this.assessment = make("div", { class: "assessment", hidden: true });
    this.opinion = make("div", { class: "opinion" });
    this.element = make("article", { class: "exchange", label: ["page.answerOf", { question }] },
      make("h2", { class: "asked", text: question }),
      make("div", { class: "card" }, this.matched, this.answer, this.status, this.assessment, this.opinion));
  }

  /** Whether a Stop would save anything: the answer is not there yet. */
  get isOpen() {
    return this.state === "waiting" || this.state === "writing";
  }

  stop() {
    this.control.abort();
  }

  async run() {
    this.become("waiting");
    const body = { feature: "search_qa", content: this.question, options: this.options };
    try {
      for await (const { event, data } of streamed("api/ai/stream", body, this.control.signal)) this.receive(event, data);
      if (!this.finished) this.failure ??= say("page.brokenConnection");
      this.become(this.failure ? "failed" : "done");
    } catch (error) {
      if (error.name === "AbortError") return this.become("stopped");
      this.failure = error instanceof ServiceError ? error.message : say(this.finished ? "page.brokenEvaluation" : "page.brokenConnection");
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
      this.matched.replaceChildren(...this.matchedNotes());
    } else if (event === "error") this.fail(JSON.parse(data));
    else if (event === "quality") this.show({ quality: JSON.parse(data) });
    else if (event === "qa_evaluation") {
      const evaluation = JSON.parse(data);
      this.show({ evaluation: evaluation && inNotes(evaluation) });
    }
  }

  /** The model failed: its code in words, and behind them what the server says, for who looks after it. */
  fail({ code, message }) {
    const word = known(`ai.why${camel(code)}`);
    this.failure = word ? say(word) : message;
    this.cause = word ? message : null;
  }

  become(state) {
    this.state = state;
    if (!this.isOpen) this.write();
    this.status.replaceChildren(...this.told());
    this.status.classList.toggle("writing", state === "writing");
    this.element.setAttribute("aria-busy", this.isOpen);
    if (state === "evaluating") this.show({});
    if (state !== "evaluating") this.running?.remove();
    this.view.changed(this);
  }

  /** What is going on, or went wrong. */
  told() {
    const wait = (word) => make("p", { class: "quietly" }, make("span", { class: "dots", "aria-hidden": "true" }), make("span", { word }));
    const again = () => make("button", { class: "quiet", on: { click: () => this.view.again(this.question) } }, icon("again"), make("span", { word: "page.again" }));
    if (this.state === "waiting") {
      announce(say("page.writing"));
      return [wait(this.options.note_id ? "page.reading" : "page.searching")];
    }
    if (this.state === "evaluating") announce(say("page.answered"));
    if (this.state === "stopped") return [make("p", { class: "aside", role: "status", word: this.content ? "page.stopped" : "page.stoppedBefore" }), again()];
    if (this.state !== "failed") return this.isOpen || this.content ? [] : [make("p", { class: "aside", word: "page.emptyAnswer" })];
    const said = this.finished ? null : this.content ? "page.broken" : "page.brokenBefore";
    return [
      make("div", { class: "trouble", role: "alert" }, icon("octagon-alert"),
        make("p", {}, said ? make("strong", { word: said }) : null, said ? " " : null, this.failure)),
      this.cause ? make("p", { class: "aside path", lang: "en", text: this.cause }) : null,
      again(),
    ].filter(Boolean);
  }

  matchedNotes() {
    if (this.options.note_id) return [];
    if (!this.notes.length) return [make("p", { class: "aside", word: "page.noMatch" })];
    return [
      make("h3", { word: "page.matched" }),
      make("ol", {}, ...this.notes.map((note, at) => make("li", {},
        make("button", { class: "note-chip", tip: ["page.openNote", { number: at + 1, title: note.title }], on: { click: () => this.open(at + 1) } },
          make("span", { class: "number", text: at + 1 }), make("span", { class: "name", text: note.title }),
          note.score === null ? null : make("span", { class: "score", word: ["page.score", { score: note.score.toFixed(2) }] }))))),
    ];
  }

  /** The answer as far as it is there, its claims marked where they are judged. */
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
    return make("button", { class: "citation", label: ["page.openNote", { number, title: note.title }], tip: ["page.openNote", { number, title: note.title }], on: { click: () => this.open(number) } },
      icon("note"), make("span", { text: number }));
  }

  /** Show a note; without evidences, with those of all claims that rest on it. */
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

  /** Show what of the assessment is there. */
  show(told) {
    Object.assign(this, told);
    if (this.evaluation) {
      this.notes = this.evaluation.source_coverage.map((use, at) => ({ ...this.notes[at], note_id: use.note_id ?? this.notes[at]?.note_id ?? null, title: use.note_title }));
      this.write();
      announce(say("page.evaluated", { result: headline(this.evaluation) }));
    }
    this.running?.remove();
    this.running = this.state === "evaluating" && this.evaluation === undefined && this.view.config.quality_gate
      ? make("p", { class: "quietly", role: "status" }, make("span", { class: "dots", "aria-hidden": "true" }), make("span", { word: "ai.qaEvaluating" })) : null;
    if (told.quality) this.assessment.prepend(qualityBadge(told.quality));
    if (told.evaluation) {
      this.assessment.append(evaluationCard(told.evaluation, {
        id: this.id, lang: this.answer.lang, notes: this.notes, open: (...place) => this.open(...place), wrong: (claim) => this.wrong(claim),
      }));
    }
    if (this.running) this.assessment.append(this.running);
    this.assessment.hidden = this.assessment.childElementCount === 0;
    this.view.changed(this);
  }

  /** After the stream: say why there is no evaluation, and ask what people think. */
  async assess() {
    if (this.answerId === null) return;
    const lacks = { quality: this.quality ?? null, qa_evaluation: this.evaluation ?? null };
    if (this.view.config.quality_gate && this.state === "done" && Object.values(lacks).includes(null)) {
      const told = await read(`api/ai/answers/${encodeURIComponent(this.answerId)}`).then((known) => known.why ?? {}, (error) => error);
      const why = (name) => make("span", {
        word: told instanceof Error ? ["ai.whyUnread", { reason: told.message }] : known(`ai.why${camel(told[name] ?? "unknown")}`, "ai.whyUnknown"),
      });
      if (lacks.quality === null) this.assessment.prepend(missing("ai.qualityNone", why("quality")));
      if (lacks.qa_evaluation === null) this.assessment.append(missing("ai.qaNone", why("qa_evaluation")));
    }
    this.assessment.hidden = this.assessment.childElementCount === 0;
    if (this.view.config.feedback && this.content) this.opinion.replaceChildren(...this.opinions());
    this.view.changed(this);
  }

  opinions() {
    const told = make("span", { class: "aside", role: "status" });
    const thumbs = [["good", true], ["bad", false]].map(([word, good]) =>
      make("button", { class: `icon-button ${word}`, label: `page.${word}`, tip: `page.${word}`, "aria-pressed": "false" }, icon("thumb")));
    thumbs.forEach((thumb, at) => thumb.addEventListener("click", async () => {
      if (!(await recorded(told, "page.thanks", "api/feedback", { answer_id: this.answerId, kind: "answer", good: at === 0 }))) return;
      thumbs.forEach((one) => one.setAttribute("aria-pressed", one === thumb));
    }));
    const save = make("button", { class: "quiet" }, icon("save"), make("span", { word: "page.saveQuestion" }));
    save.addEventListener("click", async () => {
      save.disabled = await recorded(told, "page.saved", "api/questions", { answer_id: this.answerId });
    });
    return [make("div", { class: "row", role: "group", label: "page.feedback" }, ...thumbs, save, told)];
  }

  /** The button that says that a claim is wrong; null where feedback is off. */
  wrong(claim) {
    if (!this.view.config.feedback) return null;
    const told = make("span", { class: "aside", role: "status" });
    const button = make("button", { class: "quiet small", word: "page.claimWrong", "aria-pressed": "false" });
    button.addEventListener("click", async () => {
      if (await recorded(told, "page.thanks", "api/feedback", { answer_id: this.answerId, kind: "claim", claim_id: claim.id, good: false })) {
        button.setAttribute("aria-pressed", "true");
      }
    });
    return make("div", { class: "row" }, button, told);
  }
}

// Put a mark behind a claim, on the line of its last word: one that begins a line would seem to belong to the next claim.
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
    told.replaceChildren(make("span", { class: "trouble-text", word: ["page.notRecorded", { reason: error.message }] }));
    return false;
  }
}
