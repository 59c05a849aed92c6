/** The evidence is collected by a chunk of its own, loaded as soon as the page is. This is how the rest talks to it. */

import { listen, passive } from "./page";
import { loadPart } from "./script";
import type { Crew } from "./work/crew";

export interface Evidence {
  countUntrusted(): void;
  /** At a submit: 1 where fields were filled in since the last check, 2 where nobody pressed anything either. */
  isLate(): number;
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
  "submit",
];

let early: Event[] = [];
const ends: (() => void)[] = [];

export function keepEvents(): void {
  const keep = (event: Event): void => {
    if (early.length < MOST_EVENTS) early[early.length] = event;
  };
  for (const type of TYPES) ends[ends.length] = listen(window, type, keep, passive);
}

let part: Evidence | undefined;

export const isLate = (): number => part?.isLate() ?? 0;

/** Load it, which starts to watch; once for the whole page. */
export async function loadEvidence(): Promise<Evidence> {
  part = await loadPart<Evidence>("evidence");
  for (const end of ends) end();
  part.replay(early);
  early = [];
  return part;
}
