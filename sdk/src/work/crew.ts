/** Who solves the work: a worker where there can be one, else the page itself. */

import type { Work } from "../protocol";
import { bare } from "../safe";
import { fileUrl, loadPart, loadText, sameOrigin, trusted } from "../script";
import type { Facts } from "../signals/facts";
import type { Report } from "./messages";
import type { solvePlainly } from "./plain";

/** A worker that has said nothing by then is taken for blocked. */
const HELLO_MS = 2000;

const WORKER = "worker.js";

const { toString } = Function.prototype;

export interface Crew {
  facts: Facts | undefined;
  renderer: string | undefined;
  solve(work: Work): Promise<number[]>;
  /** Run a challenge's program outside of the page; gives its answer, undefined where there is no worker. */
  run(program: (() => string) | undefined): Promise<string | undefined>;
  end(): void;
}

let code: Promise<string | undefined> | undefined;

/** Fetch the worker's code, once for all checks of the page; a failure is tried again by the next check. */
function fetchCode(): Promise<string | undefined> {
  code ??= loadText(fileUrl(WORKER)).then((text) => {
    if (!text) code = undefined;
    return text;
  });
  return code;
}

/**
 * Start a worker before there is anything to solve: that takes as long as fetching the challenge. Always returns a
 * crew, however little the page allows.
 */
export function hire(): Crew {
  const workers: (Worker | undefined)[] = [];
  let isOver = false;
  let isLost = false;
  let mayUseBlobs = true;
  let solved: (found?: number[]) => void = () => 0;

  /** Resolves with the worker when it first says something, with undefined when it fails before. */
  const open = (url: string): Promise<Worker | undefined> =>
    new Promise((resolve) => {
      const worker = start(url, (report) => {
        resolve(report && worker);
        isLost = !report;
        if (isLost || report!.found) solved(report?.found);
        crew.facts ??= report?.facts;
        crew.renderer ??= report?.renderer;
      });
      workers[0] = worker;
    });
  const openAny = async (): Promise<Worker | undefined> => {
    const text = await fetchCode();
    if (isOver || !text) return undefined;
    const worker = await open(blobOf(text));
    mayUseBlobs = !!worker;
    // A policy without `worker-src blob:` may well allow a file of the page's own origin.
    return worker || !sameOrigin || isOver ? worker : open(fileUrl(WORKER));
  };

  const hired = openAny();
  const crew: Crew = {
    facts: undefined,
    renderer: undefined,
    async solve(work) {
      const worker = await hired;
      const found =
        worker &&
        !isLost &&
        new Promise<number[] | undefined>((resolve) => {
          solved = resolve;
          worker.postMessage(work);
        });
      return (await found) || (await loadPart<typeof solvePlainly>("plain"))(work, () => isOver, mayUseBlobs && start);
    },
    // In a worker of its own: no strict policy lets one that is running take up a text as code.
    run: (program) =>
      new Promise((resolve) => {
        const text = program && mayUseBlobs && textOf(program);
        if (!text) return resolve(undefined);
        workers[1] = start(blobOf(`postMessage({answer:(${text})()})`), (report) => resolve(report?.answer));
      }),
    end() {
      isOver = true;
      for (const worker of workers) worker?.terminate();
    },
  };
  return crew;
}

/** The source of a function; undefined on a page that replaced what tells it. */
function textOf(code: () => string): string | undefined {
  try {
    return Reflect.apply(toString, code, []) as string;
  } catch {
    return undefined;
  }
}

function blobOf(text: string): string {
  return URL.createObjectURL(new Blob([text], bare({ type: "text/javascript" })));
}

/** Start a worker. `hear` is called with each report, and without one when it fails or has said nothing for long. */
function start(url: string, hear: (report?: Report) => void): Worker | undefined {
  let hasSpoken = false;
  try {
    // Where there are no workers this throws like a forbidden one.
    const worker = new Worker(trusted(url));
    const lose = (): void => {
      worker.terminate();
      URL.revokeObjectURL(url);
      hear();
    };
    worker.onerror = (event) => {
      event.preventDefault();
      lose();
    };
    worker.onmessage = (event) => {
      if (!hasSpoken) URL.revokeObjectURL(url);
      hasSpoken = true;
      hear(bare(event.data as Report));
    };
    setTimeout(() => hasSpoken || lose(), HELLO_MS);
    return worker;
  } catch {
    hear();
    return undefined;
  }
}
