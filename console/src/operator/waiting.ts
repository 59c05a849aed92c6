/** What the navigation of operators depends on: access requests, unhealthy parts of the service, several accounts. */

import { computed, signal } from "@preact/signals";
import { api } from "../api/client";
import type { AccessRequestList, CustomerList, InstallationState } from "../api/types.gen";
import { settings } from "../lib/settings";

const AGAIN_MS = 60_000;

export const requests = signal(0);
export const unhealthy = signal(0);
const hasSeveral = signal(false);
/** Whether pages for several accounts are of no use: there is one, and the operator did not ask for them. */
export const single = computed(() => !hasSeveral.value && !settings.value.everyPage);

export function troubles(report: InstallationState): number {
  const { mail, checks, jobs } = report;
  const unsent = mail.configured && mail.pending + mail.failed > 0;
  return checks.filter(({ ok }) => !ok).length + jobs.filter(({ failure }) => failure).length + Number(unsent);
}

async function read(): Promise<void> {
  const [waiting, report] = await Promise.all([
    api.get<AccessRequestList>("/access-requests", { status: "pending" }),
    api.get<InstallationState>("/service"),
  ]);
  if (!hasSeveral.value) {
    hasSeveral.value = (await api.get<CustomerList>("/customers", { limit: "2" })).items.length > 1;
  }
  requests.value = waiting.items.length;
  unhealthy.value = troubles(report);
}

export function watchWaiting(): void {
  // A number in the navigation is no reason for an error on the page.
  const quietly = () => void read().catch(() => undefined);
  quietly();
  addEventListener("agentgate:changed", quietly);
  setInterval(() => document.visibilityState === "visible" && quietly(), AGAIN_MS);
}

/** A page has changed what waits. */
export const changed = () => dispatchEvent(new Event("agentgate:changed"));
