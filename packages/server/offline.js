// Verifying tokens by their signature alone, for as long as the service cannot be asked.
// That a token was not used elsewhere cannot be known offline: redeem it afterwards, under the same requestId.

import { Unavailable, VerificationFailed } from "./errors.js";
import { makeQuestion } from "./question.js";
import { readKey, readReceipt, readReceiptId } from "./receipts.js";

// How far the service's clock may be ahead of ours.
const SKEW_S = 5;
const CAPACITY = 100_000;
const FETCH_MS = 2000;
// However many unknown keys are named, and however often the service fails: one fetch a minute.
const LEAST_BETWEEN_MS = 60_000;
const DEFAULT_LIFE_S = 300;
// A key that was withdrawn must not be good for ever with somebody who cannot hear of it.
const STALE_MS = 86_400_000;

/** Makes a verifier with the keys of the service at `baseUrl`, or with a key set that is handed in as `keys`. */
export function createOfflineVerifier({ baseUrl, keys, siteKey, now = Date.now, monotonic = () => performance.now(), capacity = CAPACITY }) {
  if (typeof siteKey !== "string" || !siteKey) throw new TypeError("siteKey is needed: a token is good for one site only");
  const source = keys ? givenKeys(keys) : fetchedKeys(baseUrl, monotonic);
  // Receipt ID -> until when it is remembered, and what it was accepted as.
  const spent = new Map();

  function spend(id, until, verified) {
    const nowS = now() / 1000;
    const earlier = spent.get(id);
    if (earlier && earlier.until > nowS) return earlier.verified;
    if (spent.size >= capacity) for (const [old, entry] of spent) if (entry.until <= nowS) spent.delete(old);
    if (spent.size >= capacity) throw new Unavailable("too many tokens were accepted offline", verified.requestId);
    spent.set(id, { until, verified });
    return verified;
  }

  const verifier = {
    async verify(asked) {
      const question = makeQuestion(asked);
      return verifier.recall(question) ?? verifier.judge(question);
    },

    async refresh() {
      await source.refresh();
      return source.isKnown();
    },

    async judge(question) {
      let claims;
      try {
        claims = await readReceipt(question.token, source.find);
      } catch (problem) {
        if (!source.isKnown()) throw new Unavailable("the service is away and its keys are not known", question.requestId);
        throw problem;
      }
      checkFits(claims, question, siteKey, now() / 1000);
      return same(spend(claims.jti, claims.exp, toVerified(claims, question)), question);
    },

    /** Returns the answer that this very question got offline before; refuses a token that another one used up. */
    recall(question) {
      const id = spent.size ? readReceiptId(question.token) : undefined;
      const earlier = id === undefined ? undefined : spent.get(id);
      return earlier?.verified.source === "offline" ? same(earlier.verified, question) : undefined;
    },

    /** Remembers a token that the service accepted, and keeps the keys fresh for when it is away. */
    note(question, verified) {
      const id = readReceiptId(question.token);
      const until = Date.parse(verified.expiresAt) / 1000;
      if (id !== undefined && until && !verified.test && spent.size < capacity) spend(id, until, verified);
      if (source.isDue()) source.refresh().catch(() => {});
    },
  };
  return verifier;
}

function givenKeys(keySet) {
  const read = readKeys(keySet);
  return {
    find: async (id) => (await read).get(id),
    isKnown: () => true,
    isDue: () => false,
    refresh: async () => {},
  };
}

function fetchedKeys(baseUrl, monotonic) {
  const url = `${String(baseUrl).replace(/\/+$/, "")}/.well-known/agentgate-keys.json`;
  let keys = new Map();
  let fetched = -Infinity;
  let due = -Infinity;
  let tried = -Infinity;
  let underWay;

  async function load() {
    try {
      const answer = await fetch(url, { signal: AbortSignal.timeout(FETCH_MS), redirect: "error" });
      const read = answer.ok ? await readKeys(await answer.json()) : new Map();
      // What is no key set does not replace one.
      if (!read.size) return;
      keys = read;
      fetched = monotonic();
      const found = /(?:^|[,\s])max-age=(\d{1,9})/i.exec(answer.headers.get("cache-control") ?? "");
      due = fetched + Math.min(found ? Number(found[1]) : DEFAULT_LIFE_S, 86_400) * 1000;
    } catch {
      // The keys that are there go on working.
    }
  }

  const source = {
    isKnown: () => monotonic() < fetched + STALE_MS,
    isDue: () => monotonic() >= due,
    async refresh() {
      if (!underWay && monotonic() >= tried + LEAST_BETWEEN_MS) {
        tried = monotonic();
        underWay = load().finally(() => (underWay = undefined));
      }
      await underWay;
    },
    async find(id) {
      if (!keys.has(id) || source.isDue()) await source.refresh();
      return source.isKnown() ? keys.get(id) : undefined;
    },
  };
  return source;
}

async function readKeys(keySet) {
  const members = Array.isArray(keySet?.keys) ? keySet.keys : [];
  return new Map((await Promise.all(members.map(readKey))).filter(Boolean));
}

function same(verified, question) {
  if (verified.requestId !== question.requestId) throw new VerificationFailed("token_used", "The token was already redeemed.");
  return verified;
}

function checkFits(claims, question, siteKey, nowS) {
  const refuse = (code, message) => {
    throw new VerificationFailed(code, message);
  };
  if (claims.aud !== siteKey) refuse("invalid_token", "The token was issued for another site.");
  if (claims.iat > nowS + SKEW_S) refuse("invalid_token", "The token was issued in the future; a clock is wrong.");
  if (nowS >= claims.exp) refuse("expired_token", "The token has expired.");
  if (claims.action !== question.expectedAction) refuse("action_mismatch", "The token was issued for another action.");
  const { expectedOrigin, contentDigest } = question;
  if (expectedOrigin !== undefined && claims.origin !== canonical(expectedOrigin)) refuse("origin_mismatch", "The token was issued to another origin.");
  if (contentDigest !== undefined && claims.contentDigest !== contentDigest) refuse("invalid_token", "The token was issued for other content.");
}

function canonical(origin) {
  try {
    return new URL(origin).origin;
  } catch {
    return origin;
  }
}

function toVerified(claims, question) {
  const isBrowser = claims.kind === "browser";
  return {
    siteKey: claims.aud,
    action: claims.action,
    kind: claims.kind,
    issuedAt: new Date(claims.iat * 1000).toISOString(),
    expiresAt: new Date(claims.exp * 1000).toISOString(),
    decisionId: claims.decisionId,
    requestId: question.requestId,
    source: "offline",
    ...(claims.origin !== undefined && { origin: claims.origin }),
    ...(isBrowser ? { visitorId: claims.sub } : { agent: claims.sub }),
    ...(claims.cData !== undefined && { cData: claims.cData }),
  };
}
