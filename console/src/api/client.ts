/** Calls of the service's own API: one origin, JSON, the session's CSRF token on every change. */

import { signal } from "@preact/signals";

declare const APP: "console" | "operator";

/** A refusal: the API's stable code, its message for people, and whatever else stands in the body. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly body: Record<string, unknown> = {},
    readonly requestId = "",
  ) {
    super(message);
  }
}

/** What went wrong, in words for people. */
export const messageOf = (failure: unknown) => (failure instanceof ApiError ? failure.message : String(failure));

export const isOperator = APP === "operator";
/** Where the pages of this console's own routes begin: the same page works for customers and for operators. */
export const API = isOperator ? "/v1/admin" : "/v1/console";
export const HOME = isOperator ? "/operator" : "/console";
export const csrfToken = signal("");

export type Query = Record<string, string | number | boolean | null | undefined>;
/** The version of what was read, by path: sent back, a change replaces this version or is refused. */
const etags = new Map<string, string>();

interface Options {
  query?: Query;
  /** Only the version that was read last may be replaced. */
  sameVersion?: boolean;
  /** Only this version may be changed. */
  version?: string;
  body?: unknown;
  signal?: AbortSignal;
}

export function address(path: string, query: Query = {}): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== null && value !== "") search.set(name, String(value));
  }
  const text = search.toString();
  return `${path.startsWith("/v1/") || path.startsWith("/readyz") ? "" : API}${path}${text ? `?${text}` : ""}`;
}

async function send(
  method: string,
  path: string,
  { query, body, signal, sameVersion, version }: Options = {},
): Promise<Response> {
  const headers: Record<string, string> = { Accept: "application/json" };
  if (method !== "GET") headers["X-CSRF-Token"] = csrfToken.value;
  if (body !== undefined) headers["Content-Type"] = "application/json";
  if (sameVersion && etags.has(path)) headers["If-Match"] = etags.get(path)!;
  if (version) headers["If-Match"] = version;
  let response: Response;
  try {
    response = await fetch(address(path, query), {
      method,
      headers,
      body: body === undefined ? null : JSON.stringify(body),
      signal: signal ?? null,
      credentials: "same-origin",
      redirect: "error",
    });
  } catch (failure) {
    if ((failure as Error).name === "AbortError") throw failure;
    throw new ApiError(0, "offline", "AgentGate is not reachable.");
  }
  if (!response.ok) throw await refusal(response);
  const etag = response.headers.get("etag");
  if (etag) etags.set(path, etag);
  return response;
}

async function refusal(response: Response): Promise<ApiError> {
  const requestId = response.headers.get("x-request-id") ?? "";
  let body: Record<string, unknown> = {};
  try {
    body = (await response.json()) as Record<string, unknown>;
  } catch {
    // A proxy in front answers in its own way; the status is all there is.
  }
  const code = typeof body["error"] === "string" ? body["error"] : `http_${response.status}`;
  const message = typeof body["message"] === "string" ? body["message"] : response.statusText;
  if (code === "unauthorized" || code === "session_expired" || code === "mfa_required") signInAgain();
  return new ApiError(response.status, code, message, body, requestId);
}

/** Leads to the sign-in page and back to where the reader is. What was typed stays in the drafts. */
export function signInAgain(): void {
  const here = location.pathname + location.search;
  if (here.startsWith(`${HOME}/sign-in`)) return;
  location.assign(`${HOME}/sign-in?next=${encodeURIComponent(here)}${csrfToken.value ? "&ended=1" : ""}`);
}

async function json<T>(method: string, path: string, options?: Options): Promise<T> {
  const response = await send(method, path, options);
  return (response.status === 204 ? undefined : await response.json()) as T;
}

export const api = {
  get: <T>(path: string, query?: Query, signal?: AbortSignal) => json<T>("GET", path, { query, signal }),
  post: <T>(path: string, body?: unknown, query?: Query, version?: string) =>
    json<T>("POST", path, { body, query, version }),
  put: <T>(path: string, body: unknown, sameVersion = false) => json<T>("PUT", path, { body, sameVersion }),
  patch: <T>(path: string, body: unknown) => json<T>("PATCH", path, { body }),
  delete: <T>(path: string, body?: unknown) => json<T>("DELETE", path, { body }),
  text: async (path: string, query?: Query) => (await send("GET", path, { query })).text(),
};
