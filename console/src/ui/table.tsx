/**
 * A table of records with all its states: skeleton, empty, failure; J and K move between rows; CSV of what is shown.
 */

import type { ComponentChildren } from "preact";
import { useRef } from "preact/hooks";
import { csvText, save, type Cell } from "../lib/csv";
import { useKeys } from "../lib/keys";
import type { Loaded } from "../lib/query";
import { t } from "../lib/words";
import { Icon } from "./icons";
import { Failure, SkeletonRows } from "./parts";

export interface Column<T> {
  /** The name of the column in the CSV. */
  id: string;
  label: ComponentChildren;
  cell: (row: T) => ComponentChildren;
  /** What stands in the CSV; without it the column is not in it. */
  csv?: (row: T) => Cell;
  /** `n` for numbers; `opt` and `opt2` go when it gets narrow. */
  class?: string;
}

/** Moves the focus to the next or previous row that has something to press. */
function moveFocus(body: HTMLElement | null, step: number): void {
  const stops = [...(body?.querySelectorAll<HTMLElement>("tr") ?? [])]
    .map((row) => row.querySelector<HTMLElement>("a, button, input, select"))
    .filter((each) => each !== null);
  if (stops.length === 0) return;
  const row = document.activeElement?.closest("tr");
  const at = stops.findIndex((each) => row?.contains(each));
  const next = stops[Math.min(stops.length - 1, Math.max(0, at + step))]!;
  next.focus();
  next.scrollIntoView({ block: "nearest" });
}

export function DataTable<T>({
  title,
  lead,
  side,
  loaded,
  rows,
  columns,
  rowKey,
  rowClass,
  empty,
  csv,
  footer,
  bare,
  keys = true,
}: {
  title: string;
  lead?: ComponentChildren;
  side?: ComponentChildren;
  loaded: Pick<Loaded<unknown>, "data" | "error" | "loading" | "reload">;
  rows: T[];
  columns: Column<T>[];
  rowKey: (row: T) => string;
  rowClass?: (row: T) => string | undefined;
  empty: ComponentChildren;
  /** The name of the file, without its ending. */
  csv?: string;
  footer?: ComponentChildren;
  /** Part of a card, and no card of its own. */
  bare?: boolean;
  keys?: boolean;
}) {
  const body = useRef<HTMLTableSectionElement>(null);
  useKeys(
    keys
      ? [
          { key: "j", help: t("table.next"), run: () => moveFocus(body.current, 1) },
          { key: "k", help: t("table.previous"), run: () => moveFocus(body.current, -1) },
        ]
      : [],
  );
  const download = () => {
    const shown = columns.filter((column) => column.csv);
    save(
      `${csv}.csv`,
      csvText(
        shown.map(({ id }) => id),
        rows.map((row) => shown.map((column) => column.csv!(row))),
      ),
    );
  };
  const isEmpty = loaded.data !== undefined && rows.length === 0;
  return (
    <section
      class={[!bare && "card", loaded.loading && loaded.data && "stale"].filter(Boolean).join(" ")}
      aria-label={bare ? undefined : title}
      aria-busy={loaded.loading}
    >
      {(side || lead) && (
        <header>
          <h2>{title}</h2>
          {side && <div class="row">{side}</div>}
          {lead && <p>{lead}</p>}
        </header>
      )}
      {loaded.error && !loaded.data ? (
        <Failure error={loaded.error} retry={loaded.reload} />
      ) : isEmpty ? (
        empty
      ) : (
        <div class="scroll" tabIndex={0} role="group" aria-label={title}>
          <table class="tbl">
            <caption class="vh">{title}</caption>
            <thead>
              <tr>
                {columns.map((column) => (
                  <th key={column.id} scope="col" class={column.class}>
                    {column.label}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody ref={body}>
              {loaded.data === undefined ? (
                <SkeletonRows rows={4} columns={columns.length} />
              ) : (
                rows.map((row) => (
                  <tr key={rowKey(row)} class={rowClass?.(row)}>
                    {columns.map((column) => (
                      <td key={column.id} class={column.class}>
                        {column.cell(row)}
                      </td>
                    ))}
                  </tr>
                ))
              )}
            </tbody>
          </table>
        </div>
      )}
      {!isEmpty && loaded.data !== undefined && (csv || footer) && (
        <div class="pager">
          <span>{t("table.shown", { n: rows.length })}</span>
          <span class="push row">
            {footer}
            {csv && (
              <button class="btn" onClick={download}>
                <Icon name="get" />
                CSV
              </button>
            )}
          </span>
        </div>
      )}
    </section>
  );
}
