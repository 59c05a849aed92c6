/** One customer: members, sites, tokens, limits, trail, and what ends it. */

import { useState } from "preact/hooks";
import { useRoute } from "preact-iso";
import { api, HOME } from "../../api/client";
import { loadSites } from "../../api/session";
import type { CustomerDetail, CustomerSite } from "../../api/types.gen";
import { count } from "../../lib/format";
import { useQuery } from "../../lib/query";
import { t } from "../../lib/words";
import { AuditList } from "../../pages/account/audit";
import { MemberTable, ROLES } from "../../pages/account/member-table";
import { healthColumn, modeColumn, whenColumn } from "../../ui/columns";
import { FormDialog, useAction } from "../../ui/forms";
import { Icon } from "../../ui/icons";
import { siteHref } from "../../ui/layout";
import { Empty, Failure, Field, Head, Note, Time } from "../../ui/parts";
import { toast } from "../../ui/toasts";
import { DataTable } from "../../ui/table";
import { Fleet } from "./customer-fleet";
import { Terms, Danger } from "./customer-terms";

interface Shown {
  customer: CustomerDetail;
  loaded: { data: CustomerDetail | undefined; error: undefined; loading: boolean; reload: () => void };
  reload: () => void;
}

function Members({ customer, loaded }: Shown) {
  const [inviting, setInviting] = useState(false);
  return (
    <MemberTable
      membersAt={`/customers/${customer.id}/members`}
      account={customer.name}
      rows={customer.memberList}
      loaded={loaded}
      roles={ROLES}
      writes
      mayChange={() => true}
      inviting={inviting}
      inviteLead={t("mem.addLead")}
      onInvited={() => setInviting(false)}
      lead={t("mem.of", { n: customer.memberList.length, limit: count(customer.limits.members) })}
      side={
        <button class="btn" onClick={() => setInviting(true)}>
          <Icon name="plus" />
          {t("mem.add")}
        </button>
      }
    />
  );
}

function Sites({ customer, loaded, reload }: Shown) {
  const [adding, setAdding] = useState(false);
  const [moving, setMoving] = useState<CustomerSite | null>(null);
  return (
    <>
      <DataTable
        title={t("page.sites")}
        lead={t("mem.of", { n: customer.siteList.length, limit: count(customer.limits.sites) })}
        side={
          <button class="btn" onClick={() => setAdding(true)}>
            <Icon name="plus" />
            {t("nav.newSite")}
          </button>
        }
        keys={false}
        loaded={loaded}
        rows={customer.siteList}
        rowKey={(row) => row.siteKey}
        empty={
          <Empty icon="globe" title={t("cust.noSites")}>
            {t("cust.noSitesWhy")}
          </Empty>
        }
        columns={[
          {
            id: "site",
            label: t("sites.site"),
            cell: (row) => (
              <>
                <a href={siteHref(row.siteKey, "overview")}>{row.name}</a>
                <small>{row.siteKey}</small>
              </>
            ),
          },
          modeColumn(),
          healthColumn(),
          {
            id: "move",
            label: <span class="vh">{t("usr.do")}</span>,
            class: "n",
            cell: (row) => (
              <button class="btn" onClick={() => setMoving(row)}>
                {t("cust.move")}
                <span class="vh"> {row.name}</span>
              </button>
            ),
          },
        ]}
      />
      <FormDialog
        open={adding}
        title={t("nav.newSite")}
        lead={t("cust.siteLead", { name: customer.name })}
        action={t("newSite.do")}
        onClose={() => setAdding(false)}
        onSubmit={async (form) => {
          const origin = String(form.get("origin")).trim();
          await api.post(`/customers/${customer.id}/sites`, {
            name: String(form.get("name")).trim(),
            ...(origin ? { allowedOrigins: [origin] } : {}),
          });
          setAdding(false);
          reload();
          await loadSites();
        }}
      >
        <Field id="name" name="name" label={t("newSite.name")} required autofocus autocomplete="off" />
        <Field id="origin" name="origin" label={t("newSite.origin")} help={t("cust.originHelp")} autocomplete="off" />
      </FormDialog>
      <FormDialog
        open={moving !== null}
        title={t("cust.moveTitle", { name: moving?.name ?? "" })}
        lead={t("cust.moveLead")}
        action={t("cust.moveDo")}
        onClose={() => setMoving(null)}
        onSubmit={async (form) => {
          await api.post(`/sites/${moving!.siteKey}/move`, { customerId: String(form.get("customerId")).trim() });
          toast(t("cust.moved", { name: moving!.name }));
          setMoving(null);
          reload();
          await loadSites();
        }}
      >
        <Field
          id="customerId"
          name="customerId"
          label={t("cust.moveTo")}
          help={t("cust.moveHelp")}
          required
          autofocus
          autocomplete="off"
        />
      </FormDialog>
    </>
  );
}

