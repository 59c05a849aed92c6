/** Numbers and times as the reader's language writes them. */

import { language, t } from "./words";
import { settings } from "./settings";

const DASH = "–";
const COMPACT_FROM = 10_000;
const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

/**
 * Formatters by what they were made of: making one takes a hundred times as long as using it, and a list uses some for
 * each row.
 */
const made = new Map<string, unknown>();

function kept<T>(kind: string, options: object, make: () => T): T {
  const key = kind + tongue() + (zone() ?? "") + JSON.stringify(options);
  let found = made.get(key) as T | undefined;
  if (!found) made.set(key, (found = make()));
  return found;
}

function number(options: Intl.NumberFormatOptions = {}): Intl.NumberFormat {
  return kept("number", options, () => new Intl.NumberFormat(language, options));
}

function moment(at: string | number | Date, options: Intl.DateTimeFormatOptions): string {
  return kept("moment", options, () => new Intl.DateTimeFormat(tongue(), { ...options, timeZone: zone() })).format(
    new Date(at),
  );
}

/** A whole number, exact. */
export function count(value: number | null | undefined): string {
  return value == null ? DASH : number().format(value);
}

/** A number for a tile: exact up to 9,999, then short; the unit apart. */
export function short(value: number | null | undefined): { value: string; unit: string } {
  if (value == null) return { value: DASH, unit: "" };
  if (Math.abs(value) < COMPACT_FROM) return { value: count(value), unit: "" };
  const parts = number({ notation: "compact", maximumFractionDigits: 1 }).formatToParts(value);
  const unit = parts
    .filter(({ type }) => type === "compact")
    .map((part) => part.value)
    .join("");
  const digits = parts
    .filter(({ type }) => type !== "compact" && type !== "literal")
    .map((part) => part.value)
    .join("");
  return { value: digits, unit };
}

/** A share of 0 to 1 as a percentage with one decimal. */
export function share(value: number | null | undefined): string {
  if (value == null || Number.isNaN(value)) return DASH;
  return number({ minimumFractionDigits: 1, maximumFractionDigits: 1 }).format(value * 100);
}

export function percent(value: number | null | undefined): string {
  const text = share(value);
  return text === DASH ? text : `${text}${language === "de" ? " " : ""}%`;
}

/** A score with two decimals. */
export function score(value: number): string {
  return number({ minimumFractionDigits: 2, maximumFractionDigits: 2 }).format(value);
}

export function decimal(value: number | null | undefined, digits = 1): string {
  return value == null ? DASH : number({ maximumFractionDigits: digits }).format(value);
}

/** English readers everywhere know a day before its month and 24 hours; a month before its day only some do. */
function tongue(): string {
  return language === "en" ? "en-GB" : language;
}

function zone(): string | undefined {
  return settings.value.utc ? "UTC" : undefined;
}

/** Date and time with the zone named. */
export function absolute(at: string | number | Date): string {
  return moment(at, { dateStyle: "medium", timeStyle: "long" });
}

/** An amount of money, without its currency. */
export function money(amount: number): string {
  return number({ minimumFractionDigits: 2, maximumFractionDigits: 2 }).format(amount);
}

export function date(at: string | number | Date): string {
  return moment(at, { day: "numeric", month: "short", year: "numeric" });
}

/** Clock time with seconds and zone. */
export function clock(at: string | number | Date): string {
  return moment(at, { timeStyle: "long" });
}

/** The start of a bucket on an axis: the hour, or the day at its beginning. */
export function axis(at: number, stepMs: number): string {
  const start = new Date(at);
  const options: Intl.DateTimeFormatOptions =
    stepMs >= DAY_MS || (start.getUTCHours() === 0 && zone() === "UTC") || (!zone() && start.getHours() === 0)
      ? { weekday: "short", day: "numeric" }
      : { hour: "2-digit", minute: "2-digit" };
  if (stepMs >= DAY_MS) Object.assign(options, { weekday: undefined, month: "short" });
  return moment(start, options);
}

const STEPS: [Intl.RelativeTimeFormatUnit, number][] = [
  ["second", 1000],
  ["minute", MINUTE_MS],
  ["hour", 60 * MINUTE_MS],
  ["day", DAY_MS],
];

/** "now", "4 s ago", "2 days ago" up to seven days; then the date. */
export function relative(at: string | number | Date, now = Date.now()): string {
  const distance = new Date(at).getTime() - now;
  if (Math.abs(distance) < 2000) return t("time.now");
  if (Math.abs(distance) > 7 * DAY_MS) return date(at);
  const [unit, size] = [...STEPS].reverse().find(([, each]) => Math.abs(distance) >= each) ?? STEPS[0]!;
  const options = { style: "short", numeric: "always" } as const;
  const format = kept("relative", options, () => new Intl.RelativeTimeFormat(tongue(), options));
  return format.format(Math.trunc(distance / size), unit);
}
