/** AI use: what verified AI operators and agents may read the site for, with last week's requests before and after. */

import { useState } from "preact/hooks";
import { api, isOperator, messageOf } from "../api/client";
import { may } from "../api/session";
import type { AiTraffic, AiUseChoice, SiteAiUse, SiteDetail } from "../api/types.gen";
import { count } from "../lib/format";
import { useEdited } from "../lib/edited";
import { useQuery } from "../lib/query";
import { t } from "../lib/words";
import { siteHref } from "../ui/layout";
import { Card, Code, Failure, Field, Note, Segments } from "../ui/parts";
import { SaveDock } from "../ui/save-dock";
import { toast, toastError } from "../ui/toasts";
import { priceOf } from "./agent-policy";

export const USES = ["search", "agent", "training"] as const;
const CHOICES: AiUseChoice[] = ["allow", "challenge", "block", "price"];
// The setting of new sites. Sites without a setting see it as a suggestion.
const SUGGESTED: SiteAiUse = { search: "allow", agent: "allow", training: "block" };

interface Edited {
  use: SiteAiUse;
  robots: string;
}

const changeOf = ({ use, robots }: Edited) => ({
  aiUse: { ...use, price: USES.some((each) => use[each] === "price") ? use.price || undefined : undefined },
  robotsTxt: robots,
});

/** Last week's verified requests by the choice that applies to them. */
function countsOf(use: SiteAiUse | undefined, uses: Record<string, number>): string {
  if (!use) return t("aiUse.byRules", { n: count(USES.reduce((sum, each) => sum + (uses[each] ?? 0), 0)) });
  return CHOICES.map((choice) => {
    const sum = USES.reduce((all, each) => all + (use[each] === choice ? (uses[each] ?? 0) : 0), 0);
    return `${t(`aiUse.does.${choice}`)} ${count(sum)}`;
  }).join(" · ");
}

export function AiUse({ siteKey }: { siteKey: string }) {
  const site = useQuery<SiteDetail>(siteKey, (signal) => api.get(`/sites/${siteKey}`, {}, signal));
  const traffic = useQuery<AiTraffic>(siteKey, (signal) => api.get(`/sites/${siteKey}/ai-traffic`, {}, signal));
  const loaded = site.data && { use: site.data.aiUse ?? SUGGESTED, robots: site.data.robotsTxt ?? "" };
  const edited = useEdited<Edited>(`ai-use:${siteKey}`, loaded);
  const [problem, setProblem] = useState("");
  const [busy, setBusy] = useState(false);
  if (site.error && !site.data) return <Failure error={site.error} retry={site.reload} />;
  if (!site.data || !loaded || !edited.value) return <span class="skel long" />;
  const { value } = edited;
  const before = site.data;
  const readOnly = !may("sites:write");
  const isSold = USES.some((each) => value.use[each] === "price");
  const save = async () => {
    setBusy(true);
    setProblem("");
    try {
      await api.patch(`/sites/${siteKey}`, changeOf(value));
      const undo = () => void api.patch(`/sites/${siteKey}`, changeOf(loaded)).then(site.reload).catch(toastError);
      edited.drop();
      site.reload();
      toast(t("dock.saved"), before.aiUse && undo);
      return true;
    } catch (failure) {
      setProblem(messageOf(failure));
      return false;
    } finally {
      setBusy(false);
    }
  };
  const set = (use: SiteAiUse) => !readOnly && edited.set({ ...value, use });
  return (
    <>
      {!before.aiUse && (
        <Note
          tone="info"
          action={
            !readOnly &&
            !edited.dirty && (
              <button class="btn" aria-busy={busy} onClick={() => void save()}>
                {t("aiUse.suggestDo")}
              </button>
            )
          }
        >
          {t("aiUse.suggest")} {problem}
        </Note>
      )}
      <Card
        title={t("agents.tab.use")}
        lead={t("aiUse.lead")}
        side={
          <a class="s" href={siteHref(siteKey, "ai-traffic")}>
            {t("page.ai-traffic")}
          </a>
        }
      >
        <div class="in stack">
          <div class="cols">
            {USES.map((use) => (
              <div class="stack tight" key={use}>
                <h3>{t(`aiUse.${use}`)}</h3>
                <Segments
                  label={`${t("agents.tab.use")}: ${t(`aiUse.${use}`)}`}
                  value={value.use[use] ?? "allow"}
                  onChange={(choice) => set({ ...value.use, [use]: choice })}
                  options={CHOICES.map((each) => ({ value: each, label: t(`aiUse.does.${each}`) }))}
                />
                <p class="xs faint">
                  {t(`aiUse.${use}Help`)} {traffic.data && t("aiUse.lastWeek", { n: traffic.data.uses[use] ?? 0 })}
                </p>
              </div>
            ))}
          </div>
          {isSold && (
            <Field
              id="ai-price"
              label={t("agents.price")}
              help={t("agents.priceHelp")}
              error={priceOf(value.use.price) ? undefined : t("agents.priceWrong")}
              value={value.use.price ?? ""}
              readOnly={readOnly}
              onText={(price) => set({ ...value.use, price })}
            />
          )}
          {traffic.data && (
            <dl class="rows">
              <div>
                <dt>{t("aiUse.now")}</dt>
                <dd>{countsOf(before.aiUse, traffic.data.uses)}</dd>
              </div>
              {(edited.dirty || !before.aiUse) && (
                <div>
                  <dt>{t("aiUse.then")}</dt>
                  <dd>{countsOf(value.use, traffic.data.uses)}</dd>
                </div>
              )}
            </dl>
          )}
        </div>
      </Card>
      <Card title="robots.txt" lead={t("aiUse.robotsLead")}>
        <div class="in stack">
          <Field
            id="robots"
            label={t("aiUse.robots")}
            help={t("aiUse.robotsHelp")}
            rows={6}
            value={value.robots}
            readOnly={readOnly}
            onText={(robots) => edited.set({ ...value, robots })}
          />
          {!isOperator && <Code name="nginx" text={robotsLocation(siteKey)} />}
        </div>
      </Card>
      {edited.dirty && (
        <SaveDock
          before={changeOf(loaded)}
          after={changeOf(value)}
          onDiscard={edited.drop}
          onRestore={() => edited.set(value)}
          onSave={save}
          problem={problem}
          busy={busy}
        />
      )}
    </>
  );
}

const robotsLocation = (siteKey: string) =>
  `location = /robots.txt { proxy_pass ${location.origin}/v1/sites/${siteKey}/robots.txt; }`;
