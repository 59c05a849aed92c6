/** People who ask for an account: one key each to approve or decline. */

import { useState } from "preact/hooks";
import { api, HOME } from "../../api/client";
import type { AccessRequest, AccessRequestList, InviteResult } from "../../api/types.gen";
import { useKeys } from "../../lib/keys";
import { useParams } from "../../lib/params";
import { useQuery } from "../../lib/query";
import { t } from "../../lib/words";
import { Confirm } from "../../ui/dialogs";
import { changed } from "../waiting";
import { Secret } from "../../ui/forms";
import { Empty, Failure, Head, Segments, Time } from "../../ui/parts";
import { toast, toastError } from "../../ui/toasts";
import { DataTable } from "../../ui/table";

const STATES = ["pending", "approved", "declined", "all"] as const;

function Pending({
  request,
  onApprove,
  onDecline,
}: {
  request: AccessRequest;
  onApprove: () => void;
  onDecline: () => void;
}) {
  return (
    <section class="card" aria-label={request.email}>
      <header>
        <h2>{request.company || request.name}</h2>
        <span class="faint s nw">
          <Time at={request.createdAt} />
        </span>
      </header>
      <div class="in stack">
        <dl class="rows">
          <div>
            <dt>{t("req.who")}</dt>
            <dd>
              {request.name} · {request.email}
            </dd>
          </div>
          <div>
            <dt>{t("req.company")}</dt>
            <dd>{request.company || "–"}</dd>
          </div>
        </dl>
        {request.message ? (
          <blockquote class="quote">{request.message}</blockquote>
        ) : (
          <p class="faint">{t("req.noMessage")}</p>
        )}
        <p class="soft s">{t("req.means", { name: request.company || request.name })}</p>
      </div>
      <footer class="answers row">
        <button class="btn main" onClick={onApprove}>
          {t("req.approve")} <kbd>A</kbd>
        </button>
        <button class="btn bad" onClick={onDecline}>
          {t("req.decline")} <kbd>D</kbd>
        </button>
      </footer>
    </section>
  );
}

