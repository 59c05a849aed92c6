/** Who is signed in. Customers and operators have different sessions, which never unlock each other. */

import { computed, signal } from "@preact/signals";
import { api, csrfToken, HOME, isOperator } from "./client";
import type { ConsolePermission, Session, SessionInfo, SiteList, SiteSummary } from "./types.gen";

export const session = signal<Session | null>(null);
export const operator = signal<SessionInfo | null>(null);
/** The newest sites, and others that were opened. */
export const sites = signal<SiteSummary[] | null>(null);
const SITES_PAGE = 200;
const opened = new Map<string, SiteSummary>();

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

/** Reads a page of the sites that a search finds. */
export function listSites(q: string, cursor?: string, signal?: AbortSignal): Promise<SiteList> {
  return api.get<SiteList>("/sites", { q, cursor, limit: SITES_PAGE }, signal);
}

/** Reads the newest sites. */
export async function loadSites(signal?: AbortSignal): Promise<SiteList> {
  const page = await listSites("", undefined, signal);
  const keys = new Set(page.items.map(({ siteKey }) => siteKey));
  sites.value = [...page.items, ...[...opened.values()].filter(({ siteKey }) => !keys.has(siteKey))];
  return page;
}

/** Reads a site that is not among the newest. */
export async function openSite(siteKey: string): Promise<void> {
  const isKnown = () => sites.value?.some((each) => each.siteKey === siteKey) ?? true;
  if (isKnown()) return;
  const found = (await listSites(siteKey)).items.find((each) => each.siteKey === siteKey);
  if (!found || isKnown()) return;
  opened.set(siteKey, found);
  sites.value = [...(sites.value ?? []), found];
}

/** Says whether the reader may do something; operators may do everything. */
export function may(permission: ConsolePermission): boolean {
  return isOperator || (account.value?.permissions.includes(permission) ?? false);
}

export async function signOut(): Promise<void> {
  await api.post(isOperator ? "/logout" : "/v1/account/logout");
  location.assign(isOperator ? `${HOME}/sign-in` : "/console/sign-in");
}
