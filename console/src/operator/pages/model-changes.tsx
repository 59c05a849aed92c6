/** Changes of the active model: promotion with the figures of its guard, former versions, and drift of the scores. */

import { useState } from "preact/hooks";
import { api, ApiError } from "../../api/client";
import type { ModelDrift, ModelKind, ModelSummary, ModelVersions, SiteDrift } from "../../api/types.gen";
import { count, date, decimal, percent } from "../../lib/format";
import { useQuery } from "../../lib/query";
import { named, t } from "../../lib/words";
import { Confirm } from "../../ui/dialogs";
import { FormDialog, useAction } from "../../ui/forms";
import { Failure, Note, Time } from "../../ui/parts";
import { toast } from "../../ui/toasts";

const MOST_SITES = 5;

/** Of a rejected promotion: recent requests that the candidate would newly challenge or block. */
interface Figures {
  evaluated: number;
  allowed: number;
  newlyRefused: number;
  upperBound: number;
  people: { labels: number; newlyRefused: number; upperBound: number };
  byFamily: Record<string, { allowed: number; newlyRefused: number }>;
  decisions: string[];
}

function GuardFigures({ refusal }: { refusal: ApiError }) {
  const figures = refusal.body["byFamily"] ? (refusal.body as unknown as Figures) : null;
  const share = (refused: number, of: number, bound?: number) =>
    t("models.refusedOf", { n: count(refused), of: count(of) }) +
    (bound === undefined || of === 0 ? "" : ` ${t("models.atMost", { bound: percent(bound) })}`);
  return (
    <div role="alert" class="stack">
      <Note tone="block">{refusal.message}</Note>
      {figures && (
        <dl class="rows">
          <div>
            <dt>{t("models.newlyRefused")}</dt>
            <dd>{share(figures.newlyRefused, figures.allowed, figures.upperBound)}</dd>
          </div>
          <div>
            <dt>{t("models.people")}</dt>
            <dd>{share(figures.people.newlyRefused, figures.people.labels, figures.people.upperBound)}</dd>
          </div>
          {Object.entries(figures.byFamily).map(([family, { allowed, newlyRefused }]) => (
            <div key={family}>
              <dt>
                <code>{family}</code>
              </dt>
              <dd>{share(newlyRefused, allowed)}</dd>
            </div>
          ))}
          {figures.decisions.length > 0 && (
            <div>
              <dt>{t("page.decisions")}</dt>
              <dd>
                <code>{figures.decisions.join(" ")}</code>
              </dd>
            </div>
          )}
        </dl>
      )}
    </div>
  );
}

/** Promotes the file that is shown and no other. What the guard rejects can be acknowledged. */
export function Promote({
  kind,
  candidate,
  active,
  open,
  onClose,
  reload,
}: {
  kind: ModelKind;
  candidate: ModelSummary;
  active: ModelSummary | null;
  open: boolean;
  onClose: () => void;
  reload: () => void;
}) {
  const [refusal, setRefusal] = useState<ApiError | null>(null);
  const close = () => {
    setRefusal(null);
    onClose();
  };
  const promote = async () => {
    try {
      await api.post(`/models/${kind}/promote`, { acknowledge: refusal !== null }, {}, candidate.digest);
    } catch (failure) {
      if (!(failure instanceof ApiError) || failure.code !== "confirmation_required") throw failure;
      setRefusal(failure);
      return;
    }
    close();
    toast(t("models.promoted"));
    reload();
  };
  return (
    <FormDialog
      open={open}
      title={t("models.promoteTitle")}
      lead={t("models.promoteLead", { candidate: candidate.version, active: active?.version ?? "–" })}
      action={t(refusal ? "models.promoteAnyway" : "models.promote")}
      bad={refusal !== null}
      onSubmit={promote}
      onClose={close}
    >
      {refusal && <GuardFigures refusal={refusal} />}
    </FormDialog>
  );
}

