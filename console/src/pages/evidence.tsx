/** What enforce would have refused: a thousand squares instead of a percentage, and the switch beside them. */

import { api } from "../api/client";
import { may } from "../api/session";
import type { Metrics, SiteAnalytics, SiteDetail } from "../api/types.gen";
import { count, percent } from "../lib/format";
import { useQuery } from "../lib/query";
import { t } from "../lib/words";
import { siteHref } from "../ui/layout";
import { Bars } from "../ui/parts";

const COLUMNS = 50;
const CELLS = 1000;
const KINDS = ["drop", "block", "challenge"] as const;

/** How many of a thousand requests end how; what happened at all is at least one square. */
export function ofThousand(metrics: Metrics): Record<(typeof KINDS)[number], number> {
  const { totals } = metrics;
  const part = (value: number) => (value === 0 ? 0 : Math.max(1, Math.round((value / totals.requests) * CELLS)));
  return {
    drop: part(totals.dropped + totals.wouldDrop),
    block: part(totals.blocked + totals.wouldBlock),
    challenge: part(totals.challenged + totals.wouldChallenge),
  };
}

function Squares({ metrics }: { metrics: Metrics }) {
  const parts = ofThousand(metrics);
  const kinds = KINDS.flatMap((kind) => Array.from({ length: parts[kind] }, () => kind)).slice(0, CELLS);
  const first = CELLS - kinds.length;
  const done = metrics.mode === "enforce";
  return (
    <svg
      class="thousand"
      viewBox="0 0 500 200"
      role="img"
      aria-label={t("evidence.squares", {
        allowed: first,
        challenge: parts.challenge,
        block: parts.block + parts.drop,
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
      {kinds.map((kind, index) => {
        const at = first + index;
        return (
          <rect
            key={at}
            class={done ? "area" : "cell"}
            data-o={kind}
            fill={done ? undefined : `url(#e-${kind})`}
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

export function Evidence({
  metrics,
  site,
  refusedShare,
  onSwitch,
}: {
  metrics: Metrics;
  site: SiteDetail;
  refusedShare: number;
  onSwitch: (mode: "enforce" | "monitor") => void;
}) {
  const analytics = useQuery<SiteAnalytics>(site.siteKey, (signal) =>
    api.get(`/sites/${site.siteKey}/analytics`, {}, signal),
  );
  const parts = ofThousand(metrics);
  const enforcing = site.mode === "enforce";
  const { totals } = metrics;
  return (
    <div class="card">
      <header>
        <h3 class="lead">{t(enforcing ? "evidence.refused" : "evidence.would", { part: percent(refusedShare) })}</h3>
      </header>
      <div class="in cols">
        <div class="stack tight">
          <div class="legend">
            <span>
              <span class="key quiet" data-o="allow" />
              {t("outcome.allow")}{" "}
              <b>{count(totals.allowed - totals.wouldBlock - totals.wouldChallenge - totals.wouldDrop)}</b>
            </span>
            <span>
              <span class={enforcing ? "key" : "key would"} data-o="challenge" />
              {t(enforcing ? "outcome.challenge" : "would.challenge")}{" "}
              <b>{count(totals.challenged + totals.wouldChallenge)}</b>
            </span>
            <span>
              <span class={enforcing ? "key" : "key would"} data-o="block" />
              {t(enforcing ? "outcome.block" : "would.block")}{" "}
              <b>{count(totals.blocked + totals.wouldBlock + totals.dropped + totals.wouldDrop)}</b>
            </span>
          </div>
          <Squares metrics={metrics} />
          <p class="s soft">{t("evidence.each", { challenge: parts.challenge, block: parts.block + parts.drop })}</p>
        </div>
        <div class="stack tight">
          <h3>{t("evidence.most")}</h3>
          <Bars
            items={(analytics.data?.top.reasons ?? [])
              .filter(({ name }) => name !== "allowed" && name !== "monitor")
              .slice(0, 5)
              .map((item) => ({
                key: item.name,
                name: <code>{item.name}</code>,
                count: item.count,
                tone: "challenge" as const,
              }))}
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
