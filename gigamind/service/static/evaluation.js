// The badges below an answer: its checklist, and how far it may be trusted, with the passages that prove it.
import { camel, icon, make } from "./dom.js";
import { rendered } from "./markup.js";
import { excerpt } from "./notes.js";
import { say } from "./words.js";

const GRADES = { high: ["ai.qaConfidenceHigh", "shield-check"], medium: ["ai.qaConfidenceMedium", "triangle-alert"], low: ["ai.qaConfidenceLow", "octagon-alert"] };
const UNGRADED = { abstained: "ai.qaAbstained", no_claims: "ai.qaNoClaims" };
export const VERDICTS = {
  supported: ["ai.claimSupported", "check"],
  contradicted: ["ai.claimContradicted", "cross"],
  not_found: ["ai.claimNotFound", "minus"],
  unverified: ["ai.claimUnverified", "question"],
};
const FROM = { correctness: [0.8, 0.5], utility: [0.7, 0.5] }; // where a bar is green, and where orange
const NOTICES = { other_language: "ai.qaOtherLanguage" };

const percent = (value) => (value === null ? say("ai.qaUnmeasured") : say("ai.qaPercent", { percent: (value * 100).toFixed(0) }));
const isAligned = (evidence) => evidence?.status === "aligned";

/** A badge that explains itself: the figure beside it, in words. */
export const gradeBadge = (grade) => make("span", { class: `badge ${grade}` }, icon(GRADES[grade][1]), make("span", { word: GRADES[grade][0] }));

/** What is said of an evaluation in one line. */
export function headline(evaluation) {
  const name = evaluation.confidence ? GRADES[evaluation.confidence][0] : UNGRADED[evaluation.outcome];
  return `${say(name)}. ${figures(evaluation)}`;
}

const figures = ({ correctness, utility }) =>
  (correctness === null ? [["ai.qaUtility", utility]] : [["ai.qaCorrectness", correctness], ["ai.qaUtility", utility]])
    .map(([name, value]) => `${say(name)} ${percent(value)}`).join(" · ");

/** Quotes that prove the claims resting on a note. */
export const evidencesOf = (evaluation, number) =>
  evaluation.claims.filter((claim) => claim.note === number && isAligned(claim.evidence)).map((claim) => claim.evidence);

/** An evaluation with the places of its quotes in the files of the notes; the service tells them in what was shown of these. */
export function inNotes(evaluation) {
  const moved = (one) => {
    if (!isAligned(one.evidence)) return one;
    const shift = evaluation.source_coverage[one.evidence.source_index]?.utf16_shift ?? 0;
    const { utf16_start: start, utf16_end: end } = one.evidence;
    return { ...one, evidence: { ...one.evidence, utf16_start: start + shift, utf16_end: end + shift } };
  };
  return { ...evaluation, claims: evaluation.claims.map(moved), omissions: evaluation.omissions.map(moved) };
}

/** The checklist: passed or not, its items unfold. */
export function qualityBadge({ passed, items }) {
  const yes = items.filter((item) => item.yes).length;
  return make("details", { class: `quality ${passed ? "passed" : "failed"}` },
    make("summary", {},
      make("span", { class: `badge ${passed ? "plain" : "medium"}` }, icon("checklist"), make("span", { word: passed ? "ai.qualityPassed" : "ai.qualityNotPassed" })),
      make("span", { class: "figures", word: ["ai.qualityCount", { yes, total: items.length }] })),
    make("ul", { class: "checks" }, ...items.map((item) =>
      make("li", { class: item.yes ? "yes" : "no" }, tick(item.yes),
        make("div", {}, make("span", { class: "hidden", word: item.yes ? "ai.qualityYes" : "ai.qualityNo" }), make("span", { text: item.text }),
          item.told && !item.yes ? make("p", { class: "aside", word: "ai.qualityUnproven" }) : null,
          item.quote ? make("q", { text: item.quote }) : null)))));
}

/** A checklist or an evaluation that there is none of, and the sentence that says why. */
export const missing = (name, why) =>
  make("div", { class: "missing" }, make("span", { class: "badge none" }, icon("minus"), make("span", { word: name })), make("p", { class: "aside" }, why));

const tick = (yes) => make("span", { class: `tick ${yes ? "yes" : "no"}`, "aria-hidden": "true" }, yes ? icon("check") : null);

/**
 * The evaluation of an answer.
 * @param about {lang, notes: [{note_id, title}], open(number, evidences), wrong(claim) -> element or null, id}
 */
export function evaluationCard(evaluation, about) {
  const { confidence, outcome, correctness, utility, claims, omissions, summary } = evaluation;
  const badge = confidence ? gradeBadge(confidence)
    : make("span", { class: "badge none" }, icon("abstains"), make("span", { word: UNGRADED[outcome] }));
  const left = omissions.filter((one) => one.doubt === null);
  return make("section", { class: `evaluation ${confidence ?? "none"}`, label: "ai.qaEvaluation" },
    make("div", { class: "headline" }, badge, make("span", { class: "figures", word: () => figures(evaluation) })),
    summary ? make("p", { class: "summary", lang: about.lang, text: summary }) : null,
    make("div", { class: "bars" }, bar("correctness", "ai.qaCorrectness", correctness), bar("utility", "ai.qaUtility", utility)),
    evaluation.utility_reason && utility < FROM.utility[0] ? make("p", { class: "aside", lang: about.lang, text: evaluation.utility_reason }) : null,
    coverage(evaluation, about),
    claims.length || evaluation.grounding_issues.length ? issues(evaluation, about) : null,
    left.length ? omitted(left, about) : null,
    ...evaluation.notices.filter((notice) => notice in NOTICES).map((notice) => make("p", { class: "aside", word: NOTICES[notice] })),
    Object.keys(evaluation.flagged).length ? make("p", { class: "aside", word: "ai.qaFlagged" }) : null);
}

