/** The line of an adapter that decides about requests while AgentGate is unavailable. */

import { api } from "../api/client";
import type { Adapter, SiteDetail } from "../api/types.gen";
import { useQuery } from "../lib/query";
import { t } from "../lib/words";
import { Code } from "../ui/parts";
import { NAMES } from "./snippets";

/** The files of a proxy for a site. They depend on the mode of the site. */
export function useAdapter({ siteKey, mode }: SiteDetail, proxy: string | null, answers: Record<string, string> = {}) {
  const query = Object.fromEntries(Object.entries(answers).filter(([, value]) => value));
  return useQuery<Adapter>(proxy && `${siteKey} ${proxy} ${mode} ${JSON.stringify(query)}`, (signal) =>
    api.get(`/sites/${siteKey}/adapters/${proxy}`, query, signal),
  );
}

/** What to change in the adapter's file at the switch to enforce mode. */
export function UnavailableLine({ site, proxy }: { site: SiteDetail; proxy: string }) {
  const line = useAdapter(site, proxy).data?.unavailable;
  if (!line) return null;
  return (
    <div class="stack tight" data-part="unavailable">
      <p class="s">{t("unavailable.enforce", { file: line.file, stack: NAMES[proxy] ?? proxy })}</p>
      <Code name={t("unavailable.from", { file: line.file })} text={line.monitor} />
      <Code name={t("unavailable.to", { file: line.file })} text={line.enforce} />
    </div>
  );
}
