/** What debuggers and drivers leave in a page, seen from a fresh frame that no script of the page has touched. */

import { make } from "../page";
import { ofDocument } from "../safe";
import { type Facts, readFacts } from "./facts";
import { findPatched } from "./patched";

const CALLER = /pptr:|__puppeteer_evaluation|UtilityScript|__playwright|__selenium|__webdriver|__driver_/;

export interface Residue {
  /** What the frame says of the browser; absent where the page lets nobody have a frame. */
  readonly frame?: Facts;
  readonly patched: readonly string[];
  readonly injected: readonly string[];
  readonly debugger: boolean;
}

let isCalled = false;

/** Remember whether a driver's script has called us: the stack names it. */
export function noteCaller(stack: string | undefined): void {
  if (stack && CALLER.test(stack)) isCalled = true;
}

type Bare = Window & typeof globalThis & { Error: { prepareStackTrace?: () => string } };

export function readResidue(): Residue {
  const frame = make("iframe");
  frame.style.display = "none";
  frame.setAttribute("aria-hidden", "true");
  ofDocument("documentElement").appendChild(frame);
  try {
    const bare = frame.contentWindow as Bare | null;
    const source = bare?.Function.prototype.toString ?? Function.prototype.toString;
    const injected = bare ? findInjected(bare, source) : [];
    if (isCalled) injected[injected.length] = "call";
    return {
      ...(bare && { frame: readFacts(bare.navigator, bare.Intl) }),
      patched: findPatched(source),
      injected,
      debugger: bare ? isInspected(bare) : false,
    };
  } finally {
    frame.remove();
  }
}

/**
 * Functions in the page that are the browser's by their text, have the name they are found by, and are in no other
 * window.
 */
function findInjected(bare: Bare, source: () => string): string[] {
  const found: string[] = [];
  for (const name of Object.getOwnPropertyNames(window)) {
    if (name in bare || !/^[_a-z$]/.test(name)) continue;
    const value = Reflect.getOwnPropertyDescriptor(window, name)?.value as unknown;
    if (typeof value !== "function" || value.name !== name || "prototype" in value) continue;
    if (/\[native code\]/.test(source.call(value as never))) found[found.length] = name.slice(0, 40);
  }
  return found;
}

/** A console that somebody listens to writes down where an error comes from; else nobody asks for that. */
function isInspected({ console, Error: Failure }: Bare): boolean {
  let looks = 0;
  const failure = new Failure();
  Failure.prepareStackTrace = () => {
    looks++;
    return "";
  };
  console.debug(failure);
  return looks > 0;
}
