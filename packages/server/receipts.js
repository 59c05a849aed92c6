// Reading a receipt without the service: a compact JWS with one algorithm, one header and one spelling.

import { createHash, webcrypto } from "node:crypto";
import { VerificationFailed } from "./errors.js";

const TYPE = "agentgate-receipt+jwt";
// RFC 9864 gives EdDSA with this curve a second name.
const ALGORITHMS = ["EdDSA", "Ed25519"];
const KINDS = ["browser", "agent", "handoff"];
const SHAPE = /^([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]{86})$/;
const RECEIPT_CHARACTERS = 2048;
const TEXTS = ["iss", "aud", "jti", "kind", "action", "sub", "decisionId"];
const OPTIONAL_TEXTS = ["origin", "cData", "keyid", "submissionId", "contentDigest", "price"];

const refuse = (message) => {
  throw new VerificationFailed("invalid_token", message);
};

/** Returns the claims of a receipt that one of the keys signed. Time, site and use are the caller's to judge. */
export async function readReceipt(text, findKey) {
  const [, headerText, claimsText, signature] = (text.length <= RECEIPT_CHARACTERS && SHAPE.exec(text)) || refuse("It does not have the form of a token.");
  const header = readJson(headerText);
  // The algorithm is fixed here and never chosen by the token; a header with anything else in it is refused.
  if (Object.keys(header).sort().join() !== "alg,kid,typ" || !ALGORITHMS.includes(header.alg) || header.typ !== TYPE) {
    refuse("It does not have the header of a token.");
  }
  const key = typeof header.kid === "string" ? await findKey(header.kid) : undefined;
  if (!key) refuse("It was not signed with a published key of the service.");
  const signed = new TextEncoder().encode(`${headerText}.${claimsText}`);
  if (!(await webcrypto.subtle.verify("Ed25519", key, decode(signature), signed))) refuse("Its signature is wrong.");
  return checkClaims(readJson(claimsText));
}

/** Returns what a text gives as its receipt ID, signed or not; only good for looking something up. */
export function readReceiptId(text) {
  try {
    const { jti } = readJson(text.split(".")[1] ?? "");
    return typeof jti === "string" ? jti : undefined;
  } catch {
    return undefined;
  }
}

/** Returns ID and key of a member of a key set; undefined for one that is not ours to use. */
export async function readKey(key) {
  if (key?.kty !== "OKP" || key.crv !== "Ed25519" || typeof key.x !== "string") return undefined;
  try {
    const raw = decode(key.x);
    // RFC 7638: the ID is the key's own thumbprint, so that no ID can be given to another key.
    const thumbprint = createHash("sha256").update(`{"crv":"Ed25519","kty":"OKP","x":"${key.x}"}`).digest("base64url");
    if (key.kid !== thumbprint) return undefined;
    return [thumbprint, await webcrypto.subtle.importKey("raw", raw, "Ed25519", false, ["verify"])];
  } catch {
    return undefined;
  }
}

function decode(text) {
  const data = Buffer.from(text, "base64url");
  // Bits that base64 ignores would give one signature many spellings.
  if (data.toString("base64url") !== text) refuse("It does not have the form of a token.");
  return data;
}

function readJson(text) {
  let value, plain;
  try {
    plain = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(decode(text));
    value = JSON.parse(plain);
  } catch {
    refuse("It does not have the form of a token.");
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) refuse("It does not have the form of a token.");
  // Two readers would disagree on which of two members counts. JSON.parse cannot tell, but claims are flat texts and
  // numbers, so every member has exactly one name and one colon outside of strings.
  const names = plain.replace(/"(?:[^"\\]|\\.)*"/g, '""').match(/:/g)?.length ?? 0;
  if (names !== Object.keys(value).length) refuse("It does not have the form of a token.");
  return value;
}

function checkClaims(claims) {
  const texts = [...TEXTS.map((name) => claims[name]), ...OPTIONAL_TEXTS.filter((name) => name in claims).map((name) => claims[name])];
  const sound = texts.every((text) => typeof text === "string") && Number.isSafeInteger(claims.iat) && Number.isSafeInteger(claims.exp);
  // Test tokens are signed by keys that are not published; one that says it is a test is refused all the same.
  if (!sound || !KINDS.includes(claims.kind) || "test" in claims) refuse("Its claims are not those of a token.");
  return claims;
}
