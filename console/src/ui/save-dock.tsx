/** The dock of a page that is edited in place: what changed, discard with undo, review with the difference, save. */

import { useState } from "preact/hooks";
import { t } from "../lib/words";
import { toYaml } from "../lib/yaml";
import { Dialog } from "./dialogs";
import { DiffView } from "./diff-view";
import { Note } from "./parts";
import { toast } from "./toasts";

export function SaveDock<T>({
  before,
  after,
  onDiscard,
  onRestore,
  onSave,
  problem,
  busy,
}: {
  before: T;
  after: T;
  onDiscard: () => void;
  onRestore: (kept: T) => void;
  onSave: () => Promise<boolean>;
  problem: string;
  busy: boolean;
}) {
  const [open, setOpen] = useState(false);
  return (
    <>
      <div class="dock" role="region" aria-label={t("dock.label")}>
        <b>{t("dock.changed")}</b>
        <span class="faint">{t("rules.kept")}</span>
        <span class="push row">
          <button
            class="btn quiet"
            onClick={() => {
              onDiscard();
              toast(t("rules.discarded"), () => onRestore(after));
            }}
          >
            {t("rules.discard")}
          </button>
          <button class="btn main" onClick={() => setOpen(true)}>
            {t("rules.review")}
          </button>
        </span>
      </div>
      <Dialog open={open} onClose={() => setOpen(false)} label={t("rules.review")} className="broad">
        <header>
          <h2>{t("rules.whatChanged")}</h2>
        </header>
        <div class="in stack tight">
          <DiffView before={toYaml(before)} after={toYaml(after)} label={t("rules.whatChanged")} />
          {problem && <Note tone="block">{problem}</Note>}
        </div>
        <footer>
          <button class="btn" onClick={() => setOpen(false)} autofocus>
            {t("rules.back")}
          </button>
          <button
            class="btn main"
            aria-busy={busy}
            onClick={() => void onSave().then((done) => done && setOpen(false))}
          >
            {t("rules.save")}
          </button>
        </footer>
      </Dialog>
    </>
  );
}
