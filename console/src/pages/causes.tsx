/** Why requests were not allowed, or would not have been: the managed rules and reasons as sentences. */

import type { Cause, Decision } from "../api/types.gen";
import { worst } from "../lib/outcomes";
import { has, t } from "../lib/words";
import { siteHref } from "../ui/layout";
import type { Bar } from "../ui/parts";

/** Prefix of managed rules, the kind of bot that they stop, and the cause that the sentence names. */
const RULES: [string, string, string][] = [
  ["list-block", "other", "blocklist"],
  ["ai-agents-", "ai", "ai_agent"],
  ["ai-use-", "ai", "ai_use"],
  ["automation-scanner", "scanners", "scanner"],
  ["automation-http-library", "libraries", "script"],
  ["automation-declared-bot", "scrapers", "crawler"],
  ["automation-", "browsers", "automation"],
  ["evidence-", "browsers", "evidence"],
  ["impersonation-signature", "forged", "signature"],
  ["impersonation-search-crawler", "forged", "forged_crawler"],
  ["impersonation-operator", "forged", "forged_crawler"],
  ["impersonation-unverified-agent", "forged", "ai_agent"],
  ["impersonation-", "forged", "unlike_browser"],
  ["programs-name-alone", "libraries", "crawler"],
  ["programs-", "libraries", "script"],
  ["datacenter-", "scrapers", "network"],
  ["score-", "scrapers", "headers"],
  ["clusters-", "scrapers", "replay"],
  ["rate-", "floods", "rate"],
  ["content-spam-", "spam", "content"],
];

const ofRule = (rule: string | undefined) => RULES.find(([prefix]) => rule?.startsWith(prefix));

/** The kind of bot that a rule stops. */
export function kindOf(rule: string | undefined): string {
  return ofRule(rule)?.[1] ?? "other";
}

function sentence(cause: string): string {
  const words = t(`cause.${cause}`);
  return `${words[0]!.toUpperCase()}${words.slice(1)}.`;
}

function sentenceOf(reason: string | undefined, rule: string | undefined): string {
  const managed = ofRule(rule);
  if (managed) return sentence(managed[2]);
  if (rule) return t("why.rule", { rule });
  return reason && has(`cause.${reason}`) ? sentence(reason) : t(reason === "other" ? "why.other" : "why.none");
}

/** Why a decision was made, in the words that its page has too. */
export function reasonOf(decision: Decision): string {
  const reason = decision.reasons.find((each) => has(`cause.${each}`));
  if (reason) return sentence(reason);
  const rule = decision.matchedRule;
  return worst(decision).outcome === "allow" && rule ? t("why.rule", { rule }) : sentenceOf(undefined, rule);
}

export function causeRows(causes: Cause[], siteKey: string, link: string): Bar[] {
  return causes.map(({ reason, rule, refused, wouldRefuse }) => ({
    key: `${reason} ${rule ?? ""}`,
    name: (
      <span class="wrap">
        {sentenceOf(reason, rule)} {ofRule(rule) && <code class="xs faint">{rule}</code>}
      </span>
    ),
    count: refused,
    would: wouldRefuse,
    href: rule && `${siteHref(siteKey, "decisions")}?${link}&rule=${encodeURIComponent(rule)}`,
  }));
}
