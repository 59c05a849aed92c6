/**
 * One decision, explained: a sentence, the way it took, what was seen, the scores. The raw record is one press away.
 */

import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { api, ApiError, isOperator } from "../api/client";
import { may } from "../api/session";
import type { Decision, DecisionDetail, DecisionLabelValue, RuleMatch } from "../api/types.gen";
import { clock, decimal, score } from "../lib/format";
import { useKeys } from "../lib/keys";
import { useQuery } from "../lib/query";
import { has, language, named, t } from "../lib/words";
import { worst } from "../lib/outcomes";
import { Icon, type IconName } from "../ui/icons";
import { siteHref } from "../ui/layout";
import { CopyButton, Failure, LabelPill, OutcomeBadge, Time } from "../ui/parts";
import { toast, toastError } from "../ui/toasts";
import { Contributions } from "./contributions";
import { LetIn } from "./let-in";
import { reasonOf } from "./causes";
import { openPathHref, ruleHref, WhatAndWhy } from "./decision-evidence";

const LABELS: [DecisionLabelValue, string][] = [
  ["human", "h"],
  ["bot", "b"],
  ["agent", "a"],
  ["unsure", "u"],
];
const SIGN: Record<string, IconName> = { allow: "check", challenge: "ask", block: "no", drop: "fall" };
const ACTS = 0.9;

/** The service's sentence in English, the same words in other languages. */
function sentence({ decision, explanation }: DecisionDetail): string {
  const cause = `cause.${explanation.cause}`;
  if (language === "en" || !has(cause)) return explanation.sentence;
  const { outcome, would } = worst(decision);
  return t("detail.sentence", { what: t(`did.${would ? "would." : ""}${outcome}`), cause: t(cause) });
}

/** The labels that a rule's condition names, wherever they stand in it. */
function asked(match: RuleMatch | undefined, label: string): boolean {
  if (!match) return false;
  const named = [...(match.all_labels ?? []), ...(match.any_labels ?? []), ...(match.none_labels ?? [])];
  return named.includes(label) || (match.any_prefix ?? []).some((prefix) => label.startsWith(prefix));
}

function Step({
  icon,
  title,
  side,
  note,
  tone,
}: {
  icon: IconName;
  title: string;
  side?: ComponentChildren;
  note?: string;
  tone?: string;
}) {
  return (
    <li data-o={tone} class={icon === "dots" ? "later" : undefined}>
      <Icon name={icon} />
      {title}
      {side ? <code class="faint">{side}</code> : <span />}
      {note && <small>{note}</small>}
    </li>
  );
}

/** The way of evaluation, in its order; the step that decided has the tone. */
function Path({ detail, siteKey }: { detail: DecisionDetail; siteKey: string }) {
  const { decision, rule } = detail;
  const { outcome } = worst(decision);
  const byRule = Boolean(decision.matchedRule);
  const early = !byRule && outcome !== "allow";
  const proof = decision.labels.find((label) => label.startsWith("receipt."));
  return (
    <ol class="path">
      <Step
        icon="check"
        title={t("path.route")}
        side={`${decision.method} ${decision.route}${decision.action ? ` → ${decision.action}` : ""}`}
      />
      <Step icon="check" title={t("path.agent")} side={decision.agent ?? t("path.unsigned")} />
      <Step
        icon={early ? SIGN[outcome]! : "check"}
        tone={early ? outcome : undefined}
        title={t("path.proof")}
        side={proof?.replace("receipt.", "") ?? t("path.noProof")}
        note={early ? reasonOf(decision) : undefined}
      />
      {byRule ? (
        <Step
          icon={SIGN[outcome]!}
          tone={outcome}
          title={t("path.rule")}
          side={<a href={ruleHref(siteKey, decision.matchedRule!)}>{decision.matchedRule}</a>}
          note={[
            rule && t("path.does", { action: rule.action }),
            t(detail.ruleCurrent ? "path.current" : "path.past", { version: decision.ruleSetVersion ?? "" }),
          ]
            .filter(Boolean)
            .join(" ")}
        />
      ) : (
        <Step
          icon={early ? "dots" : "check"}
          title={t("path.rule")}
          side={t(early ? "path.notReached" : "path.noRule")}
        />
      )}
      {detail.monitored && <Step icon="eye" title={t("path.mode")} note={t("path.monitored")} />}
    </ol>
  );
}

