/** All sites that the reader may see: mode, today's traffic, health. One site leads straight to it. */

import { HOME, isOperator } from "../api/client";
import { account, loadSites, may, sites } from "../api/session";
import type { SiteSummary } from "../api/types.gen";
import { count } from "../lib/format";
import { useEvery, useQuery } from "../lib/query";
import { t } from "../lib/words";
import { Icon } from "../ui/icons";
import { siteHref } from "../ui/layout";
import { Empty, Failure, Head, SkeletonRows, Time, type Tone } from "../ui/parts";

const REFRESH_MS = 30_000;
const HEALTH: Record<string, Tone> = { ok: "allow", no_traffic: "challenge", no_credentials: "block", no_routes: "challenge" };

function total(site: SiteSummary): number {
  const { monitored: _, ...outcomes } = site.today;
  return Object.values(outcomes).reduce((sum, each) => sum + each, 0);
}

function Row({ site }: { site: SiteSummary }) {
  const waiting = site.health.status === "no_credentials";
  const refused = total(site) - (site.today["allow"] ?? 0);
  return (
    <tr>
      <td>
        <a href={siteHref(site.siteKey, waiting ? "install" : "overview")}>{site.name}</a>
        <small>{site.allowedOrigins.join(", ") || site.siteKey}</small>
      </td>
      {isOperator && <td class="opt">{site.customerName}</td>}
      <td>
        <span class="tag" data-o={site.mode === "enforce" ? "allow" : undefined}>
          {t(`mode.${site.mode}`)}
        </span>
      </td>
      <td class="n num">{count(total(site))}</td>
      <td class="n num opt">{count(refused)}</td>
      <td class="opt2">
        <span class="state">
          <span class="dot" data-o={HEALTH[site.health.status]} />
          {t(`health.${site.health.status}`)}
        </span>
      </td>
      <td class="opt2 faint nw">{site.health.lastEventAt ? <Time at={site.health.lastEventAt} /> : "–"}</td>
    </tr>
  );
}

export default function Sites() {
  const { data, error, reload } = useQuery("sites", () => loadSites());
  useEvery(REFRESH_MS, reload);
  const all = data ?? sites.value ?? undefined;
  const create = !isOperator && may("sites:write") && (
    <a class="btn main" href={`${HOME}/new-site`}>
      <Icon name="plus" />
      {t("nav.newSite")}
    </a>
  );
  if (error?.code === "mfa_setup_required") return <NeedsFactor />;
  if (all?.length === 0) {
    return (
      <>
        <Head title={t("sites.firstTitle", { account: account.value?.name ?? "AgentGate" })}>{t("sites.firstLead")}</Head>
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
        {all && t(troubled ? "sites.leadTrouble" : "sites.lead", { n: all.length, troubled })}
      </Head>
      <section class="card" aria-label={t("page.sites")}>
        {error && !all ? (
          <Failure error={error} retry={reload} />
        ) : (
          <div class="scroll">
            <table class="tbl">
              <caption class="vh">{t("page.sites")}</caption>
              <thead>
                <tr>
                  <th scope="col">{t("sites.site")}</th>
                  {isOperator && (
                    <th scope="col" class="opt">
                      {t("sites.customer")}
                    </th>
                  )}
                  <th scope="col">{t("sites.mode")}</th>
                  <th scope="col" class="n">
                    {t("sites.today")}
                  </th>
                  <th scope="col" class="n opt">
                    {t("sites.refused")}
                  </th>
                  <th scope="col" class="opt2">
                    {t("sites.health")}
                  </th>
                  <th scope="col" class="opt2">
                    {t("sites.seen")}
                  </th>
                </tr>
              </thead>
              <tbody>{all ? all.map((site) => <Row key={site.siteKey} site={site} />) : <SkeletonRows rows={3} columns={6} />}</tbody>
            </table>
          </div>
        )}
      </section>
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
