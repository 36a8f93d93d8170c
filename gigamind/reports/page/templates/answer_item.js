
// How one judged answer is shown, and what the list of answers is searched, filtered and sorted by.
const FIELDS = ["id", "question", "language", "tags", "change", "correctness", "utility", "confidence", "outcome", "pieces",
  "claims", "coverage", "issues", "summary", "reason", "reported", "abstains", "flagged", "quality", "votes",
  "completeness", "omissions", "facts", "contexts", "odd"];
const CLAIM_FIELDS = ["id", "text", "verdict", "doubt", "note", "quote", "passage", "cited", "labelled", "inexact", "doors", "contradictions",
  "veto", "untold"];
const OMISSION_FIELDS = ["what", "doubt", "note", "quote", "passage"];
const ASIDES = ["abstention", "courtesy", "lead_in", "question", "heading", "source"];
const VERDICTS = ["supported", "contradicted", "not_found", "unverified", "no_claim"];
const VOTE_FIELDS = ["seat", "code", "correctness", "utility", "verdicts"]; // a digit a claim: its place in VERDICTS
const GRADES = ["high", "medium", "low"];
// Of a team's own judge: its scores, in the place of correctness and utility, and what it rests on.
const SCORES = data.scores ?? [];
const own = (item) => named(["scores", "proofs", "text"], data.verdicts[item.number - 1]);
const TITLE = "question";
const title = (item) => item.question;
const meta = (item) => [item.id, item.language, ...item.tags.map((at) => data.tags[at])].filter(Boolean).join(" · ");
const tagsOf = (item) => item.tags;
const unsupported = (item) => item.claims.filter((claim) => claim[2] !== "supported").length;
const unlike = (item) => item.claims.filter((claim) => claim[8] && claim[8] !== judgedAs(claim[2])).length;
// What people or the model show to be missing; a doubt takes an omission back, and a fact of no note counts nowhere.
const leftOut = (item) => (item.facts.some((fact) => fact[2]) ? item.facts.filter(([, , backed, claim]) => backed && claim === null).length
  : item.omissions.filter((one) => !one[1]).length);
const judgedAs = (verdict) => (verdict === "unverified" ? "not_found" : verdict);
// Seats differ where a verdict or the utility does; correctness follows from the verdicts.
const split = (item) => new Set(item.votes.filter((vote) => !vote[1]).map((vote) => vote.slice(3).join())).size > 1;
const CHECKED = data.items.some((values) => values[FIELDS.indexOf("quality")] !== null);
const FILTERS = {
  all: () => true,
  ...(SCORES.length ? {} : { issues: (item) => unsupported(item) > 0, abstained: (item) => item.abstains, incomplete: (item) => leftOut(item) > 0 }),
  unjudged: (item) => !["judged", "abstained", "no_claims"].includes(item.outcome),
  ...(SCORES.length ? {} : { unlike: (item) => unlike(item) > 0 }),
  ...(data.seats.length ? { split } : {}),
  ...(CHECKED ? { unpassed: (item) => item.quality !== null && !item.quality[0] } : {}),
  worse: (item) => item.change === "worse",
  better: (item) => item.change === "improved",
};
const COLUMNS = {
  number: ["n number", (item) => item.number],
  question: ["note", (item) => item.question],
  ...(SCORES.length ? Object.fromEntries(SCORES.map((name, at) => [name, ["found number", (item) => own(item).scores[at] ?? 2]])) : {
    correctness: ["found number", (item) => item.correctness ?? 2],
    utility: ["right-of number", (item) => item.utility ?? 2],
  }),
  verdict: ["verdict", (item) => -GRADES.indexOf(item.confidence)],
};

function cell(name, item) {
  if (SCORES.includes(name)) return figure(own(item).scores[SCORES.indexOf(name)]);
  if (name === "correctness" || name === "utility") return figure(item[name]);
  return item.number;
}

const searchable = (item) => [item.id, item.question, item.summary, ...item.pieces.map((piece) => piece[0])];

