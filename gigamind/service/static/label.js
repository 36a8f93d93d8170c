// The page of `gigamind label`: one task at a time, every key press saved, the judge's verdict hidden until the choice.
import { announce, make } from "./dom.js";
import { _, n_ } from "./messages.js";
import { kept, language, switchesLanguage, worded } from "./words.js";

const RETRY_MS = 2000;
const LEAST_ALPHA = 0.6;
const ASKED = {
  claim: _("Do the notes support this claim?"), answer: _("Does the answer answer the question?"),
  abstention: _("The answer says that the notes have no answer. Is that right?"), question: _("Do the notes answer this question?"),
  hit: _("Is this note relevant to the question?"), link: _("Should this link be added?"),
};
const CHOICES = {
  supported: _("Supported"), contradicted: _("Contradicted"), not_found: _("Not in the notes"), yes: _("Yes"), partly: _("Partly"), no: _("No"),
  right: _("Right"), wrong: _("Wrong"), answerable: _("Yes"), unanswerable: _("No"), relevant: _("Relevant"), irrelevant: _("Not relevant"),
  accept: _("Add it"), reject: _("Do not add it"),
};
const FIGURES = { answers: _("Correctness"), search: _("Questions without an answer"), links: _("Accepted links") };
const DECISIONS = {
  above: (values) => _("Decision after {at} items: the figure is at or above {floor}.", values),
  below: (values) => _("Decision after {at} items: the figure is below {floor}.", values),
  open: (values) => _("Decision after {at} items: open; the interval includes {floor}.", values),
};
const TOOLS = [
  ["←", _("Previous"), () => move(-1), "arrowleft"], ["U", _("Undo"), () => undo()], ["S", _("Skip"), () => skip()], ["N", _("Reason"), () => openNote()],
  ["?", _("Keys"), () => byId("help").showModal()], ["→", _("Next"), () => move(1), "arrowright"],
];

const byId = (id) => document.getElementById(id);
const boot = JSON.parse(byId("boot").textContent);
const NAME = `gigamind.annotator.${boot.annotator}`;
const UNSAVED = `gigamind.unsaved.${boot.key}`;
const keyOf = ({ key, content }) => `${key} ${content}`;

let annotator = kept(NAME) || boot.annotator;
let unsaved = JSON.parse(kept(UNSAVED) ?? "[]"); // requests that the server has not confirmed
let items = []; // tasks in the order shown
let at = 0; // the task shown; behind the last one: the end
let progress = null;
let settling = false; // the disputed tasks are shown
let wanting = true; // the next unit is to be loaded
let shownAt = 0;
let busy = false;
let trouble = null;

/** The server refuses a request for good. */
class Refused extends Error {}

async function request(path, body) {
  const headers = { "Accept-Language": language(), "Content-Type": "application/json" };
  const query = body ? "" : `?annotator=${encodeURIComponent(annotator)}`;
  const answer = await fetch(`api/${path}${query}`, { method: body ? "POST" : "GET", headers, body: body && JSON.stringify(body) });
  if (answer.ok) return answer.json();
  const { detail } = await answer.json().catch(() => ({}));
  const reason = typeof detail === "string" ? detail : String(_("The server returned error {status}.", { status: answer.status }));
  throw answer.status < 500 ? new Refused(reason) : new Error(reason);
}

