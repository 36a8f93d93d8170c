"use strict";

// Messages of a page: English ids.  `table` has the texts of another language; it is empty for English.
let table = {};
const useWords = (words) => { table = words; };
const fill = (text, values) => text.replace(/\{(\w+)\}/g, (place, name) => String(values[name] ?? place));
const _ = (id, values = {}) => fill(table[id] ?? id, values);
const ORDER = ["zero", "one", "two", "few", "many", "other"]; // the order of gettext's forms
function n_(one, many, values) {
  const forms = table[one] ?? [one, many];
  const rules = new Intl.PluralRules(table[one] ? document.documentElement.lang : "en");
  const kinds = ORDER.filter((kind) => rules.resolvedOptions().pluralCategories.includes(kind));
  return fill(forms[Math.min(kinds.indexOf(rules.select(values.n)), forms.length - 1)], values);
}
