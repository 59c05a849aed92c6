/** The operators' console, on the admin listener only. */

import { lazy, Route, Router } from "preact-iso";
import { HOME } from "../api/client";
import { loadWords } from "../lib/words";
import { Layout, type NavItem } from "../ui/layout";
import { start } from "../ui/start";

const Sites = lazy(() => import("../pages/sites"));
const Missing = lazy(() => import("../ui/missing"));

const NAV: NavItem[] = [
  { id: "sites", icon: "globe", group: "service", go: "s", href: () => `${HOME}/sites` },
];

async function main(): Promise<void> {
  if (location.pathname === `${HOME}/sign-in`) {
    await loadWords();
    (await import("./sign-in")).show();
    return;
  }
  await start(() => (
    <Layout items={NAV}>
      <Router>
        <Route path={HOME} component={Sites} />
        <Route path={`${HOME}/sites`} component={Sites} />
        <Route default component={Missing} />
      </Router>
    </Layout>
  ));
}

void main();
