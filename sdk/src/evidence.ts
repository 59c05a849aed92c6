/** The evidence is collected by a chunk of its own, loaded as soon as the page is. This is how the rest talks to it. */

import { listen, passive } from "./page";
import { loadPart } from "./script";
import type { Crew } from "./work/crew";

export interface Evidence {
  countUntrusted(): void;
  /** At a submit: whether fields were filled in since the last check. */
  isLate(): boolean;
  /** Told the stack of whoever calls the SDK. */
  noteCaller(stack: string | undefined): void;
  readSignals(crew: Crew, durationMs: number): Promise<object>;
  sumInput(): object;
  /** Told what happened before the chunk was there. */
  replay(events: readonly Event[]): void;
}

/** Who is quicker than the chunk is seen all the same: events wait for it, at most so many. */
const MOST_EVENTS = 500;
const TYPES = [
  "pointermove",
  "touchstart",
  "keydown",
  "scroll",
  "click",
  "pointerdown",
  "pointerup",
  "keyup",
  "beforeinput",
  "focusin",
];

let early: Event[] = [];
const ends: (() => void)[] = [];

export function keepEvents(): void {
  const keep = (event: Event): void => {
    if (early.length < MOST_EVENTS) early[early.length] = event;
  };
  for (let at = 0; at < TYPES.length; at++) ends[at] = listen(window, TYPES[at]!, keep, passive);
}

function takeEvents(): readonly Event[] {
  const taken = early;
  early = [];
  for (let at = 0; at < ends.length; at++) ends[at]!();
  return taken;
}

let part: Evidence | undefined;

export const isLate = (): boolean => !!part?.isLate();

/** Load it, which starts to watch; once for the whole page. */
export async function loadEvidence(): Promise<Evidence> {
  part = await loadPart<Evidence>("evidence");
  part.replay(takeEvents());
  return part;
}
