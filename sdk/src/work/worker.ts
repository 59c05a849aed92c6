/**
 * worker.js. As a worker it says what it sees of the browser, runs the challenge's program and solves the work.
 * In the page it hands over what a check needs there.
 */

import type { Kit } from "../kit";
import { readFacts } from "../signals/facts";
import { readSignals } from "../signals/page";
import type { Order, Report } from "./messages";
import { solveInSlices } from "./slices";
import { makeSolver } from "./solve";

interface Scope {
  readonly name: string;
  onmessage: ((event: { readonly data: Order }) => void) | null;
  postMessage(report: Report): void;
  importScripts(url: string): void;
  [hook: string]: unknown;
}

const scope = self as unknown as Scope;

/** The graphics driver's name. Asked for here, because it can take a tenth of a second, which would stop the page. */
function readRenderer(): string {
  try {
    const gl = new OffscreenCanvas(1, 1).getContext("webgl");
    const detail = gl?.getExtension("WEBGL_debug_renderer_info");
    return (gl && `${gl.getParameter(detail ? detail.UNMASKED_RENDERER_WEBGL : gl.RENDERER)}`) || "";
  } catch {
    return "";
  }
}

function obey({ instrument, work }: Order): void {
  if (instrument) {
    try {
      scope.importScripts(instrument);
    } catch {
      // The page's own answer has to do.
    }
  }
  if (!work) return;
  const solver = makeSolver(work);
  // Nothing else waits here, and every pause would cost more than it gives: ending the worker stops it at any time.
  while (!solver.tries(65536));
  scope.postMessage({ found: solver.found });
  // Last, because only the little that is left waits for it, and not for long.
  scope.postMessage({ renderer: readRenderer() });
}

function serve(): void {
  // The worker's name is the challenge's ID. The program stands behind this file in the same blob and calls this.
  scope["agentgate:" + scope.name] = (instrument: string) => scope.postMessage({ instrument });
  scope.onmessage = ({ data }) => obey(data);
  scope.postMessage({ facts: readFacts() });
}

const handOver = scope["agentgate:kit"] as ((kit: Kit) => void) | undefined;
if (handOver) handOver({ readSignals, solveInSlices });
else serve();
