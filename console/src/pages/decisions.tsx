/** Decisions, newest first, with the one that is open beside them. Everything that is chosen stands in the address. */

import { useRef, useState } from "preact/hooks";
import { useRoute } from "preact-iso";
import { address, api } from "../api/client";
import type { Decision, DecisionPage } from "../api/types.gen";
import { score } from "../lib/format";
import { useKeys } from "../lib/keys";
import { useParams, type Params } from "../lib/params";
import { useEvery, useQuery } from "../lib/query";
import { worst } from "../lib/outcomes";
import { RANGES, useRange } from "../lib/range";
import { t } from "../lib/words";
import { Icon } from "../ui/icons";
import { Empty, Failure, Head, OutcomeBadge, RouteName, Segments, SkeletonRows, Time } from "../ui/parts";
import { announce } from "../ui/toasts";
import { reasonOf } from "./causes";
import { DecisionDetailPane } from "./decision-detail";

const LIVE_MS = 3000;
const PAGE = 50;
const MOST_ROWS = 1000;
const FILTERS = ["kind", "outcome", "wouldDecision", "rule", "label", "visitor", "action"] as const;
const CHOICES: Partial<Record<(typeof FILTERS)[number], string[]>> = {
  kind: ["request", "challenge"],
  outcome: ["allow", "challenge", "block", "drop"],
  wouldDecision: ["challenge", "block", "drop"],
};
// The longest range that lists have.
const LISTED = RANGES.filter((name) => name !== "91d");

function filtersOf(params: Params): Record<string, string> {
  return Object.fromEntries(FILTERS.flatMap((name) => (params[name] ? [[name, params[name]]] : [])));
}

function Row({ decision, selected, onOpen }: { decision: Decision; selected: boolean; onOpen: () => void }) {
  const { outcome, would } = worst(decision);
  const bot = decision.scores?.["bot"];
  return (
    <tr aria-selected={selected} onClick={onOpen}>
      <td class="nw faint">
        <Time at={decision.time} />
      </td>
      <td>
        <OutcomeBadge outcome={outcome} would={would} />
      </td>
      <td class="cut">
        <a
          href={`?open=${decision.id}`}
          data-id={decision.id}
          onClick={(event) => {
            event.preventDefault();
            event.stopPropagation();
            onOpen();
          }}
        >
          <span class="faint mono opt2">{decision.method} </span>
          <RouteName route={decision.route} />
        </a>
      </td>
      <td class={outcome === "allow" ? "opt cut faint" : "opt cut"}>{reasonOf(decision)}</td>
      <td class="opt2">
        <code class="faint">{decision.visitorId?.slice(0, 8)}</code>
      </td>
      <td class="n num opt">{bot === undefined ? "–" : score(bot)}</td>
    </tr>
  );
}

/** A number, or `name:value`, typed or pasted into one field. */
function Finder({
  onOpen,
  onFilter,
}: {
  onOpen: (id: string) => void;
  onFilter: (name: string, value: string) => void;
}) {
  const [problem, setProblem] = useState("");
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    const form = event.currentTarget as HTMLFormElement;
    const typed = String(new FormData(form).get("find")).trim();
    const [name, ...rest] = typed.split(":");
    setProblem("");
    if (/^dec_[0-9a-z]+$/i.test(typed)) onOpen(typed);
    else if (/^[0-9a-f]{16}$/.test(typed)) onFilter("visitor", typed);
    else if (rest.length && FILTERS.includes(name as "kind")) onFilter(name!, rest.join(":").trim());
    else if (/^[a-z]+\.[a-z0-9_.]+$/.test(typed)) onFilter("label", typed);
    else return setProblem(t("decisions.findWrong"));
    form.reset();
  };
  return (
    <form class="search grow" role="search" onSubmit={submit}>
      <Icon name="search" />
      <input
        type="search"
        name="find"
        id="find"
        aria-label={t("decisions.find")}
        placeholder={t("decisions.find")}
        aria-invalid={problem ? "true" : undefined}
        aria-describedby={problem ? "find-e" : undefined}
      />
      <kbd>/</kbd>
      {problem && (
        <p class="vh" id="find-e" role="alert">
          {problem}
        </p>
      )}
    </form>
  );
}

