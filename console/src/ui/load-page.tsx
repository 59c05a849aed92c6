/** Pages that are loaded when they are opened. One that cannot be loaded says so, retries, and recovers by itself. */

import type { FunctionComponent } from "preact";
import { lazy } from "preact-iso";
import { useEffect, useRef, useState } from "preact/hooks";
import { t } from "../lib/words";
import { Empty, Head } from "./parts";

type Load = () => Promise<{ default: FunctionComponent }>;

const RETRY_MS = 5000;

/** Loads again. Browsers keep that a module failed, so its file is asked for under another address. */
async function loadAgain(load: Load, turn: number): Promise<FunctionComponent> {
  try {
    return (await load()).default;
  } catch (failure) {
    const file = /https?:\/\/[^\s"']+\.js/.exec(String(failure))?.[0];
    if (!file) throw failure;
    return ((await import(`${file}?again=${turn}`)) as Awaited<ReturnType<Load>>).default;
  }
}

function LoadFailed({ load }: { load: Load }) {
  const [Loaded, setLoaded] = useState<FunctionComponent | null>(null);
  const turn = useRef(0);
  const retry = () =>
    void loadAgain(load, ++turn.current).then(
      (found) => setLoaded(() => found),
      () => undefined,
    );
  useEffect(() => {
    if (Loaded) return;
    const timer = setInterval(retry, RETRY_MS);
    addEventListener("online", retry);
    return () => {
      clearInterval(timer);
      removeEventListener("online", retry);
    };
  }, [Loaded]);
  if (Loaded) return <Loaded />;
  return (
    <>
      <Head title={t("load.failed")} />
      <div class="card">
        <Empty
          icon="alert"
          title={t("load.failed")}
          actions={
            <button class="btn main" onClick={retry}>
              {t("load.retry")}
            </button>
          }
        >
          {t("load.why")}
        </Empty>
      </div>
    </>
  );
}

export const page = (load: Load) => lazy(() => load().catch(() => ({ default: () => <LoadFailed load={load} /> })));
