/** A new site: its name and its address. Everything else has a good start and can be changed. */

import { useState } from "preact/hooks";
import { useLocation } from "preact-iso";
import { api, messageOf } from "../api/client";
import { loadSites, may } from "../api/session";
import type { OwnSiteInput, SiteDetail } from "../api/types.gen";
import { useDraft } from "../lib/drafts";
import { t } from "../lib/words";
import { Icon } from "../ui/icons";
import { siteHref } from "../ui/layout";
import { Field, Head } from "../ui/parts";

/** An origin out of whatever was typed: `shop.example.com/cart` means https://shop.example.com. */
export function originOf(typed: string): string | null {
  const text = typed.trim();
  if (!text) return null;
  try {
    const url = new URL(/^https?:\/\//.test(text) ? text : `https://${text}`);
    return url.hostname.includes(".") || url.hostname === "localhost" || url.hostname.startsWith("[")
      ? url.origin
      : null;
  } catch {
    return null;
  }
}

export default function NewSite() {
  const { route } = useLocation();
  const [name, setName, dropName] = useDraft("site.name", "");
  const [typed, setTyped, dropTyped] = useDraft("site.origin", "");
  const [problem, setProblem] = useState<{ name?: string; origin?: string; whole?: string }>({});
  const [busy, setBusy] = useState(false);
  const origin = originOf(typed);
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    if (!name.trim()) {
      setProblem({ name: t("newSite.nameMissing") });
      document.getElementById("name")?.focus();
      return;
    }
    if (typed.trim() && !origin) {
      setProblem({ origin: t("newSite.originWrong") });
      document.getElementById("origin")?.focus();
      return;
    }
    setBusy(true);
    try {
      const input: OwnSiteInput = { name: name.trim(), ...(origin ? { allowedOrigins: [origin] } : {}) };
      const site = await api.post<SiteDetail>("/sites", input);
      await loadSites();
      dropName();
      dropTyped();
      route(siteHref(site.siteKey, "install"));
    } catch (failure) {
      setProblem({ whole: messageOf(failure) });
      setBusy(false);
    }
  };
  return (
    <>
      <Head title={t("newSite.title")}>{t("newSite.lead")}</Head>
      <section class="card">
        <form class="in stack" onSubmit={(event) => void submit(event)} noValidate>
          {problem.whole && (
            <div class="note" data-o="block" role="alert">
              <Icon name="alert" />
              <div>
                <p>{problem.whole}</p>
              </div>
            </div>
          )}
          <Field
            id="name"
            label={t("newSite.name")}
            help={t("newSite.nameHelp")}
            error={problem.name}
            value={name}
            autocomplete="off"
            autofocus
            maxlength={100}
            onText={setName}
          />
          <Field
            id="origin"
            label={t("newSite.origin")}
            help={origin && origin !== typed.trim() ? t("newSite.originMeans", { origin }) : t("newSite.originHelp")}
            error={problem.origin}
            value={typed}
            autocomplete="off"
            inputmode="url"
            onText={setTyped}
          />
          <div class="row">
            <button class="btn main" aria-busy={busy} aria-disabled={may("sites:write") ? undefined : "true"}>
              {t("newSite.do")}
            </button>
            <span class="faint s">{t(may("sites:write") ? "newSite.monitor" : "newSite.notAllowed")}</span>
          </div>
        </form>
      </section>
    </>
  );
}
