/** What page and worker tell each other. */

import type { Work } from "../protocol";
import type { Facts } from "../signals/facts";

/** To the worker: something to solve, or the address of the program where it could not be put beside the worker's code. */
export interface Order {
  readonly work?: Work;
  readonly instrument?: string;
}

/** From the worker: the first has the facts, one has what the program answered, one per order has the solution. */
export interface Report {
  readonly facts?: Facts;
  readonly renderer?: string;
  readonly instrument?: string;
  readonly found?: number[];
}
