/** The evidence for and against the visitor of an appeal. */

import type { AppealDetail, DecisionDetail, VisitorDetail } from "../api/types.gen";
import { count, score } from "../lib/format";
import { t } from "../lib/words";
import { Icon, type IconName } from "../ui/icons";
import { siteHref } from "../ui/layout";
import { LabelPill, Time } from "../ui/parts";

const ACTS = 0.9;
const LOW = 0.5;
// What speaks for somebody, and what says nothing either way; everything else speaks against.
const FOR =
  /^(ua\.browser$|receipt\.(?!missing)|browser\.evidence$|agent\.(verified|search_verified|program_verified)$)/;
const NEUTRAL =
  /^(net\.(asn|country)\.|path\.|route\.|list\.|claim\.|model\.|http\.(via|plain_origin)$|ua\.(webview|tv|console|text_browser|legacy|old)$|receipt\.missing$|behavior\.keyboard_only$|agent\.(name|purpose)\.)/;

export function Point({
  icon,
  tone,
  title,
  labels = [],
  note,
}: {
  icon: IconName;
  tone: "allow" | "block" | "challenge";
  title: string;
  labels?: string[];
  note?: string;
}) {
  return (
    <li data-o={tone}>
      <Icon name={icon} />
      {title}
      <span />
      {(note || labels.length > 0) && (
        <small>
          {note}
          {labels.map((label) => (
            <LabelPill key={label} label={label} hit={tone} />
          ))}
        </small>
      )}
    </li>
  );
}

/** What is known of the person, sorted by what it speaks for. */
export function Evidence({
  detail,
  visitor,
  meanings,
}: {
  detail: DecisionDetail;
  visitor: VisitorDetail | undefined;
  meanings: Record<string, string>;
}) {
  const { labels, scores } = detail.decision;
  const speaksFor = labels.filter((label) => FOR.test(label));
  const against = labels.filter((label) => !FOR.test(label) && !NEUTRAL.test(label));
  const bot = scores?.["bot"];
  const passed = visitor?.challengesPassed ?? 0;
  const meaning = (label: string) => meanings[label] ?? meanings[label.replace(/\.[^.]+$/, ".*")] ?? label;
  const refused = visitor ? visitor.requests - (visitor.outcomes["allow"] ?? 0) : 0;
  return (
    <div class="cols three">
      <section class="stack tight" aria-label={t("appeals.for")}>
        <h2>{t("appeals.for")}</h2>
        <ul class="path">
          {passed > 0 && <Point icon="check" tone="allow" title={t("appeals.passed", { n: passed })} />}
          {bot !== undefined && bot < LOW && (
            <Point icon="check" tone="allow" title={t("appeals.lowScore", { score: score(bot) })} />
          )}
          {speaksFor.map((label) => (
            <Point key={label} icon="check" tone="allow" title={meaning(label)} labels={[label]} />
          ))}
        </ul>
        {passed === 0 && speaksFor.length === 0 && !(bot !== undefined && bot < LOW) && (
          <p class="faint">{t("appeals.nothing")}</p>
        )}
      </section>
      <section class="stack tight" aria-label={t("appeals.against")}>
        <h2>{t("appeals.against")}</h2>
        <ul class="path">
          {bot !== undefined && bot >= LOW && (
            <Point
              icon={bot >= ACTS ? "x" : "alert"}
              tone={bot >= ACTS ? "block" : "challenge"}
              title={t("appeals.highScore", { score: score(bot) })}
            />
          )}
          {against.map((label) => (
            <Point key={label} icon="x" tone="block" title={meaning(label)} labels={[label]} />
          ))}
          {visitor && refused > 20 && (
            <Point
              icon="alert"
              tone="challenge"
              title={t("appeals.often", { n: refused, all: count(visitor.requests) })}
            />
          )}
        </ul>
        {against.length === 0 && refused <= 20 && !(bot !== undefined && bot >= LOW) && (
          <p class="faint">{t("appeals.nothing")}</p>
        )}
      </section>
    </div>
  );
}

export function Facts({
  detail,
  visitor,
  siteKey,
}: {
  detail: AppealDetail;
  visitor: VisitorDetail | undefined;
  siteKey: string;
}) {
  const { appeal } = detail;
  return (
    <dl class="rows">
      <div>
        <dt>{t("appeals.refusedBy")}</dt>
        <dd>
          {appeal.rule ? (
            <>
              <code>{appeal.rule}</code> · <a href={siteHref(siteKey, "rules")}>{t("appeals.lookAtRules")}</a>
            </>
          ) : (
            t("appeals.noRule")
          )}
        </dd>
      </div>
      <div>
        <dt>{t("decision.visitor")}</dt>
        <dd class="row">
          <a href={`${siteHref(siteKey, "visitors")}?open=${appeal.visitorId}`}>
            <code>{appeal.visitorId}</code>
          </a>
          {visitor &&
            t("visitors.sentence", {
              n: visitor.requests,
              passed: visitor.challengesPassed,
              challenges: visitor.challenges,
            })}
        </dd>
      </div>
      {detail.sameRule + detail.sameVisitor > 0 && (
        <div>
          <dt>{t("appeals.others")}</dt>
          <dd>
            {detail.sameRule > 0 && t("appeals.sameRule", { n: detail.sameRule })}{" "}
            {detail.sameVisitor > 0 && t("appeals.sameVisitor", { n: detail.sameVisitor })}
          </dd>
        </div>
      )}
      {appeal.label && (
        <div>
          <dt>{t("detail.label")}</dt>
          <dd>{t(`label.${appeal.label}`)}</dd>
        </div>
      )}
      {appeal.answeredAt && (
        <div>
          <dt>{t("appeals.answered")}</dt>
          <dd>
            <Time at={appeal.answeredAt} /> · {appeal.answeredBy}
            {appeal.listEntryId && (
              <>
                {" "}
                · <a href={siteHref(siteKey, "lists")}>{t("lists.all")}</a>
              </>
            )}
          </dd>
        </div>
      )}
    </dl>
  );
}
