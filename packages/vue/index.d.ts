import type { AgentGateError, Options, Result } from "@agentgate/sdk";
import type { DefineComponent } from "vue";

type Values = Omit<
  Options,
  | "callback"
  | "errorCallback"
  | "expiredCallback"
  | "timeoutCallback"
  | "beforeInteractiveCallback"
  | "afterInteractiveCallback"
>;

export interface AgentGateProps extends Values {
  /** The address of agentgate.js at your service. */
  src: string;
  /** The nonce of the page's Content-Security-Policy. */
  nonce?: string;
  /** `v-model`: the token, empty while there is none that could be sent. */
  modelValue?: string;
}

export type AgentGateEmits = {
  "update:modelValue": (token: string) => void;
  token: (token: string, result: Result) => void;
  error: (error: AgentGateError) => void;
  expired: () => void;
  "before-interactive": () => void;
  "after-interactive": () => void;
};

/** What a template reference offers. */
export interface AgentGateExposed {
  /** Runs the check, or takes the token that is there; for `execution="execute"`. */
  execute(): Promise<Result>;
  reset(): void;
  getResponse(): string | undefined;
  isExpired(): boolean;
}

export const AgentGate: DefineComponent<AgentGateProps, AgentGateExposed, {}, {}, {}, {}, {}, AgentGateEmits>;
