/** Named lists of networks, which rules refer to: own ones, lists at a URL, and the bans of CrowdSec. */

import { useState } from "preact/hooks";
import { api, messageOf } from "../api/client";
import { may } from "../api/session";
import type { NetworkList, NetworkLists, NetworkPage, NetworkSource } from "../api/types.gen";
import { count } from "../lib/format";
import { useQuery } from "../lib/query";
import { t } from "../lib/words";
import { Confirm, Dialog } from "../ui/dialogs";
import { Icon } from "../ui/icons";
import { Card, Empty, Field, Learn, Note, Segments, Time } from "../ui/parts";
import { DataTable } from "../ui/table";
import { toast, toastError } from "../ui/toasts";

const PAGE = 200;
const SOURCES: NetworkSource[] = ["own", "url", "crowdsec"];

function Networks({ siteKey, list, onClose }: { siteKey: string; list: NetworkList; onClose: () => void }) {
  const [q, setQ] = useState("");
  const [text, setText] = useState("");
  const [problem, setProblem] = useState("");
  const [older, setOlder] = useState<{ q: string; page: NetworkPage }>();
  const read = (cursor?: string, signal?: AbortSignal) =>
    api.get<NetworkPage>(`/sites/${siteKey}/network-lists/${list.name}/networks`, { q, limit: PAGE, cursor }, signal);
  const page = useQuery<NetworkPage>(q, (signal) => read(undefined, signal));
  const rest = older?.q === q ? older.page : { items: [], nextCursor: page.data?.nextCursor };
  const more = () =>
    void read(rest.nextCursor)
      .then((next) => setOlder({ q, page: { ...next, items: [...rest.items, ...next.items] } }))
      .catch(toastError);
  const change = (field: "add" | "remove") => {
    const networks = text.split(/[\s,]+/).filter(Boolean);
    if (!networks.length) return;
    api
      .post<NetworkList>(`/sites/${siteKey}/network-lists/${list.name}/networks`, { [field]: networks })
      .then((now) => {
        setText("");
        setProblem("");
        setOlder(undefined);
        toast(`${list.name}: ${count(now.networks)}`);
        page.reload();
      })
      .catch((failure: unknown) => setProblem(messageOf(failure)));
  };
  return (
    <Dialog open onClose={onClose} label={list.name}>
      <header>
        <h2>{list.name}</h2>
      </header>
      <div class="in stack">
        <Field
          id="nets-q"
          type="search"
          label={t("nets.search")}
          error={page.error && q ? messageOf(page.error) : undefined}
          value={q}
          onText={setQ}
        />
        <pre class="mono s" tabIndex={0} aria-label={t("nets.networks")}>
          {[...(page.data?.items ?? []), ...rest.items].join("\n") || "–"}
        </pre>
        {rest.nextCursor && (
          <button type="button" class="btn" onClick={more}>
            {t("visitors.more")}
          </button>
        )}
        {list.source === "own" && may("sites:write") && (
          <>
            <Field
              id="nets-text"
              rows={4}
              label={t("nets.networks")}
              error={problem || undefined}
              value={text}
              onText={setText}
            />
            <div class="row">
              <button type="button" class="btn main" onClick={() => change("add")}>
                {t("nets.add")}
              </button>
              <button type="button" class="btn" onClick={() => change("remove")}>
                {t("nets.remove")}
              </button>
            </div>
          </>
        )}
      </div>
      <footer>
        <button type="button" class="btn" onClick={onClose}>
          {t("toasts.close")}
        </button>
      </footer>
    </Dialog>
  );
}

function NewList({ siteKey, onDone }: { siteKey: string; onDone: () => void }) {
  const [source, setSource] = useState<NetworkSource>("own");
  const [name, setName] = useState("");
  const [url, setUrl] = useState("");
  const [key, setKey] = useState("");
  const [problem, setProblem] = useState("");
  const save = (event: SubmitEvent) => {
    event.preventDefault();
    api
      .put(`/sites/${siteKey}/network-lists/${encodeURIComponent(name.trim())}`, {
        source,
        ...(source !== "own" && { url: url.trim() }),
        ...(source === "crowdsec" && { key: key.trim() }),
      })
      .then(() => {
        toast(name.trim());
        onDone();
      })
      .catch((failure: unknown) => setProblem(messageOf(failure)));
  };
  return (
    <form class="stack" onSubmit={save}>
      <Segments
        label={t("nets.source")}
        value={source}
        onChange={setSource}
        options={SOURCES.map((each) => ({ value: each, label: t(`nets.source.${each}`) }))}
      />
      <Field id="nets-name" label={t("newSite.name")} value={name} onText={setName} />
      {source !== "own" && (
        <Field id="nets-url" label={t("nets.source.url")} value={url} spellcheck={false} onText={setUrl} />
      )}
      {source === "crowdsec" && (
        <Field id="nets-key" type="password" label={t("nets.key")} value={key} autocomplete="off" onText={setKey} />
      )}
      {problem && <Note tone="block">{problem}</Note>}
      <div class="row">
        <button class="btn main">{t("nets.new")}</button>
      </div>
    </form>
  );
}

