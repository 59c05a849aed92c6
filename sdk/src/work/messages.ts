/** What a worker tells the page: at first the facts, then the renderer, then the solution of each work it is sent. */

import type { Facts } from "../signals/facts";

export interface Report {
  readonly facts?: Facts;
  readonly renderer?: string;
  readonly found?: number[];
  /** What a program answered, from a worker that runs nothing else. */
  readonly answer?: string;
}
