/** All customers: who they are, how much they use, whether they are active. */

import { useState } from "preact/hooks";
import { useLocation } from "preact-iso";
import { api, HOME } from "../../api/client";
import type { CustomerList, CustomerSummary, InviteResult } from "../../api/types.gen";
import { count } from "../../lib/format";
import { useKeys } from "../../lib/keys";
import { useParams } from "../../lib/params";
import { useQuery } from "../../lib/query";
import { t } from "../../lib/words";
import { FormDialog, Secret } from "../../ui/forms";
import { whenColumn } from "../../ui/columns";
import { Icon } from "../../ui/icons";
import { Empty, Field, Head, Segments } from "../../ui/parts";
import { toast } from "../../ui/toasts";
import { DataTable } from "../../ui/table";

const STATES = ["all", "active", "suspended", "deleted"] as const;

export default function Customers() {
  const [params, set] = useParams();
  const { route } = useLocation();
  const status = params["status"] ?? "all";
  const q = params["q"] ?? "";
  const [invited, setInvited] = useState<InviteResult | null>(null);
  const customers = useQuery<CustomerList>(JSON.stringify([status, q]), (signal) =>
    api.get("/customers", { status, q, limit: 200 }, signal),
  );
  const rows = customers.data?.items ?? [];
  const filtered = status !== "all" || q !== "";
  const invite = () => set({ invite: "1" }, true);
  useKeys([
    { key: "/", help: t("cust.find"), run: () => document.getElementById("find-customer")?.focus() },
    { key: "n", help: t("cust.invite"), run: invite },
  ]);
  return (
    <>
      <Head
        title={t("page.customers")}
        actions={
          <button class="btn main" onClick={invite}>
            <Icon name="plus" />
            {t("cust.invite")} <kbd>N</kbd>
          </button>
        }
      >
        {customers.data &&
          t(filtered ? "cust.leadFiltered" : "cust.lead", {
            n: rows.length,
            sites: rows.reduce((sum, row) => sum + row.sites, 0),
          })}
      </Head>
      <div class="filters">
        <Segments
          label={t("cust.status")}
          value={status}
          onChange={(value) => set({ status: value === "all" ? undefined : value })}
          options={STATES.map((value) => ({ value: value as string, label: t(`cust.is.${value}`) }))}
        />
        <label class="search grow">
          <span class="vh">{t("cust.find")}</span>
          <Icon name="search" />
          <input
            id="find-customer"
            type="search"
            placeholder={t("cust.find")}
            value={q}
            onInput={(event) => set({ q: event.currentTarget.value }, true)}
          />
        </label>
      </div>
      {invited && (
        <Secret
          text={invited.inviteUrl}
          label={t("req.link", { email: invited.email })}
          note={t("req.linkNote")}
          onDone={() => setInvited(null)}
        />
      )}
      <DataTable
        title={t("page.customers")}
        loaded={customers}
        rows={rows}
        rowKey={(row) => row.id}
        csv="agentgate-customers"
        empty={
          <Empty
            icon={filtered ? "filter" : "people"}
            title={t(filtered ? "cust.noneFound" : "cust.none")}
            actions={
              filtered ? (
                <button class="btn" onClick={() => set({ status: undefined, q: undefined })}>
                  {t("cust.clear")}
                </button>
              ) : (
                <button class="btn main" onClick={invite}>
                  {t("cust.invite")}
                </button>
              )
            }
          >
            {t(filtered ? "cust.noneFoundWhy" : "cust.noneWhy")}
          </Empty>
        }
        columns={[
          {
            id: "name",
            label: t("cust.customer"),
            cell: (row) => (
              <>
                <a href={`${HOME}/customers/${row.id}`}>{row.name}</a>
                <small>{row.ownerEmail ?? row.id}</small>
              </>
            ),
            csv: (row) => row.name,
          },
          {
            id: "id",
            label: "ID",
            class: "opt2",
            cell: (row) => <code class="faint">{row.id}</code>,
            csv: (row) => row.id,
          },
          {
            id: "status",
            label: t("cust.status"),
            cell: (row) => (
              <span class="row">
                <span
                  class="tag"
                  data-o={row.status === "active" ? "allow" : row.status === "suspended" ? "challenge" : "block"}
                >
                  {t(`cust.is.${row.status}`)}
                </span>
                {row.protected && <span class="tag">{t("cust.own")}</span>}
              </span>
            ),
            csv: (row) => row.status,
          },
          {
            id: "sites",
            label: t("page.sites"),
            class: "n",
            cell: (row) => (
              <>
                {count(row.sites)}
                <span class="faint"> / {count(row.limits.sites)}</span>
              </>
            ),
            csv: (row) => row.sites,
          },
          {
            id: "members",
            label: t("page.members"),
            class: "n opt",
            cell: (row) => (
              <>
                {count(row.members)}
                <span class="faint"> / {count(row.limits.members)}</span>
              </>
            ),
            csv: (row) => row.members,
          },
          whenColumn("lastSignInAt", t("usr.seen"), (row: CustomerSummary) => row.lastSignInAt),
          whenColumn("createdAt", t("cust.since"), (row: CustomerSummary) => row.createdAt),
        ]}
      />
      <FormDialog
        open={params["invite"] === "1"}
        title={t("cust.inviteTitle")}
        lead={t("cust.inviteLead")}
        action={t("cust.inviteDo")}
        onClose={() => set({ invite: undefined }, true)}
        onSubmit={async (form) => {
          const text = (name: string) => String(form.get(name)).trim();
          const made = await api.post<InviteResult>("/accounts", {
            email: text("email"),
            ...(text("name") ? { name: text("name") } : {}),
            ...(text("customerName") ? { customerName: text("customerName") } : {}),
          });
          setInvited(made);
          toast(t("req.approved", { email: made.email }));
          customers.reload();
          route(`${HOME}/customers`, true);
        }}
      >
        <Field id="email" name="email" type="email" label={t("cust.email")} required autofocus autocomplete="off" />
        <Field id="name" name="name" label={t("cust.person")} autocomplete="off" />
        <Field
          id="customerName"
          name="customerName"
          label={t("cust.name")}
          help={t("cust.nameHelp")}
          autocomplete="off"
        />
      </FormDialog>
    </>
  );
}
