// The badges below an answer: its checklist and its evaluation, with the passages as evidence.
import { icon, make } from "./dom.js";
import { rendered } from "./markup.js";
import { _, message } from "./messages.js";
import { excerpt } from "./notes.js";

const GRADES = { high: [_("High confidence in the answer"), "shield-check"], medium: [_("Medium confidence in the answer"), "triangle-alert"], low: [_("Low confidence in the answer"), "octagon-alert"] };
const UNGRADED = { abstained: _("The answer states that the notes do not answer the question"), no_claims: _("No claims to check") };
export const VERDICTS = {
  supported: [_("confirmed by a note"), "check"],
  contradicted: [_("contradicted by a note"), "cross"],
  not_found: [_("not in the notes"), "minus"],
  unverified: [_("not verified"), "question"],
};
// Why a claim counts as doubtful, and the other labels of reports: the service sends them with the messages.
const label = (name) => message(`label ${name}`);
// Why there is no evaluation or no answer, by the code of the service.
export const REASONS = {
  off: _("Evaluation is turned off."),
  not_search: _("Only answers based on search results are evaluated."),
  no_notes: _("No notes were found to compare the answer with."),
  not_drawn: _("The service evaluates only some answers, and this answer was not selected."),
  daily_budget: _("Today's evaluation budget is used up."),
  no_answer: _("The answer is incomplete, so it was not evaluated."),
  error: _("The evaluation failed. Check the log of the server."),
  rate_limited: _("The model server has too many requests. Try again in a moment."),
  quota_exhausted: _("The quota at the model server is used up."),
  server_error: _("The model server failed. Try again in a moment."),
  timeout: _("The model did not answer in time. Try again in a moment."),
  malformed_response: _("The response of the model server could not be parsed."),
  auth_failed: _("The model server rejected the API key."),
  bad_request: _("The model server rejected the request."),
  context_too_long: _("The text is too long for the model."),
  refused: _("The model refused the request."),
  content_filtered: _("A filter blocked the model's reply."),
  truncated: _("The model's reply was cut off."),
  invalid_output: _("The model's reply does not have the required format."),
  budget_exceeded: _("The limit on the cost, number or time of model requests is reached."),
  cassette_miss: _("No model reply is stored for this request, and the service sends no new requests (--store-mode replay)."),
  not_asked: _("This request was not sent, because all earlier requests failed for the same reason."),
};
const FROM = { correctness: [0.8, 0.5], utility: [0.7, 0.5] }; // thresholds of green and orange bars
const percent = (value) => (value === null ? _("not measured") : _("{percent}%", { percent: (value * 100).toFixed(0) }));
const isAligned = (evidence) => evidence?.status === "aligned";

/** The badge of a confidence level. */
export const gradeBadge = (grade) => make("span", { class: `badge ${grade}` }, icon(GRADES[grade][1]), make("span", { word: GRADES[grade][0] }));

/** The evaluation in one line. */
export function headline(evaluation) {
  const name = evaluation.confidence ? GRADES[evaluation.confidence][0] : UNGRADED[evaluation.outcome];
  return `${name}. ${figures(evaluation)}`;
}

const figures = ({ correctness, utility }) =>
  (correctness === null ? [[_("Utility"), utility]] : [[_("Correctness"), correctness], [_("Utility"), utility]])
    .map(([name, value]) => `${name} ${percent(value)}`).join(" · ");

/** The quotes from a note that support claims. */
export const evidencesOf = (evaluation, number) =>
  evaluation.claims.filter((claim) => claim.note === number && isAligned(claim.evidence)).map((claim) => claim.evidence);

/** The evaluation with quote offsets in the note files; the service counts them in the shown part. */
export function inNotes(evaluation) {
  const moved = (one) => {
    if (!isAligned(one.evidence)) return one;
    const shift = evaluation.source_coverage[one.evidence.source_index]?.utf16_shift ?? 0;
    const { utf16_start: start, utf16_end: end } = one.evidence;
    return { ...one, evidence: { ...one.evidence, utf16_start: start + shift, utf16_end: end + shift } };
  };
  return { ...evaluation, claims: evaluation.claims.map(moved), omissions: evaluation.omissions.map(moved) };
}

/** The checklist result with its items. */
export function qualityBadge({ passed, items }) {
  const yes = items.filter((item) => item.yes).length;
  return make("details", { class: `quality ${passed ? "passed" : "failed"}` },
    make("summary", {},
      make("span", { class: `badge ${passed ? "plain" : "medium"}` }, icon("checklist"), make("span", { word: passed ? _("Checklist passed") : _("Checklist not passed") })),
      make("span", { class: "figures", word: _("{yes} of {total} items met", { yes, total: items.length }) })),
    make("ul", { class: "checks" }, ...items.map((item) =>
      make("li", { class: item.yes ? "yes" : "no" }, tick(item.yes),
        make("div", {}, make("span", { class: "hidden", word: item.yes ? _("item met") : _("item not met") }), make("span", { text: item.text }),
          item.told && !item.yes ? make("p", { class: "aside", word: _("The evaluating model considers this item met, but its quote could not be verified.") }) : null,
          item.quote ? make("q", { text: item.quote }) : null)))));
}

