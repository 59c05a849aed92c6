/** Decisions that nobody has labeled yet, the least certain first: one key each, and what was pressed can be undone. */

import { useState } from "preact/hooks";
import { useRoute } from "preact-iso";
import { api } from "../../api/client";
import type { Decision, DecisionLabelValue, DecisionPage, FeatureCapture, LabelPage } from "../../api/types.gen";
import { count, score } from "../../lib/format";
import { useKeys } from "../../lib/keys";
import { useParams } from "../../lib/params";
import { useQuery } from "../../lib/query";
import { t } from "../../lib/words";
import { worst } from "../../lib/outcomes";
import { FormDialog, Toggle, useAction } from "../../ui/forms";
import { Card, Empty, Failure, Field, Head, OutcomeBadge, RouteName, Segments, Time } from "../../ui/parts";
import { toast, toastError } from "../../ui/toasts";
import { DecisionDetailPane } from "../../pages/decision-detail";

const READ = 200;
const DAY_MS = 86_400_000;
const LABELS: [DecisionLabelValue, string][] = [
  ["human", "h"],
  ["bot", "b"],
  ["agent", "a"],
  ["unsure", "u"],
];
const ORDERS = ["unsure", "refused", "newest"] as const;

/** How far the bot score is from the middle; what has no score comes last. */
function doubt(decision: Decision): number {
  const bot = decision.scores?.["bot"];
  return bot === undefined ? 1 : Math.abs(bot - 0.5);
}

/** One decision of each visitor and route: labeling the same thing twice teaches nothing. */
function distinct(decisions: Decision[]): Decision[] {
  const seen = new Set<string>();
  return decisions.filter((each) => {
    const key = `${each.visitorId} ${each.route} ${worst(each).outcome}`;
    return seen.has(key) ? false : seen.add(key);
  });
}

function Capture({ siteKey }: { siteKey: string }) {
  const capture = useQuery<FeatureCapture>(siteKey, (signal) =>
    api.get(`/sites/${siteKey}/feature-capture`, {}, signal),
  );
  const act = useAction(capture.reload);
  const [asked, setAsked] = useState<"on" | "off" | null>(null);
  const { data } = capture;
  return (
    <Card title={t("cap.title")} lead={t("cap.lead")}>
      {capture.error && !data && <Failure error={capture.error} retry={capture.reload} />}
      {data && (
        <div class="in row apart">
          <Toggle
            checked={data.enabled}
            label={data.enabled ? t("cap.on", { days: data.retentionDays, n: data.stored }) : t("cap.off")}
            onChange={(on) => setAsked(on ? "on" : "off")}
          />
          {data.updatedAt && (
            <span class="faint s">
              {data.updatedBy} · <Time at={data.updatedAt} />
            </span>
          )}
        </div>
      )}
      <FormDialog
        open={asked !== null}
        title={t(asked === "off" ? "cap.offTitle" : "cap.onTitle")}
        lead={asked === "off" ? t("cap.offLead", { n: data?.stored ?? 0 }) : t("cap.onLead")}
        action={t(asked === "off" ? "cap.turnOff" : "cap.turnOn")}
        bad={asked === "off"}
        onClose={() => {
          setAsked(null);
          capture.reload();
        }}
        onSubmit={async (form) => {
          const body =
            asked === "off" ? { enabled: false } : { enabled: true, retentionDays: Number(form.get("days")) };
          setAsked(null);
          act(() => api.put(`/sites/${siteKey}/feature-capture`, body), t("cust.saved"));
        }}
      >
        {asked === "on" ? (
          <Field
            id="days"
            name="days"
            type="number"
            min={1}
            max={365}
            value={data?.retentionDays ?? 30}
            label={t("cap.days")}
            required
            autofocus
          />
        ) : (
          <p>{t("cap.keepLabels")}</p>
        )}
      </FormDialog>
    </Card>
  );
}

