/** For operators: how much each label changed the scores of a decision. */

import { api } from "../api/client";
import type { DecisionContributions } from "../api/types.gen";
import { score } from "../lib/format";
import { useQuery } from "../lib/query";
import { t } from "../lib/words";
import { LabelPill } from "../ui/parts";

export function Contributions({ id, siteKey }: { id: string; siteKey: string }) {
  const { data } = useQuery<DecisionContributions>(id, (signal) =>
    api.get(`/decisions/${id}/contributions`, { siteKey }, signal),
  );
  return (
    <>
      {Object.entries(data?.models ?? {}).map(
        ([kind, { contributions }]) =>
          contributions.length > 0 && (
            <details key={kind}>
              <summary class="b s">{t("detail.contributions", { kind })}</summary>
              <ul class="stack tight reasons">
                {contributions.map(({ feature, effect, meaning }) => (
                  <li key={feature}>
                    <b class="num">
                      {effect < 0 ? "−" : "+"}
                      {score(Math.abs(effect))}
                    </b>{" "}
                    {meaning} <LabelPill label={feature} />
                  </li>
                ))}
              </ul>
            </details>
          ),
      )}
    </>
  );
}
