/** The evidence is collected by a chunk of its own, loaded as soon as the page is. This is how the rest talks to it. */

import { loadPart } from "./script";
import type { Crew } from "./work/crew";

export interface Evidence {
  countUntrusted(): void;
  /** Told the stack of whoever calls the SDK. */
  noteCaller(stack: string | undefined): void;
  readSignals(crew: Crew, durationMs: number): Promise<object>;
  sumInput(): object;
}

/** Load it, which starts to watch; once for the whole page. */
export function loadEvidence(): Promise<Evidence> {
  return loadPart("evidence");
}
