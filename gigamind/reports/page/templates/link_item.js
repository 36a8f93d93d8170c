
// One note with its suggested links, and the search, filters and sorting of the list of notes.
const FIELDS = ["id", "title", "language", "change", "pieces", "missed", "suggestions", "wanted", "found", "right", "before"];
const SUGGESTION_FIELDS = ["anchor", "target", "confidence", "kind", "elsewhere", "reason"];
const MISSED_FIELDS = ["anchor", "targets", "cause", "own", "instead"];
const RANKED_FIELDS = ["place", "anchor", "target", "confidence", "reason", "features"];
const CAUSE_LABELS = data.causes;
const KINDS = {
  hit: _("suggested and expected"),
  miss: _("expected, but not suggested"),
  novel: _("suggested, but not expected: a link that the note does not have yet"),
  linked: _("suggested, but not expected: the note already links to the target"),
};
const went = (item, way) => item.change === way;
const remarks = () => [];
const TITLE = "note";
const causesOf = (item) => item.missed.map((values) => named(MISSED_FIELDS, values).cause);
const CAUSES = new Set(data.items.flatMap((values) => causesOf(named(FIELDS, values))));
const wrong = (item) => item.suggestions.length - item.right;
const FILTERS = {
  missed: [_("Missed links"), (item) => item.missed.length > 0],
  ...Object.fromEntries(Object.keys(CAUSE_LABELS).filter((cause) => CAUSES.has(cause))
    .map((cause) => [cause, [CAUSE_LABELS[cause], (item) => causesOf(item).includes(cause)]])),
  wrong: [_("Suggested links that were not expected"), (item) => wrong(item) > 0],
};
const COLUMNS = {
  note: ["note", (item) => item.title, _("note")],
  found: ["found number", (item) => (item.wanted ? item.found / item.wanted : 1), _("found")],
  right: ["right-of number", (item) => (item.suggestions.length ? item.right / item.suggestions.length : 1), _("right / suggested")],
  verdict: ["verdict", (item) => -item.missed.length, _("outcome")],
};

function cell(name, item) {
  if (name === "found") return `${item.found} / ${item.wanted}`;
  if (name === "right") return `${item.right} / ${item.suggestions.length}`;
  return item.number;
}

const searchable = (item) => [item.id, item.title, ...item.missed.flatMap((miss) => miss.slice(0, 2)), ...item.suggestions.flatMap((values) => values.slice(0, 2))];

function verdict(item) {
  const missed = item.missed.length;
  const complete = item.wanted ? _("all expected links found") : _("no expected links");
  const shown = make("span", { className: missed ? "wrongly" : "right",
    text: missed ? n_("{n} missed links", "{n} missed links", { n: missed }) : complete });
  if (item.change && item.before) {
    const [found, right] = item.before;
    shown.append(make("span", { className: "was", text: _("in the baseline: {found} expected links found, {right} suggestions right", { found, right }) }));
  }
  return shown;
}

function detail(item) {
  return [make("h3", { text: _("Note") }), legend(item), noteText(item), make("h3", { text: _("Suggestions") }),
    item.suggestions.length ? suggestionTable(item) : make("p", { text: _("No links were suggested for this note.") }), ...missedLinks(item)];
}

function legend(item) {
  const used = Object.keys(KINDS).filter((kind) => item.pieces.some((piece) => piece[1] === kind));
  return make("p", { className: "legend" }, ...used.map((kind) =>
    make("span", {}, make("mark", { className: kind, text: KINDS[kind] }))));
}

// The note with its links marked; text far from all links is omitted.
function noteText(item) {
  return make("blockquote", { className: "note-text", tabIndex: 0, attributes: { role: "region", "aria-label": _("Note") } },
    ...item.pieces.map(([text, kind, targets]) => {
      if (kind === "") return make("span", { text });
      const omitted = n_("… {n} character omitted …", "… {n} characters omitted …", { n: Number(text) });
      if (kind === "gap") return make("span", { className: "gap", text: ` ${omitted} ` });
      return make("mark", { className: kind, text, title: `${KINDS[kind]}: ${targets}` });
    }));
}

function suggestionTable(item) {
  const rows = item.suggestions.map((values) => named(SUGGESTION_FIELDS, values));
  const labels = { anchor: _("link text"), target: _("target note"), confidence: _("confidence"), outcome: _("outcome") };
  const head = Object.entries(labels).map(([className, text]) => make("th", { className, text, attributes: { scope: "col" } }));
  return make("table", { className: "ranking links" }, make("thead", {}, make("tr", {}, ...head)),
    make("tbody", {}, ...rows.map((row) => make("tr", { className: "hit" },
      make("td", { className: "anchor" }, make("mark", { className: row.kind, text: row.anchor })),
      make("td", { className: "target", text: row.target }),
      make("td", { className: "confidence number", text: figure(row.confidence) }),
      make("td", { className: "outcome" }, make("span", { text: row.elsewhere ? _("suggested and expected, but at another place in the note") : KINDS[row.kind] }),
        make("div", { className: "meta", text: row.reason }))))));
}

function missedLinks(item) {
  if (!item.missed.length) return [];
  return [make("h3", { text: _("Missed links") }), make("ul", { className: "missed" }, ...item.missed.map(missedLink))];
}

// A missed link: its cause, the rank of its target, and what was suggested instead.
function missedLink(values) {
  const miss = named(MISSED_FIELDS, values);
  const link = make("div", {}, make("mark", { className: "miss", text: miss.anchor }), make("span", { text: ` → ${miss.targets} ` }),
    make("span", { className: "wrongly", text: CAUSE_LABELS[miss.cause] }));
  return make("li", {}, link, ranked("own", miss.own), ranked("instead", miss.instead));
}

function ranked(role, values) {
  if (!values) return null;
  const hit = named(RANKED_FIELDS, values);
  const { place, anchor, target } = hit;
  const confidence = figure(hit.confidence);
  const text = role === "own" ? _("{target} was suggested at rank {place} for “{anchor}”, confidence {confidence}", { target, place, anchor, confidence })
    : _("Suggested instead, rank {place}: “{anchor}” → {target}, confidence {confidence}", { place, anchor, target, confidence });
  return make("div", { className: "preferred" }, make("span", { text }),
    make("span", { className: "faint", text: ` (${hit.reason})` }), make("div", { className: "features", text: hit.features }));
}
