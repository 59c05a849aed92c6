/** Who is signed in as an operator. All share one key, so each may end any session. */

import { useState } from "preact/hooks";
import { api } from "../../api/client";
import type { OperatorSessionItem, OperatorSessionList } from "../../api/types.gen";
import { useQuery } from "../../lib/query";
import { t } from "../../lib/words";
import { Confirm } from "../../ui/dialogs";
import { useAction } from "../../ui/forms";
import { Empty, Head, Note, Time } from "../../ui/parts";
import { DataTable } from "../../ui/table";

export default function OperatorSessions() {
  const sessions = useQuery<OperatorSessionList>("sessions", (signal) => api.get("/sessions", {}, signal));
  const act = useAction(sessions.reload);
  const [asked, setAsked] = useState(false);
  const rows = sessions.data?.items ?? [];
  const end = (item: OperatorSessionItem) =>
    act(() => api.delete(`/sessions/${item.id}`), t("opses.ended", { operator: item.operator }));
  return (
    <>
      <Head
        title={t("page.sessions")}
        actions={
          rows.length > 1 && (
            <button class="btn bad" onClick={() => setAsked(true)}>
              {t("sessions.endOthers")}
            </button>
          )
        }
      >
        {sessions.data && t("opses.lead", { n: rows.length })}
      </Head>
      <DataTable
        title={t("page.sessions")}
        loaded={sessions}
        rows={rows}
        rowKey={(row) => row.id}
        csv="agentgate-operator-sessions"
        empty={<Empty icon="key" title={t("opses.none")} />}
        columns={[
          {
            id: "operator",
            label: t("opses.operator"),
            cell: (row) => (
              <>
                {row.operator}{" "}
                {row.current && (
                  <span class="tag" data-o="allow">
                    {t("sessions.this")}
                  </span>
                )}
                <small>{row.browser}</small>
              </>
            ),
            csv: (row) => row.operator,
          },
          {
            id: "browser",
            label: t("sessions.browser"),
            class: "opt2",
            cell: (row) => row.browser,
            csv: (row) => row.browser,
          },
          {
            id: "address",
            label: t("audit.address"),
            class: "opt2",
            cell: (row) => <code class="faint">{row.addressId.slice(0, 8)}</code>,
            csv: (row) => row.addressId,
          },
          {
            id: "lastUsedAt",
            label: t("sessions.used"),
            class: "nw faint",
            cell: (row) => <Time at={row.lastUsedAt} />,
            csv: (row) => row.lastUsedAt,
          },
          {
            id: "createdAt",
            label: t("sessions.began"),
            class: "opt nw faint",
            cell: (row) => <Time at={row.createdAt} />,
            csv: (row) => row.createdAt,
          },
          {
            id: "end",
            label: <span class="vh">{t("sessions.end")}</span>,
            class: "n",
            cell: (row) =>
              !row.current && (
                <button class="btn" onClick={() => end(row)}>
                  {t("sessions.end")}
                  <span class="vh"> {row.operator}</span>
                </button>
              ),
          },
        ]}
      />
      <Note tone="info">{t("opses.newKey")}</Note>
      <Confirm
        open={asked}
        title={t("opses.othersTitle")}
        action={t("sessions.endOthers")}
        onClose={() => setAsked(false)}
        onConfirm={() => {
          setAsked(false);
          act(() => api.post("/sessions/revoke-others"), t("sessions.ended"));
        }}
      >
        {t("opses.othersLead", { n: rows.length - 1 })}
      </Confirm>
    </>
  );
}
