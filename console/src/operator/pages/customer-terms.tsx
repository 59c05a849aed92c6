/** A customer's name and limits, and what ends it. */

import { useState } from "preact/hooks";
import { api } from "../../api/client";
import type { CustomerDetail, Limits } from "../../api/types.gen";
import { t } from "../../lib/words";
import { Confirm } from "../../ui/dialogs";
import { FormDialog, Toggle, useAction } from "../../ui/forms";
import { Card, Field } from "../../ui/parts";
import { toast } from "../../ui/toasts";

const LIMITS: (keyof Limits)[] = ["sites", "members", "tokens", "credentialsPerSite", "originsPerSite"];

export function Terms({ customer, reload }: { customer: CustomerDetail; reload: () => void }) {
  const act = useAction(reload);
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget as HTMLFormElement);
    const limits = Object.fromEntries(LIMITS.map((name) => [name, Number(form.get(name))]));
    act(
      () => api.patch(`/customers/${customer.id}`, { name: String(form.get("name")).trim(), limits }),
      t("cust.saved"),
    );
  };
  return (
    <Card title={t("cust.terms")} lead={t("cust.termsLead")}>
      <form onSubmit={submit} key={JSON.stringify([customer.name, customer.limits])}>
        <div class="in stack">
          <Field id="c-name" name="name" label={t("cust.name")} value={customer.name} required />
          <div class="cols three">
            {LIMITS.map((name) => (
              <Field
                key={name}
                id={`l-${name}`}
                name={name}
                type="number"
                min={0}
                max={10000}
                label={t(`limit.${name}`)}
                value={customer.limits[name]}
                required
              />
            ))}
          </div>
          <Toggle
            checked={customer.requireMfa}
            label={t("acct.requireMfa")}
            onChange={(requireMfa) =>
              act(() => api.patch(`/customers/${customer.id}`, { requireMfa }), t("cust.saved"))
            }
          />
          {customer.oidc.only && (
            <Toggle
              checked
              label={t("cust.oidcOnly", { issuer: customer.oidc.issuer })}
              onChange={(oidcOnly) => act(() => api.patch(`/customers/${customer.id}`, { oidcOnly }), t("cust.saved"))}
            />
          )}
        </div>
        <footer class="foot">
          <button class="btn main push">{t("cust.save")}</button>
        </footer>
      </form>
    </Card>
  );
}

export function Danger({ customer, reload }: { customer: CustomerDetail; reload: () => void }) {
  const act = useAction(reload);
  const [suspending, setSuspending] = useState(false);
  const [deleting, setDeleting] = useState(false);
  const enforcing = customer.siteList.filter(({ mode }) => mode === "enforce").map(({ name }) => name);
  const why = customer.protected
    ? t("cust.protectedWhy")
    : customer.status === "suspended"
      ? t("cust.suspendedWhy")
      : enforcing.length
        ? t("acct.enforcing", { sites: enforcing.join(", ") })
        : "";
  return (
    <section class="card danger" aria-label={t("acct.danger")}>
      <header>
        <h2>{t("acct.danger")}</h2>
      </header>
      {customer.status === "active" ? (
        <div>
          <div>
            <h3>{t("cust.suspend")}</h3>
            <p>{t("cust.suspendLead")}</p>
          </div>
          <button
            class="btn bad"
            aria-disabled={customer.protected ? "true" : undefined}
            onClick={() => !customer.protected && setSuspending(true)}
          >
            {t("cust.suspendDo")}
          </button>
        </div>
      ) : (
        <div>
          <div>
            <h3>{t("cust.reactivate")}</h3>
            <p>{t("cust.reactivateLead")}</p>
          </div>
          <button
            class="btn"
            onClick={() =>
              act(
                () => api.post(`/customers/${customer.id}/reactivate`),
                t("cust.reactivated", { name: customer.name }),
              )
            }
          >
            {t("cust.reactivate")}
          </button>
        </div>
      )}
      {customer.status !== "deleted" && (
        <div>
          <div>
            <h3>{t("cust.delete")}</h3>
            <p>{why || t("acct.deleteLead")}</p>
          </div>
          <button class="btn bad" aria-disabled={why ? "true" : undefined} onClick={() => !why && setDeleting(true)}>
            {t("acct.deleteDo")}
          </button>
        </div>
      )}
      <FormDialog
        open={suspending}
        title={t("cust.suspendTitle", { name: customer.name })}
        lead={t("cust.suspendLead")}
        action={t("cust.suspend")}
        bad
        onClose={() => setSuspending(false)}
        onSubmit={async (form) => {
          await api.post(`/customers/${customer.id}/suspend`, { reason: String(form.get("reason")) });
          toast(t("cust.suspended", { name: customer.name }));
          setSuspending(false);
          reload();
        }}
      >
        <Field
          id="reason"
          name="reason"
          label={t("usr.reason")}
          help={t("cust.reasonHelp")}
          required
          autofocus
          maxlength={500}
        />
      </FormDialog>
      <Confirm
        open={deleting}
        title={t("cust.deleteTitle", { name: customer.name })}
        word={customer.name}
        action={t("cust.delete")}
        onClose={() => setDeleting(false)}
        onConfirm={() => {
          setDeleting(false);
          act(
            () => api.delete(`/customers/${customer.id}`, { confirm: customer.name }),
            t("cust.deleted", { name: customer.name }),
          );
        }}
      >
        {t("cust.deleteNumbers", {
          sites: customer.siteList.length,
          members: customer.memberList.length,
          tokens: customer.usage.tokens,
        })}
      </Confirm>
    </section>
  );
}
