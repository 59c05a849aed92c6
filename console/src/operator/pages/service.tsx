/** The installation: is it well, what waits, what is old, what is set. */

import { useRef, useState } from "preact/hooks";
import { api, HOME } from "../../api/client";
import { loadSites } from "../../api/session";
import type {
  InstallationJob,
  InstallationKey,
  InstallationState,
  InstallationSettings,
  SiteSummary,
} from "../../api/types.gen";
import { count, decimal, relative } from "../../lib/format";
import { useParams } from "../../lib/params";
import { useEvery, useQuery } from "../../lib/query";
import { named, t } from "../../lib/words";
import { healthColumn, modeColumn, whenColumn } from "../../ui/columns";
import { useAction } from "../../ui/forms";
import { Confirm } from "../../ui/dialogs";
import { Icon } from "../../ui/icons";
import { siteHref } from "../../ui/layout";
import { Card, Empty, Failure, Head, Segments, Time, type Tone } from "../../ui/parts";
import { DataTable } from "../../ui/table";

const REFRESH_MS = 5000;
const KEPT = 60;
const OLD_LIST_DAYS = 14;
const DAY_MS = 86_400_000;

const ageDays = (at: string) => (Date.now() - new Date(at).getTime()) / DAY_MS;

/** What an operator should look at, worst first, as sentences. */
function concerns(report: InstallationState, sites: SiteSummary[]): string[] {
  const found = report.checks
    .filter(({ ok }) => !ok)
    .map((check) => t("svc.badCheck", { name: named("svc.check", check.name) }));
  const failed = report.jobs.filter(({ failure }) => failure);
  if (failed.length) found.push(t("svc.badJobs", { n: failed.length }));
  const old = report.threatLists.filter(({ importedAt }) => importedAt && ageDays(importedAt) > OLD_LIST_DAYS);
  if (old.length) found.push(t("svc.oldLists", { n: old.length }));
  const unsent = report.mail.pending + report.mail.failed;
  if (unsent && report.mail.configured) found.push(t("svc.unsent", { n: unsent }));
  const troubled = sites.filter(({ health }) => health.status !== "ok").length;
  if (troubled) found.push(t("svc.badSites", { n: troubled }));
  return found;
}

function Spark({ points, label }: { points: number[]; label: string }) {
  const most = Math.max(1, ...points);
  const at = points.map(
    (value, index) =>
      `${((index / Math.max(1, points.length - 1)) * 100).toFixed(1)},${(22 - (value / most) * 20).toFixed(1)}`,
  );
  return (
    <svg class="spark wide" data-o="info" viewBox="0 0 100 24" preserveAspectRatio="none" role="img" aria-label={label}>
      {points.length > 1 && <polyline class="edge" points={at.join(" ")} />}
    </svg>
  );
}

function Tiles({ report, rates }: { report: InstallationState; rates: number[] }) {
  const { gateway, events } = report;
  return (
    <section class="card" aria-label={t("svc.numbers")}>
      <div class="tiles only">
        <div class="tile">
          <span class="k">{t("svc.rate")}</span>
          <span class="v">{rates.length ? decimal(rates.at(-1), 1) : "–"}</span>
          <Spark points={rates} label={t("svc.rateSpark")} />
        </div>
        <div class="tile">
          <span class="k">{t("svc.p95")}</span>
          <span class="v">
            {gateway.p95Ms === undefined ? "–" : `≤ ${decimal(gateway.p95Ms, 1)}`}
            <small> ms</small>
          </span>
          <span class="delta">{t("svc.answered", { n: gateway.answered })}</span>
        </div>
        <div class="tile">
          <span class="k">{t("svc.errors")}</span>
          <span class="v">{count(gateway.errors)}</span>
          <span class="delta" data-o={events.failed ? "block" : undefined}>
            {t("svc.lost", { n: events.failed })}
          </span>
        </div>
        <div class="tile">
          <span class="k">{t("svc.waiting")}</span>
          <span class="v">{count(events.waiting)}</span>
          <span class="delta">{t("svc.stored", { n: events.stored })}</span>
        </div>
        <div class="tile">
          <span class="k">{t("svc.workers")}</span>
          <span class="v">{count(report.workers.alive)}</span>
          <span class="delta">
            {t("svc.started")} <Time at={report.startedAt} />
          </span>
        </div>
      </div>
    </section>
  );
}

