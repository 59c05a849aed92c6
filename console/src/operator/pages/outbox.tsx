/** Every message to people, with the link in it to copy while no mail server delivers it. */

import { useState } from "preact/hooks";
import { api } from "../../api/client";
import type { OutboxList, OutboxMessage } from "../../api/types.gen";
import { useParams } from "../../lib/params";
import { useEvery, useQuery } from "../../lib/query";
import { named, t } from "../../lib/words";
import { CopyButton, Empty, Head, Note, Segments, Time, type Tone } from "../../ui/parts";
import { DataTable } from "../../ui/table";

const REFRESH_MS = 15_000;
const STATES = ["all", "pending", "failed", "sent"] as const;
const TONES: Record<OutboxMessage["status"], Tone> = { pending: "challenge", failed: "block", sent: "allow" };

/** The link of a message; its secret stands behind the `#`. */
function linkIn(message: OutboxMessage): string | undefined {
  return /https?:\/\/\S+#[\w-]+/.exec(message.body)?.[0];
}

export default function Outbox() {
  const [params, set] = useParams();
  const status = params["status"] ?? "all";
  const [open, setOpen] = useState("");
  const outbox = useQuery<OutboxList>("outbox", (signal) => api.get("/outbox", { limit: 200 }, signal));
  useEvery(REFRESH_MS, outbox.reload);
  const all = outbox.data?.items ?? [];
  const waiting = all.filter((each) => each.status === "pending").length;
  const failed = all.filter((each) => each.status === "failed").length;
  const rows = all.filter((each) => status === "all" || each.status === status);
  return (
    <>
      <Head title={t("page.outbox")}>
        {outbox.data && t(waiting || failed ? "outbox.lead" : "outbox.leadWell", { n: waiting, failed })}
      </Head>
      <div class="filters">
        <Segments
          label={t("outbox.status")}
          value={status}
          onChange={(value) => set({ status: value === "all" ? undefined : value })}
          options={STATES.map((value) => ({ value: value as string, label: t(`outbox.is.${value}`) }))}
        />
      </div>
      <Note tone="challenge">{t("outbox.warning")}</Note>
      <DataTable
        title={t("page.outbox")}
        loaded={outbox}
        rows={rows}
        rowKey={(row) => row.id}
        csv="agentgate-outbox"
        empty={
          <Empty icon="mail" title={t(all.length ? "outbox.noneFiltered" : "outbox.none")}>
            {t("outbox.noneWhy")}
          </Empty>
        }
        columns={[
          {
            id: "to",
            label: t("outbox.to"),
            cell: (row) => (
              <>
                {row.to}
                <small>{row.subject}</small>
              </>
            ),
            csv: (row) => row.to,
          },
          {
            id: "kind",
            label: t("outbox.kind"),
            class: "opt",
            cell: (row) => named("outbox.kind", row.kind),
            csv: (row) => row.kind,
          },
          {
            id: "status",
            label: t("outbox.status"),
            cell: (row) => (
              <>
                <span class="tag" data-o={TONES[row.status]}>
                  {t(`outbox.is.${row.status}`)}
                </span>
                {row.lastError && (
                  <small class="wrap">{t("outbox.attempts", { n: row.attempts, error: row.lastError })}</small>
                )}
              </>
            ),
            csv: (row) => row.status,
          },
          {
            id: "createdAt",
            label: t("outbox.made"),
            class: "opt faint nw",
            cell: (row) => <Time at={row.createdAt} />,
            csv: (row) => row.createdAt,
          },
          {
            id: "link",
            label: <span class="vh">{t("outbox.link")}</span>,
            class: "n",
            cell: (row) => {
              const link = linkIn(row);
              if (!row.body) return <span class="faint">{t("outbox.over")}</span>;
              return (
                <span class="row nowrap">
                  {link && <CopyButton text={link} label={t("outbox.copy")} />}
                  <button
                    class="btn quiet"
                    aria-expanded={open === row.id}
                    onClick={() => setOpen(open === row.id ? "" : row.id)}
                  >
                    {t("outbox.read")}
                  </button>
                </span>
              );
            },
          },
        ]}
      />
      {open && <Body message={all.find(({ id }) => id === open)} />}
    </>
  );
}

function Body({ message }: { message: OutboxMessage | undefined }) {
  if (!message) return null;
  return (
    <div class="code">
      <header>
        {message.subject}
        <span class="push" />
        <CopyButton text={message.body} quiet />
      </header>
      <pre tabIndex={0} role="region" aria-label={message.subject}>
        {message.body}
      </pre>
    </div>
  );
}
