// Guards in front of routes: Express (and whatever else has req, res and next), Fastify, and fetch-style handlers.

import { isIPv4, isIPv6 } from "node:net";
import { Unavailable, VerificationFailed, visitorMessage } from "./errors.js";

const HEADER = "x-agentgate-token";
const FIELD = "agentgate-token";
const RETRY_AFTER_S = "5";
const PRIVATE_V4 = /^(?:0|10|127|169\.254|192\.168|172\.(?:1[6-9]|2\d|3[01])|100\.(?:6[4-9]|[7-9]\d|1[01]\d|12[0-7]))\./;

/** `app.post("/signup", expressGuard(client, { action: "signup" }), handler)`; the result is `req.agentgate`. */
export function expressGuard(client, options) {
  return async (req, res, next) => {
    const outcome = await check(client, options, req.headers[HEADER], req.body, req.ip ?? req.socket?.remoteAddress);
    if (outcome.verified) {
      req.agentgate = outcome.verified;
      next();
      return;
    }
    res.writeHead(outcome.status, outcome.headers);
    res.end(outcome.body);
  };
}

/** `app.post("/signup", { preHandler: fastifyGuard(client, { action: "signup" }) }, handler)`; likewise. */
export function fastifyGuard(client, options) {
  return async (request, reply) => {
    const outcome = await check(client, options, request.headers[HEADER], request.body, request.ip);
    if (!outcome.verified) return reply.code(outcome.status).headers(outcome.headers).send(outcome.body);
    request.agentgate = outcome.verified;
    return undefined;
  };
}

/**
 * Wraps a handler that takes a `Request`: it is called with the request and the result once the token was redeemed. A
 * `Request` has no address, so `options.visitorAddress(request, ...rest)` returns it from what the platform passes along.
 */
export function fetchGuard(client, options, handler) {
  return async (request, ...rest) => {
    const address = options.visitorAddress?.(request, ...rest);
    const outcome = await check(client, options, request.headers.get(HEADER), await formOf(request), address);
    if (outcome.verified) return handler(request, outcome.verified, ...rest);
    return new Response(outcome.body, { status: outcome.status, headers: outcome.headers });
  };
}

/** The address of a connection for siteverify; nothing for a proxy's on a private network. */
export function visitorAddress(address) {
  if (typeof address !== "string") return undefined;
  const plain = address.replace(/^::ffff:(?=\d+\.)/i, "");
  if (isIPv4(plain)) return PRIVATE_V4.test(plain) ? undefined : plain;
  return isIPv6(plain) && !plain.includes("%") && !/^(::1?$|f[cd]|fe[89ab])/i.test(plain) ? plain : undefined;
}

async function check(client, { action, expectedOrigin }, header, body, address) {
  const field = typeof body === "object" && body !== null && Object.hasOwn(body, FIELD) ? body[FIELD] : undefined;
  const token = [header, field].flat().find((text) => typeof text === "string" && text.trim());
  if (!token) {
    return refusal(401, "receipt_required", visitorMessage("receipt_required"));
  }
  try {
    return { verified: await client.verify({ token: token.trim(), expectedAction: action, expectedOrigin, remoteAddress: visitorAddress(address) }) };
  } catch (problem) {
    if (problem instanceof VerificationFailed && !problem.isMisconfiguration) return refusal(403, problem.code, problem.visitorMessage);
    if (!(problem instanceof Unavailable) && !(problem instanceof VerificationFailed)) throw problem;
    // The visitor can do nothing about a wrong secret and is told nothing about it.
    console.error(`AgentGate: ${problem.name}: ${problem.message}`);
    return refusal(503, "unavailable", "The browser check cannot be verified right now. Try again in a few seconds.");
  }
}

function refusal(status, error, message) {
  const headers = { "content-type": "application/json", "cache-control": "no-store" };
  // The SDK's agentgate.fetch() runs the check when it reads this.
  if (status === 401) Object.assign(headers, { "x-service-reason": error, "www-authenticate": "AgentGate" });
  if (status === 503) headers["retry-after"] = RETRY_AFTER_S;
  return { status, headers, body: JSON.stringify({ error, message }) };
}

async function formOf(request) {
  const type = request.headers.get("content-type") ?? "";
  if (request.headers.has(HEADER) || !/^(application\/x-www-form-urlencoded|multipart\/form-data)\b/i.test(type)) return undefined;
  try {
    // A copy, so that the handler can still read the body.
    return Object.fromEntries(await request.clone().formData());
  } catch {
    return undefined;
  }
}
