/** worker.js: reports what a worker sees of the browser, and solves the work. */

import type { Work } from "../protocol";
import { readFacts } from "../signals/facts";
import type { Report } from "./messages";
import { openSolver } from "./scrypt";
import { openWasm } from "./wasm";

interface Scope {
  onmessage: ((event: { readonly data: Work }) => void) | null;
  postMessage(report: Report): void;
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
  // An exception ends this worker: plain.js takes over.
  const solver = openSolver(work, openWasm);
  // Nothing else waits here, and every pause would cost more than it gives: ending the worker stops it at any time.
  while (!solver.tries(65536));
  scope.postMessage({ found: solver.found });
}

scope.onmessage = ({ data }) => solve(data);
scope.postMessage({ facts: readFacts() });
// Before the work: the challenge is still on its way, and nothing else is there to do.
scope.postMessage({ renderer: readRenderer() });
