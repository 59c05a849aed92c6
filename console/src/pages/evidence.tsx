/** What happened and what enforce mode would have done, as a thousand squares, and the switch beside them. */

import { api } from "../api/client";
import { may } from "../api/session";
import type { Metrics, SiteAnalytics, SiteDetail } from "../api/types.gen";
import { count, percent } from "../lib/format";
import { useQuery } from "../lib/query";
import { t } from "../lib/words";
import { ENOUGH } from "../lib/outcomes";
import { siteHref } from "../ui/layout";
import { Bars, Note } from "../ui/parts";
import { causeRows } from "./causes";

const COLUMNS = 50;
const CELLS = 1000;
const DAY_MS = 86_400_000;
const KINDS = ["drop", "block", "challenge"] as const;

interface Part {
  kind: (typeof KINDS)[number];
  would: boolean;
  count: number;
}

/** How the requests ended that were not allowed, and how those would have ended that monitor mode allowed. */
export function partsOf({ totals }: Metrics): Part[] {
  const { challenged, blocked, dropped, wouldChallenge, wouldBlock, wouldDrop } = totals;
  const counts = { drop: [wouldDrop, dropped], block: [wouldBlock, blocked], challenge: [wouldChallenge, challenged] };
  return [true, false].flatMap((would) =>
    KINDS.map((kind) => ({ kind, would, count: counts[kind][would ? 0 : 1]! })).filter((each) => each.count > 0),
  );
}

function Squares({ metrics, parts }: { metrics: Metrics; parts: Part[] }) {
  // What happened at all is at least one square.
  const size = (value: number) => Math.max(1, Math.round((value / metrics.totals.requests) * CELLS));
  const cells = parts.flatMap((part) => Array.from({ length: size(part.count) }, () => part)).slice(0, CELLS);
  const first = CELLS - cells.length;
  const of = (kinds: string[]) => cells.filter(({ kind }) => kinds.includes(kind)).length;
  return (
    <svg
      class="thousand"
      viewBox="0 0 500 200"
      role="img"
      aria-label={t("evidence.squares", {
        allowed: first,
        challenge: of(["challenge"]),
        block: of(["block", "drop"]),
      })}
    >
      <defs>
        <pattern id="g" width="10" height="10" patternUnits="userSpaceOnUse">
          <rect class="area quiet" data-o="allow" x="1" y="1" width="8" height="8" rx="1.5" />
        </pattern>
        {KINDS.map((kind) => (
          <pattern
            key={kind}
            id={`e-${kind}`}
            class="hatch"
            data-o={kind}
            width="4"
            height="4"
            patternUnits="userSpaceOnUse"
            patternTransform="rotate(45)"
          >
            <rect width="4" height="4" />
            <line x1="1" y1="0" x2="1" y2="4" />
          </pattern>
        ))}
      </defs>
      <path d={`M0 0H500V${Math.floor(first / COLUMNS) * 10}H0z`} fill="url(#g)" />
      <path d={`M0 ${Math.floor(first / COLUMNS) * 10}H${(first % COLUMNS) * 10}v10H0z`} fill="url(#g)" />
      {cells.map(({ kind, would }, index) => {
        const at = first + index;
        return (
          <rect
            key={at}
            class={would ? "cell" : "area"}
            data-o={kind}
            fill={would ? `url(#e-${kind})` : undefined}
            x={(at % COLUMNS) * 10 + 1}
            y={Math.floor(at / COLUMNS) * 10 + 1}
            width="8"
            height="8"
            rx="1.5"
          />
        );
      })}
    </svg>
  );
}

/** What switching to enforce mode would do, in a sentence with numbers. */
export function EnforceNumbers({ siteKey }: { siteKey: string }) {
  const metrics = useQuery<Metrics>(siteKey, (signal) =>
    api.get("/metrics", { siteKey, from: new Date(Date.now() - DAY_MS).toISOString() }, signal),
  );
  if (!metrics.data) return null;
  const { requests } = metrics.data.totals;
  const affected = partsOf(metrics.data).reduce((sum, part) => sum + part.count, 0);
  return (
    <Note tone="challenge">
      {requests < ENOUGH
        ? `${t("evidence.few", { k: affected, n: requests })}. ${t("evidence.tooFew", { n: ENOUGH })}`
        : `${t("evidence.would", { part: percent(affected / requests) })}.`}
    </Note>
  );
}

export function Evidence({
  metrics,
  site,
  onSwitch,
}: {
  metrics: Metrics;
  site: SiteDetail;
  onSwitch: (mode: "enforce" | "monitor") => void;
}) {
  const analytics = useQuery<SiteAnalytics>(site.siteKey, (signal) =>
    api.get(`/sites/${site.siteKey}/analytics`, {}, signal),
  );
  const parts = partsOf(metrics);
  const enforcing = site.mode === "enforce";
  const { totals } = metrics;
  const affected = parts.filter(({ would }) => !enforcing || !would).reduce((sum, part) => sum + part.count, 0);
  const few = totals.requests < ENOUGH;
  const title = few
    ? t(enforcing ? "evidence.fewRefused" : "evidence.few", { k: affected, n: totals.requests })
    : t(enforcing ? "evidence.refused" : "evidence.would", { part: percent(affected / totals.requests) });
  return (
    <div class="card">
      <header>
        <h3 class="lead">{title}</h3>
      </header>
      <div class="in cols">
        <div class="stack tight">
          <div class="legend">
            <span>
              <span class="key quiet" data-o="allow" />
              {t("outcome.allow")}{" "}
              <b>{count(totals.allowed - totals.wouldBlock - totals.wouldChallenge - totals.wouldDrop)}</b>
            </span>
            {parts.map(({ kind, would, count: requests }) => (
              <span key={kind + String(would)}>
                <span class={would ? "key would" : "key"} data-o={kind} />
                {t(`${would ? "would" : "outcome"}.${kind}`)} <b>{count(requests)}</b>
              </span>
            ))}
          </div>
          {few ? (
            <p class="s soft">{t("evidence.tooFew", { n: ENOUGH })}</p>
          ) : (
            <>
              <Squares metrics={metrics} parts={parts} />
              <p class="s soft">{t("evidence.each")}</p>
            </>
          )}
        </div>
        <div class="stack tight">
          <h3>{t("evidence.most")}</h3>
          <Bars
            items={causeRows(analytics.data?.top.causes ?? [], site.siteKey, "range=24h").slice(0, 5)}
            total={totals.requests}
            empty={t("overview.whyNone")}
          />
          <a class="s" href={`${siteHref(site.siteKey, "decisions")}?wouldDecision=challenge`}>
            {t("evidence.look")}
          </a>
        </div>
      </div>
      <footer>
        <span>{t("evidence.back")}</span>
        <span class="push row">
          {enforcing ? (
            <button class="btn" onClick={() => onSwitch("monitor")}>
              {t("evidence.toMonitor")}
            </button>
          ) : (
            <button
              class="btn main"
              onClick={() => onSwitch("enforce")}
              aria-disabled={may("sites:write") ? undefined : "true"}
            >
              {t("evidence.toEnforce")}
            </button>
          )}
        </span>
      </footer>
    </div>
  );
}