function Seen({ detail, onFilter }: { detail: DecisionDetail; onFilter: (name: string, value: string) => void }) {
  const { outcome } = worst(detail.decision);
  return (
    <dl class="rows">
      {Object.entries(detail.labelsBySource).map(([source, labels]) => (
        <div key={source}>
          <dt>{named("source", source)}</dt>
          <dd class="row">
            {labels.map((label) => (
              <button key={label} onClick={() => onFilter("label", label)} title={t("detail.only", { value: label })}>
                <LabelPill label={label} hit={asked(detail.rule?.match, label) ? outcome : undefined} />
              </button>
            ))}
          </dd>
        </div>
      ))}
    </dl>
  );
}

function Scores({ decision }: { decision: Decision }) {
  const rows = Object.entries(decision.scores ?? {});
  if (rows.length === 0) return null;
  return (
    <section class="stack tight" aria-label={t("detail.scores")}>
      <h2>{t("detail.scores")}</h2>
      {rows.map(([name, value]) => (
        <div class="score" data-o={value >= ACTS ? "block" : undefined} key={name}>
          <span>{name}</span>
          <svg role="img" aria-label={`${name} ${score(value)}`}>
            <rect class="track" width="100%" height="8" rx="4" />
            <rect class="val" width={`${value * 100}%`} height="8" rx="4" />
          </svg>
          <b class="num">{score(value)}</b>
        </div>
      ))}
      <p class="xs faint">
        {Object.entries(decision.modelVersions ?? {})
          .map(([name, version]) => `${name} ${version}`)
          .join(" · ")}
      </p>
    </section>
  );
}

async function setLabel(siteKey: string, decision: Decision, label: DecisionLabelValue): Promise<void> {
  await api.put(`/decisions/${decision.id}/label?siteKey=${siteKey}`, { label });
}

