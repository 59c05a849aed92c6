/** Rows of small fields that are edited in place: routes, actions, allowed paths, agents. */

import type { ComponentChildren } from "preact";
import { t } from "../lib/words";
import { Icon } from "./icons";

export interface Column {
  name: string;
  label: string;
  kind: "text" | "select" | "switch";
  options?: string[];
  /** The word that is shown for an option. Default: the option. */
  word?: (option: string) => string;
  placeholder?: string;
}
export type RowValue = Record<string, string | boolean>;

export function RowEditor({
  label,
  lead,
  columns,
  rows,
  onChange,
  empty,
  add,
  readOnly,
}: {
  label: string;
  lead?: ComponentChildren;
  columns: Column[];
  rows: RowValue[];
  onChange: (rows: RowValue[]) => void;
  empty: string;
  add: string;
  readOnly?: boolean;
}) {
  const set = (at: number, name: string, value: string | boolean) =>
    onChange(rows.map((row, index) => (index === at ? { ...row, [name]: value } : row)));
  const blank = Object.fromEntries(
    columns.map(({ name, kind, options }) => [name, kind === "switch" ? false : (options?.[0] ?? "")]),
  );
  return (
    <div class="stack tight">
      <h3>{label}</h3>
      {lead && <p class="s soft">{lead}</p>}
      {rows.length === 0 ? (
        <p class="s faint">{empty}</p>
      ) : (
        <div class="scroll" tabIndex={0} role="region" aria-label={label}>
          <table class="tbl flush edit">
            <caption class="vh">{label}</caption>
            <thead>
              <tr>
                {columns.map((column) => (
                  <th scope="col" key={column.name}>
                    {column.label}
                  </th>
                ))}
                <th scope="col">
                  <span class="vh">{t("lists.actions")}</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {rows.map((row, at) => (
                <tr key={at}>
                  {columns.map((column) => {
                    const name = `${label}: ${column.label} ${at + 1}`;
                    return (
                      <td key={column.name} data-label={column.label}>
                        {column.kind === "switch" ? (
                          <label class="toggle">
                            <input
                              type="checkbox"
                              role="switch"
                              aria-label={name}
                              checked={Boolean(row[column.name])}
                              disabled={readOnly}
                              onChange={(event) => set(at, column.name, event.currentTarget.checked)}
                            />
                          </label>
                        ) : column.kind === "select" ? (
                          <select
                            aria-label={name}
                            value={String(row[column.name] ?? "")}
                            disabled={readOnly}
                            onChange={(event) => set(at, column.name, event.currentTarget.value)}
                          >
                            {column.options?.map((option) => (
                              <option key={option} value={option}>
                                {column.word ? column.word(option) : option || "–"}
                              </option>
                            ))}
                          </select>
                        ) : (
                          <input
                            type="text"
                            aria-label={name}
                            value={String(row[column.name] ?? "")}
                            placeholder={column.placeholder}
                            readOnly={readOnly}
                            spellcheck={false}
                            onInput={(event) => set(at, column.name, event.currentTarget.value)}
                          />
                        )}
                      </td>
                    );
                  })}
                  <td class="n">
                    {!readOnly && (
                      <button
                        type="button"
                        class="btn sq quiet"
                        aria-label={t("rows.remove", { row: `${label} ${at + 1}` })}
                        onClick={() => onChange(rows.filter((_, index) => index !== at))}
                      >
                        <Icon name="x" />
                      </button>
                    )}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {!readOnly && (
        <div class="row">
          <button type="button" class="btn" onClick={() => onChange([...rows, blank])}>
            <Icon name="plus" />
            {add}
          </button>
        </div>
      )}
    </div>
  );
}
