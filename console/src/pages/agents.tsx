/** Agents: what each may do and for how much, what last month's traffic would have earned, what was charged, and grants. */

import { useState } from "preact/hooks";
import { useRoute } from "preact-iso";
import { address, api, ApiError } from "../api/client";
import { may } from "../api/session";
import type { AgentEntry, AgentGrant, AgentGrantList, AgentPolicy, ChargeStatement, SiteAnalytics, SiteDetail } from "../api/types.gen";
import { count, decimal } from "../lib/format";
import { useEdited } from "../lib/edited";
import { useParams } from "../lib/params";
import { useQuery } from "../lib/query";
import { t } from "../lib/words";
import { Icon } from "../ui/icons";
import { Confirm } from "../ui/dialogs";
import { Card, Empty, Failure, Field, Head, Segments, Time } from "../ui/parts";
import { RowEditor, type RowValue } from "../ui/row-editor";
import { SaveDock } from "../ui/save-dock";
import { toast, toastError } from "../ui/toasts";

const TABS = ["policy", "charges", "grants"] as const;
const DEFAULTS = ["allow", "challenge", "block"] as const;
const MONTH_MS = 30 * 86_400_000;

/** What is edited: the policy as rows. What the page does not know (keys, tools) is kept as it came. */
interface Edited {
  default: string;
  unverified: string;
  quota: string;
  agents: RowValue[];
  actions: RowValue[];
}

function editedOf(policy: AgentPolicy, actions: string[]): Edited {
  const names = [...new Set([...actions, ...Object.keys(policy.actions ?? {})])];
  return {
    default: policy.default ?? "challenge",
    unverified: policy.unverified ?? "challenge",
    quota: policy.quotaPerMinute === undefined ? "" : String(policy.quotaPerMinute),
    agents: Object.entries(policy.agents ?? {}).map(([agent, entry]) => ({ agent, name: entry.name ?? "", decision: entry.decision, price: entry.price ?? "", quota: entry.quotaPerMinute === undefined ? "" : String(entry.quotaPerMinute) })),
    actions: names.map((action) => {
      const terms = policy.actions?.[action];
      return { action, price: terms?.price ?? "", quota: terms?.quotaPerMinute === undefined ? "" : String(terms.quotaPerMinute), handoff: terms?.handoff ?? false };
    }),
  };
}

const given = (value: unknown) => (value === "" || value === undefined ? undefined : value);
const number = (value: unknown) => (value === "" || value === undefined ? undefined : Number(value));

function policyOf(edited: Edited, before: AgentPolicy): AgentPolicy {
  const agents = Object.fromEntries(
    edited.agents
      .filter((row) => row["agent"])
      .map((row) => {
        const known: Partial<AgentEntry> = before.agents?.[String(row["agent"])] ?? {};
        return [String(row["agent"]), { ...known, decision: row["decision"], name: given(row["name"]), price: given(row["price"]), quotaPerMinute: number(row["quota"]) } as AgentEntry];
      }),
  );
  const actions = Object.fromEntries(
    edited.actions
      .filter((row) => row["price"] || row["quota"] || row["handoff"] || before.actions?.[String(row["action"])])
      .map((row) => [String(row["action"]), { price: given(row["price"]) as string | undefined, quotaPerMinute: number(row["quota"]), handoff: row["handoff"] === true || undefined }]),
  );
  return { ...before, default: edited.default as "allow", unverified: edited.unverified as "allow", quotaPerMinute: number(edited.quota), agents, actions } as AgentPolicy;
}

/** "USD 0.05" -> [USD, 0.05]; what is no price earns nothing. */
function priceOf(text: unknown): [string, number] | null {
  const found = /^([A-Z]{3}) (\d{1,9}(?:\.\d{1,2})?)$/.exec(String(text ?? "").trim());
  return found ? [found[1]!, Number(found[2])] : null;
}

