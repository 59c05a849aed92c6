/**
 * Agents: what each may do and for how much, what last month's traffic would have earned, what was charged, and grants.
 */

import { useState } from "preact/hooks";
import { useRoute } from "preact-iso";
import { address, api, ApiError, messageOf } from "../api/client";
import { may } from "../api/session";
import type {
  AgentGrant,
  AgentGrantList,
  AgentPolicy,
  ChargeStatement,
  SiteAnalytics,
  SiteDetail,
} from "../api/types.gen";
import { count, money } from "../lib/format";
import { useEdited } from "../lib/edited";
import { useParams } from "../lib/params";
import { useQuery } from "../lib/query";
import { t } from "../lib/words";
import { Icon } from "../ui/icons";
import { Confirm } from "../ui/dialogs";
import { useAction } from "../ui/forms";
import { Card, Empty, Failure, Field, Head, Segments, Time } from "../ui/parts";
import { RowEditor } from "../ui/row-editor";
import { SaveDock } from "../ui/save-dock";
import { DataTable } from "../ui/table";
import { toast, toastError } from "../ui/toasts";
import { Edited, editedOf, policyOf, priceOf } from "./agent-policy";
import { AiUse } from "./ai-use";

const TABS = ["policy", "use", "charges", "grants"] as const;
const DEFAULTS = ["allow", "challenge", "block"] as const;
const MONTH_MS = 30 * 86_400_000;

const HANDOFFS = ["", "always", "never"];

function WhatIf({ siteKey, edited }: { siteKey: string; edited: Edited }) {
  const [range] = useState(() => ({
    from: new Date(Date.now() - MONTH_MS).toISOString(),
    to: new Date().toISOString(),
  }));
  const analytics = useQuery<SiteAnalytics>(siteKey, (signal) => api.get(`/sites/${siteKey}/analytics`, range, signal));
  const [trial, setTrial] = useState("USD 0.01");
  const seen = analytics.data?.top.agents ?? [];
  const rows = seen.map(({ name, count: requests }) => {
    const own = edited.agents.find((row) => row["agent"] === name || row["name"] === name);
    const denied = own?.["decision"] === "deny" || (!own && edited.default === "block");
    const price = priceOf(own?.["price"] || trial);
    return { name, requests, denied, price, earned: denied || !price ? 0 : requests * price[1] };
  });
  const sum = rows.reduce((all, row) => all + row.earned, 0);
  const currency = priceOf(trial)?.[0] ?? rows.find(({ price }) => price)?.price?.[0] ?? "USD";
  return (
    <Card title={t("agents.whatIf")} lead={t("agents.whatIfLead")}>
      <div class="in stack">
        <div class="row">
          <Field
            id="trial"
            label={t("agents.trial")}
            help={t("agents.priceHelp")}
            value={trial}
            error={priceOf(trial) ? undefined : t("agents.priceWrong")}
            onText={setTrial}
          />
          <div class="well push">
            <p class="xs faint">{t("agents.atMost")}</p>
            <p class="fig num">
              {currency} {money(sum)}
            </p>
          </div>
        </div>
      </div>
      <DataTable
        title={t("agents.whatIf")}
        bare
        loaded={analytics}
        rows={rows}
        rowKey={(row) => row.name}
        keys={false}
        csv={`${siteKey}-agents`}
        empty={<p class="in faint">{t("agents.noneSeen")}</p>}
        columns={[
          {
            id: "agent",
            label: t("lists.kind.agent"),
            class: "cut",
            cell: (row) => <code>{row.name}</code>,
            csv: (row) => row.name,
          },
          {
            id: "requests",
            label: t("overview.requests"),
            class: "n",
            cell: (row) => count(row.requests),
            csv: (row) => row.requests,
          },
          {
            id: "price",
            label: t("agents.price"),
            class: "n opt",
            cell: (row) =>
              row.denied ? t("agents.denied") : row.price ? `${row.price[0]} ${money(row.price[1])}` : "–",
            csv: (row) => (row.denied ? "" : row.price?.join(" ")),
          },
          {
            id: "earned",
            label: t("agents.earned"),
            class: "n",
            cell: (row) => (row.denied ? "–" : money(row.earned)),
            csv: (row) => row.earned.toFixed(2),
          },
        ]}
      />
    </Card>
  );
}

