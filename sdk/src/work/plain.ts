/**
 * plain.js: the work in JavaScript alone, for pages without workers and workers without WebAssembly. In the page it
 * starts a worker of its own text where the page allows one, else it solves in slices.
 */

import type { Work } from "../protocol";
import { bare, ofDocument } from "../safe";
import type { Report } from "./messages";
import { openPlain } from "./salsa";
import { openSolver } from "./scrypt";
import { solveInSlices } from "./slices";

/** Starts a worker; `hear` is called with each report, and without one when it fails. */
export type Start = (url: string, hear: (report?: Report) => void) => Worker | undefined;

interface Scope {
  onmessage: (event: { readonly data: Work }) => void;
  postMessage(report: Report): void;
  readonly [hook: string]: unknown;
}

const LOOK_MS = 100;
const scope = self as unknown as Scope;

async function solveApart(
  work: Work,
  source: string,
  isOver: () => boolean,
  start: Start,
): Promise<number[] | undefined> {
  const answer = await fetch(source);
  const url = URL.createObjectURL(new Blob([await answer.text()], bare({ type: "text/javascript" })));
  return new Promise((resolve) => {
    const end = (found?: number[]): void => {
      clearInterval(watch);
      worker?.terminate();
      resolve(found);
    };
    const watch = setInterval(() => isOver() && end([]), LOOK_MS);
    const worker = start(url, (report) => {
      if (report && !report.found) worker?.postMessage(work);
      else end(report?.found);
    });
  });
}

export async function solvePlainly(work: Work, isOver: () => boolean, start?: Start | false): Promise<number[]> {
  const found = start && source && (await solveApart(work, source, isOver, start).catch(() => undefined));
  return found || solveInSlices(work, isOver);
}

// In a document that runs this file without a script element, the work stays in the page.
const source = "document" in self ? (ofDocument("currentScript") as HTMLScriptElement | null)?.src : "";
const handOver = scope["agentgate:plain"] as ((solve: typeof solvePlainly) => void) | undefined;
if (handOver) handOver(solvePlainly);
else {
  scope.onmessage = ({ data }) => {
    const solver = openSolver(data, openPlain);
    while (!solver.tries(65536));
    scope.postMessage({ found: solver.found });
  };
  scope.postMessage({});
}
