/** Starts an app: words, session and sites at once, then the routes. What fails is said on the page. */

import { render, type ComponentChildren } from "preact";
import { LocationProvider } from "preact-iso";
import { ApiError, HOME } from "../api/client";
import { loadSession, loadSites } from "../api/session";
import { loadWords, t } from "../lib/words";
import { Failure } from "./parts";

export async function start(app: () => ComponentChildren): Promise<void> {
  const root = document.getElementById("app")!;
  const words = loadWords();
  // None of them needs another's answer, and each is a way to the service and back.
  const answers = Promise.all([
    loadSession(),
    loadSites().catch((failure: unknown) => {
      // Who is in no account, or must first set up a second factor, still has pages of their own.
      if (!(failure instanceof ApiError) || failure.status !== 403) throw failure;
    }),
  ]);
  try {
    await Promise.all([words, answers]);
  } catch (failure) {
    if (!(failure instanceof ApiError)) throw failure;
    if (failure.status === 401) return;
    await words;
    document.title = t("failure.title");
    render(
      <main class="plain">
        <div class="card">
          <Failure error={failure} retry={() => location.reload()} />
        </div>
      </main>,
      root,
    );
    return;
  }
  root.replaceChildren();
  render(<LocationProvider scope={HOME}>{app()}</LocationProvider>, root);
}