function Policy({ siteKey }: { siteKey: string }) {
  const policy = useQuery<AgentPolicy>(siteKey, (signal) => api.get(`/sites/${siteKey}/agent-policy`, {}, signal));
  const site = useQuery<SiteDetail>(siteKey, (signal) => api.get(`/sites/${siteKey}`, {}, signal));
  const loaded = policy.data && site.data ? editedOf(policy.data, Object.keys(site.data.actions)) : undefined;
  const edited = useEdited<Edited>(`agents:${siteKey}`, loaded);
  const [problem, setProblem] = useState("");
  const [busy, setBusy] = useState(false);
  const readOnly = !may("sites:write");
  if (policy.error && !policy.data) return <Failure error={policy.error} retry={policy.reload} />;
  if (!edited.value || !loaded || !policy.data) return <span class="skel long" />;
  const value = edited.value;
  const before = policy.data;
  const save = async () => {
    setBusy(true);
    setProblem("");
    try {
      const path = `/sites/${siteKey}/agent-policy`;
      policy.set(await api.put<AgentPolicy>(path, policyOf(value, before), true));
      edited.drop();
      toast(t("dock.saved"), () => void api.put<AgentPolicy>(path, before, true).then(policy.set).catch(toastError));
      return true;
    } catch (failure) {
      const conflict = failure instanceof ApiError && failure.code === "revision_conflict";
      setProblem(conflict ? t("agents.conflict") : messageOf(failure));
      if (conflict) policy.reload();
      return false;
    } finally {
      setBusy(false);
    }
  };
  const choice = (name: "default" | "unverified") => (
    <div class="stack tight">
      <h3>{t(`agents.${name}`)}</h3>
      <Segments
        label={t(`agents.${name}`)}
        value={value[name]}
        onChange={(next) => !readOnly && edited.set({ ...value, [name]: next })}
        options={DEFAULTS.map((each) => ({ value: each as string, label: t(`agents.does.${each}`) }))}
      />
    </div>
  );
  return (
    <>
      <Card title={t("agents.policy")} lead={t("agents.policyLead")}>
        <div class="in stack">
          <div class="cols">
            {choice("default")}
            {choice("unverified")}
            <Field
              id="quota"
              label={t("agents.quota")}
              help={t("agents.quotaHelp")}
              value={value.quota}
              inputMode="numeric"
              readOnly={readOnly}
              onText={(text) => edited.set({ ...value, quota: text.replace(/\D/g, "") })}
            />
          </div>
          <RowEditor
            label={t("agents.named")}
            readOnly={readOnly}
            rows={value.agents}
            onChange={(agents) => edited.set({ ...value, agents })}
            empty={t("agents.namedNone")}
            add={t("agents.add")}
            columns={[
              { name: "decision", label: t("rules.action"), kind: "select", options: ["allow", "deny"] },
              { name: "agent", label: t("lists.kind.agent"), kind: "text", placeholder: "https://agent.example" },
              { name: "name", label: t("newSite.name"), kind: "text" },
              { name: "price", label: t("agents.price"), kind: "text", placeholder: "USD 0.05" },
              { name: "quota", label: t("agents.perMinute"), kind: "text", placeholder: "600" },
            ]}
          />
          <Field
            id="directories"
            label={t("agents.directories")}
            help={t("agents.directoriesHelp")}
            rows={3}
            value={value.directories}
            readOnly={readOnly}
            onText={(directories) => edited.set({ ...value, directories })}
          />
          <RowEditor
            label={t("agents.actions")}
            readOnly={readOnly}
            rows={value.actions}
            onChange={(actions) => edited.set({ ...value, actions })}
            empty={t("agents.actionsNone")}
            add={t("agents.addAction")}
            columns={[
              { name: "action", label: t("filter.action"), kind: "text" },
              { name: "price", label: t("agents.price"), kind: "text", placeholder: "USD 0.05" },
              { name: "quota", label: t("agents.perMinute"), kind: "text", placeholder: "600" },
              {
                name: "handoff",
                label: t("agents.handoff"),
                kind: "select",
                options: HANDOFFS,
                word: (each) => t(`agents.handoff.${each || "default"}`),
              },
            ]}
          />
        </div>
      </Card>
      <WhatIf siteKey={siteKey} edited={value} />
      {edited.dirty && (
        <SaveDock
          before={policyOf(loaded, before)}
          after={policyOf(value, before)}
          onDiscard={edited.drop}
          onRestore={() => edited.set(value)}
          onSave={save}
          problem={problem}
          busy={busy}
        />
      )}
    </>
  );
}

function months(): string[] {
  const now = new Date();
  return Array.from({ length: 12 }, (_, back) =>
    new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - back, 1)).toISOString().slice(0, 7),
  );
}

