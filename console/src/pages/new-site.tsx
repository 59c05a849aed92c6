/** A new site: its address, and a name if it is not the host. Everything else has a good start and can be changed. */

import { useEffect, useState } from "preact/hooks";
import { useLocation } from "preact-iso";
import { api, HOME, messageOf } from "../api/client";
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
  const { route, query } = useLocation();
  // A new owner comes here. Sites that were created by a command are theirs already.
  useEffect(() => {
    if (query["first"] === undefined) return;
    void loadSites().then(({ items }) => {
      if (items.length > 1) route(`${HOME}/sites`, true);
      else if (items[0]) route(siteHref(items[0].siteKey, "install"), true);
    });
  }, []);
  const [name, setName, dropName] = useDraft("site.name", "");
  const [typed, setTyped, dropTyped] = useDraft("site.origin", "");
  const [problem, setProblem] = useState<{ origin?: string; whole?: string }>({});
  const [busy, setBusy] = useState(false);
  const origin = originOf(typed);
  const host = origin ? new URL(origin).host : "";
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    if (!origin && (typed.trim() || !name.trim())) {
      setProblem({ origin: t("newSite.originWrong") });
      document.getElementById("origin")?.focus();
      return;
    }
    setBusy(true);
    try {
      const input: OwnSiteInput = { name: name.trim() || host, ...(origin ? { allowedOrigins: [origin] } : {}) };
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
            id="origin"
            label={t("newSite.origin")}
            help={origin && origin !== typed.trim() ? t("newSite.originMeans", { origin }) : t("newSite.originHelp")}
            error={problem.origin}
            value={typed}
            autocomplete="off"
            autofocus
            inputmode="url"
            onText={setTyped}
          />
          <Field
            id="name"
            label={t("newSite.name")}
            help={t("newSite.nameHelp")}
            value={name}
            placeholder={host}
            autocomplete="off"
            maxlength={100}
            onText={setName}
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
