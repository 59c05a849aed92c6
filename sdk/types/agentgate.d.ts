/** The public interface of the AgentGate browser SDK, as `window.agentgate` offers it. */

/** How much of the check people see when nothing is wrong. */
export type Mode = "invisible" | "managed" | "interactive";
export type State = "idle" | "checking" | "interactive" | "verified" | "expired" | "failed";

/** The codes of the service, then those that the SDK raises itself. */
export type ErrorCode =
  | "site_invalid"
  | "action_invalid"
  | "origin_denied"
  | "site_disabled"
  | "rate_limited"
  | "challenge_invalid"
  | "challenge_expired"
  | "challenge_used"
  | "too_many_attempts"
  | "challenge_failed"
  | "schema_unsupported"
  | "payload_too_large"
  | "bad_request"
  | "unavailable"
  | "timeout"
  | "aborted"
  | "canceled"
  | "network"
  | "error";

export interface AgentGateError extends Error {
  readonly name: "AgentGateError";
  readonly code: ErrorCode;
  /** Whether the same call may work when it is made again later. */
  readonly retryable: boolean;
  /** The decision to quote to the site's owner, when the service made one. */
  readonly decisionId?: string;
  /** The HTTP status of the refusal; 0 for the SDK's own codes. */
  readonly status: number;
  /** Seconds that the service asks to wait; 0 when it does not say. */
  readonly retryAfter: number;
}

export interface Result {
  readonly token: string;
  /** When the token stops being valid, as the service wrote it (ISO 8601). */
  readonly expiresAt: string;
  readonly decisionId?: string | undefined;
}

export interface Options {
  sitekey: string;
  /** One of the site's actions. Default: `submit`. */
  action?: string;
  /** Default: what the site is set to. */
  mode?: Mode;
  theme?: "light" | "dark" | "auto";
  size?: "normal" | "compact" | "flexible";
  /** Color of buttons, as `#rrggbb`. Text on it becomes light or dark for contrast. */
  accent?: string;
  /** A language tag, or `auto`: the page's language, then the browser's. */
  language?: string;
  /** Up to 255 characters that siteverify gives back. */
  cData?: string;
  /** Milliseconds for the part without people. Default 30,000. */
  timeout?: number;
  /** Milliseconds for people to answer. Default 300,000. */
  checkTimeout?: number;
  signal?: AbortSignal;
  /** `never`: no second try of its own after an expired challenge or a network error. */
  retry?: "auto" | "never";
  /** `auto`: a new token before the old one expires while the form is in use; `manual`: none unless asked for. */
  refreshExpired?: "auto" | "manual" | "never";
  /** `execute`: render() does not start the check. */
  execution?: "render" | "execute";
  /** `false`: no hidden field. */
  responseField?: boolean;
  /** The hidden field's name. Default `agentgate-token`. */
  responseFieldName?: string;
  /** `false`: no DOM events on the element; callbacks are called. */
  events?: boolean;
  /** `false`: a form that is sent before there is a token is not held back. */
  holdSubmit?: boolean;
  callback?: (token: string, result: Result) => void;
  errorCallback?: (error: AgentGateError) => void;
  expiredCallback?: () => void;
  timeoutCallback?: () => void;
  beforeInteractiveCallback?: () => void;
  afterInteractiveCallback?: () => void;
}

/** A widget: its ID, its element, or a selector of its element. */
export type Target = string | Element;

export interface ProtectedRequestInit extends RequestInit {
  sitekey?: string;
  action?: string;
}

export interface AgentGate {
  readonly version: string;
  /** Calls back, and resolves, once the document is there and its widgets are rendered. */
  ready(callback?: () => void): Promise<void>;
  render(target: Target, options?: Partial<Options>): string;
  /** Runs the check of a widget, or without a widget. Rejects with an `AgentGateError`. */
  execute(target?: Target | Partial<Options>, options?: Partial<Options>): Promise<Result>;
  getResponse(target?: Target): string | undefined;
  isExpired(target?: Target): boolean;
  reset(target?: Target): void;
  remove(target?: Target): void;
  /** Like `fetch`; where the answer is 401 `receipt_required` it runs the check and repeats the request once. */
  fetch(input: RequestInfo | URL, init?: ProtectedRequestInit): Promise<Response>;
  readonly AgentGateError: new (...values: never[]) => AgentGateError;
}

/** What the events `statechange`, `verified`, `expired` and `failed` of a widget's element carry. */
export interface WidgetEventDetail {
  readonly state: State;
  readonly token?: string;
  readonly error?: AgentGateError;
}

/** `<agentgate-check sitekey action name required>`. */
export interface AgentGateCheckElement extends HTMLElement {
  readonly form: HTMLFormElement | null;
  readonly value: string;
  readonly validity: ValidityState;
  readonly validationMessage: string;
  readonly willValidate: boolean;
  name: string;
  required: boolean;
  checkValidity(): boolean;
  reportValidity(): boolean;
  execute(): Promise<Result>;
  reset(): void;
}

declare global {
  interface Window {
    agentgate?: AgentGate;
  }
  interface HTMLElementTagNameMap {
    "agentgate-check": AgentGateCheckElement;
  }
}
