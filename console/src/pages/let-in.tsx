/**
 * "Add an exception", next to a decision: for this visitor, agent, network or program, with a term and what else it
 * opens.
 */

import { useState } from "preact/hooks";
import type { Decision, ListKind } from "../api/types.gen";
import { t } from "../lib/words";
import { siteHref } from "../ui/layout";
import { EntryForm, type Suggestion } from "./entry-form";

export function LetIn({ decision, siteKey }: { decision: Decision; siteKey: string }) {
  const [done, setDone] = useState(false);
  const suggestions: Suggestion[] = [];
  if (decision.visitorId) suggestions.push({ kind: "visitor", value: decision.visitorId });
  if (decision.agent) suggestions.push({ kind: "agent", value: decision.agent });
  const kinds: ListKind[] = [...suggestions.map(({ kind }) => kind), "network", "program"];
  if (done) {
    return (
      <p class="s">
        {t("lists.letIn")} <a href={siteHref(siteKey, "lists")}>{t("lists.all")}</a>
      </p>
    );
  }
  return (
    <EntryForm
      key={decision.id}
      siteKey={siteKey}
      name={`let-in:${decision.id}`}
      suggestions={suggestions}
      kinds={kinds}
      outcomes={["allow"]}
      onDone={(made) => setDone(!made.expired)}
    />
  );
}
