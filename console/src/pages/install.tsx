/** From nothing to the first decision, and from evidence to enforce: four steps on one page, all visible. */

import { useState } from "preact/hooks";
import { useRoute } from "preact-iso";
import { api, isOperator } from "../api/client";
import { loadSites, may } from "../api/session";
import type { CredentialSecret, InstallationSettings, InstallStatus, Metrics, SiteDetail } from "../api/types.gen";
import { useParams } from "../lib/params";
import { useEvery, useQuery } from "../lib/query";
import { ENOUGH } from "../lib/outcomes";
import { t } from "../lib/words";
import { Confirm } from "../ui/dialogs";
import { Icon } from "../ui/icons";
import { siteHref } from "../ui/layout";
import { Code, CopyButton, Failure, Head, Time } from "../ui/parts";
import { announce, toast, toastError } from "../ui/toasts";
import { Evidence, partsOf } from "./evidence";
import { NO_ANSWERS, ProxyFile } from "./install-proxy";
import { PresetChoice } from "./install-preset";
import { InstallTest } from "./install-test";
import { GROUPS, NAMES, proxyOf, snippets } from "./snippets";
import { Suggestions } from "./suggestions";
import { UnavailableLine } from "./unavailable";

const WAIT_MS = 2000;

function Stacks({ stack, onChoose }: { stack: string; onChoose: (stack: string) => void }) {
  return (
    <fieldset class="choose">
      <legend class="vh">{t("install.stack")}</legend>
      {GROUPS.map(([group, stacks]) => [
        <span class="s faint" key={group}>
          {t(`install.${group}`)}
        </span>,
        <div class="options" key={`${group}-options`}>
          {stacks.map((each) => (
            <label key={each}>
              <input type="radio" name="stack" checked={each === stack} onChange={() => onChoose(each)} />
              {NAMES[each]}
            </label>
          ))}
        </div>,
      ])}
    </fieldset>
  );
}

/** The secret is shown once. Until it is kept, leaving the page asks first. */
function Secret({ site, secret, onMade }: { site: SiteDetail; secret: string; onMade: (secret: string) => void }) {
  const [busy, setBusy] = useState(false);
  const make = () => {
    setBusy(true);
    api
      .post<CredentialSecret>(`/sites/${site.siteKey}/credentials`, { name: t("install.secretName") })
      .then(({ secret: made }) => onMade(made))
      .catch(toastError)
      .finally(() => setBusy(false));
  };
  if (secret) {
    return (
      <div class="stack tight">
        <div class="secret">
          <code>GATE_SECRET={secret}</code>
          <CopyButton text={`GATE_SECRET=${secret}`} />
        </div>
        <p class="xs faint">{t("install.once")}</p>
      </div>
    );
  }
  return (
    <div class="row">
      <button class="btn main" onClick={make} aria-busy={busy} aria-disabled={may("sites:write") ? undefined : "true"}>
        <Icon name="key" />
        {t(site.credentials.active ? "install.another" : "install.make")}
      </button>
      <span class="s faint">{t("install.has", { n: site.credentials.active })}</span>
    </div>
  );
}

/**
 * Where the site's pages and servers reach the service. Operators are on the other listener, and ask for its address.
 */
function useGate(): string {
  const settings = useQuery<InstallationSettings>(isOperator ? "gate" : null, (signal) =>
    api.get("/settings", {}, signal),
  );
  if (!isOperator) return location.origin;
  const set = (name: string) => settings.data?.items.find((each) => each.name === name)?.value;
  return set("PUBLIC_BASE_URL") || `http://${set("AGENTGATE_PUBLIC_LISTEN") ?? "…"}`;
}

function Snippets({ stack, site }: { stack: string; site: SiteDetail }) {
  const action = Object.keys(site.actions)[0] ?? "submit";
  return (
    <div class="cols">
      {snippets(stack, { gate: useGate(), siteKey: site.siteKey, action }).map((file) => (
        <Code key={file.name} {...file} />
      ))}
    </div>
  );
}

function Waiting({ site, status }: { site: SiteDetail; status: InstallStatus | undefined }) {
  const live = status?.status === "live";
  const used = site.credentialList
    .map(({ lastUsedAt }) => lastUsedAt)
    .filter(Boolean)
    .sort()
    .at(-1);
  const origin = site.allowedOrigins[0];
  return (
    <div class="card wait">
      <div class="in row">
        <span class={live ? "dot big" : "dot live big"} data-o={live ? "allow" : "info"} />
        <div class="grow" role="status">
          <p class="b">{t(live ? "install.live" : "install.waiting")}</p>
          <p class="s soft">
            {live && status.firstSeenAt ? (
              <>
                {t("install.liveSince")} <Time at={status.firstSeenAt} />
              </>
            ) : (
              t("install.waitingHow", { origin: origin ?? t("install.yourSite") })
            )}
          </p>
        </div>
        {live && (
          <a class="btn" href={siteHref(site.siteKey, "decisions")}>
            {t("install.see")}
          </a>
        )}
      </div>
      <footer>
        <Check done label={t("install.reachable")} />
        <Check done={site.credentials.active > 0} label={t("install.hasSecret")} />
        <Check done={Boolean(used)} label={t(used ? "install.secretUsed" : "install.secretUnused")} />
        <Check done={live} label={t("install.request")} />
      </footer>
    </div>
  );
}

function Check({ done, label }: { done: boolean; label: string }) {
  return (
    <span class={done ? "state" : "state faint"}>
      {done ? <Icon name="check" /> : <span class="dot ring" />}
      {label}
    </span>
  );
}

