/** The requests of a check: the answer, or an `AgentGateError` with the refusal's code. */

import { AgentGateError } from "./errors";
import { writeJson } from "./json";
import { bare } from "./safe";
import { loadScript, serviceUrl } from "./script";
import type { Body, Challenge } from "./protocol";

/** Until when a site key is left alone after `rate_limited`, so that nobody is hammered. */
const quietUntil = new Map<string, number>();

let asked = 0;

/** A challenge, and the way to its program's answer in the page. */
export interface Task {
  readonly challenge: Challenge;
  readonly page: () => string | Promise<string>;
  /** The program as a function that refers to nothing around it. */
  readonly program?: () => string;
}

/** Get a challenge and its program in one answer: a script, because no strict policy lets a page run a text. */
export async function getTask({ siteKey, action, widget }: Body, signal: AbortSignal): Promise<Task> {
  checkQuiet(siteKey);
  const hook = `${++asked}`;
  const query = `schema=1&siteKey=${encodeURIComponent(siteKey)}&action=${encodeURIComponent(action)}&hook=${hook}`;
  const url = serviceUrl("v1/browser/challenge?" + query + (widget ? "&widget=" + widget : ""));
  try {
    const [challenge, program] = await loadScript<readonly [Challenge, () => string]>(url, hook);
    return { challenge: bare(challenge), page: program, program };
  } catch {
    // Why a script did not load, a page is not told. The other way says so, or leads to the same in two answers.
    const challenge = await post<Challenge>("challenge", { schema: 1, siteKey, action, widget }, signal);
    return { challenge, page: () => loadScript(serviceUrl(challenge.instrument), challenge.challengeId) };
  }
}

function checkQuiet(siteKey: string): void {
  const rest = (quietUntil.get(siteKey) ?? 0) - Date.now();
  if (rest > 0) throw new AgentGateError("rate_limited", { status: 429, retryAfter: Math.ceil(rest / 1000) });
}

export async function post<T>(path: "challenge" | "verify", body: Body, signal: AbortSignal): Promise<T> {
  checkQuiet(body.siteKey);
  let answer: Response;
  try {
    // A text body needs no preflight request. `cors` also makes the origin known where the page sends no referrer.
    const init = {
      method: "POST",
      mode: "cors",
      credentials: "omit",
      cache: "no-store",
      body: writeJson(body),
      signal,
    };
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
  if (refused.code === "rate_limited") quietUntil.set(siteKey, Date.now() + (retryAfter || 5) * 1000);
  return refused;
}