/** A missing checklist or evaluation with its reason. */
export const missing = (name, why) =>
  make("div", { class: "missing" }, make("span", { class: "badge none" }, icon("minus"), make("span", { word: name })), make("p", { class: "aside" }, why));

const tick = (yes) => make("span", { class: `tick ${yes ? "yes" : "no"}`, "aria-hidden": "true" }, yes ? icon("check") : null);

const reason = (claims) => _("{supported} of {total} claims are confirmed by a note.", { supported: claims.filter((claim) => claim.verdict === "supported").length, total: claims.length });

/**
 * The evaluation of an answer: its verdict, the reason, what is doubtful, then the figures and the evidence.
 * @param about {lang, notes: [{note_id, title}], open(number, evidences), wrong(claim) -> element or null, id}
 */
export function evaluationCard(evaluation, about) {
  const { confidence, outcome, correctness, utility, claims, omissions, summary } = evaluation;
  const badge = confidence ? gradeBadge(confidence)
    : make("span", { class: "badge none" }, icon("abstains"), make("span", { word: UNGRADED[outcome] }));
  const left = omissions.filter((one) => one.doubt === null);
  return make("section", { class: `evaluation ${confidence ?? "none"}`, label: _("Evaluation of the answer's reliability") },
    make("div", { class: "headline" }, badge, make("span", { class: "figures", word: () => figures(evaluation) })),
    claims.length ? make("p", { class: "reason", word: reason(claims) }) : null,
    ...evaluation.notices.map((notice) => make("p", { class: "aside", word: label(`notice_${notice}`) })),
    Object.keys(evaluation.flagged).length ? make("p", { class: "aside", word: _("The answer or a note contains text that looks like instructions to the evaluating model. Check the answer yourself.") }) : null,
    summary ? make("p", { class: "summary", lang: about.lang, text: summary }) : null,
    claims.length || evaluation.grounding_issues.length ? issues(evaluation, about) : null,
    left.length ? omitted(left, about) : null,
    make("div", { class: "bars" }, bar("correctness", _("Correctness"), correctness, answersOther(evaluation)), bar("utility", _("Utility"), utility)),
    evaluation.utility_reason && utility < FROM.utility[0] ? make("p", { class: "aside", lang: about.lang, text: evaluation.utility_reason }) : null,
    coverage(evaluation, about));
}

const answersOther = ({ notices }) => notices.includes("other_question");

// A capped bar is never green.
function bar(name, word, value, capped = false) {
  const [good, fair] = FROM[name];
  const grade = value === null ? "none" : value >= good && !capped ? "high" : value >= fair ? "medium" : "low";
  const fill = make("span", { class: "fill" });
  fill.style.inlineSize = `${(value ?? 0) * 100}%`; // by script: the policy allows no style attribute
  const meter = value === null ? { "aria-hidden": "true" }
    : { role: "meter", "aria-valuemin": 0, "aria-valuemax": 100, "aria-valuenow": Math.round(value * 100), label: word };
  return make("div", { class: `bar ${grade}` }, make("span", { class: "name", word }),
    make("span", { class: "track", ...meter }, fill),
    make("span", { class: "value", word: () => percent(value) }));
}

function coverage({ source_coverage: notes, claims }, about) {
  if (!notes.length) return null;
  const fillers = [];
  const rows = notes.map((use) => {
    const proven = claims.filter((claim) => claim.verdict === "supported" && claim.note === use.note_index);
    const name = make("button", { class: "link", text: use.note_title, on: { click: () => about.open(use.note_index) } });
    if (about.notes[use.note_index - 1]?.note_id == null) name.disabled = true;
    const rowsOfNote = proven.length ? proven.map((claim) => claimRow(claim, about, fillers))
      : use.relevant_claim ? [make("li", {}, stated(use.relevant_claim, about))] : [];
    return make("li", { class: use.cited ? "cited" : "not-cited" },
      make("div", { class: "use" }, tick(use.cited),
        make("span", { class: "number", text: use.note_index }), name,
        make("span", { class: "aside", word: use.cited ? _("Cited in the answer") : _("Not cited in the answer") }),
        use.marked && !use.cited ? make("span", { class: "aside", word: _("named in the answer as a source, but without evidence from this note") }) : null),
      rowsOfNote.length ? make("ul", { class: "proofs" }, ...rowsOfNote) : null);
  });
  const strange = new Set(claims.flatMap((claim) => claim.cited).filter((number) => !notes.some((use) => use.note_index === number)));
  rows.push(...[...strange].map((number) => make("li", { class: "not-cited" },
    make("div", { class: "use" }, tick(false), make("span", { class: "number", text: number }), make("span", { class: "aside", word: _("The answer cites note {number}, which does not exist.", { number }) })))));
  const cited = notes.filter((use) => use.cited).length;
  const details = make("details", { class: "coverage" },
    make("summary", {}, make("span", { class: "title", word: _("Use of sources") }),
      make("span", { class: "figures", word: _("{cited} of {total} notes cited", { cited, total: notes.length }) })),
    make("ol", {}, ...rows));
  details.addEventListener("toggle", () => fillers.splice(0).forEach((fill) => fill()));
  return details;
}

