/** Is it well, who is refused, is it right: the numbers of a site over a range. */

import { useState } from "preact/hooks";
import { useLocation, useRoute } from "preact-iso";
import { api } from "../api/client";
import { sites } from "../api/session";
import type { Metrics, NamedCount, SiteAnalytics, SiteHealth } from "../api/types.gen";
import { OutcomeChart, OutcomeTable, would } from "../chart/outcomes";
import { causeRows } from "./causes";
import { ENOUGH } from "../lib/outcomes";
import { csvText, save } from "../lib/csv";
import { count, decimal, percent, share, short } from "../lib/format";
import { useKeys } from "../lib/keys";
import { useParams } from "../lib/params";
import { useEvery, useQuery } from "../lib/query";
import { before, RANGES, useRange, type Range } from "../lib/range";
import { has, t } from "../lib/words";
import { ModeTag } from "../ui/columns";
import { Icon } from "../ui/icons";
import { siteHref } from "../ui/layout";
import { Harm } from "./overview-people";
import { Suggestions } from "./suggestions";
import { Bars, Card, Empty, Failure, Head, Note, RouteName, Segments, type Tone } from "../ui/parts";

const REFRESH_MS = 30_000;
const WHERE = ["routes", "actions", "asns", "countries"] as const;
const BAD_TONES: Record<string, Tone> = { critical: "block", warning: "challenge", info: "info" };

interface Both {
  now: Metrics;
  then: Metrics | null;
}

function readMetrics(siteKey: string, range: Range, signal: AbortSignal): Promise<Metrics> {
  return api.get<Metrics>("/metrics", { siteKey, from: range.from, to: range.to }, signal);
}

function refused({ totals }: Metrics): number {
  return totals.blocked + totals.challenged + totals.dropped;
}

function refusedShare(metrics: Metrics): number | null {
  return metrics.totals.requests ? refused(metrics) / metrics.totals.requests : null;
}

/** A share of the requests in brackets; a few requests are no percentage. */
function bracketed(value: number, requests: number): string {
  return requests < ENOUGH ? "" : ` (${percent(value / requests)})`;
}

function Delta({
  now,
  then,
  points,
  lower,
}: {
  now: number | null;
  then: number | null | undefined;
  points?: boolean;
  lower?: boolean;
}) {
  if (now == null || then == null || (!points && then === 0)) return <span class="delta">–</span>;
  const change = points ? now - then : now / then - 1;
  const better = lower === undefined || Math.abs(change) < 0.001 ? undefined : change < 0 === lower ? "allow" : "block";
  const sign = change > 0.0005 ? "↑" : change < -0.0005 ? "↓" : "→";
  return (
    <span class="delta" data-o={better}>
      {sign} {points ? t("overview.points", { n: share(Math.abs(change)) }) : percent(Math.abs(change))}
    </span>
  );
}