function verdict(item) {
  const grade = item.confidence;
  const shown = grade ? make("span", { className: `badge ${grade}`, text: say(grade) })
    : make("span", { className: "was", text: say(item.outcome) });
  const missing = leftOut(item);
  return make("span", {}, shown, missing ? make("span", { className: "was", text: say("left_out", { count: missing }) }) : null, item.change ? make("span", { className: "was", text: say(item.change) }) : null);
}

function detail(item) {
  const parts = item.flagged.length ? [make("p", { className: "wrongly", text: say("flagged", { what: item.flagged.join(", ") }) })] : [];
  parts.push(make("h4", { text: say("answer") }), legend(item), answerText(item));
  if (SCORES.length) parts.push(...verdictOf(own(item)));
  if (item.summary) parts.push(make("p", { className: "small", text: item.summary }));
  if (item.reported !== null) parts.push(make("p", { className: "small faint", text: say("reported", { value: figure(item.reported) }) }));
  if (item.reason) parts.push(make("p", { className: "small faint", text: `${say("utility")}: ${item.reason}` }));
  if (item.claims.length) parts.push(make("h4", { text: say("claims") }), make("p", { className: "small faint", text: say("quote_proves") }), claimTable(item));
  if (item.votes.length) parts.push(make("h4", { text: say("votes") }), votes(item));
  if (item.contexts.length || item.odd.length) parts.push(make("h4", { text: say("contexts") }), ...contexts(item));
  if (item.coverage.length) parts.push(make("h4", { text: say("coverage") }), coverage(item));
  if (item.claims.length) parts.push(make("h4", { text: say("issues") }), issues(item));
  if (item.completeness !== null || item.omissions.length || item.facts.length) parts.push(make("h4", { text: say("omissions") }), ...omissions(item));
  if (item.quality) parts.push(make("h4", { text: say("checklist") }), checklist(item.quality));
  return parts;
}

function legend(item) {
  return legendOf(new Set(item.pieces.map((piece) => piece[1])));
}

function legendOf(used) {
  return make("p", { className: "legend" }, ...VERDICTS.filter((one) => used.has(one)).map((one) => make("span", {}, sign(one))),
    ...ASIDES.filter((one) => used.has(one)).map((one) => make("span", { className: "aside", text: say(`role_${one}`) })));
}

const sign = (verdict) => make("mark", { className: `sign ${verdict}`, text: say(verdict) });

// The answer with its claims marked by verdict; what is no claim is grey, and says what it is.
function answerText(item) {
  return make("blockquote", { className: "note-text" }, ...item.pieces.map(([text, kind, number]) => {
    if (VERDICTS.includes(kind)) return make("mark", { className: kind, text, title: `${number}. ${say(kind)}` });
    return kind ? make("span", { className: "aside", text, title: `${number}. ${say(`role_${kind}`)}` }) : make("span", { text });
  }));
}

function claimTable(item) {
  return make("table", { className: "ranking claims" }, make("tbody", {}, ...item.claims.map((values, at) => {
    const claim = named(CLAIM_FIELDS, values);
    const doors = make("ul", { className: "doors" }, ...claim.doors.map(([name, passed]) =>
        make("li", { className: passed ? "passed" : passed === false ? "failed" : "open", text: say(`door_${name}`) })),
      ...whyNot(claim).map((text) => make("li", { className: "why", text })));
    const told = make("td", {}, sign(claim.verdict), alike(item, claim.verdict, at),
      claim.veto ? make("div", { className: "meta", text: say("vetoed", { role: say(`role_${claim.veto[0]}`), why: say(`veto_${claim.veto[1]}`) }) }) : null,
      claim.untold ? make("div", { className: "meta", text: say("untold") }) : null,
      claim.labelled ? make("div", { className: "meta", text: say("labelled", { verdict: say(claim.labelled) }) }) : null);
    return make("tr", { className: "hit" }, make("td", { className: "place number", text: claim.id }),
      make("td", {}, make("div", { text: claim.text }), source(claim), doors), told);
  })));
}

