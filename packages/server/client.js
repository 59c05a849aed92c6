// Redeeming tokens with the service: retries under one request ID, and what happens when the service is away.

import { setTimeout as pause } from "node:timers/promises";
import { Unavailable } from "./errors.js";
import { createOfflineVerifier } from "./offline.js";
import { makeQuestion, readAnswer } from "./question.js";

const FIRST_PAUSE_MS = 50;

/**
 * Makes a client. One is enough for a program. One attempt takes at most `timeoutMs`, and all of them with their
 * pauses `timeoutMs * (retries + 1)`.
 */
export function createClient({ baseUrl, secret, siteKey, timeoutMs = 1000, retries = 2, failOpen = false, offline = false, onOffline, now }) {
  if (!/^https?:\/\/[^/?#@]+/.test(baseUrl ?? "")) {
    throw new TypeError(`${baseUrl} is not the address of a service; give one such as https://gate.example.com`);
  }
  if (typeof secret !== "string" || !/^[\x21-\x7e]+$/.test(secret)) {
    throw new TypeError("the secret is empty or holds characters that no secret has; take it from the environment");
  }
  if (offline && !siteKey) {
    throw new TypeError("offline needs siteKey: without the service nothing else says which site a token is for");
  }
  const url = `${baseUrl.replace(/\/+$/, "")}/v1/siteverify`;
  const verifier = siteKey ? createOfflineVerifier({ baseUrl, siteKey, now }) : undefined;

  async function attempt(question, deadline) {
    const left = Math.max(1, Math.min(timeoutMs, deadline - performance.now()));
    let status, text;
    try {
      const answer = await fetch(url, {
        method: "POST",
        headers: { authorization: `Bearer ${secret}`, "content-type": "application/json" },
        body: JSON.stringify(question),
        redirect: "manual",
        signal: AbortSignal.timeout(left),
      });
      status = answer.status;
      text = await answer.text();
    } catch (problem) {
      throw new Unavailable(`no answer: ${problem.cause?.code ?? problem.name}`, question.requestId);
    }
    return readAnswer(question, status, text);
  }

  async function redeem(question) {
    const deadline = performance.now() + timeoutMs * (retries + 1);
    for (let tried = 0, wait = FIRST_PAUSE_MS; ; tried += 1, wait *= 2) {
      try {
        return await attempt(question, deadline);
      } catch (problem) {
        // Many callers that failed together must not come back together.
        const jittered = wait * (0.5 + Math.random());
        if (!(problem instanceof Unavailable) || tried >= retries || performance.now() + jittered >= deadline) throw problem;
        await pause(jittered);
      }
    }
  }

  async function goWithout(question, problem) {
    let reason = problem;
    if (offline) {
      try {
        const verified = await verifier.judge(question);
        await onOffline?.(question, verified);
        return verified;
      } catch (worse) {
        if (!(worse instanceof Unavailable)) throw worse;
        reason = worse;
      }
    }
    if (!failOpen) throw reason;
    return { action: question.expectedAction, requestId: question.requestId, source: "unchecked" };
  }

  return {
    /** Redeems a token; throws `VerificationFailed` when it is not accepted, `Unavailable` when nobody can tell. */
    async verify(asked) {
      const question = makeQuestion(asked);
      const earlier = offline ? verifier.recall(question) : undefined;
      if (earlier) return earlier;
      let verified;
      try {
        verified = await redeem(question);
      } catch (problem) {
        if (!(problem instanceof Unavailable)) throw problem;
        return goWithout(question, problem);
      }
      if (offline) verifier.note(question, verified);
      return verified;
    },

    /** Redeems with the service and nobody else: for what was accepted offline, once the service is back. */
    async reconcile(question) {
      return redeem(makeQuestion(question));
    },

    /** Accepts a token by its signature alone, once in this process. */
    async verifyOffline(asked) {
      if (!verifier) throw new TypeError("verifyOffline needs siteKey");
      return verifier.verify(asked);
    },

    /** Fetches the service's keys now, such as at the start of the program; resolves to whether there are any. */
    async refreshKeys() {
      return verifier ? verifier.refresh() : false;
    },
  };
}
