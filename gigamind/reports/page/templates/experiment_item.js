
// One changed item: what changed in each run, and all rankings side by side.
const FIELDS = ["id", "query", "language", "tags", "ways", "expected", "rankings"];
const TITLE = "query";
const went = (item, way) => item.ways.some((one) => one && one[0] === (way === "worse" ? -1 : 1));
const FILTERS = {};
const LIST = {
  hint: _("search for words of a query, an id or a note name"),
  none: _("No item matches the search and the filters."),
  shown: ({ from, to, n }) => n_("{from}–{to} of {n} item", "{from}–{to} of {n} items", { from, to, n }),
};
const COLUMNS = {
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
  const columns = item.rankings.map((hits, at) => make("div", {}, make("h3", { text: data.runs[at] }), shortRanking(item, hits)));
  return [make("div", { className: "rankings" }, ...columns)];
}