export default function AccessRequests() {
  const [params, set] = useParams();
  const status = (STATES as readonly string[]).includes(params["status"] ?? "") ? params["status"]! : "pending";
  const requests = useQuery<AccessRequestList>(status, (signal) => api.get("/access-requests", { status }, signal));
  const [invite, setInvite] = useState<InviteResult | null>(null);
  const [declining, setDeclining] = useState<AccessRequest | null>(null);
  const items = requests.data?.items ?? [];
  // Who has waited longest comes first.
  const waiting = items.filter((each) => each.status === "pending").reverse();
  const chosen = waiting.find(({ id }) => id === params["open"]) ?? waiting[0];
  const [approving, setApproving] = useState<AccessRequest | null>(null);
  const approve = (request: AccessRequest) =>
    void api
      .post<InviteResult>(`/access-requests/${request.id}/approve`)
      .then((made) => {
        setApproving(null);
        setInvite(made);
        toast(t("req.approved", { email: made.email }));
        requests.reload();
        changed();
      })
      .catch(toastError);
  const decline = (request: AccessRequest) =>
    void api
      .post(`/access-requests/${request.id}/decline`)
      .then(() => {
        setDeclining(null);
        toast(t("req.declined", { email: request.email }));
        requests.reload();
        changed();
      })
      .catch(toastError);
  const move = (step: number) => {
    const at = waiting.findIndex((each) => each === chosen);
    const next = waiting[Math.min(waiting.length - 1, Math.max(0, at + step))];
    if (next) set({ open: next.id }, true);
  };
  const isQueue = status === "pending";
  useKeys(
    isQueue
      ? [
          { key: "j", help: t("req.next"), run: () => move(1) },
          { key: "k", help: t("req.previous"), run: () => move(-1) },
          { key: "a", help: t("req.approve"), run: () => chosen && setApproving(chosen) },
          { key: "d", help: t("req.decline"), run: () => chosen && setDeclining(chosen) },
        ]
      : [],
  );
  return (
    <>
      <Head title={t("page.access")}>
        {isQueue && requests.data
          ? t(waiting.length ? "req.lead" : "req.leadNone", { n: waiting.length })
          : t("req.leadAll")}
      </Head>
      <div class="filters">
        <Segments
          label={t("req.status")}
          value={status}
          onChange={(value) => set({ status: value === "pending" ? undefined : value, open: undefined })}
          options={STATES.map((value) => ({ value: value as string, label: t(`req.is.${value}`) }))}
        />
      </div>
      {invite && (
        <Secret
          text={invite.inviteUrl}
          label={t("req.link", { email: invite.email })}
          note={t("req.linkNote")}
          onDone={() => setInvite(null)}
        />
      )}
      {!isQueue ? (
        <DataTable
          title={t("page.access")}
          loaded={requests}
          rows={items}
          rowKey={(row) => row.id}
          csv="agentgate-access-requests"
          empty={
            <Empty icon="door" title={t("req.none")}>
              {t("req.noneWhy")}
            </Empty>
          }
          columns={[
            {
              id: "email",
              label: t("req.who"),
              cell: (row) => (
                <>
                  {row.name}
                  <small>{row.email}</small>
                </>
              ),
              csv: (row) => row.email,
            },
            {
              id: "company",
              label: t("req.company"),
              class: "opt",
              cell: (row) => row.company || "–",
              csv: (row) => row.company,
            },
            {
              id: "status",
              label: t("req.status"),
              cell: (row) => (
                <span
                  class="tag"
                  data-o={row.status === "approved" ? "allow" : row.status === "declined" ? "block" : "challenge"}
                >
                  {t(`req.is.${row.status}`)}
                </span>
              ),
              csv: (row) => row.status,
            },
            {
              id: "createdAt",
              label: t("req.asked"),
              class: "opt faint nw",
              cell: (row) => <Time at={row.createdAt} />,
              csv: (row) => row.createdAt,
            },
            {
              id: "decidedBy",
              label: t("req.decided"),
              class: "opt2",
              cell: (row) =>
                row.decidedAt ? (
                  <>
                    {row.decidedBy}
                    <small>
                      <Time at={row.decidedAt} />
                    </small>
                  </>
                ) : (
                  "–"
                ),
              csv: (row) => row.decidedBy,
            },
          ]}
        />
      ) : requests.error && !requests.data ? (
        <div class="card">
          <Failure error={requests.error} retry={requests.reload} />
        </div>
      ) : requests.data && !chosen ? (
        <div class="card">
          <Empty
            icon="door"
            title={t("req.none")}
            actions={
              <a class="btn" href={`${HOME}/customers?invite=1`}>
                {t("cust.invite")}
              </a>
            }
          >
            {t("req.noneWhy")}
          </Empty>
        </div>
      ) : (
        <div class="pair queue">
          <section class="card" aria-label={t("req.waiting")}>
            <div class="list">
              {waiting.map((request) => (
                <a
                  key={request.id}
                  href={`?open=${request.id}`}
                  aria-current={request === chosen ? "true" : undefined}
                  onClick={(event) => {
                    event.preventDefault();
                    event.stopPropagation();
                    set({ open: request.id }, true);
                  }}
                >
                  <span class="row apart">
                    <span class="b">{request.company || request.name}</span>
                    <span class="faint s">
                      <Time at={request.createdAt} />
                    </span>
                  </span>
                  <span class="soft">{request.email}</span>
                </a>
              ))}
            </div>
          </section>
          {chosen && (
            <Pending request={chosen} onApprove={() => setApproving(chosen)} onDecline={() => setDeclining(chosen)} />
          )}
        </div>
      )}
      <Confirm
        open={approving !== null}
        title={t("req.approveTitle", { email: approving?.email ?? "" })}
        action={t("req.approve")}
        good
        onClose={() => setApproving(null)}
        onConfirm={() => approve(approving!)}
      >
        {t("req.approveLead", { name: approving?.company || approving?.name || "", n: waiting.length })}
      </Confirm>
      <Confirm
        open={declining !== null}
        title={t("req.declineTitle", { name: declining?.company || declining?.name || "" })}
        action={t("req.decline")}
        onConfirm={() => declining && decline(declining)}
        onClose={() => setDeclining(null)}
      >
        {t("req.declineWhy")}
      </Confirm>
    </>
  );
}
