/** `fetch` for protected routes: where the site asks for a token, the check runs and the request is sent once more. */

import type { ProtectedRequestInit, Result } from "../types/agentgate";
import type { Given } from "./options";
import { bare } from "./safe";

/** What the check cures. The others are refusals, or tell of a token that was sent along. */
const CURABLE = /^(receipt_required|invalid_clearance|expired_clearance)$/;

type Execute = (options: Given) => Promise<Result>;

async function asksForToken(answer: Response): Promise<boolean> {
  if (answer.status !== 401) return false;
  const header = answer.headers.get("X-Service-Reason");
  if (header !== null) return CURABLE.test(header);
  try {
    const body = (await answer.clone().json()) as { reason?: string; error?: string };
    return CURABLE.test(body.reason ?? body.error ?? "");
  } catch {
    return false;
  }
}

export async function fetchProtected(
  execute: Execute,
  input: RequestInfo | URL,
  given: ProtectedRequestInit = {},
): Promise<Response> {
  const { sitekey, action, ...rest } = bare(given);
  const init = bare(rest) as RequestInit;
  const isRequest = input instanceof Request;
  // A stream can be read once only; a request made of one is sent as it is, and not again.
  const once = init.body instanceof ReadableStream;
  const again = isRequest && !once ? input.clone() : input;
  const answer = await fetch(input, init);
  if (once || !(await asksForToken(answer))) return answer;
  const signal = init.signal ?? (isRequest ? input.signal : undefined);
  const { token } = await execute({ sitekey, action, signal: signal ?? undefined });
  const headers = new Headers(init.headers ?? (isRequest ? input.headers : undefined));
  headers.set("X-AgentGate-Token", token);
  return fetch(again, bare({ ...init, headers }) as RequestInit);
}