/** The same answers without a server: rows as in labels.jsonl, in the storage of the browser. */
function offline(path, body) {
  const { units } = boot.offline;
  const place = `gigamind.labels.${boot.key}.${body?.annotator ?? annotator}`;
  const rows = JSON.parse(kept(place) ?? "[]");
  const valid = () => rows.reduce((left, row) => (row.withdrawn ? left.toSpliced(left.findLastIndex((one) => one.name === row.name), 1) : [...left, row]), []);
  const add = (task, more) => {
    const { key, content, note, kind } = task;
    const id = note ? key.slice(0, -note.length - 1) : key;
    rows.push({ name: keyOf(task), row: { id, note, kind, content, annotator, labelled_at: new Date().toISOString().replace(/\.\d+/, ""), choice: "", ...more }, ...more });
    if (!kept(place, JSON.stringify(rows))) trouble = _("This browser does not keep the labels. Save them before you close the page.");
  };
  const tasks = new Map(units.flatMap((unit) => unit.tasks.map((task) => [keyOf(task), { ...task, verdict: unit.verdicts[task.key] }])));
  const state = (undone) => {
    const own = valid();
    const first = new Map(own.filter((row) => row.choice && !row.later).map((row) => [row.name, row.choice]));
    const left = new Set(own.filter((row) => row.skipped || row.later).map((row) => row.name));
    const full = units.map((unit) => ({ ...unit, tasks: unit.tasks.map((task) => {
      const choice = first.get(keyOf(task)) ?? null;
      return { ...task, choice, verdict: choice && unit.verdicts[task.key] };
    }) }));
    const has = (unit, name) => unit.tasks.some((task) => keyOf(task) === name);
    const done = full.filter((unit) => unit.tasks.every((task) => task.choice)).length;
    const open = full.find((unit) => (undone ? has(unit, undone) : unit.tasks.some((task) => !task.choice) && !unit.tasks.some((task) => left.has(keyOf(task)))));
    return { unit: open ?? null, progress: { ...boot.offline.progress, labelled: done, mine: done } };
  };
  if (path === "rows") return rows.map(({ row }) => row);
  if (path === "label/undo") {
    const last = valid().at(-1);
    if (last) add(tasks.get(last.name), { withdrawn: true });
    return { ...state(last?.name), undone: last && tasks.get(last.name).key };
  }
  const task = body && tasks.get(keyOf(body));
  if (path === "label/skip") add(task, { skipped: true });
  else if (body) {
    const later = rows.some((row) => row.name === keyOf(body) && row.choice);
    add(task, { choice: body.choice, reason: body.reason, seconds: body.seconds, later });
  }
  return { ...state(), verdict: task?.verdict };
}

const call = async (path, body) => (boot.offline ? offline(path, body) : request(path, body));

/** Send what is not saved yet, in order, then load the next unit if it is needed.  Tries again while the server is gone. */
async function sync() {
  if (busy) return;
  busy = true;
  try {
    while (unsaved.length || wanting) {
      const [{ path, body } = { path: "label" }] = unsaved;
      try {
        const answer = await call(path, body);
        trouble = boot.offline ? trouble : null;
        if (!body || path === "label/skip") {
          wanting = false;
          take(answer);
        } else received(body, answer);
      } catch (error) {
        if (!(error instanceof Refused)) throw error;
        trouble = error.message; // the run or the page is another one: sending it again does not help
        wanting = false;
      }
      if (body) unsaved.shift();
      kept(UNSAVED, JSON.stringify(unsaved));
    }
    if (!trouble && progress) worded(byId("saved"), _("All labels are saved."));
  } catch (error) {
    const count = unsaved.length;
    trouble = n_("Not saved yet: {n} key press. The server cannot be reached; the page tries again.", "Not saved yet: {n} key presses. The server cannot be reached; the page tries again.", { n: count });
    if (!(error instanceof TypeError)) trouble = error.message;
    setTimeout(sync, RETRY_MS);
  } finally {
    busy = false;
    byId("saved").classList.toggle("trouble", Boolean(trouble));
    if (trouble) worded(byId("saved"), () => String(trouble));
  }
}

function push(path, task, more = {}) {
  unsaved.push({ path, body: { annotator, key: task.key, content: task.content, ...more } });
  kept(UNSAVED, JSON.stringify(unsaved));
  return sync();
}

function take({ unit, progress: now, undone }) {
  progress = now;
  if (unit) {
    items = items.filter((task) => task.unit !== unit.id);
    const tasks = unit.tasks.map((task, part) => ({ ...task, unit: unit.id, again: unit.again, part: part + 1, parts: unit.tasks.length }));
    at = items.length + Math.max(0, tasks.findIndex((task) => (undone ? task.key === undone : !task.choice)));
    items.push(...tasks);
  } else at = items.length;
  showTask();
}

function received(body, { verdict, counts, before, after, progress: now }) {
  progress = now;
  const task = items.find((one) => keyOf(one) === keyOf(body) && one.choice);
  if (task) Object.assign(task, { verdict, revealed: true, unused: counts === false, ...(!body.again && { before, after }) });
  showProgress();
  showChoices();
  if (!task || task !== items[at]) return;
  if (!verdict && before === after) move(1); // there is nothing to show
  else announce(verdictOf(task));
}

// What the keys do.

