
// How one item that ended otherwise in some run is shown: what changed in each run, and all rankings side by side.
const FIELDS = ["id", "query", "language", "tags", "ways", "expected", "rankings"];
const TITLE = "query";
const title = (item) => item.query;
const meta = (item) => [item.id, item.language, ...item.tags.map((tag) => data.tags[tag])].filter(Boolean).join(" · ");
const tagsOf = (item) => item.tags;
const went = (item, way) => item.ways.some((one) => one && one[0] === way);
const FILTERS = {
  all: () => true,
  worse: (item) => went(item, -1),
  better: (item) => went(item, 1),
};
const COLUMNS = {
  number: ["n number", (item) => item.number],
  query: ["query", (item) => item.query],
  expected: ["expected", (item) => data.notes[item.expected[0]] ?? ""],
  verdict: ["changed", (item) => item.number],
};

const cell = (name, item) => (name === "expected" ? item.expected.map((note) => data.notes[note]).join(", ") || "–" : item.number);
const searchable = (item) => [item.id, item.query, ...item.expected.map((note) => data.notes[note]),
  ...item.rankings.flatMap((hits) => (hits ?? []).map((hit) => data.notes[hit[0]])), ...item.tags.map((tag) => data.tags[tag])];

// What became of an item in each run that changed it; the run is named where there are several.
function verdict(item) {
  const lines = item.ways.flatMap((way, at) => {
    if (!way) return [];
    const run = item.ways.length > 1 ? make("span", { className: "faint", text: `${data.runs[at + 1]}: ` }) : null;
    return [make("div", { className: way[0] > 0 ? "right" : "wrongly" }, run, make("span", { text: way[1] }))];
  });
  return make("div", {}, ...lines);
}

function detail(item) {
  if (item.rankings.some((hits) => hits === null)) return [make("p", { text: say("no_rankings") })];
  const columns = item.rankings.map((hits, at) => make("div", {}, make("h4", { text: data.runs[at] }),
    hits.length ? make("ol", {}, ...hits.map((hit) => place(item, hit))) : make("p", { text: say("no_hits") })));
  return [make("div", { className: "rankings" }, ...columns)];
}

function place(item, [note, score]) {
  const line = make("li", {}, make("span", { text: data.notes[note] }), make("span", { className: "faint", text: ` ${figure(score)}` }));
  if (item.expected.includes(note)) line.append(" ", make("span", { className: "tick", text: say("expected") }));
  return line;
}
