/** The switches of a site's protection, each with what it does; its load, and protection for an hour. */

import { api } from "../api/client";
import type { SiteDetail } from "../api/types.gen";
import type { Topic } from "../lib/docs";
import { absolute } from "../lib/format";
import { t } from "../lib/words";
import { Toggle } from "../ui/forms";
import { Learn, Note, Segments } from "../ui/parts";
import { toast, toastError } from "../ui/toasts";

/** Each switch, and where the documentation explains it. */
const SWITCHES = {
  wholeSite: "write-rules#load",
  clearanceWithoutScript: "challenge-page#without-javascript",
  formMethodOverride: "gateway#headers-that-name-another-target",
  suggestions: "allow-webhooks#suggestions",
  blockFeed: "feed-firewall",
  decoys: "protect-applications#catch-crawlers-with-decoys",
} as const satisfies Record<string, Topic>;

export type Switched = Record<keyof typeof SWITCHES, boolean> & { wholeSiteWhen: string };

interface Shown {
  value: Switched;
  readOnly: boolean;
  onChange: (change: Partial<Switched>) => void;
}

/** The switches. The whole site has a choice below it: always, or while there is more traffic than usual. */
export function Switches({ value, readOnly, onChange }: Shown) {
  return (
    <ul class="stack">
      {(Object.keys(SWITCHES) as (keyof typeof SWITCHES)[]).map((name) => (
        <li key={name} class="stack tight">
          <Toggle
            checked={value[name]}
            label={<b>{t(`settings.${name}`)}</b>}
            disabled={readOnly}
            onChange={(on) => onChange({ [name]: on })}
          />
          <span class="s soft">
            {t(`settings.${name}Help`)} <Learn topic={SWITCHES[name]} of={t(`settings.${name}`)} />
          </span>
          {name === "wholeSite" && value.wholeSite && (
            <Segments
              label={t("settings.wholeSiteWhen")}
              value={value.wholeSiteWhen}
              onChange={(wholeSiteWhen) => onChange({ wholeSiteWhen })}
              options={["always", "busy"].map((each) => ({ value: each, label: t(`settings.wholeSiteWhen.${each}`) }))}
            />
          )}
        </li>
      ))}
    </ul>
  );
}

/** When and why the site was busy, and the switch for an hour of protection. */
export function UnderAttack({
  site,
  readOnly,
  onChange,
}: {
  site: SiteDetail;
  readOnly: boolean;
  onChange: () => void;
}) {
  const until = Date.parse(site.underAttackUntil ?? "") > Date.now() ? site.underAttackUntil : undefined;
  const { load } = site;
  const change = async (underAttack: boolean) => {
    await api.patch(`/sites/${site.siteKey}`, { underAttack });
    onChange();
  };
  const press = () =>
    void change(!until)
      .then(() =>
        toast(
          t(until ? "settings.attackEnded" : "settings.attackDeclared"),
          () => void change(!!until).catch(toastError),
        ),
      )
      .catch(toastError);
  return (
    <section class="stack tight" aria-label={t("settings.attack")}>
      <div class="row apart">
        <h3>{t("settings.attack")}</h3>
        {!readOnly && (
          <button type="button" class="btn" onClick={press}>
            {t(until ? "settings.endAttack" : "settings.declareAttack")}
          </button>
        )}
      </div>
      <p class="s soft">
        {t("settings.attackHelp")} <Learn topic="write-rules#load" of={t("settings.attack")} />
      </p>
      {until && (
        <Note tone="challenge">
          {t(site.mode === "enforce" ? "settings.underAttack" : "settings.underAttackMonitor", {
            until: absolute(until),
          })}
        </Note>
      )}
      {load && (
        <p class="s">
          {t(load.until ? "settings.load.was" : "settings.load.is", {
            since: absolute(load.since),
            until: load.until ? absolute(load.until) : "",
            pages: String(load.pagesPerMinute),
            usual: String(load.usualPerMinute),
          })}
        </p>
      )}
    </section>
  );
}
