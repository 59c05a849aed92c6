/** What the page asked for: options of a call, over the element's attributes, over those of the script element. */

import type { Options } from "../types/agentgate";
import { AgentGateError } from "./errors";
import { bare, ofDocument } from "./safe";
import { script } from "./script";

const CALLBACK = /callback$/i;
const MODE = /^(invisible|managed|interactive)$/;

export interface Settings extends Options {
  action: string;
  timeout: number;
  checkTimeout: number;
}

/** Options as they come; what is undefined is not given. */
export type Given = { readonly [name in keyof Options]?: Options[name] | undefined };

/** The page may define its function later than the element that names it. */
function byName(name: string): (...values: unknown[]) => void {
  return (...values) => {
    const named = (window as unknown as Record<string, unknown>)[name];
    if (typeof named === "function") named(...values);
  };
}

/** Put the sources together; later ones win. */
export function settle(...sources: readonly (Given | DOMStringMap | undefined)[]): Settings {
  const settings = bare({}) as Record<string, unknown>;
  for (const source of [script?.dataset, ...sources]) {
    const own = bare({ ...source }) as Record<string, unknown>;
    for (const name in own) {
      const value = own[name];
      if (value !== undefined) {
        settings[name] = typeof value === "string" && CALLBACK.test(name) ? byName(value) : value;
      }
    }
  }
  if (typeof settings.sitekey !== "string" || !settings.sitekey) {
    throw new AgentGateError("site_invalid", { message: "The option sitekey is missing." });
  }
  settings.action = settings.action || "submit";
  settings.timeout = Number(settings.timeout) || 30_000;
  settings.checkTimeout = Number(settings.checkTimeout) || 300_000;
  // The attribute is `data-cdata`, as elsewhere.
  settings.cData ??= settings.cdata;
  if (!MODE.test(settings.mode as string)) settings.mode = undefined;
  return settings as unknown as Settings;
}

/** Whether an option is switched off, as a value or as the text of an attribute. */
export function isOff(value: unknown): boolean {
  return value === false || value === "false";
}

export function languageOf(settings: Settings): string {
  const asked = settings.language;
  return asked && asked !== "auto" ? asked : ofDocument("documentElement").lang || navigator.language || "en";
}
