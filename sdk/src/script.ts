/** Our own script element: where the service is, what the page asked for, and how further files are loaded. */

import { readAddress } from "./address";
import { AgentGateError } from "./errors";
import { make } from "./page";
import { bare, ofDocument } from "./safe";

interface ScriptUrls {
  createScriptURL(url: string): string;
}
interface TrustedTypes {
  createPolicy(name: string, rules: ScriptUrls): ScriptUrls;
}

function ownScript(): HTMLScriptElement | null {
  const current = ofDocument("currentScript");
  if (current instanceof HTMLScriptElement) return current;
  const { querySelector } = Document.prototype;
  return querySelector.call(document, 'script[src*="/agentgate.js"]') as HTMLScriptElement | null;
}

export const script = ownScript();
export const address = readAddress(script?.src || "/sdk/v1/agentgate.js", location.href);
const { files } = address;
/** The service itself, which may stand below a path of the site. */
const service = new URL("../../", files);
export const sameOrigin = service.origin === location.origin;

export function serviceUrl(path: string): string {
  return new URL(path[0] === "/" ? "." + path : path, service).href;
}

export function fileUrl(name: string): string {
  return new URL(name, files).href;
}

function makePolicy(): ScriptUrls {
  const plain = { createScriptURL: (url: string) => url };
  try {
    const types = (window as unknown as { trustedTypes?: TrustedTypes }).trustedTypes;
    return types ? types.createPolicy("agentgate", plain) : plain;
  } catch {
    // The page's policy names others only. Plain addresses work wherever it does not insist.
    return plain;
  }
}

const policy = makePolicy();

export function trusted(url: string): string {
  return policy.createScriptURL(url);
}

const named = globalThis as unknown as Record<string, unknown>;

/**
 * Load a script of the service that calls `globalThis["agentgate:" + name]` once, and give back what it calls with.
 * A script that cannot be loaded is `network`; one that does not call is `error`.
 */
export function loadScript<T>(url: string, name: string): Promise<T> {
  const hook = "agentgate:" + name;
  const element = make("script");
  const loaded = new Promise<T>((resolve, reject) => {
    named[hook] = resolve;
    element.onload = () => reject(new AgentGateError("error"));
    element.onerror = () => reject(new AgentGateError("network"));
  });
  const tidy = (): void => {
    delete named[hook];
    element.remove();
  };
  loaded.then(tidy, tidy);
  const append = (node: HTMLElement): unknown =>
    (ofDocument("head") || ofDocument("documentElement")).appendChild(node);
  const sent = <T extends HTMLLinkElement | HTMLScriptElement>(node: T): T => {
    node.crossOrigin = "anonymous";
    // Without a secure context it is the referrer that tells the service which page asks.
    node.referrerPolicy = "origin";
    node.nonce = script?.nonce ?? "";
    return node;
  };
  const run = (): void => {
    sent(element).src = trusted(url);
    append(element);
  };
  const link = sent(make("link"));
  // The load event of the page waits for a script, not for a preload: a service that hangs does not hold the page.
  if (ofDocument("readyState") === "complete" || !link.relList?.supports?.("preload")) run();
  else {
    link.rel = "preload";
    link.as = "script";
    link.href = url;
    const start = (): void => {
      if (!link.isConnected) return;
      run();
      link.remove();
    };
    link.onload = link.onerror = start;
    append(link);
    // Nothing waits for the script any more. Documents that never load a preload end here too.
    addEventListener("load", start);
  }
  return loaded;
}

const loaded = bare({}) as Record<string, Promise<unknown> | undefined>;

/**
 * Load a file of the SDK that hands something over, once for the whole page; a failure is tried again by the next call.
 */
export function loadPart<T>(name: string): Promise<T> {
  const loading = (loaded[name] ??= loadScript(fileUrl(name + ".js"), name));
  loading.then(undefined, () => {
    loaded[name] = undefined;
  });
  return loading as Promise<T>;
}

/** Fetch the text of a file of the service. */
export async function loadText(url: string): Promise<string | undefined> {
  try {
    const answer = await fetch(url);
    return answer.ok ? await answer.text() : undefined;
  } catch {
    return undefined;
  }
}
