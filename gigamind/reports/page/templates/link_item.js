
// How one note with its suggested links is shown, and what the list of notes is searched, filtered and sorted by.
const FIELDS = ["note", "title", "language", "change", "pieces", "missed", "suggestions", "wanted", "found", "right", "before"];
const SUGGESTION_FIELDS = ["anchor", "target", "confidence", "kind", "elsewhere", "reason"];
const MISSED_FIELDS = ["anchor", "targets", "before", "after", "cause", "own", "instead"];
const RANKED_FIELDS = ["place", "anchor", "target", "confidence", "reason", "features"];
const CAUSES = ["no_candidate", "ranked_too_low", "below_confidence", "namesake", "already_linked"];
const KINDS = ["hit", "miss", "novel", "linked"];
const TITLE = "note";
const title = (item) => item.title;
const meta = (item) => [item.note, item.language].join(" · ");
const tagsOf = () => [];
const wrong = (item) => item.suggestions.length - item.right;
const FILTERS = {
  all: () => true,
  missed: (item) => item.missed.length > 0,
  ...Object.fromEntries(causesMet().map((cause) => [cause, (item) => missedBy(item, cause).length > 0])),
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

const searchable = (item) => [item.note, item.title, ...item.missed.flatMap((miss) => miss.slice(0, 2)), ...item.suggestions.flatMap((one) => one.slice(0, 2))];

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
  return [make("h4", { text: say("missed") }), make("ul", { className: "missed" }, ...item.missed.map((values) =>
    make("li", {}, ...missedLink(named(MISSED_FIELDS, values), { tellsCause: true }))))];
}

// A link that was missed: why, at which place its target stands, and what was preferred.
function missedLink(miss, { tellsCause = false } = {}) {
  const link = make("div", {}, make("mark", { className: "miss", text: miss.anchor }), make("span", { text: ` → ${miss.targets}` }));
  if (tellsCause) link.append(" ", make("span", { className: "wrongly", text: say(miss.cause) }));
  return [link, ranked("own", miss.own), ranked("instead", miss.instead)];
}

function ranked(role, values) {
  if (!values) return null;
  const one = named(RANKED_FIELDS, values);
  return make("div", { className: "preferred" },
    make("span", { text: say(role, { ...one, confidence: figure(one.confidence) }) }),
    make("span", { className: "faint", text: ` (${one.reason})` }), make("div", { className: "features", text: one.features }));
}

// All missed links of a note with one cause; the causes that some note has.  They are asked for before the list is made.
function missedBy(item, cause) {
  return item.missed.map((values) => named(MISSED_FIELDS, values)).filter((miss) => miss.cause === cause);
}

function causesMet() {
  const missed = data.items.flatMap((values) => named(FIELDS, values).missed);
  return CAUSES.filter((cause) => missed.some((values) => named(MISSED_FIELDS, values).cause === cause));
}

// The missed links by cause, each with the text around it; a group is made when it is opened.
const MOST = 100;

function causeGroup(cause) {
  const found = data.items.map((values) => named(FIELDS, values))
    .flatMap((item) => missedBy(item, cause).map((miss) => [item, miss]));
  const group = make("details", {}, make("summary", { text: `${say(cause)} (${found.length})` }));
  group.addEventListener("toggle", () => {
    if (!group.open || group.childElementCount > 1) return;
    group.append(make("ul", { className: "missed" }, ...found.slice(0, MOST).map(([item, miss]) => make("li", {},
      make("div", { className: "faint", text: item.note }),
      make("blockquote", {}, make("span", { text: miss.before }),
        make("mark", { className: "miss", text: miss.anchor }), make("span", { text: miss.after })), ...missedLink(miss)))));
    if (found.length > MOST) group.append(make("p", { className: "faint", text: say("more_below", { count: found.length - MOST }) }));
  });
  return group;
}

document.getElementById("causes")?.append(...causesMet().map(causeGroup));
