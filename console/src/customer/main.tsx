/** The customers' console. A page is one line in `PAGES` and, where it is in the navigation, one in `NAV`. */

import type { FunctionComponent } from "preact";
import { lazy, Route, Router } from "preact-iso";
import { HOME } from "../api/client";
import { Layout, siteHref, type NavItem } from "../ui/layout";
import type { Command } from "../ui/palette";
import { start } from "../ui/start";
import { loadManageWords, t } from "../lib/words";

const Sites = lazy(() => import("../pages/sites"));
const NewSite = lazy(() => import("../pages/new-site"));
const Install = lazy(() => import("../pages/install"));
const Overview = lazy(() => import("../pages/overview"));
const Decisions = lazy(() => import("../pages/decisions"));
const Visitors = lazy(() => import("../pages/visitors"));
const Security = lazy(() => import("../pages/security"));
const Rules = lazy(() => import("../pages/rules"));
const Agents = lazy(() => import("../pages/agents"));
const Settings = lazy(() => import("../pages/settings"));
const Lists = lazy(() => import("../pages/lists"));
const Appeals = lazy(() => import("../pages/appeals"));
// Pages of the account; their words are loaded with the first of them.
const managed = (load: () => Promise<{ default: FunctionComponent }>) => lazy(async () => (await Promise.all([load(), loadManageWords()]))[0]);
const Members = managed(() => import("../pages/account/members"));
const Tokens = managed(() => import("../pages/account/tokens"));
const Audit = managed(() => import("../pages/account/audit"));
const AccountSettings = managed(() => import("../pages/account/settings"));
const Webhooks = managed(() => import("../pages/account/webhooks"));
const Missing = lazy(() => import("../ui/missing"));

const ofSite = (page: string) => (siteKey: string) => siteHref(siteKey, page);
const NAV: NavItem[] = [
  { id: "overview", icon: "chart", group: "site", go: "o", href: ofSite("overview"), site: true },
  { id: "decisions", icon: "list", group: "site", go: "d", href: ofSite("decisions"), site: true },
  { id: "visitors", icon: "people", group: "site", go: "v", href: ofSite("visitors"), site: true },
  { id: "appeals", icon: "inbox", group: "site", go: "e", href: ofSite("appeals"), site: true },
  { id: "rules", icon: "rules", group: "control", go: "r", href: ofSite("rules"), site: true },
  { id: "lists", icon: "door", group: "control", go: "l", href: ofSite("lists"), site: true },
  { id: "agents", icon: "agent", group: "control", go: "a", href: ofSite("agents"), site: true },
  { id: "settings", icon: "cog", group: "control", go: "t", href: ofSite("settings"), site: true },
  { id: "install", icon: "box", group: "site", go: "i", href: ofSite("install"), site: true },
  { id: "webhooks", icon: "hook", group: "control", go: "w", href: ofSite("webhooks"), site: true },
  { id: "members", icon: "people", group: "account", go: "m", href: () => `${HOME}/members` },
  { id: "tokens", icon: "key", group: "account", go: "t", href: () => `${HOME}/tokens` },
  { id: "audit", icon: "list", group: "account", go: "u", href: () => `${HOME}/audit` },
  { id: "account", icon: "cog", group: "account", go: "c", href: () => `${HOME}/account` },
];

/** A number of a decision can be pasted into the palette anywhere. */
function commands(typed: string, siteKey: string): Command[] {
  if (!/^dec_[0-9a-z]{6,}$/i.test(typed) || !siteKey) return [];
  return [{ icon: "search", label: t("palette.decision", { id: typed }), group: t("palette.goTo"), key: "always", href: `${siteHref(siteKey, "decisions")}?open=${typed}` }];
}

void start(() => (
  <Layout items={NAV} more={commands}>
    <Router>
      <Route path={HOME} component={Sites} />
      <Route path={`${HOME}/sites`} component={Sites} />
      <Route path={`${HOME}/new-site`} component={NewSite} />
      <Route path={`${HOME}/security`} component={Security} />
      <Route path={`${HOME}/sites/:siteKey/overview`} component={Overview} />
      <Route path={`${HOME}/sites/:siteKey/decisions`} component={Decisions} />
      <Route path={`${HOME}/sites/:siteKey/visitors`} component={Visitors} />
      <Route path={`${HOME}/sites/:siteKey/install`} component={Install} />
      <Route path={`${HOME}/sites/:siteKey/appeals`} component={Appeals} />
      <Route path={`${HOME}/sites/:siteKey/rules`} component={Rules} />
      <Route path={`${HOME}/sites/:siteKey/lists`} component={Lists} />
      <Route path={`${HOME}/sites/:siteKey/agents`} component={Agents} />
      <Route path={`${HOME}/sites/:siteKey/settings`} component={Settings} />
      <Route path={`${HOME}/members`} component={Members} />
      <Route path={`${HOME}/tokens`} component={Tokens} />
      <Route path={`${HOME}/audit`} component={Audit} />
      <Route path={`${HOME}/account`} component={AccountSettings} />
      <Route path={`${HOME}/sites/:siteKey/webhooks`} component={Webhooks} />
      <Route default component={Missing} />
    </Router>
  </Layout>
));
