/** The customers' console. A page is one line in `NAV` or `SITE_PAGES` and one route. */

import { Route, Router } from "preact-iso";
import { HOME } from "../api/client";
import { managed, routesOf, SITE_PAGES } from "../pages/of-site";
import { Layout, type NavItem } from "../ui/layout";
import { page } from "../ui/load-page";
import { start } from "../ui/start";

const Sites = page(() => import("../pages/sites"));
const NewSite = page(() => import("../pages/new-site"));
const Security = managed(() => import("../pages/security"));
const Members = managed(() => import("../pages/account/members"));
const Tokens = managed(() => import("../pages/account/tokens"));
const Audit = managed(() => import("../pages/account/audit"));
const AccountSettings = managed(() => import("../pages/account/settings"));
const Missing = page(() => import("../ui/missing"));

const NAV: NavItem[] = [
  ...SITE_PAGES,
  { id: "members", icon: "people", group: "account", go: "m", href: () => `${HOME}/members` },
  { id: "tokens", icon: "key", group: "account", go: "k", href: () => `${HOME}/tokens` },
  { id: "audit", icon: "list", group: "account", go: "u", href: () => `${HOME}/audit` },
  { id: "account", icon: "cog", group: "account", go: "c", href: () => `${HOME}/account` },
];

void start(() => (
  <Layout items={NAV}>
    <Router>
      <Route path={HOME} component={Sites} />
      <Route path={`${HOME}/sites`} component={Sites} />
      <Route path={`${HOME}/new-site`} component={NewSite} />
      <Route path={`${HOME}/security`} component={Security} />
      {routesOf(SITE_PAGES)}
      <Route path={`${HOME}/members`} component={Members} />
      <Route path={`${HOME}/tokens`} component={Tokens} />
      <Route path={`${HOME}/audit`} component={Audit} />
      <Route path={`${HOME}/account`} component={AccountSettings} />
      <Route default component={Missing} />
    </Router>
  </Layout>
));