function choose(choice) {
  const task = items[at];
  if (!task || !choice) return;
  if (task.choice === choice && !settling) return move(1);
  const seconds = Math.round((performance.now() - shownAt) / 100) / 10;
  Object.assign(task, { choice, before: null, after: null });
  push("label", task, { choice, reason: task.reason ?? "", seconds, again: Boolean(task.again && !task.revealed), settled: settling });
  showChoices();
  if (settling) move(1);
}

function move(step) {
  const next = Math.max(0, at + step);
  const last = items.at(-1);
  const open = items.findIndex((task) => task.unit === last.unit && !task.choice);
  if (next < items.length) go(next);
  else if (settling) leave();
  else if (open >= 0) go(open); // the server would give the same unit
  else {
    wanting = true;
    sync();
  }
}

function go(to) {
  at = to;
  showTask();
}

function skip() {
  if (items[at] && !settling) push("label/skip", items[at]);
  else if (settling) move(1);
}

async function undo() {
  if (settling || unsaved.length) return;
  try {
    take(await call("label/undo", { annotator, key: "", content: "" }));
  } catch {
    wanting = true;
    sync();
  }
}

function openNote() {
  byId("note").hidden = !items[at];
  byId("reason").focus();
}

function closeNote(reason) {
  const task = items[at];
  byId("note").hidden = true;
  byId("reason").blur();
  if (reason === undefined || !task || reason === (task.reason ?? "")) return;
  task.reason = reason;
  if (task.choice) push("label", task, { choice: task.choice, reason, settled: settling });
}

async function settle() {
  try {
    items = (await call("label/disputed")).map((task) => ({ ...task, unit: "", choice: null }));
  } catch {
    return void sync();
  }
  settling = true;
  if (items.length) go(0);
  else leave();
}

function leave() {
  [settling, items, at, wanting] = [false, [], 0, true];
  sync();
}

addEventListener("keydown", (event) => {
  const { key, code, target } = event;
  if (event.isComposing || event.ctrlKey || event.altKey || event.metaKey || event.repeat || byId("help").open) return;
  if (target.matches("input")) return void (key === "Escape" && closeNote());
  if (key === "Enter" && target.matches("button, summary, a")) return;
  // With a Hangul keyboard, the key U gives ㅕ.
  const name = /^[\x21-\x7e]|^[A-Z]/.test(key) ? key.toLowerCase() : code.replace(/^Key/, "").toLowerCase();
  const tool = TOOLS.find(([short, , , other]) => name === (other ?? short.toLowerCase()));
  if (/^[1-3]$/.test(name)) choose(items[at]?.choices[name - 1]);
  else if (tool) tool[2]();
  else if (name === "enter" && items[at]?.choice) move(1);
  else if (name === "escape" && settling) leave();
  else return;
  event.preventDefault();
});

// What is shown.

function marked(text, range) {
  if (!range) return [text];
  return [text.slice(0, range[0]), make("mark", { text: text.slice(...range) }), text.slice(range[1])];
}

function sourceOf({ number, title, path, text, range }, at, all) {
  const box = make("div", { class: "source", tabindex: 0, role: "group", "aria-label": title || path }, ...marked(text, range));
  const details = make("details", { open: at === 0 },
    make("summary", {}, make("span", { class: "title", text: `${all.length > 1 ? `[${number}] ` : ""}${title || path}` }), path && path !== title ? make("span", { class: "aside path", text: path }) : null), box);
  return { details, center: () => {
    const mark = box.querySelector("mark");
    if (mark) box.scrollTop = mark.offsetTop - box.offsetTop - box.clientHeight / 3;
  } };
}

const percent = (value) => `${(100 * value).toFixed(1)}%`;
const points = (value, sign = "") => _("{points} pp", { points: `${sign}${(100 * value).toFixed(1)}` });
const shown = (value) => (progress.difference ? points(value, value > 0 ? "+" : "") : percent(value));
const figureName = () => (progress.difference ? _("{figure}, change from the baseline", { figure: FIGURES[boot.task] }) : FIGURES[boot.task]);
const verdictOf = ({ verdict }) => (verdict ? _("The judge says: {verdict}", { verdict: CHOICES[verdict] }) : _("The judge gave no verdict."));