function Stores({ report }: { report: InstallationState }) {
  const { mail } = report;
  return (
    <Card title={t("svc.stores")} side={<code class="s faint">/readyz {report.status}</code>}>
      <div class="in">
        <dl class="rows facts">
          {report.checks.map((check) => (
            <div key={check.name}>
              <dt class="state">
                <span class="dot" data-o={check.ok ? "allow" : "block"} />
                {named("svc.check", check.name)}
              </dt>
              <dd>{check.found}</dd>
            </div>
          ))}
          <div>
            <dt class="state">
              <span
                class="dot"
                data-o={mail.configured ? (mail.pending + mail.failed ? "challenge" : "allow") : undefined}
              />
              {t("svc.mail")}
            </dt>
            <dd>
              <a href={`${HOME}/outbox`}>{t("svc.mailWaits", { n: mail.pending, failed: mail.failed })}</a>
              <small class="faint">{mail.lastError ?? t(mail.configured ? "svc.mailWell" : "svc.mailNone")}</small>
            </dd>
          </div>
        </dl>
      </div>
    </Card>
  );
}

function Lists({ report }: { report: InstallationState }) {
  return (
    <DataTable
      title={t("svc.lists")}
      lead={t("svc.listsLead")}
      keys={false}
      loaded={{ data: report, error: undefined, loading: false, reload: () => undefined }}
      rows={report.threatLists}
      rowKey={(row) => row.name}
      empty={<Empty icon="list" title={t("svc.noLists")} />}
      columns={[
        { id: "list", label: t("svc.list"), cell: (row) => row.name },
        { id: "entries", label: t("svc.entries"), class: "n", cell: (row) => count(row.entries) },
        {
          id: "age",
          label: t("svc.age"),
          cell: (row) =>
            row.importedAt ? (
              <span class="state">
                <span class="dot" data-o={ageDays(row.importedAt) > OLD_LIST_DAYS ? "challenge" : "allow"} />
                <Time at={row.importedAt} />
              </span>
            ) : (
              <span class="state">
                <span class="dot" data-o="allow" />
                {t("svc.with", { version: report.version })}
              </span>
            ),
        },
      ]}
    />
  );
}

function interval(seconds: number): string {
  if (!seconds) return t("svc.always");
  const [unit, size] =
    seconds >= 86_400
      ? (["day", 86_400] as const)
      : seconds >= 3600
        ? (["hour", 3600] as const)
        : (["minute", 60] as const);
  return t(`svc.every.${unit}`, { n: Math.round(seconds / size) });
}

function Jobs({ report }: { report: InstallationState }) {
  const lastRun = (job: InstallationJob) => {
    if (!job.lastRunAt) return <span class="faint">{t("svc.notRun")}</span>;
    if (!job.failure) return <Time at={job.lastRunAt} />;
    return (
      <span class="tone" data-o="block">
        {t("svc.failed", { failure: job.failure })} <Time at={job.lastRunAt} />
      </span>
    );
  };
  return (
    <DataTable
      title={t("svc.jobs")}
      lead={t("svc.jobsLead")}
      keys={false}
      loaded={{ data: report, error: undefined, loading: false, reload: () => undefined }}
      rows={[...report.jobs].sort((one, other) => Number(Boolean(other.failure)) - Number(Boolean(one.failure)))}
      rowKey={(row) => row.name}
      empty={<Empty icon="clock" title={t("svc.noJobs")} />}
      columns={[
        { id: "job", label: t("svc.job"), cell: (row) => <code>{row.name}</code> },
        { id: "last", label: t("svc.lastRun"), cell: lastRun },
        {
          id: "took",
          label: t("svc.took"),
          class: "n",
          cell: (row) => (row.tookMs === undefined ? "–" : `${count(row.tookMs)} ms`),
        },
        {
          id: "next",
          label: t("svc.next"),
          class: "opt",
          cell: (row) =>
            row.heldUntil && new Date(row.heldUntil).getTime() > Date.now() ? (
              t("svc.held", { time: relative(row.heldUntil) })
            ) : row.nextRunAt ? (
              <Time at={row.nextRunAt} />
            ) : (
              interval(row.intervalSeconds)
            ),
        },
      ]}
    />
  );
}

