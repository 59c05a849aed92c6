/** The outcome that a list shows for a decision. */

import type { Decision, Outcome } from "../api/types.gen";

/** What happened, or what enforce mode would have done instead. */
export function worst(decision: Decision): { outcome: Outcome; would: boolean } {
  return decision.wouldDecision
    ? { outcome: decision.wouldDecision, would: true }
    : { outcome: decision.outcome, would: false };
}
