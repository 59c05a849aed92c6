/** A site's settings, its secrets, and what was changed when. */

import { useEffect, useRef, useState } from "preact/hooks";
import { useRoute } from "preact-iso";
import { api, messageOf } from "../api/client";
import { loadSites, may } from "../api/session";
import type { ConfigChange, ConfigChangeList, SiteChange, SiteDetail, SiteRoute } from "../api/types.gen";
import { useEdited } from "../lib/edited";
import { useParams } from "../lib/params";
import { useQuery } from "../lib/query";
import { named, t } from "../lib/words";
import { toYaml } from "../lib/yaml";
import { DiffView } from "../ui/diff-view";
import { siteHref } from "../ui/layout";
import { Card, CopyButton, Empty, Failure, Field, Head, Learn, Segments, Time } from "../ui/parts";
import { RowEditor, type RowValue } from "../ui/row-editor";
import { SaveDock } from "../ui/save-dock";
import { toast, toastError } from "../ui/toasts";
import { Credentials } from "./credentials";
import { EnforceNumbers } from "./evidence";
import { pairsOf, Restore } from "./restore";
import { Switches, UnderAttack, type Switched } from "./settings-switches";

const METHODS = ["*", "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"];

interface Edited extends Switched {
  name: string;
  mode: string;
  widgetMode: string;
  origins: string;
  assistants: string;
  machineTokens: string;
  wanted: string;
  feeds: string;
  issuers: string;
  actions: RowValue[];
  routes: RowValue[];
  openPaths: RowValue[];
}

const lines = (text: string) =>
  text
    .split("\n")
    .map((line) => line.trim())
    .filter(Boolean);

function editedOf(site: SiteDetail): Edited {
  return {
    name: site.name,
    mode: site.mode,
    widgetMode: site.widgetMode,
    origins: site.allowedOrigins.join("\n"),
    assistants: site.assistants ?? "block",
    machineTokens: String(site.machineTokensPerHour ?? 0),
    wanted: (site.wantedPrograms ?? []).join("\n"),
    feeds: (site.feeds ?? []).join("\n"),
    issuers: (site.privateTokenIssuers ?? []).map((each) => `${each.name} ${each.tokenKey ?? ""}`.trim()).join("\n"),
    wholeSite: site.wholeSite ?? false,
    wholeSiteWhen: site.wholeSiteWhen ?? "always",
    clearanceWithoutScript: site.clearanceWithoutScript,
    formMethodOverride: site.formMethodOverride,
    suggestions: site.suggestions ?? true,
    blockFeed: site.blockFeed ?? false,
    decoys: site.decoys ?? false,
    actions: Object.entries(site.actions).map(([name, action]) => ({
      name,
      browserRequired: action.browserRequired,
      clearance: action.clearance ?? false,
      requireContentDigest: action.requireContentDigest ?? false,
    })),
    routes: site.routes.map((route) => ({
      method: route.method,
      path: route.path ?? `${route.pathPrefix ?? ""}*`,
      action: route.action,
    })),
    openPaths: (site.openPaths ?? []).map((each) => ({
      method: each.method ?? "*",
      path: each.path,
      sender: each.sender,
      note: each.note ?? "",
      perMinute: each.perMinute ? String(each.perMinute) : "",
    })),
  };
}

/** A path that ends in a star is a prefix. */
function routeOf(row: RowValue): SiteRoute {
  const path = String(row["path"]);
  const place = path.endsWith("*") ? { pathPrefix: path.slice(0, -1) } : { path };
  return { method: String(row["method"]), action: String(row["action"]), ...place };
}