function bar(name, word, value) {
  const [good, fair] = FROM[name];
  const grade = value === null ? "none" : value >= good ? "high" : value >= fair ? "medium" : "low";
  const fill = make("span", { class: "fill" });
  fill.style.inlineSize = `${(value ?? 0) * 100}%`; // by script: the policy lets no style attribute through
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
    const told = proven.length ? proven.map((claim) => claimRow(claim, about, fillers))
      : use.relevant_claim ? [make("li", {}, stated(use.relevant_claim, about))] : [];
    return make("li", { class: use.cited ? "cited" : "not-cited" },
      make("div", { class: "use" }, tick(use.cited),
        make("span", { class: "number", text: use.note_index }), name,
        make("span", { class: "aside", word: use.cited ? "ai.qaSourceCited" : "ai.qaSourceNotCited" }),
        use.marked && !use.cited ? make("span", { class: "aside", word: "ai.qaSourceMarkedOnly" }) : null),
      told.length ? make("ul", { class: "proofs" }, ...told) : null);
  });
  const strange = new Set(claims.flatMap((claim) => claim.cited).filter((number) => !notes.some((use) => use.note_index === number)));
  rows.push(...[...strange].map((number) => make("li", { class: "not-cited" },
    make("div", { class: "use" }, tick(false), make("span", { class: "number", text: number }), make("span", { class: "aside", word: ["ai.qaSourceUnknown", { number }] })))));
  const cited = notes.filter((use) => use.cited).length;
  const details = make("details", { class: "coverage" },
    make("summary", {}, make("span", { class: "title", word: "ai.qaSourceCoverage" }),
      make("span", { class: "figures", word: ["ai.qaSourcesCited", { cited, total: notes.length }] })),
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

/** The passage in its note; loaded at once, or by the function that it leaves in `fillers`. */
function passage(evidence, about, fillers = null) {
  if (!isAligned(evidence)) return null;
  const number = evidence.source_index + 1;
  const { note_id: id = null, title = "" } = about.notes[number - 1] ?? {};
  const text = make("div", { class: "prose" }, make("p", {}, make("mark", { text: evidence.selector.exact })));
  const fill = async () => text.replaceChildren(...(await excerpt(id, evidence)));
  if (fillers) fillers.push(fill);
  else fill();
  const open = id === null ? null : make("button", { class: "link", on: { click: () => about.open(number, [evidence]) } },
    icon("note"), make("span", { word: "ai.passage" }), make("span", { class: "hidden", text: title }));
  return make("blockquote", { class: "passage" }, text, open);
}

function issues({ grounding_issues: sentences, claims }, about) {
  if (!sentences.length) return make("p", { class: "no-issues" }, icon("check"), make("span", { word: "ai.qaNoIssues" }));
  const unsupported = claims.filter((claim) => claim.verdict !== "supported"); // the sentences are about these, in turn
  const told = unsupported.length === sentences.length ? unsupported : [];
  return make("div", { class: "issues" }, make("h3", { word: "ai.qaGroundingIssues" }),
    make("ul", {}, ...sentences.map((sentence, at) => {
      const claim = told[at];
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
    ? ["ai.doubtNewNumbers", { numbers: numbers.join(", ") }] : `ai.doubt${camel(doubt)}`;

const omitted = (left, about) =>
  make("div", { class: "omissions" }, make("h3", { word: "ai.qaOmissions" }),
    make("ul", {}, ...left.map((one) => make("li", {}, make("p", { lang: about.lang, text: one.what }), passage(one.evidence, about)))));

/** Marks for the claims of an answer, as ranges of its text: a claim's own text is without citations and list marks. */
export const claimRanges = ({ claims }) =>
  claims.map((claim) => ({ claim, start: claim.utf16_start, end: claim.utf16_end, make: () => make("span", { class: `claim ${claim.verdict}` }) }));

/** The button behind a claim that says its verdict and leads to its evidence. */
export function claimMark(claim, show) {
  const [word, drawing] = VERDICTS[claim.verdict];
  return make("button", {
    class: `verdict ${claim.verdict}`, label: ["ai.claim", { number: claim.id, verdict: () => say(word) }], tip: word, on: { click: show },
  }, icon(drawing));
}

/** What the marks mean, those that occur. */
export const claimKey = ({ claims }) =>
  make("ul", { class: "key", label: "ai.claimsKey" }, ...Object.keys(VERDICTS).filter((name) => claims.some((claim) => claim.verdict === name)).map((name) =>
    make("li", {}, make("span", { class: `verdict ${name}`, "aria-hidden": "true" }, icon(VERDICTS[name][1])), make("span", { class: `claim ${name}`, word: VERDICTS[name][0] }))));
