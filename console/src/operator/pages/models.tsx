/** Models of each kind: what decides, what waits in shadow, what it would change, and the way back. */

import { useState } from "preact/hooks";
import { api } from "../../api/client";
import type { CompareReport, ModelKind, ModelList, ModelRoles, ModelSummary } from "../../api/types.gen";
import { count, percent } from "../../lib/format";
import { useQuery } from "../../lib/query";
import { named, t } from "../../lib/words";
import { Confirm } from "../../ui/dialogs";
import { useAction } from "../../ui/forms";
import { Card, Empty, Failure, Head, Note, Time } from "../../ui/parts";
import { toast, toastError } from "../../ui/toasts";
import { save } from "../../lib/csv";
import { Drift, Promote, Versions } from "./model-changes";

const ROLES = ["active", "candidate", "previous"] as const;

function Facts({
  role,
  model,
  onSave,
}: {
  role: (typeof ROLES)[number];
  model: ModelSummary | null;
  onSave: () => void;
}) {
  return (
    <div>
      <dt class="state">
        <span
          class="dot"
          data-o={
            role === "active" ? (model ? "allow" : "challenge") : role === "candidate" && model ? "info" : undefined
          }
        />
        {t(`models.${role}`)}
      </dt>
      <dd>
        {model ? (
          <>
            <button class="link" onClick={onSave} title={t("models.save")}>
              <code>{model.version}</code>
            </button>
            <small class="faint">
              {t("models.made", {
                type: named("models.type", model.type),
                features: model.features,
                by: model.installedBy,
              })}{" "}
              <Time at={model.installedAt} />
            </small>
          </>
        ) : (
          <span class="faint">{t(role === "active" ? "models.bundledOnly" : "models.nothing")}</span>
        )}
      </dd>
    </div>
  );
}

/** The numbers that matter before a promotion: what changes, and how each model treats people and bots. */
function Comparison({ kind }: { kind: ModelKind }) {
  const { data, error, loading, reload } = useQuery<CompareReport>(kind, (signal) =>
    api.get(`/models/${kind}/compare`, {}, signal),
  );
  if (error) return <Failure error={error} retry={reload} />;
  if (!data || loading) return <progress aria-label={t("models.comparing")} />;
  const labels = Object.entries(data.perLabel);
  return (
    <div class="stack">
      <p class="lead">
        {data.samples === 0
          ? t("models.noSamples")
          : t(data.wouldChange.total ? "models.changes" : "models.noChange", {
              n: data.wouldChange.total,
              stricter: data.wouldChange.stricter,
              looser: data.wouldChange.looser,
              samples: data.samples,
              agreement: percent(data.agreement),
            })}
      </p>
      <div class="card">
        <div class="tiles only">
          <div class="tile">
            <span class="k">{t("models.agreement")}</span>
            <span class="v">{percent(data.agreement)}</span>
            <span class="delta">{t("models.samples", { n: data.samples })}</span>
          </div>
          <div class="tile">
            <span class="k">{t("models.stricter")}</span>
            <span class="v">{count(data.wouldChange.stricter)}</span>
            <span class="delta" data-o={data.wouldChange.stricter ? "challenge" : undefined}>
              {t("models.stricterWhy")}
            </span>
          </div>
          <div class="tile">
            <span class="k">{t("models.looser")}</span>
            <span class="v">{count(data.wouldChange.looser)}</span>
            <span class="delta">{t("models.looserWhy")}</span>
          </div>
        </div>
      </div>
      {labels.length === 0 ? (
        <Note tone="challenge">{t("models.noLabels")}</Note>
      ) : (
        <div class="scroll" tabIndex={0} role="group" aria-label={t("models.perLabel")}>
          <table class="tbl">
            <caption class="vh">{t("models.perLabel")}</caption>
            <thead>
              <tr>
                <th scope="col">{t("models.labeled")}</th>
                <th scope="col" class="n">
                  {t("models.samplesHead")}
                </th>
                <th scope="col" class="n">
                  {t("models.active")}
                </th>
                <th scope="col" class="n">
                  {t("models.candidate")}
                </th>
                <th scope="col" class="opt">
                  {t("models.better")}
                </th>
              </tr>
            </thead>
            <tbody>
              {labels.map(([label, rates]) => {
                const gain = (rates.candidateRate - rates.activeRate) * (label === "human" ? -1 : 1);
                return (
                  <tr key={label}>
                    <td>{named("label", label)}</td>
                    <td class="n">{count(rates.samples)}</td>
                    <td class="n">{percent(rates.activeRate)}</td>
                    <td class="n">{percent(rates.candidateRate)}</td>
                    <td class="opt">
                      <span class="tone" data-o={gain > 0 ? "allow" : gain < 0 ? "block" : undefined}>
                        {t(gain > 0 ? "models.isBetter" : gain < 0 ? "models.isWorse" : "models.isSame")}
                      </span>
                    </td>
                  </tr>
                );
              })}
            </tbody>
          </table>
          <p class="xs faint pad">{t("models.rateMeans")}</p>
        </div>
      )}
    </div>
  );
}