function FilterMenu({ onFilter }: { onFilter: (name: string, value: string) => void }) {
  return (
    <>
      <button class="chip add" popovertarget="filter-menu" id="add-filter">
        <Icon name="plus" />
        {t("decisions.filter")} <kbd>F</kbd>
      </button>
      <div class="menu" id="filter-menu" popover>
        {Object.entries(CHOICES).flatMap(([name, values]) =>
          values!.map((value) => (
            <button
              key={name + value}
              onClick={(event) => {
                event.currentTarget.closest<HTMLElement>("[popover]")?.hidePopover();
                onFilter(name, value);
              }}
            >
              {t(`filter.${name}`)}
              <span class="tag" data-o={name === "kind" ? undefined : value}>
                {t(name === "kind" ? `kind.${value}` : `outcome.${value}`)}
              </span>
            </button>
          )),
        )}
      </div>
    </>
  );
}

function Chips({ filters, onRemove }: { filters: Record<string, string>; onRemove: (name: string) => void }) {
  return (
    <>
      {Object.entries(filters).map(([name, value]) => (
        <span class="chip" key={name}>
          {t(`filter.${name}`)}
          <b>{value}</b>
          <button
            aria-label={t("decisions.remove", { name: t(`filter.${name}`), value })}
            onClick={() => onRemove(name)}
          >
            <Icon name="x" />
          </button>
        </span>
      ))}
    </>
  );
}

/** What came to a page of decisions since it was read: older ones that were asked for, newer ones that wait. */
interface Beside {
  page: DecisionPage | undefined;
  older: Decision[];
  fresh: Decision[];
  cursor: string | undefined;
}

function openFilterMenu(): void {
  const menu = document.getElementById("filter-menu");
  menu?.showPopover();
  menu?.querySelector("button")?.focus();
}

