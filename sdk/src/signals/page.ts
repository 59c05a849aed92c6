/** The evidence from the page. No canvas, no audio, no fonts, no storage: nothing that tells two people apart. */

import type { Crew } from "../work/crew";
import { bare } from "../safe";
import { findAutomation } from "./automation";
import { readFacts } from "./facts";
import { readResidue } from "./residue";

interface Brands {
  readonly userAgentData?: { readonly brands?: readonly { readonly brand: string }[] };
}

const HEADLESS = /headless/i;

function isHeadless(): boolean {
  const brands = (navigator as Brands).userAgentData?.brands ?? [];
  for (let i = 0; i < brands.length; i++) if (HEADLESS.test(brands[i]!.brand)) return true;
  return HEADLESS.test(navigator.userAgent);
}

/** Headless browsers have said "denied" here and "prompt" there. */
async function readPermissions(): Promise<object | undefined> {
  try {
    const { state } = await navigator.permissions.query(bare({ name: "notifications" as PermissionName }));
    return { notification: Notification.permission, query: state };
  } catch {
    return undefined;
  }
}

/** A value that cannot be read on some page or browser is left out, and never stops the check. */
function attempt<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}

/** Sizes of screen and window: whether they can be those of a window at all is the service's to say. */
function readWindow(): object {
  const { width, height, availWidth, availHeight } = screen;
  const { outerWidth, outerHeight, innerWidth, innerHeight, screenX, screenY, devicePixelRatio: ratio } = window;
  const isWhole = attempt(() => matchMedia("(display-mode:fullscreen)").matches) === true;
  const inner = { innerWidth, innerHeight, screenX, screenY, ratio, isWhole, isTop: window.top === window.self };
  return { width, height, availWidth, availHeight, outerWidth, outerHeight, ...inner };
}

export async function readSignals({ facts, renderer }: Crew, durationMs: number): Promise<object> {
  return {
    ...readFacts(),
    webdriver: navigator.webdriver === true,
    automation: attempt(findAutomation),
    headless: attempt(isHeadless),
    renderer,
    plugins: navigator.plugins?.length,
    screen: readWindow(),
    touchPoints: navigator.maxTouchPoints,
    permissions: await readPermissions(),
    ...attempt(readResidue),
    worker: facts,
    durationMs,
  };
}