function Tiles({ now, then }: Both) {
  const requests = short(now.totals.requests);
  const sources = short(now.uniqueSources);
  const part = refusedShare(now);
  const passed = now.challenges.completionRate;
  const few = now.totals.requests < ENOUGH;
  const hypothetical = would(now.totals);
  return (
    <div class="tiles">
      <div class="tile" title={count(now.totals.requests)}>
        <span class="k">{t("overview.requests")}</span>
        <span class="v">
          {requests.value}
          <small>{requests.unit}</small>
        </span>
        <Delta now={now.totals.requests} then={then?.totals.requests} />
      </div>
      <div class="tile">
        <span class="k">{t("overview.refused")}</span>
        <span class="v">
          {few ? count(refused(now)) : share(part)}
          {!few && <small>%</small>}
        </span>
        <Delta now={few ? null : part} then={then && refusedShare(then)} points />
      </div>
      {hypothetical > 0 && (
        <div class="tile would" title={count(hypothetical)}>
          <span class="k">{t("overview.wouldRefuse")}</span>
          <span class="v">
            {few ? count(hypothetical) : share(hypothetical / now.totals.requests)}
            {!few && <small>%</small>}
          </span>
          <span class="delta">{t("overview.wouldNote")}</span>
        </div>
      )}
      <div class="tile">
        <span class="k">{t(now.challenges.issued < ENOUGH ? "overview.passedCount" : "overview.passed")}</span>
        <span class="v">
          {now.challenges.issued < ENOUGH ? count(now.challenges.passed) : share(passed)}
          {now.challenges.issued >= ENOUGH && <small>%</small>}
        </span>
        <span class="delta">{t("overview.passedOf", { n: now.challenges.issued })}</span>
      </div>
      <div class="tile">
        <span class="k">{t("overview.sources")}</span>
        <span class="v">
          {sources.value}
          <small>{sources.unit}</small>
        </span>
        <Delta now={now.uniqueSources} then={then?.uniqueSources} />
      </div>
      <div class="tile">
        <span class="k">{t("overview.delay")}</span>
        <span class="v">
          {decimal(now.latency.p95Ms)}
          <small> ms</small>
        </span>
        <Delta now={now.latency.p95Ms} then={then?.latency.p95Ms} lower />
      </div>
    </div>
  );
}

function Legend({ metrics }: { metrics: Metrics }) {
  const { totals } = metrics;
  const rows: [string, string, number, string][] = [
    ["quiet", "allow", totals.allowed - would(totals), t("outcome.allow")],
    ["", "challenge", totals.challenged, t("outcome.challenge")],
    ["", "block", totals.blocked, t("outcome.block")],
    ["", "drop", totals.dropped, t("outcome.drop")],
    ["would", "challenge", totals.wouldChallenge, t("would.challenge")],
    ["would", "block", totals.wouldBlock, t("would.block")],
    ["would", "drop", totals.wouldDrop, t("would.drop")],
  ];
  return (
    <div class="legend">
      {rows
        .filter(([kind, , value]) => value > 0 || kind === "quiet")
        .map(([kind, tone, value, label]) => (
          <span key={kind + tone}>
            <span class={`key ${kind}`} data-o={tone} />
            {label} <b>{count(value)}</b>
          </span>
        ))}
    </div>
  );
}

/** What happened first, then what enforce mode would have done: the mode of today says nothing about either. */
function lead(metrics: Metrics): string {
  const { requests, challenged, blocked, dropped } = metrics.totals;
  const hypothetical = would(metrics.totals);
  if (requests === 0) return t("overview.leadNone");
  const happened = t(refused(metrics) ? "overview.leadSome" : "overview.leadAll", {
    n: requests,
    challenged,
    blocked: blocked + dropped,
    part: bracketed(refused(metrics), requests),
  });
  return hypothetical
    ? `${happened} ${t("overview.leadWould", { n: hypothetical, part: bracketed(hypothetical, requests) })}`
    : happened;
}

