/** What a user does for themselves: second factor, password, sessions. */

import { useState } from "preact/hooks";
import { api, ApiError } from "../api/client";
import { loadSession, loadSites } from "../api/session";
import type { MfaSetup, MfaState, RecoveryCodes, SessionList } from "../api/types.gen";
import { save } from "../lib/csv";
import { qrCode } from "../lib/qr";
import { useQuery } from "../lib/query";
import { t } from "../lib/words";
import { Icon } from "../ui/icons";
import { Card, CopyButton, Failure, Field, Head, Note, Time } from "../ui/parts";
import { toast, toastError } from "../ui/toasts";

const messageOf = (failure: unknown) => (failure instanceof ApiError ? failure.message : String(failure));

function Qr({ text }: { text: string }) {
  const rows = qrCode(text);
  const size = rows.length;
  const path = rows.flatMap((row, y) => row.flatMap((on, x) => (on ? [`M${x} ${y}h1v1h-1z`] : []))).join("");
  return (
    <svg class="qr" viewBox={`-2 -2 ${size + 4} ${size + 4}`} role="img" aria-label={t("factor.qr")} shape-rendering="crispEdges">
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

function Factor() {
  const state = useQuery<MfaState>("mfa", (signal) => api.get("/v1/account/mfa", {}, signal));
  const [setup, setSetup] = useState<MfaSetup | null>(null);
  const [codes, setCodes] = useState<string[] | null>(null);
  const [problem, setProblem] = useState("");
  const begin = () => void api.post<MfaSetup>("/v1/account/mfa/setup").then(setSetup).catch(toastError);
  const enable = async (event: SubmitEvent) => {
    event.preventDefault();
    const code = String(new FormData(event.currentTarget as HTMLFormElement).get("code")).replaceAll(" ", "");
    try {
      setCodes((await api.post<RecoveryCodes>("/v1/account/mfa/enable", { code })).recoveryCodes);
      setSetup(null);
      setProblem("");
    } catch (failure) {
      setProblem(messageOf(failure));
    }
  };
  const done = () => {
    setCodes(null);
    state.reload();
    void loadSession().then(loadSites).catch(toastError);
  };
  const { data } = state;
  return (
    <Card title={t("factor.title")} lead={t("factor.lead")}>
      {state.error && <Failure error={state.error} retry={state.reload} />}
      {codes ? (
        <Codes codes={codes} onDone={done} />
      ) : setup ? (
        <form class="in stack" onSubmit={(event) => void enable(event)}>
          <p class="soft">{t("factor.scan")}</p>
          <Qr text={setup.otpauthUrl} />
          <div class="secret">
            <code>{setup.secret}</code>
            <CopyButton text={setup.secret} />
          </div>
          <Field id="code" name="code" class="digits" label={t("factor.code")} error={problem} inputmode="numeric" autocomplete="one-time-code" maxlength={7} required autofocus />
          <button class="btn main">{t("factor.enable")}</button>
        </form>
      ) : data?.enabled ? (
        <Disable left={data.recoveryCodesLeft} required={data.requiredByAccount} onDone={state.reload} />
      ) : (
        data && (
          <div class="in row">
            <span class="state grow">
              <span class="dot" data-o="challenge" />
              {t(data.requiredByAccount ? "factor.required" : "factor.off")}
            </span>
            <button class="btn main" onClick={begin}>
              {t("factor.begin")}
            </button>
          </div>
        )
      )}
    </Card>
  );
}

function Disable({ left, required, onDone }: { left: number; required: boolean; onDone: () => void }) {
  const [problem, setProblem] = useState("");
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget as HTMLFormElement);
    try {
      await api.post("/v1/account/mfa/disable", { password: form.get("password"), code: String(form.get("code")).replaceAll(" ", "") });
      toast(t("factor.isOff"));
      onDone();
    } catch (failure) {
      setProblem(messageOf(failure));
    }
  };
  return (
    <div class="in stack">
      <span class="state">
        <span class="dot" data-o="allow" />
        {t("factor.on", { n: left })}
      </span>
      {required ? (
        <p class="soft">{t("factor.stays")}</p>
      ) : (
        <details>
          <summary class="b s">{t("factor.turnOff")}</summary>
          <form class="stack" onSubmit={(event) => void submit(event)}>
            <Field id="off-password" name="password" type="password" label={t("password.current")} autocomplete="current-password" required />
            <Field id="off-code" name="code" label={t("factor.code")} error={problem} inputmode="numeric" autocomplete="one-time-code" required />
            <button class="btn bad">{t("factor.turnOff")}</button>
          </form>
        </details>
      )}
    </div>
  );
}

function Password() {
  const [problem, setProblem] = useState("");
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    const form = event.currentTarget as HTMLFormElement;
    const values = new FormData(form);
    try {
      await api.post("/v1/account/password", { currentPassword: values.get("current"), newPassword: values.get("new") });
      await loadSession();
      form.reset();
      setProblem("");
      toast(t("password.changed"));
    } catch (failure) {
      setProblem(messageOf(failure));
    }
  };
  return (
    <Card title={t("password.title")} lead={t("password.lead")}>
      <form class="in stack" onSubmit={(event) => void submit(event)}>
        <Field id="current" name="current" type="password" label={t("password.current")} autocomplete="current-password" required />
        <Field id="new" name="new" type="password" label={t("password.new")} help={t("password.help")} error={problem} autocomplete="new-password" minlength={12} required />
        <div class="row">
          <button class="btn main">{t("password.do")}</button>
        </div>
      </form>
    </Card>
  );
}

function Sessions() {
  const { data, error, reload } = useQuery<SessionList>("sessions", (signal) => api.get("/v1/account/sessions", {}, signal));
  const end = (id: string) => void api.delete(`/v1/account/sessions/${id}`).then(reload).catch(toastError);
  const others = () =>
    void api
      .post("/v1/account/sessions/revoke-others")
      .then(() => {
        toast(t("sessions.ended"));
        reload();
      })
      .catch(toastError);
  return (
    <Card
      title={t("sessions.title")}
      side={
        (data?.items.length ?? 0) > 1 && (
          <button class="btn bad" onClick={others}>
            {t("sessions.endOthers")}
          </button>
        )
      }
    >
      {error && <Failure error={error} retry={reload} />}
      <div class="scroll">
        <table class="tbl">
          <caption class="vh">{t("sessions.title")}</caption>
          <thead>
            <tr>
              <th scope="col">{t("sessions.browser")}</th>
              <th scope="col">{t("sessions.used")}</th>
              <th scope="col" class="opt">{t("sessions.began")}</th>
              <th scope="col">
                <span class="vh">{t("sessions.end")}</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {data?.items.map((item) => (
              <tr key={item.id}>
                <td>
                  {item.browser} {item.current && <span class="tag" data-o="allow">{t("sessions.this")}</span>}
                </td>
                <td class="nw faint">
                  <Time at={item.lastUsedAt} />
                </td>
                <td class="nw faint opt">
                  <Time at={item.createdAt} />
                </td>
                <td class="n">
                  {!item.current && (
                    <button class="btn" onClick={() => end(item.id)}>
                      {t("sessions.end")}
                    </button>
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Card>
  );
}

export default function Security() {
  return (
    <>
      <Head title={t("me.security")}>{t("security.lead")}</Head>
      <div class="cols">
        <Factor />
        <Password />
      </div>
      <Sessions />
    </>
  );
}
