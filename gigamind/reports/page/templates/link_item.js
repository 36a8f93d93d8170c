
// How one note with its suggested links is shown, and what the list of notes is searched, filtered and sorted by.
const FIELDS = ["note", "title", "language", "change", "pieces", "missed", "suggestions", "wanted", "found", "right", "before"];
const SUGGESTION_FIELDS = ["anchor", "target", "confidence", "kind", "elsewhere", "reason"];
const KINDS = ["hit", "miss", "novel", "linked"];
const TITLE = "note";
const title = (item) => item.title;
const meta = (item) => [item.note, item.language].join(" · ");
const tagsOf = () => [];
const wrong = (item) => item.suggestions.length - item.right;
const FILTERS = {
  all: () => true,
  missed: (item) => item.missed.length > 0,
  wrong: (item) => wrong(item) > 0,
  worse: (item) => item.change === "worse",
  better: (item) => item.change === "improved",
};
const COLUMNS = {
  number: ["n number", (item) => item.number],
  note: ["note", (item) => item.title],
  found: ["found number", (item) => (item.wanted ? item.found / item.wanted : 1)],
  right: ["right-of number", (item) => (item.suggestions.length ? item.right / item.suggestions.length : 1)],
  verdict: ["verdict", (item) => -item.missed.length],
};

function cell(name, item) {
  if (name === "found") return `${item.found} / ${item.wanted}`;
  if (name === "right") return `${item.right} / ${item.suggestions.length}`;
  return item.number;
}

const searchable = (item) => [item.note, item.title, ...item.missed.flat(), ...item.suggestions.flatMap((one) => one.slice(0, 2))];

function verdict(item) {
  const missed = item.missed.length;
  const shown = make("span", { className: missed ? "wrongly" : "right",
    text: missed ? say("some_missed", { count: missed }) : say(item.wanted ? "all_found" : "none_wanted") });
  if (item.change && item.before) {
    shown.append(make("span", { className: "was", text: say("was", { found: item.before[0], right: item.before[1] }) }));
  }
  return shown;
}

function detail(item) {
  return [make("h4", { text: say("text") }), legend(item), noteText(item), make("h4", { text: say("suggestions") }),
    item.suggestions.length ? suggestionTable(item) : make("p", { text: say("no_suggestions") }), ...missedLinks(item)];
}

function legend(item) {
  const used = KINDS.filter((kind) => item.pieces.some((piece) => piece[1] === kind));
  return make("p", { className: "legend" }, ...used.map((kind) =>
    make("span", {}, make("mark", { className: kind, text: say(kind) }))));
}

// The note with its links marked, what lies far from all of them left out.
function noteText(item) {
  return make("blockquote", { className: "note-text", tabIndex: 0, attributes: { role: "region", "aria-label": say("text") } },
    ...item.pieces.map(([text, kind, targets]) => {
      if (kind === "") return make("span", { text });
      if (kind === "gap") return make("span", { className: "gap", text: ` ${say("left_out", { count: text })} ` });
      return make("mark", { className: kind, text, title: `${say(kind)}: ${targets}` });
    }));
}

function suggestionTable(item) {
  const rows = item.suggestions.map((values) => named(SUGGESTION_FIELDS, values));
  const head = ["anchor", "target", "confidence", "outcome"].map((name) =>
    make("th", { className: name, text: say(name), attributes: { scope: "col" } }));
  return make("table", { className: "ranking links" }, make("thead", {}, make("tr", {}, ...head)),
    make("tbody", {}, ...rows.map((row) => make("tr", { className: "hit" },
      make("td", { className: "anchor" }, make("mark", { className: row.kind, text: row.anchor })),
      make("td", { className: "target", text: row.target }),
      make("td", { className: "confidence number", text: figure(row.confidence) }),
      make("td", { className: "outcome" }, make("span", { text: say(row.elsewhere ? "elsewhere" : row.kind) }),
        make("div", { className: "meta", text: row.reason }))))));
}

function missedLinks(item) {
  if (!item.missed.length) return [];
  return [make("h4", { text: say("missed") }), make("ul", {}, ...item.missed.map(([anchor, targets]) =>
    make("li", {}, make("mark", { className: "miss", text: anchor }), make("span", { text: ` → ${targets}` }))))];
}
