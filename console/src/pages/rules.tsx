/** A site's rules: the text, what results, what it would do, and saving it without losing anybody's work. */

import { useEffect, useMemo, useState } from "preact/hooks";
import { useRoute } from "preact-iso";
import { api, ApiError } from "../api/client";
import { may } from "../api/session";
import type {
  BacktestReport,
  ManagedGroupList,
  Outcome,
  RuleSet,
  RuleSetDocument,
  RulesView,
  SignalLabelList,
} from "../api/types.gen";
import { merge3 } from "../lib/diff";
import { useKeys } from "../lib/keys";
import { useQuery } from "../lib/query";
import { loadManageWords, t } from "../lib/words";
import { toYaml } from "../lib/yaml";
import { CodeEditor } from "../ui/code-editor";
import { Confirm, Dialog } from "../ui/dialogs";
import { DiffView } from "../ui/diff-view";
import { Failure, Head, Note, Segments, Time } from "../ui/parts";
import { toast, toastError } from "../ui/toasts";
import { RuleBuilder } from "./rules-builder";
import { Backtest, TestRequest, turnedAway } from "./rules-tools";
import { Draft, textOf, useRulesDraft, useChecked, marksOf, useRestored } from "./rules-draft";
import { ACTIONS, Effective, Groups } from "./rules-lists";

/** Refusals that a person can confirm. */
const ASKING = new Set(["backtest_refused", "confirmation_required"]);
const KEYWORDS = [
  "version",
  "rules",
  "name",
  "match",
  "action",
  "routes",
  "response",
  "default_action",
  "group",
  "overrides",
  "scope_down",
  "all_labels",
  "any_labels",
  "none_labels",
  "any_prefix",
  "score",
  "min_score",
  "networks",
  "countries",
  "asns",
  "user_agents",
  "headers",
  "methods",
  "paths",
  "hosts",
  ...ACTIONS,
];

