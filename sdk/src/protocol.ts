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
  /** Where the button stands for each press, in percent of the free width and height of its field. */
  readonly places: readonly (readonly [x: number, y: number])[];
  readonly probes?: Draw;
  /** A driver controls the browser: the reason is shown at once. */
  readonly assistant?: boolean;
}

export interface Challenge {
  readonly challengeId: string;
  readonly expiresAt: string;
  readonly show: boolean;
  readonly widget?: Mode;
  readonly work: Work;
  readonly instrument: string;
  readonly probes?: Draw;
  readonly privateToken?: string;
  readonly stepUp?: StepUp;
}

/** How a press came about, in sums since the one before. */
export interface Press {
  readonly holdMs: number;
  readonly moves?: number;
  readonly off?: number;
  readonly wayPx?: number;
  readonly reachPx?: number;
  readonly travelMs?: number;
  readonly offX?: number;
  readonly offY?: number;
  readonly sizePx?: number;
  /** Of the last stroke: how long and how bent it is, and its longest step divided by the mean of its steps. */
  readonly strokePx?: number;
  readonly bendPx?: number;
  readonly pace?: number;
}

export interface Step {
  readonly input: "pointer" | "touch" | "keyboard" | "assistive";
  readonly afterMs: number;
  readonly trusted: boolean;
  readonly press?: Press;
}

/** What a person did: the presses, and the free width and height of the field that the button moved in. */
export interface Presses {
  readonly steps: readonly Step[];
  readonly field: readonly [width: number, height: number];
}

export interface Answer extends Presses {
  readonly kind: string;
  readonly probes: unknown;
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