function WhatIf({ siteKey, edited }: { siteKey: string; edited: Edited }) {
  const [range] = useState(() => ({ from: new Date(Date.now() - MONTH_MS).toISOString(), to: new Date().toISOString() }));
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
          <Field id="trial" label={t("agents.trial")} help={t("agents.priceHelp")} value={trial} error={priceOf(trial) ? undefined : t("agents.priceWrong")} onInput={(event: InputEvent) => setTrial((event.currentTarget as HTMLInputElement).value)} />
          <div class="well push">
            <p class="xs faint">{t("agents.atMost")}</p>
            <p class="fig num">
              {currency} {decimal(sum, 2)}
            </p>
          </div>
        </div>
        {rows.length === 0 ? (
          <p class="faint">{t("agents.noneSeen")}</p>
        ) : (
          <table class="tbl flush">
            <caption class="vh">{t("agents.whatIf")}</caption>
            <thead>
              <tr>
                <th scope="col">{t("lists.kind.agent")}</th>
                <th scope="col" class="n">{t("overview.requests")}</th>
                <th scope="col" class="n opt">{t("agents.price")}</th>
                <th scope="col" class="n">{t("agents.earned")}</th>
              </tr>
            </thead>
            <tbody>
              {rows.map((row) => (
                <tr key={row.name}>
                  <td class="cut">
                    <code>{row.name}</code>
                  </td>
                  <td class="n">{count(row.requests)}</td>
                  <td class="n opt">{row.denied ? t("agents.denied") : row.price ? `${row.price[0]} ${decimal(row.price[1], 2)}` : "–"}</td>
                  <td class="n">{row.denied ? "–" : decimal(row.earned, 2)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        )}
      </div>
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
      policy.set(await api.put<AgentPolicy>(`/sites/${siteKey}/agent-policy`, policyOf(value, before), true));
      edited.drop();
      toast(t("dock.saved"));
      return true;
    } catch (failure) {
      const conflict = failure instanceof ApiError && failure.code === "revision_conflict";
      setProblem(conflict ? t("agents.conflict") : failure instanceof ApiError ? failure.message : String(failure));
      if (conflict) policy.reload();
      return false;
    } finally {
      setBusy(false);
    }
  };
  const choice = (name: "default" | "unverified") => (
    <div class="stack tight">
      <h3>{t(`agents.${name}`)}</h3>
      <Segments label={t(`agents.${name}`)} value={value[name]} onChange={(next) => !readOnly && edited.set({ ...value, [name]: next })} options={DEFAULTS.map((each) => ({ value: each as string, label: t(`agents.does.${each}`) }))} />
    </div>
  );
  return (
    <>
      <Card title={t("agents.policy")} lead={t("agents.policyLead")}>
        <div class="in stack">
          <div class="cols">
            {choice("default")}
            {choice("unverified")}
            <Field id="quota" label={t("agents.quota")} help={t("agents.quotaHelp")} value={value.quota} inputMode="numeric" readOnly={readOnly} onInput={(event: InputEvent) => edited.set({ ...value, quota: (event.currentTarget as HTMLInputElement).value.replace(/\D/g, "") })} />
          </div>
          <div class="stack tight">
            <h3>{t("agents.named")}</h3>
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
                { name: "quota", label: t("agents.perMinute"), kind: "text", placeholder: "60" },
              ]}
            />
          </div>
          <div class="stack tight">
            <h3>{t("agents.actions")}</h3>
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
                { name: "quota", label: t("agents.perMinute"), kind: "text", placeholder: "60" },
                { name: "handoff", label: t("agents.handoff"), kind: "switch" },
              ]}
            />
          </div>
        </div>
      </Card>
      <WhatIf siteKey={siteKey} edited={value} />
      {edited.dirty && <SaveDock before={policyOf(loaded, before)} after={policyOf(value, before)} onDiscard={edited.drop} onRestore={() => edited.set(value)} onSave={save} problem={problem} busy={busy} />}
    </>
  );
}

function months(): string[] {
  const now = new Date();
  return Array.from({ length: 12 }, (_, back) => new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - back, 1)).toISOString().slice(0, 7));
}

