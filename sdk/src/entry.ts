/** agentgate.js: `window.agentgate`, the custom element, and the widgets that the page declared. */

import type { AgentGate, Result, Target } from "../types/agentgate";
import { makeDisplay } from "./display";
import { defineElement } from "./element";
import { AgentGateError, asError } from "./errors";
import { keepEvents, loadEvidence } from "./evidence";
import { fetchProtected } from "./fetch";
import { type Given, settle, type Settings } from "./options";
import { callBack, listen } from "./page";
import { ofDocument } from "./safe";
import { find, remove, render, watch } from "./registry";
import { handled, resultOf, runCheck, type Stage } from "./run";
import { address } from "./script";

declare const VERSION: string;

/** A check without a widget. If people have to do something, it stands in front of the page. */
async function runAlone(settings: Settings): Promise<Result> {
  const display = makeDisplay(settings, ofDocument("body") ?? ofDocument("documentElement"), true);
  try {
    const stage: Stage = { ask: (stepUp, signal) => display.ask(stepUp, true, signal) };
    const result = resultOf(await runCheck(settings, stage));
    callBack(settings.callback, result.token, result);
    return result;
  } catch (thrown) {
    const error = asError(thrown);
    callBack(settings.errorCallback, error);
    throw error;
  } finally {
    display.remove();
  }
}

async function execute(target?: Target | Given, options?: Given): Promise<Result> {
  const { stack } = new Error();
  handled(loadEvidence().then(({ noteCaller }) => noteCaller(stack)));
  if (target === undefined || typeof target === "string" || target instanceof Element) {
    const widget = find(target);
    if (widget) return widget.execute(options?.signal);
    if (target !== undefined) throw new AgentGateError("error", { message: `There is no widget ${target}.` });
    return runAlone(settle(options));
  }
  return runAlone(settle(target, options));
}

/** For `fetch`: the site key of the call, else that of the page's widget or script. */
async function executeForFetch(options: Given): Promise<Result> {
  const { sitekey, action } = find()?.settings ?? {};
  return runAlone(settle({ sitekey, action }, options));
}

let start: () => void;
const started = new Promise<void>((resolve) => {
  start = resolve;
});

const api: AgentGate = {
  version: VERSION,
  async ready(callback) {
    await started;
    callBack(callback);
  },
  render,
  execute,
  getResponse: (target) => find(target)?.token(),
  isExpired: (target) => !!find(target)?.isExpired(),
  reset: (target) => find(target)?.reset(),
  remove,
  fetch: (input, init) => fetchProtected(executeForFetch, input, init),
  AgentGateError: AgentGateError as AgentGate["AgentGateError"],
};

const { query, vendor } = address;
// What compat/ makes of the address is its business: there `onload` and `render` are the other service's.
const compat = query.get("compat") || vendor;

function begin(): void {
  watch(!!compat || query.get("render") !== "explicit");
  if (!customElements.get("agentgate-check")) defineElement();
  start();
  if (!compat) callBack((window as unknown as Record<string, unknown>)[query.get("onload") ?? ""]);
}

const page = window as unknown as { agentgate?: Partial<AgentGate> };
// An element called `agentgate` also stands in this place. A second copy of this file leaves the first at work.
if (typeof page.agentgate?.execute !== "function") {
  page.agentgate = api;
  // What people do before a check is evidence too. One that does not load is tried again by the check.
  keepEvents();
  handled(loadEvidence());
  if (ofDocument("readyState") === "loading") listen(document, "DOMContentLoaded", begin);
  else begin();
}
