
// One query, and the search, filters and sorting of the list of queries.
const FLAGS = { answerable: 1, refused: 2, crossLingual: 4, failure: 8, worse: 16, improved: 32, unjudged: 64 };
const FIELDS = ["id", "query", "language", "tags", "flags", "expected", "spans", "hits", "rank", "score", "ms", "before", "judged"];
const JUDGED_FIELDS = ["outcome", "code", "unanswerable", "verified", "answer", "confidence", "quotes", "flagged", "conflict", "unread"];
const HIT_FIELDS = ["note", "base", "final", "semantic", "keyword", "text", "from", "start", "end", "match", "words"];
const CONTEXT = 90; // characters of the passage shown on either side of the evidence
const is = (item, flag) => Boolean(item.flags & FLAGS[flag]);
const remarks = () => [];
const TITLE = "query";
const went = is;
const FILTERS = {
  failures: [_("Failed queries"), (item) => is(item, "failure")],
  unanswerable: [_("Unanswerable"), (item) => !is(item, "answerable")],
  cross_lingual: [_("Query and note in different languages"), (item) => is(item, "crossLingual")],
};
const LAST = Number.MAX_VALUE;
const COLUMNS = {
  query: ["query", (item) => item.query, _("query")],
  expected: ["expected", (item) => data.notes[item.expected[0]] ?? "", _("expected note")],
  rank: ["rank number", (item) => item.rank ?? (is(item, "answerable") ? LAST / 2 : LAST), _("rank")],
  score: ["score number", (item) => item.score ?? -1, _("score of the first result")],
  verdict: ["verdict", (item) => -badness(item), _("verdict")],
  latency: ["ms number", (item) => item.ms, _("ms")],
};

const TOPS = [0, 1, ...data.items.map((values) => values[FIELDS.indexOf("score")] ?? 0)];
const [LOW, HIGH] = [Math.min, Math.max].map((most) => TOPS.reduce((a, b) => most(a, b)));

// As in `_failed_items` of `tasks/search/view.py`: an expected note below rank 1, or a wrong verdict, weighted by the score of rank 1.
function badness(item) {
  const top = ((item.score ?? 0) - LOW) / (HIGH - LOW);
  if (!is(item, "answerable")) return is(item, "failure") ? top : 0;
  return Math.max(1 - (item.rank ? 1 / item.rank : 0), is(item, "refused") ? 1 - top : 0);
}

function cell(name, item) {
  if (name === "expected") return expectedNames(item);
  if (name === "rank") return item.rank ?? "–";
  if (name === "score") return figure(item.score);
  if (name === "latency") return item.ms === null ? "–" : item.ms.toFixed(1);
  return item.number;
}

const searchable = (item) => searchedIn(item, item.hits);

// The result of a query in a run: whether it is right, and its text.
function outcome(answerable, refused, rank) {
  if (!answerable) return refused ? [true, _("correctly judged unanswerable")] : [false, _("wrongly judged answerable")];
  const place = rank === null ? _("expected note not found") : _("expected note found at rank {rank}", { rank });
  return refused ? [false, _("{place}; wrongly judged unanswerable", { place })] : [rank === 1, place];
}

function verdict(item) {
  if (is(item, "unjudged") && !is(item, "answerable")) return make("span", { className: "faint", text: _("no verdict") });
  const [right, what] = outcome(is(item, "answerable"), is(item, "refused"), item.rank);
  const shown = make("span", { className: right ? "right" : "wrongly", text: what });
  if (!item.before || !(is(item, "worse") || is(item, "improved"))) return shown;
  const was = outcome(is(item, "answerable"), Boolean(item.before[1]), item.before[0])[1];
  shown.append(make("span", { className: "was", text: _("in the baseline: {what}", { what: was }) }));
  return shown;
}

function detail(item) {
  const parts = [make("h3", { text: _("Expected notes") }), expectedNotes(item), make("h3", { text: _("Ranking") })];
  if (item.judged) parts.splice(2, 0, make("h3", { text: _("Verdict of the model") }), ...judgement(named(JUDGED_FIELDS, item.judged)));
  parts.push(item.hits.length ? ranking(item) : make("p", { text: _("The search found nothing.") }));
  // A snapshot has no texts, so these are notes and scores.
  if (is(item, "worse") || is(item, "improved")) parts.push(make("h3", { text: _("Ranking in the baseline") }), shortRanking(item, item.before[2]));
  return parts;
}

