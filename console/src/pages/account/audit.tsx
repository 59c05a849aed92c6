/** Who did what, newest first: of an account, of a customer, or of the operators. */

import { useState } from "preact/hooks";
import { api, isOperator } from "../../api/client";
import type { AuditEvent, AuditPage } from "../../api/types.gen";
import { csvText, save } from "../../lib/csv";
import { useParams } from "../../lib/params";
import { useQuery } from "../../lib/query";
import { named, t } from "../../lib/words";
import { Icon } from "../../ui/icons";
import { Empty, Head, Time } from "../../ui/parts";
import { toastError } from "../../ui/toasts";
import { DataTable } from "../../ui/table";

const GROUPS = [
  "",
  "signin",
  "member",
  "account",
  "user",
  "token",
  "site",
  "credential",
  "rules",
  "list",
  "agent_policy",
  "webhook",
];
const OPERATOR_GROUPS = [
  "",
  "account",
  "member",
  "user",
  "operator",
  "site",
  "credential",
  "rules",
  "model",
  "feature_capture",
  "service",
];
const PAGE = 200;
const LONGEST = 160;
const MOST_ROWS = 20_000;

/** A change as `from → to`; anything else as it is. */
function shown(value: unknown): string {
  if (value !== null && typeof value === "object" && "from" in value && "to" in value)
    return `${shown(value.from)} → ${shown(value.to)}`;
  if (Array.isArray(value)) return value.map(shown).join(", ") || "–";
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** Long values are cut: the history of the site, or the export, has all of them. */
const cut = (text: string) => (text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text);

function Detail({ event }: { event: AuditEvent }) {
  const parts = Object.entries(event.detail);
  return (
    <>
      {named("change", event.action)}
      <small class="wrap">
        <code>{event.action}</code>
        {parts.map(([name, value]) => ` · ${name}: ${cut(shown(value))}`)}
      </small>
    </>
  );
}

/** The trail at a path, with a filter and an export of all of it. */
export function AuditList({ path, name, filter = "" }: { path: string; name: string; filter?: string }) {
  const [older, setOlder] = useState<{ key: string; items: AuditEvent[]; cursor?: string } | null>(null);
  const [progress, setProgress] = useState<number | null>(null);
  const key = `${path} ${filter}`;
  const page = useQuery<AuditPage>(key, (signal) => api.get(path, { action: filter, limit: 50 }, signal));
  const rest = older?.key === key ? older : { key, items: [], cursor: page.data?.nextCursor };
  const rows = [...(page.data?.items ?? []), ...rest.items];
  const more = () =>
    void api
      .get<AuditPage>(path, { action: filter, limit: 50, cursor: rest.cursor })
      .then((next) => setOlder({ key, items: [...rest.items, ...next.items], cursor: next.nextCursor }))
      .catch(toastError);
  const exported = async () => {
    const found: AuditEvent[] = [];
    let cursor: string | undefined;
    setProgress(0);
    try {
      do {
        const next: AuditPage = await api.get<AuditPage>(path, { action: filter, limit: PAGE, cursor });
        found.push(...next.items);
        cursor = next.nextCursor;
        setProgress(found.length);
      } while (cursor && found.length < MOST_ROWS);
      const lines = found.map((event) => [
        event.time,
        event.actor,
        event.actorKind,
        event.action,
        event.target ?? "",
        event.address ?? "",
        JSON.stringify(event.detail),
      ]);
      save(
        `${name}-audit.csv`,
        csvText(["time", "actor", "actorKind", "action", "target", "address", "detail"], lines),
      );
    } finally {
      setProgress(null);
    }
  };
  return (
    <DataTable
      title={t("page.audit")}
      side={
        <button
          class="btn"
          aria-busy={progress !== null}
          onClick={() => progress === null && void exported().catch(toastError)}
        >
          <Icon name="get" />
          {progress === null ? t("audit.export") : t("audit.exporting", { n: progress })}
        </button>
      }
      loaded={page}
      rows={rows}
      rowKey={(row) => String(row.id)}
      keys={false}
      empty={
        <Empty icon={filter ? "filter" : "list"} title={t(filter ? "audit.noneFound" : "audit.none")}>
          {t("audit.noneWhy")}
        </Empty>
      }
      footer={
        rest.cursor && (
          <button class="btn" onClick={more}>
            {t("decisions.older")}
          </button>
        )
      }
      columns={[
        { id: "time", label: t("audit.time"), class: "nw faint", cell: (row) => <Time at={row.time} /> },
        {
          id: "actor",
          label: t("audit.actor"),
          cell: (row) => (
            <>
              {row.actor}
              <small>{named("audit.kind", row.actorKind)}</small>
            </>
          ),
        },
        { id: "action", label: t("audit.action"), cell: (row) => <Detail event={row} /> },
        {
          id: "target",
          label: t("audit.target"),
          class: "opt2",
          cell: (row) => (row.target ? <code class="faint">{row.target}</code> : "–"),
        },
        {
          id: "address",
          label: t("audit.address"),
          class: "opt2",
          cell: (row) => (row.address ? <code class="faint">{row.address.slice(0, 8)}</code> : "–"),
        },
      ]}
    />
  );
}

export default function Audit() {
  const [params, set] = useParams();
  const action = params["action"] ?? "";
  const groups = isOperator ? OPERATOR_GROUPS : GROUPS;
  return (
    <>
      <Head title={t("page.audit")}>{t(isOperator ? "audit.leadOperator" : "audit.lead")}</Head>
      <div class="filters">
        <label class="row" for="action">
          {t("audit.show")}
          <select
            id="action"
            class="auto"
            value={action}
            onChange={(event) => set({ action: event.currentTarget.value })}
          >
            {[...new Set([...groups, action])].map((each) => (
              <option key={each} value={each} selected={each === action}>
                {each ? named("audit.group", each) : t("audit.everything")}
              </option>
            ))}
          </select>
        </label>
      </div>
      <AuditList path="/audit" name="agentgate" filter={action} />
    </>
  );
}
