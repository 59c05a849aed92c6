/** Where a site's decisions and troubles are pushed to: deliveries, a test, a new secret. */

import { useState } from "preact/hooks";
import { useRoute } from "preact-iso";
import { api } from "../../api/client";
import { may } from "../../api/session";
import type {
  Outcome,
  Webhook,
  WebhookDelivery,
  WebhookDeliveryList,
  WebhookList,
  WebhookSecret,
} from "../../api/types.gen";
import { count } from "../../lib/format";
import { useKeys } from "../../lib/keys";
import { useParams } from "../../lib/params";
import { useEvery, useQuery } from "../../lib/query";
import { t } from "../../lib/words";
import { Confirm } from "../../ui/dialogs";
import { FormDialog, Secret, Select, Toggle, useAction } from "../../ui/forms";
import { Icon } from "../../ui/icons";
import { Card, Empty, Failure, Field, Head, Note, Time, type Tone } from "../../ui/parts";
import { toast, toastError } from "../../ui/toasts";
import { DataTable } from "../../ui/table";

const REFRESH_MS = 10_000;
const FORMATS = ["json", "ndjson", "slack", "discord", "matrix", "ntfy"];
const EVENTS = ["decisions", "health"] as const;
const OUTCOMES: Outcome[] = ["allow", "challenge", "block", "drop"];
const TONES: Record<Webhook["status"], Tone | undefined> = { ok: "allow", failing: "block", paused: undefined };

function Deliveries({ siteKey, hook }: { siteKey: string; hook: Webhook }) {
  const list = useQuery<WebhookDeliveryList>(hook.id, (signal) =>
    api.get(`/sites/${siteKey}/webhooks/${hook.id}/deliveries`, {}, signal),
  );
  useEvery(REFRESH_MS, list.reload);
  return (
    <DataTable<WebhookDelivery>
      title={t("hook.deliveries")}
      lead={t("hook.deliveriesLead")}
      keys={false}
      loaded={list}
      rows={list.data?.items ?? []}
      rowKey={(row) => row.id}
      csv={`${hook.id}-deliveries`}
      empty={
        <Empty icon="hook" title={t("hook.noDeliveries")}>
          {t("hook.noDeliveriesWhy")}
        </Empty>
      }
      columns={[
        {
          id: "time",
          label: t("decision.time"),
          class: "nw faint",
          cell: (row) => <Time at={row.time} />,
          csv: (row) => row.time,
        },
        { id: "type", label: t("hook.type"), cell: (row) => t(`hook.type.${row.type}`), csv: (row) => row.type },
        {
          id: "result",
          label: t("hook.result"),
          cell: (row) => (
            <>
              <span class="tag" data-o={row.delivered ? "allow" : "block"}>
                {row.status ?? t(row.delivered ? "hook.delivered" : "hook.failed")}
              </span>
              {row.error && <small class="wrap">{row.error}</small>}
            </>
          ),
          csv: (row) => (row.delivered ? "delivered" : (row.error ?? "failed")),
        },
        {
          id: "items",
          label: t("hook.items"),
          class: "n opt",
          cell: (row) => count(row.items),
          csv: (row) => row.items,
        },
        {
          id: "attempts",
          label: t("hook.attempts"),
          class: "n opt2",
          cell: (row) => count(row.attempts),
          csv: (row) => row.attempts,
        },
        {
          id: "durationMs",
          label: t("hook.took"),
          class: "n opt",
          cell: (row) => `${count(row.durationMs)} ms`,
          csv: (row) => row.durationMs,
        },
      ]}
    />
  );
}

/**
 * A webhook as the form describes it: all outcomes if none is chosen. The form does not show the kinds of the filter
 * and keeps them.
 */
function read(form: FormData, before?: Webhook): Record<string, unknown> {
  const outcomes = form.getAll("outcome");
  const format = String(form.get("format"));
  const { kinds } = before?.filter ?? {};
  return {
    url: String(form.get("url")).trim(),
    // Messages are sent for health changes only.
    events: FORMATS.indexOf(format) > 1 ? ["health"] : form.getAll("event"),
    format,
    filter: { ...(kinds && { kinds }), ...(outcomes.length && outcomes.length < OUTCOMES.length && { outcomes }) },
  };
}

