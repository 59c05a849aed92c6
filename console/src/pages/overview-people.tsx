/** Is it working, and is anyone harmed: people at challenges, and the bots that were stopped, by kind. */

import { api } from "../api/client";
import type { AppealCounts, Cause, SiteAnalytics, SuggestionList } from "../api/types.gen";
import { ENOUGH } from "../lib/outcomes";
import { count, percent } from "../lib/format";
import { useQuery } from "../lib/query";
import { t } from "../lib/words";
import { siteHref } from "../ui/layout";
import { Bars, Card } from "../ui/parts";
import { kindOf } from "./causes";

const TOP = 5;

interface Shown {
  analytics: SiteAnalytics;
  earlier: SiteAnalytics | null | undefined;
  siteKey: string;
  /** The range of the page, for links. */
  link: string;
}

function byKind(causes: Cause[]) {
  const sums = new Map<string, { count: number; would: number }>();
  for (const { rule, refused, wouldRefuse } of causes) {
    const sum = sums.get(kindOf(rule)) ?? { count: 0, would: 0 };
    sums.set(kindOf(rule), { count: sum.count + refused, would: sum.would + wouldRefuse });
  }
  return [...sums]
    .map(([key, sum]) => ({ key, name: t(`kind.${key}`), ...sum }))
    .sort((one, other) => other.count + other.would - one.count - one.would);
}

function People({ analytics, siteKey }: { analytics: SiteAnalytics; siteKey: string }) {
  const appeals = useQuery<{ counts: AppealCounts }>(siteKey, (signal) =>
    api.get(`/sites/${siteKey}/appeals`, { limit: 1 }, signal),
  );
  const { issued, passed, abandoned, failed } = analytics.challenges;
  const part = (value: number) => (issued < ENOUGH ? "" : percent(value / issued));
  const waiting = appeals.data && (appeals.data.counts.waiting ?? 0);
  return (
    <Card title={t("people.title")} lead={t("people.lead", { n: analytics.gateway.allowed })}>
      <dl class="rows in">
        {(
          [
            ["issued", issued, ""],
            ["solved", passed, part(passed)],
            ["gaveUp", abandoned, part(abandoned)],
            ["failed", failed, part(failed)],
          ] as const
        ).map(([key, value, share]) => (
          <div key={key}>
            <dt>{t(`people.${key}`)}</dt>
            <dd>
              <b>{count(value)}</b> {share}
            </dd>
          </div>
        ))}
        {waiting !== undefined && (
          <div>
            <dt>{t("people.appeals")}</dt>
            <dd>
              <a href={siteHref(siteKey, "appeals")}>{count(waiting)}</a>
            </dd>
          </div>
        )}
      </dl>
    </Card>
  );
}

function Bots({ analytics, earlier, siteKey, link }: Shown) {
  const found = useQuery<SuggestionList>(siteKey, (signal) => api.get(`/sites/${siteKey}/suggestions`, {}, signal));
  const { causes, refusedPrograms } = analytics.top;
  const known = new Set(earlier?.top.refusedPrograms.map(({ name }) => name));
  const fresh = earlier ? refusedPrograms.filter(({ name }) => !known.has(name)) : [];
  const owners = new Map<string, Set<string>>();
  for (const { program, owner } of found.data?.items ?? []) {
    if (program && owner) owners.set(program, (owners.get(program) ?? new Set()).add(owner));
  }
  return (
    <Card
      title={t("bots.title")}
      lead={t("bots.lead")}
      side={
        <a class="s" href={`${siteHref(siteKey, "ai-traffic")}?${link}`}>
          {t("page.ai-traffic")}
        </a>
      }
    >
      <div class="in stack">
        <Bars items={byKind(causes)} total={analytics.gateway.requests} empty={t("overview.whyNone")} />
        {refusedPrograms.length > 0 && (
          <dl class="rows">
            {refusedPrograms.slice(0, TOP).map(({ name, count: requests }) => (
              <div key={name}>
                <dt>
                  {name.replaceAll("_", " ")}{" "}
                  <span class="s soft">{[...(owners.get(name) ?? [])].slice(0, 2).join(", ")}</span>
                </dt>
                <dd>{count(requests)}</dd>
              </div>
            ))}
          </dl>
        )}
        {Boolean(earlier?.gateway.requests) && (
          <p class="s soft">
            {fresh.length > 0
              ? t("bots.new", { names: fresh.map(({ name }) => name.replaceAll("_", " ")).join(", ") })
              : t("bots.noneNew")}
          </p>
        )}
      </div>
    </Card>
  );
}

/** The two cards. `earlier` is the period before, to find what is new. */
export function Harm(props: Shown) {
  return (
    <div class="cols">
      <People {...props} />
      <Bots {...props} />
    </div>
  );
}
