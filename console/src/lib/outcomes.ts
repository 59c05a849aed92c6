/** Outcomes of decisions: what happened, and what enforce mode would have done. */

import type { Decision, Outcome } from "../api/types.gen";

/** Requests below which a percentage says nothing. */
export const ENOUGH = 200;

/** What happened, or what enforce mode would have done instead. */
export function worst(decision: Decision): { outcome: Outcome; would: boolean } {
  return decision.wouldDecision
    ? { outcome: decision.wouldDecision, would: true }
    : { outcome: decision.outcome, would: false };
}
