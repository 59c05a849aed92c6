/** The user's passkeys: listed, added and removed, each with the password. */

import { useState } from "preact/hooks";
import { api, ApiError } from "../api/client";
import { loadSession, session } from "../api/session";
import type { MfaState, NewPasskey, Passkey } from "../api/types.gen";
import { canUsePasskeys, createPasskey } from "../lib/passkeys";
import type { Loaded } from "../lib/query";
import { t } from "../lib/words";
import { FormDialog } from "../ui/forms";
import { Field, Time } from "../ui/parts";
import { DataTable } from "../ui/table";
import { toast } from "../ui/toasts";

const PATH = "/v1/account/mfa/passkeys";

const Confirmed = ({ id }: { id: string }) => (
  <Field
    id={id}
    name="password"
    type="password"
    label={t("password.current")}
    autocomplete="current-password"
    required
  />
);

export function Passkeys({ state, onCodes }: { state: Loaded<MfaState>; onCodes: (codes: string[]) => void }) {
  const [adding, setAdding] = useState(false);
  const [removed, setRemoved] = useState<Passkey | null>(null);
  const add = async (form: FormData) => {
    const made = await createPasskey((path) => api.post(path), session.value!.user!).catch((failure: unknown) => {
      throw failure instanceof DOMException ? new ApiError(0, "passkey", t("passkey.failed")) : failure;
    });
    const { recoveryCodes } = await api.post<NewPasskey>(PATH, {
      name: form.get("name"),
      password: form.get("password"),
      ...made,
    });
    setAdding(false);
    if (recoveryCodes) onCodes(recoveryCodes);
    toast(t("passkey.added"));
    state.reload();
    await loadSession();
  };
  const remove = async (form: FormData) => {
    await api.post(`${PATH}/${removed!.id}/remove`, { password: form.get("password") });
    setRemoved(null);
    toast(t("passkey.removed"));
    state.reload();
  };
  return (
    <>
      <DataTable
        title={t("passkey.title")}
        side={
          canUsePasskeys() ? (
            <button class="btn" onClick={() => setAdding(true)}>
              {t("passkey.add")}
            </button>
          ) : (
            <span class="soft">{t("passkey.unavailable")}</span>
          )
        }
        loaded={state}
        rows={state.data?.passkeys ?? []}
        rowKey={(row) => row.id}
        csv="agentgate-passkeys"
        empty={<p class="in soft">{t("passkey.none")}</p>}
        columns={[
          { id: "name", label: t("passkey.name"), cell: (row) => row.name, csv: (row) => row.name },
          {
            id: "lastUsedAt",
            label: t("sessions.used"),
            class: "nw faint",
            cell: (row) => (row.lastUsedAt ? <Time at={row.lastUsedAt} /> : t("passkey.unused")),
            csv: (row) => row.lastUsedAt ?? "",
          },
          {
            id: "createdAt",
            label: t("passkey.created"),
            class: "opt nw faint",
            cell: (row) => <Time at={row.createdAt} />,
            csv: (row) => row.createdAt,
          },
          {
            id: "remove",
            label: <span class="vh">{t("passkey.remove")}</span>,
            class: "n",
            cell: (row) => (
              <button class="btn" onClick={() => setRemoved(row)}>
                {t("passkey.remove")}
              </button>
            ),
          },
        ]}
      />
      <FormDialog
        open={adding}
        title={t("passkey.add")}
        lead={t("passkey.addLead")}
        action={t("passkey.create")}
        onSubmit={add}
        onClose={() => setAdding(false)}
      >
        <Field id="passkey-name" name="name" label={t("passkey.name")} help={t("passkey.nameHelp")} required />
        <Confirmed id="passkey-password" />
      </FormDialog>
      <FormDialog
        open={removed !== null}
        title={t("passkey.removeOne", { name: removed?.name ?? "" })}
        action={t("passkey.remove")}
        bad
        onSubmit={remove}
        onClose={() => setRemoved(null)}
      >
        <Confirmed id="removed-password" />
      </FormDialog>
    </>
  );
}
