/** Takes a change of a site back: shows the difference first, then writes it as a new change. */

import { useState } from "preact/hooks";
import { useLocation } from "preact-iso";
import { api, messageOf } from "../api/client";
import { loadSites, may } from "../api/session";
import type { AgentPolicy, ConfigChange, ListEntries, SiteDetail } from "../api/types.gen";
import { named, t } from "../lib/words";
import { toYaml } from "../lib/yaml";
import { Dialog } from "../ui/dialogs";
import { DiffView } from "../ui/diff-view";
import { siteHref } from "../ui/layout";
import { Note } from "../ui/parts";
import { toast, toastError } from "../ui/toasts";

type Values = Record<string, unknown>;
interface Pair {
  from: unknown;
  to: unknown;
}

interface Plan {
  now: Values;
  then: Values;
  /** What was changed again since. */
  since: string[];
  save: () => Promise<unknown>;
}

const RESTORED = new Set([
  "site.update",
  "site.mode",
  "agent_policy.update",
  "rules.update",
  "list.add",
  "list.update",
  "list.remove",
]);
const same = (one: unknown, other: unknown) => JSON.stringify(one ?? null) === JSON.stringify(other ?? null);

/** The fields of a change, each with its value before and after. */
export function pairsOf(change: ConfigChange): [string, Pair][] {
  return Object.entries(change.detail ?? {}).filter(
    ([, value]) =>
      value !== null && typeof value === "object" && "from" in (value as object) && "to" in (value as object),
  ) as [string, Pair][];
}

async function planSite(siteKey: string, change: ConfigChange): Promise<Plan> {
  const site = (await api.get<SiteDetail>(`/sites/${siteKey}`)) as unknown as Values;
  const pairs = pairsOf(change);
  const then = Object.fromEntries(pairs.map(([name, { from }]) => [name, from]));
  return {
    now: Object.fromEntries(pairs.map(([name]) => [name, site[name] ?? null])),
    then,
    since: pairs.filter(([name, { to }]) => !same(site[name], to)).map(([name]) => name),
    save: () => api.patch(`/sites/${siteKey}`, then).then(() => loadSites()),
  };
}

async function planPolicy(siteKey: string, change: ConfigChange): Promise<Plan> {
  const path = `/sites/${siteKey}/agent-policy`;
  const now = (await api.get<AgentPolicy>(path)) as unknown as Values;
  const then: Values = { ...now };
  const since: string[] = [];
  for (const [name, { from, to }] of pairsOf(change)) {
    if (name !== "agents") {
      if (!same(now[name], to)) since.push(name);
      then[name] = from ?? undefined;
      continue;
    }
    const agents: Values = { ...(now["agents"] as Values) };
    const [before, after] = [from as Values, to as Values];
    for (const agent of new Set([...Object.keys(before), ...Object.keys(after)])) {
      if (!same(agents[agent], after[agent])) since.push(agent);
      if (agent in before) agents[agent] = before[agent];
      else delete agents[agent];
    }
    then["agents"] = agents;
  }
  return { now, then, since, save: () => api.put(path, then, true) };
}

async function planEntry(siteKey: string, change: ConfigChange): Promise<Plan> {
  const id = String(change.detail?.["id"]);
  const { items } = await api.get<ListEntries>(`/sites/${siteKey}/list-entries`);
  const entry = items.find((each) => each.id === id);
  if (!entry) throw new Error(t("history.entryGone"));
  const now: Values = { outcome: entry.outcome, note: entry.note, expiresAt: entry.expiresAt };
  const pairs = pairsOf(change);
  const before = pairs.map(([name, { from }]) => [name, from ?? (name === "note" ? "" : undefined)] as const);
  const then = { ...now, ...Object.fromEntries(before) };
  const since = pairs.filter(([name, { to }]) => !same(now[name] || null, to)).map(([name]) => name);
  return { now, then, since, save: () => api.put(`/sites/${siteKey}/list-entries/${id}`, then) };
}

function planList(siteKey: string, { kind, detail = {} }: ConfigChange): Plan {
  const path = `/sites/${siteKey}/list-entries`;
  const { id, ...entry } = detail;
  return kind === "list.add"
    ? { now: entry, then: {}, since: [], save: () => api.delete(`${path}/${String(id)}`) }
    : { now: {}, then: entry, since: [], save: () => api.post(path, entry) };
}

function plan(siteKey: string, change: ConfigChange): Promise<Plan> {
  if (change.kind === "agent_policy.update") return planPolicy(siteKey, change);
  if (change.kind === "list.update") return planEntry(siteKey, change);
  if (change.kind.startsWith("list.")) return Promise.resolve(planList(siteKey, change));
  return planSite(siteKey, change);
}

export function Restore({ siteKey, change, onDone }: { siteKey: string; change: ConfigChange; onDone: () => void }) {
  const { route } = useLocation();
  const [open, setOpen] = useState<Plan | null>(null);
  const [problem, setProblem] = useState("");
  const [busy, setBusy] = useState(false);
  if (!RESTORED.has(change.kind) || !may("sites:write")) return null;
  const begin = () => {
    setProblem("");
    if (change.kind === "rules.update") {
      // The page of the rules has the backtest, the confirmation and the merge.
      const version = change.detail?.["effectiveVersion"] as Pair | undefined;
      const search = new URLSearchParams({ undo: String(version?.to ?? ""), restore: String(version?.from ?? "") });
      route(`${siteHref(siteKey, "rules")}?${search.toString()}`);
      return;
    }
    plan(siteKey, change).then(setOpen).catch(toastError);
  };
  const save = async () => {
    if (!open || busy) return;
    setBusy(true);
    try {
      await open.save();
      toast(t("history.restored", { what: named("change", change.kind) }));
      setOpen(null);
      onDone();
    } catch (failure) {
      setProblem(messageOf(failure));
    } finally {
      setBusy(false);
    }
  };
  const done = open !== null && same(open.now, open.then);
  return (
    <>
      <button class="btn" onClick={begin}>
        {t("history.restore")}
        <span class="vh"> {named("change", change.kind)}</span>
      </button>
      <Dialog open={open !== null} onClose={() => setOpen(null)} label={t("history.restoreTitle")} className="broad">
        <header>
          <h2>{t("history.restoreTitle")}</h2>
        </header>
        {open && (
          <div class="in stack tight">
            {open.since.length > 0 && (
              <Note tone="challenge">{t("history.since", { names: open.since.join(", ") })}</Note>
            )}
            {done ? (
              <p>{t("history.same")}</p>
            ) : (
              <DiffView before={toYaml(open.now)} after={toYaml(open.then)} label={t("rules.whatChanged")} />
            )}
            {problem && <Note tone="block">{problem}</Note>}
          </div>
        )}
        <footer>
          <button class="btn" onClick={() => setOpen(null)} autofocus>
            {t("rules.back")}
          </button>
          {!done && (
            <button class="btn main" aria-busy={busy} onClick={() => void save()}>
              {t("history.restoreDo")}
            </button>
          )}
        </footer>
      </Dialog>
    </>
  );
}
