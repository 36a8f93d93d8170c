
// The list of items: search, filters and sorting cover all items, and pages show 50.  The script of the task's items comes
// first: it defines FIELDS (the id first), COLUMNS (class, sort key, heading), FILTERS (label, test), `went` (for the filters
// of a comparison), `remarks` for a row, cells and details.  The initial order is by verdict, worst first.
const PAGE = 50;
const items = data.items.map((values, at) => ({ ...named(FIELDS, values), number: at + 1 }));
const idOf = (item) => item[FIELDS[0]];
const tagsOf = (item) => item.tags ?? [];
const meta = (item) => [item.id, item.language, ...tagsOf(item).map((tag) => data.tags[tag])].filter(Boolean).join(" · ");
const ALL_COLUMNS = { number: ["n number", (item) => item.number, "#"], ...COLUMNS };
const ALL_FILTERS = {
  all: [_("All"), () => true],
  ...FILTERS,
  worse: [_("Got worse"), (item) => went(item, "worse")],
  better: [_("Got better"), (item) => went(item, "improved")],
};
const state = { words: [], show: "all", language: "", tag: "", sort: "verdict", descending: false, page: 0, open: null };
const plain = (text) => text.normalize("NFKC").toLowerCase();

// The text that a search covers.  It is made at the first search, as 5 000 long strings would delay the page.
function searched(item) {
  item.searched ??= plain(searchable(item).join("\n"));
  return item.searched;
}

function chosen() {
  const tag = data.tags.indexOf(state.tag);
  const found = items.filter((item) => ALL_FILTERS[state.show][1](item)
    && (!state.language || item.language === state.language)
    && (!state.tag || tagsOf(item).includes(tag))
    && state.words.every((word) => searched(item).includes(word)));
  const key = ALL_COLUMNS[state.sort][1];
  const way = state.descending ? -1 : 1;
  const order = (a, b) => (typeof a === "string" ? a.localeCompare(b) : a - b);
  return found.sort((a, b) => way * order(key(a), key(b)) || a.number - b.number);
}

function row(item) {
  const toggle = make("button", { type: "button", className: "toggle", text: item.title ?? item[TITLE],
    attributes: { "aria-expanded": "false", "aria-controls": `detail-${item.number}` } });
  const line = make("tr", {}, ...Object.entries(ALL_COLUMNS).map(([name, [className]]) => {
    if (name === TITLE) return make("td", { className }, toggle, make("div", { className: "meta", text: meta(item) }), 
      ...remarks(item).map((text) => make("div", { className: "meta", text })));
    if (name === "verdict") return make("td", { className }, verdict(item));
    return make("td", { className, text: cell(name, item) });
  }));
  toggle.addEventListener("click", () => {
    const isOpen = toggle.getAttribute("aria-expanded") === "true";
    if (!isOpen) state.open = item;
    else if (state.open === item) state.open = null;
    remember();
    if (!isOpen) return expand(line, item);
    toggle.setAttribute("aria-expanded", "false");
    line.classList.remove("open");
    return line.nextElementSibling.remove();
  });
  return line;
}

function expand(line, item) {
  line.querySelector(".toggle").setAttribute("aria-expanded", "true");
  line.classList.add("open");
  line.after(make("tr", { className: "detail", id: `detail-${item.number}` },
    make("td", { colSpan: visibleColumns() }, ...detail(item))));
}

// A narrow screen hides some columns, and a cell that spans more columns than exist would add new ones.
function visibleColumns() {
  return [...head.children].filter((cell) => cell.offsetParent !== null).length;
}

function heading(name, className, label) {
  const button = make("button", { type: "button", text: label, title: _("sort by {column}", { column: label }), on: {
    click: () => {
      state.descending = state.sort === name && !state.descending;
      state.sort = name;
      state.page = 0;
      update();
    },
  } });
  return make("th", { className, attributes: { scope: "col", "data-sort": name } }, button);
}

const place = document.getElementById("items");
const listing = place.closest("section");
const body = make("tbody");
const head = make("tr", {}, ...Object.entries(ALL_COLUMNS).map(([name, [className, , label]]) => heading(name, className, label)));
const shown = make("span", { attributes: { role: "status", "aria-live": "polite" } });
const pageButton = (text, step) => make("button", { type: "button", text,
  on: { click: () => { state.page += step; update(); listing.scrollIntoView(); } } });
const previous = pageButton(_("Previous page"), -1);
const next = pageButton(_("Next page"), 1);

