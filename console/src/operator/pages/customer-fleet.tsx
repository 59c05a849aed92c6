/** Fleet credentials of an account: one secret for the proxies of all its sites. */

import { useState } from "preact/hooks";
import { api } from "../../api/client";
import type { CustomerDetail, FleetCredential, FleetCredentialList, FleetCredentialSecret } from "../../api/types.gen";
import { useQuery } from "../../lib/query";
import { t } from "../../lib/words";
import { Confirm } from "../../ui/dialogs";
import { whenColumn } from "../../ui/columns";
import { FormDialog, Secret, Select, useAction } from "../../ui/forms";
import { Icon } from "../../ui/icons";
import { Empty, Field } from "../../ui/parts";
import { DataTable } from "../../ui/table";

const UNKNOWN_HOSTS = ["allow", "block"];

export function Fleet({ customer }: { customer: CustomerDetail }) {
  const found = useQuery<FleetCredentialList>(`fleet ${customer.id}`, (signal) =>
    api.get(`/customers/${customer.id}/fleet-credentials`, {}, signal),
  );
  const act = useAction(found.reload);
  const [adding, setAdding] = useState(false);
  const [made, setMade] = useState<FleetCredentialSecret | null>(null);
  const [revoking, setRevoking] = useState<FleetCredential | null>(null);
  return (
    <>
      {made && (
        <Secret
          text={made.secret}
          label={t("fleet.secret", { name: made.credential.name })}
          note={t("fleet.secretNote")}
          onDone={() => setMade(null)}
        />
      )}
      <DataTable
        title={t("fleet.title")}
        lead={t("fleet.lead")}
        side={
          customer.status === "active" && (
            <button class="btn" onClick={() => setAdding(true)}>
              <Icon name="plus" />
              {t("fleet.add")}
            </button>
          )
        }
        keys={false}
        loaded={found}
        rows={found.data?.items ?? []}
        rowKey={(row) => row.id}
        empty={<Empty icon="key" title={t("fleet.none")} />}
        columns={[
          {
            id: "name",
            label: t("tok.name"),
            cell: (row) => (
              <>
                {row.name}
                <small>
                  <code>{row.id}</code>
                </small>
              </>
            ),
          },
          { id: "unknown", label: t("fleet.unknown"), class: "opt", cell: (row) => t(`fleet.is.${row.unknownHosts}`) },
          whenColumn("used", t("tok.used"), (row: FleetCredential) => row.lastUsedAt),
          {
            id: "do",
            label: <span class="vh">{t("usr.do")}</span>,
            class: "n",
            cell: (row) =>
              row.revokedAt ? (
                <span class="tag">{t("tok.revoked")}</span>
              ) : (
                <button class="btn bad" onClick={() => setRevoking(row)}>
                  {t("tok.revoke")}
                  <span class="vh"> {row.name}</span>
                </button>
              ),
          },
        ]}
      />
      <FormDialog
        open={adding}
        title={t("fleet.add")}
        lead={t("fleet.addLead")}
        action={t("fleet.do")}
        onClose={() => setAdding(false)}
        onSubmit={async (form) => {
          const body = { name: String(form.get("name")).trim(), unknownHosts: form.get("unknownHosts") };
          setMade(await api.post<FleetCredentialSecret>(`/customers/${customer.id}/fleet-credentials`, body));
          setAdding(false);
          found.reload();
        }}
      >
        <Field
          id="name"
          name="name"
          label={t("tok.name")}
          help={t("fleet.nameHelp")}
          required
          autofocus
          autocomplete="off"
        />
        <Select
          id="unknownHosts"
          label={t("fleet.unknown")}
          help={t("fleet.unknownHelp")}
          value="allow"
          options={UNKNOWN_HOSTS.map((value) => ({ value, label: t(`fleet.is.${value}`) }))}
        />
      </FormDialog>
      <Confirm
        open={revoking !== null}
        title={t("fleet.revokeTitle", { name: revoking?.name ?? "" })}
        action={t("tok.revoke")}
        onClose={() => setRevoking(null)}
        onConfirm={() => {
          const { id, name } = revoking!;
          setRevoking(null);
          act(() => api.delete(`/customers/${customer.id}/fleet-credentials/${id}`), t("tok.isRevoked", { name }));
        }}
      >
        {t("fleet.revokeLead")}
      </Confirm>
    </>
  );
}