function Fields({ hook }: { hook?: Webhook }) {
  return (
    <>
      <Field
        id="url"
        name="url"
        label={t("hook.url")}
        help={t("hook.urlHelp")}
        value={hook?.url}
        required
        autofocus
        autocomplete="off"
        inputmode="url"
      />
      <fieldset class="stack tight">
        <legend class="b">{t("hook.events")}</legend>
        {EVENTS.map((event) => (
          <label class="row tick" key={event}>
            <input type="checkbox" name="event" value={event} checked={hook ? hook.events.includes(event) : true} />
            <span>{t(`hook.event.${event}`)}</span>
          </label>
        ))}
      </fieldset>
      <fieldset class="stack tight">
        <legend class="b">{t("hook.only")}</legend>
        <div class="row">
          {OUTCOMES.map((outcome) => (
            <label class="row tick" key={outcome}>
              <input
                type="checkbox"
                name="outcome"
                value={outcome}
                checked={hook?.filter?.outcomes?.includes(outcome) ?? false}
              />
              {t(`outcome.${outcome}`)}
            </label>
          ))}
        </div>
        <p class="help faint xs">{t("hook.onlyHelp")}</p>
      </fieldset>
      <Select
        id="format"
        label={t("hook.format")}
        value={hook?.format ?? "json"}
        options={FORMATS.map((value) => ({ value, label: t(`hook.${value}`) }))}
        help={t("hook.formatHelp")}
      />
    </>
  );
}

function Hook({
  siteKey,
  hook,
  reload,
  onSecret,
  open,
  onOpen,
}: {
  siteKey: string;
  hook: Webhook;
  reload: () => void;
  onSecret: (made: WebhookSecret) => void;
  open: boolean;
  onOpen: () => void;
}) {
  const act = useAction(reload);
  const [asked, setAsked] = useState<"edit" | "rotate" | "delete" | null>(null);
  const [tested, setTested] = useState<WebhookDelivery | null>(null);
  const [busy, setBusy] = useState(false);
  const writes = may("sites:write");
  const base = hook.id;
  const test = () => {
    setBusy(true);
    void api
      .post<WebhookDelivery>(`/sites/${siteKey}/webhooks/${base}/test`)
      .then(setTested)
      .catch(toastError)
      .finally(() => {
        setBusy(false);
        reload();
      });
  };
  return (
    <Card
      title={new URL(hook.url).host}
      label={`${new URL(hook.url).host} ${hook.id}`}
      lead={<code>{hook.url}</code>}
      side={
        <span class="tag" data-o={TONES[hook.status]}>
          {t(`hook.is.${hook.status}`)}
        </span>
      }
      footer={
        <>
          {writes && (
            <button class="btn" onClick={test} aria-busy={busy}>
              {t("hook.test")}
            </button>
          )}
          <button class="btn" aria-expanded={open} onClick={onOpen}>
            {t("hook.deliveries")}
          </button>
          {writes && (
            <span class="push row">
              <button class="btn" onClick={() => setAsked("edit")}>
                {t("hook.edit")}
              </button>
              <button class="btn" onClick={() => setAsked("rotate")}>
                {t("hook.rotate")}
              </button>
              <button class="btn bad" onClick={() => setAsked("delete")}>
                {t("hook.delete")}
              </button>
            </span>
          )}
        </>
      }
    >
      <div class="in stack">
        <dl class="rows">
          <div>
            <dt>{t("hook.events")}</dt>
            <dd>
              {hook.events.map((event) => t(`hook.event.${event}`)).join(", ")}
              {hook.filter?.outcomes && ` · ${hook.filter.outcomes.map((each) => t(`outcome.${each}`)).join(", ")}`}
            </dd>
          </div>
          <div>
            <dt>{t("hook.lastDelivery")}</dt>
            <dd>{hook.lastDeliveryAt ? <Time at={hook.lastDeliveryAt} /> : t("usr.never")}</dd>
          </div>
        </dl>
        {hook.lastError && <Note tone="block">{hook.lastError}</Note>}
        {tested && (
          <div role="status">
            <Note tone={tested.delivered ? "allow" : "block"}>
              {tested.delivered
                ? t("hook.testWell", { status: tested.status ?? 200, ms: tested.durationMs })
                : t("hook.testFailed", { error: tested.error ?? String(tested.status ?? "–") })}
            </Note>
          </div>
        )}
        {writes && (
          <Toggle
            checked={hook.enabled}
            label={t(hook.enabled ? "hook.on" : "hook.off")}
            onChange={(enabled) =>
              act(() => api.patch(`/sites/${siteKey}/webhooks/${base}`, { enabled }), t("cust.saved"))
            }
          />
        )}
        {open && <Deliveries siteKey={siteKey} hook={hook} />}
      </div>
      <FormDialog
        open={asked === "edit"}
        title={t("hook.edit")}
        action={t("cust.save")}
        onClose={() => setAsked(null)}
        onSubmit={async (form) => {
          await api.patch(`/sites/${siteKey}/webhooks/${base}`, read(form, hook));
          setAsked(null);
          toast(t("cust.saved"));
          reload();
        }}
      >
        <Fields hook={hook} />
      </FormDialog>
      <Confirm
        open={asked === "rotate" || asked === "delete"}
        title={t(asked === "delete" ? "hook.deleteTitle" : "hook.rotateTitle", { host: new URL(hook.url).host })}
        action={t(asked === "delete" ? "hook.delete" : "hook.rotate")}
        onClose={() => setAsked(null)}
        onConfirm={() => {
          const what = asked;
          setAsked(null);
          if (what === "delete") act(() => api.delete(`/sites/${siteKey}/webhooks/${base}`), t("hook.deleted"));
          else
            void api.post<WebhookSecret>(`/sites/${siteKey}/webhooks/${base}/rotate`).then(onSecret).catch(toastError);
        }}
      >
        {t(asked === "delete" ? "hook.deleteLead" : "hook.rotateLead")}
      </Confirm>
    </Card>
  );
}

