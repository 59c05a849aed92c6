/** Decisions worth a label, one key each, and doubtful labels. What was pressed can be undone. */

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { useRoute } from "preact-iso";
import { api } from "../../api/client";
import type {
  Decision,
  DecisionLabelValue,
  DecisionPage,
  FeatureCapture,
  LabelPage,
  LabelQueue,
  LabelReview,
  Outcome,
} from "../../api/types.gen";
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
const ORDERS = ["useful", "refused", "newest", "review"] as const;

/** A decision of the list. `label`: what it is labeled now, if its label is reviewed. */
interface Item {
  id: string;
  badge?: { outcome: Outcome; would?: boolean };
  label?: DecisionLabelValue;
  value?: number;
  text: ComponentChildren;
  side: ComponentChildren;
}

/** One decision of each visitor and route: labeling the same thing twice teaches nothing. */
function distinct(decisions: Decision[]): Decision[] {
  const seen = new Set<string>();
  return decisions.filter((each) => {
    const key = `${each.visitorId} ${each.route} ${worst(each).outcome}`;
    return seen.has(key) ? false : seen.add(key);
  });
}

const reasonsOf = (reasons: string[]) => reasons.map((each) => t(`lab.reason.${each}`)).join(", ");

async function readItems(siteKey: string, order: string, signal: AbortSignal): Promise<Item[]> {
  if (order === "useful") {
    const queue = await api.get<LabelQueue>("/labels/queue", { siteKey, limit: READ }, signal);
    return queue.items.map((each) => ({
      id: each.decisionId,
      // The queue has what enforce mode decides, applied or not.
      badge: { outcome: each.outcome, would: each.outcome !== "allow" },
      value: each.score,
      text: reasonsOf(each.reasons),
      side: t("lab.alike", { n: each.alike }),
    }));
  }
  const now = Date.now();
  const range = { from: new Date(now - 7 * DAY_MS).toISOString(), to: new Date(now).toISOString() };
  const page = await api.get<DecisionPage>("/decisions", { siteKey, ...range, limit: READ }, signal);
  return distinct(page.items.filter((each) => !each.operatorLabel))
    .filter((each) => order === "newest" || worst(each).outcome !== "allow")
    .map((each) => ({
      id: each.id,
      badge: worst(each),
      value: each.scores?.["bot"],
      text: (
        <code class="clip">
          {each.method} <RouteName route={each.route} />
        </code>
      ),
      side: <Time at={each.time} />,
    }));
}

/** Labels that other labels or the evidence contradict. The operator decides: nothing is changed. */
async function readReview(siteKey: string, signal: AbortSignal): Promise<[Item[], LabelReview]> {
  const review = await api.get<LabelReview>("/labels/review", { siteKey, limit: READ }, signal);
  const items = review.items.map((each) => ({
    id: each.decisionId,
    label: each.label,
    value: each.score,
    text: reasonsOf(each.reasons),
    side: each.actor,
  }));
  return [items, review];
}

function Shares({ review }: { review: LabelReview }) {
  const rows = [...review.actors, ...review.sources];
  return (
    <Card title={t("lab.shares")} lead={t("lab.sharesLead", { n: review.doubtful, labels: review.labels })}>
      <dl class="rows in">
        {rows.map((each) => (
          <div key={each.name}>
            <dt>{each.name}</dt>
            <dd>{t("lab.share", { n: each.doubtful, labels: each.labels })}</dd>
          </div>
        ))}
      </dl>
    </Card>
  );
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
  const order = (ORDERS as readonly string[]).includes(params["order"] ?? "") ? params["order"]! : "useful";
  const [done, setDone] = useState<string[]>([]);
  const page = useQuery<[Item[], LabelReview?]>(`${siteKey} ${order}`, async (signal) =>
    order === "review" ? readReview(siteKey, signal) : [await readItems(siteKey, order, signal)],
  );
  const labels = useQuery<LabelPage>(`${siteKey} ${done.length}`, (signal) =>
    api.get("/labels", { siteKey, limit: 200 }, signal),
  );
  const [items, review] = page.data ?? [[]];
  const queue = items.filter(({ id }) => !done.includes(id));
  const chosen = queue.find(({ id }) => id === params["open"]) ?? queue[0];
  const known = labels.data?.items ?? [];
  const label = (item: Item, value: DecisionLabelValue) => {
    const at = queue.indexOf(item);
    const put = (given: DecisionLabelValue) =>
      api.put(`/decisions/${item.id}/label?siteKey=${siteKey}`, { label: given });
    const bringBack = () => setDone((before) => before.filter((id) => id !== item.id));
    setDone((before) => [...before, item.id]);
    set({ open: (queue[at + 1] ?? queue[at - 1])?.id }, true);
    void put(value)
      .then(() =>
        toast(t("detail.labeled", { label: t(`label.${value}`) }), () => {
          const undone = item.label ? put(item.label) : api.delete(`/decisions/${item.id}/label?siteKey=${siteKey}`);
          undone.catch(toastError);
          bringBack();
          set({ open: item.id }, true);
        }),
      )
      .catch((failure: unknown) => {
        bringBack();
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
          onChange={(value) => set({ order: value === "useful" ? undefined : value, open: undefined })}
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
            title={t(items.length ? "lab.done" : order === "review" ? "lab.reviewNone" : "lab.none")}
            actions={
              <button class="btn" onClick={page.reload}>
                {t("lab.again")}
              </button>
            }
          >
            {t(items.length || order === "useful" ? "lab.doneWhy" : "lab.noneWhy")}
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
                      {each.badge ? <OutcomeBadge {...each.badge} /> : <b>{t(`label.${each.label ?? "unsure"}`)}</b>}
                      <span class="num faint">{each.value === undefined ? "–" : score(each.value)}</span>
                    </span>
                    <span class="row apart">
                      <span class="s">{each.text}</span>
                      <span class="faint s nw">{each.side}</span>
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
      {review && <Shares review={review} />}
      <Capture siteKey={siteKey} />
    </>
  );
}
