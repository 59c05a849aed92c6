/** Words in the reader's language. `en.json` and `de.json` have the same keys; a test holds them against each other. */

type Words = Record<string, string>;
export type Values = Record<string, string | number>;

let words: Words = {};
export let language = "en";
let plurals = new Intl.PluralRules("en");
let numbers = new Intl.NumberFormat("en");

const PACKS: Record<string, () => Promise<{ default: Words }>> = {
  en: () => import("../words/en.json"),
  de: () => import("../words/de.json"),
};

/** The words of pages for operators and for the account: many, and not needed for the first page. */
const MANAGE: Record<string, () => Promise<{ default: Words }>> = {
  en: () => import("../words/manage/en.json"),
  de: () => import("../words/manage/de.json"),
};

/** Adds the words of the pages for operators and for the account. */
export async function loadManageWords(): Promise<void> {
  words = { ...(await MANAGE[language]!()).default, ...words };
}

/** Loads the words of the page's language; the server wrote it into `<html lang>`. */
export async function loadWords(): Promise<void> {
  const wanted = document.documentElement.lang.slice(0, 2);
  language = wanted in PACKS ? wanted : "en";
  words = (await PACKS[language]!()).default;
  plurals = new Intl.PluralRules(language);
  numbers = new Intl.NumberFormat(language);
}

const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff]/;

/** Keeps a name of a right-to-left script from moving the words around it. */
const isolated = (value: string) => (RIGHT_TO_LEFT.test(value) ? `\u2068${value}\u2069` : value);

/** Returns a text. `{name}` is replaced; with a number `n`, `key.one` is used where the language asks for it. */
export function t(key: string, values: Values = {}): string {
  const count = values["n"];
  const one = typeof count === "number" && plurals.select(count) === "one" ? words[`${key}.one`] : undefined;
  const text = one ?? words[key] ?? key;
  return text.replace(/\{(\w+)\}/g, (whole, name: string) => {
    const value = values[name];
    return value === undefined ? whole : typeof value === "number" ? numbers.format(value) : isolated(value);
  });
}

/** Says whether there is a text: codes of the API that are newer than the words are shown as they are. */
export function has(key: string): boolean {
  return key in words;
}

/** Returns the words for a code of the API, or the code itself. */
export function named(kind: string, code: string): string {
  return has(`${kind}.${code}`) ? t(`${kind}.${code}`) : code;
}
