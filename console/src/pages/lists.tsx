/** Whom a site lets in or keeps out by name, before any rule. */

import { useState } from "preact/hooks";
import { useRoute } from "preact-iso";
import { api } from "../api/client";
import { may } from "../api/session";
import type { ListEntries, ListEntry, ListOutcome } from "../api/types.gen";
import { csvText, save } from "../lib/csv";
import { useKeys } from "../lib/keys";
import { useParams } from "../lib/params";
import { useQuery } from "../lib/query";
import { t } from "../lib/words";
import { Icon } from "../ui/icons";
import { Card, Empty, Failure, Head, OutcomeBadge, Segments, SkeletonRows, Time } from "../ui/parts";
import { toast, toastError } from "../ui/toasts";
import { EntryForm } from "./entry-form";

const SHOWN = ["all", "allow", "block"] as const;

function Row({ entry, onRemove }: { entry: ListEntry; onRemove: () => void }) {
  return (
    <tr class={entry.expired ? "faint" : undefined}>
      <td class="cut">
        <code>{entry.value}</code>
      </td>
      <td class="opt">{t(`lists.kind.${entry.kind}`)}</td>
      <td>
        <OutcomeBadge outcome={entry.outcome} would={entry.expired} />
      </td>
      <td class="opt2">{entry.note || <span class="faint">–</span>}</td>
      <td class="opt2">{entry.createdBy}</td>
      <td class="nw">{entry.expired ? t("lists.over") : entry.expiresAt ? <Time at={entry.expiresAt} /> : t("lists.term.0")}</td>
      <td class="n">
        {may("sites:write") && (
          <button class="btn sq quiet" aria-label={t("lists.remove", { value: entry.value })} onClick={onRemove}>
            <Icon name="x" />
          </button>
        )}
      </td>
    </tr>
  );
}

export default function Lists() {
  const { params: path } = useRoute();
  const siteKey = path["siteKey"] ?? "";
  const [params, set] = useParams();
  const shown = (SHOWN.includes(params["shown"] as "all") ? params["shown"] : "all") as (typeof SHOWN)[number];
  const adding = params["add"] === "1";
  const page = useQuery<ListEntries>(siteKey, (signal) => api.get(`/sites/${siteKey}/list-entries`, {}, signal));
  const [gone, setGone] = useState<string[]>([]);
  const all = (page.data?.items ?? []).filter(({ id }) => !gone.includes(id));
  const rows = all.filter(({ outcome }) => shown === "all" || outcome === shown);
  const alive = all.filter(({ expired }) => !expired);
  const show = (open: boolean) => set({ add: open ? "1" : undefined }, true);
  useKeys([
    { key: "n", help: t("lists.new"), run: () => show(true) },
    { key: "Escape", run: () => adding && show(false) },
  ]);
  const remove = (entry: ListEntry) => {
    setGone([...gone, entry.id]);
    const { kind, value, outcome, note, expiresAt } = entry;
    api
      .delete(`/sites/${siteKey}/list-entries/${entry.id}`)
      .then(() =>
        toast(
          t("lists.removed", { value }),
          entry.expired ? undefined : () => void api.post(`/sites/${siteKey}/list-entries`, { kind, value, outcome, note, expiresAt }).then(page.reload).catch(toastError),
        ),
      )
      .catch((failure: unknown) => {
        setGone((before) => before.filter((id) => id !== entry.id));
        toastError(failure);
      });
  };
  const download = () =>
    save(`${siteKey}-lists.csv`, csvText(["kind", "value", "outcome", "note", "createdAt", "createdBy", "expiresAt"], rows.map((row) => [row.kind, row.value, row.outcome, row.note, row.createdAt, row.createdBy, row.expiresAt])));
  const letIn = alive.filter(({ outcome }) => outcome === "allow").length;
  return (
    <>
      <Head
        title={t("page.lists")}
        actions={
          <>
            <button class="btn" onClick={download}>
              <Icon name="get" />
              CSV
            </button>
            <button class="btn main" onClick={() => show(!adding)} aria-expanded={adding}>
              <Icon name="plus" />
              {t("lists.new")} <kbd>N</kbd>
            </button>
          </>
        }
      >
        {page.data && alive.length > 0 ? t("lists.lead", { letIn, keptOut: alive.length - letIn }) : t("lists.leadNone")}
      </Head>
      {adding && (
        <Card title={t("lists.new")} lead={t("lists.newLead")}>
          <div class="in">
            <EntryForm
              siteKey={siteKey}
              name={`lists:${siteKey}`}
              kinds={["address", "network", "visitor", "program", "agent"]}
              outcomes={["allow", "block"] as ListOutcome[]}
              onDone={() => {
                show(false);
                page.reload();
              }}
            />
          </div>
        </Card>
      )}
      <div class="filters">
        <Segments label={t("lists.shown")} value={shown} onChange={(next) => set({ shown: next === "all" ? undefined : next })} options={SHOWN.map((each) => ({ value: each, label: t(`lists.shown.${each}`) }))} />
      </div>
      <section class="card" aria-label={t("page.lists")} aria-busy={page.loading}>
        {page.error && !page.data ? (
          <Failure error={page.error} retry={page.reload} />
        ) : page.data && rows.length === 0 ? (
          <Empty
            icon={all.length ? "filter" : "door"}
            title={t(all.length ? "lists.noneShown" : "lists.none")}
            actions={
              <button class="btn" onClick={() => (all.length ? set({ shown: undefined }) : show(true))}>
                {t(all.length ? "decisions.clear" : "lists.new")}
              </button>
            }
          >
            {t(all.length ? "lists.noneShownWhy" : "lists.noneWhy")}
          </Empty>
        ) : (
          <div class="scroll" tabIndex={0} role="region" aria-label={t("page.lists")}>
            <table class="tbl">
              <caption class="vh">{t("page.lists")}</caption>
              <thead>
                <tr>
                  <th scope="col">{t("lists.who")}</th>
                  <th scope="col" class="opt">{t("lists.kind")}</th>
                  <th scope="col">{t("lists.outcome")}</th>
                  <th scope="col" class="opt2">{t("lists.note")}</th>
                  <th scope="col" class="opt2">{t("lists.by")}</th>
                  <th scope="col">{t("lists.until")}</th>
                  <th scope="col">
                    <span class="vh">{t("lists.actions")}</span>
                  </th>
                </tr>
              </thead>
              <tbody>{page.data ? rows.map((row) => <Row key={row.id} entry={row} onRemove={() => remove(row)} />) : <SkeletonRows rows={6} columns={7} />}</tbody>
            </table>
          </div>
        )}
      </section>
    </>
  );
}
