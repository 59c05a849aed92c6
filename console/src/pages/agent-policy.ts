/** An agent policy as rows of a form, and back. */

import type { AgentEntry, AgentPolicy } from "../api/types.gen";
import { type RowValue } from "../ui/row-editor";

/**
 * The policy as rows. What the page does not show (keys, actions of an agent, tools) is kept; `from` is the row's
 * stored key.
 */
export interface Edited {
  default: string;
  unverified: string;
  quota: string;
  directories: string;
  agents: RowValue[];
  actions: RowValue[];
}

export function editedOf(policy: AgentPolicy, actions: string[]): Edited {
  const names = [...new Set([...actions, ...Object.keys(policy.actions ?? {})])];
  return {
    default: policy.default ?? "allow",
    unverified: policy.unverified ?? "challenge",
    quota: policy.quotaPerMinute === undefined ? "" : String(policy.quotaPerMinute),
    directories: (policy.agentDirectories ?? []).join("\n"),
    agents: Object.entries(policy.agents ?? {}).map(([agent, entry]) => ({
      from: agent,
      agent,
      name: entry.name ?? "",
      decision: entry.decision,
      price: entry.price ?? "",
      quota: entry.quotaPerMinute === undefined ? "" : String(entry.quotaPerMinute),
    })),
    actions: names.map((action) => {
      const terms = policy.actions?.[action];
      const handoff = terms?.handoff === undefined ? "" : terms.handoff ? "always" : "never";
      return {
        from: action,
        action,
        price: terms?.price ?? "",
        quota: terms?.quotaPerMinute === undefined ? "" : String(terms.quotaPerMinute),
        handoff,
      };
    }),
  };
}

const lines = (text: string) => {
  const found = text
    .split("\n")
    .map((line) => line.trim())
    .filter(Boolean);
  return found.length ? found : undefined;
};
const given = (value: unknown) => (value === "" || value === undefined ? undefined : value);
const number = (value: unknown) => (value === "" || value === undefined ? undefined : Number(value));

export function policyOf(edited: Edited, before: AgentPolicy): AgentPolicy {
  const agents = Object.fromEntries(
    edited.agents
      .filter((row) => row["agent"])
      .map((row) => {
        const known: Partial<AgentEntry> = before.agents?.[String(row["from"])] ?? {};
        return [
          String(row["agent"]),
          {
            ...known,
            decision: row["decision"],
            name: given(row["name"]),
            price: given(row["price"]),
            quotaPerMinute: number(row["quota"]),
          } as AgentEntry,
        ];
      }),
  );
  const actions = Object.fromEntries(
    edited.actions
      .filter(
        (row) =>
          row["action"] && (row["price"] || row["quota"] || row["handoff"] || before.actions?.[String(row["from"])]),
      )
      .map((row) => [
        String(row["action"]),
        {
          ...before.actions?.[String(row["from"])],
          price: given(row["price"]) as string | undefined,
          quotaPerMinute: number(row["quota"]),
          handoff: row["handoff"] ? row["handoff"] === "always" : undefined,
        },
      ]),
  );
  return {
    ...before,
    default: edited.default as "allow",
    unverified: edited.unverified as "allow",
    quotaPerMinute: number(edited.quota),
    agentDirectories: lines(edited.directories),
    agents,
    actions,
  } as AgentPolicy;
}

/** "USD 0.05" -> [USD, 0.05]; what is no price earns nothing. */
export function priceOf(text: unknown): [string, number] | null {
  const found = /^([A-Z]{3}) (\d{1,9}(?:\.\d{1,2})?)$/.exec(String(text ?? "").trim());
  return found ? [found[1]!, Number(found[2])] : null;
}
