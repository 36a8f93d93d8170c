
// How one query is shown, and what the list of queries is searched, filtered and sorted by.
const FLAGS = { answerable: 1, refused: 2, crossLingual: 4, failure: 8, worse: 16, better: 32, unjudged: 64 };
const FIELDS = ["id", "query", "language", "tags", "flags", "expected", "spans", "hits", "rank", "score", "ms", "before", "judged"];
const JUDGED_FIELDS = ["outcome", "code", "unanswerable", "verified", "answer", "confidence", "quotes", "flagged", "votes", "conflict", "unread"];
const HIT_FIELDS = ["note", "base", "final", "semantic", "keyword", "text", "from", "start", "end", "match", "words"];
const CONTEXT = 90; // characters of the passage shown on either side of the evidence
const is = (item, flag) => Boolean(item.flags & FLAGS[flag]);
const TITLE = "query";
const title = (item) => item.query;
const meta = (item) => [item.id, item.language, ...item.tags.map((tag) => data.tags[tag])].filter(Boolean).join(" · ");
const tagsOf = (item) => item.tags;
const FILTERS = {
  all: () => true,
  failures: (item) => is(item, "failure"),
  unanswerable: (item) => !is(item, "answerable"),
  cross_lingual: (item) => is(item, "crossLingual"),
  worse: (item) => is(item, "worse"),
  better: (item) => is(item, "better"),
};
const LAST = Number.MAX_VALUE;
const COLUMNS = {
  number: ["n number", (item) => item.number],
  query: ["query", (item) => item.query],
  expected: ["expected", (item) => data.notes[item.expected[0]] ?? ""],
  rank: ["rank number", (item) => item.rank ?? (is(item, "answerable") ? LAST / 2 : LAST)],
  score: ["score number", (item) => item.score ?? -1],
  verdict: ["verdict", (item) => -badness(item)],
  latency: ["ms number", (item) => item.ms],
};

const TOPS = [0, 1, ...data.items.map((values) => values[FIELDS.indexOf("score")] ?? 0)];
const [LOW, HIGH] = [Math.min(...TOPS), Math.max(...TOPS)];

// As `failed_items` has it: an expected note that is not in front, a wrong verdict on a query by its Top-1.
function badness(item) {
  const top = ((item.score ?? 0) - LOW) / (HIGH - LOW);
  if (!is(item, "answerable")) return is(item, "failure") ? top : 0;
  return Math.max(1 - (item.rank ? 1 / item.rank : 0), is(item, "refused") ? 1 - top : 0);
}

function cell(name, item) {
  if (name === "expected") return item.expected.map((note) => data.notes[note]).join(", ") || "–";
  if (name === "rank") return item.rank ?? "–";
  if (name === "score") return figure(item.score);
  if (name === "latency") return item.ms === null ? "–" : item.ms.toFixed(1);
  return item.number;
}

const searchable = (item) => [item.id, item.query, ...item.expected.map((note) => data.notes[note]),
  ...item.hits.map((hit) => data.notes[hit[0]]), ...item.tags.map((tag) => data.tags[tag])];

// What became of a query in a run: whether that is right, and in words.
function outcome(answerable, refused, rank) {
  if (!answerable) return refused ? [true, say("declined")] : [false, say("missed")];
  const place = rank === null ? say("not_found") : rank === 1 ? say("found_first") : say("found_at", { rank });
  return refused ? [false, `${place}, ${say("refused")}`] : [rank === 1, place];
}

function verdict(item) {
  if (is(item, "unjudged") && !is(item, "answerable")) return make("span", { className: "faint", text: say("unjudged") });
  const [right, what] = outcome(is(item, "answerable"), is(item, "refused"), item.rank);
  const shown = make("span", { className: right ? "right" : "wrongly", text: what });
  if (!item.before || !(is(item, "worse") || is(item, "better"))) return shown;
  const was = outcome(is(item, "answerable"), Boolean(item.before[1]), item.before[0])[1];
  shown.append(make("span", { className: "was", text: say("was", { what: was }) }));
  return shown;
}

