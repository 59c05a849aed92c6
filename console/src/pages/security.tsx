/** What a user does for themselves: second factor, password, sessions. */

import { useState } from "preact/hooks";
import { api } from "../api/client";
import { loadSession, loadSites } from "../api/session";
import type { MfaSetup, MfaState, RecoveryCodes, SessionList } from "../api/types.gen";
import { save } from "../lib/csv";
import { signWithPasskey } from "../lib/passkeys";
import { qrCode } from "../lib/qr";
import { useQuery, type Loaded } from "../lib/query";
import { t } from "../lib/words";
import { useAction, useSubmit } from "../ui/forms";
import { Icon } from "../ui/icons";
import { Card, CopyButton, Failure, Field, Head, Note, Time } from "../ui/parts";
import { DataTable } from "../ui/table";
import { toast, toastError } from "../ui/toasts";
import { Passkeys } from "./passkeys";

/** A code as people type it, without its blanks. */
const codeIn = (form: FormData) => String(form.get("code")).replaceAll(" ", "");

function Qr({ text }: { text: string }) {
  const rows = qrCode(text);
  const size = rows.length;
  const path = rows.flatMap((row, y) => row.flatMap((on, x) => (on ? [`M${x} ${y}h1v1h-1z`] : []))).join("");
  return (
    <svg
      class="qr"
      viewBox={`-2 -2 ${size + 4} ${size + 4}`}
      role="img"
      aria-label={t("factor.qr")}
      shape-rendering="crispEdges"
    >
      <rect class="paper" x="-2" y="-2" width={size + 4} height={size + 4} rx="1" />
      <path d={path} />
    </svg>
  );
}

function Codes({ codes, onDone }: { codes: string[]; onDone: () => void }) {
  const text = codes.join("\n");
  return (
    <div class="in stack">
      <Note tone="challenge">
        <b>{t("factor.keep", { n: codes.length })}</b> {t("factor.keepWhy")}
      </Note>
      <pre class="code pad" tabIndex={0} role="region" aria-label={t("factor.codes")}>
        {text}
      </pre>
      <div class="row">
        <button class="btn" onClick={() => save("agentgate-recovery-codes.txt", `${text}\n`, "text/plain")}>
          <Icon name="get" />
          {t("factor.save")}
        </button>
        <CopyButton text={text} />
        <button class="btn main push" onClick={onDone}>
          {t("factor.kept")}
        </button>
      </div>
    </div>
  );
}

function Factor({
  state,
  codes,
  setCodes,
}: {
  state: Loaded<MfaState>;
  codes: string[] | null;
  setCodes: (codes: string[] | null) => void;
}) {
  const [setup, setSetup] = useState<MfaSetup | null>(null);
  const begin = () => void api.post<MfaSetup>("/v1/account/mfa/setup").then(setSetup).catch(toastError);
  const { problem, submit } = useSubmit(async (form) => {
    setCodes((await api.post<RecoveryCodes>("/v1/account/mfa/enable", { code: codeIn(form) })).recoveryCodes);
    setSetup(null);
  });
  const done = () => {
    setCodes(null);
    state.reload();
    void loadSession()
      .then(() => loadSites())
      .catch(toastError);
  };
  const { data } = state;
  return (
    <Card title={t("factor.title")} lead={t("factor.lead")}>
      {state.error && <Failure error={state.error} retry={state.reload} />}
      {codes ? (
        <Codes codes={codes} onDone={done} />
      ) : setup ? (
        <form class="in stack" onSubmit={submit}>
          <p class="soft">{t("factor.scan")}</p>
          <Qr text={setup.otpauthUrl} />
          <div class="secret">
            <code>{setup.secret}</code>
            <CopyButton text={setup.secret} />
          </div>
          <Field
            id="code"
            name="code"
            class="digits"
            label={t("factor.code")}
            error={problem}
            inputmode="numeric"
            autocomplete="one-time-code"
            maxlength={7}
            required
            autofocus
          />
          <button class="btn main">{t("factor.enable")}</button>
        </form>
      ) : (
        data && (
          <>
            {data.enabled && <Disable state={data} onDone={state.reload} />}
            {!data.authenticator && (
              <div class="in row">
                <span class="state grow">
                  {data.enabled ? (
                    t("factor.app")
                  ) : (
                    <>
                      <span class="dot" data-o="challenge" />
                      {t(data.requiredByAccount ? "factor.required" : "factor.off")}
                    </>
                  )}
                </span>
                <button class="btn main" onClick={begin}>
                  {t("factor.begin")}
                </button>
              </div>
            )}
          </>
        )
      )}
    </Card>
  );
}

