/** Whom a site lets in or keeps out by name, before any rule. */

import { useState } from "preact/hooks";
import { useRoute } from "preact-iso";
import { api } from "../api/client";
import { may } from "../api/session";
import type { ListEntries, ListEntry, ListOutcome } from "../api/types.gen";
import { useKeys } from "../lib/keys";
import { useParams } from "../lib/params";
import { useQuery } from "../lib/query";
import { t } from "../lib/words";
import { Icon } from "../ui/icons";
import { Card, Empty, Head, OutcomeBadge, Segments, Time } from "../ui/parts";
import { DataTable } from "../ui/table";
import { toast, toastError } from "../ui/toasts";
import { EntryEdit } from "./entry-edit";
import { EntryForm } from "./entry-form";
import { NetworkListsCard } from "./network-lists";

const SHOWN = ["all", "allow", "block"] as const;

export default function Lists() {
  const { params: path } = useRoute();
  const siteKey = path["siteKey"] ?? "";
  const [params, set] = useParams();
  const shown = (SHOWN.includes(params["shown"] as "all") ? params["shown"] : "all") as (typeof SHOWN)[number];
  const adding = params["add"] === "1";
  const page = useQuery<ListEntries>(siteKey, (signal) => api.get(`/sites/${siteKey}/list-entries`, {}, signal));
  const [gone, setGone] = useState<string[]>([]);
  const [editing, setEditing] = useState<ListEntry>();
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
          entry.expired
            ? undefined
            : () =>
                void api
                  .post(`/sites/${siteKey}/list-entries`, { kind, value, outcome, note, expiresAt })
                  .then(page.reload)
                  .catch(toastError),
        ),
      )
      .catch((failure: unknown) => {
        setGone((before) => before.filter((id) => id !== entry.id));
        toastError(failure);
      });
  };
  const letIn = alive.filter(({ outcome }) => outcome === "allow").length;
  return (
    <>
      <Head
        title={t("page.lists")}
        actions={
          <button class="btn main" onClick={() => show(!adding)} aria-expanded={adding}>
            <Icon name="plus" />
            {t("lists.new")} <kbd>N</kbd>
          </button>
        }
      >
        {page.data && alive.length > 0
          ? t("lists.lead", { letIn, keptOut: alive.length - letIn })
          : t("lists.leadNone")}
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
        <Segments
          label={t("lists.shown")}
          value={shown}
          onChange={(next) => set({ shown: next === "all" ? undefined : next })}
          options={SHOWN.map((each) => ({ value: each, label: t(`lists.shown.${each}`) }))}
        />
      </div>
      {editing && (
        <EntryEdit siteKey={siteKey} entry={editing} onClose={() => setEditing(undefined)} onDone={page.reload} />
      )}
      <DataTable
        title={t("page.lists")}
        loaded={page}
        rows={rows}
        rowKey={(row) => row.id}
        rowClass={(row) => (row.expired ? "faint" : undefined)}
        csv={`${siteKey}-lists`}
        empty={
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
        }
        columns={[
          {
            id: "value",
            label: t("lists.who"),
            class: "cut",
            cell: (row) => <code>{row.value}</code>,
            csv: (row) => row.value,
          },
          {
            id: "kind",
            label: t("lists.kind"),
            class: "opt",
            cell: (row) => t(`lists.kind.${row.kind}`),
            csv: (row) => row.kind,
          },
          {
            id: "outcome",
            label: t("lists.outcome"),
            cell: (row) => <OutcomeBadge outcome={row.outcome} would={row.expired} />,
            csv: (row) => row.outcome,
          },
          {
            id: "note",
            label: t("lists.note"),
            class: "opt2",
            cell: (row) => row.note || <span class="faint">–</span>,
            csv: (row) => row.note,
          },
          {
            id: "createdBy",
            label: t("lists.by"),
            class: "opt2",
            cell: (row) => row.createdBy,
            csv: (row) => row.createdBy,
          },
          {
            id: "expiresAt",
            label: t("lists.until"),
            class: "nw",
            cell: (row) =>
              row.expired ? t("lists.over") : row.expiresAt ? <Time at={row.expiresAt} /> : t("lists.term.0"),
            csv: (row) => row.expiresAt,
          },
          {
            id: "remove",
            label: <span class="vh">{t("lists.actions")}</span>,
            class: "n",
            cell: (row) =>
              may("sites:write") && (
                <span class="row end">
                  {!row.expired && (
                    <button
                      class="btn quiet"
                      aria-label={t("lists.edit", { value: row.value })}
                      onClick={() => setEditing(row)}
                    >
                      {t("lists.editDo")}
                    </button>
                  )}
                  <button
                    class="btn sq quiet"
                    aria-label={t("lists.remove", { value: row.value })}
                    onClick={() => remove(row)}
                  >
                    <Icon name="x" />
                  </button>
                </span>
              ),
          },
        ]}
      />
      <NetworkListsCard siteKey={siteKey} />
    </>
  );
}
