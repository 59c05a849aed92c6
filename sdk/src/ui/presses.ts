/** The presses of the check's button: by what means, how far apart, and whether the browser vouches for them. */

import { listen } from "../page";
import type { Step, StepUp } from "../protocol";

/** A key press and the click that it makes are no further apart. */
const SAME_PRESS_MS = 1500;

/** Timers and clocks of some browsers are that coarse; too early a press would not count. */
const EARLY_MS = 20;

export interface Told {
  waiting(waiting: boolean): void;
  done(steps: readonly Step[]): void;
}

export function watchPresses(button: HTMLButtonElement, stepUp: StepUp, told: Told): void {
  const steps: Step[] = [];
  let lastMs = performance.now();
  let keyMs = -SAME_PRESS_MS;
  let pointer = "";
  let closed = false;
  listen(button, "pointerdown", (event) => {
    pointer = (event as PointerEvent).pointerType;
  });
  listen(button, "keydown", () => {
    keyMs = performance.now();
  });
  listen(button, "click", (event) => {
    if (closed) return;
    const now = performance.now();
    const input = meansOf(event as PointerEvent, pointer, now - keyMs);
    steps[steps.length] = { input, afterMs: Math.round(now - lastMs), trusted: event.isTrusted };
    lastMs = now;
    if (steps.length >= stepUp.steps) {
      told.done(steps);
      return;
    }
    // Until then the button keeps the focus and does nothing.
    closed = true;
    told.waiting(true);
    setTimeout(() => {
      closed = false;
      told.waiting(false);
    }, stepUp.waitMs + EARLY_MS);
  });
}

/** A click that neither a pointer nor a key made comes from assistive tools. Older browsers do not say it with the click. */
function meansOf({ pointerType, detail }: PointerEvent, pointer: string, keyAgeMs: number): Step["input"] {
  const kind = pointerType || (detail ? pointer || "mouse" : "");
  if (kind) return kind === "touch" ? kind : "pointer";
  return keyAgeMs < SAME_PRESS_MS ? "keyboard" : "assistive";
}