const KEY_TONES: Record<InstallationKey["state"], Tone | undefined> = {
  next: undefined,
  current: "allow",
  retired: undefined,
  ended: undefined,
};

function Keys({ report, reload }: { report: InstallationState; reload: () => void }) {
  const act = useAction(reload);
  const [rotating, setRotating] = useState<InstallationKey["purpose"] | null>(null);
  const purposes = [...new Set(report.keys.map(({ purpose }) => purpose))];
  const shown = (purpose: string) => report.keys.filter((key) => key.purpose === purpose && key.state !== "ended");
  return (
    <Card title={t("svc.keys")} lead={t("svc.keysLead")}>
      <Confirm
        open={rotating !== null}
        title={t("svc.rotateTitle", { purpose: named("svc.purpose", rotating ?? "") })}
        action={t("svc.rotate")}
        onClose={() => setRotating(null)}
        onConfirm={() => {
          const purpose = rotating!;
          setRotating(null);
          act(() => api.post(`/keys/${purpose}/rotate`), t("svc.rotated", { purpose: named("svc.purpose", purpose) }));
        }}
      >
        {t("svc.rotateLead", { n: rotating ? shown(rotating).length : 0 })}
      </Confirm>
      <div class="in stack">
        {purposes.map((purpose) => {
          const keys = shown(purpose);
          const waits = keys.some(({ state }) => state === "next");
          return (
            <section key={purpose} class="stack tight" aria-label={named("svc.purpose", purpose)}>
              <div class="row apart">
                <h3>{named("svc.purpose", purpose)}</h3>
                <button
                  class="btn"
                  aria-disabled={waits ? "true" : undefined}
                  onClick={() => !waits && setRotating(purpose)}
                >
                  {t("svc.rotate")}
                  <span class="vh"> {named("svc.purpose", purpose)}</span>
                </button>
              </div>
              <ol class="path">
                {keys.map((key) => (
                  <li key={key.id} data-o={KEY_TONES[key.state]} class={key.state === "next" ? "later" : undefined}>
                    <Icon name={key.state === "next" ? "clock" : key.state === "current" ? "key" : "check"} />
                    <code>{key.id}</code>
                    <span class="tag" data-o={KEY_TONES[key.state]}>
                      {t(`svc.key.${key.state}`)}
                    </span>
                    <small>
                      {key.state === "next"
                        ? t("svc.signsFrom", { time: relative(key.activeAt) })
                        : key.state === "current"
                          ? t("svc.signsSince", { time: relative(key.activeAt) })
                          : t("svc.verifiesUntil", { time: relative(key.retiredAt ?? key.activeAt) })}
                    </small>
                  </li>
                ))}
              </ol>
            </section>
          );
        })}
      </div>
    </Card>
  );
}

