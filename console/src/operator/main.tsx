/** The operators' console, on the admin listener only. */

import { lazy, Route, Router } from "preact-iso";
import { HOME } from "../api/client";
import { loadWords } from "../lib/words";
import { Layout, siteHref, type NavItem } from "../ui/layout";
import { start } from "../ui/start";

const Sites = lazy(() => import("../pages/sites"));
const Overview = lazy(() => import("../pages/overview"));
const Decisions = lazy(() => import("../pages/decisions"));
const Visitors = lazy(() => import("../pages/visitors"));
const Missing = lazy(() => import("../ui/missing"));

const ofSite = (page: string) => (siteKey: string) => siteHref(siteKey, page);
const NAV: NavItem[] = [
  { id: "sites", icon: "globe", group: "service", go: "s", href: () => `${HOME}/sites` },
  { id: "overview", icon: "chart", group: "site", go: "o", href: ofSite("overview"), site: true },
  { id: "decisions", icon: "list", group: "site", go: "d", href: ofSite("decisions"), site: true },
  { id: "visitors", icon: "people", group: "site", go: "v", href: ofSite("visitors"), site: true },
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
        <Route path={`${HOME}/sites/:siteKey/overview`} component={Overview} />
        <Route path={`${HOME}/sites/:siteKey/decisions`} component={Decisions} />
        <Route path={`${HOME}/sites/:siteKey/visitors`} component={Visitors} />
        <Route default component={Missing} />
      </Router>
    </Layout>
  ));
}

void main();
