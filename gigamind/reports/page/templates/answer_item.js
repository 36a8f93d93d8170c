
// One judged answer, and the search, filters and sorting of the list of answers.
const FIELDS = ["id", "question", "language", "tags", "correctness", "utility", "confidence", "outcome", "pieces", "claims",
  "coverage", "issues", "summary", "reason", "reported", "abstains", "flagged", "quality", "completeness", "omissions",
  "facts", "contexts", "odd", "notices", "own", "change", "what", "before"];
const CLAIM_FIELDS = ["id", "text", "verdict", "why", "note", "quote", "passage", "labelled", "inexact", "doors", "veto", "untold", "score", "refused"];
const OMISSION_FIELDS = ["what", "doubt", "note", "quote", "passage"];
const ASIDES = ["abstention", "courtesy", "lead_in", "question", "heading", "source"];
const VERDICTS = ["supported", "contradicted", "not_found", "unverified"];
const BEFORE_FIELDS = ["scores", "unsupported", "leftOut", "passed"]; // of the baseline
const LABELS = data.labels; // of verdicts, grades, outcomes, doubts, checks, roles and vetoes; see labels.py
// The scores of a team's own judge, which replace correctness and utility.
const SCORES = data.scores;
const own = (item) => named(["scores", "proofs", "text"], item.own);
const claimsOf = (item) => item.claims.map((values) => named(CLAIM_FIELDS, values));
const CUT = 100; // characters of a claim in a row
const went = (item, way) => item.change === way;
const TITLE = "question";
const unsupported = (item) => claimsOf(item).filter((claim) => claim.verdict !== "supported");
const unlike = (item) => claimsOf(item).filter((claim) => claim.labelled && claim.labelled !== judgedAs(claim.verdict)).length;
// The proven omissions, by human labels or the model; facts that are in no note are not counted.
const leftOut = (item) => (item.facts.some((fact) => fact[2])
  ? item.facts.filter(([, , backed, claim]) => backed && claim === null).map(([text]) => text)
  : item.omissions.filter(([, doubt]) => !doubt).map(([what]) => what));
const complaint = ({ text, why }) => `“${text.length > CUT ? `${text.slice(0, CUT)}…` : text}” → ${why.join("; ")}`;
const judgedAs = (verdict) => (verdict === "unverified" ? "not_found" : verdict);
const CHECKED = data.items.some((values) => values[FIELDS.indexOf("quality")] !== null);
const FILTERS = {
  ...(SCORES.length ? {} : {
    issues: [_("Grounding issues"), (item) => unsupported(item).length > 0],
    abstained: [LABELS.abstained, (item) => item.abstains],
    incomplete: [_("Answers with omissions"), (item) => leftOut(item).length > 0],
  }),
  unjudged: [_("not evaluated"), (item) => !["judged", "abstained", "no_claims"].includes(item.outcome)],
  ...(SCORES.length ? {} : { unlike: [_("Verdict differs from the human verdict"), (item) => unlike(item) > 0] }),
  ...(CHECKED ? { unpassed: [_("Checklist not passed"), (item) => item.quality !== null && !item.quality[0]] } : {}),
};
const remarks = (item) => [item.what.replaceAll(" -> ", " → "), ...unsupported(item).sort((a) => (a.verdict === "contradicted" ? -1 : 1)).map(complaint)].filter(Boolean);
const SCORED = SCORES.length ? SCORES : data.items.some((values) => values[FIELDS.indexOf("utility")] !== null)
  ? [_("Correctness"), _("Utility")] : [_("Correctness")];
const scoresOf = (item) => (SCORES.length ? own(item).scores : [item.correctness, item.utility]);
// Worst first: contradicted answers, then by the main score; a refusal with omissions comes before the best answers.
const badness = (item) => data.way * (scoresOf(item)[0] ?? (leftOut(item).length ? 0.99 : 2))
  - (item.claims.some((claim) => claim[2] === "contradicted") ? 1 : 0);
const COLUMNS = {
  question: ["note", (item) => item.question, _("question")],
  ...Object.fromEntries(SCORED.map((name, at) => [`score_${at}`,
    [at && !SCORES.length ? "right-of number" : "found number", (item) => scoresOf(item)[at] ?? 2, name]])),
  verdict: ["verdict", badness, _("result")],
};

const cell = (name, item) => (name === "number" ? item.number : figure(scoresOf(item)[Number(name.slice(6))]));

