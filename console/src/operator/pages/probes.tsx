/**
 * The probes: which pools are asked from, what their answers said, and where browsers have begun to answer otherwise.
 */

import { api } from "../../api/client";
import type { LeftOut, ProbePool, ProbesState } from "../../api/types.gen";
import { useEvery, useQuery } from "../../lib/query";
import { named, t } from "../../lib/words";
import { Bars, Card, Empty, Failure, Head, Note, type Tone } from "../../ui/parts";
import { DataTable } from "../../ui/table";

const REFRESH_MS = 10_000;
const TONES: Record<string, Tone> = { right: "allow", wrong: "block", missing: "challenge", drift: "challenge" };
const ENGINES: Record<string, string> = { blink: "Blink", gecko: "Gecko", webkit: "WebKit" };
const engine = (name: string) => ENGINES[name] ?? name;

function Pool({ pool }: { pool: ProbePool }) {
  const programs = Object.entries(pool.programs).sort(([, one], [, other]) => other - one);
  return (
    <Card
      title={t("probes.pool", { made: pool.made })}
      lead={t(pool.shipped ? "probes.shipped" : "probes.own")}
      side={<code class="s faint">{pool.key}</code>}
    >
      <div class="in stack">
        <dl class="rows facts">
          {Object.entries(pool.seen).map(([name, versions]) => (
            <div key={name}>
              <dt class="state">
                <span class="dot" data-o={versions.length ? "allow" : undefined} />
                {engine(name)}
              </dt>
              <dd>{versions.length ? versions.join(", ") : t("probes.unseen")}</dd>
            </div>
          ))}
        </dl>
        <Bars
          items={programs.map(([family, number]) => ({ key: family, name: <code>{family}</code>, count: number }))}
          empty={t("probes.noPrograms")}
        />
      </div>
    </Card>
  );
}

function Families({
  state,
  rows,
  title,
  lead,
  none,
}: {
  state: ReturnType<typeof useQuery<ProbesState>>;
  rows: LeftOut[];
  title: string;
  lead: string;
  none: string;
}) {
  return (
    <DataTable
      title={title}
      lead={lead}
      loaded={state}
      rows={rows}
      rowKey={(row) => `${row.family} ${row.engine} ${row.version}`}
      keys={false}
      empty={<Empty icon="check" title={none} />}
      columns={[
        { id: "family", label: t("probes.family"), cell: (row) => <code>{row.family}</code> },
        { id: "engine", label: t("probes.engine"), cell: (row) => engine(row.engine) },
        { id: "version", label: t("probes.version"), class: "n", cell: (row) => row.version },
      ]}
    />
  );
}

export default function Probes() {
  const state = useQuery<ProbesState>("probes", (signal) => api.get("/probes", {}, signal));
  useEvery(REFRESH_MS, state.reload);
  const { data, error } = state;
  const judged = Object.entries(data?.judged ?? {});
  const all = judged.reduce((sum, [, number]) => sum + number, 0);
  const learned = Object.entries(data?.learned ?? {});
  return (
    <>
      <Head title={t("page.probes")}>{data && t("probes.lead", { n: data.pools.length })}</Head>
      {error && !data && (
        <div class="card">
          <Failure error={error} retry={state.reload} />
        </div>
      )}
      {data && (
        <>
          {data.waiting.length > 0 && <Note tone="block">{t("probes.needPool", { n: data.waiting.length })}</Note>}
          {data.pools.length > 0 && data.pools.every(({ shipped }) => shipped) && (
            <Note tone="info">{t("probes.onlyShipped")}</Note>
          )}
          <div class="cols">
            <Card title={t("probes.judged")} lead={t("probes.judgedLead")}>
              <div class="in">
                <Bars
                  items={judged.map(([name, number]) => ({
                    key: name,
                    name: named("probes.is", name),
                    count: number,
                    tone: TONES[name],
                  }))}
                  total={all}
                  empty={t("probes.noneJudged")}
                />
              </div>
            </Card>
            {data.pools.map((pool) => (
              <Pool key={pool.key} pool={pool} />
            ))}
            <Card title={t("probes.learned")} lead={t("probes.learnedLead")}>
              <div class="in">
                <Bars
                  items={learned.map(([name, number]) => ({ key: name, name: engine(name), count: number }))}
                  empty={t("probes.noneLearned")}
                />
              </div>
            </Card>
            <Families
              state={state}
              rows={data.leftOut}
              title={t("probes.leftOut")}
              lead={t("probes.leftOutLead")}
              none={t("probes.noneLeftOut")}
            />
            {data.waiting.length > 0 && (
              <Families
                state={state}
                rows={data.waiting}
                title={t("probes.waiting")}
                lead={t("probes.waitingLead")}
                none=""
              />
            )}
          </div>
          <p class="xs faint">{t("probes.worker")}</p>
        </>
      )}
    </>
  );
}
