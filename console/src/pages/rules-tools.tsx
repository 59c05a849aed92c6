/** What a draft of rules would do: to one request, and to the traffic of the last days. */

import { useState } from "preact/hooks";
import { api, messageOf } from "../api/client";
import type { BacktestReport, Outcome, TestReport } from "../api/types.gen";
import { count } from "../lib/format";
import { useDraft } from "../lib/drafts";
import { t } from "../lib/words";
import { siteHref } from "../ui/layout";
import { Bars, Card, Field, LabelPill, Note, OutcomeBadge, Segments } from "../ui/parts";

const DAY_MS = 86_400_000;
const STRICT: Outcome[] = ["allow", "challenge", "block", "drop"];
export interface DraftRules {
  ruleSetText: string;
  overrides: Record<string, string>;
}

/** How many decisions labeled human would become stricter. */
export function turnedAway(report: BacktestReport): number {
  return report.flips
    .filter(({ from, to }) => STRICT.indexOf(to) > STRICT.indexOf(from))
    .reduce((sum, flip) => sum + flip.humanLabelled, 0);
}

export function Backtest({
  siteKey,
  draft,
  ready,
  report,
  onReport,
}: {
  siteKey: string;
  draft: DraftRules;
  ready: boolean;
  report: BacktestReport | null;
  onReport: (report: BacktestReport | null) => void;
}) {
  const [days, setDays] = useState<string>("7");
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState("");
  const run = () => {
    if (!ready || busy) return;
    setBusy(true);
    setProblem("");
    const from = new Date(Date.now() - Number(days) * DAY_MS).toISOString();
    api
      .post<BacktestReport>(`/sites/${siteKey}/rules/backtest`, { ...draft, from })
      .then(onReport)
      .catch((failure: unknown) => setProblem(messageOf(failure)))
      .finally(() => setBusy(false));
  };
  const people = report ? turnedAway(report) : 0;
  return (
    <Card
      title={t("rules.backtest")}
      lead={t("rules.backtestLead")}
      side={
        <div class="row">
          <Segments
            label={t("range.label")}
            value={days}
            onChange={setDays}
            options={["1", "7", "31"].map((value) => ({ value, label: t(`rules.days.${value}`) }))}
          />
          <button class="btn" onClick={run} aria-busy={busy} aria-disabled={ready ? undefined : "true"}>
            {t("rules.run")} <kbd>B</kbd>
          </button>
        </div>
      }
    >
      <div class="in stack" aria-live="polite">
        {busy && <progress aria-label={t("rules.running")} />}
        {problem && <Note tone="block">{problem}</Note>}
        {report && (
          <div class="cols">
            <div class="stack tight">
              <p class="lead">
                {t("rules.changed", { n: report.changed, all: count(report.evaluated) })}{" "}
                {people > 0 && (
                  <b class="tone" data-o="block">
                    {t("rules.people", { n: people })}
                  </b>
                )}
              </p>
              {!report.complete && <p class="s faint">{t("rules.incomplete")}</p>}
              {report.untold > 0 && <p class="s faint">{t("rules.untold", { n: report.untold })}</p>}
              <ul class="list">
                {report.flips.map((flip) => (
                  <li key={flip.from + flip.to}>
                    <span class="row">
                      <OutcomeBadge outcome={flip.from} /> → <OutcomeBadge outcome={flip.to} would />
                      <b class="num push">{count(flip.count)}</b>
                    </span>
                    <span class="row s soft">
                      {flip.humanLabelled > 0 && (
                        <b class="tone" data-o="block">
                          {t("rules.human", { n: flip.humanLabelled })}
                        </b>
                      )}
                      {flip.botLabelled > 0 && t("rules.bot", { n: flip.botLabelled })}
                      {flip.examples.slice(0, 3).map((id) => (
                        <a key={id} href={`${siteHref(siteKey, "decisions")}?open=${id}`}>
                          <code class="xs">{id}</code>
                        </a>
                      ))}
                    </span>
                  </li>
                ))}
              </ul>
            </div>
            <div class="stack tight">
              <h3>{t("rules.byRule")}</h3>
              <Bars
                items={Object.entries(report.byRule)
                  .slice(0, 8)
                  .map(([name, number]) => ({ key: name, name: <code>{name}</code>, count: number }))}
                empty={t("diff.none")}
              />
            </div>
          </div>
        )}
      </div>
    </Card>
  );
}

function headersOf(text: string): Record<string, string> {
  return Object.fromEntries(
    text
      .split("\n")
      .filter((line) => line.includes(":"))
      .map((line) => [line.slice(0, line.indexOf(":")).trim(), line.slice(line.indexOf(":") + 1).trim()]),
  );
}

export function TestRequest({ siteKey, draft, ready }: { siteKey: string; draft: DraftRules; ready: boolean }) {
  const [method, setMethod] = useDraft(`test:${siteKey}:method`, "GET");
  const [url, setUrl] = useDraft(`test:${siteKey}:url`, "https://shop.example/login");
  const [from, setFrom] = useDraft(`test:${siteKey}:address`, "203.0.113.7");
  const [headers, setHeaders] = useDraft(`test:${siteKey}:headers`, "User-Agent: curl/8.5.0\nAccept: */*");
  const [report, setReport] = useState<TestReport | null>(null);
  const [problem, setProblem] = useState("");
  const run = (event: SubmitEvent) => {
    event.preventDefault();
    if (!ready) return;
    setProblem("");
    api
      .post<TestReport>(`/sites/${siteKey}/rules/test`, {
        ...draft,
        request: { method, url, address: from, headers: headersOf(headers) },
      })
      .then(setReport)
      .catch((failure: unknown) => setProblem(messageOf(failure)));
  };
  return (
    <Card title={t("rules.test")} lead={t("rules.testLead")}>
      <div class="in cols">
        <form class="stack tight" onSubmit={run}>
          <Field id="test-method" label={t("rules.method")} value={method} onText={setMethod} />
          <Field id="test-url" label={t("rules.url")} value={url} onText={setUrl} />
          <Field id="test-address" label={t("lists.kind.address")} value={from} onText={setFrom} />
          <Field id="test-headers" label={t("rules.headers")} rows={4} value={headers} onText={setHeaders} />
          <div class="row">
            <button class="btn" aria-disabled={ready ? undefined : "true"}>
              {t("rules.test")}
            </button>
          </div>
        </form>
        <div class="stack tight" aria-live="polite">
          {problem && <Note tone="block">{problem}</Note>}
          {report && (
            <>
              <p class="row">
                <OutcomeBadge outcome={report.outcome} would />
                {report.listEntry
                  ? t("rules.byList", { id: report.listEntry })
                  : report.rule
                    ? t("why.rule", { rule: report.rule })
                    : t("why.none")}
              </p>
              <div class="row">
                {report.labels.map((label) => (
                  <LabelPill key={label} label={label} />
                ))}
              </div>
              <details>
                <summary class="b s">{t("rules.trace", { n: report.trace.length })}</summary>
                <ol class="path">
                  {report.trace.map((each) => (
                    <li key={each.rule} data-o={each.matched ? report.outcome : undefined}>
                      <span />
                      {each.rule}
                      <span />
                      <small>{each.because}</small>
                    </li>
                  ))}
                </ol>
              </details>
            </>
          )}
        </div>
      </div>
    </Card>
  );
}