export default function Rules() {
  const { params: path } = useRoute();
  const siteKey = path["siteKey"] ?? "";
  const view = useQuery<RulesView>(siteKey, (signal) => api.get(`/sites/${siteKey}/rules`, {}, signal));
  const groups = useQuery<ManagedGroupList>("groups", (signal) => api.get("/managed-groups", {}, signal));
  const labels = useQuery<SignalLabelList>("labels", (signal) => api.get("/signal-labels", {}, signal));
  const [draft, setDraft] = useRulesDraft(siteKey, view.data);
  const checked = useChecked(siteKey, draft);
  const [report, setReport] = useState<BacktestReport | null>(null);
  const [reviewing, setReviewing] = useState(false);
  const [leaving, setLeaving] = useState(false);
  /** What the service asks about before it saves, and the answers that the person has confirmed. */
  const [asked, setAsked] = useState<{ code: string; message: string } | null>(null);
  const [confirmed, setConfirmed] = useState<string[]>([]);
  const [busy, setBusy] = useState(false);
  const [asRows, setRows] = useState(false);
  /** The document that the builder began with: the text of the moment in which it was opened, once that is valid. */
  const [began, setBegan] = useState<RuleSetDocument>();
  const [built, setBuilt] = useState("");
  useEffect(() => {
    if (!asRows) setBegan(undefined);
    else if (!began && checked?.valid) setBegan(checked.ruleSet);
  }, [asRows, checked]);
  // Whatever else replaces the draft (discarding, merging, restoring) begins anew.
  useEffect(() => {
    if (draft && began && built && draft.ruleSetText !== built) {
      setBegan(undefined);
      setBuilt("");
    }
  }, [draft?.ruleSetText]);
  const words = useMemo(
    () => [
      ...(labels.data?.items ?? []).map(({ name, meaning }) => ({ word: name.replace(/\.\*$/, "."), meaning })),
      ...[...new Set((groups.data?.items ?? []).map(({ name }) => name))].map((word) => ({
        word,
        meaning: t("rules.groups"),
      })),
      ...KEYWORDS.map((word) => ({ word, meaning: "" })),
    ],
    [labels.data, groups.data],
  );
  const mayWrite = may("sites:write");
  const now = view.data;
  const dirty = Boolean(
    draft &&
    now &&
    (draft.ruleSetText !== textOf(now) || JSON.stringify(draft.overrides) !== JSON.stringify(now.overrides)),
  );
  const stale = Boolean(draft && now && dirty && draft.revision !== now.revision);
  const errors = checked?.errors.length ?? 0;
  const warnings = checked?.warnings.length ?? 0;
  const ready = Boolean(checked?.valid);
  const change = (part: Partial<Draft>) => {
    if (!draft) return;
    setReport(null);
    setDraft({ ...draft, ...part });
  };
  const forget = () => {
    setAsked(null);
    setConfirmed([]);
  };
  const review = () => {
    if (!ready || !dirty || stale || !mayWrite) return;
    forget();
    setReviewing(true);
  };
  useEffect(() => {
    const save = (event: KeyboardEvent) => {
      if ((event.metaKey || event.ctrlKey) && event.key === "s") {
        event.preventDefault();
        review();
      }
    };
    document.addEventListener("keydown", save);
    return () => document.removeEventListener("keydown", save);
  });
  useKeys([
    {
      key: "b",
      help: t("rules.run"),
      run: () => document.querySelector<HTMLElement>("[data-backtest] header .btn")?.click(),
    },
  ]);
  /** Returns whether the service asked for a confirmation. */
  const isAsked = (failure: unknown) => {
    const found = failure instanceof ApiError && ASKING.has(failure.code);
    if (found) setAsked(failure);
    return found;
  };
  const save = async (given: string[]) => {
    if (!draft || busy) return;
    setBusy(true);
    setAsked(null);
    setConfirmed(given);
    const { ruleSetText, overrides, revision } = draft;
    const humans = given.includes("backtest_refused") ? {} : { maxHumanFlips: 0 };
    try {
      const saved = await api.put<RulesView>(`/sites/${siteKey}/rules`, {
        ruleSetText,
        overrides,
        revision,
        ...humans,
        guard: true,
        acknowledge: given.includes("confirmation_required"),
      });
      const before = now;
      view.set(saved);
      setDraft(null);
      setReport(null);
      setReviewing(false);
      toast(t("rules.saved", { revision: saved.revision }), before && (() => undo(before, saved.revision)));
    } catch (failure) {
      if (failure instanceof ApiError && failure.code === "revision_conflict") {
        setReviewing(false);
        view.reload();
      } else if (!isAsked(failure)) toastError(failure);
    } finally {
      setBusy(false);
    }
  };
  /** Writes the rules of before as a new revision; what was saved in between is not lost without a word. */
  const undo = (before: RulesView, revision: number) =>
    void api
      .put<RulesView>(`/sites/${siteKey}/rules`, {
        ...(before.source === "site" ? { ruleSet: before.ruleSet, overrides: before.overrides } : {}),
        preset: before.preset,
        revision,
      })
      .then((saved) => {
        view.set(saved);
        toast(t("rules.saved", { revision: saved.revision }));
      })
      .catch(toastError);
  const marks = [`<<<<<<< ${t("rules.yours")}`, "=======", `>>>>>>> ${t("rules.theirs")}`] as [string, string, string];
  useRestored(siteKey, now, (text, overrides, base) => {
    const merged = merge3(textOf(base), text, textOf(now!), marks);
    setDraft({ revision: now!.revision, base: textOf(now!), ruleSetText: merged.text, overrides });
    toast(merged.conflicts ? t("rules.mergedConflicts", { n: merged.conflicts }) : t("rules.undoing"));
  });
  const merge = () => {
    if (!draft || !now) return;
    const merged = merge3(draft.base, draft.ruleSetText, textOf(now), marks);
    setDraft({
      revision: now.revision,
      base: textOf(now),
      ruleSetText: merged.text,
      overrides: { ...now.overrides, ...draft.overrides },
    });
    toast(merged.conflicts ? t("rules.mergedConflicts", { n: merged.conflicts }) : t("rules.merged"));
  };
  const follow = async () => {
    if (!now) return;
    try {
      const saved = await api.put<RulesView>(`/sites/${siteKey}/rules`, {
        revision: now.revision,
        guard: true,
        acknowledge: asked !== null,
      });
      view.set(saved);
      setDraft(null);
      toast(t("rules.follows"));
    } catch (failure) {
      if (isAsked(failure)) return;
      toastError(failure);
    }
    setLeaving(false);
  };
  if (view.error && !now) {
    return (
      <>
        <Head title={t("page.rules")} />
        <div class="card">
          <Failure error={view.error} retry={view.reload} />
        </div>
      </>
    );
  }
  return (
    <>
      <Head
        title={t("page.rules")}
        actions={
          now?.source === "site" && mayWrite ? (
            <button
              class="btn"
              onClick={() => {
                forget();
                setLeaving(true);
              }}
            >
              {t("rules.follow")}
            </button>
          ) : undefined
        }
      >
        {t("rules.lead")} {now && t(`rules.source.${now.source}`, { revision: now.revision })}{" "}
        {now?.updatedAt && <Time at={now.updatedAt} />} {now?.updatedBy}
      </Head>
      {now && now.warnings.length > 0 && (
        <Note tone="challenge">
          <b>{t("rules.matchNothing")}</b>
          <ul class="list">
            {now.warnings.map((each) => (
              <li key={each.message}>{each.message}</li>
            ))}
          </ul>
        </Note>
      )}
      {stale && (
        <Note
          tone="challenge"
          action={
            <span class="row">
              <button class="btn main" onClick={merge}>
                {t("rules.merge")}
              </button>
              <button class="btn" onClick={() => setDraft(null)}>
                {t("rules.takeTheirs")}
              </button>
            </span>
          }
        >
          <b>{t("rules.stale", { who: now?.updatedBy ?? "", revision: now?.revision ?? 0 })}</b>
        </Note>
      )}
      <div class="pair even">
        <section class="code" aria-label={t("rules.text")}>
          <header>
            <Segments
              label={t("builder.views")}
              value={asRows ? "rows" : "text"}
              onChange={(view) => void loadManageWords().then(() => setRows(view === "rows"))}
              options={[
                { value: "text", label: t("builder.text") },
                { value: "rows", label: t("builder.rows") },
              ]}
            />
            {t("rules.draftFrom", { revision: draft?.revision ?? 0 })}
            <span class="push row">
              {errors > 0 && (
                <span class="tag" data-o="block">
                  {t("rules.errors", { n: errors })}
                </span>
              )}
              {(checked?.lints.length ?? 0) > 0 && (
                <span class="tag" data-o="challenge">
                  {t("rules.hints", { n: checked!.lints.length })}
                </span>
              )}
            </span>
          </header>
          {draft && asRows ? (
            began ? (
              <RuleBuilder
                siteKey={siteKey}
                document={began}
                rewrites={draft.ruleSetText !== `${toYaml(began)}\n` && draft.ruleSetText !== built}
                onChange={(document) => {
                  const ruleSetText = `${toYaml(document)}\n`;
                  setBuilt(ruleSetText);
                  change({ ruleSetText });
                }}
              />
            ) : (
              <div class="in">
                <p class="soft">{t(checked && !checked.valid ? "builder.invalid" : "builder.reading")}</p>
              </div>
            )
          ) : draft ? (
            <CodeEditor
              label={t("rules.text")}
              value={draft.ruleSetText}
              onChange={(ruleSetText) => change({ ruleSetText })}
              marks={marksOf(checked)}
              words={words}
              readOnly={!mayWrite}
            />
          ) : (
            <div class="in">
              <span class="skel long" />
            </div>
          )}
        </section>
        {(checked?.effective ?? now?.effective) && draft && (
          <Effective
            set={(checked?.effective ?? now!.effective) as RuleSet}
            overrides={draft.overrides}
            onOverride={(rule, action) => change({ overrides: { ...draft.overrides, [rule]: action as Outcome } })}
          />
        )}
      </div>
      {draft && (
        <>
          <div data-backtest>
            <Backtest
              siteKey={siteKey}
              draft={{ ruleSetText: draft.ruleSetText, overrides: draft.overrides }}
              ready={ready}
              report={report}
              onReport={setReport}
            />
          </div>
          <TestRequest
            siteKey={siteKey}
            draft={{ ruleSetText: draft.ruleSetText, overrides: draft.overrides }}
            ready={ready}
          />
        </>
      )}
      {groups.data && <Groups groups={groups.data} />}
      {dirty && draft && (
        <div class="dock" role="region" aria-label={t("rules.dock")}>
          <span class="state">
            <span class="dot" data-o={errors ? "block" : warnings ? "challenge" : "allow"} />
            <b>
              {errors
                ? t("rules.errors", { n: errors })
                : warnings
                  ? t("rules.warnings", { n: warnings })
                  : t("rules.valid")}
            </b>
          </span>
          {report && turnedAway(report) > 0 && (
            <span class="state">
              <span class="dot" data-o="block" />
              {t("rules.people", { n: turnedAway(report) })}
            </span>
          )}
          <span class="faint">{t("rules.kept")}</span>
          <span class="push row">
            <button
              class="btn quiet"
              onClick={() => {
                const before = draft;
                setDraft(null);
                toast(t("rules.discarded"), () => setDraft(before));
              }}
            >
              {t("rules.discard")}
            </button>
            <button
              class="btn main"
              onClick={review}
              aria-disabled={ready && !stale && mayWrite ? undefined : "true"}
              aria-describedby={ready ? undefined : "why-not"}
            >
              {t("rules.review")} <kbd>Ctrl S</kbd>
            </button>
          </span>
          {!ready && (
            <span class="vh" id="why-not">
              {t("rules.mend")}
            </span>
          )}
        </div>
      )}
      <Dialog open={reviewing} onClose={() => setReviewing(false)} label={t("rules.review")} className="broad">
        <header>
          <h2>{t("rules.whatChanged")}</h2>
          <p>{t("rules.reviewLead")}</p>
        </header>
        {draft && now && (
          <div class="in stack tight">
            <DiffView
              before={`${textOf(now)}overrides: ${toYaml(now.overrides)}`}
              after={`${draft.ruleSetText}overrides: ${toYaml(draft.overrides)}`}
              label={t("rules.whatChanged")}
            />
            {asked && <Note tone="block">{asked.message}</Note>}
          </div>
        )}
        <footer>
          <button class="btn" onClick={() => setReviewing(false)} autofocus>
            {t("rules.back")}
          </button>
          {asked ? (
            <button class="btn bad" aria-busy={busy} onClick={() => void save([...confirmed, asked.code])}>
              {t("rules.saveAnyway")}
            </button>
          ) : (
            <button class="btn main" aria-busy={busy} onClick={() => void save([])}>
              {t("rules.save")}
            </button>
          )}
        </footer>
      </Dialog>
      {now && (
        <Confirm
          open={leaving}
          title={t("rules.follow")}
          word={siteKey}
          action={t("rules.follow")}
          onConfirm={() => void follow()}
          onClose={() => setLeaving(false)}
        >
          {asked ? asked.message : t("rules.followWhy")}
        </Confirm>
      )}
    </>
  );
}