function changeOf(edited: Edited): SiteChange {
  return {
    name: edited.name.trim(),
    mode: edited.mode as "monitor",
    widgetMode: edited.widgetMode as "managed",
    allowedOrigins: lines(edited.origins),
    assistants: edited.assistants as "challenge",
    machineTokensPerHour: Number(edited.machineTokens),
    wantedPrograms: lines(edited.wanted),
    feeds: lines(edited.feeds),
    privateTokenIssuers: lines(edited.issuers).map((line) => {
      const [name = "", tokenKey] = line.split(/\s+/);
      return { name, tokenKey };
    }),
    wholeSite: edited.wholeSite,
    wholeSiteWhen: edited.wholeSiteWhen as SiteChange["wholeSiteWhen"],
    clearanceWithoutScript: edited.clearanceWithoutScript,
    formMethodOverride: edited.formMethodOverride,
    suggestions: edited.suggestions,
    blockFeed: edited.blockFeed,
    decoys: edited.decoys,
    actions: Object.fromEntries(
      edited.actions
        .filter((row) => row["name"])
        .map((row) => [
          String(row["name"]),
          {
            browserRequired: row["browserRequired"] === true,
            clearance: row["clearance"] === true,
            requireContentDigest: row["requireContentDigest"] === true,
          },
        ]),
    ),
    routes: edited.routes.filter((row) => row["path"]).map(routeOf),
    openPaths: edited.openPaths
      .filter((row) => row["path"])
      .map((row) => ({
        path: String(row["path"]),
        sender: String(row["sender"]),
        method: row["method"] && row["method"] !== "*" ? String(row["method"]) : undefined,
        note: row["note"] ? String(row["note"]) : undefined,
        perMinute: row["perMinute"] ? Number(row["perMinute"]) : undefined,
      })),
  };
}

/** Only what differs is sent: somebody else's change of another field is kept. */
function changed(before: SiteChange, after: SiteChange): SiteChange {
  return Object.fromEntries(
    Object.entries(after).filter(
      ([name, value]) => JSON.stringify(value) !== JSON.stringify(before[name as keyof SiteChange]),
    ),
  ) as SiteChange;
}

/** The traffic since a change; the overview compares it with the same time before. */
function sinceHref(siteKey: string, time: string): string {
  return `${siteHref(siteKey, "overview")}?from=${time}&to=${new Date().toISOString()}`;
}

function Change({ change, siteKey, onRestored }: { change: ConfigChange; siteKey: string; onRestored: () => void }) {
  const detail = change.detail ?? {};
  const pairs = pairsOf(change);
  const rest = Object.fromEntries(Object.entries(detail).filter(([name]) => !pairs.some(([other]) => other === name)));
  const before = pairs.map(([name, { from }]) => toYaml({ [name]: from })).join("\n");
  const after = pairs.map(([name, { to }]) => toYaml({ [name]: to })).join("\n");
  return (
    <li>
      <span class="row apart">
        <span class="row">
          <b>{change.actor}</b> <span title={change.kind}>{named("change", change.kind)}</span>
        </span>
        <span class="row">
          <span class="xs faint">
            <Time at={change.time} />
          </span>
          <a class="s" href={sinceHref(siteKey, change.time)}>
            {t("history.effect")}
          </a>
          <Restore siteKey={siteKey} change={change} onDone={onRestored} />
        </span>
      </span>
      {Object.keys(rest).length > 0 && <code class="xs soft">{toYaml(rest).replaceAll("\n", " · ")}</code>}
      {pairs.length > 0 && (
        <details>
          <summary class="s">{t("settings.showDiff", { n: pairs.length })}</summary>
          <DiffView before={before} after={after} label={t("rules.whatChanged")} />
        </details>
      )}
    </li>
  );
}

function History({ siteKey, turn, onRestored }: { siteKey: string; turn: number; onRestored: () => void }) {
  const changes = useQuery<ConfigChangeList>(`${siteKey} ${turn}`, (signal) =>
    api.get(`/sites/${siteKey}/changes`, { limit: 50 }, signal),
  );
  return (
    <Card title={t("settings.history")} lead={t("settings.historyLead")}>
      {changes.error && !changes.data ? (
        <Failure error={changes.error} retry={changes.reload} />
      ) : changes.data?.items.length === 0 ? (
        <Empty icon="clock" title={t("settings.historyNone")} />
      ) : (
        <ul class="list">
          {changes.data?.items.map((each) => (
            <Change key={each.id} change={each} siteKey={siteKey} onRestored={onRestored} />
          ))}
        </ul>
      )}
    </Card>
  );
}

/** A decision leads here to open its path: the row is added, and saving it stays with the owner. */
function useOpenPath(value: Edited | undefined, isReady: boolean, set: (value: Edited) => void) {
  const [{ openPath }, setParams] = useParams();
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (openPath === undefined || !value || !isReady) return;
    const row = { method: "*", path: openPath, sender: "", perMinute: "", note: "" };
    set({ ...value, openPaths: [...value.openPaths.filter((each) => each["path"] !== openPath), row] });
    setParams({ openPath: undefined }, true);
    requestAnimationFrame(() => {
      place.current?.scrollIntoView({ block: "center" });
      place.current?.querySelector<HTMLElement>(".rows input, input")?.focus();
    });
  }, [openPath, isReady]);
  return place;
}

