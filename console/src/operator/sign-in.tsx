/** Operators sign in with the key of this installation, under a name that the audit trail will show. */

import { render } from "preact";
import { useState } from "preact/hooks";
import { api, HOME, messageOf } from "../api/client";
import { t } from "../lib/words";
import { Icon, Logo } from "../ui/icons";
import { Field } from "../ui/parts";

function SignIn() {
  const [error, setError] = useState("");
  const [busy, setBusy] = useState(false);
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget as HTMLFormElement);
    setBusy(true);
    try {
      const name = String(form.get("operator")).trim();
      await api.post("/login", { key: String(form.get("key")).trim(), ...(name ? { operator: name } : {}) });
      const next = new URLSearchParams(location.search).get("next") ?? HOME;
      location.assign(next.startsWith(`${HOME}/`) ? next : HOME);
    } catch (failure) {
      setError(messageOf(failure));
      setBusy(false);
    }
  };
  return (
    <main class="plain" id="main">
      <a class="brand" href="/">
        <Logo />
        <span>AgentGate</span>
      </a>
      <section class="card">
        <form class="in stack" onSubmit={(event) => void submit(event)}>
          <div>
            <h1>{t("operator.signIn")}</h1>
            <p class="soft s">{t("operator.signInLead")}</p>
          </div>
          {error && (
            <div class="note" data-o="block" role="alert">
              <Icon name="alert" />
              <div>
                <p>{error}</p>
              </div>
            </div>
          )}
          <Field
            id="key"
            name="key"
            type="password"
            label={t("operator.key")}
            help={t("operator.keyHelp")}
            autocomplete="current-password"
            required
          />
          <Field
            id="operator"
            name="operator"
            label={t("operator.name")}
            help={t("operator.nameHelp")}
            autocomplete="username"
          />
          <button class="btn main big full" aria-busy={busy}>
            {t("operator.go")}
          </button>
        </form>
        <footer>
          <a href={`${HOME}/oidc`}>{t("operator.oidc")}</a>
        </footer>
      </section>
    </main>
  );
}

export function show(): void {
  document.title = `${t("operator.signIn")} · AgentGate`;
  const root = document.getElementById("app")!;
  root.replaceChildren();
  render(<SignIn />, root);
}
