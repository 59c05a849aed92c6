/** Who solves the work: a worker where there can be one, else the page itself. */

import { bare } from "../safe";
import type { Work } from "../protocol";
import { loadKit, WORKER } from "../kit";
import { fileUrl, loadText, sameOrigin, trusted } from "../script";
import type { Facts } from "../signals/facts";
import type { Report } from "./messages";

/** A worker that has not even said hello by then is taken for blocked. */
const HELLO_MS = 2000;

export interface Crew {
  facts?: Facts;
  /** What the program answered in the worker. */
  instrument?: string;
  renderer?: string;
  /** Called when the renderer is known. */
  onRenderer?: () => void;
  solve(work: Work): Promise<number[]>;
  end(): void;
}

let code: Promise<string | undefined> | undefined;

/** Fetch the worker's code, once for all checks of the page; a failure is tried again by the next check. */
export function fetchCode(): Promise<string | undefined> {
  code ??= loadText(fileUrl(WORKER)).then((text) => {
    if (!text) code = undefined;
    return text;
  });
  return code;
}

/** Find somebody to solve the work. Always gives somebody, however little the page allows. */
export async function hire(challengeId: string, program: string, signal: AbortSignal): Promise<Crew> {
  const beside = loadText(program, signal);
  const text = await fetchCode();
  const behind = await beside;
  let crew: Crew | undefined;
  if (text && behind && !signal.aborted) {
    const url = URL.createObjectURL(new Blob([text, "\n;", behind], bare({ type: "text/javascript" })));
    crew = await start(url, challengeId);
    URL.revokeObjectURL(url);
  }
  // A policy without `worker-src blob:` may well allow a file of the page's own origin.
  if (!crew && sameOrigin && !signal.aborted) crew = await start(fileUrl(WORKER), challengeId, program);
  return crew ?? onPage();
}

/** Start a worker; undefined when it fails or does not say hello. */
function start(url: string, name: string, program?: string): Promise<Crew | undefined> {
  return new Promise((resolve) => {
    try {
      // Where there are no workers this throws like a forbidden one.
      const worker = new Worker(trusted(url), bare({ name }));
      if (program) worker.postMessage({ instrument: program });
      lead(worker, resolve);
    } catch {
      resolve(undefined);
    }
  });
}

function lead(worker: Worker, hello: (crew: Crew | undefined) => void): void {
  let done: (found: number[] | undefined) => void = () => 0;
  const end = (): void => worker.terminate();
  const page = onPage();
  const crew: Crew = {
    async solve(work) {
      const found = await new Promise<number[] | undefined>((resolve) => {
        done = resolve;
        worker.postMessage({ work });
      });
      return found ?? page.solve(work);
    },
    end() {
      end();
      page.end();
    },
  };
  const lose = (): void => {
    end();
    hello(undefined);
    done(undefined);
  };
  worker.onerror = (event) => {
    event.preventDefault();
    lose();
  };
  worker.onmessage = (event) => {
    const { facts, instrument, renderer, found } = bare(event.data as Report);
    if (facts) crew.facts = facts;
    if (instrument) crew.instrument = instrument;
    if (renderer !== undefined) {
      crew.renderer = renderer;
      crew.onRenderer?.();
    }
    if (found) done(found);
    hello(crew);
  };
  setTimeout(() => crew.facts || lose(), HELLO_MS);
}

function onPage(): Crew {
  let ended = false;
  return {
    async solve(work) {
      return (await loadKit()).solveInSlices(work, () => ended);
    },
    end() {
      ended = true;
    },
  };
}
