/** A widget: a check that belongs to an element of the page, keeps its token fresh and puts it into the form. */

import type { Mode, Result, State } from "../types/agentgate";
import { makeDisplay } from "./display";
import { type AgentGateError, asError } from "./errors";
import { guardForm, type Guarded } from "./form";
import { isOff, type Settings } from "./options";
import { callBack, listen, make } from "./page";
import { bare, ofDocument } from "./safe";
import { handled, type Passed, resultOf, runCheck, type Stage } from "./run";
import { openScope } from "./scope";

/** A new token is fetched this long before the old one expires. */
const LEAD_MS = 15_000;
/** A token that is about to expire is not handed out any more. */
const SPARE_MS = 5_000;
/** Somebody who did something so recently is still at it. */
const ENGAGED_MS = 120_000;
const AGAIN = /^(network|timeout|unavailable)$/;

export interface Widget extends Guarded {
  readonly id: string;
  readonly element: Element;
  readonly settings: Settings;
  token(): string | undefined;
  isExpired(): boolean;
  /** A token that nobody had yet, from the check that ran already, that runs, or that now begins. */
  execute(signal?: AbortSignal): Promise<Result>;
  /** Listen to the form that it is in by now; false when its element has left the page. */
  attach(): boolean;
  /** See whether the token is about to expire, or has expired while the page slept. */
  look(): void;
  focus(): void;
  reset(): void;
  remove(): void;
}

export interface Place {
  readonly element: Element;
  /** Where to show something. */
  readonly parent: Node;
  /** What takes the token; without it a hidden field does. */
  readonly setValue?: ((token: string) => void) | undefined;
}

/** The hidden field of the form. */
function makeField(settings: Settings, name: string): HTMLInputElement | undefined {
  if (isOff(settings.responseField)) return undefined;
  const field = make("input");
  field.type = "hidden";
  field.name = name;
  field.autocomplete = "off";
  return field;
}

/** The form of an element; not by `closest`, which pages replace. */
function formOf(element: Element): HTMLFormElement | undefined {
  const { form } = element as { form?: unknown };
  if (form instanceof HTMLFormElement) return form;
  for (let node: Node | null = element; node; node = node.parentNode) if (node instanceof HTMLFormElement) return node;
  return undefined;
}

