/** The operators' console, on the admin listener only. */

import type { FunctionComponent } from "preact";
import { lazy, Route, Router } from "preact-iso";
import { HOME } from "../api/client";
import { loadManageWords, loadWords } from "../lib/words";
import { Layout, siteHref, type NavItem } from "../ui/layout";
import { start } from "../ui/start";

const Sites = lazy(() => import("../pages/sites"));
const Overview = lazy(() => import("../pages/overview"));
const Decisions = lazy(() => import("../pages/decisions"));
const Visitors = lazy(() => import("../pages/visitors"));
// Pages of the installation and of people; their words are loaded with the first of them.
const managed = (load: () => Promise<{ default: FunctionComponent }>) => lazy(async () => (await Promise.all([load(), loadManageWords()]))[0]);
const Service = managed(() => import("./pages/service"));
const Customers = managed(() => import("./pages/customers"));
const Customer = managed(() => import("./pages/customer"));
const AccessRequests = managed(() => import("./pages/access-requests"));
const Users = managed(() => import("./pages/users"));
const Outbox = managed(() => import("./pages/outbox"));
const Models = managed(() => import("./pages/models"));
const Labelling = managed(() => import("./pages/labelling"));
const Feedback = managed(() => import("./pages/feedback"));
const OperatorSessions = managed(() => import("./pages/sessions"));
const Audit = managed(() => import("../pages/account/audit"));
const Webhooks = managed(() => import("../pages/account/webhooks"));
const Missing = lazy(() => import("../ui/missing"));

const ofSite = (page: string) => (siteKey: string) => siteHref(siteKey, page);
const NAV: NavItem[] = [
  { id: "service", icon: "server", group: "service", go: "e", href: () => `${HOME}/service` },
  { id: "sites", icon: "globe", group: "service", go: "s", href: () => `${HOME}/sites` },
  { id: "models", icon: "box", group: "service", go: "m", href: () => `${HOME}/models` },
  { id: "audit", icon: "list", group: "service", go: "t", href: () => `${HOME}/audit` },
  { id: "sessions", icon: "key", group: "service", go: "n", href: () => `${HOME}/sessions` },
  { id: "customers", icon: "people", group: "people", go: "c", href: () => `${HOME}/customers` },
  { id: "access", icon: "door", group: "people", go: "a", href: () => `${HOME}/access-requests` },
  { id: "users", icon: "people", group: "people", go: "u", href: () => `${HOME}/users` },
  { id: "outbox", icon: "mail", group: "people", go: "x", href: () => `${HOME}/outbox` },
  { id: "feedback", icon: "book", group: "people", go: "f", href: () => `${HOME}/docs-feedback` },
  { id: "overview", icon: "chart", group: "site", go: "o", href: ofSite("overview"), site: true },
  { id: "decisions", icon: "list", group: "site", go: "d", href: ofSite("decisions"), site: true },
  { id: "visitors", icon: "people", group: "site", go: "v", href: ofSite("visitors"), site: true },
  { id: "labelling", icon: "tag", group: "site", go: "l", href: ofSite("labelling"), site: true },
  { id: "webhooks", icon: "hook", group: "site", go: "w", href: ofSite("webhooks"), site: true },
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
        <Route path={HOME} component={Service} />
        <Route path={`${HOME}/service`} component={Service} />
        <Route path={`${HOME}/customers`} component={Customers} />
        <Route path={`${HOME}/customers/:id`} component={Customer} />
        <Route path={`${HOME}/access-requests`} component={AccessRequests} />
        <Route path={`${HOME}/users`} component={Users} />
        <Route path={`${HOME}/outbox`} component={Outbox} />
        <Route path={`${HOME}/models`} component={Models} />
        <Route path={`${HOME}/docs-feedback`} component={Feedback} />
        <Route path={`${HOME}/sessions`} component={OperatorSessions} />
        <Route path={`${HOME}/audit`} component={Audit} />
        <Route path={`${HOME}/sites`} component={Sites} />
        <Route path={`${HOME}/sites/:siteKey/overview`} component={Overview} />
        <Route path={`${HOME}/sites/:siteKey/decisions`} component={Decisions} />
        <Route path={`${HOME}/sites/:siteKey/visitors`} component={Visitors} />
        <Route path={`${HOME}/sites/:siteKey/labelling`} component={Labelling} />
        <Route path={`${HOME}/sites/:siteKey/webhooks`} component={Webhooks} />
        <Route default component={Missing} />
      </Router>
    </Layout>
  ));
}

void main();