function Tokens({ customer, loaded, reload }: Shown) {
  const act = useAction(reload);
  return (
    <DataTable
      title={t("page.tokens")}
      lead={t("mem.of", { n: customer.usage.tokens, limit: count(customer.limits.tokens) })}
      keys={false}
      loaded={loaded}
      rows={customer.tokens}
      rowKey={(row) => row.id}
      empty={
        <Empty icon="key" title={t("tok.none")}>
          {t("tok.noneWhy")}
        </Empty>
      }
      columns={[
        {
          id: "name",
          label: t("tok.name"),
          cell: (row) => (
            <>
              {row.name}
              <small>{row.scopes.join(", ")}</small>
            </>
          ),
        },
        { id: "by", label: t("tok.by"), class: "opt", cell: (row) => row.createdBy },
        whenColumn("used", t("tok.used"), (row: CustomerDetail["tokens"][number]) => row.lastUsedAt),
        {
          id: "do",
          label: <span class="vh">{t("usr.do")}</span>,
          class: "n",
          cell: (row) =>
            row.revokedAt ? (
              <span class="tag">{t("tok.revoked")}</span>
            ) : (
              <button
                class="btn bad"
                onClick={() =>
                  act(
                    () => api.delete(`/customers/${customer.id}/tokens/${row.id}`),
                    t("tok.isRevoked", { name: row.name }),
                  )
                }
              >
                {t("tok.revoke")}
                <span class="vh"> {row.name}</span>
              </button>
            ),
        },
      ]}
    />
  );
}

export default function Customer() {
  const { params } = useRoute();
  const id = params["id"] ?? "";
  const { data, error, loading, reload } = useQuery<CustomerDetail>(id, (signal) =>
    api.get(`/customers/${id}`, {}, signal),
  );
  if (error && !data) {
    return (
      <>
        <Head title={t("cust.customer")} />
        <div class="card">
          <Failure error={error} retry={reload} />
        </div>
      </>
    );
  }
  const loaded = { data, error: undefined, loading, reload };
  return (
    <>
      <Head
        title={data?.name ?? t("cust.customer")}
        actions={
          <a class="btn" href={`${HOME}/customers`}>
            {t("cust.all")}
          </a>
        }
      >
        {data &&
          t("cust.sentence", {
            n: data.siteList.length,
            members: data.memberList.length,
            status: t(`cust.is.${data.status}`),
          })}
      </Head>
      {data && (
        <>
          {data.status !== "active" && (
            <Note tone={data.status === "suspended" ? "challenge" : "block"}>
              {data.status === "suspended"
                ? t("cust.noteSuspended", { reason: data.suspendedReason ?? "–" })
                : t("cust.noteDeleted")}{" "}
              {data.purgeAt && <Time at={data.purgeAt} full />}
            </Note>
          )}
          <Members customer={data} loaded={loaded} reload={reload} />
          <Sites customer={data} loaded={loaded} reload={reload} />
          <div class="cols">
            <Terms customer={data} reload={reload} />
            <Tokens customer={data} loaded={loaded} reload={reload} />
          </div>
          <Fleet customer={data} />
          <AuditList path={`/customers/${id}/audit`} name={data.name} />
          <Danger customer={data} reload={reload} />
        </>
      )}
    </>
  );
}