function Charges({ siteKey }: { siteKey: string }) {
  const [params, set] = useParams();
  const month = params["month"] ?? months()[0]!;
  const statement = useQuery<ChargeStatement>(`${siteKey} ${month}`, (signal) =>
    api.get(`/sites/${siteKey}/agent-charges`, { month }, signal),
  );
  return (
    <DataTable
      title={t("agents.charges")}
      lead={t("agents.chargesLead")}
      side={
        <>
          <select
            aria-label={t("agents.month")}
            value={month}
            onChange={(event) => set({ month: event.currentTarget.value })}
          >
            {months().map((each) => (
              <option key={each} value={each}>
                {each}
              </option>
            ))}
          </select>
          <a class="btn" href={address(`/sites/${siteKey}/agent-charges.csv`, { month })} download target="_self">
            <Icon name="get" />
            CSV
          </a>
        </>
      }
      loaded={statement}
      rows={[
        ...(statement.data?.items ?? []),
        ...(statement.data?.totals ?? []).map((total) => ({ ...total, isTotal: true as const })),
      ]}
      rowKey={(row) =>
        "isTotal" in row ? `${row.agent} ${row.currency}` : `${row.agent} ${row.action} ${row.source} ${row.currency}`
      }
      rowClass={(row) => ("isTotal" in row ? "b" : undefined)}
      keys={false}
      empty={
        <Empty icon="agent" title={t("agents.chargesNone")}>
          {t("agents.chargesNoneWhy")}
        </Empty>
      }
      columns={[
        {
          id: "agent",
          label: t("lists.kind.agent"),
          class: "cut",
          cell: (row) =>
            "isTotal" in row
              ? t("agents.total", { agent: row.name ?? row.agent })
              : (row.name ?? <code>{row.agent}</code>),
        },
        {
          id: "action",
          label: t("filter.action"),
          class: "opt",
          cell: (row) => !("isTotal" in row) && <code>{row.action ?? row.source}</code>,
        },
        { id: "requests", label: t("overview.requests"), class: "n", cell: (row) => count(row.requests) },
        { id: "amount", label: t("agents.amount"), class: "n nw", cell: (row) => `${row.currency} ${row.amount}` },
      ]}
    />
  );
}

function Grants({ siteKey }: { siteKey: string }) {
  const grants = useQuery<AgentGrantList>(siteKey, (signal) => api.get(`/sites/${siteKey}/agent-grants`, {}, signal));
  const act = useAction(grants.reload);
  const [ending, setEnding] = useState<AgentGrant | null>(null);
  const end = () => {
    const grant = ending!;
    setEnding(null);
    act(() => api.delete(`/sites/${siteKey}/agent-grants/${grant.id}`), t("agents.grantEnded"));
  };
  const isOver = (grant: AgentGrant) =>
    Boolean(grant.revokedAt) || grant.usesLeft === 0 || Date.parse(grant.expiresAt) < Date.now();
  return (
    <>
      <DataTable
        title={t("agents.grants")}
        lead={t("agents.grantsLead")}
        loaded={grants}
        rows={grants.data?.items ?? []}
        rowKey={(row) => row.id}
        rowClass={(row) => (isOver(row) ? "faint" : undefined)}
        csv={`${siteKey}-grants`}
        empty={
          <Empty icon="key" title={t("agents.grantsNone")}>
            {t("agents.grantsNoneWhy")}
          </Empty>
        }
        columns={[
          {
            id: "agent",
            label: t("lists.kind.agent"),
            class: "cut",
            cell: (row) => <code>{row.agent}</code>,
            csv: (row) => row.agent,
          },
          {
            id: "action",
            label: t("filter.action"),
            cell: (row) => <code>{row.action}</code>,
            csv: (row) => row.action,
          },
          {
            id: "usesLeft",
            label: t("agents.usesLeft"),
            class: "n",
            cell: (row) => `${count(row.usesLeft)} / ${count(row.uses)}`,
            csv: (row) => row.usesLeft,
          },
          {
            id: "expiresAt",
            label: t("lists.until"),
            class: "opt nw",
            cell: (row) => (isOver(row) ? t("lists.over") : <Time at={row.expiresAt} />),
            csv: (row) => row.expiresAt,
          },
          {
            id: "end",
            label: <span class="vh">{t("lists.actions")}</span>,
            class: "n",
            cell: (row) =>
              !isOver(row) &&
              may("sites:write") && (
                <button class="btn bad" onClick={() => setEnding(row)}>
                  {t("agents.endGrant")}
                </button>
              ),
          },
        ]}
      />
      <Confirm
        open={ending !== null}
        title={t("agents.endGrant")}
        action={t("agents.endGrant")}
        onConfirm={end}
        onClose={() => setEnding(null)}
      >
        {t("agents.endGrantWhy", { agent: ending?.agent ?? "" })}
      </Confirm>
    </>
  );
}

export default function Agents() {
  const { params: path } = useRoute();
  const siteKey = path["siteKey"] ?? "";
  const [params, set] = useParams();
  const tab = (TABS.includes(params["tab"] as "policy") ? params["tab"] : "policy") as (typeof TABS)[number];
  return (
    <>
      <Head title={t("page.agents")}>{t("agents.lead")}</Head>
      <div class="filters">
        <Segments
          label={t("page.agents")}
          value={tab}
          onChange={(next) => set({ tab: next === "policy" ? undefined : next })}
          options={TABS.map((each) => ({ value: each, label: t(`agents.tab.${each}`) }))}
        />
      </div>
      {tab === "policy" && <Policy key={siteKey} siteKey={siteKey} />}
      {tab === "use" && <AiUse key={siteKey} siteKey={siteKey} />}
      {tab === "charges" && <Charges siteKey={siteKey} />}
      {tab === "grants" && <Grants siteKey={siteKey} />}
    </>
  );
}
