/**
 * The page's elements and events, reached in ways that hold where a page has replaced methods or named elements like
 * properties. Elsewhere in this folder syntax is preferred to methods for that reason.
 */

import { bare } from "./safe";

const { createElement, getElementsByClassName } = Document.prototype;
const { addEventListener, removeEventListener } = EventTarget.prototype;

/** Set the cookie, whatever element may be called `cookie`. */
export function setCookie(text: string): void {
  Reflect.set(Document.prototype, "cookie", text, document);
}

export function make<K extends keyof HTMLElementTagNameMap>(name: K): HTMLElementTagNameMap[K] {
  return createElement.call(document, name) as HTMLElementTagNameMap[K];
}

/** The live list of declared widgets; asking it costs next to nothing. */
export const declared = getElementsByClassName.call(document, "agentgate");

type Handler = (event: Event) => void;

/**
 * Listen; gives back what ends it. A form's fields cannot get in the way as they could with `form.addEventListener`.
 */
export function listen(target: EventTarget, type: string, handler: Handler, options = capturing): () => void {
  addEventListener.call(target, type, handler, options);
  return () => removeEventListener.call(target, type, handler, options);
}

export const passive = bare({ capture: true, passive: true }) as AddEventListenerOptions;
const capturing = bare({ capture: true }) as AddEventListenerOptions;

/** Call what the page gave us; its mistakes are its own and show in its console, but do not stop us. */
export function callBack(callback: unknown, ...values: unknown[]): void {
  if (typeof callback !== "function") return;
  try {
    callback(...values);
  } catch (mistake) {
    setTimeout(() => {
      throw mistake;
    });
  }
}