export default function Webhooks() {
  const { params: path } = useRoute();
  const siteKey = path["siteKey"] ?? "";
  const [params, set] = useParams();
  const hooks = useQuery<WebhookList>(siteKey, (signal) => api.get(`/sites/${siteKey}/webhooks`, {}, signal));
  const [making, setMaking] = useState(false);
  const [secret, setSecret] = useState<WebhookSecret | null>(null);
  const items = hooks.data?.items ?? [];
  const failing = items.filter(({ status }) => status === "failing").length;
  const writes = may("sites:write");
  useKeys(writes ? [{ key: "n", help: t("hook.make"), run: () => setMaking(true) }] : []);
  const make = writes && (
    <button class="btn main" onClick={() => setMaking(true)}>
      <Icon name="plus" />
      {t("hook.make")} <kbd>N</kbd>
    </button>
  );
  return (
    <>
      <Head title={t("page.webhooks")} actions={make || undefined}>
        {hooks.data &&
          t(failing ? "hook.leadFailing" : items.length ? "hook.lead" : "hook.leadNone", { n: items.length, failing })}
      </Head>
      {secret && (
        <Secret
          text={secret.secret}
          label={t("hook.secret", { host: new URL(secret.webhook.url).host })}
          note={t("hook.secretNote")}
          onDone={() => setSecret(null)}
        />
      )}
      {hooks.error && !hooks.data ? (
        <div class="card">
          <Failure error={hooks.error} retry={hooks.reload} />
        </div>
      ) : hooks.data && items.length === 0 ? (
        <div class="card">
          <Empty icon="hook" title={t("hook.none")} actions={make || undefined}>
            {t("hook.noneWhy")}
          </Empty>
        </div>
      ) : (
        items.map((hook) => (
          <Hook
            key={hook.id}
            siteKey={siteKey}
            hook={hook}
            reload={hooks.reload}
            open={params["open"] === hook.id}
            onOpen={() => set({ open: params["open"] === hook.id ? undefined : hook.id }, true)}
            onSecret={(made) => {
              setSecret(made);
              hooks.reload();
            }}
          />
        ))
      )}
      <FormDialog
        open={making}
        title={t("hook.make")}
        lead={t("hook.makeLead")}
        action={t("hook.make")}
        onClose={() => setMaking(false)}
        onSubmit={async (form) => {
          const made = await api.post<WebhookSecret>(`/sites/${siteKey}/webhooks`, read(form));
          setSecret(made);
          setMaking(false);
          hooks.reload();
        }}
      >
        <Fields />
      </FormDialog>
    </>
  );
}
