/**
 * What a reader chose: theme, language, zone, keys, pages. Kept in cookies that the server's pages read too.
 */

import { signal } from "@preact/signals";

export interface Settings {
  theme: "system" | "light" | "dark";
  utc: boolean;
  keys: boolean;
  /** Whether operators see the pages for several accounts while there is one. */
  everyPage: boolean;
}

const YEAR_S = 31_536_000;

function cookie(name: string): string | undefined {
  return document.cookie
    .split("; ")
    .find((each) => each.startsWith(`${name}=`))
    ?.slice(name.length + 1);
}

function keep(name: string, value: string): void {
  document.cookie = `${name}=${value}; Path=/; Max-Age=${YEAR_S}; SameSite=Lax`;
}

const theme = cookie("ag_theme");
export const settings = signal<Settings>({
  theme: theme === "light" || theme === "dark" ? theme : "system",
  utc: cookie("ag_zone") === "utc",
  keys: cookie("ag_keys") !== "off",
  everyPage: cookie("ag_pages") === "every",
});

export function change(part: Partial<Settings>): void {
  settings.value = { ...settings.value, ...part };
  const { theme: chosen, utc, keys, everyPage } = settings.value;
  if (chosen === "system") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = chosen;
  keep("ag_theme", chosen);
  keep("ag_zone", utc ? "utc" : "local");
  keep("ag_keys", keys ? "on" : "off");
  keep("ag_pages", everyPage ? "every" : "few");
}

/** The server writes the language into the page, so another one needs another page. */
export function changeLanguage(language: string): void {
  keep("ag_lang", language);
  location.reload();
}