/** Former models and the shipped one, each a target of rollback. */
export function Versions({ kind, active, reload }: { kind: ModelKind; active: string; reload: () => void }) {
  const act = useAction(reload);
  const [asked, setAsked] = useState<string | null>(null);
  const { data, error } = useQuery<ModelVersions>(`${kind} ${active}`, (signal) =>
    api.get(`/models/${kind}/versions`, {}, signal),
  );
  const rollBack = () => {
    const version = asked!;
    setAsked(null);
    act(() => api.post(`/models/${kind}/rollback`, undefined, { version }), t("models.rolledBack"));
  };
  if (error && !data) return <Failure error={error} />;
  if (!data?.versions.length) return null;
  return (
    <div class="stack tight">
      <h3>{t("models.versions")}</h3>
      <ul class="stack tight">
        {data.versions.map((each) => (
          <li class="row apart" key={each.version}>
            <span>
              <code>{each.version}</code>{" "}
              <small class="faint">
                {each.retiredAt ? (
                  <>
                    {t("models.retired", { by: each.installedBy })} <Time at={each.retiredAt} />
                  </>
                ) : (
                  t("models.shipped")
                )}
              </small>
            </span>
            <button class="btn" onClick={() => setAsked(each.version)}>
              {t("models.rollback")}
              <span class="vh"> {each.version}</span>
            </button>
          </li>
        ))}
      </ul>
      <Confirm
        open={asked !== null}
        title={t("models.rollbackTitle")}
        action={t("models.rollback")}
        onConfirm={rollBack}
        onClose={() => setAsked(null)}
      >
        {t("models.rollbackLead", { previous: asked ?? "", active })}
      </Confirm>
    </div>
  );
}

/** Sites whose scores of the last hour are spread most unlike those of the week before. */
export function Drift({ kind }: { kind: ModelKind }) {
  const { data, error } = useQuery<ModelDrift>(kind, (signal) => api.get(`/models/${kind}/drift`, {}, signal));
  const known = (data?.sites ?? []).filter(({ index }) => index !== null).slice(0, MOST_SITES);
  return (
    <div class="stack tight">
      <h3>{t("models.drift")}</h3>
      <p class="xs faint">{t("models.driftLead")}</p>
      {error && !data ? (
        <Failure error={error} />
      ) : known.length === 0 ? (
        <p class="faint s">{t("models.driftNone")}</p>
      ) : (
        <dl class="rows">
          {known.map(({ siteKey, index, drifted }) => (
            <div key={siteKey}>
              <dt>
                <code>{siteKey}</code>
              </dt>
              <dd class="row">
                <b class="num">{decimal(index ?? 0, 2)}</b>
                <span class="tag" data-o={drifted ? "challenge" : "allow"}>
                  {named("models.drift", drifted ? "changed" : "stable")}
                </span>
              </dd>
            </div>
          ))}
        </dl>
      )}
      {known.map((site) => (
        <Histograms key={site.siteKey} site={site} />
      ))}
    </div>
  );
}

/** How the scores of each day and of the last hour are spread, in percent. */
function Histograms({ site }: { site: SiteDrift }) {
  const rows = [
    ...site.days.map(({ start, bins }) => ({ name: date(start), bins })),
    { name: t("models.lastHour"), bins: site.now },
  ];
  return (
    <details>
      <summary>{t("models.scoresOf", { site: site.siteKey })}</summary>
      <div class="scroll" tabIndex={0} role="region" aria-label={t("models.scoresOf", { site: site.siteKey })}>
        <table class="tbl">
          <thead>
            <tr>
              <th scope="col">{t("models.scoresFrom")}</th>
              {site.now.map((_, place) => (
                <th scope="col" class="n" key={place}>
                  {decimal(place / site.now.length, 1)}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map(({ name, bins }) => (
              <tr key={name}>
                <th scope="row">{name}</th>
                {bins.map((each, place) => (
                  <td class="n" key={place}>
                    {percent(each / Math.max(1, sum(bins)))}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </details>
  );
}

const sum = (numbers: number[]) => numbers.reduce((all, each) => all + each, 0);
