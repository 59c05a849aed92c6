/** The notices about the account's sites that the signed-in person gets by mail. */

import { api } from "../../api/client";
import { session } from "../../api/session";
import type { NoticeChoice, NoticeKind } from "../../api/types.gen";
import { useQuery } from "../../lib/query";
import { t } from "../../lib/words";
import { Toggle, useAction } from "../../ui/forms";
import { Card, Failure, Note } from "../../ui/parts";

const KINDS: NoticeKind[] = ["health", "flood", "appeals", "people", "secret", "digest"];

export function Notices() {
  const chosen = useQuery<NoticeChoice>("notices", (signal) => api.get("/notices", {}, signal));
  const act = useAction(chosen.reload);
  const { data } = chosen;
  const choose = (kind: NoticeKind, on: boolean) => {
    const kinds = KINDS.filter((each) => (each === kind ? on : data?.kinds.includes(each)));
    chosen.set({ ...data!, kinds });
    act(() => api.put("/notices", { kinds }), t(on ? "notices.on" : "notices.off", { name: t(`notices.${kind}`) }));
  };
  return (
    <Card title={t("notices.title")} lead={t("notices.lead", { email: session.value?.user?.email ?? "" })}>
      <div class="in stack tight">
        {chosen.error && !data && <Failure error={chosen.error} retry={chosen.reload} />}
        {data && !data.mail && <Note tone="challenge">{t("notices.noMail")}</Note>}
        {data &&
          KINDS.map((kind) => (
            <Toggle
              key={kind}
              checked={data.kinds.includes(kind)}
              label={
                <span>
                  {t(`notices.${kind}`)} <span class="s soft">{t(`notices.${kind}Help`)}</span>
                </span>
              }
              onChange={(on) => choose(kind, on)}
            />
          ))}
      </div>
    </Card>
  );
}
