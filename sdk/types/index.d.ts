/** What `@agentgate/sdk` exports: the types of the SDK, and how it is loaded from the service. */

import type { AgentGate, Options, Result } from "./agentgate";

export * from "./agentgate";

/** The options of a widget that are values and not callbacks. */
export const OPTIONS: readonly (keyof Options)[];

export interface LoadOptions {
  /** The nonce of the page's Content-Security-Policy. */
  nonce?: string;
}

/** Loads agentgate.js from its address, once for a page; rejects with the code `network` when that fails. */
export function load(src: string, options?: LoadOptions): Promise<AgentGate>;

/** A widget that may still be on its way. */
export interface Mounted {
  execute(): Promise<Result>;
  reset(): void;
  getResponse(): string | undefined;
  isExpired(): boolean;
  remove(): void;
}

/** Puts a widget into an element as soon as the SDK is there. */
export function mount(element: HTMLElement, src: string, options: Options & LoadOptions): Mounted;
