/** Suggestions: refused programs in groups, and one click that opens the path to exactly that sender. */

import { useState } from "preact/hooks";
import { api } from "../api/client";
import { may } from "../api/session";
import type { Suggestion, SuggestionList } from "../api/types.gen";
import { count } from "../lib/format";
import { useQuery } from "../lib/query";
import { t } from "../lib/words";
import { siteHref } from "../ui/layout";
import { Card, Failure, Field, Time } from "../ui/parts";
import { toast, toastError } from "../ui/toasts";

const TOP = 10;

const nameOf = (item: Suggestion) => item.sender ?? item.program ?? t("suggestions.unnamed");

function Row({ item, siteKey, reload }: { item: Suggestion; siteKey: string; reload: () => void }) {
  const [note, setNote] = useState("");
  const [path, setPath] = useState("");
  const accepted = item.acceptedAt !== undefined;
  const masked = !item.opens && /[#*]|\.\.\.$/.test(item.path);
  const ready = may("sites:write") && (item.opens !== undefined || (masked && path !== ""));
  const withdraw = () =>
    api
      .delete(`/sites/${siteKey}/suggestions/${item.id}/accept`)
      .then(() => (toast(t("suggestions.closed", { path: item.path })), reload()))
      .catch(toastError);
  const accept = () => {
    if (!ready) return;
    api
      .post(`/sites/${siteKey}/suggestions/${item.id}/accept`, { note, ...(masked && { path }) })
      .then(
        () => (
          toast(t("suggestions.opened", { path: path || item.path, name: nameOf(item) }), () => void withdraw()),
          reload()
        ),
      )
      .catch(toastError);
  };
  return (
    <li class="stack tight">
      <span class="row apart">
        <span class="row">
          <b>{nameOf(item)}</b>
          <code>
            {item.method} {item.path}
          </code>
          <span class="tag" data-o={item.proven ? "allow" : "challenge"}>
            {t(item.proven ? "suggestions.proven" : "suggestions.unproven")}
          </span>
        </span>
        {accepted ? (
          <button
            class="btn"
            aria-disabled={may("sites:write") ? undefined : "true"}
            onClick={() => may("sites:write") && void withdraw()}
          >
            {t("suggestions.withdraw")}
          </button>
        ) : (
          <button class="btn main" aria-disabled={ready ? undefined : "true"} onClick={accept}>
            {t("suggestions.open", { name: nameOf(item) })}
          </button>
        )}
      </span>
      <span class="s soft">
        {t("suggestions.counts", {
          requests: count(item.requests),
          perDay: count(item.perDay),
          networks: item.networks,
        })}{" "}
        <Time at={item.lastAt} />
        {item.owner && ` · ${item.owner}`}
      </span>
      {accepted ? (
        <span class="s soft">{t("suggestions.by", { name: item.acceptedBy ?? "" })}</span>
      ) : (
        <>
          <span class="s soft">
            {item.problem ??
              t(item.proven ? "suggestions.opensProven" : "suggestions.opensBudget", { n: item.opens?.perMinute ?? 0 })}
          </span>
          {may("sites:write") && (item.opens || masked) && (
            <span class="row">
              {masked && <Field id={`${item.id}-path`} label={t("suggestions.path")} value={path} onText={setPath} />}
              <Field id={`${item.id}-note`} label={t("lists.note")} value={note} maxLength={200} onText={setNote} />
            </span>
          )}
        </>
      )}
    </li>
  );
}

/** What shows the sender: suggestions with the same evidence can be opened together. */
const evidence = (item: Suggestion) => (item.proven ? "proven" : item.sender ? "signed" : "named");

/** One button for each kind of evidence: it opens exactly the listed suggestions that need no more. */
function OpenTogether({ items, siteKey, reload }: { items: Suggestion[]; siteKey: string; reload: () => void }) {
  const ready = items.filter((item) => item.opens && !item.acceptedAt);
  const kinds = [...new Set(ready.map(evidence))].map((kind) => ready.filter((item) => evidence(item) === kind));
  const open = (kind: Suggestion[]) => {
    const [first, ...also] = kind.map((item) => item.id);
    api
      .post(`/sites/${siteKey}/suggestions/${first ?? ""}/accept`, { also })
      .then(() => (toast(t("suggestions.openedTogether", { n: kind.length })), reload()))
      .catch(toastError);
  };
  return (
    <>
      {kinds
        .filter((kind) => kind.length > 1)
        .map((kind) => (
          <button class="btn" key={evidence(kind[0] as Suggestion)} onClick={() => open(kind)}>
            {t(`suggestions.together.${evidence(kind[0] as Suggestion)}`, { n: kind.length })}
          </button>
        ))}
    </>
  );
}

/** The suggestions of a site; nothing while it has none. */
export function Suggestions({ siteKey, enforces }: { siteKey: string; enforces: boolean }) {
  const [all, setAll] = useState(false);
  const found = useQuery<SuggestionList>(siteKey, (signal) => api.get(`/sites/${siteKey}/suggestions`, {}, signal));
  if (found.error && !found.data) {
    return (
      <div class="card">
        <Failure error={found.error} retry={found.reload} />
      </div>
    );
  }
  const items = found.data?.items ?? [];
  if (items.length === 0) return null;
  const listed = items.slice(0, all ? undefined : TOP);
  return (
    <Card
      title={t(enforces ? "suggestions.refused" : "suggestions.wouldRefuse")}
      lead={t("suggestions.lead")}
      side={
        <a class="s" href={siteHref(siteKey, "settings")}>
          {t("settings.openPaths")}
        </a>
      }
      footer={
        <span class="row">
          {may("sites:write") && <OpenTogether items={listed} siteKey={siteKey} reload={found.reload} />}
          {items.length > TOP && (
            <button class="btn quiet" onClick={() => setAll(!all)}>
              {t(all ? "suggestions.top" : "suggestions.all", { n: items.length })}
            </button>
          )}
        </span>
      }
    >
      <ul class="in stack">
        {listed.map((item) => (
          <Row key={item.id} item={item} siteKey={siteKey} reload={found.reload} />
        ))}
      </ul>
    </Card>
  );
}
