/** A site's load, and protection for an hour. */

import { api } from "../api/client";
import type { SiteDetail } from "../api/types.gen";
import { absolute } from "../lib/format";
import { t } from "../lib/words";
import { toastError } from "../ui/toasts";

interface Shown {
  site: SiteDetail;
  readOnly: boolean;
  onChange: () => void;
}

/** When and why the site was busy, and the switch for an hour of protection. */
export function UnderAttack({ site, readOnly, onChange }: Shown) {
  const until = Date.parse(site.underAttackUntil ?? "") > Date.now() ? site.underAttackUntil : undefined;
  const { load } = site;
  const change = (underAttack: boolean) =>
    void api.patch(`/sites/${site.siteKey}`, { underAttack }).then(onChange).catch(toastError);
  return (
    <div class="stack tight">
      {load && (
        <p>
          {t("settings.load.busy", {
            since: absolute(load.since),
            until: load.until ? absolute(load.until) : "…",
            pages: String(load.pagesPerMinute),
            usual: String(load.usualPerMinute),
          })}
        </p>
      )}
      {until && <p>{t("settings.underAttack", { until: absolute(until) })}</p>}
      {!readOnly && (
        <button type="button" onClick={() => change(!until)}>
          {t(until ? "settings.endAttack" : "settings.declareAttack")}
        </button>
      )}
    </div>
  );
}
