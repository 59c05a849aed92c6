import type { AgentGateError, Options, Result } from "@agentgate/sdk";
import type { ForwardRefExoticComponent, HTMLAttributes, RefAttributes } from "react";

type Values = Omit<
  Options,
  | "callback"
  | "errorCallback"
  | "expiredCallback"
  | "timeoutCallback"
  | "beforeInteractiveCallback"
  | "afterInteractiveCallback"
>;

/** Further attributes go to the `div` that holds the widget. */
export interface AgentGateProps extends Values, Omit<HTMLAttributes<HTMLDivElement>, "children" | "onError"> {
  /** The address of agentgate.js at your service. */
  src: string;
  /** The nonce of the page's Content-Security-Policy. */
  nonce?: string;
  onToken?: (token: string, result: Result) => void;
  onError?: (error: AgentGateError) => void;
  onExpired?: () => void;
  onBeforeInteractive?: () => void;
  onAfterInteractive?: () => void;
}

export interface AgentGateHandle {
  /** Runs the check, or takes the token that is there; for `execution="execute"`. */
  execute(): Promise<Result>;
  reset(): void;
  getResponse(): string | undefined;
  isExpired(): boolean;
}

export const AgentGate: ForwardRefExoticComponent<AgentGateProps & RefAttributes<AgentGateHandle>>;