const searchable = (item) => [item.id, item.question, item.summary, ...item.pieces.map((piece) => piece[0])];

function verdict(item) {
  const [all, supported] = [item.claims.length, item.claims.length - unsupported(item).length];
  const claims = n_("{supported} of {n} claim supported", "{supported} of {n} claims supported", { n: all, supported });
  const grade = item.confidence;
  const shown = grade ? make("span", { className: `badge ${grade}`, text: LABELS[grade] })
    : make("span", { className: "was", text: all ? claims : LABELS[item.outcome] });
  const n = leftOut(item).length;
  const change = { worse: _("worse"), improved: _("better") }[item.change];
  const lines = [n ? n_("{n} omission", "{n} omissions", { n }) : "", change].filter(Boolean);
  return make("span", {}, shown, ...lines.map((text) => make("span", { className: "was", text })));
}

function detail(item) {
  const what = item.flagged.join(", ");
  const parts = what ? [make("p", { className: "wrongly", text: _("Possible prompt injection or invisible characters in: {what}", { what }) })] : [];
  if (item.before) parts.push(beside(item));
  parts.push(make("h3", { text: _("Answer") }), legendOf(new Set(item.pieces.map((piece) => piece[1]))), answerText(item));
  if (SCORES.length) parts.push(...verdictOf(own(item)));
  parts.push(...item.notices.map((text) => make("p", { className: "wrongly", text })));
  if (item.summary) parts.push(make("p", { className: "small", text: item.summary }));
  const value = figure(item.reported);
  const estimate = _("Correctness as the model estimates it (not used in the metrics): {value}", { value });
  if (item.reported !== null) parts.push(make("p", { className: "small faint", text: estimate }));
  const utility = _("Utility");
  if (item.reason) parts.push(make("p", { className: "small faint", text: `${utility}: ${item.reason}` }));
  const proof = _("A quote proves only that its words are in the note. A separate check compares the claim with the sentence around the quote.");
  if (item.claims.length) parts.push(make("h3", { text: _("Claims") }), make("p", { className: "small faint", text: proof }), claimTable(item));
  if (item.contexts.length || item.odd.length) parts.push(make("h3", { text: _("Context passages that the system reported") }), ...contexts(item));
  if (item.coverage.length) parts.push(make("h3", { text: _("Use of the source notes") }), coverage(item));
  if (item.claims.length) parts.push(...issuesOf(item));
  if (item.completeness !== null || item.omissions.length || item.facts.length) parts.push(make("h3", { text: _("Omissions") }), ...omissions(item));
  if (item.quality) parts.push(make("h3", { text: _("Checklist") }), checklist(item.quality));
  return parts;
}

// What is not supported or missing in both runs, with what is in one of them only.
function beside(item) {
  const before = named(BEFORE_FIELDS, item.before);
  const now = { scores: scoresOf(item), unsupported: unsupported(item).map((claim) => claim.text), leftOut: leftOut(item),
    passed: item.quality && item.quality[0] };
  const side = (name, of, other, word) => {
    const checked = of.passed === null ? [] : [of.passed ? _("Checklist passed") : _("Checklist not passed")];
    const rows = (texts, others) => texts.map((text) => make("li", { className: others.includes(text) ? "" : "missing" },
      make("span", { text: `${text} ` }), others.includes(text) ? null : make("span", { className: "cross", text: word })));
    return make("div", {}, make("h3", { text: name }),
      make("p", { className: "small", text: [...SCORED.map((score, at) => `${score} ${figure(of.scores[at])}`), ...checked].join(" · ") }),
      ...listed(_("Unsupported claims"), rows(of.unsupported, other.unsupported)), ...listed(_("Omissions"), rows(of.leftOut, other.leftOut)));
  };
  return make("div", { className: "rankings" }, side(_("baseline"), before, now, _("no longer")), side(_("this run"), now, before, _("new")));
}

function legendOf(used) {
  return make("p", { className: "legend" }, ...VERDICTS.filter((verdict) => used.has(verdict)).map((verdict) => make("span", {}, sign(verdict))),
    ...ASIDES.filter((role) => used.has(role)).map((role) => make("span", { className: "aside", text: LABELS[`role_${role}`] })));
}

const sign = (verdict) => make("mark", { className: `sign ${verdict}`, text: LABELS[verdict] });

