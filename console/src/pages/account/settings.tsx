/** The account: its name, its limits, whether everybody needs a second factor, and what ends it. */

import { useState } from "preact/hooks";
import { api, HOME } from "../../api/client";
import { account, loadSession, may, sites, takeSession } from "../../api/session";
import type { Limits, MemberList, OwnAccount, Session } from "../../api/types.gen";
import { count } from "../../lib/format";
import { useQuery } from "../../lib/query";
import { t } from "../../lib/words";
import { Confirm } from "../../ui/dialogs";
import { FormDialog, Select, Toggle, useAction } from "../../ui/forms";
import { Card, Failure, Field, Head, Time } from "../../ui/parts";
import { toast, toastError } from "../../ui/toasts";
import { Notices } from "./notices";
import { Oidc } from "./oidc";

const LIMITS: [keyof Limits, "sites" | "members" | "tokens" | null][] = [
  ["sites", "sites"],
  ["members", "members"],
  ["tokens", "tokens"],
  ["credentialsPerSite", null],
  ["originsPerSite", null],
];

function Name({ own, reload }: { own: OwnAccount; reload: () => void }) {
  const act = useAction(() => {
    reload();
    void loadSession();
  });
  const writes = may("account:write");
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    const name = String(new FormData(event.currentTarget as HTMLFormElement).get("name")).trim();
    act(() => api.patch("/account", { name }), t("acct.renamed", { name }));
  };
  return (
    <Card title={t("acct.title")}>
      <form onSubmit={submit}>
        <div class="in stack">
          <Field
            id="name"
            name="name"
            label={t("acct.name")}
            help={t("acct.nameHelp")}
            value={own.name}
            required
            disabled={!writes}
            maxlength={100}
          />
          <dl class="rows">
            <div>
              <dt>ID</dt>
              <dd>
                <code>{own.id}</code>
              </dd>
            </div>
            <div>
              <dt>{t("acct.role")}</dt>
              <dd>{t(`role.${own.role ?? "member"}`)}</dd>
            </div>
            <div>
              <dt>{t("cust.since")}</dt>
              <dd>
                <Time at={own.createdAt} />
              </dd>
            </div>
          </dl>
        </div>
        {writes && (
          <footer class="foot">
            <button class="btn main push">{t("cust.save")}</button>
          </footer>
        )}
      </form>
    </Card>
  );
}

function Used({ own }: { own: OwnAccount }) {
  return (
    <Card title={t("acct.limits")} lead={t("acct.limitsLead")}>
      <div class="in">
        <dl class="rows">
          {LIMITS.map(([name, usage]) => (
            <div key={name}>
              <dt>{t(`limit.${name}`)}</dt>
              <dd>
                {usage ? `${count(own.usage[usage])} / ` : ""}
                {count(own.limits[name])}
                {usage && (
                  <progress
                    value={own.usage[usage]}
                    max={own.limits[name]}
                    aria-label={t(`limit.${name}`)}
                    data-o={own.usage[usage] >= (own.limits[name] ?? 0) ? "challenge" : undefined}
                  />
                )}
              </dd>
            </div>
          ))}
        </dl>
      </div>
    </Card>
  );
}