function Settings() {
  const settings = useQuery<InstallationSettings>("settings", (signal) => api.get("/settings", {}, signal));
  const [params, set] = useParams();
  const all = params["settings"] === "all";
  const items = settings.data?.items ?? [];
  const changed = items.filter(({ source }) => source !== "default");
  return (
    <DataTable
      title={t("svc.settings")}
      lead={settings.data && t("svc.settingsLead", { n: changed.length })}
      loaded={settings}
      rows={all ? items : changed}
      side={
        <Segments
          label={t("svc.settings")}
          value={all ? "all" : "changed"}
          onChange={(value) => set({ settings: value === "all" ? "all" : undefined }, true)}
          options={["changed", "all"].map((value) => ({ value, label: t(`svc.settings.${value}`) }))}
        />
      }
      rowKey={(row) => row.name}
      keys={false}
      csv="agentgate-settings"
      empty={<Empty icon="cog" title={t("svc.noSettings")} />}
      columns={[
        {
          id: "name",
          label: t("svc.setting"),
          cell: (row) => (
            <>
              <code>{row.name}</code>
              <small class="wrap">{row.meaning}</small>
            </>
          ),
          csv: (row) => row.name,
        },
        {
          id: "value",
          label: t("svc.value"),
          cell: (row) => (row.value ? <code>{row.value}</code> : <span class="faint">{t("svc.emptyValue")}</span>),
          csv: (row) => row.value,
        },
        {
          id: "source",
          label: t("svc.source"),
          class: "opt",
          cell: (row) => (
            <span class="tag" data-o={row.source === "default" ? undefined : "info"}>
              {named("svc.from", row.source)}
            </span>
          ),
          csv: (row) => row.source,
        },
      ]}
    />
  );
}

function WorstSites({ sites }: { sites: SiteSummary[] }) {
  const order = ["no_credentials", "no_routes", "no_traffic", "ok"];
  const worst = [...sites]
    .sort((one, other) => order.indexOf(one.health.status) - order.indexOf(other.health.status))
    .slice(0, 6);
  return (
    <DataTable
      title={t("svc.sites")}
      side={
        <a class="btn" href={`${HOME}/sites`}>
          {t("svc.allSites", { n: sites.length })}
        </a>
      }
      keys={false}
      loaded={{ data: sites, error: undefined, loading: false, reload: () => undefined }}
      rows={worst}
      rowKey={(row) => row.siteKey}
      empty={
        <Empty icon="globe" title={t("svc.noSites")}>
          {t("svc.noSitesWhy")}
        </Empty>
      }
      columns={[
        {
          id: "site",
          label: t("sites.site"),
          cell: (row) => (
            <>
              <a href={siteHref(row.siteKey, "overview")}>{row.name}</a>
              <small>{row.customerName}</small>
            </>
          ),
        },
        modeColumn(),
        healthColumn(),
        whenColumn("seen", t("sites.seen"), (row: SiteSummary) => row.health.lastEventAt, "–"),
      ]}
    />
  );
}

export default function Service() {
  const service = useQuery<InstallationState>("service", (signal) => api.get("/service", {}, signal));
  const sites = useQuery("sites", () => loadSites());
  useEvery(REFRESH_MS, service.reload);
  const { data, error } = service;
  const before = useRef<{ sent: number; at: number } | null>(null);
  const rates = useRef<number[]>([]);
  if (data) {
    const at = new Date(data.time).getTime();
    const last = before.current;
    if (last && at > last.at && data.events.sent >= last.sent)
      rates.current = [...rates.current, ((data.events.sent - last.sent) * 1000) / (at - last.at)].slice(-KEPT);
    if (!last || at > last.at) before.current = { sent: data.events.sent, at };
  }
  const found = data ? concerns(data, sites.data?.items ?? []) : [];
  return (
    <>
      <Head
        title={t("page.service")}
        actions={
          data && (
            <>
              <span class="state s">
                <span
                  class="dot live"
                  data-o={data.status === "ready" ? "allow" : data.status === "degraded" ? "challenge" : "block"}
                />
                {t("svc.live", { n: REFRESH_MS / 1000 })}
              </span>
              <span class="tag line mono">{data.version}</span>
            </>
          )
        }
      >
        {data &&
          [
            t(`svc.is.${data.status}`),
            found.length ? t("svc.lookAt", { what: found.join("; ") }) : t("svc.nothing"),
          ].join(" ")}
      </Head>
      {error && !data ? (
        <div class="card">
          <Failure error={error} retry={service.reload} />
        </div>
      ) : (
        data && (
          <>
            <Tiles report={data} rates={rates.current} />
            <div class="cols">
              <Stores report={data} />
              <Lists report={data} />
              <Jobs report={data} />
              <Keys report={data} reload={service.reload} />
            </div>
            <WorstSites sites={sites.data?.items ?? []} />
            <Settings />
          </>
        )
      )}
    </>
  );
}
