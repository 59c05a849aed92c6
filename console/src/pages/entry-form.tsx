/** Letting somebody in, or keeping somebody out, by name: kind, value, term, note, and what else it would change. */

import { useEffect, useState } from "preact/hooks";
import { api, messageOf } from "../api/client";
import { may } from "../api/session";
import type { ListBacktestReport, ListEntry, ListKind, ListOutcome } from "../api/types.gen";
import { count } from "../lib/format";
import { useDraft } from "../lib/drafts";
import { t } from "../lib/words";
import { siteHref } from "../ui/layout";
import { Field, Note, OutcomeBadge, Segments } from "../ui/parts";
import { toast } from "../ui/toasts";

const HOUR_MS = 3_600_000;
// Hours; 0 is for good.
export const TERMS = [1, 24, 168, 720, 0] as const;
const SETTLED_MS = 450;

/** When a term of so many hours that begins now ends; of 0, never. */
export const endOf = (hours: string) =>
  hours === "0" ? undefined : new Date(Date.now() + Number(hours) * HOUR_MS).toISOString();

export interface Suggestion {
  kind: ListKind;
  value: string;
}

/** Tries the entry on the last seven days while it is being written. */
export function useBacktest(siteKey: string, kind: ListKind, value: string, outcome: ListOutcome) {
  const [report, setReport] = useState<ListBacktestReport | null>(null);
  const [problem, setProblem] = useState("");
  const [busy, setBusy] = useState(false);
  useEffect(() => {
    setReport(null);
    setProblem("");
    if (!value.trim()) return;
    let over = false;
    const timer = setTimeout(() => {
      setBusy(true);
      api
        .post<ListBacktestReport>(`/sites/${siteKey}/list-entries/backtest`, { kind, value: value.trim(), outcome })
        .then((found) => over || setReport(found))
        .catch((failure: unknown) => over || setProblem(messageOf(failure)))
        .finally(() => over || setBusy(false));
    }, SETTLED_MS);
    return () => {
      over = true;
      clearTimeout(timer);
    };
  }, [siteKey, kind, value, outcome]);
  return { report, problem, busy };
}

/** What an entry opens or closes beside the one that was meant. */
export function Opens({
  report,
  outcome,
  siteKey,
}: {
  report: ListBacktestReport;
  outcome: ListOutcome;
  siteKey: string;
}) {
  if (!report.told) return <Note tone="info">{report.why}</Note>;
  const many = report.visitors > 1;
  return (
    <div class="stack tight">
      <Note tone={many ? "challenge" : "info"}>
        {many && <b>{t(`lists.many.${outcome}`)} </b>}
        {report.changed === 0
          ? t("lists.nothing", { n: report.concerned })
          : t(`lists.would.${outcome}`, { n: report.changed, visitors: t("lists.visitors", { n: report.visitors }) })}
      </Note>
      {report.flips.length > 0 && (
        <ul class="stack tight">
          {report.flips.map((flip) => (
            <li class="row s" key={flip.from + flip.to}>
              <OutcomeBadge outcome={flip.from} /> → <OutcomeBadge outcome={flip.to} would />
              <b class="num">{count(flip.count)}</b>
              {flip.examples.slice(0, 3).map((id) => (
                <a class="xs" key={id} href={`${siteHref(siteKey, "decisions")}?open=${id}`}>
                  <code>{id}</code>
                </a>
              ))}
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

export function EntryForm({
  siteKey,
  name,
  suggestions = [],
  kinds,
  outcomes,
  onDone,
}: {
  siteKey: string;
  /** Under which what is typed is kept. */
  name: string;
  suggestions?: Suggestion[];
  kinds: ListKind[];
  outcomes: ListOutcome[];
  onDone: (made: ListEntry) => void;
}) {
  const [kept, keepKind] = useDraft(`${name}:kind`, suggestions[0]?.kind ?? kinds[0]!);
  const kind = (kinds.includes(kept as ListKind) ? kept : kinds[0]) as ListKind;
  const suggestedFor = (which: ListKind) => suggestions.find((each) => each.kind === which)?.value ?? "";
  const [value, setValue, dropValue] = useDraft(`${name}:value`, suggestedFor(kind));
  const setKind = (next: ListKind) => {
    // What was typed stays where it may still be meant; what was suggested is of its kind.
    if (!value || value === suggestedFor(kind)) setValue(suggestedFor(next));
    keepKind(next);
  };
  const [note, setNote, dropNote] = useDraft(`${name}:note`, "");
  const [hours, setHours] = useState<string>("24");
  const [outcome, setOutcome] = useState<ListOutcome>(outcomes[0]!);
  const [problem, setProblem] = useState("");
  const [busy, setBusy] = useState(false);
  const tried = useBacktest(siteKey, kind, value, outcome);
  const mayWrite = may("sites:write");
  const add = async (event: SubmitEvent) => {
    event.preventDefault();
    if (busy || !mayWrite) return;
    if (!value.trim()) return setProblem(t("lists.missing"));
    setBusy(true);
    setProblem("");
    try {
      const made = await api.post<ListEntry>(`/sites/${siteKey}/list-entries`, {
        kind,
        value: value.trim(),
        outcome,
        note: note.trim(),
        expiresAt: endOf(hours),
      });
      dropValue();
      dropNote();
      toast(t(`lists.did.${outcome}`, { value: made.value }), () => {
        void api.delete(`/sites/${siteKey}/list-entries/${made.id}`).then(() => onDone({ ...made, expired: true }));
      });
      onDone(made);
    } catch (failure) {
      setProblem(messageOf(failure));
    } finally {
      setBusy(false);
    }
  };
  const id = name.replace(/\W/g, "");
  const wrong = problem || tried.problem;
  return (
    <form class="stack" onSubmit={(event) => void add(event)}>
      {outcomes.length > 1 && (
        <Segments
          label={t("lists.outcome")}
          value={outcome}
          onChange={setOutcome}
          options={outcomes.map((each) => ({ value: each, label: t(`lists.outcome.${each}`) }))}
        />
      )}
      <Segments
        label={t("lists.kind")}
        value={kind}
        onChange={setKind}
        options={kinds.map((each) => ({ value: each, label: t(`lists.kind.${each}`) }))}
      />
      <Field
        id={`${id}-value`}
        label={t(`lists.value.${kind}`)}
        help={t(`lists.help.${kind}`)}
        error={wrong || undefined}
        value={value}
        spellcheck={false}
        autocomplete="off"
        onText={(text) => {
          setProblem("");
          setValue(text);
        }}
      />
      <Segments
        label={t("lists.term")}
        value={hours}
        onChange={setHours}
        options={TERMS.map((each) => ({ value: String(each), label: t(`lists.term.${each}`) }))}
      />
      <Field
        id={`${id}-note`}
        label={t("lists.note")}
        help={t("lists.noteHelp")}
        value={note}
        maxLength={500}
        onText={setNote}
      />
      <div aria-live="polite">
        {tried.busy && <p class="s faint">{t("lists.trying")}</p>}
        {tried.report && <Opens report={tried.report} outcome={outcome} siteKey={siteKey} />}
      </div>
      <div class="row">
        <button class="btn main" aria-busy={busy} aria-disabled={mayWrite ? undefined : "true"}>
          {t(`lists.do.${outcome}`, { term: t(`lists.for.${hours}`) })}
        </button>
        {!mayWrite && <span class="s faint">{t("lists.mayNot")}</span>}
      </div>
    </form>
  );
}
