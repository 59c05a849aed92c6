/** The evidence from the page. No canvas, no audio, no fonts, no storage: nothing that tells two people apart. */

import type { Crew } from "../work/crew";
import { bare } from "../safe";
import { findAutomation } from "./automation";
import { readFacts } from "./facts";
import { findPatched } from "./patched";

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
export async function readPermissions(): Promise<object | undefined> {
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

export function readSignals({ facts, renderer }: Crew, permissions: object | undefined, durationMs: number): object {
  const { width, height } = screen;
  return {
    ...readFacts(),
    webdriver: navigator.webdriver === true,
    automation: attempt(findAutomation),
    headless: attempt(isHeadless),
    renderer,
    languages: attempt(() => [...navigator.languages]),
    plugins: navigator.plugins?.length,
    screen: { width, height, outerWidth, outerHeight },
    touchPoints: navigator.maxTouchPoints,
    patched: attempt(findPatched),
    permissions,
    worker: facts,
    secureContext: isSecureContext,
    durationMs,
  };
}
