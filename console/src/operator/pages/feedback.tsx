/** Whether pages of the documentation help, worst first. */

import { api } from "../../api/client";
import type { DocsFeedbackReport } from "../../api/types.gen";
import { count, percent } from "../../lib/format";
import { useParams } from "../../lib/params";
import { useQuery } from "../../lib/query";
import { t } from "../../lib/words";
import { Empty, Head, Segments } from "../../ui/parts";
import { DataTable } from "../../ui/table";

const DAYS = ["7", "30", "90", "365"];

export default function Feedback() {
  const [params, set] = useParams();
  const days = DAYS.includes(params["days"] ?? "") ? params["days"]! : "30";
  const report = useQuery<DocsFeedbackReport>(days, (signal) => api.get("/docs-feedback", { days }, signal));
  const rows = [...(report.data?.items ?? [])].sort(
    (one, other) => other.notHelpful - one.notHelpful || other.total - one.total,
  );
  const answers = rows.reduce((sum, row) => sum + row.total, 0);
  const helped = rows.reduce((sum, row) => sum + row.helpful, 0);
  return (
    <>
      <Head title={t("page.feedback")}>
        {report.data && t(answers ? "fb.lead" : "fb.leadNone", { n: answers, part: percent(helped / answers) })}
      </Head>
      <div class="filters">
        <Segments
          label={t("range.label")}
          value={days}
          onChange={(value) => set({ days: value === "30" ? undefined : value })}
          options={DAYS.map((value) => ({ value, label: t("fb.days", { n: Number(value) }) }))}
        />
      </div>
      <DataTable
        title={t("page.feedback")}
        loaded={report}
        rows={rows}
        rowKey={(row) => row.page}
        csv="agentgate-docs-feedback"
        empty={
          <Empty icon="book" title={t("fb.none")}>
            {t("fb.noneWhy")}
          </Empty>
        }
        columns={[
          { id: "page", label: t("fb.page"), cell: (row) => <code>{row.page}</code>, csv: (row) => row.page },
          {
            id: "helpful",
            label: t("fb.helpful"),
            class: "n",
            cell: (row) => count(row.helpful),
            csv: (row) => row.helpful,
          },
          {
            id: "notHelpful",
            label: t("fb.notHelpful"),
            class: "n",
            cell: (row) => (
              <span class="tone" data-o={row.notHelpful ? "challenge" : undefined}>
                {count(row.notHelpful)}
              </span>
            ),
            csv: (row) => row.notHelpful,
          },
          { id: "share", label: t("fb.share"), class: "n opt", cell: (row) => percent(row.helpful / row.total) },
        ]}
      />
    </>
  );
}
