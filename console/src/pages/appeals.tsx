/** Appeals: the queue on the left, the evidence beside it, one key for each answer. */

import { useEffect, useState } from "preact/hooks";
import { useRoute } from "preact-iso";
import { api } from "../api/client";
import { may } from "../api/session";
import type {
  Appeal,
  AppealAnswer,
  AppealDetail,
  AppealPage,
  AppealState,
  DecisionDetail,
  SignalLabelList,
  VisitorDetail,
} from "../api/types.gen";
import { count } from "../lib/format";
import { useDraft } from "../lib/drafts";
import { useKeys } from "../lib/keys";
import { useParams } from "../lib/params";
import { useEvery, useQuery } from "../lib/query";
import { t } from "../lib/words";
import { siteHref } from "../ui/layout";
import { Empty, Failure, Field, Head, OutcomeBadge, Segments, Time } from "../ui/parts";
import { toast, toastError } from "../ui/toasts";
import { Evidence, Facts } from "./appeal-evidence";

const STATES: AppealState[] = ["waiting", "suspect", "let_in", "refused", "spam"];
const COUNTS = { waiting: "waiting", suspect: "suspect", let_in: "letIn", refused: "refused", spam: "spam" } as const;
const TERMS = ["1", "24", "168", "720"] as const;
const AGAIN_MS = 15_000;

function Pane({
  id,
  siteKey,
  meanings,
  onAnswer,
  onLabel,
  onReopen,
}: {
  id: string;
  siteKey: string;
  meanings: Record<string, string>;
  onAnswer: (appeal: Appeal, answer: AppealAnswer, hours: number, reply: string) => void;
  onLabel: (appeal: Appeal) => Promise<void>;
  onReopen: (appeal: Appeal) => void;
}) {
  const found = useQuery<AppealDetail>(id, (signal) => api.get(`/sites/${siteKey}/appeals/${id}`, {}, signal));
  const appeal = found.data?.appeal.id === id ? found.data.appeal : undefined;
  const decision = useQuery<DecisionDetail>(appeal?.decisionId ?? null, (signal) =>
    api.get(`/decisions/${appeal!.decisionId}`, { siteKey }, signal),
  );
  const visitor = useQuery<VisitorDetail>(appeal?.visitorId ?? null, (signal) =>
    api.get(`/visitors/${appeal!.visitorId}`, { siteKey }, signal),
  );
  const [hours, setHours] = useState<string>("24");
  const [reply, setReply, dropReply] = useDraft(`appeal:${id}`, "");
  const isOpen = appeal?.state === "waiting" || appeal?.state === "suspect";
  const mayWrite = may("sites:write");
  const answer = (what: AppealAnswer) => {
    if (!appeal || !isOpen || !mayWrite) return;
    dropReply();
    onAnswer(appeal, what, Number(hours), reply);
  };
  const label = () => {
    if (appeal && mayWrite) void onLabel(appeal).then(found.reload);
  };
  useKeys([
    { key: "a", help: t("appeals.letIn"), run: () => answer("let_in") },
    { key: "r", help: t("appeals.stay"), run: () => answer("refuse") },
    { key: "h", help: t("appeals.human"), run: label },
    { key: "x", help: t("appeals.spam"), run: () => answer("spam") },
  ]);
  if (found.error && !appeal) return <Failure error={found.error} retry={found.reload} />;
  if (!appeal || !found.data) {
    return (
      <div class="in stack">
        <span class="skel long" />
        <span class="skel" />
      </div>
    );
  }
  return (
    <>
      <div class="in stack">
        <div class="row apart">
          <span class="row">
            <OutcomeBadge outcome={appeal.outcome} />
            <a href={`${siteHref(siteKey, "decisions")}?open=${appeal.decisionId}`}>
              <code class="s">{appeal.decisionId}</code>
            </a>
          </span>
          <span class="s faint">
            <Time at={appeal.createdAt} />
          </span>
        </div>
        {appeal.message ? (
          <blockquote class="quote">{appeal.message}</blockquote>
        ) : (
          <p class="faint">{t("appeals.wordless")}</p>
        )}
        {decision.data ? (
          <Evidence detail={decision.data} visitor={visitor.data} meanings={meanings} />
        ) : decision.error ? (
          <p class="faint">{t("detail.notThere")}</p>
        ) : (
          <span class="skel long" />
        )}
        <Facts detail={found.data} visitor={visitor.data} siteKey={siteKey} />
        {isOpen ? (
          <div class="well stack tight">
            <Field
              id="reply"
              label={t("appeals.reply")}
              help={t("appeals.replyHelp")}
              value={reply}
              maxLength={300}
              onText={setReply}
            />
          </div>
        ) : (
          appeal.reply && (
            <div class="well">
              <p class="xs faint">{t("appeals.read")}</p>
              <p class="s">{appeal.reply}</p>
            </div>
          )
        )}
      </div>
      <footer class="answers">
        {isOpen ? (
          <>
            <button class="btn main big" onClick={() => answer("let_in")} aria-disabled={mayWrite ? undefined : "true"}>
              {t("appeals.letIn")} <kbd>A</kbd>
            </button>
            <button class="btn big" onClick={() => answer("refuse")} aria-disabled={mayWrite ? undefined : "true"}>
              {t("appeals.stay")} <kbd>R</kbd>
            </button>
            <button
              class="btn big"
              onClick={label}
              aria-pressed={appeal.label === "human"}
              aria-disabled={mayWrite ? undefined : "true"}
            >
              {t("appeals.human")} <kbd>H</kbd>
            </button>
            <button class="btn big quiet" onClick={() => answer("spam")} aria-disabled={mayWrite ? undefined : "true"}>
              {t("appeals.spam")} <kbd>X</kbd>
            </button>
            <span class="push">
              <Segments
                label={t("appeals.term")}
                value={hours}
                onChange={setHours}
                options={TERMS.map((each) => ({ value: each, label: t(`lists.term.${each}`) }))}
              />
            </span>
            {!mayWrite && <span class="s">{t("lists.mayNot")}</span>}
          </>
        ) : (
          <>
            <button class="btn" onClick={() => onReopen(appeal)} aria-disabled={mayWrite ? undefined : "true"}>
              {t("appeals.reopen")}
            </button>
            <button
              class="btn"
              onClick={label}
              aria-pressed={appeal.label === "human"}
              aria-disabled={mayWrite ? undefined : "true"}
            >
              {t("appeals.human")} <kbd>H</kbd>
            </button>
          </>
        )}
      </footer>
    </>
  );
}

