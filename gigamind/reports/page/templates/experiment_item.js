
// One changed item: what changed in each run, and all rankings side by side.
const FIELDS = ["id", "query", "language", "tags", "ways", "expected", "rankings"];
const TITLE = "query";
const title = (item) => item.query;
const meta = (item) => [item.id, item.language, ...item.tags.map((tag) => data.tags[tag])].filter(Boolean).join(" · ");
const tagsOf = (item) => item.tags;
const went = (item, way) => item.ways.some((one) => one && one[0] === way);
const FILTERS = {
  all: [_("All"), () => true],
  worse: [_("Got worse"), (item) => went(item, -1)],
  better: [_("Got better"), (item) => went(item, 1)],
};
const LIST = {
  hint: _("search for words of a query, an id or a note name"),
  none: _("No item matches the search and the filters."),
  shown: ({ from, to, n }) => n_("{from}–{to} of {n} item", "{from}–{to} of {n} items", { from, to, n }),
};
const COLUMNS = {
  number: ["n number", (item) => item.number, "#"],
  query: ["query", (item) => item.query, _("query")],
  expected: ["expected", (item) => data.notes[item.expected[0]] ?? "", _("expected note")],
  verdict: ["changed", (item) => item.number, _("what changed")],
};

const cell = (name, item) => (name === "expected" ? item.expected.map((note) => data.notes[note]).join(", ") || "–" : item.number);
const searchable = (item) => [item.id, item.query, ...item.expected.map((note) => data.notes[note]),
  ...item.rankings.flatMap((hits) => (hits ?? []).map((hit) => data.notes[hit[0]])), ...item.tags.map((tag) => data.tags[tag])];

// What changed in each run; the run is named if there are several.
function verdict(item) {
  const lines = item.ways.flatMap((way, at) => {
    if (!way) return [];
    const run = item.ways.length > 1 ? make("span", { className: "faint", text: `${data.runs[at + 1]}: ` }) : null;
    return [make("div", { className: way[0] > 0 ? "right" : "wrongly" }, run, make("span", { text: way[1] }))];
  });
  return make("div", {}, ...lines);
}

function detail(item) {
  if (item.rankings.some((hits) => hits === null)) return [make("p", { text: _("This task has no rankings. The table shows what changed.") })];
  const columns = item.rankings.map((hits, at) => make("div", {}, make("h3", { text: data.runs[at] }),
    hits.length ? make("ol", {}, ...hits.map((hit) => hitLine(item, hit))) : make("p", { text: _("The search found nothing.") })));
  return [make("div", { className: "rankings" }, ...columns)];
}

function hitLine(item, [note, score]) {
  const line = make("li", {}, make("span", { text: data.notes[note] }), make("span", { className: "faint", text: ` ${figure(score)}` }));
  if (item.expected.includes(note)) line.append(" ", make("span", { className: "tick", text: _("expected note") }));
  return line;
}
