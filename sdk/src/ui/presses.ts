/** The presses of the check's button: by what means, how far apart, and sums of how each came about. */

import { listen } from "../page";
import type { Press, Step, StepUp } from "../protocol";

/** A key press and the click that it makes are no further apart. */
const SAME_PRESS_MS = 1500;

/** Timers and clocks of some browsers are that coarse; too early a press would not count. */
const EARLY_MS = 20;

/** Moves before a longer pause were on the way to something else. */
const PAUSE_MS = 1200;

/** Moves that are further apart belong to different strokes. */
const STROKE_GAP_MS = 120;

export interface Told {
  /** The button is to stand in its next place, and cannot be pressed for a moment. */
  waiting(waiting: boolean, place: number): void;
  done(steps: readonly Step[]): void;
}

const round = (value: number): number => Math.round(value * 100) / 100;

/** Watch the button, and the pointer's way to it; gives back what ends it. */
export function watchPresses(button: HTMLButtonElement, stepUp: StepUp, told: Told): () => void {
  const steps: Step[] = [];
  let lastMs = performance.now();
  let keyMs = -SAME_PRESS_MS;
  let closed = false;
  let isOver = false;
  // Of the way since the last press; where that was, if a pointer made it.
  let moves = 0;
  let way = 0;
  let firstMs = 0;
  // Events off the raster of the first one: Linux times devices in whole milliseconds, and drivers do not.
  let fraction: number | undefined;
  let off = 0;
  let movedMs = 0;
  // Of the last stroke: where the pointer was.
  let stroke: (readonly [number, number])[] = [];
  let at: readonly [number, number] | undefined;
  let from: readonly [number, number] | undefined;
  // Of the press: where, when and how large; how long it took.
  let down: PointerEvent | undefined;
  let downMs = 0;
  let holdMs = 0;
  let aside: readonly [number, number] = [0, 0];

  const readClock = ({ timeStamp }: Event): void => {
    fraction ??= timeStamp % 1;
    const far = Math.abs((timeStamp % 1) - fraction);
    if (far > 0.15 && far < 0.85) off++;
  };
  const finish = (): void => {
    if (!isOver) told.done(steps);
    isOver = true;
  };
  const ends = [
    listen(window, "pointermove", (event) => {
      if (!event.isTrusted) return;
      readClock(event);
      const { clientX, clientY, timeStamp } = event as PointerEvent;
      const raw = (event as PointerEvent).getCoalescedEvents?.() ?? [];
      if (timeStamp - movedMs > PAUSE_MS) firstMs = timeStamp;
      if (timeStamp - movedMs > STROKE_GAP_MS || stroke.length > 255) stroke = at ? [at] : [];
      for (let i = 0; i < raw.length; i++) stroke[stroke.length] = [raw[i]!.clientX, raw[i]!.clientY];
      if (!raw.length) stroke[stroke.length] = [clientX, clientY];
      movedMs = timeStamp;
      moves++;
      if (at) way += Math.hypot(clientX - at[0], clientY - at[1]);
      at = [clientX, clientY];
      from ??= at;
    }),
    listen(button, "pointerdown", (event) => {
      readClock(event);
      down = event as PointerEvent;
      downMs = down.timeStamp;
      const { left, top, width, height } = button.getBoundingClientRect();
      aside = [down.clientX - left - width / 2, down.clientY - top - height / 2];
    }),
    listen(window, "pointerup", ({ timeStamp }) => {
      if (down) holdMs = timeStamp - downMs;
    }),
    listen(button, "keydown", (event) => {
      if ((event as KeyboardEvent).repeat) return;
      readClock(event);
      down = undefined;
      keyMs = performance.now();
      downMs = event.timeStamp;
      holdMs = 0;
    }),
    listen(window, "keyup", ({ timeStamp }) => {
      holdMs ||= timeStamp - downMs;
      // Enter presses a button as it goes down: the press is known before its end is.
      const last = steps[steps.length - 1];
      if (last?.press && !last.press.holdMs) (last.press as { holdMs: number }).holdMs = round(holdMs);
      if (steps.length >= stepUp.steps) finish();
    }),
  ];

  const readPress = (input: Step["input"]): Press | undefined => {
    if (input === "assistive") return undefined;
    const hold = { holdMs: round(holdMs), off };
    if (input === "keyboard" || !down) return hold;
    const here = [down.clientX, down.clientY] as const;
    const reachPx = from ? Math.hypot(here[0] - from[0], here[1] - from[1]) : 0;
    const sums = { moves, wayPx: round(way), reachPx: round(reachPx), travelMs: round(moves ? downMs - firstMs : 0) };
    const shape = shapeOf(stroke);
    from = at = here;
    stroke = [];
    return {
      ...hold,
      ...sums,
      ...shape,
      offX: round(aside[0]),
      offY: round(aside[1]),
      sizePx: round(Math.max(down.width, down.height)),
    };
  };

  ends[ends.length] = listen(button, "click", (event) => {
    if (closed || steps.length >= stepUp.steps) return;
    const now = performance.now();
    const input = meansOf(down?.pointerType ?? "", now - keyMs);
    const press = readPress(input);
    steps[steps.length] = {
      input,
      afterMs: Math.round(now - lastMs),
      trusted: event.isTrusted,
      ...(press && { press }),
    };
    lastMs = now;
    moves = way = movedMs = off = 0;
    down = undefined;
    if (steps.length >= stepUp.steps) {
      // With the key still down, its end is waited for.
      if (input !== "keyboard" || holdMs) finish();
      else setTimeout(finish, SAME_PRESS_MS);
      return;
    }
    // Until then the button keeps the focus and does nothing.
    closed = true;
    told.waiting(true, steps.length);
    setTimeout(() => {
      closed = false;
      told.waiting(false, steps.length);
    }, stepUp.waitMs + EARLY_MS);
  });
  return () => {
    isOver = true;
    for (const end of ends) end();
  };
}

const NOWHERE = [0, 0] as const;

/** How far the last stroke leaves the line between its ends, its length, and its longest step against the mean. */
function shapeOf(stroke: readonly (readonly [number, number])[]): Partial<Press> {
  const first = stroke[0] ?? NOWHERE;
  const last = stroke[stroke.length - 1] ?? NOWHERE;
  const x1 = first[0],
    y1 = first[1],
    x2 = last[0],
    y2 = last[1];
  const strokePx = Math.hypot(x2 - x1, y2 - y1);
  let bend = 0;
  let sum = 0;
  let longest = 0;
  for (let i = 1; i < stroke.length; i++) {
    const x = stroke[i]![0],
      y = stroke[i]![1];
    const step = Math.hypot(x - stroke[i - 1]![0], y - stroke[i - 1]![1]);
    sum += step;
    longest = Math.max(longest, step);
    bend = Math.max(bend, Math.abs((x2 - x1) * (y1 - y) - (x1 - x) * (y2 - y1)) / (strokePx || 1));
  }
  const pace = sum > 0 ? (longest * (stroke.length - 1)) / sum : 0;
  return { strokePx: round(strokePx), bendPx: round(bend), pace: round(pace) };
}

/** A click that neither a pointer nor a key made comes from assistive tools. A pen is used like a finger. */
function meansOf(kind: string, keyAgeMs: number): Step["input"] {
  if (kind) return kind === "mouse" ? "pointer" : "touch";
  return keyAgeMs < SAME_PRESS_MS ? "keyboard" : "assistive";
}
