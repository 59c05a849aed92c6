// @ts-check
// The documentation's script: theme, search, copy buttons, "was this helpful?". Pages work without it.
"use strict";

const root = document.documentElement;
const kept = document.cookie.split("; ").find((each) => each.startsWith("ag_theme="))?.slice("ag_theme=".length);
if (kept === "light" || kept === "dark") root.dataset.theme = kept;

/** One section of a page: address, title of the page, heading, text. @typedef {[string, string, string, string]} Section */

const MOST_RESULTS = 12;
const FIELDS = /** @type {const} */ ([[2, 8], [1, 4], [3, 1]]);

const STOP_WORDS = new Set(
  "a an and are be by can do does for from how i if in is it my of on or the to what when where which why with".split(" "));

/** Removes a plural or verb ending: words match by their beginning. @param {string} word */
const stem = (word) => word.endsWith("ss") ? word : word.replace(/(?<=[\p{L}\p{N}_]{3})(?:ies|ing|ed|y|s)$/u, "");

/**
 * Returns how many of the words a section contains, and the sum of their weights. A word within another counts little.
 * A heading counts more if the words are most of it.
 * @param {Section} section @param {string[]} words @param {RegExp[]} patterns
 */
function rank(section, words, patterns) {
  const texts = FIELDS.map(([field]) => ` ${section[field].toLowerCase()}`);
  let count = 0;
  let score = 0;
  let share = 0;
  words.forEach((word, place) => {
    let found = 0;
    FIELDS.forEach(([, weight], field) => {
      if (texts[field].includes(word)) found += patterns[place].test(texts[field]) ? 4 * weight : 1;
    });
    count += Number(found > 0);
    score += found;
    if (patterns[place].test(texts[0])) share += word.length;
  });
  return { count, score: score + Math.floor(32 * share / texts[0].length) };
}

/** @param {Section[]} index @param {string} question */
function find(index, question) {
  const asked = [...new Set(question.toLowerCase().match(/[\p{L}\p{N}_.-]+/gu) ?? [])];
  const telling = asked.filter((word) => !STOP_WORDS.has(word));
  const words = [...new Set((telling.length ? telling : asked).map(stem))].slice(0, 8);
  // Words consist of letters, digits and `_ . -`.
  const patterns = words.map((word) => new RegExp(`(?<![\\p{L}\\p{N}])${word.replaceAll(".", "\\.")}`, "u"));
  const ranked = index.map((section, place) => ({ section, place, ...rank(section, words, patterns) }));
  return ranked.filter((each) => 2 * each.count > words.length)
    .sort((a, b) => b.count - a.count || b.score - a.score || a.place - b.place).slice(0, MOST_RESULTS);
}

/** @param {string} name @param {Record<string, string>} attributes @param {...(Node | string)} children */
function make(name, attributes, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

function search() {
  const input = /** @type {HTMLInputElement} */ (document.getElementById("q"));
  const hits = /** @type {HTMLElement} */ (document.getElementById("hits"));
  const all = /** @type {HTMLInputElement} */ (document.getElementById("all"));
  /** @type {Map<string, Promise<Section[]>>} */
  const loading = new Map();
  const load = () => {
    const address = all.checked ? "/docs/search-all.json" : "/docs/search.json";
    const begun = loading.get(address) ?? fetch(address).then((reply) => reply.json());
    loading.set(address, begun);
    return begun;
  };
  const show = async () => {
    const question = input.value.trim();
    if (!question) { hits.hidden = true; return; }
    const found = find(await load(), question);
    if (question !== input.value.trim()) return;
    const rows = found.map(({ section: [address, page, heading] }) =>
      make("a", { href: address }, heading, make("small", {}, page)));
    hits.replaceChildren(...(rows.length ? rows : [make("p", {}, "No page contains these words. Try fewer.")]));
    hits.hidden = false;
  };
  input.addEventListener("focus", load);
  input.addEventListener("input", show);
  all.addEventListener("change", show);
  document.addEventListener("keydown", (event) => {
    const typing = event.target instanceof HTMLElement && /^(INPUT|TEXTAREA)$/.test(event.target.tagName);
    if (event.key === "/" && !typing) { event.preventDefault(); input.focus(); }
    if (event.key === "Escape" && !hits.hidden) { hits.hidden = true; input.focus(); }
    if ((event.key === "ArrowDown" || event.key === "ArrowUp") && !hits.hidden) {
      const links = [input, ...hits.querySelectorAll("a")];
      const place = links.indexOf(/** @type {HTMLInputElement} */ (document.activeElement));
      const next = links[place + (event.key === "ArrowDown" ? 1 : -1)];
      if (place >= 0 && next) { event.preventDefault(); next.focus(); }
    }
  });
  document.addEventListener("click", (event) => {
    if (!(event.target instanceof Element && event.target.closest("form[role=search]"))) hits.hidden = true;
  });
  hits.addEventListener("click", () => { hits.hidden = true; });
}

function theme() {
  const button = /** @type {HTMLButtonElement} */ (document.getElementById("theme"));
  const isDark = () => root.dataset.theme === "dark"
    || (root.dataset.theme !== "light" && matchMedia("(prefers-color-scheme: dark)").matches);
  const name = () => { button.textContent = isDark() ? "Light" : "Dark"; };
  button.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    document.cookie = `ag_theme=${root.dataset.theme}; Path=/; Max-Age=31536000; SameSite=Lax`;
    name();
  });
  name();
  button.hidden = false;
}

function copyButtons() {
  for (const figure of document.querySelectorAll("figure.code")) {
    const button = make("button", { type: "button" }, "Copy");
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(figure.querySelector("code")?.textContent ?? "");
      button.textContent = "Copied";
      setTimeout(() => { button.textContent = "Copy"; }, 2000);
    });
    if (navigator.clipboard) figure.querySelector("figcaption")?.append(button);
  }
}

function feedback() {
  const box = /** @type {HTMLElement | null} */ (document.querySelector(".feedback"));
  const told = box?.querySelector("[role=status]");
  if (!box || !told) return;
  box.hidden = false;
  for (const button of box.querySelectorAll("button")) {
    button.addEventListener("click", async () => {
      const body = JSON.stringify({ page: box.dataset.page, helpful: button.dataset.helpful === "true" });
      const headers = { "Content-Type": "application/json" };
      const reply = await fetch("/v1/docs/feedback", { method: "POST", headers, body }).catch(() => undefined);
      told.textContent = reply?.ok ? "Thank you." : "Your feedback could not be sent. Try again later.";
      if (reply?.ok) for (const each of box.querySelectorAll("button")) each.hidden = true;
    });
  }
}

document.addEventListener("DOMContentLoaded", () => { theme(); search(); copyButtons(); feedback(); });
