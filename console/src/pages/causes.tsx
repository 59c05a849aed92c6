/** Why requests were not allowed, or would not have been: rules and reasons as rows of bars. */

import type { Cause } from "../api/types.gen";
import { named, t } from "../lib/words";
import { siteHref } from "../ui/layout";
import type { Bar } from "../ui/parts";

export function causeRows(causes: Cause[], siteKey: string, link: string): Bar[] {
  return causes.map(({ reason, rule, refused, wouldRefuse }) => ({
    key: `${reason} ${rule ?? ""}`,
    name: rule ? t("why.rule", { rule }) : named("why", reason),
    count: refused,
    would: wouldRefuse,
    tone: "block",
    href: rule && `${siteHref(siteKey, "decisions")}?${link}&rule=${encodeURIComponent(rule)}`,
  }));
}