// The verdict of a model: its answer, and whether each quote is in its note.
function judgement(reply) {
  const reason = why(reply.code);
  if (reply.outcome !== "scored") return [make("p", { className: "wrongly", text: _("No verdict: {why}", { why: reason }) })];
  if (reply.unanswerable === null) return [make("p", { text: _("The search found nothing, so the model was not called.") })];
  const value = { low: _("low"), medium: _("medium"), high: _("high") }[reply.confidence];
  const confidence = value === undefined ? "" : _("confidence of the model: {value}", { value });
  const verdict = {
    quoted: _("The model says that the notes do not answer this query, but quotes the notes"),
    unproven: _("The model says that the notes answer this query, but no quote proves it"),
    unanswerable: _("The model says that the notes do not answer this query"),
    proven: _("The model says that the notes answer this query, and a quote proves it"),
  }[reply.conflict || (reply.unanswerable ? "unanswerable" : "proven")];
  const parts = [make("p", { className: reply.conflict ? "wrongly" : "", text: confidence ? `${verdict} (${confidence})` : verdict })];
  if (reply.answer) parts.push(make("p", { text: reply.answer }));
  parts.push(...reply.quotes.map(([note, text, found, trusted]) => make("blockquote", {},
    make("span", { className: trusted ? "shown" : "wrongly", text: readable(text) }),
    make("span", { className: "faint", text: ` ${note === null ? "?" : data.notes[note]}: ${quoteStatus(found, trusted)}` }))));
  if (reply.flagged.length) {
    const notes = reply.flagged.map((note) => data.notes[note]).join(", ");
    parts.push(make("p", { className: "wrongly", text: _("Notes with possible prompt injection, check them yourself: {notes}", { notes }) }));
  }
  const names = reply.unread.join(", ");
  if (names) parts.push(make("p", { className: "faint", text: _("Fields of the model's reply that could not be read: {names}", { names }) }));
  return parts;
}

// Whether a quote is in its note, and why it proves nothing.
function quoteStatus(found, trusted) {
  if (trusted) return _("the quote is in the note");
  if (found === "flagged") return _("not accepted as proof: the quote is in the note, but looks like prompt injection");
  const changed = ["exact", "normalized", "fuzzy"].includes(found);
  return changed ? _("not accepted as proof: the note has another number or negation") : _("the quote is not in the note ({found})", { found });
}

function expectedNotes(item) {
  if (!item.expected.length) return make("p", { text: _("None: the notes do not answer this query.") });
  const hits = item.hits.map((hit) => hit[0]);
  return make("ul", {}, ...item.expected.map((note) => {
    const rank = hits.indexOf(note) + 1;
    const where = rank ? _("rank {rank}", { rank }) : _("not in the search results");
    const spans = item.spans.filter(([of]) => of === note);
    return make("li", {}, make("span", { text: data.notes[note] }), make("span", { className: "faint", text: ` (${where})` }),
      ...spans.map(([, , text]) => make("blockquote", {}, make("mark", { text: readable(data.texts[text]) }))));
  }));
}

function ranking(item) {
  const hits = item.hits.map((hit) => named(HIT_FIELDS, hit));
  const retrievers = ["semantic", "keyword"].filter((name) => hits.some((hit) => hit[name] !== null));
  // Without a rerank, both scores of the fusion are the same.
  const scores = hits.some((hit) => hit.base !== hit.final) ? ["base", "final"] : ["base"];
  const labels = { base: _("base score"), final: _("final score"), semantic: _("semantic"), keyword: _("keyword") };
  const head = [["place", "#"], ["note", _("note")],
    ...scores.map((score) => ["number", scores.length > 1 ? labels[score] : _("score")]),
    ...retrievers.map((name) => ["number leg", labels[name]])];
  return make("table", { className: "ranking" },
    make("thead", {}, make("tr", {}, ...head.map(([className, text]) =>
      make("th", { className, text, attributes: { scope: "col" } })))),
    make("tbody", {}, ...hits.flatMap((hit, at) => hitRows(item, hit, at + 1, scores, retrievers))));
}

function hitRows(item, hit, rank, scores, retrievers) {
  const [path, title] = [data.notes[hit.note], data.titles[hit.note]];
  const note = make("td", { className: "note" }, make("span", { text: title || path }), title ? make("span", { className: "path faint", text: path }) : null);
  if (item.expected.includes(hit.note)) note.append(" ", make("span", { className: "tick", text: _("expected note") }));
  const figures = [...scores.map((score) => ["number", score]), ...retrievers.map((name) => ["number leg", name])];
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
  if (hit.match) parts.push(make("span", { className: "tick", text: hit.match & 1 ? _("matches an expected passage") : _("contains an expected passage") }));
  if (from > 0 || to < text.length) {
    const whole = make("details", {}, make("summary", { text: _("show the whole passage") }));
    whole.addEventListener("toggle", () => {
      if (whole.open && whole.childElementCount === 1) whole.append(quoted(item, hit, text, 0, text.length));
    });
    parts.push(whole);
  }
  return parts;
}

// The passage from one offset to another: evidence dark, words of the query in it bold, expected passages marked.
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

// The words that begin with a match.  Keyword search compares pairs of syllables: of 25 random matches inside a Korean word,
// 22 were endings (에서, 까지, 어요).
function wholeWords(text, places) {
  return wordsOf(text).filter(([start]) => places.some(([from, to]) => from <= start && start < to)
    && !INSIDE.test(text.slice(Math.max(0, start - 3), start)));
}
const INSIDE = /[\p{L}\p{N}](?:\]\]|\*{1,2}|`)$/u; // an ending after a link or bold text belongs to its last word

// An offset that does not cut a character of two code units in half.
function whole(text, at) {
  const second = text.charCodeAt(at);
  return second >= 0xdc00 && second <= 0xdfff ? at - 1 : at;
}