function Row({ appeal, current, onOpen }: { appeal: Appeal; current: boolean; onOpen: () => void }) {
  return (
    <a
      href={`?open=${appeal.id}`}
      aria-current={current ? "true" : undefined}
      data-id={appeal.id}
      onClick={(event) => {
        event.preventDefault();
        onOpen();
      }}
    >
      <span class="row apart">
        <span class="row">
          <OutcomeBadge outcome={appeal.outcome} />
          <code class="xs">
            {appeal.method} {appeal.route}
          </code>
        </span>
        <span class="faint xs">
          <Time at={appeal.createdAt} />
        </span>
      </span>
      <span class="clip">{appeal.message || t("appeals.wordless")}</span>
    </a>
  );
}

export default function Appeals() {
  const { params: path } = useRoute();
  const siteKey = path["siteKey"] ?? "";
  const [params, set] = useParams();
  const state = (STATES.includes(params["state"] as AppealState) ? params["state"] : "waiting") as AppealState;
  const page = useQuery<AppealPage>(`${siteKey} ${state}`, (signal) =>
    api.get(`/sites/${siteKey}/appeals`, { state, limit: 100 }, signal),
  );
  const meanings = useQuery<Record<string, string>>("labels", async (signal) =>
    Object.fromEntries(
      (await api.get<SignalLabelList>("/signal-labels", {}, signal)).items.map((each) => [each.name, each.meaning]),
    ),
  );
  const [answered, setAnswered] = useState<string[]>([]);
  useEffect(() => setAnswered([]), [page.data]);
  useEvery(state === "waiting" ? AGAIN_MS : null, page.reload);
  const rows = (page.data?.items ?? []).filter(({ id }) => !answered.includes(id));
  const wanted = params["open"];
  const open = wanted ?? rows[0]?.id;
  const show = (id: string | undefined) => set({ open: id }, true);
  const at = rows.findIndex(({ id }) => id === open);
  const move = (step: number) => {
    const next = rows[Math.min(rows.length - 1, Math.max(0, at + step))];
    if (!next) return;
    show(next.id);
    document.querySelector(`[data-id="${next.id}"]`)?.scrollIntoView({ block: "nearest" });
  };
  useKeys([
    { key: "j", help: t("appeals.next"), run: () => move(1) },
    { key: "k", help: t("appeals.previous"), run: () => move(-1) },
  ]);
  const reopen = (appeal: Appeal) =>
    void api
      .delete(`/sites/${siteKey}/appeals/${appeal.id}/answer`)
      .then(() => {
        toast(t("appeals.reopened"));
        setAnswered((before) => before.filter((id) => id !== appeal.id));
        set({ state: undefined, open: appeal.id });
        page.reload();
      })
      .catch(toastError);
  const answer = (appeal: Appeal, what: AppealAnswer, hours: number, reply: string) => {
    // The next one is open before the answer is there: thirty in five minutes.
    const next = rows[at + 1] ?? rows[at - 1];
    setAnswered((before) => [...before, appeal.id]);
    show(next?.id);
    api
      .post(`/sites/${siteKey}/appeals/${appeal.id}/answer`, { answer: what, hours, reply })
      .then(() => toast(t(`appeals.did.${what}`, { term: t(`lists.for.${hours}`) }), () => reopen(appeal)))
      .then(page.reload)
      .catch((failure: unknown) => {
        setAnswered((before) => before.filter((id) => id !== appeal.id));
        show(appeal.id);
        toastError(failure);
      });
  };
  const label = (appeal: Appeal) =>
    api
      .put(`/sites/${siteKey}/appeals/${appeal.id}/label`, { label: "human" })
      .then(() => toast(t("detail.labeled", { label: t("label.human") })))
      .catch(toastError);
  const counts = page.data?.counts;
  const waiting = counts?.waiting ?? 0;
  return (
    <>
      <Head
        title={t("page.appeals")}
        actions={counts && <span class="s soft">{t("appeals.wait", { n: waiting })}</span>}
      >
        {t("appeals.lead")}
      </Head>
      <div class="filters">
        <Segments
          label={t("appeals.which")}
          value={state}
          onChange={(next) => set({ state: next === "waiting" ? undefined : next, open: undefined })}
          options={STATES.map((each) => ({
            value: each,
            label: `${t(`appeals.state.${each}`)}${counts ? ` ${count(counts[COUNTS[each]] ?? 0)}` : ""}`,
          }))}
        />
        <span class="push row s faint">
          <kbd>J</kbd>
          <kbd>K</kbd> {t("palette.move")}
        </span>
      </div>
      {page.error && !page.data ? (
        <div class="card">
          <Failure error={page.error} retry={page.reload} />
        </div>
      ) : page.data && rows.length === 0 && !wanted ? (
        <div class="card">
          <Empty icon="inbox" title={t(state === "waiting" ? "appeals.none" : "appeals.noneState")}>
            {t(state === "waiting" ? "appeals.noneWhy" : "appeals.noneStateWhy")}
          </Empty>
        </div>
      ) : (
        <div class="pair queue">
          <section class="card" aria-label={t(`appeals.state.${state}`)}>
            <nav class="list" aria-label={t(`appeals.state.${state}`)}>
              {page.data ? (
                rows.map((row) => (
                  <Row key={row.id} appeal={row} current={row.id === open} onOpen={() => show(row.id)} />
                ))
              ) : (
                <span class="skel long" />
              )}
            </nav>
          </section>
          {open && (
            <article class="card open" aria-label={t("appeals.one")}>
              <Pane
                key={open}
                id={open}
                siteKey={siteKey}
                meanings={meanings.data ?? {}}
                onAnswer={answer}
                onLabel={label}
                onReopen={reopen}
              />
            </article>
          )}
        </div>
      )}
    </>
  );
}
