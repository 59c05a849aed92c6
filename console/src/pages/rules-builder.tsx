/** Rules without YAML: conditions as rows. It edits the same document as the text. */

import { useEffect, useState } from "preact/hooks";
import { api, messageOf } from "../api/client";
import { may } from "../api/session";
import type { BacktestReport, NetworkLists, RuleItem, RuleSetDocument } from "../api/types.gen";
import { count } from "../lib/format";
import { useQuery } from "../lib/query";
import { t } from "../lib/words";
import { siteHref } from "../ui/layout";
import { Icon } from "../ui/icons";
import { Field, Note } from "../ui/parts";
import { ACTIONS } from "./rules-lists";
import { isUntold, KEYS, matchOf, rowsOf, type Match, type Row } from "./rules-match";

const SETTLED_MS = 600;
const DAY_MS = 86_400_000;
const EXAMPLE = "2026-11-27T00:00:00Z";
type Values = Record<string, unknown>;
const nameOf = (item: RuleItem) => String(item["name"] ?? item["group"] ?? "");

/** How many requests of the last day meet the conditions, alone, with examples. */
function Matches({ siteKey, rule }: { siteKey: string; rule: Values }) {
  const [report, setReport] = useState<BacktestReport>();
  const [problem, setProblem] = useState("");
  const match = (rule["match"] ?? {}) as Match;
  const untold = Object.keys(match).filter(isUntold);
  const probe = JSON.stringify({ name: "draft", match, action: "block", routes: rule["routes"] });
  const knows = untold.length === 0;
  useEffect(() => {
    setReport(undefined);
    setProblem("");
    if (!knows) return;
    let over = false;
    const timer = setTimeout(() => {
      const ruleSet = { version: "draft", rules: [JSON.parse(probe) as RuleItem], default_action: "allow" };
      const from = new Date(Date.now() - DAY_MS).toISOString();
      api
        .post<BacktestReport>(`/sites/${siteKey}/rules/backtest`, { ruleSet, from })
        .then((found) => over || setReport(found))
        .catch((failure: unknown) => over || setProblem(messageOf(failure)));
    }, SETTLED_MS);
    return () => {
      over = true;
      clearTimeout(timer);
    };
  }, [siteKey, probe, knows]);
  if (!knows) {
    const names = untold.map((key) => t(`builder.if.${key}`)).join(", ");
    return <Note tone="info">{t("builder.untold", { names })}</Note>;
  }
  if (problem) return <Note tone="block">{problem}</Note>;
  if (!report) return <p class="s faint">{t("builder.counting")}</p>;
  const found = report.byRule["draft"] ?? 0;
  const examples = report.flips.filter(({ to }) => to === "block").flatMap((flip) => flip.examples);
  return (
    <Note tone="info">
      {t("builder.matches", { n: found, all: count(report.evaluated) })}{" "}
      {examples.slice(0, 3).map((id) => (
        <a key={id} href={`${siteHref(siteKey, "decisions")}?open=${id}`}>
          <code class="xs">{id}</code>{" "}
        </a>
      ))}
    </Note>
  );
}

/** The names of the site's network lists, to choose from. Other names stay as they are. */
function ListNames({ siteKey, text, onText }: { siteKey: string; text: string; onText: (text: string) => void }) {
  const lists = useQuery<NetworkLists>(siteKey, (signal) => api.get(`/sites/${siteKey}/network-lists`, {}, signal));
  const chosen = text
    .split("\n")
    .map((line) => line.trim())
    .filter(Boolean);
  return (
    <>
      {lists.data?.items.map(({ name }) => (
        <label key={name} class="row tight">
          <input
            type="checkbox"
            checked={chosen.includes(name)}
            onChange={() =>
              onText((chosen.includes(name) ? chosen.filter((each) => each !== name) : [...chosen, name]).join("\n"))
            }
          />
          {name}
        </label>
      ))}
    </>
  );
}

function Conditions({ siteKey, rule, onRule }: { siteKey: string; rule: Values; onRule: (rule: Values) => void }) {
  const match = (rule["match"] ?? {}) as Match;
  const [rows, setRows] = useState<Row[]>(() => rowsOf(match));
  const put = (next: Row[]) => {
    setRows(next);
    onRule({ ...rule, match: matchOf(next, match) });
  };
  const set = (place: number, part: Partial<Row>) =>
    put(rows.map((row, index) => (index === place ? { ...row, ...part } : row)));
  return (
    <fieldset class="stack tight">
      <legend class="b s">{t("builder.conditions")}</legend>
      {rows.length === 0 && <p class="s soft">{t("builder.every")}</p>}
      {rows.map((row, place) => {
        const label = t("builder.condition", { n: place + 1 });
        return (
          <div class="row top" key={place}>
            <select
              aria-label={label}
              value={row.key}
              onChange={(event) => set(place, { key: event.currentTarget.value })}
            >
              {KEYS.map((key) => (
                <option key={key} value={key}>
                  {t(`builder.if.${key}`)}
                </option>
              ))}
            </select>
            <textarea
              aria-label={t("builder.values", { condition: label })}
              rows={Math.min(6, row.text.split("\n").length)}
              value={row.text}
              spellcheck={false}
              onInput={(event) => set(place, { text: event.currentTarget.value })}
            />
            {row.key.endsWith("network_lists") && (
              <ListNames siteKey={siteKey} text={row.text} onText={(text) => set(place, { text })} />
            )}
            <button
              type="button"
              class="btn sq quiet"
              aria-label={t("rows.remove", { row: label })}
              onClick={() => put(rows.filter((_, index) => index !== place))}
            >
              <Icon name="x" />
            </button>
          </div>
        );
      })}
      <p class="xs soft">{t("builder.lines")}</p>
      <div class="row">
        <button type="button" class="btn" onClick={() => setRows([...rows, { key: "any_labels", text: "" }])}>
          <Icon name="plus" />
          {t("builder.add")}
        </button>
      </div>
    </fieldset>
  );
}

