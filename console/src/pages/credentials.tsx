/** Secrets of a site's server: which there are, whether they are used, and how long an old one still works. */

import { useState } from "preact/hooks";
import { api } from "../api/client";
import { may } from "../api/session";
import type { Credential, CredentialSecret } from "../api/types.gen";
import { relative } from "../lib/format";
import { useEvery } from "../lib/query";
import { t } from "../lib/words";
import { Confirm } from "../ui/dialogs";
import { Secret, Select, useAction } from "../ui/forms";
import { Card, Empty, Time } from "../ui/parts";
import { toast, toastError } from "../ui/toasts";

const OVERLAPS_S = ["0", "3600", "86400", "604800"];
const DAY_S = 86_400;

function Countdown({ credential }: { credential: Credential }) {
  const [, tick] = useState(0);
  useEvery(1000, () => tick(Date.now()));
  const left = Date.parse(credential.expiresAt!) - Date.now();
  const usedLately = credential.lastUsedAt && Date.now() - Date.parse(credential.lastUsedAt) < 3_600_000;
  return (
    <span class="stack tight">
      <span class="state">
        <span class="dot" data-o={usedLately ? "challenge" : "allow"} />
        {t("credentials.ends", { when: relative(Date.now() + left) })}
      </span>
      <span class="s soft">{t(usedLately ? "credentials.stillUsed" : "credentials.notUsed")}</span>
      <progress
        class="short"
        max={DAY_S}
        value={Math.max(0, Math.min(DAY_S, left / 1000))}
        aria-label={t("credentials.left")}
      />
    </span>
  );
}

export function Credentials({
  siteKey,
  list,
  onChange,
}: {
  siteKey: string;
  list: Credential[];
  onChange: () => void;
}) {
  const [made, setMade] = useState<CredentialSecret | null>(null);
  const [rotating, setRotating] = useState<Credential | null>(null);
  const [ending, setEnding] = useState<Credential | null>(null);
  const [overlap, setOverlap] = useState(String(DAY_S));
  const act = useAction(onChange);
  const mayWrite = may("sites:write");
  const isOver = (each: Credential) =>
    Boolean(each.revokedAt) || (each.expiresAt !== undefined && Date.parse(each.expiresAt) <= Date.now());
  const alive = list.filter((each) => !isOver(each));
  const took = (secret: CredentialSecret, text: string) => {
    setMade(secret);
    toast(text);
    onChange();
  };
  const create = () =>
    api
      .post<CredentialSecret>(`/sites/${siteKey}/credentials`, {})
      .then((secret) => took(secret, t("credentials.created")))
      .catch(toastError);
  const rotate = (each: Credential) =>
    api
      .post<CredentialSecret>(`/sites/${siteKey}/credentials/${each.id}/rotate`, { overlapSeconds: Number(overlap) })
      .then((secret) => took(secret, t("credentials.rotated")))
      .catch(toastError);
  const revoke = () => {
    const each = ending!;
    setEnding(null);
    act(() => api.post(`/sites/${siteKey}/credentials/${each.id}/revoke`), t("credentials.revoked"));
  };
  return (
    <Card
      title={t("credentials.title")}
      lead={t("credentials.lead", { n: alive.length })}
      side={
        mayWrite && (
          <button class="btn" onClick={() => void create()}>
            {t("install.make")}
          </button>
        )
      }
    >
      <div class="in stack">
        {made && (
          <Secret
            text={made.secret}
            label={t("credentials.made")}
            note={t("credentials.next")}
            onDone={() => setMade(null)}
          />
        )}
        {alive.length === 0 && (
          <Empty icon="key" title={t("credentials.none")}>
            {t("credentials.noneWhy")}
          </Empty>
        )}
        {alive.length > 0 && mayWrite && (
          <Select
            id="overlap"
            label={t("credentials.overlap")}
            value={overlap}
            onChange={setOverlap}
            options={OVERLAPS_S.map((value) => ({ value, label: t(`credentials.overlap.${value}`) }))}
          />
        )}
        <ul class="list">
          {list.map((each) => (
            <li key={each.id} class={isOver(each) ? "faint" : undefined}>
              <span class="row apart">
                <b>{each.name}</b>
                <code class="xs">{each.id}</code>
              </span>
              <span class="row apart">
                {isOver(each) ? (
                  <span>{t(each.revokedAt ? "credentials.isRevoked" : "lists.over")}</span>
                ) : each.expiresAt ? (
                  <Countdown credential={each} />
                ) : (
                  <span class="s soft">
                    {each.lastUsedAt ? (
                      <>
                        {t("credentials.used")} <Time at={each.lastUsedAt} />
                      </>
                    ) : (
                      t("credentials.never")
                    )}
                  </span>
                )}
                {!isOver(each) && mayWrite && (
                  <span class="row">
                    {!each.expiresAt && (
                      <button class="btn" onClick={() => setRotating(each)}>
                        {t("credentials.rotate")}
                      </button>
                    )}
                    <button class="btn bad" onClick={() => setEnding(each)}>
                      {t(each.expiresAt ? "credentials.endOverlap" : "credentials.revoke")}
                    </button>
                  </span>
                )}
              </span>
            </li>
          ))}
        </ul>
      </div>
      <Confirm
        open={rotating !== null}
        title={t("credentials.rotateTitle")}
        action={t("credentials.rotate")}
        onClose={() => setRotating(null)}
        onConfirm={() => {
          const each = rotating!;
          setRotating(null);
          void rotate(each);
        }}
      >
        {t("credentials.rotateLead", { hours: Number(overlap) / 3600 })}
      </Confirm>
      <Confirm
        open={ending !== null}
        title={t("credentials.revoke")}
        word={ending?.name}
        action={t("credentials.revoke")}
        onConfirm={revoke}
        onClose={() => setEnding(null)}
      >
        {t("credentials.revokeWhy")}
      </Confirm>
    </Card>
  );
}