function detail(item) {
  const parts = [make("h4", { text: say("expected_notes") }), expectedNotes(item), make("h4", { text: say("ranking") })];
  if (item.judged) parts.splice(2, 0, make("h4", { text: say("model_said") }), ...judgement(named(JUDGED_FIELDS, item.judged)));
  parts.push(item.hits.length ? ranking(item) : make("p", { text: say("no_hits") }));
  if (is(item, "worse") || is(item, "better")) parts.push(...rankingBefore(item, item.before[2]));
  return parts;
}

// What a model said of a query: its answer, and whether each quote really stands in its note.
function judgement(told) {
  const votes = panelVotes(told.votes);
  if (told.outcome !== "scored") return [make("p", { className: "wrongly", text: say("no_verdict", { why: why(told.code) }) }), ...votes];
  if (told.unanswerable === null) return votes.length ? [make("p", { text: say("said_tied") }), ...votes] : [make("p", { text: say("not_asked") })];
  const sure = told.confidence === null ? "" : ` (${say("confidence", { value: say(`sure_${told.confidence}`) })})`;
  const said = say(told.conflict ? `said_${told.conflict}` : told.unanswerable ? "said_unanswerable" : "said_proven");
  const parts = [make("p", { className: told.conflict ? "wrongly" : "", text: `${said}${sure}` })];
  if (told.answer) parts.push(make("p", { text: told.answer }));
  parts.push(...told.quotes.map(([note, text, found, trusted]) => make("blockquote", {},
    make("span", { className: trusted ? "shown" : "wrongly", text: readable(text) }),
    make("span", { className: "faint", text: ` ${note === null ? "?" : data.notes[note]}: ${standing(found, trusted)}` }))));
  if (told.flagged.length) {
    parts.push(make("p", { className: "wrongly", text: say("flagged", { notes: told.flagged.map((note) => data.notes[note]).join(", ") }) }));
  }
  if (told.unread.length) parts.push(make("p", { className: "faint", text: say("unread", { names: told.unread.join(", ") }) }));
  return [...parts, ...votes];
}

// Who of a panel voted how; nothing where one model judged alone.
function panelVotes(votes) {
  if (!votes.length) return [];
  return [make("h4", { text: say("votes") }), make("ul", {}, ...votes.map(([seat, unanswerable, unproven, code]) => {
    const vote = code ? say("vote_none", { why: why(code) }) : say(unanswerable ? "vote_unanswerable" : "vote_answerable");
    return make("li", {}, make("span", { text: `${seat}: ${vote}` }), unproven ? make("span", { className: "wrongly", text: ` (${say("vote_unproven")})` }) : null);
  }))];
}

// Where a quote stands, and why it proves nothing if it does not.
function standing(found, trusted) {
  if (trusted) return say("stands");
  if (found === "flagged") return say("stands_flagged");
  return ["exact", "normalized", "fuzzy"].includes(found) ? say("stands_changed") : say("stands_not", { found });
}

function expectedNotes(item) {
  if (!item.expected.length) return make("p", { text: say("nothing_expected") });
  const hits = item.hits.map((hit) => hit[0]);
  return make("ul", {}, ...item.expected.map((note) => {
    const rank = hits.indexOf(note) + 1;
    const where = rank ? say("at_rank", { rank }) : say("not_in_ranking");
    const spans = item.spans.filter(([of]) => of === note);
    return make("li", {}, make("span", { text: data.notes[note] }), make("span", { className: "faint", text: ` (${where})` }),
      ...spans.map(([, , text]) => make("blockquote", {}, make("mark", { text: readable(data.texts[text]) }))));
  }));
}

// What the baseline found: notes and scores, for a snapshot keeps no texts.
function rankingBefore(item, hits) {
  return [make("h4", { text: say("ranking_before") }), hits.length ? make("ol", { className: "before" }, ...hits.map(([note, score]) => {
    const line = make("li", {}, make("span", { text: data.notes[note] }), make("span", { className: "faint", text: ` ${figure(score)}` }));
    if (item.expected.includes(note)) line.append(" ", make("span", { className: "tick", text: say("expected") }));
    return line;
  })) : make("p", { text: say("no_hits") })];
}