function showTask() {
  const task = items[at];
  byId("note").hidden = true;
  showProgress();
  showChoices();
  if (!task) return byId("task").replaceChildren(ending());
  const sources = task.sources.map(sourceOf);
  const isLink = task.kind === "link";
  byId("task").replaceChildren(
    make("div", { class: "asked-of" },
      settling ? disputedList() : null,
      make("h2", { id: "asked", tabindex: -1, word: ASKED[task.kind] }),
      make("p", { class: "aside" },
        ...[task.parts > 1 && _("Part {part} of {parts} of this item.", task), task.baseline && _("From the baseline run."), task.again && _("You labelled this before: this measures consistency."),
          task.given && Object.entries(task.given).map(([name, choice]) => `${name}: ${CHOICES[choice]}`).join(" · ")]
          .filter(Boolean).map((word) => make("span", { word: () => `${word} ` }))),
      make("div", { class: "card" },
        make("h3", { word: isLink ? _("Link to") : _("Question") }), make("p", { lang: task.language || null, text: task.question }),
        task.answer && !isLink ? make("h3", { word: _("Answer") }) : null,
        task.answer && !isLink ? make("p", { class: "text", lang: task.language || null }, ...marked(task.answer, task.range)) : null,
        isLink ? make("h3", { word: _("Link text") }) : null, isLink ? make("p", {}, make("mark", { text: task.text })) : null)),
    make("div", { class: "sources", lang: task.language || null }, make("h3", { word: _("Notes") }), ...sources.map(({ details }) => details),
      sources.length ? null : make("p", { class: "aside", word: _("No note was found for this question.") })));
  for (const { center } of sources) center();
  byId("reason").value = task.reason ?? "";
  scrollTo({ top: 0 });
  shownAt = performance.now();
}

function showChoices() {
  const task = items[at] ?? { choices: [] };
  const focused = document.activeElement?.id;
  byId("choices").replaceChildren(...task.choices.map((choice, number) =>
    make("button", { type: "button", id: `choice-${number + 1}`, "aria-pressed": String(task.choice === choice), on: { click: () => choose(choice) } },
      make("kbd", { text: number + 1 }), make("span", { word: CHOICES[choice] }))));
  const { verdict, before, after } = task;
  const isShown = Boolean(!settling && task.choice && (task.revealed || verdict));
  byId("reveal").hidden = !isShown;
  byId("reveal").className = `reveal ${verdict && verdict !== task.choice ? "differs" : ""}`;
  byId("reveal").replaceChildren(...(isShown ? [
    make("strong", { word: verdictOf(task) }),
    task.unused ? make("span", { word: _("This label is not used, because you had seen the verdict.") }) : null,
    after === null || after === undefined || before === after ? null : make("span", { word: () => before === null ? `${figureName()}: ${shown(after)}` : `${figureName()}: ${shown(before)} → ${shown(after)}` }),
    make("button", { type: "button", class: "primary", word: _("Next (Enter)"), on: { click: () => move(1) } }),
  ].filter(Boolean) : []));
  byId(focused)?.focus({ preventScroll: true });
}

function disputedList() {
  return make("div", { class: "card" }, make("div", { class: "row" }, make("h2", { word: _("Disputed items") }), make("button", { type: "button", class: "quiet", word: _("Back to labelling (Esc)"), on: { click: leave } })),
    make("ol", { class: "disputed" }, ...items.map((task, number) => make("li", {},
      make("button", { type: "button", class: "link", "aria-current": number === at ? "true" : null, text: task.text.slice(0, 80) || task.question, on: { click: () => go(number) } }),
      make("span", { class: "aside", word: () => Object.entries(task.given).map(([name, choice]) => `${name}: ${CHOICES[choice]}`).join(" · ") })))));
}

