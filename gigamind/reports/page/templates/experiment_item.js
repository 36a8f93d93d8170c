
// One changed item: what changed in each run, and all rankings side by side.
const FIELDS = ["id", "query", "language", "tags", "ways", "expected", "rankings"];
const remarks = () => [];
const TITLE = "query";
const went = (item, way) => item.ways.some((one) => one && one[0] === (way === "worse" ? -1 : 1));
const FILTERS = {};
const COLUMNS = {
  query: ["query", (item) => item.query, _("query")],
  expected: ["expected", (item) => data.notes[item.expected[0]] ?? "", _("expected note")],
  verdict: ["changed", (item) => item.number, _("what changed")],
};

const cell = (name, item) => (name === "expected" ? expectedNames(item) : item.number);
const searchable = (item) => searchedIn(item, item.rankings.flatMap((hits) => hits ?? []));

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
