/** Columns that several tables have: of sites, and of users. */

import type { Mode, SiteSummary } from "../api/types.gen";
import { t } from "../lib/words";
import { Time, type Tone } from "./parts";
import type { Column } from "./table";

const HEALTH: Record<string, Tone> = {
  ok: "allow",
  no_traffic: "challenge",
  no_credentials: "block",
  no_routes: "challenge",
};

export function ModeTag({ mode }: { mode: Mode }) {
  return (
    <span class="tag" data-o={mode === "enforce" ? "allow" : undefined}>
      {t(`mode.${mode}`)}
    </span>
  );
}

/** A moment in a quiet column; a word where there is none. */
export function whenColumn<T>(
  id: string,
  label: string,
  of: (row: T) => string | null | undefined,
  never = t("usr.never"),
): Column<T> {
  return {
    id,
    label,
    class: "opt2 faint nw",
    cell: (row) => (of(row) ? <Time at={of(row)!} /> : never),
    csv: (row) => of(row) ?? undefined,
  };
}

export function modeColumn<T extends { mode: Mode }>(): Column<T> {
  return { id: "mode", label: t("sites.mode"), cell: (row) => <ModeTag mode={row.mode} />, csv: (row) => row.mode };
}

export function healthColumn<T extends { health: SiteSummary["health"] }>(): Column<T> {
  return {
    id: "health",
    label: t("sites.health"),
    cell: (row) => (
      <span class="state">
        <span class="dot" data-o={HEALTH[row.health.status]} />
        {t(`health.${row.health.status}`)}
      </span>
    ),
    csv: (row) => row.health.status,
  };
}

export function factorColumn<T extends { mfaEnabled: boolean; status: string }>(): Column<T> {
  return {
    id: "mfa",
    label: t("usr.factor"),
    class: "opt",
    cell: (row) =>
      row.status !== "invited" && (
        <span class="state">
          <span class="dot" data-o={row.mfaEnabled ? "allow" : "challenge"} />
          {t(row.mfaEnabled ? "usr.on" : "usr.off")}
        </span>
      ),
    csv: (row) => String(row.mfaEnabled),
  };
}