function showProgress() {
  if (!progress) return;
  const { labelled, budget, figure, judged, look, next_look: next, floor, agreement, disputed, changed } = progress;
  const isOpen = byId("progress").querySelector("details")?.open ?? innerWidth > 900;
  const { tasks, alpha, again, same } = agreement ?? { tasks: 0, again: 0 };
  const count = n_("{labelled} of {n} item labelled", "{labelled} of {n} items labelled", { labelled, n: budget });
  const lines = [
    figure && _("{figure}: {value} (95% interval {low} to {high}, {width} wide). The judge alone: {judged}.", {
      figure: figureName(), value: shown(figure.value), low: shown(figure.low), high: shown(figure.high), width: points(figure.high - figure.low), judged: shown(judged) }),
    look && DECISIONS[look.decision]({ at: look.at, floor: shown(look.floor) }),
    floor !== null && next && n_("The next decision comes after {n} more item.", "The next decision comes after {n} more items.", { n: next - labelled }),
    tasks > 0 && alpha !== null && _("Agreement of annotators (Krippendorff's alpha): {alpha}, {tasks} tasks.", { alpha: alpha.toFixed(2), tasks }),
    again > 0 && _("Repeated labels: {same} of {again} equal.", { same, again }),
  ];
  const warnings = [
    tasks > 0 && alpha !== null && alpha < LEAST_ALPHA && disputed > 0 && _("The annotators agree too little (alpha {alpha}, below 0.60). Agree on rules and settle the disputed items before you use the figure.", { alpha: alpha.toFixed(2) }),
    changed > 0 && n_("{n} label belongs to an item that has changed; it is not used.", "{n} labels belong to items that have changed; they are not used.", { n: changed }),
  ];
  const written = (all, kind) => all.filter(Boolean).map((word) => make("p", { class: kind, word }));
  byId("progress").replaceChildren(
    make("details", { open: isOpen },
      make("summary", {}, make("progress", { max: budget, value: labelled, label: count }), make("span", { word: count }),
        figure ? make("strong", { text: `${shown(figure.value)} (${shown(figure.low)} – ${shown(figure.high)})` }) : null),
      ...written(lines.some(Boolean) ? lines : [_("The figure and its interval appear when the first items are labelled.")], "aside")),
    ...written(settling ? [] : warnings, "warning"),
    ...(disputed && !settling ? [make("button", { type: "button", class: "quiet", id: "settle", on: { click: settle },
      word: n_("Settle {n} disputed item", "Settle {n} disputed items", { n: disputed }) })] : []));
}

/** The last view: what was reached, and the command that uses it. */
function ending() {
  const { labelled, budget, mine } = progress;
  const reached = labelled >= budget;
  return make("div", { class: "card" }, make("h2", { id: "asked", tabindex: -1, word: reached ? _("All items are labelled") : _("No item is left for you") }),
    make("p", { word: n_("You labelled {mine} of {n} item.", "You labelled {mine} of {n} items.", { mine, n: budget }) }),
    ...(boot.command ? [
      make("p", { word: boot.offline ? _("Save the labels. Then add them to the file of labels:") : _("Next, measure how far the judge agrees with the labels:") }),
      make("pre", { tabindex: 0 }, make("code", { text: boot.command }))] : []));
}

async function download() {
  const lines = (await call("rows")).map((row) => `${JSON.stringify(row)}\n`);
  const address = URL.createObjectURL(new Blob(lines, { type: "application/jsonl" }));
  make("a", { href: address, download: "labels.jsonl" }).click();
  URL.revokeObjectURL(address);
}

async function start() {
  const wanted = [boot.language, ...boot.languages];
  await switchesLanguage(byId("language"), boot.languages, { wanted, messages: boot.offline?.messages });
  byId("language").addEventListener("click", ({ target }) => target.blur()); // Enter goes on
  byId("annotator").value = annotator;
  byId("annotator").addEventListener("change", ({ target }) => {
    annotator = target.value.trim() || boot.annotator;
    target.value = annotator;
    kept(NAME, annotator);
    target.blur();
    leave();
  });
  byId("annotator").addEventListener("keydown", ({ key, target }) => key === "Enter" && target.blur());
  byId("note").addEventListener("submit", (event) => {
    event.preventDefault();
    closeNote(byId("reason").value.trim());
  });
  byId("tools").append(...TOOLS.map(([short, word, act]) =>
    make("button", { type: "button", class: "quiet", on: { click: act } }, make("kbd", { "aria-hidden": "true", text: short }), make("span", { word }))));
  byId("keys").append(...[["1 2 3", _("Choose")], ["Enter", _("Next, after the choice")], ...TOOLS, ["Esc", _("Close the reason or the disputed items")]]
    .flatMap(([short, word]) => [make("dt", {}, make("kbd", { text: short })), make("dd", { word })]));
  byId("save").hidden = !boot.offline;
  byId("save").addEventListener("click", download);
  sync();
}

start();
