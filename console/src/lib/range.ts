/** The time range of a page, in its address: a named one that moves with the clock, or two moments. */

import { useMemo } from "preact/hooks";
import { useKeys } from "./keys";
import { useParams } from "./params";
import { t } from "./words";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
export const RANGES = ["today", "24h", "7d", "30d", "91d"] as const;
export type RangeName = (typeof RANGES)[number];
const KEYS: Record<RangeName, string> = { today: "d", "24h": "h", "7d": "w", "30d": "t", "91d": "n" };
const LENGTH_MS: Record<RangeName, number> = {
  today: DAY_MS,
  "24h": DAY_MS,
  "7d": 7 * DAY_MS,
  "30d": 30 * DAY_MS,
  "91d": 91 * DAY_MS,
};
// The API answers ranges to the second; a minute keeps the same address the same request for a while.
const GRAIN_MS = 60_000;

export interface Range {
  name: RangeName | "custom";
  from: string;
  to: string;
  fromMs: number;
  toMs: number;
}

function named(name: RangeName, now: number): Range {
  const to = Math.ceil(now / GRAIN_MS) * GRAIN_MS;
  const from = name === "today" ? new Date(now).setHours(0, 0, 0, 0) : to - LENGTH_MS[name];
  return { name, ...ends(from, to) };
}

function ends(fromMs: number, toMs: number) {
  return { fromMs, toMs, from: new Date(fromMs).toISOString(), to: new Date(toMs).toISOString() };
}

/** The same length, right before. */
export function before(range: Range): Range {
  return { name: "custom", ...ends(range.fromMs - (range.toMs - range.fromMs), range.fromMs) };
}

export function useRange(usual: RangeName): [Range, (name: RangeName) => void, (fromMs: number, toMs: number) => void] {
  const [params, set] = useParams();
  const minute = Math.floor(Date.now() / GRAIN_MS);
  const range = useMemo((): Range => {
    const from = Date.parse(params["from"] ?? "");
    const to = Date.parse(params["to"] ?? "");
    if (from < to) return { name: "custom", ...ends(from, to) };
    const name = params["range"] as RangeName;
    return named(RANGES.includes(name) ? name : usual, Date.now());
  }, [params["from"], params["to"], params["range"], usual, minute]);
  const choose = (name: RangeName) => set({ range: name === usual ? undefined : name, from: undefined, to: undefined });
  const zoom = (fromMs: number, toMs: number) => {
    const { from, to } = ends(fromMs, Math.min(toMs, Math.ceil(Date.now() / GRAIN_MS) * GRAIN_MS));
    set({ from, to, range: undefined });
  };
  const shift = (direction: number) => {
    const length = range.toMs - range.fromMs;
    if (direction > 0 && range.toMs + length / 2 > Date.now()) return choose(usual);
    zoom(range.fromMs + direction * length, range.toMs + direction * length);
  };
  useKeys([
    ...RANGES.map((name) => ({ key: KEYS[name], help: t(`range.${name}`), run: () => choose(name) })),
    { key: "ArrowLeft", help: t("range.earlier"), run: () => shift(-1) },
    { key: "ArrowRight", help: t("range.later"), run: () => shift(1) },
  ]);
  return [range, choose, zoom];
}