// Why a door stayed shut, where its own words do not say so.
const whyNot = ({ doubt, doors, contradictions }) => [
  ...(doubt && !doors.some(([name]) => name === doubt) ? [say(doubt)] : []),
  ...contradictions.map(([name, what]) => `${say(`against_${name}`)}${what ? `: ${what}` : ""}`),
];

// What a team's own judge says, and its proofs; a quote that proves nothing is struck out.
function verdictOf({ proofs, text }) {
  return [text ? make("p", { className: "small", text }) : null, proofs.length ? make("ul", { className: "sources" },
    ...proofs.map(([note, quote, proven]) => make("li", { className: proven ? "cited" : "" }, make(proven ? "span" : "s", { text: readable(quote) }),
      make("span", { className: proven ? "tick" : "faint", text: ` ${note || say("answer")}` })))) : null].filter(Boolean);
}

// The passage of the note, the quoted words marked; a quote that stands nowhere is shown struck out.
function source(claim) {
  if (claim.passage) {
    const text = claim.passage.join("");
    const marks = marksOf(text);
    const quoted = claim.passage[0].length;
    const [start, end] = toWords(text, quoted, quoted + claim.passage[1].length);
    return make("blockquote", { className: "short" }, make("span", { className: "faint", text: `${claim.note}: ` }),
      make("span", { text: readable(text, 0, start, marks) }), make("mark", { text: readable(text, start, end, marks) }),
      make("span", { text: readable(text, end, text.length, marks) }),
      claim.inexact ? make("div", { className: "meta", text: say("inexact", { quote: readable(claim.quote) }) }) : null);
  }
  return claim.quote ? make("blockquote", { className: "short" }, make("s", { text: readable(claim.quote) }),
    make("span", { className: "faint", text: claim.note ? ` (${claim.note})` : "" })) : null;
}

// A place from the beginning of its first word to the end of its last.
function toWords(text, start, end) {
  const touched = wordsOf(text).filter(([from, to]) => from < end && start < to).flat();
  return [Math.min(start, ...touched), Math.max(end, ...touched)];
}

// What the system says that it answered from, in its order; one whose text is not known is struck out.
function contexts(item) {
  const odd = item.odd.map(([name, count]) => say(`odd_${name}`, { count })).join(", ");
  const list = make("ul", { className: "sources contexts" }, ...item.contexts.map(([name, score, known], at) => make("li", {},
    make(known ? "span" : "s", { text: `${at + 1}. ${name}` }),
    score === null ? null : make("span", { className: "faint", text: ` ${say("context_score", { value: figure(score) })}` }),
    known ? null : make("span", { className: "wrongly", text: say("context_unknown") }))));
  return odd ? [make("p", { className: "small wrongly", text: say("odd", { what: odd }) }), list] : [list];
}

function coverage(item) {
  return make("ul", { className: "sources" }, ...item.coverage.map(([number, name, cited, claim, marked]) =>
    make("li", { className: cited ? "cited" : "" }, make("span", { text: `${say("note", { number })} ${name} ` }),
      make("span", { className: cited ? "tick" : "faint", text: say(cited ? "cited" : marked ? "marked_only" : "not_cited") }),
      claim ? make("div", { className: "meta", text: claim }) : null)));
}

// What the answer leaves out, by the model with the words of a note, and by people.
function omissions(item) {
  const told = item.omissions.map((values) => {
    const one = named(OMISSION_FIELDS, values);
    const copied = one.passage && one.what === one.quote; // and stands there once more
    return make("li", { className: one.doubt ? "" : "missing" }, copied && !one.doubt ? null : make(one.doubt ? "s" : "span", { text: one.what }),
      one.doubt ? make("span", { className: "faint", text: ` ${say(one.doubt)}` }) : null, source(one));
  });
  const facts = item.facts.map(([text, vital, backed, claim]) => make("li", { className: backed && claim === null ? "missing" : "" },
    make("span", { text: `${text} ` }), make("span", { className: !backed ? "faint" : claim === null ? "cross" : "tick",
      text: !backed ? say("fact_unbacked") : `${say(claim === null ? "fact_missing" : "fact_given", { claim })}${vital ? ` · ${say("vital")}` : ""}` })));
  return [
    item.completeness !== null ? make("p", { className: "small", text: `${say("completeness")}: ${figure(item.completeness)}` }) : null,
    ...listed("facts_of_people", facts), ...listed("omissions_told", told),
  ].filter(Boolean);
}

