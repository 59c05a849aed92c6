/** The members of an account, for its owner and for operators: roles, invitations, and who leaves. */

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { api, HOME } from "../../api/client";
import type { AccountRole, Member, MemberInviteResult } from "../../api/types.gen";
import type { Loaded } from "../../lib/query";
import { t } from "../../lib/words";
import { factorColumn, whenColumn } from "../../ui/columns";
import { Confirm } from "../../ui/dialogs";
import { FormDialog, Secret, Select, useAction } from "../../ui/forms";
import { Empty, Field } from "../../ui/parts";
import { DataTable } from "../../ui/table";
import { toast, toastError } from "../../ui/toasts";
import { ConfirmRole, type RoleChange } from "./confirm-role";

export const ROLES: AccountRole[] = ["owner", "admin", "member", "readonly"];

interface Shown {
  /** Where the members are in the API. */
  membersAt: string;
  account: string;
  rows: Member[];
  loaded: Pick<Loaded<unknown>, "data" | "error" | "loading" | "reload">;
  /** Roles that the reader may give. */
  roles: AccountRole[];
  /** The reader's own address, if the reader may be a member. */
  me?: string;
  writes: boolean;
  mayChange: (row: Member) => boolean;
  inviting: boolean;
  inviteLead: string;
  onInvited: () => void;
  lead?: ComponentChildren;
  side?: ComponentChildren;
  csv?: string;
}

/** Whether the account has no other owner. */
function isLast(row: Member, rows: Member[]): boolean {
  return row.role === "owner" && rows.filter(({ role }) => role === "owner").length === 1;
}

function Role({ row, shown, onChange }: { row: Member; shown: Shown; onChange: (role: AccountRole) => void }) {
  const last = isLast(row, shown.rows);
  if (last || !shown.mayChange(row))
    return (
      <>
        {t(`role.${row.role}`)} {last && <small>{t("mem.last")}</small>}
      </>
    );
  return (
    <select
      class="auto"
      aria-label={t("mem.roleOf", { email: row.email })}
      value={row.role}
      onChange={(event) => onChange(event.currentTarget.value as AccountRole)}
    >
      {shown.roles.map((role) => (
        <option key={role} value={role} selected={role === row.role}>
          {t(`role.${role}`)}
        </option>
      ))}
    </select>
  );
}

export function MemberTable(shown: Shown) {
  const { membersAt, rows, loaded, me } = shown;
  const act = useAction(loaded.reload);
  const [removing, setRemoving] = useState<Member | null>(null);
  const [changing, setChanging] = useState<RoleChange | null>(null);
  const [link, setLink] = useState<{ email: string; url: string } | null>(null);
  const leaving = removing?.email === me;
  // Operators see the link, which they may have to pass on; for members it is in the mail.
  const resend = ({ userId, email }: Member) =>
    void api
      .post<{ inviteUrl?: string } | undefined>(`${membersAt}/${userId}/resend-invite`)
      .then((made) => {
        if (made?.inviteUrl) setLink({ email, url: made.inviteUrl });
        toast(t("mem.resent", { email }));
        loaded.reload();
      })
      .catch(toastError);
  const invite = async (form: FormData) => {
    const email = String(form.get("email")).trim();
    const made = await api.post<Partial<MemberInviteResult>>(membersAt, { email, role: form.get("role") });
    if (made.inviteUrl) setLink({ email, url: made.inviteUrl });
    toast(t("req.approved", { email }));
    shown.onInvited();
    loaded.reload();
  };
  const remove = () => {
    const member = removing!;
    setRemoving(null);
    if (leaving)
      void api
        .delete(`${membersAt}/${member.userId}`)
        .then(() => location.assign(HOME))
        .catch(toastError);
    else act(() => api.delete(`${membersAt}/${member.userId}`), t("mem.removed", { email: member.email }));
  };
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
        owners={rows.filter(({ role }) => role === "owner").length}
        onClose={(role) => {
          // A dialog that was confirmed reports its end too.
          if (!changing) return;
          const { row } = changing;
          setChanging(null);
          // What the list shows is the stored role again until the change is made.
          if (role === undefined) return loaded.reload();
          act(
            () => api.patch(`${membersAt}/${row.userId}`, { role }),
            t("mem.changed", { email: row.email, role: t(`role.${role}`) }),
          );
        }}
      />
      <DataTable
        title={t("page.members")}
        lead={shown.lead}
        side={shown.side}
        loaded={loaded}
        rows={rows}
        rowKey={(row) => row.userId}
        csv={shown.csv}
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
            cell: (row) => <Role row={row} shown={shown} onChange={(role) => setChanging({ row, role })} />,
            csv: (row) => row.role,
          },
          factorColumn(),
          whenColumn("lastSignInAt", t("usr.seen"), (row: Member) => row.lastSignInAt),
          {
            id: "do",
            label: <span class="vh">{t("usr.do")}</span>,
            class: "n",
            cell: (row) => (
              <span class="row end">
                {shown.writes && row.status === "invited" && (
                  <button class="btn" onClick={() => resend(row)}>
                    {t("mem.resend")}
                    <span class="vh"> {row.email}</span>
                  </button>
                )}
                {(shown.mayChange(row) || row.email === me) && !isLast(row, rows) && (
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
      <FormDialog
        open={shown.inviting}
        title={t("mem.addTitle", { account: shown.account })}
        lead={shown.inviteLead}
        action={t("mem.invite")}
        onClose={shown.onInvited}
        onSubmit={invite}
      >
        <Field id="email" name="email" type="email" label={t("cust.email")} required autofocus autocomplete="off" />
        <Select
          id="role"
          label={t("mem.role")}
          value="member"
          options={shown.roles.map((role) => ({ value: role, label: t(`role.${role}`) }))}
        />
      </FormDialog>
      <Confirm
        open={removing !== null}
        title={t(leaving ? "mem.leaveTitle" : "mem.removeTitle", {
          email: removing?.email ?? "",
          account: shown.account,
        })}
        action={t(leaving ? "mem.leave" : "mem.remove")}
        onClose={() => setRemoving(null)}
        onConfirm={remove}
      >
        {t("mem.removeLead")}
      </Confirm>
    </>
  );
}
