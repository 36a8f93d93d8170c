// Messages: English ids with values, written in the language of the page whenever they become text.
// `table` has the translations, id -> text or plural forms; it is empty for English.
let table = {};
const FORMS = ["zero", "one", "two", "few", "many", "other"]; // in the order of gettext

export function useTable(translations) {
  table = translations;
}

const filled = (text, values) => text.replace(/\{(\w+)\}/g, (place, name) => String(values[name] ?? place));

/** A message by its id, which need not be a literal. */
export const message = (id, values = {}) => ({ toString: () => filled(table[id] ?? id, values) });

/** A message; values may be messages. */
export const _ = message;

/** A message that counts `n`. */
export const n_ = (one, many, values) => ({
  toString() {
    const forms = table[one] ?? [one, many];
    const rules = new Intl.PluralRules(table[one] ? document.documentElement.lang : "en");
    const names = FORMS.filter((name) => rules.resolvedOptions().pluralCategories.includes(name));
    return filled(forms[Math.min(names.indexOf(rules.select(values.n)), forms.length - 1)], values);
  },
});
