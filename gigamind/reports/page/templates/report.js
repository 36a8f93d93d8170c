
// The list of items: search, filters and sorting cover all items, and pages show 50.  The script of the task's items comes
// first: it defines FIELDS, COLUMNS (class, sort key, heading), FILTERS (label, test), LIST (texts, and `notes` for a row), cells and details.  The
// initial order is by verdict, worst first.
const PAGE = 50;
const items = data.items.map((values, at) => ({ ...named(FIELDS, values), number: at + 1 }));
const state = { words: [], show: "all", language: "", tag: "", sort: "verdict", descending: false, page: 0 };
const plain = (text) => text.normalize("NFKC").toLowerCase();

// The text that a search covers.  It is made at the first search, as 5 000 long strings would delay the page.
function searched(item) {
  item.searched ??= plain(searchable(item).join("\n"));
  return item.searched;
}

function chosen() {
  const tag = data.tags.indexOf(state.tag);
  const found = items.filter((item) => FILTERS[state.show][1](item)
    && (!state.language || item.language === state.language)
    && (!state.tag || tagsOf(item).includes(tag))
    && state.words.every((word) => searched(item).includes(word)));
  const key = COLUMNS[state.sort][1];
  const way = state.descending ? -1 : 1;
  const order = (a, b) => (typeof a === "string" ? a.localeCompare(b) : a - b);
  return found.sort((a, b) => way * order(key(a), key(b)) || a.number - b.number);
}

function row(item) {
  const id = `detail-${item.number}`;
  const toggle = make("button", { type: "button", className: "toggle", text: title(item),
    attributes: { "aria-expanded": "false", "aria-controls": id } });
  const line = make("tr", {}, ...Object.entries(COLUMNS).map(([name, [className]]) => {
    if (name === TITLE) return make("td", { className }, toggle, make("div", { className: "meta", text: meta(item) }), ...(LIST.notes?.(item) ?? []));
    if (name === "verdict") return make("td", { className }, verdict(item));
    return make("td", { className, text: cell(name, item) });
  }));
  toggle.addEventListener("click", () => {
    const open = toggle.getAttribute("aria-expanded") === "true";
    toggle.setAttribute("aria-expanded", String(!open));
    line.classList.toggle("open", !open);
    if (open) return line.nextElementSibling.remove();
    return line.after(make("tr", { className: "detail", id },
      make("td", { colSpan: visibleColumns() }, ...detail(item))));
  });
  return line;
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
const head = make("tr", {}, ...Object.entries(COLUMNS).map(([name, [className, , label]]) => heading(name, className, label)));
const shown = make("span", { attributes: { role: "status", "aria-live": "polite" } });
const pageButton = (text, step) => make("button", { type: "button", text,
  on: { click: () => { state.page += step; update(); listing.scrollIntoView(); } } });
const previous = pageButton(_("Previous page"), -1);
const next = pageButton(_("Next page"), 1);

function update() {
  const found = chosen();
  const first = state.page * PAGE;
  const page = found.slice(first, first + PAGE);
  body.replaceChildren(...page.map(row));
  shown.textContent = found.length
    ? LIST.shown({ from: first + 1, to: first + page.length, n: found.length }) : LIST.none;
  previous.disabled = state.page === 0;
  next.disabled = first + PAGE >= found.length;
  for (const cell of head.children) {
    if (cell.dataset.sort !== state.sort) cell.removeAttribute("aria-sort");
    else cell.setAttribute("aria-sort", state.descending ? "descending" : "ascending");
  }
}

function change(values) {
  Object.assign(state, values, { page: 0 });
  update();
}

function choice(name, label, options) {
  const select = make("select", { on: { change: (event) => change({ [name]: event.target.value }) } },
    new Option(_("any"), ""), ...options.map((option) => new Option(option, option)));
  return options.length > 1 ? make("label", {}, label, select) : null;
}

function filters() {
  const names = Object.keys(FILTERS).filter((name) => data.compared || !["worse", "better"].includes(name));
  return make("fieldset", {}, make("legend", { className: "hidden", text: _("Items to show") }), ...names.map((name) => {
    const radio = make("input", { type: "radio", name: "show", value: name, checked: name === state.show,
      on: { change: () => change({ show: name }) } });
    const count = make("span", { className: "faint", text: ` ${items.filter(FILTERS[name][1]).length}` });
    return make("label", {}, radio, FILTERS[name][0], count);
  }));
}

function start() {
  let waiting;
  const search = make("input", { type: "search", placeholder: LIST.hint, on: { input: () => {
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
  addEventListener("hashchange", openLinked);
  matchMedia("(max-width: 44rem)").addEventListener("change", update);
  update();
  openLinked();
}

// A link "#q=ID" shows that item alone, opened.
function openLinked() {
  const id = location.hash.startsWith("#q=") ? decodeURIComponent(location.hash.slice(3)) : null;
  const linked = id === null ? undefined : items.find((item) => item.id === id);
  if (!linked) return;
  body.replaceChildren(row(linked));
  const folded = place.closest("details");
  if (folded) folded.open = true;
  const toggle = body.querySelector(".toggle");
  toggle.click();
  toggle.scrollIntoView();
  shown.textContent = LIST.shown({ from: linked.number, to: linked.number, n: items.length });
}

start();