function Kind({ kind, roles, reload }: { kind: ModelKind; roles: ModelRoles; reload: () => void }) {
  const act = useAction(reload);
  const [asked, setAsked] = useState<"promote" | "clear" | null>(null);
  const download = (role: string) =>
    void api
      .text(`/models/${kind}/${role}`)
      .then((text) => save(`${kind}-${role}.json`, text, "application/json"))
      .catch(toastError);
  const upload = (event: Event) => {
    const input = event.currentTarget as HTMLInputElement;
    const file = input.files?.[0];
    if (!file) return;
    void file
      .text()
      .then((text) => api.put(`/models/${kind}/candidate`, JSON.parse(text) as unknown))
      .then(() => {
        toast(t("models.installed"));
        reload();
      })
      .catch((failure: unknown) =>
        toastError(failure instanceof SyntaxError ? new Error(t("models.notJson")) : failure),
      );
    input.value = "";
  };
  const clear = () => {
    setAsked(null);
    act(() => api.delete(`/models/${kind}/candidate`), t("models.cleared"));
  };
  return (
    <Card
      title={named("models.kind", kind)}
      lead={named("models.kindLead", kind)}
      footer={
        <>
          <label class="btn">
            {t("models.upload")}
            <input class="vh" type="file" accept="application/json,.json" onChange={upload} />
          </label>
          <span class="push row">
            {roles.candidate && (
              <>
                <button class="btn bad" onClick={() => setAsked("clear")}>
                  {t("models.clear")}
                </button>
                <button class="btn main" onClick={() => setAsked("promote")}>
                  {t("models.promote")}
                </button>
              </>
            )}
          </span>
        </>
      }
    >
      <div class="in stack">
        <dl class="rows facts">
          {ROLES.map((role) => (
            <Facts key={role} role={role} model={roles[role]} onSave={() => download(role)} />
          ))}
        </dl>
        {roles.candidate && roles.active && <Comparison kind={kind} />}
        {roles.active && <Drift kind={kind} />}
        {roles.active && <Versions kind={kind} active={roles.active.version} reload={reload} />}
      </div>
      {roles.candidate && (
        <Promote
          kind={kind}
          candidate={roles.candidate}
          active={roles.active}
          open={asked === "promote"}
          onClose={() => setAsked(null)}
          reload={reload}
        />
      )}
      <Confirm
        open={asked === "clear"}
        title={t("models.clearTitle")}
        action={t("models.clear")}
        onConfirm={clear}
        onClose={() => setAsked(null)}
      >
        {t("models.clearLead", { candidate: roles.candidate?.version ?? "–" })}
      </Confirm>
    </Card>
  );
}

export default function Models() {
  const models = useQuery<ModelList>("models", (signal) => api.get("/models", {}, signal));
  const kinds = Object.entries(models.data?.models ?? {}) as [ModelKind, ModelRoles][];
  const waiting = kinds.filter(([, roles]) => roles.candidate).length;
  return (
    <>
      <Head title={t("page.models")}>
        {models.data && t(waiting ? "models.lead" : "models.leadNone", { n: waiting })}
      </Head>
      {models.error && !models.data ? (
        <div class="card">
          <Failure error={models.error} retry={models.reload} />
        </div>
      ) : models.data && kinds.length === 0 ? (
        <div class="card">
          <Empty icon="box" title={t("models.none")} />
        </div>
      ) : (
        kinds.map(([kind, roles]) => <Kind key={kind} kind={kind} roles={roles} reload={models.reload} />)
      )}
    </>
  );
}