const stated = (text, { lang }) => make("div", { class: "claim-text prose", lang }, rendered(text).nodes);
const idOf = (about, claim) => `${about.id}-claim-${claim.id}`;

function claimRow(claim, about, fillers) {
  return make("li", { id: idOf(about, claim) }, stated(claim.text, about),
    passage(claim.evidence, about, fillers), about.wrong(claim));
}

/** The passage in its note; loaded now, or by the function that it adds to `fillers`. */
function passage(evidence, about, fillers = null) {
  if (!isAligned(evidence)) return null;
  const number = evidence.source_index + 1;
  const { note_id: id = null, title = "" } = about.notes[number - 1] ?? {};
  const text = make("div", { class: "prose" }, make("p", {}, make("mark", { text: evidence.selector.exact })));
  const fill = async () => text.replaceChildren(...(await excerpt(id, evidence)));
  if (fillers) fillers.push(fill);
  else fill();
  const open = id === null ? null : make("button", { class: "link", on: { click: () => about.open(number, [evidence]) } },
    icon("note"), make("span", { word: _("Show in the note") }), make("span", { class: "hidden", text: title }));
  return make("blockquote", { class: "passage" }, text, open);
}

function issues(evaluation, about) {
  const { grounding_issues: sentences, claims } = evaluation;
  if (!sentences.length && answersOther(evaluation)) return null; // the notice says more
  if (!sentences.length) return make("p", { class: "no-issues" }, icon("check"), make("span", { word: _("No grounding issues") }));
  const unsupported = claims.filter((claim) => claim.verdict !== "supported"); // the sentences are about these, in turn
  const doubtful = unsupported.length === sentences.length ? unsupported : [];
  return make("div", { class: "issues" }, make("h3", { word: _("Grounding issues") }),
    make("ul", {}, ...sentences.map((sentence, at) => {
      const claim = doubtful[at];
      return make("li", claim ? { id: idOf(about, claim) } : {}, icon("octagon-alert"),
        make("div", {}, make("p", { class: "issue", lang: about.lang, text: sentence }),
          claim?.doubt ? make("p", { class: "aside", word: doubtOf(claim) }) : null,
          claim ? passage(claim.evidence, about) : null,
          claim ? about.wrong(claim) : null));
    })));
}

// Of a source sentence without figures no number contradicts another.
const doubtOf = ({ doubt, contradictions, new_numbers: numbers, source }) =>
  doubt === "contradiction" && contradictions.every((name) => name === "number") && numbers.length && !/\d/.test(source?.text)
    ? _("The claim has numbers that are not in the source sentence: {numbers}", { numbers: numbers.join(", ") }) : label(doubt);

const omitted = (left, about) =>
  make("div", { class: "omissions" }, make("h3", { word: _("Missing from the answer") }),
    make("ul", {}, ...left.map((one) => make("li", {}, make("p", { lang: about.lang, text: one.what }), passage(one.evidence, about)))));

/** Marks for the claims of an answer, as ranges of its text: a claim's own text is without citations and list marks. */
export const claimRanges = ({ claims }) =>
  claims.map((claim) => ({ claim, start: claim.utf16_start, end: claim.utf16_end, make: () => make("span", { class: `claim ${claim.verdict}` }) }));

/** The button behind a claim that says its verdict and leads to its evidence. */
export function claimMark(claim, show) {
  const [word, drawing] = VERDICTS[claim.verdict];
  return make("button", {
    class: `verdict ${claim.verdict}`, label: _("Claim {number}: {verdict}. Show evidence", { number: claim.id, verdict: word }), tip: word, on: { click: show },
  }, icon(drawing));
}

/** What the marks mean, those that occur. */
export const claimKey = ({ claims }) =>
  make("ul", { class: "key", label: _("Meaning of the underlines in the answer") }, ...Object.keys(VERDICTS).filter((name) => claims.some((claim) => claim.verdict === name)).map((name) =>
    make("li", {}, make("span", { class: `verdict ${name}`, "aria-hidden": "true" }, icon(VERDICTS[name][1])), make("span", { class: `claim ${name}`, word: VERDICTS[name][0] }))));