const DAYS = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];
const RATES = ["", "visitor", "network", "asn", "agent", "clearance"];

/** What a rule has besides conditions: its weight, its rate and its schedule. An empty field is not written. */
function Further({ rule, at, onRule }: { rule: Values; at: number; onRule: (rule: Values) => void }) {
  const rate = (rule["rate"] ?? {}) as Values;
  const put = (name: string, value: unknown) => {
    const { [name]: _dropped, ...rest } = rule;
    onRule(value === undefined ? rest : { ...rest, [name]: value });
  };
  const number = (text: string) => (text.trim() ? Number(text) : undefined);
  const setRate = (part: Values) => {
    const next: Values = { more_than: 30, within: 600, ...rate, ...part };
    put("rate", next["by"] ? next : undefined);
  };
  const field = (name: string, value: string, onText: (text: string) => void, more = {}) => (
    <Field id={`rule-${name}-${at}`} label={t(`builder.${name}`)} value={value} onText={onText} {...more} />
  );
  const days = (rule["weekdays"] ?? []) as string[];
  const text = (name: string) => String(rule[name] ?? "");
  const isSet = ["add", "rate", "from", "until", "weekdays"].some((name) => rule[name] !== undefined);
  return (
    <details open={isSet}>
      <summary class="b s">{t("builder.further")}</summary>
      <div class="stack tight">
        <div class="cols three">
          <div class="field">
            <label for={`rule-by-${at}`}>{t("builder.by")}</label>
            <select
              id={`rule-by-${at}`}
              value={String(rate["by"] ?? "")}
              onChange={(event) => setRate({ by: event.currentTarget.value })}
            >
              {RATES.map((by) => (
                <option key={by} value={by}>
                  {by || t("builder.noRate")}
                </option>
              ))}
            </select>
          </div>
          {Boolean(rate["by"]) && (
            <>
              {field("moreThan", String(rate["more_than"]), (value) => setRate({ more_than: number(value) }), {
                type: "number",
                min: 1,
              })}
              {field("within", String(rate["within"]), (value) => setRate({ within: number(value) }), {
                type: "number",
                min: 1,
                max: 3600,
              })}
            </>
          )}
        </div>
        <div class="cols">
          {field("from", text("from"), (value) => put("from", value.trim() || undefined), { placeholder: EXAMPLE })}
          {field("until", text("until"), (value) => put("until", value.trim() || undefined), { placeholder: EXAMPLE })}
        </div>
        <fieldset class="row">
          <legend class="s">{t("builder.weekdays")}</legend>
          {DAYS.map((day) => (
            <label key={day} class="row tight">
              <input
                type="checkbox"
                checked={days.includes(day)}
                onChange={() => {
                  const next = DAYS.filter((each) => days.includes(each) !== (each === day));
                  put("weekdays", next.length ? next : undefined);
                }}
              />
              {day}
            </label>
          ))}
        </fieldset>
        {rule["action"] === "count" &&
          field("weight", text("add"), (value) => put("add", number(value)), { type: "number", min: -100, max: 100 })}
      </div>
    </details>
  );
}

/** The weights at which a decision is made, one in a line. */
function Thresholds({ set, onSet }: { set: RuleSetDocument; onSet: (set: RuleSetDocument) => void }) {
  const [lines, setLines] = useState(() =>
    (set.thresholds ?? []).map((each) => `${each.at_least} ${each.action}`).join("\n"),
  );
  const put = (text: string) => {
    setLines(text);
    const thresholds = text
      .split("\n")
      .map((line) => line.trim().split(/\s+/))
      .filter(([least]) => least)
      .map(([least, action]) => ({ at_least: Number(least), action: action ?? "" }));
    const { thresholds: _dropped, ...rest } = set;
    onSet(thresholds.length ? { ...rest, thresholds } : rest);
  };
  return (
    <Field
      id="thresholds"
      label={t("builder.thresholds")}
      help={t("builder.thresholdsHelp")}
      rows={2}
      value={lines}
      onText={put}
    />
  );
}