const listed = (name, rows) => (rows.length ? [make("p", { className: "small faint", text: say(name) }), make("ul", { className: "sources left-out" }, ...rows)] : []);

function issues(item) {
  if (!item.issues.length) return make("p", { className: "small faint", text: say("no_issues") });
  return make("ul", { className: "issues" }, ...item.issues.map((text) => make("li", { text })));
}

// Each item of the quality gate with its proof; a yes that nothing proves is struck out, and counts as the judge file says.
function checklist([passed, items]) {
  return make("div", {}, make("p", {}, make("span", { className: `badge ${passed ? "high" : "low"}`, text: say(passed ? "passed" : "not_passed") })),
    make("ul", { className: "sources checklist" }, ...items.map(([text, yes, told, quote, trusted, note]) =>
      make("li", { className: yes ? "cited" : "" }, make("span", { text: `${text} ` }),
        make("span", { className: yes ? "tick" : "faint", text: say(yes ? "yes" : told ? "yes_unproven" : "no") }),
        quote ? make("div", { className: "meta" }, make(trusted ? "span" : "s", { text: readable(quote) }),
          note ? make("span", { text: ` (${note})` }) : null) : null))));
}

// Seats as a vote tells them: `verdicts` is null where there is none.
const seatsOf = (item) => item.votes.map((values) => {
  const seat = named(VOTE_FIELDS, values);
  return { ...seat, verdicts: seat.code ? null : [...seat.verdicts].map((digit) => VERDICTS[digit]) };
});

// How many seats have the claim as the panel has it, where they differ.
function alike(item, verdict, at) {
  const told = seatsOf(item).filter((seat) => seat.verdicts).map((seat) => seat.verdicts[at]);
  const count = told.filter((one) => one === verdict).length;
  return count < told.length ? make("div", { className: "meta alike", text: say("alike", { count, seats: told.length }) }) : null;
}

// Who of a panel judged how, its own result first.
function votes(item) {
  const seats = seatsOf(item);
  const whole = { ...item, verdicts: item.utility === null ? null : item.claims.map((claim) => claim[2]) };
  const used = new Set([whole, ...seats].flatMap((one) => one.verdicts ?? []));
  const head = [["seat", say("seat")], ["number", say("correctness")], ["number", say("utility")], ...(used.size ? [["marks", say("claims")]] : [])];
  const rows = seats.map((seat) => voteRow(data.seats[seat.seat], seat, say("no_vote", { why: why(seat.code) })));
  return make("div", {}, make("table", { className: "votes", attributes: { "aria-label": say("votes") } },
    make("thead", {}, make("tr", {}, ...head.map(([className, text]) => make("th", { className, text, attributes: { scope: "col" } })))),
    make("tbody", {}, voteRow(say("panel"), whole, say("no_result"), "whole"), ...rows)), legendOf(used));
}

function voteRow(name, told, reason, className = "") {
  const seat = make("th", { className: "seat", text: name, attributes: { scope: "row" } });
  if (!told.verdicts) return make("tr", { className }, seat, make("td", { className: "none", colSpan: 3, text: reason }));
  return make("tr", { className }, seat, make("td", { className: "number", text: figure(told.correctness) }),
    make("td", { className: "number", text: figure(told.utility) }),
    told.verdicts.length ? make("td", { className: "marks" }, ...told.verdicts.map(voteMark)) : null);
}

// A claim's number with the sign of a verdict: colour and shape for who sees them, the word for who listens.
function voteMark(verdict, at) {
  return make("mark", { className: `sign ${verdict}`, title: say(verdict) }, make("span", { text: at + 1 }),
    make("span", { className: "hidden", text: ` ${say(verdict)}` }));
}
