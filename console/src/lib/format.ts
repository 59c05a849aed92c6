/** Numbers and times as the reader's language writes them. */

import { language, t } from "./words";
import { settings } from "./settings";

const DASH = "–";
const COMPACT_FROM = 10_000;
const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

/** A whole number, exact. */
export function count(value: number | null | undefined): string {
  return value == null ? DASH : value.toLocaleString(language);
}

/** A number for a tile: exact up to 9,999, then short; the unit apart. */
export function short(value: number | null | undefined): { value: string; unit: string } {
  if (value == null) return { value: DASH, unit: "" };
  if (Math.abs(value) < COMPACT_FROM) return { value: count(value), unit: "" };
  const parts = new Intl.NumberFormat(language, { notation: "compact", maximumFractionDigits: 1 }).formatToParts(value);
  const unit = parts.filter(({ type }) => type === "compact").map((part) => part.value).join("");
  const number = parts.filter(({ type }) => type !== "compact" && type !== "literal").map((part) => part.value).join("");
  return { value: number, unit };
}

/** A share of 0 to 1 as a percentage with one decimal. */
export function share(value: number | null | undefined): string {
  if (value == null || Number.isNaN(value)) return DASH;
  return (value * 100).toLocaleString(language, { minimumFractionDigits: 1, maximumFractionDigits: 1 });
}

export function percent(value: number | null | undefined): string {
  const text = share(value);
  return text === DASH ? text : `${text}${language === "de" ? " " : ""}%`;
}

/** A score with two decimals. */
export function score(value: number): string {
  return value.toLocaleString(language, { minimumFractionDigits: 2, maximumFractionDigits: 2 });
}

export function decimal(value: number | null | undefined, digits = 1): string {
  return value == null ? DASH : value.toLocaleString(language, { maximumFractionDigits: digits });
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
  return new Intl.DateTimeFormat(tongue(), {
    dateStyle: "medium",
    timeStyle: "long",
    timeZone: zone(),
  }).format(new Date(at));
}

/** An amount of money, without its currency. */
export function money(amount: number): string {
  return new Intl.NumberFormat(tongue(), { minimumFractionDigits: 2, maximumFractionDigits: 2 }).format(amount);
}

export function date(at: string | number | Date): string {
  return new Intl.DateTimeFormat(tongue(), { day: "numeric", month: "short", year: "numeric", timeZone: zone() }).format(new Date(at));
}

/** Clock time with seconds and zone. */
export function clock(at: string | number | Date): string {
  return new Intl.DateTimeFormat(tongue(), { timeStyle: "long", timeZone: zone() }).format(new Date(at));
}

/** The start of a bucket on an axis: the hour, or the day at its beginning. */
export function axis(at: number, stepMs: number): string {
  const moment = new Date(at);
  const options: Intl.DateTimeFormatOptions =
    stepMs >= DAY_MS || (moment.getUTCHours() === 0 && zone() === "UTC") || (!zone() && moment.getHours() === 0)
      ? { weekday: "short", day: "numeric" }
      : { hour: "2-digit", minute: "2-digit" };
  if (stepMs >= DAY_MS) Object.assign(options, { weekday: undefined, month: "short" });
  return new Intl.DateTimeFormat(tongue(), { ...options, timeZone: zone() }).format(moment);
}

const STEPS: [Intl.RelativeTimeFormatUnit, number][] = [
  ["second", 1000],
  ["minute", MINUTE_MS],
  ["hour", 60 * MINUTE_MS],
  ["day", DAY_MS],
];

/** "now", "4 s ago", "2 days ago" up to seven days; then the date. */
export function relative(at: string | number | Date, now = Date.now()): string {
  const moment = new Date(at).getTime();
  const distance = moment - now;
  if (Math.abs(distance) < 2000) return t("time.now");
  if (Math.abs(distance) > 7 * DAY_MS) return date(at);
  const [unit, size] = [...STEPS].reverse().find(([, each]) => Math.abs(distance) >= each) ?? STEPS[0]!;
  const format = new Intl.RelativeTimeFormat(tongue(), { style: "narrow", numeric: "always" });
  return format.format(Math.trunc(distance / size), unit);
}