export function DecisionDetailPane({
  id,
  siteKey,
  onClose,
  onFilter,
  onLabel,
}: {
  id: string;
  siteKey: string;
  onClose: () => void;
  onFilter: (name: string, value: string) => void;
  /** Labels in the pane's stead: a queue goes on to its next decision. */
  onLabel?: (value: DecisionLabelValue) => void;
}) {
  const pane = useRef<HTMLElement>(null);
  const letIn = useRef<HTMLDetailsElement>(null);
  const { data, error, loading, reload } = useQuery<DecisionDetail>(id, (signal) =>
    api.get(`/decisions/${id}`, { siteKey }, signal),
  );
  const decision = data?.decision;
  useEffect(() => pane.current?.scrollTo(0, 0), [id]);
  const label = (value: DecisionLabelValue) => {
    if (!decision) return;
    if (onLabel) return onLabel(value);
    setLabel(siteKey, decision, value)
      .then(() => {
        toast(t("detail.labeled", { label: t(`label.${value}`) }));
        reload();
      })
      .catch(toastError);
  };
  const openLetIn = () => {
    if (!letIn.current) return;
    letIn.current.open = true;
    letIn.current.scrollIntoView({ block: "nearest" });
    letIn.current.querySelector<HTMLElement>("input:checked")?.focus();
  };
  useKeys([
    { key: "i", help: t("lists.title"), run: openLetIn },
    {
      key: "c",
      help: t("detail.copy"),
      run: () => void navigator.clipboard.writeText(id).then(() => toast(t("copy.done"))),
    },
    ...(isOperator
      ? LABELS.map(([value, key]) => ({
          key,
          help: t("detail.labelKey", { label: t(`label.${value}`) }),
          run: () => label(value),
        }))
      : []),
  ]);
  return (
    <aside
      class={loading && data ? "card detail stale" : "card detail"}
      ref={pane}
      tabIndex={-1}
      aria-label={t("detail.title", { id })}
    >
      <header>
        <div class="row">
          {decision && <OutcomeBadge {...worst(decision)} />}
          <code class="s">{id}</code>
        </div>
        <span class="row">
          <CopyButton text={id} square />
          <button class="btn sq quiet" aria-label={t("detail.close")} onClick={onClose}>
            <Icon name="x" />
          </button>
        </span>
      </header>
      {error && !data && <NotThere error={error} retry={reload} />}
      {!data && !error && (
        <div class="in stack">
          <span class="skel long" />
          <span class="skel" />
          <span class="skel long" />
        </div>
      )}
      {data && decision && (
        <div class="in stack">
          <div class="stack tight">
            <p class="lead">{sentence(data)}</p>
            <p class="s faint">
              <Time at={decision.time} /> · {clock(decision.time)}
              {decision.durationUs >= 50 && ` · ${t("detail.took", { ms: decimal(decision.durationUs / 1000, 1) })}`}
            </p>
          </div>
          <WhatAndWhy detail={data} siteKey={siteKey} />
          {worst(decision).outcome !== "allow" && may("sites:write") && (
            <section class="stack tight" aria-label={t("detail.actions")}>
              <h2>{t("detail.actions")}</h2>
              <div class="row">
                <button class="btn" onClick={openLetIn}>
                  {t("detail.doVisitor")} <kbd>I</kbd>
                </button>
                <a class="btn" href={openPathHref(siteKey, decision.route)}>
                  {t("detail.doPath")}
                </a>
                {decision.matchedRule && (
                  <a class="btn" href={ruleHref(siteKey, decision.matchedRule)}>
                    {t("detail.doRule")}
                  </a>
                )}
              </div>
              <details ref={letIn}>
                <summary class="b s">{t("lists.title")}</summary>
                <LetIn decision={decision} siteKey={siteKey} />
              </details>
            </section>
          )}
          <section class="stack tight" aria-label={t("detail.how")}>
            <h2>{t("detail.how")}</h2>
            <Path detail={data} siteKey={siteKey} />
          </section>
          <section class="stack tight" aria-label={t("detail.seen")}>
            <h2>{t("detail.seen")}</h2>
            <Seen detail={data} onFilter={onFilter} />
          </section>
          <Scores decision={decision} />
          {isOperator && <Contributions id={id} siteKey={siteKey} />}
          <dl class="rows">
            {decision.visitorId && (
              <div>
                <dt>{t("decision.visitor")}</dt>
                <dd>
                  <a href={`${siteHref(siteKey, "visitors")}?open=${decision.visitorId}`}>
                    <code>{decision.visitorId}</code>
                  </a>
                </dd>
              </div>
            )}
            {decision.operatorLabel && (
              <div>
                <dt>{t("detail.label")}</dt>
                <dd>
                  {t("detail.labeledBy", {
                    label: t(`label.${decision.operatorLabel.label}`),
                    actor: decision.operatorLabel.actor,
                  })}
                </dd>
              </div>
            )}
            {data.traceUrl && (
              <div>
                <dt>{t("detail.trace")}</dt>
                <dd>
                  <a href={data.traceUrl} target="_blank" rel="noopener">
                    {decision.traceId}
                  </a>
                </dd>
              </div>
            )}
          </dl>
          <details>
            <summary class="b s">{t("detail.raw")}</summary>
            <div class="code">
              <pre tabIndex={0} role="region" aria-label={t("detail.raw")}>
                {JSON.stringify(data, null, 2)}
              </pre>
            </div>
          </details>
        </div>
      )}
      {isOperator && decision && (
        <footer class="even">
          <span>{t("detail.label")}</span>
          {LABELS.map(([value, key]) => (
            <button
              class="btn"
              key={value}
              aria-pressed={decision.operatorLabel?.label === value}
              onClick={() => label(value)}
            >
              {t(`label.${value}`)} <kbd>{key.toUpperCase()}</kbd>
            </button>
          ))}
        </footer>
      )}
    </aside>
  );
}

function NotThere({ error, retry }: { error: ApiError; retry: () => void }) {
  if (error.status !== 404) return <Failure error={error} retry={retry} />;
  return <Failure error={new ApiError(404, error.code, t("detail.notThere"), {}, error.requestId)} />;
}
