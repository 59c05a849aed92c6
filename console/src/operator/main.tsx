/** The operators' console, on the admin listener only. */

import { Route, Router } from "preact-iso";
import { HOME } from "../api/client";
import { loadWords } from "../lib/words";
import { managed, routesOf, SITE_PAGES, sitePage } from "../pages/of-site";
import { Layout, type NavItem } from "../ui/layout";
import { page } from "../ui/load-page";
import { start } from "../ui/start";
import { requests, single, unhealthy, watchWaiting } from "./waiting";

const Sites = page(() => import("../pages/sites"));
const Service = managed(() => import("./pages/service"));
const Customers = managed(() => import("./pages/customers"));
const Customer = managed(() => import("./pages/customer"));
const AccessRequests = managed(() => import("./pages/access-requests"));
const Users = managed(() => import("./pages/users"));
const Outbox = managed(() => import("./pages/outbox"));
const Models = managed(() => import("./pages/models"));
const Probes = managed(() => import("./pages/probes"));
const Feedback = managed(() => import("./pages/feedback"));
const OperatorSessions = managed(() => import("./pages/sessions"));
const Audit = managed(() => import("../pages/account/audit"));
const Missing = page(() => import("../ui/missing"));

const OF_SITE = [
  ...SITE_PAGES,
  sitePage(
    "labeling",
    "site",
    "tag",
    "b",
    managed(() => import("./pages/labeling")),
  ),
];
const NAV: NavItem[] = [
  { id: "service", icon: "server", group: "service", go: "e", href: () => `${HOME}/service`, waiting: unhealthy },
  { id: "sites", icon: "globe", group: "service", go: "s", href: () => `${HOME}/sites` },
  { id: "models", icon: "box", group: "service", go: "m", href: () => `${HOME}/models` },
  { id: "probes", icon: "flask", group: "service", go: "z", href: () => `${HOME}/probes` },
  { id: "audit", icon: "list", group: "service", go: "h", href: () => `${HOME}/audit` },
  { id: "sessions", icon: "key", group: "service", go: "n", href: () => `${HOME}/sessions` },
  { id: "customers", icon: "people", group: "people", go: "c", href: () => `${HOME}/customers`, hidden: single },
  {
    id: "access",
    icon: "door",
    group: "people",
    go: "q",
    href: () => `${HOME}/access-requests`,
    waiting: requests,
    hidden: single,
  },
  { id: "users", icon: "people", group: "people", go: "u", href: () => `${HOME}/users` },
  { id: "outbox", icon: "mail", group: "people", go: "x", href: () => `${HOME}/outbox`, hidden: single },
  { id: "feedback", icon: "book", group: "people", go: "f", href: () => `${HOME}/docs-feedback` },
  ...OF_SITE,
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
        <Route path={`${HOME}/probes`} component={Probes} />
        <Route path={`${HOME}/docs-feedback`} component={Feedback} />
        <Route path={`${HOME}/sessions`} component={OperatorSessions} />
        <Route path={`${HOME}/audit`} component={Audit} />
        <Route path={`${HOME}/sites`} component={Sites} />
        {routesOf(OF_SITE)}
        <Route default component={Missing} />
      </Router>
    </Layout>
  ));
  watchWaiting();
}

void main();
