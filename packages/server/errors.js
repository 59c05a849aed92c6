// What verifying may throw.

// These codes are about the caller's own settings, never about the visitor.
const MISCONFIGURED = new Set(["invalid_credential", "invalid_request"]);

/** The token is not accepted. `code` is stable, `message` is for people. */
export class VerificationFailed extends Error {
  constructor(code, message) {
    super(message);
    this.name = "VerificationFailed";
    this.code = code;
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
