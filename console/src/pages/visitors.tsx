/** The sources of requests, most recently seen first, and what one of them did. */

import { useState } from "preact/hooks";
import { useRoute } from "preact-iso";
import { api } from "../api/client";
import type { Outcome, VisitorDetail, VisitorPage, VisitorSummary } from "../api/types.gen";
import { Hatches } from "../chart/outcomes";
import { csvText, save } from "../lib/csv";
import { count } from "../lib/format";
import { useKeys } from "../lib/keys";
import { useParams } from "../lib/params";
import { useQuery } from "../lib/query";
import { RANGES, useRange } from "../lib/range";
import { t } from "../lib/words";
import { worst } from "../lib/outcomes";
import { Icon } from "../ui/icons";
import { siteHref } from "../ui/layout";
import { CopyButton, Empty, Failure, Head, OutcomeBadge, RouteName, Segments, SkeletonRows, Time } from "../ui/parts";

const OUTCOMES: Outcome[] = ["allow", "challenge", "block", "drop"];
const REFUSALS = OUTCOMES.slice(1);
const LISTED = RANGES.filter((name) => name !== "91d");

interface Part {
  name: string;
  /** None: not known which of the refusals. */
  tone?: Outcome;
  n: number;
  hatched?: boolean;
}

/**
 * What became of a visitor's requests. Monitor mode lets all of them through: what enforce would have refused is
 * hatched.
 */
function partsOf(visitor: VisitorSummary): Part[] {
  const n = (outcome: Outcome) => visitor.outcomes[outcome] ?? 0;
  const parts: Part[] = [
    { name: t("outcome.allow"), tone: "allow", n: Math.max(0, n("allow") - visitor.monitored) },
    ...REFUSALS.map((outcome) => ({ name: t(`outcome.${outcome}`), tone: outcome, n: n(outcome) })),
    { name: t("chart.would"), n: visitor.monitored, hatched: true },
  ];
  return parts.filter((part) => part.n > 0);
}

function Split({ visitor }: { visitor: VisitorSummary }) {
  const parts = partsOf(visitor);
  const sum = Math.max(
    1,
    parts.reduce((all, part) => all + part.n, 0),
  );
  const text = parts.map(({ name, n }) => `${name} ${count(n)}`).join(", ");
  let at = 0;
  return (
    <svg class="spark" role="img" aria-label={text}>
      <title>{text}</title>
      {parts.map(({ tone, n, hatched }, index) => {
        const width = (n / sum) * 100;
        const part = (
          <rect
            key={index}
            class={hatched ? undefined : tone === "allow" ? "area quiet" : "area"}
            fill={hatched ? "url(#h-any)" : undefined}
            data-o={tone}
            x={`${at}%`}
            y="6"
            width={`${width}%`}
            height="12"
          />
        );
        at += width;
        return part;
      })}
    </svg>
  );
}