export function makeWidget(id: string, settings: Settings, { element, parent, setValue }: Place): Widget {
  const name = settings.responseFieldName || "agentgate-token";
  const field = setValue ? undefined : makeField(settings, name);
  if (field) element.appendChild(field);
  const put = (token: string): void => {
    setValue?.(token);
    if (field) field.value = token;
  };
  const display = makeDisplay(settings, parent, false);
  let region: Element | undefined;
  let listening: (() => void)[] = [];
  let seen = false;
  let mode: Mode = settings.mode ?? "invisible";
  let state: State = "idle";
  let error: AgentGateError | undefined;
  let passed: Passed | undefined;
  let running: Promise<Passed> | undefined;
  let controller: AbortController | undefined;
  let timer: ReturnType<typeof setTimeout>;
  let quiet = false;
  let engagedMs = -ENGAGED_MS;
  // Whether somebody waits for the answer, so that the check may take the focus.
  let wanted = false;

  const restMs = (): number => (passed ? passed.untilMs - Date.now() : 0);

  const become = (next: State): void => {
    state = next;
    if (isOff(settings.events)) return;
    const failed = state === "failed" ? error : undefined;
    const init = bare({ detail: { state, token: passed?.token, error: failed }, bubbles: true, composed: true });
    element.dispatchEvent(new CustomEvent("statechange", init));
    if (/^(verified|expired|failed)$/.test(state)) element.dispatchEvent(new CustomEvent(state, init));
  };

  const show = (next: State): void => {
    become(next);
    if (mode === "invisible") display.hide();
    else
      display.show(
        () => ({ state, error }),
        () => handled(widget.execute()),
      );
  };

  const isEngaged = (): boolean => {
    const { refreshExpired } = settings;
    if ((refreshExpired && refreshExpired !== "auto") || ofDocument("hidden")) return false;
    return performance.now() - engagedMs < ENGAGED_MS || !!region?.contains(ofDocument("activeElement"));
  };

  const stage: Stage = {
    learn(known) {
      if (settings.mode || !known || known === mode) return;
      mode = known;
      show(state);
    },
    async ask(stepUp, signal) {
      become("interactive");
      const steps = await display.ask(stepUp, wanted, signal);
      show("checking");
      return steps;
    },
  };

  /** Run the check. A silent one shows nothing, and tells nobody when it fails: the old token still holds. */
  const run = async (silent: boolean): Promise<Passed> => {
    const mine = (controller = new AbortController());
    if (!silent) show("checking");
    try {
      const now = await runCheck(settings, silent ? {} : stage, mine.signal);
      if (controller === mine) pass(now);
      return now;
    } catch (thrown) {
      const reason = asError(thrown);
      if (controller === mine && !silent) fail(reason);
      throw reason;
    } finally {
      if (controller === mine) stop();
    }
  };

  /** Run the check, or wait for the one that runs. */
  const start = (silent = false): Promise<Passed> => {
    // A silent one may not ask people; somebody who wants the token starts anew.
    if (quiet && !silent) stop();
    quiet = silent;
    return (running ??= run(silent));
  };

  const pass = (now: Passed): void => {
    passed = now;
    widget.given = false;
    put(now.token);
    show("verified");
    plan();
    callBack(settings.callback, now.token, resultOf(now));
  };

  const fail = (reason: AgentGateError): void => {
    error = reason;
    wanted = false;
    show("failed");
    if (reason.code === "timeout") callBack(settings.timeoutCallback);
    callBack(settings.errorCallback, reason);
  };

  /** Wait for the time to renew, then for the end. */
  const plan = (): void => {
    clearTimeout(timer);
    const rest = restMs();
    timer = setTimeout(look, rest > LEAD_MS ? rest - LEAD_MS : rest);
  };

  const look = (): void => {
    if (state !== "verified") return;
    const rest = restMs();
    if (rest <= 0) expire();
    else {
      if (rest <= LEAD_MS && !running && isEngaged()) handled(start(true));
      plan();
    }
  };

  const expire = (): void => {
    clear();
    show("expired");
    callBack(settings.expiredCallback);
    if (isEngaged()) handled(start());
  };

  /** Somebody is using the form: what expired, or failed for want of a network, is tried again. */
  const engage = (): void => {
    engagedMs = performance.now();
    const again = state === "failed" && AGAIN.test(error!.code) && settings.retry !== "never";
    if ((again || state === "expired") && isEngaged()) handled(start());
  };

  const clear = (): void => {
    clearTimeout(timer);
    passed = undefined;
    put("");
  };

  /** Stop what runs; whoever waits for it is told. */
  const stop = (): void => {
    controller?.abort();
    controller = running = undefined;
  };

  const detach = (): void => {
    for (const end of listening) end();
  };

  const attach = (): boolean => {
    const { isConnected } = element;
    // One that has never been in the page may still be on its way into it.
    if (seen && !isConnected) return false;
    seen = isConnected;
    const form = formOf(element);
    const now = form ?? element.parentElement ?? element;
    if (now === region) return true;
    detach();
    region = now;
    const guards = form && !isOff(settings.holdSubmit) ? guardForm(form, widget, name) : [];
    listening = [listen(region, "focusin", engage), listen(region, "pointerdown", engage), ...guards];
    return true;
  };

  const begin = (): void => {
    if (settings.execution !== "execute") handled(start());
    else show("idle");
  };

  const widget: Widget = {
    id,
    element,
    settings,
    given: false,
    token: () => (restMs() > 0 ? passed!.token : undefined),
    isExpired: () => state === "expired" || (!!passed && restMs() <= 0),
    isReady: () => !widget.given && restMs() > SPARE_MS,
    async execute(signal) {
      wanted = true;
      if (state === "interactive") display.focus();
      if (!widget.isReady()) {
        const scope = openScope(signal);
        if (signal?.aborted) stop();
        else scope.onEnd(() => signal?.aborted && stop());
        try {
          await scope.race(start());
        } finally {
          scope.end();
        }
      }
      wanted = false;
      widget.given = true;
      return resultOf(passed!);
    },
    attach,
    look,
    focus: display.focus,
    reset() {
      stop();
      clear();
      begin();
    },
    remove() {
      stop();
      clear();
      state = "idle";
      detach();
      field?.remove();
      display.remove();
    },
  };

  attach();
  begin();
  return widget;
}
