// @ts-check
// The documentation's script: theme, search, copy buttons, "was this helpful?". Pages work without it.
"use strict";

const root = document.documentElement;
const kept = document.cookie.split("; ").find((each) => each.startsWith("ag_theme="))?.slice("ag_theme=".length);
if (kept === "light" || kept === "dark") root.dataset.theme = kept;

/** One section of a page: address, title of the page, heading, text. @typedef {[string, string, string, string]} Section */

const MOST_RESULTS = 12;
const FIELDS = /** @type {const} */ ([[2, 8], [1, 4], [3, 1]]);

/** @param {Section} section @param {string[]} words */
function score(section, words) {
  let total = 0;
  for (const word of words) {
    let found = 0;
    for (const [field, weight] of FIELDS) {
      const text = section[field].toLowerCase();
      if (text.includes(word)) found += weight * (text.startsWith(word) || text.includes(` ${word}`) ? 2 : 1);
    }
    if (!found) return 0;
    total += found;
  }
  return total;
}

/** @param {Section[]} index @param {string} question */
function find(index, question) {
  const words = [...new Set(question.toLowerCase().match(/[\p{L}\p{N}_.-]+/gu) ?? [])].slice(0, 8);
  if (!words.length) return [];
  const scored = index.map((section, place) => ({ section, place, score: score(section, words) }));
  return scored.filter((each) => each.score > 0).sort((a, b) => b.score - a.score || a.place - b.place).slice(0, MOST_RESULTS);
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
