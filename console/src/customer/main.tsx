/** The customers' console. A page is one line in `PAGES` and, where it is in the navigation, one in `NAV`. */

import { lazy, Route, Router } from "preact-iso";
import { HOME } from "../api/client";
import { Layout, siteHref, type NavItem } from "../ui/layout";
import type { Command } from "../ui/palette";
import { start } from "../ui/start";
import { t } from "../lib/words";

const Sites = lazy(() => import("../pages/sites"));
const Missing = lazy(() => import("../ui/missing"));

const NAV: NavItem[] = [{ id: "sites", icon: "globe", group: "account", go: "s", href: () => `${HOME}/sites` }];

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
      <Route default component={Missing} />
    </Router>
  </Layout>
));
