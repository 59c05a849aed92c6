/** One request to the browser routes: the answer, or an `AgentGateError` with the refusal's code. */

import { AgentGateError } from "./errors";
import { writeJson } from "./json";
import { bare } from "./safe";
import { serviceUrl } from "./script";
import type { Body } from "./protocol";

/** Until when a site key is left alone after `rate_limited`, so that nobody is hammered. */
const quietUntil = new Map<string, number>();

export async function post<T>(path: "challenge" | "verify", body: Body, signal: AbortSignal): Promise<T> {
  const rest = (quietUntil.get(body.siteKey) ?? 0) - Date.now();
  if (rest > 0) throw new AgentGateError("rate_limited", { status: 429, retryAfter: Math.ceil(rest / 1000) });
  let answer: Response;
  try {
    // A text body needs no preflight request. `cors` also makes the origin known where the page sends no referrer.
    const init = { method: "POST", mode: "cors", credentials: "omit", cache: "no-store", body: writeJson(body), signal };
    answer = await fetch(serviceUrl("v1/browser/" + path), bare(init) as RequestInit);
  } catch {
    throw new AgentGateError("network");
  }
  const content = await readObject(answer);
  if (answer.ok && content) return content as T;
  throw refusal(answer, content, body.siteKey);
}

async function readObject(answer: Response): Promise<Record<string, unknown> | undefined> {
  try {
    const content: unknown = await answer.json();
    return typeof content === "object" && content ? bare(content as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

function refusal(answer: Response, content: Record<string, unknown> | undefined, siteKey: string): AgentGateError {
  const retryAfter = Number(answer.headers.get("Retry-After")) || 0;
  const refused = new AgentGateError(content?.error ?? (answer.status > 499 ? "unavailable" : "error"), {
    message: content?.message,
    decisionId: content?.decisionId,
    status: answer.status,
    retryAfter,
  });
  if (refused.code === "rate_limited") quietUntil.set(siteKey, Date.now() + (retryAfter || 60) * 1000);
  return refused;
}