function update(found = chosen()) {
  const first = state.page * PAGE;
  const page = found.slice(first, first + PAGE);
  const lines = page.map(row);
  body.replaceChildren(...lines);
  if (page.includes(state.open)) expand(lines[page.indexOf(state.open)], state.open);
  shown.textContent = found.length
    ? _("{from}–{to} of {n}", { from: first + 1, to: first + page.length, n: found.length }) : _("Nothing matches the search and the filters.");
  previous.disabled = state.page === 0;
  next.disabled = first + PAGE >= found.length;
  for (const cell of head.children) {
    if (cell.dataset.sort !== state.sort) cell.removeAttribute("aria-sort");
    else cell.setAttribute("aria-sort", state.descending ? "descending" : "ascending");
  }
}

function change(values) {
  Object.assign(state, { open: null }, values, { page: 0 });
  update();
  remember();
}

// The URL holds the filter and the item that was opened last: "#worse&q=q-162".
function remember() {
  const parts = [state.show === "all" ? "" : state.show, state.open && `q=${encodeURIComponent(idOf(state.open))}`];
  const hash = parts.filter(Boolean).join("&");
  if (hash !== location.hash.slice(1)) history.replaceState(null, "", location.href.split("#")[0] + (hash && `#${hash}`));
}

// Shows the filter and the item of the URL; returns whether it names one.  Anchors of sections change nothing.
function recall() {
  const parts = new URLSearchParams(location.hash.slice(1));
  const named = Object.keys(radios).find((name) => parts.get(name) === "");
  const open = items.find((item) => idOf(item) === parts.get("q")) ?? null;
  if (!named && !open) return false;
  const show = named && (!open || ALL_FILTERS[named][1](open)) ? named : "all";
  Object.assign(state, { words: [], language: "", tag: "", show, open });
  for (const control of document.querySelectorAll(".tools input, .tools select")) control.value = "";
  radios[show].checked = true;
  const found = chosen();
  state.page = Math.floor(Math.max(0, found.indexOf(open)) / PAGE);
  update(found);
  const folded = place.closest("details");
  if (folded) folded.open = true;
  const line = body.querySelector("tr.open");
  (line ?? place).scrollIntoView();
  line?.querySelector(".toggle").focus({ preventScroll: true });
  return true;
}

function choice(name, label, options) {
  const select = make("select", { on: { change: (event) => change({ [name]: event.target.value }) } },
    new Option(_("any"), ""), ...options.map((option) => new Option(option, option)));
  return options.length > 1 ? make("label", {}, label, select) : null;
}

const radios = Object.fromEntries(Object.keys(ALL_FILTERS)
  .filter((name) => data.compared || !["worse", "better"].includes(name))
  .map((name) => [name, make("input", { type: "radio", name: "show", value: name, checked: name === state.show,
    on: { change: () => change({ show: name }) } })]));

function filters() {
  return make("fieldset", {}, make("legend", { className: "hidden", text: _("Items to show") }),
    ...Object.entries(radios).map(([name, radio]) => make("label", {}, radio, ALL_FILTERS[name][0],
      make("span", { className: "faint", text: ` ${items.filter(ALL_FILTERS[name][1]).length}` }))));
}

function start() {
  let waiting;
  const search = make("input", { type: "search", placeholder: _("words of an item or its notes"), on: { input: () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => change({ words: plain(search.value).split(/\s+/).filter(Boolean) }), 120);
  } } });
  const languages = [...new Set(items.map((item) => item.language).filter(Boolean))].sort();
  const tools = make("div", { className: "tools" }, make("label", { className: "search" }, _("Search"), search),
    choice("language", _("Language"), languages), choice("tag", _("Tag"), [...data.tags].sort((a, b) => a.localeCompare(b))));
  const caption = listing.querySelector("h2").textContent;
  place.append(tools, filters(),
    make("table", { className: "items" }, make("caption", { className: "hidden", text: caption }), make("thead", {}, head), body),
    make("div", { className: "pager" }, previous, next, shown));
  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || /INPUT|SELECT|TEXTAREA/.test(event.target.tagName)) return;
    event.preventDefault();
    search.focus();
  });
  matchMedia("(max-width: 44rem)").addEventListener("change", () => update());
  addEventListener("hashchange", recall);
  for (const link of document.querySelectorAll('a[href^="#q="]')) {
    link.addEventListener("click", () => link.hash === location.hash && recall()); // which is no change of the hash
  }
  if (!recall()) update();
}

start();
