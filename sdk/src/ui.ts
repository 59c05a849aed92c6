/** What people see is a chunk of its own, loaded when there is something to see. This is how the rest talks to it. */

import type { AgentGateError, Options, State } from "../types/agentgate";
import type { Presses, StepUp } from "./protocol";
import { loadPart } from "./script";

export interface ViewSettings {
  readonly theme: Options["theme"] | undefined;
  readonly size: Options["size"] | undefined;
  /** The key color, as `#rrggbb`. */
  readonly accent: string | undefined;
  readonly language: string;
  /** The address of the folder of language packs. */
  readonly packs: string;
  /** In front of the page instead of in its flow. */
  readonly overlay: boolean;
  readonly nonce: string;
}

export interface View {
  /** Show a state; `idle` shows nothing. */
  show(state: State, error?: AgentGateError, retry?: () => void): void;
  /** Ask a person. Resolves with the presses, undefined when they close it. */
  ask(stepUp: StepUp, focus: boolean): Promise<Presses | undefined>;
  /** Move the focus to the button, if there is one. */
  focus(): void;
  remove(): void;
}

export interface Ui {
  mount(parent: Node, settings: ViewSettings): View;
}

export function loadUi(): Promise<Ui> {
  return loadPart("check");
}