export default function Decisions() {
  const { params: path } = useRoute();
  const siteKey = path["siteKey"] ?? "";
  const [params, set] = useParams();
  const [range, choose] = useRange("24h");
  const filters = filtersOf(params);
  const live = params["live"] === "on";
  const open = params["open"];
  const moving = range.name !== "custom";
  const list = useRef<HTMLDivElement>(null);
  const [beside, setBeside] = useState<Beside>();
  const [busy, setBusy] = useState(false);
  const key = JSON.stringify([siteKey, range.name, moving ? "" : range.from, moving ? "" : range.to, filters]);
  const query = { siteKey, from: range.from, to: moving ? undefined : range.to, ...filters, limit: PAGE };
  const page = useQuery<DecisionPage>(key, (signal) => api.get("/decisions", query, signal));
  // Derived and not set by an effect, which would draw every row twice.
  const { older, fresh, cursor } =
    beside?.page === page.data && beside ? beside : { older: [], fresh: [], cursor: page.data?.nextCursor };
  const setFresh = (waiting: Decision[]) => setBeside({ page: page.data, older, cursor, fresh: waiting });
  const rows = [...(page.data?.items ?? []), ...older];
  const newest = (fresh[0] ?? rows[0])?.id;

  useEvery(live && moving ? LIVE_MS : null, () => {
    void api.get<DecisionPage>("/decisions", query).then((next) => {
      const at = next.items.findIndex(({ id }) => id === newest);
      const added = at < 0 ? next.items : next.items.slice(0, at);
      if (added.length === 0) return;
      // New rows come in by themselves only where nothing is read or pointed at.
      if ((list.current?.scrollTop ?? 0) < 8 && !list.current?.matches(":hover, :focus-within")) {
        page.set({ ...next, items: [...added, ...fresh, ...(page.data?.items ?? [])].slice(0, MOST_ROWS) });
      } else {
        setFresh([...added, ...fresh].slice(0, MOST_ROWS));
      }
      announce(t("decisions.new", { n: added.length }));
    });
  });

  const more = async () => {
    if (!cursor || busy) return;
    setBusy(true);
    const next = await api.get<DecisionPage>("/decisions", { ...query, cursor }).finally(() => setBusy(false));
    setBeside({ page: page.data, older: [...older, ...next.items], cursor: next.nextCursor, fresh });
  };
  const show = (id: string | undefined) => set({ open: id }, true);
  const filter = (name: string, value: string | undefined) => set({ [name]: value, open: undefined });
  const move = (step: number) => {
    const at = rows.findIndex(({ id }) => id === open);
    const next = rows[Math.min(rows.length - 1, Math.max(0, at + step))];
    if (!next) return;
    show(next.id);
    list.current?.querySelector<HTMLElement>(`[data-id="${next.id}"]`)?.scrollIntoView({ block: "nearest" });
  };
  const close = () => {
    const link = list.current?.querySelector<HTMLElement>(`[data-id="${open}"]`);
    show(undefined);
    link?.focus();
  };
  useKeys([
    { key: "/", help: t("decisions.findKey"), run: () => document.getElementById("find")?.focus() },
    { key: "f", help: t("decisions.filterKey"), run: openFilterMenu },
    { key: "j", help: t("decisions.next"), run: () => move(1) },
    { key: "k", help: t("decisions.previous"), run: () => move(open ? -1 : 0) },
    { key: "l", help: t("decisions.liveKey"), run: () => set({ live: live ? undefined : "on" }, true) },
    { key: "Escape", help: t("decisions.closeKey"), run: () => open && close() },
  ]);
  const names = Object.keys(filters);
  const exported = address("/decisions/export", { ...query, limit: undefined });
  return (
    <>
      <Head
        title={t("page.decisions")}
        actions={
          <>
            <button class="btn" aria-pressed={live} onClick={() => set({ live: live ? undefined : "on" }, true)}>
              <span class={live ? "dot live" : "dot"} data-o={live ? "allow" : undefined} />
              {t("decisions.live")} <kbd>L</kbd>
            </button>
            <a class="btn" href={exported} download={`${siteKey}-decisions.ndjson`} target="_self">
              <Icon name="get" />
              NDJSON
            </a>
          </>
        }
      >
        {t("decisions.lead")}
      </Head>
      <div class="filters">
        <Segments
          label={t("range.label")}
          value={range.name as string}
          onChange={(name) => choose(name as (typeof RANGES)[number])}
          options={LISTED.map((value) => ({ value: value as string, label: t(`range.${value}`) }))}
        />
        <Finder onOpen={show} onFilter={filter} />
        <Chips filters={filters} onRemove={(name) => filter(name, undefined)} />
        <FilterMenu onFilter={filter} />
      </div>
      <div class={open ? "pair" : "stack"}>
        <section
          class={page.loading && page.data ? "card stale" : "card"}
          aria-label={t("page.decisions")}
          aria-busy={page.loading}
        >
          {page.error && !page.data ? (
            <Failure error={page.error} retry={page.reload} />
          ) : rows.length === 0 && page.data ? (
            <Empty
              icon={names.length ? "filter" : "list"}
              title={t(names.length ? "decisions.noneFiltered" : "decisions.none")}
              actions={
                names.length > 0 && (
                  <button class="btn" onClick={() => set(Object.fromEntries(names.map((name) => [name, undefined])))}>
                    {t("decisions.clear")}
                  </button>
                )
              }
            >
              {t(names.length ? "decisions.noneFilteredWhy" : "decisions.noneWhy")}
            </Empty>
          ) : (
            <div class="scroll tall" tabIndex={0} role="region" aria-label={t("decisions.list")} ref={list}>
              {fresh.length > 0 && (
                <button
                  class="btn full quiet"
                  onClick={() => {
                    page.set({ ...page.data!, items: [...fresh, ...(page.data?.items ?? [])] });
                    list.current?.scrollTo(0, 0);
                  }}
                >
                  {t("decisions.new", { n: fresh.length })}
                </button>
              )}
              <table class="tbl">
                <caption class="vh">{t("decisions.list")}</caption>
                <thead>
                  <tr>
                    <th scope="col">{t("decision.time")}</th>
                    <th scope="col">{t("decision.outcome")}</th>
                    <th scope="col">{t("decision.route")}</th>
                    <th scope="col" class="opt">
                      {t("decision.reason")}
                    </th>
                    <th scope="col" class="opt2">
                      {t("decision.visitor")}
                    </th>
                    <th scope="col" class="n opt">
                      {t("decision.score")}
                    </th>
                  </tr>
                </thead>
                <tbody>
                  {page.data ? (
                    rows.map((row) => (
                      <Row key={row.id} decision={row} selected={row.id === open} onOpen={() => show(row.id)} />
                    ))
                  ) : (
                    <SkeletonRows rows={12} columns={6} />
                  )}
                </tbody>
              </table>
            </div>
          )}
          {rows.length > 0 && (
            <div class="pager">
              <span>{t("decisions.shown", { n: rows.length })}</span>
              <span class="push row">
                <kbd>J</kbd>
                <kbd>K</kbd> {t("palette.move")}
              </span>
              {cursor && (
                <button class="btn" aria-busy={busy} onClick={() => void more()}>
                  {t("decisions.older")}
                </button>
              )}
            </div>
          )}
        </section>
        {open && <DecisionDetailPane id={open} siteKey={siteKey} onClose={close} onFilter={filter} />}
      </div>
    </>
  );
}
