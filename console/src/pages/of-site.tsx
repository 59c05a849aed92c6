/** The pages of a site: the same for its customer and for operators, who see those of every site. */

import type { FunctionComponent } from "preact";
import { lazy, Route } from "preact-iso";
import { HOME } from "../api/client";
import { loadManageWords } from "../lib/words";
import type { IconName } from "../ui/icons";
import { siteHref, type NavItem } from "../ui/layout";

type Load = () => Promise<{ default: FunctionComponent }>;
export interface SitePage extends NavItem {
  component: FunctionComponent;
}

/** A page whose words are loaded with the first page of its kind: of the account, the installation, and people. */
export const managed = (load: Load) => lazy(async () => (await Promise.all([load(), loadManageWords()]))[0]);

export function sitePage(
  id: string,
  group: string,
  icon: IconName,
  go: string,
  component: FunctionComponent,
): SitePage {
  return { id, icon, group, go, site: true, href: (siteKey) => siteHref(siteKey, id), component };
}

export const SITE_PAGES: SitePage[] = [
  sitePage(
    "overview",
    "site",
    "chart",
    "o",
    lazy(() => import("./overview")),
  ),
  sitePage(
    "decisions",
    "site",
    "list",
    "d",
    lazy(() => import("./decisions")),
  ),
  sitePage(
    "visitors",
    "site",
    "people",
    "v",
    lazy(() => import("./visitors")),
  ),
  sitePage(
    "appeals",
    "site",
    "inbox",
    "p",
    lazy(() => import("./appeals")),
  ),
  sitePage(
    "install",
    "site",
    "box",
    "i",
    lazy(() => import("./install")),
  ),
  sitePage(
    "rules",
    "control",
    "rules",
    "r",
    lazy(() => import("./rules")),
  ),
  sitePage(
    "lists",
    "control",
    "door",
    "l",
    lazy(() => import("./lists")),
  ),
  sitePage(
    "agents",
    "control",
    "agent",
    "a",
    lazy(() => import("./agents")),
  ),
  sitePage(
    "settings",
    "control",
    "cog",
    "t",
    lazy(() => import("./settings")),
  ),
  sitePage(
    "webhooks",
    "control",
    "hook",
    "w",
    managed(() => import("./account/webhooks")),
  ),
];

export const routesOf = (pages: SitePage[]) =>
  pages.map(({ id, component }) => <Route key={id} path={`${HOME}/sites/:siteKey/${id}`} component={component} />);