function Disable({ state, onDone }: { state: MfaState; onDone: () => void }) {
  const { problem, submit } = useSubmit(async (form) => {
    const code = codeIn(form);
    const proof = !code
      ? { passkey: await signWithPasskey((path) => api.post(path)) }
      : /^\d{6}$/.test(code)
        ? { code }
        : { recoveryCode: code };
    await api.post("/v1/account/mfa/disable", { password: form.get("password"), ...proof });
    toast(t("factor.isOff"));
    onDone();
  });
  return (
    <div class="in stack">
      <span class="state">
        <span class="dot" data-o="allow" />
        {t("factor.on", { n: state.recoveryCodesLeft })}
      </span>
      {state.requiredByAccount ? (
        <p class="soft">{t("factor.stays")}</p>
      ) : (
        <details>
          <summary class="b s">{t("factor.turnOff")}</summary>
          <form class="stack" onSubmit={submit}>
            <Field
              id="off-password"
              name="password"
              type="password"
              label={t("password.current")}
              autocomplete="current-password"
              required
            />
            <Field
              id="off-code"
              name="code"
              label={t("factor.anyCode")}
              help={state.passkeys.length ? t("factor.orPasskey") : undefined}
              error={problem}
              autocomplete="one-time-code"
              required={!state.passkeys.length}
            />
            <button class="btn bad">{t("factor.turnOff")}</button>
          </form>
        </details>
      )}
    </div>
  );
}

function Password() {
  const { problem, submit } = useSubmit(async (form, element) => {
    await api.post("/v1/account/password", { currentPassword: form.get("current"), newPassword: form.get("new") });
    await loadSession();
    element.reset();
    toast(t("password.changed"));
  });
  return (
    <Card title={t("password.title")} lead={t("password.lead")}>
      <form class="in stack" onSubmit={submit}>
        <Field
          id="current"
          name="current"
          type="password"
          label={t("password.current")}
          autocomplete="current-password"
          required
        />
        <Field
          id="new"
          name="new"
          type="password"
          label={t("password.new")}
          help={t("password.help")}
          error={problem}
          autocomplete="new-password"
          minlength={12}
          required
        />
        <div class="row">
          <button class="btn main">{t("password.do")}</button>
        </div>
      </form>
    </Card>
  );
}

function Sessions() {
  const sessions = useQuery<SessionList>("sessions", (signal) => api.get("/v1/account/sessions", {}, signal));
  const act = useAction(sessions.reload);
  const rows = sessions.data?.items ?? [];
  return (
    <DataTable
      title={t("sessions.title")}
      side={
        rows.length > 1 ? (
          <button
            class="btn bad"
            onClick={() => act(() => api.post("/v1/account/sessions/revoke-others"), t("sessions.ended"))}
          >
            {t("sessions.endOthers")}
          </button>
        ) : (
          <></>
        )
      }
      loaded={sessions}
      rows={rows}
      rowKey={(row) => row.id}
      csv="agentgate-sessions"
      empty={<></>}
      columns={[
        {
          id: "browser",
          label: t("sessions.browser"),
          cell: (row) => (
            <>
              {row.browser}{" "}
              {row.current && (
                <span class="tag" data-o="allow">
                  {t("sessions.this")}
                </span>
              )}
            </>
          ),
          csv: (row) => row.browser,
        },
        {
          id: "lastUsedAt",
          label: t("sessions.used"),
          class: "nw faint",
          cell: (row) => <Time at={row.lastUsedAt} />,
          csv: (row) => row.lastUsedAt,
        },
        {
          id: "createdAt",
          label: t("sessions.began"),
          class: "opt nw faint",
          cell: (row) => <Time at={row.createdAt} />,
          csv: (row) => row.createdAt,
        },
        {
          id: "end",
          label: <span class="vh">{t("sessions.end")}</span>,
          class: "n",
          cell: (row) =>
            !row.current && (
              <button
                class="btn"
                onClick={() => act(() => api.delete(`/v1/account/sessions/${row.id}`), t("sessions.endedOne"))}
              >
                {t("sessions.end")}
              </button>
            ),
        },
      ]}
    />
  );
}

export default function Security() {
  const state = useQuery<MfaState>("mfa", (signal) => api.get("/v1/account/mfa", {}, signal));
  const [codes, setCodes] = useState<string[] | null>(null);
  return (
    <>
      <Head title={t("me.security")}>{t("security.lead")}</Head>
      <div class="cols">
        <Factor state={state} codes={codes} setCodes={setCodes} />
        <Password />
      </div>
      <Passkeys state={state} onCodes={setCodes} />
      <Sessions />
    </>
  );
}