// The answer with its claims marked by verdict; other sentences are grey, with their role as title.
function answerText(item) {
  return make("blockquote", { className: "note-text" }, ...item.pieces.map(([text, kind, number]) => {
    if (VERDICTS.includes(kind)) return make("mark", { className: kind, text, title: `${number}. ${LABELS[kind]}` });
    return kind ? make("span", { className: "aside", text, title: `${number}. ${LABELS[`role_${kind}`]}` }) : make("span", { text });
  }));
}

function claimTable(item) {
  return make("table", { className: "ranking claims" }, make("tbody", {}, ...claimsOf(item).map((claim) => {
    const doors = make("ul", { className: "doors" }, ...claim.doors.map(([name, passed]) =>
        make("li", { className: passed ? "passed" : passed === false ? "failed" : "open", text: LABELS[name] })),
      ...scored(claim), ...claim.why.filter((text) => !claim.doors.some(([name]) => LABELS[name] === text)).map((text) => make("li", { className: "why", text })));
    const [role, reason] = claim.veto ? [LABELS[`role_${claim.veto[0]}`], LABELS[`veto_${claim.veto[1]}`]] : [];
    const vetoed = _("The model gave this sentence the role “{role}”, but gigamind counts it as a claim: {why}", { role, why: reason });
    const verdict = LABELS[claim.labelled];
    const human = _("human verdict: {verdict}", { verdict });
    const result = make("td", {}, sign(claim.verdict),
      claim.veto ? make("div", { className: "meta", text: vetoed }) : null,
      claim.untold ? make("div", { className: "meta", text: _("this sentence also says that the notes do not contain the answer") }) : null,
      claim.labelled ? make("div", { className: "meta", text: human }) : null);
    return make("tr", { className: "hit" }, make("td", { className: "place number", text: claim.id }),
      make("td", {}, make("div", { text: claim.text }), source(claim), doors), result);
  })));
}

// What the guard says, and the score: the share of the claim's words that its source has.
function scored({ score, refused }) {
  const percent = score === null ? "" : (100 * score).toFixed(0);
  const text = refused ? _("guard: refuses the claim; score {percent}%", { percent }) : _("guard: passes the claim; score {percent}%", { percent });
  return score === null || refused === null ? [] : [make("li", { className: refused ? "failed" : "passed", text })];
}

// The text of a team's own judge, and its proofs; a quote that proves nothing is struck out.
function verdictOf({ proofs, text }) {
  const answer = _("Answer");
  return [text ? make("p", { className: "small", text }) : null, proofs.length ? make("ul", { className: "sources" },
    ...proofs.map(([note, quote, proven]) => make("li", { className: proven ? "cited" : "" }, make(proven ? "span" : "s", { text: readable(quote) }),
      make("span", { className: proven ? "tick" : "faint", text: ` ${note || answer}` })))) : null].filter(Boolean);
}

// The passage of the note with the quote marked; a quote that is in no note is struck out.
function source(claim) {
  const quote = claim.quote ? readable(claim.quote) : "";
  if (claim.passage) {
    const text = claim.passage.join("");
    const marks = marksOf(text);
    const quoted = claim.passage[0].length;
    const [start, end] = toWords(text, quoted, quoted + claim.passage[1].length);
    return make("blockquote", { className: "short" }, make("span", { className: "faint", text: `${claim.note}: ` }),
      make("span", { text: readable(text, 0, start, marks) }), make("mark", { text: readable(text, start, end, marks) }),
      make("span", { text: readable(text, end, text.length, marks) }),
      claim.inexact ? make("div", { className: "meta", text: _("The model's quote differs slightly from the note: {quote}", { quote }) }) : null);
  }
  return claim.quote ? make("blockquote", { className: "short" }, make("s", { text: quote }),
    make("span", { className: "faint", text: claim.note ? ` (${claim.note})` : "" })) : null;
}

// A range, extended to whole words.
function toWords(text, start, end) {
  const touched = wordsOf(text).filter(([from, to]) => from < end && start < to).flat();
  return [Math.min(start, ...touched), Math.max(end, ...touched)];
}

