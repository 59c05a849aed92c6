/**
 * Probe programs of a challenge, and their results. `docs/contributing/detection-internals.md` explains the measures.
 */

/** A box's CSS, or its CSS and its children. */
export type Box = string | readonly (string | Box)[];
export type Measure = readonly unknown[];
export type Program = readonly [Box, readonly Measure[]];

export interface Draw {
  /** Says which programs these are; only the service can read it. */
  readonly draw: string;
  readonly programs: readonly Program[];
}

export interface Answers {
  readonly draw: string;
  /**
   * `none` where nothing is laid out, `error` where the page lets none run; null for one that the window is too small
   * for.
   */
  readonly answers: readonly (readonly number[] | null)[] | "none" | "error";
}

export type Probe = (draw: Draw) => Promise<Answers>;
