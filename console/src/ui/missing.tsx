/** An address of the console that leads nowhere. */

import { HOME } from "../api/client";
import { t } from "../lib/words";
import { Empty, Head } from "./parts";

export default function Missing() {
  return (
    <>
      <Head title={t("missing.title")} />
      <div class="card">
        <Empty
          icon="search"
          title={t("missing.what")}
          actions={
            <a class="btn main" href={`${HOME}/sites`}>
              {t("nav.allSites")}
            </a>
          }
        >
          {t("missing.why")}
        </Empty>
      </div>
    </>
  );
}