export default function Settings() {
  const { params: path } = useRoute();
  const siteKey = path["siteKey"] ?? "";
  const site = useQuery<SiteDetail>(siteKey, (signal) => api.get(`/sites/${siteKey}`, {}, signal));
  const loaded = site.data ? editedOf(site.data) : undefined;
  const edited = useEdited<Edited>(`settings:${siteKey}`, loaded);
  const [problem, setProblem] = useState("");
  const [busy, setBusy] = useState(false);
  const [turn, setTurn] = useState(0);
  const readOnly = !may("sites:write");
  const opened = useOpenPath(edited.value, loaded !== undefined && !readOnly, edited.set);
  if (!edited.value || !loaded || !site.data) {
    return (
      <>
        <Head title={t("page.settings")} />
        <div class="card">
          {site.error ? (
            <Failure error={site.error} retry={site.reload} />
          ) : (
            <div class="in">
              <span class="skel long" />
            </div>
          )}
        </div>
      </>
    );
  }
  const value = edited.value;
  const part = (change: Partial<Edited>) => !readOnly && edited.set({ ...value, ...change });
  const reload = () => {
    site.reload();
    setTurn((before) => before + 1);
  };
  const save = async () => {
    setBusy(true);
    setProblem("");
    try {
      const [old, next] = [changeOf(loaded), changeOf(value)];
      await api.patch(`/sites/${siteKey}`, changed(old, next));
      const undo = () => void api.patch(`/sites/${siteKey}`, changed(next, old)).then(reload).catch(toastError);
      edited.drop();
      reload();
      void loadSites();
      toast(t("dock.saved"), undo);
      return true;
    } catch (failure) {
      setProblem(messageOf(failure));
      return false;
    } finally {
      setBusy(false);
    }
  };
  const actions = value.actions.map((row) => String(row["name"])).filter(Boolean);
  return (
    <>
      <Head title={t("page.settings")}>{t("settings.lead", { name: site.data.name })}</Head>
      <Card title={t("settings.site")}>
        <div class="in stack">
          <div class="cols">
            <Field
              id="site-name"
              label={t("newSite.name")}
              help={t("newSite.nameHelp")}
              value={value.name}
              readOnly={readOnly}
              onText={(text) => part({ name: text })}
            />
            <div class="stack tight">
              <h3>{t("settings.key")}</h3>
              <div class="row">
                <code>{siteKey}</code>
                <CopyButton text={siteKey} quiet />
              </div>
            </div>
            <div class="stack tight">
              <h3>{t("sites.mode")}</h3>
              <Segments
                label={t("sites.mode")}
                value={value.mode}
                onChange={(mode) => part({ mode })}
                options={["monitor", "enforce"].map((each) => ({ value: each, label: t(`mode.${each}`) }))}
              />
              {value.mode === "enforce" && loaded.mode !== "enforce" && <EnforceNumbers siteKey={siteKey} />}
              <p class="s soft">
                {t("settings.modeHelp")} <a href={siteHref(siteKey, "install")}>{t("settings.modeLine")}</a>
              </p>
            </div>
            <div class="stack tight">
              <h3>{t("settings.widget")}</h3>
              <Segments
                label={t("settings.widget")}
                value={value.widgetMode}
                onChange={(widgetMode) => part({ widgetMode })}
                options={["invisible", "managed", "interactive"].map((each) => ({
                  value: each,
                  label: t(`settings.widget.${each}`),
                }))}
              />
            </div>
          </div>
          <Field
            id="site-origins"
            label={t("settings.origins")}
            help={t("settings.originsHelp")}
            rows={Math.min(8, Math.max(3, value.origins.split("\n").length))}
            value={value.origins}
            readOnly={readOnly}
            onText={(origins) => part({ origins })}
          />
        </div>
      </Card>
      <Card title={t("settings.protect")} lead={t("settings.protectLead")}>
        <div class="in stack">
          <UnderAttack site={site.data} readOnly={readOnly} onChange={reload} />
          <Switches value={value} readOnly={readOnly} onChange={part} />
          <div class="cols">
            <div class="stack tight">
              <h3>{t("settings.assistants")}</h3>
              <Segments
                label={t("settings.assistants")}
                value={value.assistants}
                onChange={(assistants) => part({ assistants })}
                options={["challenge", "allow", "block"].map((each) => ({
                  value: each,
                  label: t(`settings.assistants.${each}`),
                }))}
              />
              <p class="s soft">
                {t("settings.assistantsHelp")} <Learn topic="detection#assistants" of={t("settings.assistants")} />
              </p>
            </div>
            <Field
              id="site-machine"
              label={t("settings.machineTokens")}
              help={t("settings.machineTokensHelp")}
              topic="signals#clusters"
              type="number"
              min={0}
              value={value.machineTokens}
              readOnly={readOnly}
              onText={(machineTokens) => part({ machineTokens })}
            />
          </div>
          <RowEditor
            label={t("settings.actions")}
            readOnly={readOnly}
            rows={value.actions}
            onChange={(next) => part({ actions: next })}
            empty={t("settings.actionsNone")}
            add={t("settings.addAction")}
            columns={[
              { name: "name", label: t("newSite.name"), kind: "text", placeholder: "login" },
              { name: "browserRequired", label: t("settings.browserRequired"), kind: "switch" },
              { name: "clearance", label: t("settings.clearance"), kind: "switch" },
              { name: "requireContentDigest", label: t("settings.digest"), kind: "switch" },
            ]}
          />
          <RowEditor
            label={t("settings.routes")}
            readOnly={readOnly}
            rows={value.routes}
            onChange={(next) => part({ routes: next })}
            empty={t("settings.routesNone")}
            add={t("settings.addRoute")}
            columns={[
              { name: "method", label: t("rules.method"), kind: "select", options: METHODS },
              { name: "path", label: t("settings.path"), kind: "text", placeholder: "/account/*" },
              { name: "action", label: t("filter.action"), kind: "select", options: actions },
            ]}
          />
          <div ref={opened}>
            <RowEditor
              label={t("settings.openPaths")}
              lead={
                <>
                  {t("settings.openPathsHelp")} <Learn topic="allow-webhooks" of={t("settings.openPaths")} />
                </>
              }
              readOnly={readOnly}
              rows={value.openPaths}
              onChange={(next) => part({ openPaths: next })}
              empty={t("settings.openPathsNone")}
              add={t("settings.addPath")}
              columns={[
                { name: "method", label: t("rules.method"), kind: "select", options: METHODS },
                { name: "path", label: t("settings.path"), kind: "text", placeholder: "/hooks/payment" },
                { name: "sender", label: t("settings.sender"), kind: "text" },
                { name: "perMinute", label: t("settings.perMinute"), kind: "text", placeholder: "60" },
                { name: "note", label: t("lists.note"), kind: "text" },
              ]}
            />
          </div>
          <Field
            id="site-wanted"
            label={t("settings.wanted")}
            help={t("settings.wantedHelp")}
            topic="signals#wanted-clients"
            rows={3}
            value={value.wanted}
            readOnly={readOnly}
            onText={(wanted) => part({ wanted })}
          />
          <Field
            id="site-feeds"
            label={t("settings.feeds")}
            help={t("settings.feedsHelp")}
            rows={3}
            value={value.feeds}
            readOnly={readOnly}
            onText={(feeds) => part({ feeds })}
          />
          <Field
            id="site-issuers"
            label={t("settings.issuers")}
            help={t("settings.issuersHelp")}
            topic="browser-check#private-access-tokens"
            rows={2}
            value={value.issuers}
            readOnly={readOnly}
            onText={(issuers) => part({ issuers })}
          />
          {site.data.tokenIssuers?.map((each) => (
            <p key={each.name} class="s soft">
              <code>{each.name}</code>: {t("settings.issuerKeys", { n: each.keys })}
              {each.readAt && (
                <>
                  {" "}
                  (<Time at={each.readAt} />)
                </>
              )}
              {each.problem && ` · ${each.problem}`}
            </p>
          ))}
        </div>
      </Card>
      <Credentials siteKey={siteKey} list={site.data.credentialList} onChange={site.reload} />
      <History siteKey={siteKey} turn={turn} onRestored={reload} />
      {edited.dirty && (
        <SaveDock
          before={changeOf(loaded)}
          after={changeOf(value)}
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
