/** One customer: members, sites, tokens, limits, trail, and what ends it. */

import { useState } from "preact/hooks";
import { useRoute } from "preact-iso";
import { api, HOME } from "../../api/client";
import { loadSites } from "../../api/session";
import type {
  AccountRole,
  CustomerDetail,
  CustomerSite,
  InviteLink,
  Member,
  MemberInviteResult,
} from "../../api/types.gen";
import { count } from "../../lib/format";
import { useQuery } from "../../lib/query";
import { t } from "../../lib/words";
import { AuditList } from "../../pages/account/audit";
import { ConfirmRole, type RoleChange } from "../../pages/account/confirm-role";
import { Confirm } from "../../ui/dialogs";
import { FormDialog, Secret, Select, useAction } from "../../ui/forms";
import { Icon } from "../../ui/icons";
import { siteHref } from "../../ui/layout";
import { Empty, Failure, Field, Head, Note, Time } from "../../ui/parts";
import { toast, toastError } from "../../ui/toasts";
import { DataTable } from "../../ui/table";
import { Fleet } from "./customer-fleet";
import { Terms, Danger } from "./customer-terms";

const ROLES: AccountRole[] = ["owner", "admin", "member", "readonly"];

interface Shown {
  customer: CustomerDetail;
  loaded: { data: CustomerDetail | undefined; error: undefined; loading: boolean; reload: () => void };
  reload: () => void;
}

function Members({ customer, loaded, reload }: Shown) {
  const act = useAction(reload);
  const [adding, setAdding] = useState(false);
  const [removing, setRemoving] = useState<Member | null>(null);
  const [changing, setChanging] = useState<RoleChange | null>(null);
  const [link, setLink] = useState<{ email: string; url: string } | null>(null);
  const base = customer.id;
  const owners = customer.memberList.filter(({ role }) => role === "owner").length;
  const resend = (member: Member) =>
    void api
      .post<InviteLink>(`/customers/${base}/members/${member.userId}/resend-invite`)
      .then((made) => setLink({ email: member.email, url: made.inviteUrl }))
      .catch(toastError);
  return (
    <>
      {link && (
        <Secret
          text={link.url}
          label={t("req.link", { email: link.email })}
          note={t("req.linkNote")}
          onDone={() => setLink(null)}
        />
      )}
      <ConfirmRole
        change={changing}
        owners={owners}
        onClose={(role) => {
          const change = changing!;
          setChanging(null);
          if (role === undefined) return reload();
          act(
            () => api.patch(`/customers/${base}/members/${change.row.userId}`, { role }),
            t("mem.changed", { email: change.row.email, role: t(`role.${role}`) }),
          );
        }}
      />
      <DataTable
        title={t("page.members")}
        lead={t("mem.of", { n: customer.memberList.length, limit: count(customer.limits.members) })}
        side={
          <button class="btn" onClick={() => setAdding(true)}>
            <Icon name="plus" />
            {t("mem.add")}
          </button>
        }
        loaded={loaded}
        rows={customer.memberList}
        rowKey={(row) => row.userId}
        empty={<Empty icon="people" title={t("cust.noMembers")} />}
        columns={[
          {
            id: "email",
            label: t("usr.person"),
            cell: (row) => (
              <>
                {row.email}
                <small>{t(`member.${row.status}`)}</small>
              </>
            ),
          },
          {
            id: "role",
            label: t("mem.role"),
            cell: (row) =>
              row.role === "owner" && owners === 1 ? (
                <>
                  {t("role.owner")} <small>{t("mem.last")}</small>
                </>
              ) : (
                <select
                  class="auto"
                  aria-label={t("mem.roleOf", { email: row.email })}
                  value={row.role}
                  onChange={(event) => setChanging({ row, role: event.currentTarget.value as AccountRole })}
                >
                  {ROLES.map((role) => (
                    <option key={role} value={role} selected={role === row.role}>
                      {t(`role.${role}`)}
                    </option>
                  ))}
                </select>
              ),
          },
          {
            id: "mfa",
            label: t("usr.factor"),
            class: "opt",
            cell: (row) => (
              <span class="state">
                <span class="dot" data-o={row.mfaEnabled ? "allow" : "challenge"} />
                {t(row.mfaEnabled ? "usr.on" : "usr.off")}
              </span>
            ),
          },
          {
            id: "seen",
            label: t("usr.seen"),
            class: "opt2 faint nw",
            cell: (row) => (row.lastSignInAt ? <Time at={row.lastSignInAt} /> : t("usr.never")),
          },
          {
            id: "do",
            label: <span class="vh">{t("usr.do")}</span>,
            class: "n",
            cell: (row) => (
              <span class="row end">
                {row.status === "invited" && (
                  <button class="btn" onClick={() => resend(row)}>
                    {t("mem.resend")}
                  </button>
                )}
                {!(row.role === "owner" && owners === 1) && (
                  <button class="btn bad" onClick={() => setRemoving(row)}>
                    {t("mem.remove")}
                    <span class="vh"> {row.email}</span>
                  </button>
                )}
              </span>
            ),
          },
        ]}
      />
      <FormDialog
        open={adding}
        title={t("mem.addTitle", { account: customer.name })}
        lead={t("mem.addLead")}
        action={t("mem.invite")}
        onClose={() => setAdding(false)}
        onSubmit={async (form) => {
          const made = await api.post<MemberInviteResult>(`/customers/${base}/members`, {
            email: String(form.get("email")).trim(),
            role: form.get("role"),
          });
          if (made.inviteUrl) setLink({ email: made.member.email, url: made.inviteUrl });
          toast(t("req.approved", { email: made.member.email }));
          setAdding(false);
          reload();
        }}
      >
        <Field id="email" name="email" type="email" label={t("cust.email")} required autofocus autocomplete="off" />
        <Select
          id="role"
          label={t("mem.role")}
          value="member"
          options={ROLES.map((role) => ({ value: role, label: t(`role.${role}`) }))}
        />
      </FormDialog>
      <Confirm
        open={removing !== null}
        title={t("mem.removeTitle", { email: removing?.email ?? "" })}
        action={t("mem.remove")}
        onClose={() => setRemoving(null)}
        onConfirm={() => {
          const member = removing!;
          setRemoving(null);
          act(
            () => api.delete(`/customers/${base}/members/${member.userId}`),
            t("mem.removed", { email: member.email }),
          );
        }}
      >
        {t("mem.removeLead")}
      </Confirm>
    </>
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
          {
            id: "mode",
            label: t("sites.mode"),
            cell: (row) => (
              <span class="tag" data-o={row.mode === "enforce" ? "allow" : undefined}>
                {t(`mode.${row.mode}`)}
              </span>
            ),
          },
          {
            id: "health",
            label: t("sites.health"),
            class: "opt",
            cell: (row) => (
              <span class="state">
                <span class="dot" data-o={row.health.status === "ok" ? "allow" : "challenge"} />
                {t(`health.${row.health.status}`)}
              </span>
            ),
          },
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
        {
          id: "used",
          label: t("tok.used"),
          class: "opt faint nw",
          cell: (row) => (row.lastUsedAt ? <Time at={row.lastUsedAt} /> : t("usr.never")),
        },
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
