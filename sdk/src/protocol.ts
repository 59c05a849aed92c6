/** What the browser routes take and answer, schema 1. */

import type { Mode } from "../types/agentgate";
import type { Draw } from "./probes/program";

export interface Work {
  readonly algorithm: string;
  readonly salt: string;
  readonly count: number;
  readonly bits: number;
}

export interface StepUp {
  readonly kind: string;
  readonly steps: number;
  readonly waitMs: number;
  readonly work: Work;
}

export interface Challenge {
  readonly challengeId: string;
  readonly expiresAt: string;
  readonly show: boolean;
  readonly widget?: Mode;
  readonly work: Work;
  readonly instrument: string;
  readonly probes?: Draw;
  readonly stepUp?: StepUp;
}

export interface Step {
  readonly input: "pointer" | "touch" | "keyboard" | "assistive";
  readonly afterMs: number;
  readonly trusted: boolean;
}

export interface Answer {
  readonly kind: string;
  readonly steps: readonly Step[];
  readonly work: readonly number[];
}

export interface Verdict {
  readonly status: "passed" | "step_up";
  readonly token?: string;
  readonly expiresAt?: string;
  readonly decisionId?: string;
  readonly clearance?: { readonly name: string; readonly value: string; readonly expiresAt: string };
  readonly stepUp?: StepUp;
}

export interface Body {
  readonly schema: 1;
  readonly siteKey: string;
  readonly action: string;
  readonly widget?: Mode | undefined;
  readonly [name: string]: unknown;
}
