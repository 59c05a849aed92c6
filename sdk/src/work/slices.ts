/** Solving in the page itself, in slices too short to notice, for pages that allow no worker. */

import type { Work } from "../protocol";
import { openPlain } from "./salsa";
import { openSolver } from "./scrypt";

/** The page stands still for no longer than this at a time. */
const SLICE_MS = 8;
/** So often it looks at the clock; seldomer only when that is quick, because code that is still cold is far slower. */
const FIRST_TRIES = 8;
const MOST_TRIES = 128;

/** Between slices the page does whatever waits: input, painting, timers. */
export async function solveInSlices(work: Work, isOver: () => boolean): Promise<number[]> {
  const solver = openSolver(work, openPlain);
  let tries = FIRST_TRIES;
  while (!isOver()) {
    let now = performance.now();
    const until = now + SLICE_MS;
    while (now < until) {
      if (solver.tries(tries)) return solver.found;
      const looked = performance.now();
      if (looked - now < 1 && tries < MOST_TRIES) tries *= 2;
      now = looked;
    }
    await pause();
  }
  return solver.found;
}

/** Let the page take its turn. A message arrives at once also in hidden tabs, where timers hardly run. */
function pause(): Promise<void> {
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(0);
  });
}
