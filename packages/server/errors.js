// What verifying may throw.

// These codes are about the caller's own settings, never about the visitor.
const MISCONFIGURED = new Set(["invalid_credential", "invalid_request"]);

const VISITOR_MESSAGES = {
  receipt_required: "The browser check is missing. Enable JavaScript, reload the page and try again.",
  expired_token: "The browser check has expired. Reload the page and try again.",
  token_used: "This form was already sent. Reload the page to send it again.",
};

/** What to show to the visitor whose token is not accepted. */
export function visitorMessage(code) {
  return Object.hasOwn(VISITOR_MESSAGES, code) ? VISITOR_MESSAGES[code] : "The browser check was not accepted. Reload the page and try again.";
}

/** The token is not accepted. `code` is stable, `message` is for your log, `visitorMessage` for the visitor. */
export class VerificationFailed extends Error {
  constructor(code, message) {
    super(message);
    this.name = "VerificationFailed";
    this.code = code;
  }

  /** What to show to the visitor. */
  get visitorMessage() {
    return visitorMessage(this.code);
  }

  /** Whether the caller's secret or parameters are at fault, so that no other token would do better. */
  get isMisconfiguration() {
    return MISCONFIGURED.has(this.code);
  }
}

/** Nobody could tell in time. Trying again with the same `requestId` is safe. */
export class Unavailable extends Error {
  constructor(message, requestId) {
    super(message);
    this.name = "Unavailable";
    this.requestId = requestId;
  }
}
