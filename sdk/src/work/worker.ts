/**
 * worker.js. As a worker it says what it sees of the browser and solves the work. In the page it hands over what solves
 * the work there, for pages that allow no worker.
 */

import type { Work } from "../protocol";
import { readFacts } from "../signals/facts";
import type { Report } from "./messages";
import { solveInSlices } from "./slices";
import { openSolver } from "./scrypt";

interface Scope {
  onmessage: ((event: { readonly data: Work }) => void) | null;
  postMessage(report: Report): void;
  readonly [hook: string]: unknown;
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

function solve(work: Work): void {
  const solver = openSolver(work);
  // Nothing else waits here, and every pause would cost more than it gives: ending the worker stops it at any time.
  while (!solver.tries(65536));
  scope.postMessage({ found: solver.found });
}

function serve(): void {
  scope.onmessage = ({ data }) => solve(data);
  scope.postMessage({ facts: readFacts() });
  // Before the work: the challenge is still on its way, and nothing else is there to do.
  scope.postMessage({ renderer: readRenderer() });
}

const handOver = scope["agentgate:worker"] as ((solve: typeof solveInSlices) => void) | undefined;
if (handOver) handOver(solveInSlices);
else serve();