function Charges({ siteKey }: { siteKey: string }) {
  const [params, set] = useParams();
  const month = params["month"] ?? months()[0]!;
  const statement = useQuery<ChargeStatement>(`${siteKey} ${month}`, (signal) => api.get(`/sites/${siteKey}/agent-charges`, { month }, signal));
  const items = statement.data?.items ?? [];
  return (
    <Card
      title={t("agents.charges")}
      lead={t("agents.chargesLead")}
      side={
        <div class="row">
          <select aria-label={t("agents.month")} value={month} onChange={(event) => set({ month: event.currentTarget.value })}>
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
        </div>
      }
    >
      {statement.error && !statement.data ? (
        <Failure error={statement.error} retry={statement.reload} />
      ) : statement.data && items.length === 0 ? (
        <Empty icon="agent" title={t("agents.chargesNone")}>
          {t("agents.chargesNoneWhy")}
        </Empty>
      ) : (
        <div class="scroll" tabIndex={0} role="region" aria-label={t("agents.charges")}>
          <table class="tbl">
            <caption class="vh">{t("agents.charges")}</caption>
            <thead>
              <tr>
                <th scope="col">{t("lists.kind.agent")}</th>
                <th scope="col" class="opt">{t("filter.action")}</th>
                <th scope="col" class="n">{t("overview.requests")}</th>
                <th scope="col" class="n">{t("agents.amount")}</th>
              </tr>
            </thead>
            <tbody>
              {items.map((item) => (
                <tr key={`${item.agent} ${item.action} ${item.source} ${item.currency}`}>
                  <td class="cut">{item.name ?? <code>{item.agent}</code>}</td>
                  <td class="opt">
                    <code>{item.action ?? item.source}</code>
                  </td>
                  <td class="n">{count(item.requests)}</td>
                  <td class="n nw">
                    {item.currency} {item.amount}
                  </td>
                </tr>
              ))}
              {statement.data?.totals.map((total) => (
                <tr key={`${total.agent} ${total.currency}`}>
                  <th scope="row" class="b">
                    {t("agents.total", { agent: total.name ?? total.agent })}
                  </th>
                  <td class="opt" />
                  <td class="n b">{count(total.requests)}</td>
                  <td class="n nw b">
                    {total.currency} {total.amount}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </Card>
  );
}

function Grants({ siteKey }: { siteKey: string }) {
  const grants = useQuery<AgentGrantList>(siteKey, (signal) => api.get(`/sites/${siteKey}/agent-grants`, {}, signal));
  const [ending, setEnding] = useState<AgentGrant | null>(null);
  const items = grants.data?.items ?? [];
  const end = () => {
    const grant = ending!;
    setEnding(null);
    api
      .delete(`/sites/${siteKey}/agent-grants/${grant.id}`)
      .then(() => {
        toast(t("agents.grantEnded"));
        grants.reload();
      })
      .catch(toastError);
  };
  const isOver = (grant: AgentGrant) => Boolean(grant.revokedAt) || grant.usesLeft === 0 || Date.parse(grant.expiresAt) < Date.now();
  return (
    <Card title={t("agents.grants")} lead={t("agents.grantsLead")}>
      {grants.error && !grants.data ? (
        <Failure error={grants.error} retry={grants.reload} />
      ) : grants.data && items.length === 0 ? (
        <Empty icon="key" title={t("agents.grantsNone")}>
          {t("agents.grantsNoneWhy")}
        </Empty>
      ) : (
        <div class="scroll" tabIndex={0} role="region" aria-label={t("agents.grants")}>
          <table class="tbl">
            <caption class="vh">{t("agents.grants")}</caption>
            <thead>
              <tr>
                <th scope="col">{t("lists.kind.agent")}</th>
                <th scope="col">{t("filter.action")}</th>
                <th scope="col" class="n">{t("agents.usesLeft")}</th>
                <th scope="col" class="opt">{t("lists.until")}</th>
                <th scope="col">
                  <span class="vh">{t("lists.actions")}</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {items.map((grant) => (
                <tr key={grant.id} class={isOver(grant) ? "faint" : undefined}>
                  <td class="cut">
                    <code>{grant.agent}</code>
                  </td>
                  <td>
                    <code>{grant.action}</code>
                  </td>
                  <td class="n">
                    {count(grant.usesLeft)} / {count(grant.uses)}
                  </td>
                  <td class="opt nw">{isOver(grant) ? t("lists.over") : <Time at={grant.expiresAt} />}</td>
                  <td class="n">
                    {!isOver(grant) && may("sites:write") && (
                      <button class="btn bad" onClick={() => setEnding(grant)}>
                        {t("agents.endGrant")}
                      </button>
                    )}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      <Confirm open={ending !== null} title={t("agents.endGrant")} action={t("agents.endGrant")} onConfirm={end} onClose={() => setEnding(null)}>
        {t("agents.endGrantWhy", { agent: ending?.agent ?? "" })}
      </Confirm>
    </Card>
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
        <Segments label={t("page.agents")} value={tab} onChange={(next) => set({ tab: next === "policy" ? undefined : next })} options={TABS.map((each) => ({ value: each, label: t(`agents.tab.${each}`) }))} />
      </div>
      {tab === "policy" && <Policy key={siteKey} siteKey={siteKey} />}
      {tab === "charges" && <Charges siteKey={siteKey} />}
      {tab === "grants" && <Grants siteKey={siteKey} />}
    </>
  );
}
