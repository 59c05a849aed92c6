/**
 * How the visitor moved, typed and waited since the page was loaded: sums only. No positions, no keys and no times are
 * kept, and a listener does a few additions.
 */

import { listen, passive } from "../page";

const counts = { pointerMoves: 0, touches: 0, keys: 0, scrolls: 0, clicks: 0, untrusted: 0 };
type Count = keyof typeof counts;

const EVENTS: readonly (readonly [string, Count])[] = [
  ["pointermove", "pointerMoves"],
  ["touchstart", "touches"],
  ["keydown", "keys"],
  ["scroll", "scrolls"],
  ["click", "clicks"],
];

let watchedMs = 0;
let lastMs = 0;
// Of the times between events: how many, their mean, and the sum of squared distances from it (Welford's way).
let gaps = 0;
let mean = 0;
let spread = 0;
// Of the pointer: where it began, where it is, and the way it went.
let begun: readonly [number, number] | undefined;
let at: readonly [number, number] = [0, 0];
let way = 0;

function time(event: Event): void {
  const now = event.timeStamp;
  if (lastMs) {
    const gap = now - lastMs;
    const off = gap - mean;
    mean += off / ++gaps;
    spread += off * (gap - mean);
  }
  lastMs = now;
}

function move({ clientX, clientY }: PointerEvent): void {
  if (begun) way += Math.hypot(clientX - at[0], clientY - at[1]);
  else begun = [clientX, clientY];
  at = [clientX, clientY];
}

/** Scripts of pages and extensions fill in forms by events of their own; a pointer that moves by itself is no such thing. */
export function countUntrusted(): void {
  counts.untrusted++;
}

export function watchBehavior(): void {
  watchedMs = performance.now();
  for (const [type, count] of EVENTS) {
    listen(
      window,
      type,
      (event) => {
        if (event.isTrusted) {
          counts[count]++;
          time(event);
          if (count === "pointerMoves") move(event as PointerEvent);
        } else if (count === "pointerMoves") countUntrusted();
      },
      passive,
    );
  }
}

const round = (value: number): number => Math.round(value * 1e4) / 1e4;

export function sumBehavior(): object {
  const distance = begun ? Math.hypot(at[0] - begun[0], at[1] - begun[1]) : 0;
  return {
    ...counts,
    durationMs: lastMs ? Math.round(lastMs - watchedMs) : 0,
    straightness: distance > 0 ? round(way / distance) : undefined,
    variation: gaps > 1 && mean > 0 ? round(Math.sqrt(spread / gaps) / mean) : undefined,
  };
}
