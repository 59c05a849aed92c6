/** The application behind the proxy: which costly pages require a check, and which protocols pass. */

import { useState } from "preact/hooks";
import { api, ApiError } from "../api/client";
import { may } from "../api/session";
import type { RulesView, SiteDetail } from "../api/types.gen";
import { useQuery } from "../lib/query";
import { t } from "../lib/words";
import { Confirm } from "../ui/dialogs";
import { toast, toastError } from "../ui/toasts";

type Preset = RulesView["preset"];

const NAMES: Record<Exclude<Preset, "none">, string> = {
  forgejo: "Forgejo",
  gitea: "Gitea",
  gitlab: "GitLab",
  cgit: "cgit",
  mediawiki: "MediaWiki",
  wordpress: "WordPress",
  discourse: "Discourse",
  nextcloud: "Nextcloud",
  matrix: "Matrix (Synapse)",
};
// The action whose check gives the clearance, where the site has no such action.
const VISIT = { visit: { browserRequired: true, clearance: true } };

/** Saves the present rules with another preset. */
async function save(site: SiteDetail, preset: Preset, acknowledge: boolean): Promise<RulesView> {
  const path = `/sites/${site.siteKey}`;
  if (preset !== "none" && !Object.values(site.actions).some(({ clearance }) => clearance))
    await api.patch(path, { actions: { ...site.actions, ...VISIT } });
  const { source, ruleSet, overrides, revision } = await api.get<RulesView>(`${path}/rules`);
  const own = source === "site" ? { ruleSet } : {};
  return api.put(`${path}/rules`, { ...own, overrides, revision, preset, guard: true, acknowledge });
}

export function PresetChoice({ site, onChange }: { site: SiteDetail; onChange: () => void }) {
  const rules = useQuery<RulesView>(site.siteKey, (signal) => api.get(`/sites/${site.siteKey}/rules`, {}, signal));
  const [asked, setAsked] = useState<{ preset: Preset; why: string } | null>(null);
  const choose = (preset: Preset, acknowledge = false) => {
    setAsked(null);
    save(site, preset, acknowledge)
      .then((saved) => {
        rules.set(saved);
        toast(t("rules.saved", { revision: saved.revision }));
        onChange();
      })
      .catch((failure) => {
        if (failure instanceof ApiError && failure.code === "confirmation_required")
          setAsked({ preset, why: failure.message });
        else toastError(failure);
        rules.reload();
      });
  };
  if (!rules.data) return null;
  return (
    <div class="stack tight">
      <h3>{t("install.preset")}</h3>
      <p class="s soft">{t("install.presetHelp")}</p>
      <select
        aria-label={t("install.preset")}
        value={rules.data.preset}
        disabled={!may("sites:write")}
        onChange={(event) => choose((event.currentTarget as HTMLSelectElement).value as Preset)}
      >
        <option value="none">{t("install.presetNone")}</option>
        {Object.entries(NAMES).map(([value, name]) => (
          <option key={value} value={value}>
            {name}
          </option>
        ))}
      </select>
      <Confirm
        open={asked !== null}
        title={t("install.preset")}
        action={t("rules.saveAnyway")}
        onConfirm={() => asked && choose(asked.preset, true)}
        onClose={() => setAsked(null)}
      >
        {asked?.why}
      </Confirm>
    </div>
  );
}