function Edit({
  siteKey,
  rule,
  at,
  onRule,
}: {
  siteKey: string;
  rule: Values;
  at: number;
  onRule: (rule: Values) => void;
}) {
  const routes = ((rule["routes"] ?? []) as string[]).join("\n");
  const setRoutes = (text: string) => {
    const lines = text.split("\n").filter((line) => line.trim());
    const { routes: _dropped, ...rest } = rule;
    onRule(lines.length ? { ...rest, routes: lines } : rest);
  };
  return (
    <div class="stack">
      <div class="cols">
        <Field
          id={`rule-name-${at}`}
          label={t("builder.name")}
          value={String(rule["name"] ?? "")}
          onText={(name) => onRule({ ...rule, name })}
        />
        <Field
          id={`rule-routes-${at}`}
          label={t("builder.routes")}
          help={t("builder.routesHelp")}
          rows={2}
          value={routes}
          onText={setRoutes}
        />
      </div>
      <Conditions siteKey={siteKey} rule={rule} onRule={onRule} />
      <Further rule={rule} at={at} onRule={onRule} />
      <div aria-live="polite">
        <Matches siteKey={siteKey} rule={rule} />
      </div>
    </div>
  );
}

export function RuleBuilder({
  siteKey,
  document,
  rewrites,
  onChange,
}: {
  siteKey: string;
  document: RuleSetDocument;
  /** The text has comments or a layout that writing it again loses. */
  rewrites: boolean;
  onChange: (document: RuleSetDocument) => void;
}) {
  const [set, setSet] = useState<RuleSetDocument>(document);
  const items = set.rules;
  const [open, setOpen] = useState<number | null>(null);
  const mayWrite = may("sites:write");
  const putSet = (next: RuleSetDocument) => {
    setSet(next);
    onChange(next);
  };
  const put = (rules: RuleItem[]) => putSet({ ...set, rules });
  const move = (at: number, step: number) => {
    const rules = [...items];
    rules.splice(at + step, 0, ...rules.splice(at, 1));
    setOpen(null);
    put(rules);
  };
  const change = (at: number, rule: Values) =>
    put(items.map((each, index) => (index === at ? (rule as RuleItem) : each)));
  const add = () => {
    const name = `rule-${items.length + 1}`;
    setOpen(0);
    put([{ name, match: {}, action: "count" } as RuleItem, ...items]);
  };
  return (
    <div class="stack" data-part="builder">
      {rewrites && <Note tone="challenge">{t("builder.rewrites")}</Note>}
      <p class="s soft">{t("builder.lead", { action: String(document.default_action) })}</p>
      {mayWrite && (
        <div class="row">
          <button class="btn" onClick={add}>
            <Icon name="plus" />
            {t("builder.new")}
          </button>
        </div>
      )}
      <ol class="stack tight">
        {items.map((item, at) => {
          const name = nameOf(item);
          const isGroup = "group" in item;
          return (
            // The place is the identity: names change while they are typed.
            <li key={`${at} ${items.length} ${open === at ? "" : name}`} class="well pad stack tight">
              <div class="row">
                <span class="num faint">{at + 1}</span>
                <code>{name}</code>
                {isGroup ? (
                  <span class="tag line">{t("builder.group", { version: String(item["version"] ?? "") })}</span>
                ) : (
                  <select
                    aria-label={t("rules.actionOf", { rule: name })}
                    value={String(item["action"])}
                    disabled={!mayWrite}
                    onChange={(event) => change(at, { ...item, action: event.currentTarget.value })}
                  >
                    {ACTIONS.map((action) => (
                      <option key={action}>{action}</option>
                    ))}
                  </select>
                )}
                {item["until"] !== undefined && (
                  <span class="tag line">{t("builder.ends", { time: String(item["until"]) })}</span>
                )}
                {mayWrite && (
                  <span class="row nowrap">
                    {!isGroup && (
                      <button
                        class="btn quiet"
                        aria-expanded={open === at}
                        aria-label={t("lists.edit", { value: name })}
                        onClick={() => setOpen(open === at ? null : at)}
                      >
                        {t(open === at ? "builder.close" : "lists.editDo")}
                      </button>
                    )}
                    <button
                      class="btn quiet"
                      aria-label={t("builder.up", { rule: name })}
                      aria-disabled={at === 0 ? "true" : undefined}
                      onClick={() => at > 0 && move(at, -1)}
                    >
                      ↑
                    </button>
                    <button
                      class="btn quiet"
                      aria-label={t("builder.down", { rule: name })}
                      aria-disabled={at === items.length - 1 ? "true" : undefined}
                      onClick={() => at < items.length - 1 && move(at, 1)}
                    >
                      ↓
                    </button>
                    <button
                      class="btn sq quiet"
                      aria-label={t("lists.remove", { value: name })}
                      onClick={() => {
                        setOpen(null);
                        put(items.filter((_, index) => index !== at));
                      }}
                    >
                      <Icon name="x" />
                    </button>
                  </span>
                )}
              </div>
              {open === at && !isGroup && (
                <Edit siteKey={siteKey} rule={item} at={at} onRule={(rule) => change(at, rule)} />
              )}
            </li>
          );
        })}
      </ol>
      {mayWrite && <Thresholds set={set} onSet={putSet} />}
    </div>
  );
}
