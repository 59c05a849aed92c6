/** Who belongs to the account, and what each may do. */

import { useState } from "preact/hooks";
import { api } from "../../api/client";
import { account, may, session } from "../../api/session";
import type { MemberList } from "../../api/types.gen";
import { count } from "../../lib/format";
import { useKeys } from "../../lib/keys";
import { useQuery } from "../../lib/query";
import { t } from "../../lib/words";
import { Icon } from "../../ui/icons";
import { Card, Head } from "../../ui/parts";
import { MemberTable, ROLES } from "./member-table";

export default function Members() {
  const members = useQuery<MemberList>("members", (signal) => api.get("/members", {}, signal));
  const [inviting, setInviting] = useState(false);
  const rows = members.data?.items ?? [];
  const writes = may("members:write");
  const own = account.value?.role === "owner";
  const without = rows.filter((row) => !row.mfaEnabled && row.status === "active").length;
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
      <MemberTable
        membersAt="/members"
        account={account.value?.name ?? ""}
        rows={rows}
        loaded={members}
        roles={own ? ROLES : ROLES.slice(1)}
        me={session.value?.user?.email}
        writes={writes}
        mayChange={(row) => writes && (own || row.role !== "owner")}
        inviting={inviting}
        inviteLead={t("mem.addLeadMail")}
        onInvited={() => setInviting(false)}
        csv="agentgate-members"
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
    </>
  );
}
