/** One place where a check shows itself: in an element of the page, or in front of the page. */

import type { AgentGateError as PublicError, State } from "../types/agentgate";
import { AgentGateError } from "./errors";
import { loadEvidence } from "./evidence";
import { languageOf, type Settings } from "./options";
import { callBack } from "./page";
import type { Presses, StepUp } from "./protocol";
import { fileUrl, script } from "./script";
import { loadUi, type View } from "./ui";

export interface Shown {
  readonly state: State;
  readonly error: PublicError | undefined;
}

export interface Display {
  /**
   * Show what is the case by then. A chunk that does not load leaves the page without a status, not without a check.
   */
  show(now: () => Shown, retry: () => void): void;
  ask(stepUp: StepUp, focus: boolean, signal: AbortSignal): Promise<Presses>;
  /** Move the focus to the button, if there is one. */
  focus(): void;
  /** Take away what is shown. */
  hide(): void;
  remove(): void;
}

export function makeDisplay(settings: Settings, parent: Node, overlay: boolean): Display {
  let view: View | undefined;
  let removed = false;

  const open = async (): Promise<View> => {
    const ui = await loadUi();
    if (removed) throw new AgentGateError("aborted");
    const { theme, size, accent } = settings;
    const looks = { theme, size, accent, language: languageOf(settings), nonce: script?.nonce ?? "" };
    return (view ??= ui.mount(parent, { ...looks, packs: fileUrl("i18n/"), overlay }));
  };
  const hide = (): void => view?.show("idle");
  return {
    show(now, retry) {
      open().then(
        (opened) => {
          const { state, error } = now();
          opened.show(state, error, retry);
        },
        () => 0,
      );
    },
    async ask(stepUp, focus, signal) {
      const opened = await open();
      // Stopped from outside, it must not stay on the screen.
      signal.onabort = hide;
      if (signal.aborted) throw new AgentGateError("aborted");
      callBack(settings.beforeInteractiveCallback);
      const presses = await opened.ask(stepUp, focus);
      signal.onabort = null;
      callBack(settings.afterInteractiveCallback);
      if (!presses) throw new AgentGateError("canceled");
      const { countUntrusted } = await loadEvidence();
      for (const step of presses.steps) if (!step.trusted) countUntrusted();
      return presses;
    },
    focus: () => view?.focus(),
    hide,
    remove() {
      removed = true;
      view?.remove();
    },
  };
}
