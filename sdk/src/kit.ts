/** What the page needs for a check only, and therefore comes with worker.js: its evidence, and solving without workers. */

import { fileUrl, loadScript } from "./script";
import type { readSignals } from "./signals/page";
import type { solveInSlices } from "./work/slices";

export const WORKER = "worker.js";

export interface Kit {
  readonly readSignals: typeof readSignals;
  readonly solveInSlices: typeof solveInSlices;
}

let loading: Promise<Kit> | undefined;

/** Load it once for all checks of the page; a failure is tried again by the next check. */
export function loadKit(): Promise<Kit> {
  loading ??= loadScript<Kit>(fileUrl(WORKER), "kit");
  loading.then(undefined, () => {
    loading = undefined;
  });
  return loading;
}
