/** Tests an installation from the page: the doctor's checks, run by the service, until the first decision arrives. */

import { useState } from "preact/hooks";
import { api, type ApiError } from "../api/client";
import { may } from "../api/session";
import type { SiteDetail, SiteTest } from "../api/types.gen";
import { useEvery } from "../lib/query";
import { t } from "../lib/words";
import { Icon } from "../ui/icons";
import { announce, toast, toastError } from "../ui/toasts";

/** Below the limit of six tests a minute. */
const AGAIN_MS = 15_000;
const TONES = { pass: "allow", warn: "challenge", fail: "block", skip: "info" } as const;
type State = keyof typeof TONES;

/** Feeds that the front page links and enforce mode would challenge: one press declares exactly these. */
function Feeds({ feeds, site, onDone }: { feeds: string[]; site: SiteDetail; onDone: () => void }) {
  const declare = (wanted: string[], undo?: () => void) =>
    api
      .patch<SiteDetail>(`/sites/${site.siteKey}`, { feeds: wanted })
      .then(() => (toast(t(undo ? "test.feedsDeclared" : "test.feedsRestored"), undo), onDone()))
      .catch(toastError);
  const before = site.feeds ?? [];
  return (
    <li class="stack tight" data-part="feeds">
      <span class="row">
        <span class="tag" data-o="challenge">
          {t("test.warn")}
        </span>
        <code>feeds</code>
        <span class="grow">
          {t("test.feeds")}
          {feeds.map((feed) => [" ", <code key={feed}>{feed}</code>])}
        </span>
        <button class="btn" onClick={() => void declare(feeds, () => void declare(before))}>
          {t("test.declareFeeds")}
        </button>
      </span>
      <span class="s soft">{t("test.feedsHelp")}</span>
    </li>
  );
}

export function InstallTest({ site, live, onDone }: { site: SiteDetail; live: boolean; onDone: () => void }) {
  const [origin, setOrigin] = useState(site.allowedOrigins[0] ?? "");
  const [result, setResult] = useState<SiteTest>();
  const [error, setError] = useState<ApiError>();
  const [busy, setBusy] = useState(false);
  const [all, setAll] = useState(false);
  const run = () => {
    if (busy || !may("sites:write")) return;
    setBusy(true);
    api
      .post<SiteTest>(`/sites/${site.siteKey}/test`, { origin })
      .then((found) => {
        setResult(found);
        setError(undefined);
        announce(summary(found));
        onDone();
      })
      .catch(setError)
      .finally(() => setBusy(false));
  };
  useEvery(result && !live ? AGAIN_MS : null, run);
  const items = result?.items ?? [];
  const declared = site.feeds ?? [];
  const feeds = result?.feeds ?? [];
  const offered = feeds.every((feed) => declared.includes(feed)) ? [] : feeds;
  const notable = items.filter((item) => item.state === "fail" || item.state === "warn");
  if (site.allowedOrigins.length === 0) return <p class="s soft">{t("test.noOrigin")}</p>;
  return (
    <div class="card" data-part="test">
      <div class="in row">
        {site.allowedOrigins.length > 1 && (
          <select
            aria-label={t("test.origin")}
            value={origin}
            onChange={(event) => setOrigin((event.currentTarget as HTMLSelectElement).value)}
          >
            {site.allowedOrigins.map((each) => (
              <option key={each}>{each}</option>
            ))}
          </select>
        )}
        <button
          class="btn main"
          onClick={run}
          aria-busy={busy}
          aria-disabled={busy || !may("sites:write") ? "true" : undefined}
        >
          <Icon name="check" />
          {t(busy ? "test.running" : "test.run", { origin })}
        </button>
        <span class="s soft grow">{error ? error.message : result ? summary(result) : t("test.help")}</span>
      </div>
      {items.length > 0 && (
        <ul class="in stack">
          {offered.length > 0 && may("sites:write") && <Feeds feeds={offered} site={site} onDone={onDone} />}
          {(all ? items : notable.length > 0 ? notable : items.slice(0, 1)).map((item) => (
            <li key={item.check} class="stack tight">
              <span class="row">
                <span class="tag" data-o={TONES[item.state as State]}>
                  {t(`test.${item.state}`)}
                </span>
                <code>{item.check}</code>
                <span class="grow">{item.found}</span>
              </span>
              {item.fix && <span class="s soft">{item.fix}</span>}
            </li>
          ))}
          <li>
            <button class="btn quiet" onClick={() => setAll(!all)}>
              {t(all ? "test.less" : "test.all", { n: items.length })}
            </button>
          </li>
        </ul>
      )}
    </div>
  );
}

function summary({ items }: SiteTest): string {
  const count = (state: State) => items.filter((item) => item.state === state).length;
  return t("test.summary", { passed: count("pass"), warned: count("warn"), failed: count("fail") });
}
