/** All sites that the reader may see: mode, today's traffic, health. One site leads straight to it. */

import { useState } from "preact/hooks";
import { HOME, isOperator } from "../api/client";
import { account, listSites, loadSites, may, sites } from "../api/session";
import type { SiteList, SiteSummary } from "../api/types.gen";
import { count } from "../lib/format";
import { useParams } from "../lib/params";
import { useEvery, useQuery } from "../lib/query";
import { t } from "../lib/words";
import { healthColumn, modeColumn, whenColumn } from "../ui/columns";
import { Icon } from "../ui/icons";
import { siteHref } from "../ui/layout";
import { Empty, Head, Note } from "../ui/parts";
import { DataTable } from "../ui/table";
import { toastError } from "../ui/toasts";

const REFRESH_MS = 30_000;
/** From so many sites on there is a search. */
const MANY = 10;
function total(site: SiteSummary): number {
  const { monitored: _, ...outcomes } = site.today;
  return Object.values(outcomes).reduce((sum, each) => sum + each, 0);
}

const refused = (site: SiteSummary) => total(site) - (site.today["allow"] ?? 0);

export default function Sites() {
  const [params, set] = useParams();
  const q = params["q"] ?? "";
  const [older, setOlder] = useState<{ q: string; items: SiteSummary[]; cursor?: string } | null>(null);
  const read = useQuery<SiteList>(`sites ${q}`, (signal) => (q ? listSites(q, undefined, signal) : loadSites(signal)));
  const { data, error } = read;
  useEvery(REFRESH_MS, read.reload);
  const rest = older?.q === q ? older : { q, items: [], cursor: data?.nextCursor };
  const newest = data?.items ?? (q ? undefined : (sites.value ?? undefined));
  const all = newest && [...newest, ...rest.items];
  const more = () =>
    void listSites(q, rest.cursor)
      .then((next) => setOlder({ q, items: [...rest.items, ...next.items], cursor: next.nextCursor }))
      .catch(toastError);
  const create = !isOperator && may("sites:write") && (
    <a class="btn main" href={`${HOME}/new-site`}>
      <Icon name="plus" />
      {t("nav.newSite")}
    </a>
  );
  if (error?.code === "mfa_setup_required") return <NeedsFactor />;
  if (all?.length === 0 && !q) {
    return (
      <>
        <Head title={t("sites.firstTitle", { account: account.value?.name ?? "AgentGate" })}>
          {t("sites.firstLead")}
        </Head>
        <div class="card">
          <Empty icon="globe" title={t("sites.none")} actions={create || undefined}>
            {t("sites.noneWhy")}
          </Empty>
        </div>
      </>
    );
  }
  const troubled = all?.filter((site) => site.health.status !== "ok").length ?? 0;
  return (
    <>
      <Head title={t("page.sites")} actions={create || undefined}>
        {all?.length
          ? t(rest.cursor ? "sites.leadNewest" : troubled ? "sites.leadTrouble" : "sites.lead", {
              n: all.length,
              troubled,
            })
          : undefined}
      </Head>
      {(q || (all?.length ?? 0) > MANY) && (
        <div class="filters">
          <label class="search grow">
            <span class="vh">{t("sites.find")}</span>
            <Icon name="search" />
            <input
              type="search"
              placeholder={t("sites.find")}
              value={q}
              onInput={(event) => set({ q: event.currentTarget.value }, true)}
            />
          </label>
        </div>
      )}
      {all?.some((site) => site.degraded) && <Note tone="challenge">{t("sites.degraded")}</Note>}
      <DataTable
        title={t("page.sites")}
        loaded={{ ...read, data: all }}
        rows={all ?? []}
        rowKey={(site) => site.siteKey}
        csv="agentgate-sites"
        empty={<Empty icon="filter" title={t("sites.noneFound")} />}
        footer={
          rest.cursor && (
            <button class="btn" onClick={more}>
              {t("decisions.older")}
            </button>
          )
        }
        columns={[
          {
            id: "site",
            label: t("sites.site"),
            cell: (site) => (
              <>
                <a href={siteHref(site.siteKey, site.health.status === "no_credentials" ? "install" : "overview")}>
                  {site.name}
                </a>
                <small>{site.allowedOrigins.join(", ") || site.siteKey}</small>
              </>
            ),
            csv: (site) => site.name,
          },
          ...(isOperator
            ? [
                {
                  id: "customer",
                  label: t("sites.customer"),
                  class: "opt",
                  cell: (site: SiteSummary) => site.customerName,
                  csv: (site: SiteSummary) => site.customerName,
                },
              ]
            : []),
          modeColumn(),
          {
            id: "today",
            label: t("sites.today"),
            class: "n num",
            cell: (site) => (site.degraded ? "–" : count(total(site))),
            csv: total,
          },
          {
            id: "refused",
            label: t("sites.refused"),
            class: "n num opt",
            cell: (site) => (site.degraded ? "–" : count(refused(site))),
            csv: refused,
          },
          healthColumn(),
          whenColumn("seen", t("sites.seen"), (site: SiteSummary) => site.health.lastEventAt, "–"),
        ]}
      />
    </>
  );
}

function NeedsFactor() {
  return (
    <>
      <Head title={t("sites.factorTitle")}>{t("sites.factorLead")}</Head>
      <div class="card">
        <Empty
          icon="key"
          title={t("sites.factor")}
          actions={
            <a class="btn main" href={`${HOME}/security`}>
              {t("sites.factorDo")}
            </a>
          }
        />
      </div>
    </>
  );
}