export default function Labeling() {
  const { params: path } = useRoute();
  const siteKey = path["siteKey"] ?? "";
  const [params, set] = useParams();
  const order = (ORDERS as readonly string[]).includes(params["order"] ?? "") ? params["order"]! : "unsure";
  const [done, setDone] = useState<string[]>([]);
  const page = useQuery<DecisionPage>(siteKey, (signal) => {
    const now = Date.now();
    return api.get(
      "/decisions",
      { siteKey, from: new Date(now - 7 * DAY_MS).toISOString(), to: new Date(now).toISOString(), limit: READ },
      signal,
    );
  });
  const labels = useQuery<LabelPage>(`${siteKey} ${done.length}`, (signal) =>
    api.get("/labels", { siteKey, limit: 200 }, signal),
  );
  const open = distinct((page.data?.items ?? []).filter((each) => !each.operatorLabel && !done.includes(each.id)));
  const queue =
    order === "newest"
      ? open
      : order === "refused"
        ? open.filter((each) => worst(each).outcome !== "allow")
        : [...open].sort((one, other) => doubt(one) - doubt(other));
  const chosen = queue.find(({ id }) => id === params["open"]) ?? queue[0];
  const known = labels.data?.items ?? [];
  const label = (decision: Decision, value: DecisionLabelValue) => {
    const at = queue.indexOf(decision);
    setDone((before) => [...before, decision.id]);
    set({ open: (queue[at + 1] ?? queue[at - 1])?.id }, true);
    void api
      .put(`/decisions/${decision.id}/label?siteKey=${siteKey}`, { label: value })
      .then(() =>
        toast(t("detail.labeled", { label: t(`label.${value}`) }), () => {
          void api.delete(`/decisions/${decision.id}/label?siteKey=${siteKey}`).catch(toastError);
          setDone((before) => before.filter((id) => id !== decision.id));
          set({ open: decision.id }, true);
        }),
      )
      .catch((failure: unknown) => {
        setDone((before) => before.filter((id) => id !== decision.id));
        toastError(failure);
      });
  };
  const move = (step: number) => {
    const at = chosen ? queue.indexOf(chosen) : -1;
    const next = queue[Math.min(queue.length - 1, Math.max(0, at + step))];
    if (next) set({ open: next.id }, true);
  };
  useKeys([
    { key: "j", help: t("decisions.next"), run: () => move(1) },
    { key: "k", help: t("decisions.previous"), run: () => move(-1) },
    ...LABELS.map(([value, key]) => ({
      key,
      help: t("detail.labelKey", { label: t(`label.${value}`) }),
      run: () => chosen && label(chosen, value),
    })),
  ]);
  return (
    <>
      <Head title={t("page.labeling")}>
        {page.data && t("lab.lead", { n: queue.length, labels: count(known.length) })}
      </Head>
      <div class="filters">
        <Segments
          label={t("lab.order")}
          value={order}
          onChange={(value) => set({ order: value === "unsure" ? undefined : value, open: undefined })}
          options={ORDERS.map((value) => ({ value: value as string, label: t(`lab.order.${value}`) }))}
        />
        <span class="legend">
          {LABELS.map(([value]) => (
            <span key={value}>
              {t(`label.${value}`)} <b>{count(known.filter((each) => each.label === value).length)}</b>
            </span>
          ))}
        </span>
      </div>
      {page.error && !page.data ? (
        <div class="card">
          <Failure error={page.error} retry={page.reload} />
        </div>
      ) : page.data && !chosen ? (
        <div class="card">
          <Empty
            icon="tag"
            title={t(page.data.items.length ? "lab.done" : "lab.none")}
            actions={
              <button class="btn" onClick={page.reload}>
                {t("lab.again")}
              </button>
            }
          >
            {t(page.data.items.length ? "lab.doneWhy" : "lab.noneWhy")}
          </Empty>
        </div>
      ) : (
        chosen && (
          <div class="pair queue">
            <section class="card" aria-label={t("lab.queue")}>
              <div class="list tall" tabIndex={0} role="group" aria-label={t("lab.queue")}>
                {queue.slice(0, 50).map((each) => (
                  <a
                    key={each.id}
                    href={`?open=${each.id}`}
                    aria-current={each === chosen ? "true" : undefined}
                    onClick={(event) => {
                      event.preventDefault();
                      event.stopPropagation();
                      set({ open: each.id }, true);
                    }}
                  >
                    <span class="row apart">
                      <OutcomeBadge {...worst(each)} />
                      <span class="num faint">
                        {each.scores?.["bot"] === undefined ? "–" : score(each.scores["bot"])}
                      </span>
                    </span>
                    <span class="row apart">
                      <code class="clip">
                        {each.method} <RouteName route={each.route} />
                      </code>
                      <span class="faint s nw">
                        <Time at={each.time} />
                      </span>
                    </span>
                  </a>
                ))}
              </div>
            </section>
            <DecisionDetailPane
              id={chosen.id}
              siteKey={siteKey}
              onClose={() => move(1)}
              onFilter={() => undefined}
              onLabel={(value) => label(chosen, value)}
            />
          </div>
        )
      )}
      <Capture siteKey={siteKey} />
    </>
  );
}
