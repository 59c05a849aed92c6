/** Changes the effect, the expiry and the note of an exception; what it matches stays. */

import { useState } from "preact/hooks";
import { api, messageOf } from "../api/client";
import type { ListEntry, ListOutcome } from "../api/types.gen";
import { t } from "../lib/words";
import { Dialog } from "../ui/dialogs";
import { Field, Note, Segments, Time } from "../ui/parts";
import { toast, toastError } from "../ui/toasts";
import { endOf, Opens, TERMS, useBacktest } from "./entry-form";

const KEPT = "kept";
const OUTCOMES: ListOutcome[] = ["allow", "block"];

export function EntryEdit({
  siteKey,
  entry,
  onClose,
  onDone,
}: {
  siteKey: string;
  entry: ListEntry;
  onClose: () => void;
  onDone: () => void;
}) {
  const [outcome, setOutcome] = useState(entry.outcome);
  const [term, setTerm] = useState(KEPT);
  const [note, setNote] = useState(entry.note);
  const [problem, setProblem] = useState("");
  const [busy, setBusy] = useState(false);
  const tried = useBacktest(siteKey, entry.kind, outcome === entry.outcome ? "" : entry.value, outcome);
  const put = (value: Pick<ListEntry, "outcome" | "note" | "expiresAt">) =>
    api.put<ListEntry>(`/sites/${siteKey}/list-entries/${entry.id}`, value);
  const save = (event: SubmitEvent) => {
    event.preventDefault();
    if (busy) return;
    setBusy(true);
    put({ outcome, note: note.trim(), expiresAt: term === KEPT ? entry.expiresAt : endOf(term) })
      .then(() => {
        const { outcome: before, note: text, expiresAt } = entry;
        toast(t("lists.changed", { value: entry.value }), () => {
          put({ outcome: before, note: text, expiresAt }).then(onDone).catch(toastError);
        });
        onClose();
        onDone();
      })
      .catch((failure: unknown) => setProblem(messageOf(failure)))
      .finally(() => setBusy(false));
  };
  return (
    <Dialog open onClose={onClose} label={t("lists.edit", { value: entry.value })}>
      <form class="flat" onSubmit={save}>
        <header>
          <h2>{t("lists.edit", { value: entry.value })}</h2>
          <p>{t("lists.editLead")}</p>
        </header>
        <div class="in stack">
          <Segments
            label={t("lists.outcome")}
            value={outcome}
            onChange={setOutcome}
            options={OUTCOMES.map((each) => ({ value: each, label: t(`lists.outcome.${each}`) }))}
          />
          <Segments
            label={t("lists.until")}
            value={term}
            onChange={setTerm}
            options={[
              { value: KEPT, label: entry.expiresAt ? <Time at={entry.expiresAt} /> : t("lists.term.0") },
              ...TERMS.filter((hours) => hours > 0 || entry.expiresAt).map((hours) => ({
                value: String(hours),
                label: t(hours ? "lists.termIn" : "lists.term.0", { term: t(`lists.term.${hours}`) }),
              })),
            ]}
          />
          <Field id="entry-note" label={t("lists.note")} value={note} maxLength={500} onText={setNote} />
          <div aria-live="polite">
            {tried.busy && <p class="s faint">{t("lists.trying")}</p>}
            {tried.report && <Opens report={tried.report} outcome={outcome} siteKey={siteKey} />}
          </div>
          {problem && <Note tone="block">{problem}</Note>}
        </div>
        <footer>
          <button type="button" class="btn" onClick={onClose} autofocus>
            {t("rules.back")}
          </button>
          <button class="btn main" aria-busy={busy}>
            {t("lists.save")}
          </button>
        </footer>
      </form>
    </Dialog>
  );
}