function Lists({ analytics, siteKey, link }: { analytics: SiteAnalytics; siteKey: string; link: string }) {
  const [where, setWhere] = useState<(typeof WHERE)[number]>("routes");
  const decisions = (name: string, value: string) =>
    `${siteHref(siteKey, "decisions")}?${link}&${name}=${encodeURIComponent(value)}`;
  const filterOf: Record<string, string | undefined> = {
    routes: undefined,
    actions: "action",
    asns: "label",
    countries: "label",
  };
  const rows = (items: NamedCount[], filter?: string, tone?: Tone, prefix = "") =>
    items.map((item) => ({
      key: item.name,
      name: <RouteName route={item.name} />,
      count: item.count,
      tone,
      href: filter ? decisions(filter, prefix + item.name) : undefined,
    }));
  const { challenges, siteverify, top } = analytics;
  const requests = analytics.gateway.requests;
  const checks = [
    ["issued", challenges.issued],
    ["invisible", challenges.solveTypes.invisible],
    ["clicked", challenges.solveTypes.managed + challenges.solveTypes.interactive + challenges.solveTypes.step_up],
    ["redeemed", siteverify.tokensRedeemed],
  ] as const;
  const prefix = where === "asns" ? "net.asn." : where === "countries" ? "net.country." : "";
  return (
    <div class="cols">
      <Card
        title={t("overview.why")}
        lead={t("overview.ofRequests", { n: requests })}
        side={
          <a class="s" href={`${siteHref(siteKey, "decisions")}?${link}`}>
            {t("overview.allDecisions")}
          </a>
        }
      >
        <div class="in">
          <Bars items={causeRows(top.causes, siteKey, link)} total={requests} empty={t("overview.whyNone")} />
        </div>
      </Card>
      <Card
        title={t("overview.where")}
        lead={t("overview.counted", { n: requests })}
        side={
          <Segments
            label={t("overview.where")}
            value={where}
            onChange={setWhere}
            options={WHERE.map((value) => ({ value, label: t(`overview.${value}`) }))}
          />
        }
      >
        <div class="in">
          <Bars
            items={rows(top[where], filterOf[where], undefined, prefix)}
            total={requests}
            empty={t("overview.whereNone")}
          />
        </div>
      </Card>
      <Card
        title={t("overview.check")}
        side={
          <span class="faint s">
            {challenges.medianSolveMs != null && t("overview.median", { ms: decimal(challenges.medianSolveMs, 0) })}
          </span>
        }
      >
        <div class="in">
          <Bars
            items={checks.map(([key, value]) => ({ key, name: t(`overview.check.${key}`), count: value }))}
            total={challenges.issued || 1}
            empty=""
          />
        </div>
      </Card>
      <Card title={t("overview.seen")} lead={t("overview.counted", { n: requests })}>
        <div class="in">
          <Bars items={rows(top.labels, "label", "info")} total={requests} empty={t("overview.seenNone")} />
        </div>
      </Card>
    </div>
  );
}

function HealthNotes({ health, siteKey }: { health: SiteHealth; siteKey: string }) {
  const worst = health.checks.find((check) => check.severity !== "ok");
  if (!worst) return null;
  const title = has(`check.${worst.check}`) ? t(`check.${worst.check}`) : worst.check;
  return (
    <Note
      tone={BAD_TONES[worst.severity] ?? "challenge"}
      action={<a href={siteHref(siteKey, "install")}>{t("overview.fix")}</a>}
    >
      <b>{title}</b> {worst.message}
    </Note>
  );
}

