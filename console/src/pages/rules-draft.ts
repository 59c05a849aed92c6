/** The draft of a rule set: kept for the session, checked while it is written. */

import { useEffect, useState } from "preact/hooks";
import { api, messageOf } from "../api/client";
import type { CheckedRules, RulesView } from "../api/types.gen";
import { useParams } from "../lib/params";
import { toYaml } from "../lib/yaml";
import { toastError } from "../ui/toasts";
import { type Mark } from "../ui/code-editor";
import { type DraftRules } from "./rules-tools";

const SETTLED_MS = 400;

export interface Draft extends DraftRules {
  /** The revision and the text that it began from. */
  revision: number;
  base: string;
}

export const textOf = (view: RulesView) => `${toYaml(view.ruleSet)}\n`;
export const draftOf = (view: RulesView): Draft => ({
  revision: view.revision,
  base: textOf(view),
  ruleSetText: textOf(view),
  overrides: view.overrides,
});

export function useRulesDraft(
  siteKey: string,
  view: RulesView | undefined,
): [Draft | null, (draft: Draft | null) => void] {
  const place = `draft:rules:${siteKey}`;
  const [draft, setDraft] = useState<Draft | null>(
    () => JSON.parse(sessionStorage.getItem(place) ?? "null") as Draft | null,
  );
  const shown = draft ?? (view ? draftOf(view) : null);
  const set = (next: Draft | null) => {
    if (next) sessionStorage.setItem(place, JSON.stringify(next));
    else sessionStorage.removeItem(place);
    setDraft(next);
  };
  return [shown, set];
}

/** Checks a draft while it is written. */
export function useChecked(siteKey: string, draft: Draft | null): CheckedRules | null {
  const [checked, setChecked] = useState<CheckedRules | null>(null);
  const key = draft ? JSON.stringify([draft.ruleSetText, draft.overrides]) : "";
  useEffect(() => {
    if (!draft) return;
    let over = false;
    const timer = setTimeout(() => {
      api
        .post<CheckedRules>(`/sites/${siteKey}/rules/validate`, {
          ruleSetText: draft.ruleSetText,
          overrides: draft.overrides,
        })
        .then((found) => over || setChecked(found))
        .catch(
          (failure: unknown) =>
            over || setChecked({ valid: false, errors: [{ message: messageOf(failure) }], lints: [], warnings: [] }),
        );
    }, SETTLED_MS);
    return () => {
      over = true;
      clearTimeout(timer);
    };
  }, [siteKey, key]);
  return checked;
}

export function marksOf(checked: CheckedRules | null): Mark[] {
  if (!checked) return [];
  return [
    ...checked.errors.map((each) => ({
      line: each.line ?? 0,
      column: each.column,
      tone: "block" as const,
      text: each.rule ? `${each.rule}: ${each.message}` : each.message,
    })),
    ...checked.lints.map((each) => ({
      line: each.line ?? 0,
      column: each.column,
      tone: "challenge" as const,
      text: each.rule ? `${each.rule}: ${each.message}` : each.message,
    })),
  ];
}

/** History leads here to take a change of the rules back: `restore` is the version before it, `undo` the one after. */
export function useRestored(
  siteKey: string,
  now: RulesView | undefined,
  onLoaded: (text: string, overrides: RulesView["overrides"], base: RulesView) => void,
): void {
  const [{ undo, restore }, set] = useParams();
  useEffect(() => {
    if (!undo || !restore || !now) return;
    set({ undo: undefined, restore: undefined }, true);
    const read = (version: string) => api.get<RulesView>(`/sites/${siteKey}/rules`, { version });
    Promise.all([read(restore), read(undo)])
      .then(([before, after]) => onLoaded(textOf(before), before.overrides, after))
      .catch(toastError);
  }, [undo, restore, now === undefined]);
}
