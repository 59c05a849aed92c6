/** Why a decision was made, as sentences; what the visitor saw, and what else the visitor did. */

import { api } from "../api/client";
import { may } from "../api/session";
import type { DecisionDetail, VisitorDetail } from "../api/types.gen";
import { worst } from "../lib/outcomes";
import { useQuery } from "../lib/query";
import { t } from "../lib/words";
import { siteHref } from "../ui/layout";
import { LabelPill, OutcomeBadge, RouteName, Time } from "../ui/parts";

const MOST_OTHERS = 5;

/** The place of a rule on the page of the rules. */
export function ruleHref(siteKey: string, rule: string): string {
  return `${siteHref(siteKey, "rules")}?rule=${encodeURIComponent(rule)}`;
}

/** The settings with a new allowed path; the owner writes the path if no route of the site names it. */
export function openPathHref(siteKey: string, route: string): string {
  return `${siteHref(siteKey, "settings")}?openPath=${route === "*" ? "" : encodeURIComponent(route)}`;
}

export function WhatAndWhy({ detail, siteKey }: { detail: DecisionDetail; siteKey: string }) {
  const { decision, explanation } = detail;
  const { outcome } = worst(decision);
  return (
    <>
      <section class="stack tight" aria-label={t("detail.evidence")}>
        <h2>{t("detail.evidence")}</h2>
        {explanation.evidence.length === 0 && <p class="s soft">{t("detail.noEvidence")}</p>}
        <ul class="stack tight reasons">
          {explanation.evidence.map(({ label, meaning }) => (
            <li key={label}>
              {meaning} <LabelPill label={label} hit={outcome} />
            </li>
          ))}
        </ul>
        {decision.kind === "request" && (
          <p class="s">
            <b>{t("detail.saw")}</b> {t(`saw.${decision.outcome}`)}
          </p>
        )}
      </section>
      {decision.visitorId && may("analytics:read") && (
        <Others id={decision.visitorId} except={decision.id} siteKey={siteKey} />
      )}
    </>
  );
}

function Others({ id, except, siteKey }: { id: string; except: string; siteKey: string }) {
  const { data } = useQuery<VisitorDetail>(id, (signal) => api.get(`/visitors/${id}`, { siteKey }, signal));
  if (!data) return null;
  const others = data.recent.filter((each) => each.id !== except).slice(0, MOST_OTHERS);
  return (
    <details>
      <summary class="b s">{t("detail.others")}</summary>
      {others.length === 0 && <p class="s soft">{t("detail.noOthers")}</p>}
      <ul class="stack tight reasons">
        {others.map((each) => (
          <li key={each.id} class="row">
            <Time at={each.time} />
            <OutcomeBadge {...worst(each)} />
            <a href={`?open=${each.id}`}>
              {each.method} <RouteName route={each.route} />
            </a>
          </li>
        ))}
      </ul>
    </details>
  );
}
