/** The one error that the SDK raises, and what its codes mean. */

import type { AgentGateError as PublicError, ErrorCode } from "../types/agentgate";

const SAY: { readonly [code in ErrorCode]?: string } = {
  timeout: "The check timed out.",
  aborted: "The page aborted the check.",
  canceled: "The visitor closed the check.",
  network: "AgentGate is not reachable, or the Content-Security-Policy blocks it.",
};

/** Whether the same call may work when it is made again. */
const LATER =
  /^(rate_limited|challenge_(invalid|expired|used|failed)|too_many_attempts|unavailable|timeout|canceled|network)$/;
const NEVER =
  /^(site_invalid|action_invalid|origin_denied|site_disabled|schema_unsupported|payload_too_large|bad_request|aborted)$/;

/** What a refusal says besides its code. */
export interface Details {
  readonly message?: unknown;
  readonly decisionId?: unknown;
  readonly status?: number;
  readonly retryAfter?: number;
}

export class AgentGateError extends Error implements PublicError {
  declare readonly name: "AgentGateError";
  declare readonly code: ErrorCode;
  declare readonly retryable: boolean;
  declare readonly decisionId?: string;
  declare readonly status: number;
  declare readonly retryAfter: number;

  constructor(code: unknown, details: Details = {}) {
    // A proxy in between may answer anything; only documented codes go on to the page.
    const retryable = LATER.test(code as string);
    const settled = (retryable || NEVER.test(code as string) ? code : "error") as ErrorCode;
    super(typeof details.message === "string" ? details.message : (SAY[settled] ?? "The check failed."));
    const self = this as { -readonly [name in keyof PublicError]: PublicError[name] };
    self.name = "AgentGateError";
    self.code = settled;
    self.retryable = retryable;
    self.status = details.status ?? 0;
    self.retryAfter = details.retryAfter ?? 0;
    if (typeof details.decisionId === "string") self.decisionId = details.decisionId;
  }
}

/** Whatever was thrown, as our error. */
export function asError(thrown: unknown): AgentGateError {
  return thrown instanceof AgentGateError ? thrown : new AgentGateError("error", { message: `${thrown}` });
}