function Danger({ own }: { own: OwnAccount }) {
  const members = useQuery<MemberList>("members", (signal) => api.get("/members", {}, signal));
  const [transferring, setTransferring] = useState(false);
  const [deleting, setDeleting] = useState(false);
  const others = (members.data?.items ?? []).filter((each) => each.role !== "owner" && each.status === "active");
  const enforcing = (sites.value ?? []).filter(({ mode }) => mode === "enforce").map(({ name }) => name);
  const owner = may("account:delete");
  const whyNot = !owner
    ? t("acct.ownersOnly")
    : enforcing.length
      ? t("acct.enforcing", { sites: enforcing.join(", ") })
      : "";
  return (
    <section class="card danger" aria-label={t("acct.danger")}>
      <header>
        <h2>{t("acct.danger")}</h2>
      </header>
      <div>
        <div>
          <h3>{t("acct.transfer")}</h3>
          <p>{!owner ? t("acct.ownersOnly") : others.length ? t("acct.transferLead") : t("acct.nobody")}</p>
        </div>
        <button
          class="btn"
          aria-disabled={owner && others.length ? undefined : "true"}
          onClick={() => owner && others.length && setTransferring(true)}
        >
          {t("acct.transferDo")}
        </button>
      </div>
      <div>
        <div>
          <h3>{t("acct.delete")}</h3>
          <p>{whyNot || t("acct.deleteLead")}</p>
        </div>
        <button
          class="btn bad"
          aria-disabled={whyNot ? "true" : undefined}
          onClick={() => !whyNot && setDeleting(true)}
        >
          {t("acct.deleteDo")}
        </button>
      </div>
      <FormDialog
        open={transferring}
        title={t("acct.transfer")}
        lead={t("acct.transferLead")}
        action={t("acct.transfer")}
        bad
        onClose={() => setTransferring(false)}
        onSubmit={async (form) => {
          await api.post("/account/transfer-ownership", { userId: form.get("userId") });
          await loadSession();
          setTransferring(false);
          toast(t("acct.transferred"));
        }}
      >
        <Select
          id="userId"
          label={t("acct.newOwner")}
          value={others[0]?.userId}
          options={others.map((each) => ({ value: each.userId, label: each.email }))}
        />
      </FormDialog>
      <Confirm
        open={deleting}
        title={t("cust.deleteTitle", { name: own.name })}
        word={own.name}
        action={t("acct.delete")}
        onClose={() => setDeleting(false)}
        onConfirm={() =>
          void api
            .delete("/account", { confirm: own.name })
            .then(() => location.assign(HOME))
            .catch(toastError)
        }
      >
        {t("cust.deleteNumbers", { sites: own.usage.sites, members: own.usage.members, tokens: own.usage.tokens })}
      </Confirm>
    </section>
  );
}

function Another() {
  const [making, setMaking] = useState(false);
  return (
    <Card title={t("acct.another")} lead={t("acct.anotherLead")}>
      <div class="in row">
        <button class="btn" onClick={() => setMaking(true)}>
          {t("acct.anotherDo")}
        </button>
      </div>
      <FormDialog
        open={making}
        title={t("acct.anotherDo")}
        lead={t("acct.anotherLead")}
        action={t("acct.anotherDo")}
        onClose={() => setMaking(false)}
        onSubmit={async (form) => {
          takeSession(
            await api.post<Session>("/v1/account/accounts", { name: String(form.get("accountName")).trim() }),
          );
          location.assign(HOME);
        }}
      >
        <Field
          id="accountName"
          name="accountName"
          label={t("acct.name")}
          required
          autofocus
          maxlength={100}
          autocomplete="off"
        />
      </FormDialog>
    </Card>
  );
}

export default function AccountSettings() {
  const own = useQuery<OwnAccount>("account", (signal) => api.get("/account", {}, signal));
  const act = useAction(() => {
    own.reload();
    void loadSession();
  });
  const { data } = own;
  return (
    <>
      <Head title={t("page.account")}>
        {data && t("acct.lead", { name: data.name, sites: data.usage.sites, members: data.usage.members })}
      </Head>
      {own.error && !data && (
        <div class="card">
          <Failure error={own.error} retry={own.reload} />
        </div>
      )}
      {data && (
        <>
          <div class="cols">
            <Name own={data} reload={own.reload} key={data.name} />
            <Used own={data} />
          </div>
          <Card title={t("factor.title")} lead={t("acct.mfaLead")}>
            <div class="in">
              <Toggle
                checked={data.requireMfa}
                disabled={!may("account:write")}
                label={t("acct.requireMfa")}
                onChange={(requireMfa) =>
                  act(() => api.patch("/account", { requireMfa }), t(requireMfa ? "acct.mfaOn" : "acct.mfaOff"))
                }
              />
            </div>
          </Card>
          {data.oidcIssuers.length > 0 && <Oidc own={data} reload={own.reload} key={JSON.stringify(data.oidc)} />}
          <Notices />
          {account.value?.status === "active" && <Another />}
          <Danger own={data} />
        </>
      )}
    </>
  );
}