export default function Overview() {
  const { params } = useRoute();
  const { route } = useLocation();
  const siteKey = params["siteKey"] ?? "";
  const [query, set] = useParams();
  const [range, choose, zoom] = useRange("24h");
  const compare = query["compare"] !== "off";
  const table = query["view"] === "table";
  const key = `${siteKey} ${range.from} ${range.to}`;
  const metrics = useQuery<Both>(`${key} ${compare}`, async (signal) => {
    const [now, then] = await Promise.all([
      readMetrics(siteKey, range, signal),
      compare ? readMetrics(siteKey, before(range), signal).catch(() => null) : null,
    ]);
    return { now, then };
  });
  const analytics = useQuery<SiteAnalytics>(key, (signal) =>
    api.get(`/sites/${siteKey}/analytics`, { from: range.from, to: range.to }, signal),
  );
  const past = before(range);
  const earlier = useQuery<SiteAnalytics>(compare ? key : null, (signal) =>
    api.get(`/sites/${siteKey}/analytics`, { from: past.from, to: past.to }, signal),
  );
  const health = useQuery<SiteHealth>(siteKey, (signal) => api.get(`/sites/${siteKey}/health`, {}, signal));
  useEvery(range.name === "custom" ? null : REFRESH_MS, () => {
    metrics.reload();
    analytics.reload();
  });
  useKeys([{ key: "c", help: t("overview.compareKey"), run: () => set({ compare: compare ? "off" : undefined }) }]);
  const site = sites.value?.find((each) => each.siteKey === siteKey);
  const { data } = metrics;
  const download = () => {
    if (!data) return;
    const head = [
      "start",
      "end",
      "requests",
      "allowed",
      "challenged",
      "blocked",
      "dropped",
      "wouldChallenge",
      "wouldBlock",
      "wouldDrop",
    ];
    save(
      `${siteKey}-overview.csv`,
      csvText(
        head,
        data.now.series.map((point) => head.map((name) => point[name as keyof typeof point])),
      ),
    );
  };
  const link = range.name === "custom" ? `from=${range.from}&to=${range.to}` : `range=${range.name}`;
  const then = data?.then ? data.now.series.map((_, index) => data.then!.series[index]?.requests ?? 0) : undefined;
  return (
    <>
      <Head title={t("page.overview")} actions={site && <ModeTag mode={site.mode} />}>
        {data ? lead(data.now) : t("overview.reading")}
      </Head>
      <div class="filters">
        <Segments
          label={t("range.label")}
          value={range.name as string}
          onChange={(name) => choose(name as (typeof RANGES)[number])}
          options={RANGES.map((value) => ({ value: value as string, label: t(`range.${value}`) }))}
        />
        {range.name === "custom" && (
          <span class="chip">
            {t("range.chosen")}
            <button aria-label={t("range.clear")} onClick={() => choose("24h")}>
              <Icon name="x" />
            </button>
          </span>
        )}
        <button class="btn" aria-pressed={compare} onClick={() => set({ compare: compare ? "off" : undefined })}>
          {t("overview.compare")}
        </button>
        <span class="push row">
          <button class="btn quiet" onClick={download}>
            <Icon name="get" />
            CSV
          </button>
        </span>
      </div>
      {health.data && <HealthNotes health={health.data} siteKey={siteKey} />}
      <section
        class={metrics.loading && data ? "card stale" : "card"}
        aria-label={t("overview.byOutcome")}
        aria-busy={metrics.loading}
      >
        {metrics.error && !data ? (
          <Failure error={metrics.error} retry={metrics.reload} />
        ) : data ? (
          <>
            <Tiles {...data} />
            {data.now.totals.requests === 0 && range.name !== "custom" ? (
              <Empty
                icon="chart"
                title={t("overview.empty")}
                actions={
                  <button class="btn main" onClick={() => route(siteHref(siteKey, "install"))}>
                    {t("overview.emptyDo")}
                  </button>
                }
              >
                {t("overview.emptyWhy")}
              </Empty>
            ) : table ? (
              <OutcomeTable points={data.now.series} />
            ) : (
              <OutcomeChart points={data.now.series} previous={then} onZoom={zoom} />
            )}
            <footer>
              <Legend metrics={data.now} />
              <button class="btn quiet push" onClick={() => set({ view: table ? undefined : "table" })}>
                {t(table ? "chart.asChart" : "chart.asTable")}
              </button>
            </footer>
          </>
        ) : (
          <Skeleton />
        )}
      </section>
      {analytics.data && <Harm analytics={analytics.data} earlier={earlier.data} siteKey={siteKey} link={link} />}
      <Suggestions siteKey={siteKey} enforces={site?.mode === "enforce"} />
      {analytics.data ? (
        <Lists analytics={analytics.data} siteKey={siteKey} link={link} />
      ) : (
        analytics.error && (
          <div class="card">
            <Failure error={analytics.error} retry={analytics.reload} />
          </div>
        )
      )}
    </>
  );
}

function Skeleton() {
  return (
    <>
      <div class="tiles" aria-hidden="true">
        {[0, 1, 2, 3, 4].map((tile) => (
          <div class="tile" key={tile}>
            <span class="k">
              <span class="skel" />
            </span>
            <span class="v">
              <span class="skel short" />
            </span>
            <span class="delta">
              <span class="skel short" />
            </span>
          </div>
        ))}
      </div>
      <div class="chart" aria-hidden="true">
        <div class="plot" />
      </div>
    </>
  );
}