function ranking(item) {
  const hits = item.hits.map((hit) => named(HIT_FIELDS, hit));
  const legs = ["semantic", "keyword"].filter((leg) => hits.some((hit) => hit[leg] !== null));
  // Another system tells one score, gigamind's own one of each leg and two of both.
  const scores = legs.length || hits.some((hit) => hit.base !== hit.final) ? ["base", "final"] : ["base"];
  const head = [["place", say("number")], ["note", say("note")],
    ...scores.map((score) => ["number", say(scores.length > 1 ? score : "told_score")]), ...legs.map((leg) => ["number leg", say(leg)])];
  return make("table", { className: "ranking" },
    make("thead", {}, make("tr", {}, ...head.map(([className, text]) =>
      make("th", { className, text, attributes: { scope: "col" } })))),
    make("tbody", {}, ...hits.flatMap((hit, at) => hitRows(item, hit, at + 1, scores, legs))));
}

function hitRows(item, hit, rank, scores, legs) {
  const [path, title] = [data.notes[hit.note], data.titles[hit.note]];
  const note = make("td", { className: "note" }, make("span", { text: title || path }), title ? make("span", { className: "path faint", text: path }) : null);
  if (item.expected.includes(hit.note)) note.append(" ", make("span", { className: "tick", text: say("expected") }));
  const figures = [...scores.map((score) => ["number", score]), ...legs.map((leg) => ["number leg", leg])];
  const cells = figures.map(([className, name]) => make("td", { className, text: figure(hit[name]) }));
  const row = make("tr", { className: "hit" }, make("td", { className: "place", text: rank }), note, ...cells);
  if (!data.texts[hit.text]) return [row];
  return [row, make("tr", {}, make("td"), make("td", { colSpan: 1 + cells.length }, ...evidence(item, hit)))];
}

function evidence(item, hit) {
  const text = data.texts[hit.text];
  const from = Math.max(0, hit.start - hit.from - CONTEXT);
  const to = Math.min(text.length, hit.end - hit.from + CONTEXT);
  const short = quoted(item, hit, text, from, to);
  short.className = "short";
  const parts = [short];
  if (hit.match) parts.push(make("span", { className: "tick", text: say(hit.match & 1 ? "matches" : "holds") }));
  if (from > 0 || to < text.length) {
    const whole = make("details", {}, make("summary", { text: say("passage") }));
    whole.addEventListener("toggle", () => {
      if (whole.open && whole.childElementCount === 1) whole.append(quoted(item, hit, text, 0, text.length));
    });
    parts.push(whole);
  }
  return parts;
}

// The passage from one offset to another: the evidence dark, words of the query in it strong, what an expected passage
// covers marked.
function quoted(item, hit, text, from, to) {
  const expected = item.spans
    .filter(([note]) => note === hit.note)
    .map(([, start, of]) => [start - hit.from, start - hit.from + data.texts[of].length]);
  const shown = [hit.start - hit.from, hit.end - hit.from];
  const ends = hit.words.map((at) => at + shown[0]);
  const words = wholeWords(text, ends.flatMap((start, at) => (at % 2 ? [] : [[start, ends[at + 1]]])));
  const marks = marksOf(text);
  const clip = (at) => whole(text, Math.min(Math.max(at, from), to));
  const cuts = [...new Set([from, to, ...shown, ...words.flat(), ...expected.flat()].map(clip))].sort((a, b) => a - b);
  const pieces = cuts.slice(1).map((end, at) => {
    const start = cuts[at];
    const inside = ([a, b]) => start >= clip(a) && end <= clip(b);
    const className = !inside(shown) ? "" : words.some(inside) ? "shown word" : "shown";
    return make(expected.some(inside) ? "mark" : "span", { className, text: readable(text, start, end, marks) });
  });
  const dots = (wanted) => (wanted ? make("span", { text: "…" }) : null);
  return make("blockquote", {}, dots(from > 0), ...pieces, dots(to < text.length));
}

// The words that begin with what the query has.  Keyword search compares pairs of syllables: of 25 matches within a Korean
// word, drawn at random, 22 were endings (에서, 까지, 어요).
function wholeWords(text, places) {
  return wordsOf(text).filter(([start]) => places.some(([from, to]) => from <= start && start < to)
    && !INSIDE.test(text.slice(Math.max(0, start - 3), start)));
}
const INSIDE = /[\p{L}\p{N}](?:\]\]|\*{1,2}|`)$/u; // an ending behind a link or strong words belongs to their last word

// An offset that does not cut a character of two code units in half.
function whole(text, at) {
  const second = text.charCodeAt(at);
  return second >= 0xdc00 && second <= 0xdfff ? at - 1 : at;
}
