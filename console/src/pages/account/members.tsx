/** Who belongs to the account, and what each may do. */

import { useState } from "preact/hooks";
import { api, HOME } from "../../api/client";
import { account, may, session } from "../../api/session";
import type { AccountRole, Member, MemberList } from "../../api/types.gen";
import { count } from "../../lib/format";
import { useKeys } from "../../lib/keys";
import { useQuery } from "../../lib/query";
import { t } from "../../lib/words";
import { Confirm } from "../../ui/dialogs";
import { FormDialog, Select, useAction } from "../../ui/forms";
import { Icon } from "../../ui/icons";
import { Card, Empty, Field, Head, Time } from "../../ui/parts";
import { toast } from "../../ui/toasts";
import { DataTable } from "../../ui/table";
import { ConfirmRole, type RoleChange } from "./confirm-role";

const ROLES: AccountRole[] = ["owner", "admin", "member", "readonly"];

export default function Members() {
  const members = useQuery<MemberList>("members", (signal) => api.get("/members", {}, signal));
  const act = useAction(members.reload);
  const [inviting, setInviting] = useState(false);
  const [removing, setRemoving] = useState<Member | null>(null);
  const [changing, setChanging] = useState<RoleChange | null>(null);
  const rows = members.data?.items ?? [];
  const owners = rows.filter(({ role }) => role === "owner").length;
  const writes = may("members:write");
  const own = account.value?.role === "owner";
  const me = session.value?.user?.email;
  const without = rows.filter((row) => !row.mfaEnabled && row.status === "active").length;
  const roles = own ? ROLES : ROLES.slice(1);
  const mayChange = (row: Member) => writes && (own || row.role !== "owner") && !(row.role === "owner" && owners === 1);
  useKeys(writes ? [{ key: "n", help: t("mem.add"), run: () => setInviting(true) }] : []);
  return (
    <>
      <Head
        title={t("page.members")}
        actions={
          writes ? (
            <button class="btn main" onClick={() => setInviting(true)}>
              <Icon name="plus" />
              {t("mem.add")} <kbd>N</kbd>
            </button>
          ) : undefined
        }
      >
        {members.data &&
          t(without ? "mem.leadWithout" : "mem.lead", {
            n: rows.length,
            limit: count(account.value?.limits.members),
            without,
          })}
      </Head>
      <ConfirmRole
        change={changing}
        owners={owners}
        onClose={(role) => {
          const change = changing!;
          setChanging(null);
          // What the list shows is the stored role again until the change is made.
          if (role === undefined) return members.reload();
          act(
            () => api.patch(`/members/${change.row.userId}`, { role }),
            t("mem.changed", { email: change.row.email, role: t(`role.${role}`) }),
          );
        }}
      />
      <DataTable
        title={t("page.members")}
        loaded={members}
        rows={rows}
        rowKey={(row) => row.userId}
        csv="agentgate-members"
        empty={<Empty icon="people" title={t("cust.noMembers")} />}
        columns={[
          {
            id: "email",
            label: t("usr.person"),
            cell: (row) => (
              <>
                {row.email} {row.email === me && <span class="tag">{t("mem.you")}</span>}
                <small>{row.status === "active" ? row.name || t("member.active") : t(`member.${row.status}`)}</small>
              </>
            ),
            csv: (row) => row.email,
          },
          {
            id: "role",
            label: t("mem.role"),
            cell: (row) =>
              mayChange(row) ? (
                <select
                  class="auto"
                  aria-label={t("mem.roleOf", { email: row.email })}
                  value={row.role}
                  onChange={(event) => setChanging({ row, role: event.currentTarget.value as AccountRole })}
                >
                  {roles.map((role) => (
                    <option key={role} value={role} selected={role === row.role}>
                      {t(`role.${role}`)}
                    </option>
                  ))}
                </select>
              ) : (
                <>
                  {t(`role.${row.role}`)} {row.role === "owner" && owners === 1 && <small>{t("mem.last")}</small>}
                </>
              ),
            csv: (row) => row.role,
          },
          {
            id: "mfa",
            label: t("usr.factor"),
            class: "opt",
            cell: (row) =>
              row.status !== "invited" && (
                <span class="state">
                  <span class="dot" data-o={row.mfaEnabled ? "allow" : "challenge"} />
                  {t(row.mfaEnabled ? "usr.on" : "usr.off")}
                </span>
              ),
            csv: (row) => String(row.mfaEnabled),
          },
          {
            id: "lastSignInAt",
            label: t("usr.seen"),
            class: "opt2 faint nw",
            cell: (row) => (row.lastSignInAt ? <Time at={row.lastSignInAt} /> : t("usr.never")),
            csv: (row) => row.lastSignInAt,
          },
          {
            id: "do",
            label: <span class="vh">{t("usr.do")}</span>,
            class: "n",
            cell: (row) => (
              <span class="row end">
                {writes && row.status === "invited" && (
                  <button
                    class="btn"
                    onClick={() =>
                      act(() => api.post(`/members/${row.userId}/resend-invite`), t("mem.resent", { email: row.email }))
                    }
                  >
                    {t("mem.resend")}
                    <span class="vh"> {row.email}</span>
                  </button>
                )}
                {(mayChange(row) || (row.email === me && !(row.role === "owner" && owners === 1))) && (
                  <button class="btn bad" onClick={() => setRemoving(row)}>
                    {t(row.email === me ? "mem.leave" : "mem.remove")}
                    <span class="vh"> {row.email}</span>
                  </button>
                )}
              </span>
            ),
          },
        ]}
      />
      <Card title={t("mem.roles")} lead={t("mem.rolesLead")}>
        <div class="in">
          <dl class="rows">
            {ROLES.map((role) => (
              <div key={role}>
                <dt>{t(`role.${role}`)}</dt>
                <dd>{t(`role.${role}.may`)}</dd>
              </div>
            ))}
          </dl>
        </div>
      </Card>
      <FormDialog
        open={inviting}
        title={t("mem.addTitle", { account: account.value?.name ?? "" })}
        lead={t("mem.addLeadMail")}
        action={t("mem.invite")}
        onClose={() => setInviting(false)}
        onSubmit={async (form) => {
          const email = String(form.get("email")).trim();
          await api.post("/members", { email, role: form.get("role") });
          toast(t("req.approved", { email }));
          setInviting(false);
          members.reload();
        }}
      >
        <Field id="email" name="email" type="email" label={t("cust.email")} required autofocus autocomplete="off" />
        <Select
          id="role"
          label={t("mem.role")}
          value="member"
          options={roles.map((role) => ({ value: role, label: t(`role.${role}`) }))}
        />
      </FormDialog>
      <Confirm
        open={removing !== null}
        title={t(removing?.email === me ? "mem.leaveTitle" : "mem.removeTitle", {
          email: removing?.email ?? "",
          account: account.value?.name ?? "",
        })}
        action={t(removing?.email === me ? "mem.leave" : "mem.remove")}
        onClose={() => setRemoving(null)}
        onConfirm={() => {
          const member = removing!;
          setRemoving(null);
          if (member.email === me) void api.delete(`/members/${member.userId}`).then(() => location.assign(HOME));
          else act(() => api.delete(`/members/${member.userId}`), t("mem.removed", { email: member.email }));
        }}
      >
        {t("mem.removeLead")}
      </Confirm>
    </>
  );
}
