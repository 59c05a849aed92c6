/** The pages of a site: the same for its customer and for operators, who see those of every site. */

import type { FunctionComponent } from "preact";
import { Route } from "preact-iso";
import { HOME } from "../api/client";
import { loadManageWords } from "../lib/words";
import type { IconName } from "../ui/icons";
import { siteHref, type NavItem } from "../ui/layout";
import { page } from "../ui/load-page";

type Load = () => Promise<{ default: FunctionComponent }>;
export interface SitePage extends NavItem {
  component: FunctionComponent;
}

/** A page whose words are loaded with the first page of its kind: few visits open it. */
export const managed = (load: Load) => page(async () => (await Promise.all([loadManageWords(), load()]))[1]);

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
    page(() => import("./overview")),
  ),
  sitePage(
    "decisions",
    "site",
    "list",
    "d",
    page(() => import("./decisions")),
  ),
  sitePage(
    "visitors",
    "site",
    "people",
    "v",
    page(() => import("./visitors")),
  ),
  sitePage(
    "ai-traffic",
    "site",
    "agent",
    "y",
    page(() => import("./ai-traffic")),
  ),
  sitePage(
    "appeals",
    "site",
    "inbox",
    "p",
    page(() => import("./appeals")),
  ),
  sitePage(
    "install",
    "site",
    "box",
    "i",
    page(() => import("./install")),
  ),
  sitePage(
    "rules",
    "control",
    "rules",
    "r",
    page(() => import("./rules")),
  ),
  sitePage(
    "lists",
    "control",
    "door",
    "l",
    page(() => import("./lists")),
  ),
  sitePage(
    "agents",
    "control",
    "agent",
    "a",
    managed(() => import("./agents")),
  ),
  sitePage(
    "settings",
    "control",
    "cog",
    "t",
    page(() => import("./settings")),
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