// The contexts of the system, in its order; those without a known text are struck out.
function contexts(item) {
  const what = item.odd.map(([name, count]) => ({
    no_contexts: _("the system reported no context"),
    unknown_notes: _("contexts from notes that gigamind does not know: {count}", { count }),
    repeated_notes: _("duplicate contexts: {count}", { count }),
    bad_scores: _("scores that are not numbers: {count}", { count }),
    unplaced_texts: _("context texts not found in their note: {count}", { count }),
    asked_again: _("retries: {count}", { count }),
  })[name]).join(", ");
  const scored = (score) => {
    const value = figure(score);
    return _("score {value}", { value });
  };
  const list = make("ul", { className: "sources contexts" }, ...item.contexts.map(([name, score, known], at) => make("li", {},
    make(known ? "span" : "s", { text: `${at + 1}. ${name}` }),
    score === null ? null : make("span", { className: "faint", text: ` ${scored(score)}` }),
    known ? null : make("span", { className: "wrongly", text: _("the text of this context is unknown, so it proves nothing") }))));
  return what ? [make("p", { className: "small wrongly", text: _("Data-quality warnings for the contexts from the system: {what}", { what }) }), list] : [list];
}

function coverage(item) {
  const noteNumber = (number) => _("note {number}", { number });
  return make("ul", { className: "sources" }, ...item.coverage.map(([number, name, cited, claim, marked]) =>
    make("li", { className: cited ? "cited" : "" }, make("span", { text: `${noteNumber(number)} ${name} ` }),
      make("span", { className: cited ? "tick" : "faint", text: cited ? _("Cited in the answer") : marked ? _("named in the answer, but nothing shows that the answer uses it") : _("Not cited in the answer") }),
      claim ? make("div", { className: "meta", text: claim }) : null)));
}

// The omissions of the answer, from the model with quotes and from human labels.
function omissions(item) {
  const reported = item.omissions.map((values) => {
    const omission = named(OMISSION_FIELDS, values);
    const { what, doubt } = omission;
    const copied = omission.passage && what === omission.quote; // the passage shows the same text
    return make("li", { className: doubt ? "" : "missing" }, copied && !doubt ? null : make(doubt ? "s" : "span", { text: what }),
      doubt ? make("span", { className: "faint", text: ` ${LABELS[doubt]}` }) : null, source(omission));
  });
  const vitalMark = _("vital fact");
  const factStatus = (vital, backed, claim) => {
    if (!backed) return _("not counted: no note contains this fact");
    const status = claim === null ? _("missing from the answer") : _("stated in claim {claim} of the answer", { claim });
    return vital ? `${status} · ${vitalMark}` : status;
  };
  const completeness = _("completeness");
  const facts = item.facts.map(([text, vital, backed, claim]) => make("li", { className: backed && claim === null ? "missing" : "" },
    make("span", { text: `${text} ` }), make("span", { className: !backed ? "faint" : claim === null ? "cross" : "tick",
      text: factStatus(vital, backed, claim) })));
  return [
    item.completeness !== null ? make("p", { className: "small", text: `${completeness}: ${figure(item.completeness)}` }) : null,
    ...listed(_("Facts that the answer should give, according to human labels"), facts),
    ...listed(_("Omissions reported by the model"), reported),
  ].filter(Boolean);
}

const listed = (text, rows) => (rows.length ? [make("p", { className: "small faint", text }), make("ul", { className: "sources left-out" }, ...rows)] : []);

// Nothing for an answer with a notice, which must not look good.
function issuesOf(item) {
  if (!item.issues.length && item.notices.length) return [];
  const shown = item.issues.length ? make("ul", { className: "issues" }, ...item.issues.map((text) => make("li", { text })))
    : make("p", { className: "small faint", text: _("No grounding issues") });
  return [make("h3", { text: _("Grounding issues") }), shown];
}

// Each checklist item with its proof; an unproven yes is struck out, and counts as the judge file says.
function checklist([passed, items]) {
  return make("div", {}, make("p", {}, make("span", { className: `badge ${passed ? "high" : "low"}`, text: passed ? _("Checklist passed") : _("Checklist not passed") })),
    make("ul", { className: "sources checklist" }, ...items.map(([text, yes, claimed, quote, trusted, note]) =>
      make("li", { className: yes ? "cited" : "" }, make("span", { text: `${text} ` }),
        make("span", { className: yes ? "tick" : "faint", text: yes ? _("yes") : claimed ? _("“yes” without proof") : _("no") }),
        quote ? make("div", { className: "meta" }, make(trusted ? "span" : "s", { text: readable(quote) }),
          note ? make("span", { text: ` (${note})` }) : null) : null))));
}