export function NetworkListsCard({ siteKey }: { siteKey: string }) {
  const page = useQuery<NetworkLists>(siteKey, (signal) => api.get(`/sites/${siteKey}/network-lists`, {}, signal));
  const [adding, setAdding] = useState(false);
  const [shown, setShown] = useState<NetworkList>();
  const [ending, setEnding] = useState<NetworkList>();
  const mayWrite = may("sites:write");
  const refresh = (name: string) =>
    void api.post(`/sites/${siteKey}/network-lists/${name}/refresh`, {}).then(page.reload).catch(toastError);
  return (
    <>
      {adding && (
        <Card title={t("nets.new")}>
          <div class="in">
            <NewList
              siteKey={siteKey}
              onDone={() => {
                setAdding(false);
                page.reload();
              }}
            />
          </div>
        </Card>
      )}
      {shown && (
        <Networks
          siteKey={siteKey}
          list={shown}
          onClose={() => {
            setShown(undefined);
            page.reload();
          }}
        />
      )}
      {ending && (
        <Confirm
          open
          title={`${t("nets.deleteDo")}: ${ending.name}`}
          action={t("nets.deleteDo")}
          onClose={() => setEnding(undefined)}
          onConfirm={() =>
            api
              .delete(`/sites/${siteKey}/network-lists/${ending.name}`)
              .then(page.reload)
              .catch(toastError)
              .finally(() => setEnding(undefined))
          }
        >
          {t("nets.networks")}: {count(ending.networks)}
        </Confirm>
      )}
      <DataTable
        title={t("nets.title")}
        lead={
          <>
            {t("nets.lead", { n: count(page.data?.networks ?? 0), most: count(page.data?.mostNetworks ?? 0) })}{" "}
            <Learn topic="write-rules#network-lists" of={t("nets.title")} />
          </>
        }
        side={
          mayWrite && (
            <button class="btn" onClick={() => setAdding(!adding)} aria-expanded={adding}>
              <Icon name="plus" />
              {t("nets.new")}
            </button>
          )
        }
        keys={false}
        loaded={page}
        rows={page.data?.items ?? []}
        rowKey={(row) => row.name}
        empty={
          <Empty icon="list" title={t("nets.none")}>
            {t("nets.noneWhy")}
          </Empty>
        }
        columns={[
          {
            id: "name",
            label: t("newSite.name"),
            cell: (row) => (
              <button class="btn quiet" onClick={() => setShown(row)}>
                <code>{row.name}</code>
              </button>
            ),
          },
          { id: "source", label: t("nets.source"), class: "opt", cell: (row) => t(`nets.source.${row.source}`) },
          { id: "networks", label: t("nets.networks"), class: "n", cell: (row) => count(row.networks) },
          {
            id: "rules",
            label: t("page.rules"),
            class: "opt2 cut",
            cell: (row) => row.rules.join(", ") || <span class="faint">–</span>,
          },
          {
            id: "state",
            label: t("nets.state"),
            cell: (row) =>
              row.problem ? (
                <Note tone="block">{row.problem}</Note>
              ) : row.source === "own" ? (
                <span class="faint">–</span>
              ) : row.checkedAt ? (
                <span>
                  <Time at={row.checkedAt} />
                </span>
              ) : (
                <span class="faint">…</span>
              ),
          },
          {
            id: "actions",
            label: <span class="vh">{t("lists.actions")}</span>,
            class: "n",
            cell: (row) =>
              mayWrite && (
                <span class="row end">
                  {row.source !== "own" && (
                    <button class="btn quiet" onClick={() => refresh(row.name)}>
                      {t("nets.refresh")}
                    </button>
                  )}
                  <button
                    class="btn quiet"
                    aria-label={`${t("nets.deleteDo")}: ${row.name}`}
                    onClick={() => setEnding(row)}
                  >
                    {t("nets.deleteDo")}
                  </button>
                </span>
              ),
          },
        ]}
      />
    </>
  );
}
