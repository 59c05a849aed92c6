/** The identity provider with which members sign in: chosen by an owner among those of the operator. */

import { api } from "../../api/client";
import { may } from "../../api/session";
import type { OwnAccount } from "../../api/types.gen";
import { t } from "../../lib/words";
import { Select, useSubmit } from "../../ui/forms";
import { Card, Field, Note } from "../../ui/parts";
import { toast } from "../../ui/toasts";

const ROLES = ["readonly", "member", "admin"] as const;

export function Oidc({ own, reload }: { own: OwnAccount; reload: () => void }) {
  const owner = may("account:delete");
  const { problem, submit } = useSubmit(async (form) => {
    const issuer = String(form.get("issuer"));
    const group = String(form.get("group")).trim();
    const only = form.get("only") === "on";
    await api.patch("/account", { oidc: { issuer, group, role: form.get("role"), only } });
    toast(t("oidc.saved"));
    reload();
  });
  return (
    <Card title={t("oidc.title")} lead={t("oidc.lead")}>
      <form onSubmit={submit}>
        <fieldset class="in stack plain" disabled={!owner}>
          <Select
            id="issuer"
            label={t("oidc.issuer")}
            value={own.oidc.issuer}
            options={["", ...own.oidcIssuers].map((name) => ({ value: name, label: name || t("oidc.none") }))}
          />
          <div class="cols">
            <Field id="group" name="group" label={t("oidc.group")} help={t("oidc.groupHelp")} value={own.oidc.group} />
            <Select
              id="role"
              label={t("oidc.role")}
              value={own.oidc.role}
              options={ROLES.map((role) => ({ value: role, label: t(`role.${role}`) }))}
            />
          </div>
          <label class="toggle">
            <input type="checkbox" role="switch" name="only" checked={own.oidc.only} />
            <span>{t("oidc.only")}</span>
          </label>
          <p class="help">{t("oidc.onlyHelp")}</p>
          {problem && <Note tone="block">{problem}</Note>}
        </fieldset>
        {owner && (
          <footer class="foot">
            <button class="btn main push">{t("oidc.save")}</button>
          </footer>
        )}
      </form>
    </Card>
  );
}
