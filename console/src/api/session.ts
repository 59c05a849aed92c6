/** Who is signed in. Customers and operators have different sessions, which never unlock each other. */

import { computed, signal } from "@preact/signals";
import { api, csrfToken, HOME, isOperator } from "./client";
import type { ConsolePermission, Session, SessionInfo, SiteList, SiteSummary } from "./types.gen";

export const session = signal<Session | null>(null);
export const operator = signal<SessionInfo | null>(null);
export const sites = signal<SiteSummary[] | null>(null);

export const reader = computed(() => operator.value?.operator ?? session.value?.user?.email ?? "");
export const account = computed(() => session.value?.account ?? null);

/** Reads the session, or leads to the sign-in page (the client does). */
export async function loadSession(): Promise<void> {
  if (isOperator) {
    operator.value = await api.get<SessionInfo>("/session");
    csrfToken.value = operator.value.csrfToken ?? "";
  } else {
    takeSession(await api.get<Session>("/v1/account/session"));
  }
}

export function takeSession(next: Session): void {
  session.value = next;
  csrfToken.value = next.csrfToken ?? "";
}

export async function loadSites(): Promise<SiteSummary[]> {
  sites.value = (await api.get<SiteList>("/sites")).items;
  return sites.value;
}

/** Says whether the reader may do something; operators may do everything. */
export function may(permission: ConsolePermission): boolean {
  return isOperator || (account.value?.permissions.includes(permission) ?? false);
}

export async function signOut(): Promise<void> {
  await api.post(isOperator ? "/logout" : "/v1/account/logout");
  location.assign(isOperator ? `${HOME}/sign-in` : "/console/sign-in");
}