export default function Visitors() {
  const { params: path } = useRoute();
  const siteKey = path["siteKey"] ?? "";
  const [params, set] = useParams();
  const [range, choose] = useRange("24h");
  const open = params["open"];
  const [older, setOlder] = useState<{ key: string; items: VisitorSummary[]; cursor?: string }>({ key: "", items: [] });
  const key = JSON.stringify([siteKey, range.from, range.to]);
  const query = { siteKey, from: range.from, to: range.to, limit: 50 };
  const page = useQuery<VisitorPage>(key, (signal) => api.get("/visitors", query, signal));
  const rest = older.key === key ? older : { key, items: [], cursor: page.data?.nextCursor };
  const rows = [...(page.data?.items ?? []), ...rest.items];
  const cursor = older.key === key ? older.cursor : page.data?.nextCursor;
  const more = async () => {
    const next = await api.get<VisitorPage>("/visitors", { ...query, cursor });
    setOlder({ key, items: [...rest.items, ...next.items], cursor: next.nextCursor });
  };
  const show = (id: string | undefined) => set({ open: id }, true);
  const move = (step: number) => {
    const at = rows.findIndex(({ id }) => id === open);
    const next = rows[Math.min(rows.length - 1, Math.max(0, at + step))];
    if (next) show(next.id);
  };
  useKeys([
    { key: "j", help: t("visitors.next"), run: () => move(1) },
    { key: "k", help: t("visitors.previous"), run: () => move(open ? -1 : 0) },
    { key: "Escape", help: t("decisions.closeKey"), run: () => open && show(undefined) },
  ]);
  const download = () => {
    const head = [
      "id",
      "firstSeen",
      "lastSeen",
      "requests",
      ...OUTCOMES,
      "monitored",
      "challenges",
      "challengesPassed",
      "agents",
    ];
    const lines = rows.map((row) => [
      row.id,
      row.firstSeen,
      row.lastSeen,
      row.requests,
      ...OUTCOMES.map((each) => row.outcomes[each] ?? 0),
      row.monitored,
      row.challenges,
      row.challengesPassed,
      row.agents.join(" "),
    ]);
    save(`${siteKey}-visitors.csv`, csvText(head, lines));
  };
  return (
    <>
      <Head
        title={t("page.visitors")}
        actions={
          <button class="btn" onClick={download}>
            <Icon name="get" />
            CSV
          </button>
        }
      >
        {t("visitors.lead")}
      </Head>
      <div class="filters">
        <Segments
          label={t("range.label")}
          value={range.name as string}
          onChange={(name) => choose(name as (typeof RANGES)[number])}
          options={LISTED.map((value) => ({ value: value as string, label: t(`range.${value}`) }))}
        />
      </div>
      <svg class="vh" aria-hidden="true">
        <Hatches />
      </svg>
      <div class={open ? "pair" : "stack"}>
        <section
          class={page.loading && page.data ? "card stale" : "card"}
          aria-label={t("page.visitors")}
          aria-busy={page.loading}
        >
          {page.error && !page.data ? (
            <Failure error={page.error} retry={page.reload} />
          ) : page.data && rows.length === 0 ? (
            <Empty icon="people" title={t("visitors.none")}>
              {t("visitors.noneWhy")}
            </Empty>
          ) : (
            <div class="scroll tall" tabIndex={0} role="region" aria-label={t("visitors.list")}>
              <table class="tbl">
                <caption class="vh">{t("page.visitors")}</caption>
                <thead>
                  <tr>
                    <th scope="col">{t("decision.visitor")}</th>
                    <th scope="col">{t("visitors.seen")}</th>
                    <th scope="col" class="n">
                      {t("overview.requests")}
                    </th>
                    <th scope="col" class="opt">
                      {t("visitors.outcomes")}
                    </th>
                    <th scope="col" class="n opt2">
                      {t("visitors.checks")}
                    </th>
                    <th scope="col" class="opt2">
                      {t("visitors.agents")}
                    </th>
                  </tr>
                </thead>
                <tbody>
                  {page.data ? (
                    rows.map((row) => (
                      <tr key={row.id} aria-selected={row.id === open} onClick={() => show(row.id)}>
                        <td>
                          <a
                            href={`?open=${row.id}`}
                            onClick={(event) => {
                              event.preventDefault();
                              event.stopPropagation();
                              show(row.id);
                            }}
                          >
                            <code>{row.id}</code>
                          </a>
                        </td>
                        <td class="nw faint">
                          <Time at={row.lastSeen} />
                        </td>
                        <td class="n">{count(row.requests)}</td>
                        <td class="opt">
                          <Split visitor={row} />
                        </td>
                        <td class="n opt2">{row.challenges ? `${row.challengesPassed}/${row.challenges}` : "–"}</td>
                        <td class="opt2 cut">{row.agents.join(", ") || "–"}</td>
                      </tr>
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
              <span>{t("visitors.shown", { n: rows.length })}</span>
              {cursor && (
                <button class="btn push" onClick={() => void more()}>
                  {t("visitors.more")}
                </button>
              )}
            </div>
          )}
        </section>
        {open && <VisitorPane id={open} siteKey={siteKey} onClose={() => show(undefined)} />}
      </div>
    </>
  );
}

function VisitorPane({ id, siteKey, onClose }: { id: string; siteKey: string; onClose: () => void }) {
  const { data, error, reload } = useQuery<VisitorDetail>(id, (signal) =>
    api.get(`/visitors/${id}`, { siteKey }, signal),
  );
  return (
    <aside class="card detail" tabIndex={-1} aria-label={t("visitors.title", { id })}>
      <header>
        <code>{id}</code>
        <span class="row">
          <CopyButton text={id} square />
          <button class="btn sq quiet" aria-label={t("detail.close")} onClick={onClose}>
            <Icon name="x" />
          </button>
        </span>
      </header>
      {error && !data && <Failure error={error} retry={reload} />}
      {data && (
        <div class="in stack">
          <p class="lead">
            {t("visitors.sentence", { n: data.requests, passed: data.challengesPassed, challenges: data.challenges })}
          </p>
          <dl class="rows">
            <div>
              <dt>{t("visitors.first")}</dt>
              <dd>
                <Time at={data.firstSeen} />
              </dd>
            </div>
            <div>
              <dt>{t("visitors.last")}</dt>
              <dd>
                <Time at={data.lastSeen} />
              </dd>
            </div>
            <div>
              <dt>{t("visitors.outcomes")}</dt>
              <dd>
                {partsOf(data)
                  .map(({ name, n }) => `${name} ${count(n)}`)
                  .join(", ")}
              </dd>
            </div>
            <div>
              <dt>{t("visitors.actions")}</dt>
              <dd>{data.actions.join(", ") || "–"}</dd>
            </div>
            <div>
              <dt>{t("visitors.agents")}</dt>
              <dd>{data.agents.join(", ") || "–"}</dd>
            </div>
          </dl>
          <section class="stack tight" aria-label={t("visitors.recent")}>
            <div class="row apart">
              <h2>{t("visitors.recent")}</h2>
              <a class="s" href={`${siteHref(siteKey, "decisions")}?range=30d&visitor=${id}`}>
                {t("overview.allDecisions")}
              </a>
            </div>
            <div class="list">
              {data.recent.slice(0, 12).map((decision) => (
                <a
                  key={decision.id}
                  href={`${siteHref(siteKey, "decisions")}?range=30d&visitor=${id}&open=${decision.id}`}
                >
                  <span class="row">
                    <OutcomeBadge {...worst(decision)} />
                    <RouteName route={decision.route} />
                    <span class="push faint">
                      <Time at={decision.time} />
                    </span>
                  </span>
                </a>
              ))}
            </div>
          </section>
        </div>
      )}
    </aside>
  );
}
