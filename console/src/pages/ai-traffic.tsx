/** AI traffic: requests of AI operators and agents by proof, decision and use. */

import { useRoute } from "preact-iso";
import { api } from "../api/client";
import type { AiTraffic, NamedCount } from "../api/types.gen";
import { count } from "../lib/format";
import { useQuery } from "../lib/query";
import { RANGES, useRange } from "../lib/range";
import { t } from "../lib/words";
import { siteHref } from "../ui/layout";
import { type Bar, Bars, Card, Failure, Head, Note, Segments, Time, type Tone } from "../ui/parts";
import { USES } from "./ai-use";

const PROOFS = ["verifiedBySignature", "verifiedByNetwork", "forged", "unchecked", "claimed"] as const;
const TONES: Record<string, Tone> = {
  verifiedBySignature: "allow",
  verifiedByNetwork: "allow",
  forged: "block",
  allowed: "allow",
  challenged: "challenge",
  blocked: "block",
};

/** Verified requests that neither the AI use nor a policy decided. */
function byRules({ verification, decisions }: AiTraffic): number {
  const verified = verification.verifiedBySignature + verification.verifiedByNetwork;
  return Math.max(0, verified - decisions.allowed - decisions.challenged - decisions.blocked);
}

export default function AiTrafficPage() {
  const siteKey = useRoute().params["siteKey"] ?? "";
  const [range, choose] = useRange("7d");
  const { data, error, reload } = useQuery<AiTraffic>(`${siteKey} ${range.from} ${range.to}`, (signal) =>
    api.get(`/sites/${siteKey}/ai-traffic`, { from: range.from, to: range.to }, signal),
  );
  const link = `${siteHref(siteKey, "decisions")}?from=${range.from}&to=${range.to}`;
  const named = (items: NamedCount[], label?: string): Bar[] =>
    items.map((each) => ({
      key: each.name,
      name: <code>{each.name}</code>,
      count: each.count,
      href: label && `${link}&label=${encodeURIComponent(label + each.name)}`,
    }));
  const counted = (counts: object): Bar[] =>
    (Object.entries(counts) as [string, number][]).map(([key, n]) => ({
      key,
      name: t(`${USES.some((use) => use === key) ? "aiUse" : "aiTraffic"}.${key}`),
      count: n,
      tone: TONES[key],
    }));
  return (
    <>
      <Head title={t("page.ai-traffic")}>{t("aiTraffic.lead")}</Head>
      <div class="filters">
        <Segments
          label={t("range.label")}
          value={range.name as string}
          onChange={(name) => choose(name as (typeof RANGES)[number])}
          options={RANGES.map((value) => ({ value: value as string, label: t(`range.${value}`) }))}
        />
        <a class="btn push" href={`${siteHref(siteKey, "agents")}?tab=use`}>
          {t("aiTraffic.change")}
        </a>
      </div>
      {error && !data && (
        <div class="card">
          <Failure error={error} retry={reload} />
        </div>
      )}
      {data?.eventsFrom && (
        <Note tone="info">
          {t("aiTraffic.from")} <Time at={data.eventsFrom} full />
        </Note>
      )}
      {data && (
        <>
          <div class="card">
            <div class="tiles only">
              {PROOFS.map((proof) => (
                <div class="tile" key={proof}>
                  <span class="k">{t(`aiTraffic.${proof}`)}</span>
                  <span class="v">{count(data.verification[proof])}</span>
                  <span class="delta">{t(`aiTraffic.${proof}Why`)}</span>
                </div>
              ))}
            </div>
          </div>
          <div class="cols">
            <Card title={t("aiTraffic.decisions")} lead={t("aiTraffic.decisionsLead")}>
              <div class="in">
                <Bars items={counted({ ...data.decisions, byRules: byRules(data) })} empty="" />
              </div>
            </Card>
            <Card title={t("aiTraffic.uses")} lead={t("aiTraffic.usesLead")}>
              <div class="in">
                <Bars items={counted(Object.fromEntries(USES.map((use) => [use, data.uses[use] ?? 0])))} empty="" />
              </div>
            </Card>
            <Card title={t("aiTraffic.operators")} lead={t("aiTraffic.operatorsLead")}>
              <div class="in">
                <Bars items={named(data.operators, "agent.operator.")} empty={t("aiTraffic.none")} />
              </div>
            </Card>
            <Card title={t("aiTraffic.robots")} lead={t("aiTraffic.robotsLead")}>
              <div class="in">
                <Bars items={named(data.againstRobots, "robots.disallowed.")} empty={t("aiTraffic.none")} />
              </div>
            </Card>
            <Card title={t("page.agents")} lead={t("aiTraffic.agentsLead")}>
              <div class="in">
                <Bars items={named(data.agents)} empty={t("aiTraffic.none")} />
              </div>
            </Card>
          </div>
        </>
      )}
    </>
  );
}
