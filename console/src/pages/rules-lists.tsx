/** The rules that result from a rule set, and the managed groups that a set can name. */

import { useRef } from "preact/hooks";
import { may } from "../api/session";
import type { ManagedGroupList, RuleSet } from "../api/types.gen";
import { useParams } from "../lib/params";
import { t } from "../lib/words";
import { toYaml } from "../lib/yaml";
import { Card } from "../ui/parts";

export const ACTIONS = ["allow", "challenge", "block", "drop", "count"] as const;

export function Effective({
  set,
  overrides,
  onOverride,
}: {
  set: RuleSet;
  overrides: Record<string, string>;
  onOverride: (rule: string, action: string) => void;
}) {
  const [{ rule: linked }] = useParams();
  const reached = useRef<string>(undefined);
  const rules = set.rules.flatMap((rule) => ("name" in rule ? [rule as { name: string; action: string }] : []));
  const mayWrite = may("sites:write");
  return (
    <Card
      title={t("rules.effective")}
      lead={t("rules.effectiveLead")}
      side={<code class="s faint">{set.version}</code>}
    >
      <div class="scroll tall" tabIndex={0} role="region" aria-label={set.version}>
        <table class="tbl">
          <caption class="vh">{t("rules.effective")}</caption>
          <thead>
            <tr>
              <th scope="col">{t("decision.rule")}</th>
              <th scope="col">{t("rules.action")}</th>
            </tr>
          </thead>
          <tbody>
            {rules.map((rule) => (
              <tr
                key={rule.name}
                aria-current={rule.name === linked ? "true" : undefined}
                ref={(row) => {
                  if (rule.name === linked && linked !== reached.current) {
                    reached.current = linked;
                    row?.scrollIntoView({ block: "center" });
                  }
                }}
              >
                <td>
                  <code>{rule.name}</code>{" "}
                  {overrides[rule.name] && <span class="tag line">{t("rules.overridden")}</span>}
                </td>
                <td>
                  <select
                    aria-label={t("rules.actionOf", { rule: rule.name })}
                    value={rule.action}
                    disabled={!mayWrite}
                    onChange={(event) => onOverride(rule.name, event.currentTarget.value)}
                  >
                    {ACTIONS.map((action) => (
                      <option key={action} value={action}>
                        {action}
                      </option>
                    ))}
                  </select>
                </td>
              </tr>
            ))}
            <tr>
              <td class="soft">{t("rules.else")}</td>
              <td>
                <code>{set.default_action}</code>
              </td>
            </tr>
          </tbody>
        </table>
      </div>
    </Card>
  );
}

/** Older versions are only for rule sets that name them. */
function currentOnly(groups: ManagedGroupList["items"]): ManagedGroupList["items"] {
  const current = new Map<string, ManagedGroupList["items"][number]>();
  for (const group of groups) {
    if (group.version > (current.get(group.name)?.version ?? -1)) current.set(group.name, group);
  }
  return [...current.values()].sort((one, other) => one.name.localeCompare(other.name));
}

export function Groups({ groups }: { groups: ManagedGroupList }) {
  return (
    <Card title={t("rules.groups")} lead={t("rules.groupsLead")}>
      <div class="in cols tight">
        {currentOnly(groups.items).map((group) => (
          <details key={`${group.name} ${group.version}`}>
            <summary>
              <code>
                {group.name} {group.version}
              </code>{" "}
              <span class="s soft">{t("rules.members", { n: group.rules.length })}</span>
            </summary>
            <p class="s">{group.description}</p>
            <ul class="list">
              {group.rules.map((rule) => (
                <li key={rule.name}>
                  <span class="row apart">
                    <code>{rule.name}</code>
                    <code class="faint">{rule.action}</code>
                  </span>
                  <code class="xs soft">{toYaml(rule.match).replaceAll("\n", "  ")}</code>
                </li>
              ))}
            </ul>
          </details>
        ))}
      </div>
    </Card>
  );
}
