/** API tokens: for programs, with only what they need, and an end. */

import { useState } from "preact/hooks";
import { api } from "../../api/client";
import { account, may } from "../../api/session";
import type { ApiToken, ApiTokenList, ApiTokenScope, ApiTokenSecret } from "../../api/types.gen";
import { count } from "../../lib/format";
import { useKeys } from "../../lib/keys";
import { useQuery } from "../../lib/query";
import { t } from "../../lib/words";
import { Confirm } from "../../ui/dialogs";
import { whenColumn } from "../../ui/columns";
import { FormDialog, Secret, Select, useAction } from "../../ui/forms";
import { Icon } from "../../ui/icons";
import { Empty, Field, Head, Time, type Tone } from "../../ui/parts";
import { DataTable } from "../../ui/table";

const SCOPES: ApiTokenScope[] = ["sites:read", "sites:write", "analytics:read", "members:read"];
const TERMS = ["30", "90", "365", "0"];
const DAY_MS = 86_400_000;

function stateOf(token: ApiToken): { name: string; tone?: Tone } {
  if (token.revokedAt) return { name: "revoked" };
  if (token.expiresAt && new Date(token.expiresAt).getTime() <= Date.now()) return { name: "expired" };
  if (token.expiresAt && new Date(token.expiresAt).getTime() - Date.now() < 7 * DAY_MS)
    return { name: "ending", tone: "challenge" };
  return { name: "live", tone: "allow" };
}

export default function Tokens() {
  const tokens = useQuery<ApiTokenList>("tokens", (signal) => api.get("/tokens", {}, signal));
  const act = useAction(tokens.reload);
  const [making, setMaking] = useState(false);
  const [made, setMade] = useState<ApiTokenSecret | null>(null);
  const [revoking, setRevoking] = useState<ApiToken | null>(null);
  const rows = tokens.data?.items ?? [];
  const live = rows.filter((row) => ["live", "ending"].includes(stateOf(row).name)).length;
  const writes = may("tokens:write");
  const begin = () => setMaking(true);
  useKeys(writes ? [{ key: "n", help: t("tok.make"), run: begin }] : []);
  const make = writes && (
    <button class="btn main" onClick={begin}>
      <Icon name="plus" />
      {t("tok.make")} <kbd>N</kbd>
    </button>
  );
  return (
    <>
      <Head title={t("page.tokens")} actions={make || undefined}>
        {tokens.data && t(live ? "tok.lead" : "tok.leadNone", { n: live, limit: count(account.value?.limits.tokens) })}
      </Head>
      {made && (
        <Secret
          text={made.secret}
          label={t("tok.secret", { name: made.token.name })}
          note={t("tok.secretNote")}
          onDone={() => setMade(null)}
        />
      )}
      <DataTable
        title={t("page.tokens")}
        loaded={tokens}
        rows={rows}
        rowKey={(row) => row.id}
        csv="agentgate-tokens"
        empty={
          <Empty icon="key" title={t("tok.none")} actions={make || undefined}>
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
                <small>
                  <code>{row.id}</code>
                </small>
              </>
            ),
            csv: (row) => row.name,
          },
          {
            id: "scopes",
            label: t("tok.scopes"),
            class: "opt",
            cell: (row) =>
              row.scopes.map((scope) => (
                <span class="tag line" key={scope}>
                  {scope}
                </span>
              )),
            csv: (row) => row.scopes.join(" "),
          },
          {
            id: "state",
            label: t("tok.state"),
            cell: (row) => {
              const { name, tone } = stateOf(row);
              return (
                <>
                  <span class="tag" data-o={tone}>
                    {t(`tok.is.${name}`)}
                  </span>
                  {row.expiresAt && !row.revokedAt && (
                    <small>
                      <Time at={row.expiresAt} />
                    </small>
                  )}
                </>
              );
            },
            csv: (row) => stateOf(row).name,
          },
          {
            id: "createdBy",
            label: t("tok.by"),
            class: "opt2",
            cell: (row) => (
              <>
                {row.createdBy}
                <small>
                  <Time at={row.createdAt} />
                </small>
              </>
            ),
            csv: (row) => row.createdBy,
          },
          whenColumn("lastUsedAt", t("tok.used"), (row: ApiToken) => row.lastUsedAt),
          {
            id: "do",
            label: <span class="vh">{t("usr.do")}</span>,
            class: "n",
            cell: (row) =>
              writes &&
              !row.revokedAt && (
                <button class="btn bad" onClick={() => setRevoking(row)}>
                  {t("tok.revoke")}
                  <span class="vh"> {row.name}</span>
                </button>
              ),
          },
        ]}
      />
      <FormDialog
        open={making}
        title={t("tok.makeTitle")}
        lead={t("tok.makeLead")}
        action={t("tok.make")}
        onClose={() => setMaking(false)}
        onSubmit={async (form) => {
          const days = Number(form.get("term"));
          const scopes = form.getAll("scope") as ApiTokenScope[];
          setMade(
            await api.post<ApiTokenSecret>("/tokens", {
              name: String(form.get("name")).trim(),
              scopes,
              ...(days ? { expiresAt: new Date(Date.now() + days * DAY_MS).toISOString() } : {}),
            }),
          );
          setMaking(false);
          tokens.reload();
        }}
      >
        <Field
          id="name"
          name="name"
          label={t("tok.name")}
          help={t("tok.nameHelp")}
          required
          autofocus
          maxlength={100}
          autocomplete="off"
        />
        <fieldset class="stack tight">
          <legend class="b">{t("tok.scopes")}</legend>
          {SCOPES.map((scope) => (
            <label class="row tick" key={scope}>
              <input type="checkbox" name="scope" value={scope} checked={scope === "sites:read"} />
              <span>
                <code>{scope}</code> <span class="soft">{t(`scope.${scope}`)}</span>
              </span>
            </label>
          ))}
        </fieldset>
        <Select
          id="term"
          label={t("tok.term")}
          value="90"
          options={TERMS.map((days) => ({
            value: days,
            label: days === "0" ? t("tok.forever") : t("fb.days", { n: Number(days) }),
          }))}
        />
      </FormDialog>
      <Confirm
        open={revoking !== null}
        title={t("tok.revokeTitle", { name: revoking?.name ?? "" })}
        action={t("tok.revoke")}
        onClose={() => setRevoking(null)}
        onConfirm={() => {
          const token = revoking!;
          setRevoking(null);
          act(() => api.delete(`/tokens/${token.id}`), t("tok.isRevoked", { name: token.name }));
        }}
      >
        {revoking?.lastUsedAt ? t("tok.revokeUsed") : t("tok.revokeUnused")}
      </Confirm>
    </>
  );
}
