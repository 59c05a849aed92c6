/** The conditions of a rule as rows of text, one value per line, and back. Keys that are not known here are kept. */

export type Match = Record<string, unknown>;
export interface Row {
  key: string;
  text: string;
}

const LISTS = ["all_labels", "any_labels", "none_labels", "any_prefix", "countries", "asns", "methods"];
const REQUEST_LISTS = ["networks", "network_lists", "user_agents", "paths", "hosts"];
const BY_NAME = ["headers", "query"];
const NEGATED = ["countries", "asns", "methods", ...REQUEST_LISTS, ...BY_NAME];
const SCORE = "score";
const MORE = "more_parameters_than";
export const KEYS = [...LISTS, SCORE, ...REQUEST_LISTS, ...BY_NAME, MORE, ...NEGATED.map((key) => `not_${key}`)];
/** Conditions on parts of a request that events do not store. */
const UNTOLD = new Set([MORE, ...[...REQUEST_LISTS, ...BY_NAME].flatMap((key) => [key, `not_${key}`])]);

export const isUntold = (key: string) => UNTOLD.has(key);
const plain = (key: string) => key.replace(/^not_/, "");

export function rowsOf(match: Match): Row[] {
  return KEYS.filter((key) => match[key] !== undefined).map((key) => {
    const value = match[key];
    if (key === SCORE) return { key, text: `${String(value)} ${String(match["min_score"] ?? "")}`.trim() };
    if (Array.isArray(value)) return { key, text: value.join("\n") };
    if (!BY_NAME.includes(plain(key))) return { key, text: String(value) };
    const lines = Object.entries(value as Record<string, string[]>);
    return { key, text: lines.flatMap(([name, globs]) => globs.map((glob) => `${name}: ${glob}`)).join("\n") };
  });
}

export function matchOf(rows: Row[], before: Match): Match {
  const known = new Set([...KEYS, "min_score"]);
  const match: Match = Object.fromEntries(Object.entries(before).filter(([key]) => !known.has(key)));
  for (const { key, text } of rows) {
    const lines = text
      .split("\n")
      .map((line) => line.trim())
      .filter(Boolean);
    if (key === SCORE) {
      const [model, least] = text.trim().split(/\s+/);
      match["score"] = model ?? "";
      if (least) match["min_score"] = Number(least);
    } else if (key === MORE) {
      match[key] = Number(text);
    } else if (BY_NAME.includes(plain(key))) {
      const byName = { ...(match[key] as Record<string, string[]>) };
      for (const line of lines) {
        const [name, ...rest] = line.split(":");
        byName[name!.trim()] = [...(byName[name!.trim()] ?? []), rest.join(":").trim() || "*"];
      }
      match[key] = byName;
    } else {
      const values = plain(key) === "asns" ? lines.map((line) => (/^\d+$/.test(line) ? Number(line) : line)) : lines;
      match[key] = [...((match[key] as unknown[]) ?? []), ...values];
    }
  }
  return match;
}
