// One call of siteverify without the network: what is sent, and what an answer to it means.

import { randomUUID } from "node:crypto";
import { Unavailable, VerificationFailed } from "./errors.js";

const TOKEN = /^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$/;
const REQUEST_ID = /^[A-Za-z0-9._:-]{1,128}$/;
const TOKEN_CHARACTERS = 2048;
// The service refuses with these; any other status says nothing about the token.
const REFUSALS = new Set([400, 401, 409, 422]);

/** Checks what was asked, and gives it a request ID that is kept over every retry. */
export function makeQuestion({ token, expectedAction, expectedOrigin, requestId, remoteAddress, contentDigest }) {
  // What comes from a visitor is looked at first: a text that cannot be a token is refused without a call.
  if (typeof token !== "string" || token.length > TOKEN_CHARACTERS || !TOKEN.test(token)) {
    throw new VerificationFailed("invalid_token", "It does not have the form of a token.");
  }
  const id = requestId ?? `node:${randomUUID()}`;
  if (typeof expectedAction !== "string" || !REQUEST_ID.test(id)) {
    throw new VerificationFailed("invalid_request", "expectedAction is needed, and requestId must match [A-Za-z0-9._:-]{1,128}.");
  }
  return { token, expectedAction, expectedOrigin, requestId: id, remoteAddress, contentDigest };
}

/** Returns the result, or throws what the answer says. Only `Unavailable` is worth a retry. */
export function readAnswer(question, status, text) {
  let answer;
  try {
    answer = JSON.parse(text);
  } catch {
    answer = null;
  }
  if (status === 200 && answer?.success === true) {
    // The answer to another call must never count for this one, whatever mixed them up on the way.
    if (answer.requestId === question.requestId && answer.action === question.expectedAction) {
      const { success: _, ...said } = answer;
      return { ...said, source: "service" };
    }
  }
  if (REFUSALS.has(status) && answer?.success === false && typeof answer.error === "string") {
    throw new VerificationFailed(answer.error, String(answer.message ?? ""));
  }
  throw new Unavailable(`the service answered ${status}`, question.requestId);
}