export default function Install() {
  const { params } = useRoute();
  const siteKey = params["siteKey"] ?? "";
  const [query, set] = useParams();
  const stack = query["stack"] ?? "nginx";
  const proxy = proxyOf(stack);
  const [secret, setSecret] = useState("");
  const [answers, setAnswers] = useState(NO_ANSWERS);
  const site = useQuery<SiteDetail>(siteKey, (signal) => api.get(`/sites/${siteKey}`, {}, signal));
  const status = useQuery<InstallStatus>(siteKey, (signal) => api.get(`/sites/${siteKey}/install`, {}, signal));
  const live = status.data?.status === "live";
  const metrics = useQuery<Metrics>(live ? siteKey : null, (signal) =>
    api.get("/metrics", { siteKey, from: new Date(Date.now() - 86_400_000).toISOString() }, signal),
  );
  useEvery(live ? null : WAIT_MS, () => {
    void api.get<InstallStatus>(`/sites/${siteKey}/install`).then((next) => {
      if (next.status === status.data?.status) return;
      status.set(next);
      site.reload();
      announce(t("install.live"));
    });
  });
  const { data } = site;
  const prompt = () => {
    api
      .text(`/sites/${siteKey}/agent-prompt`)
      .then((text) => navigator.clipboard.writeText(text))
      .then(() => toast(t("install.promptCopied")))
      .catch(toastError);
  };
  const switchTo = (mode: "enforce" | "monitor") => {
    api
      .patch<SiteDetail>(`/sites/${siteKey}`, { mode })
      .then((next) => {
        site.set(next);
        void loadSites();
        toast(t(`install.now.${mode}`), () => switchTo(mode === "enforce" ? "monitor" : "enforce"));
      })
      .catch(toastError);
  };
  const [asking, setAsking] = useState(false);
  const totals = metrics.data?.totals;
  const isFew = (totals?.requests ?? 0) < ENOUGH;
  if (site.error && !data) return <Failure error={site.error} retry={site.reload} />;
  const chosen = Boolean(secret) || (data?.credentials.active ?? 0) > 0;
  return (
    <>
      <Head
        title={t("install.title", { name: data?.name ?? "…" })}
        actions={
          <button class="btn" onClick={prompt}>
            <Icon name="agent" />
            {t("install.prompt")}
          </button>
        }
      >
        {t("install.lead")}
      </Head>
      <Confirm
        open={asking}
        title={t("enforce.title", { name: data?.name ?? "" })}
        action={t("evidence.toEnforce")}
        onClose={() => setAsking(false)}
        onConfirm={() => {
          setAsking(false);
          switchTo("enforce");
        }}
      >
        {totals &&
          t("enforce.lead", {
            n: totals.requests,
            k: partsOf(metrics.data!).reduce((sum, each) => sum + each.count, 0),
            enough: ENOUGH,
          })}
      </Confirm>
      {data && (
        <ol class="stepper">
          <li class="done">
            <h2>{t("install.step1")}</h2>
            <p class="s soft">
              {data.name}{" "}
              {data.allowedOrigins.map((origin) => (
                <code key={origin}> {origin}</code>
              ))}{" "}
              · <code>{data.siteKey}</code>
            </p>
          </li>
          <li class={live || chosen ? "done" : undefined} aria-current={!chosen ? "step" : undefined}>
            <h2>{t("install.step2")}</h2>
            <div class="stack">
              <p class="soft">{t("install.choose")}</p>
              <Stacks stack={stack} onChoose={(next) => set({ stack: next }, true)} />
              {proxy && <PresetChoice site={data} onChange={site.reload} />}
              <h3>{t("install.secret")}</h3>
              <Secret site={data} secret={secret} onMade={(made) => (setSecret(made), site.reload())} />
              <h3>{t("install.put", { stack: NAMES[stack] ?? stack })}</h3>
              {proxy ? (
                <ProxyFile proxy={proxy} site={data} secret={secret} answers={answers} onAnswer={setAnswers} />
              ) : (
                <Snippets stack={stack} site={data} />
              )}
              {data.decoy && (
                <>
                  <h3>{t("install.decoys")}</h3>
                  <p class="s soft">{t(proxy === "nginx" ? "install.decoysNginx" : "install.decoysHelp")}</p>
                  {proxy !== "nginx" && <Code name="HTML" text={data.decoy.html} />}
                  <Code name="robots.txt" text={data.decoy.robotsTxt} />
                </>
              )}
            </div>
          </li>
          <li class={live ? "done" : undefined} aria-current={chosen && !live ? "step" : undefined}>
            <h2>{t("install.step3")}</h2>
            <div class="stack">
              <Waiting site={data} status={status.data} />
              <InstallTest site={data} live={live} onDone={site.reload} />
            </div>
          </li>
          <li aria-current={live ? "step" : undefined} class={data.mode === "enforce" ? "done" : undefined}>
            <h2>{t("install.step4")}</h2>
            {metrics.data && metrics.data.totals.requests > 0 ? (
              <Evidence
                metrics={metrics.data}
                site={data}
                onSwitch={(mode) => (mode === "enforce" && isFew ? setAsking(true) : switchTo(mode))}
              />
            ) : (
              <p class="soft">{t("install.later")}</p>
            )}
            {live && <Suggestions siteKey={siteKey} enforces={data.mode === "enforce"} />}
            {live && proxy && <UnavailableLine site={data} proxy={proxy} />}
          </li>
        </ol>
      )}
    </>
  );
}
