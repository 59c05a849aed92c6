/** The shell around every page: navigation, site switcher, palette, toasts. The same for customers and operators. */

import type { ComponentChildren } from "preact";
import type { ReadonlySignal, Signal } from "@preact/signals";
import { useLocation } from "preact-iso";
import { useEffect, useRef } from "preact/hooks";
import { HOME, isOperator } from "../api/client";
import { account, openSite, reader, session, signOut, sites } from "../api/session";
import type { SiteSummary } from "../api/types.gen";
import { listen, useKeys } from "../lib/keys";
import { change, changeLanguage, settings } from "../lib/settings";
import { language, t } from "../lib/words";
import { Icon, Logo, type IconName } from "./icons";
import { KeySheet, keysOpen, Palette, PALETTE_KEYS, paletteOpen, type Command } from "./palette";
import { toastError, Toasts } from "./toasts";

/** One page in the navigation. `site` pages stand under the chosen site; `go` is the letter behind G. */
export interface NavItem {
  id: string;
  icon: IconName;
  group: string;
  go?: string;
  href: (siteKey: string) => string;
  site?: boolean;
  /** How many things wait there. */
  waiting?: Signal<number>;
  /** Whether the navigation omits the page while nothing waits there. The palette and its keys always have it. */
  hidden?: ReadonlySignal<boolean>;
}

const THEMES = ["system", "light", "dark"] as const;
const TONES = ["info", "allow", "challenge", "drop"] as const;

export function siteHref(siteKey: string, page: string): string {
  return `${HOME}/sites/${siteKey}/${page}`;
}

function Mark({ site }: { site: SiteSummary }) {
  const tone = TONES[[...site.siteKey].reduce((sum, each) => sum + each.charCodeAt(0), 0) % TONES.length];
  return (
    <span class="mark" data-o={tone} aria-hidden="true">
      {site.name.slice(0, 2)}
    </span>
  );
}

function Switcher({ current, page }: { current: SiteSummary | undefined; page: string }) {
  const all = sites.value ?? [];
  return (
    <>
      <button class="switch" popovertarget="sites">
        {current ? <Mark site={current} /> : <span class="mark">–</span>}
        <span>
          {current?.name ?? t("nav.noSite")}
          <small>{isOperator ? (current?.customerName ?? "") : (account.value?.name ?? "")}</small>
        </span>
        <span class="vh">{t("nav.switch")}</span>
        <Icon name="updown" />
      </button>
      <div class="menu" id="sites" popover>
        {all.map((site) => (
          <a
            key={site.siteKey}
            href={siteHref(site.siteKey, page)}
            aria-current={site === current ? "true" : undefined}
            onClick={hide}
          >
            <Mark site={site} />
            {site.name}
            <span class="tag" data-o={site.mode === "enforce" ? "allow" : undefined}>
              {t(`mode.${site.mode}`)}
            </span>
          </a>
        ))}
        {all.length > 0 && <hr />}
        <a href={`${HOME}/sites`} onClick={hide}>
          <Icon name="globe" />
          {t("nav.allSites")}
        </a>
        {!isOperator && (
          <a href={`${HOME}/new-site`} onClick={hide}>
            <Icon name="plus" />
            {t("nav.newSite")}
          </a>
        )}
        {((session.value?.accounts?.length ?? 0) > 1 || session.value?.invitations) && (
          <a href="/v1/pages/accounts" target="_self">
            <Icon name="people" />
            {t(session.value?.invitations ? "nav.invitations" : "nav.switchAccount", {
              n: session.value?.invitations?.length ?? 0,
            })}
          </a>
        )}
      </div>
    </>
  );
}

function hide(event: Event): void {
  (event.currentTarget as HTMLElement).closest<HTMLElement>("[popover]")?.hidePopover();
}

function ReaderMenu() {
  const { theme, utc, keys, everyPage } = settings.value;
  const nextTheme = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length]!;
  return (
    <div class="menu" id="me" popover>
      <button onClick={() => change({ theme: nextTheme })}>
        <Icon name="moon" />
        {t("me.theme", { theme: t(`theme.${theme}`) })}
      </button>
      <button onClick={() => changeLanguage(language === "de" ? "en" : "de")} lang={language === "de" ? "en" : "de"}>
        <Icon name="globe" />
        {language === "de" ? "English" : "Deutsch"}
      </button>
      <button onClick={() => change({ utc: !utc })}>
        <Icon name="clock" />
        {t(utc ? "me.utc" : "me.local")}
      </button>
      <button onClick={() => change({ keys: !keys })} aria-pressed={keys}>
        <Icon name="ask" />
        {t(keys ? "me.keysOn" : "me.keysOff")}
      </button>
      {isOperator ? (
        <button onClick={() => change({ everyPage: !everyPage })} aria-pressed={everyPage}>
          <Icon name="people" />
          {t(everyPage ? "me.everyPage" : "me.fewPages")}
        </button>
      ) : (
        <a href={`${HOME}/security`} onClick={hide}>
          <Icon name="key" />
          {t("me.security")}
        </a>
      )}
      <hr />
      <button onClick={() => void signOut().catch(toastError)}>
        <Icon name="door" />
        {t("me.signOut")}
      </button>
    </div>
  );
}

function Navigation({ items, siteKey }: { items: NavItem[]; siteKey: string }) {
  const { path } = useLocation();
  const shown = items.filter(
    (item) => (!item.site || siteKey) && (!item.hidden?.value || item.waiting?.value || path === item.href(siteKey)),
  );
  const groups = [...new Set(shown.map(({ group }) => group))];
  return (
    <nav class="nav" id="nav" popover aria-label={t("nav.label")}>
      {groups.map((group) => (
        <div key={group}>
          <h2>{t(`group.${group}`)}</h2>
          <ul>
            {shown
              .filter((item) => item.group === group)
              .map((item) => {
                const href = item.href(siteKey);
                return (
                  <li key={item.id}>
                    <a
                      href={href}
                      aria-current={
                        path === href || (item.id !== "sites" && path.startsWith(`${href}/`)) ? "page" : undefined
                      }
                      onClick={hide}
                    >
                      <Icon name={item.icon} />
                      {t(`page.${item.id}`)}
                      {!!item.waiting?.value && (
                        <span class="tag push" data-o="challenge">
                          <span aria-hidden="true">{item.waiting.value}</span>
                          <span class="vh">{t("nav.waiting", { n: item.waiting.value })}</span>
                        </span>
                      )}
                    </a>
                  </li>
                );
              })}
          </ul>
        </div>
      ))}
      <div class="foot">
        <a href="/docs/" target="_blank" rel="noopener">
          <Icon name="book" />
          {t("nav.docs")}
        </a>
        <button class="me" popovertarget="me">
          <span class="mark round" aria-hidden="true">
            {reader.value.slice(0, 1).toUpperCase()}
          </span>
          <span class="clip">{reader.value}</span>
        </button>
      </div>
    </nav>
  );
}

/** The key of the site that the address names. */
export function siteOf(path: string): string {
  return /^\/\w+\/sites\/([^/]+)/.exec(path)?.[1] ?? "";
}

/** A number of a decision can be pasted into the palette anywhere. */
function decisionOf(typed: string, siteKey: string): Command[] {
  if (!/^dec_[0-9a-z]{6,}$/i.test(typed) || !siteKey) return [];
  return [
    {
      icon: "search",
      label: t("palette.decision", { id: typed }),
      group: t("palette.goTo"),
      key: "always",
      href: `${siteHref(siteKey, "decisions")}?open=${typed}`,
    },
  ];
}

export function Layout({ items, children }: { items: NavItem[]; children: ComponentChildren }) {
  const { path, route } = useLocation();
  const named = siteOf(path);
  const last = useRef("");
  if (named) last.current = named;
  const all = sites.value ?? [];
  const siteKey = named || (all.some((site) => site.siteKey === last.current) ? last.current : (all[0]?.siteKey ?? ""));
  const current = all.find((site) => site.siteKey === siteKey);
  const isMissing = sites.value !== null && !!named && !current;
  useEffect(() => {
    if (isMissing) void openSite(named).catch(toastError);
  }, [isMissing, named]);
  const reachable = items.filter((item) => !item.site || siteKey);
  useKeys([
    { key: "?", help: t("keys.sheet"), run: () => (keysOpen.value = true) },
    ...reachable
      .filter(({ go }) => go)
      .map((item) => ({
        key: `g ${item.go}`,
        help: t("keys.go", { page: t(`page.${item.id}`) }),
        run: () => route(item.href(siteKey)),
      })),
  ]);
  useEffect(() => listen(() => (paletteOpen.value = true)), []);
  useFocusOnRoute(path);
  const commands = (typed: string): Command[] => [
    ...decisionOf(typed, siteKey),
    ...reachable.map((item) => ({
      icon: item.icon,
      label: t(`page.${item.id}`),
      group: t("palette.goTo"),
      href: item.href(siteKey),
      key: item.go ? `g ${item.go}` : undefined,
    })),
    ...all.map((site) => ({
      icon: "globe" as const,
      label: site.name,
      group: t("palette.sites"),
      href: siteHref(site.siteKey, "overview"),
    })),
    ...(isOperator
      ? []
      : [{ icon: "plus" as const, label: t("nav.newSite"), group: t("palette.do"), href: `${HOME}/new-site` }]),
    {
      icon: "moon",
      label: t("palette.theme"),
      group: t("palette.do"),
      run: () => change({ theme: settings.value.theme === "dark" ? "light" : "dark" }),
    },
    { icon: "ask", label: t("keys.title"), group: t("palette.do"), key: "?", run: () => (keysOpen.value = true) },
    { icon: "door", label: t("me.signOut"), group: t("palette.do"), run: () => void signOut().catch(toastError) },
  ];
  const page = path.split("/")[4] ?? "overview";
  return (
    <>
      <a class="skip" href="#main">
        {t("nav.skip")}
      </a>
      <div class="app">
        <header class="side">
          <a class="brand" href={HOME} aria-label={t("nav.home")}>
            <Logo />
            <span>AgentGate</span>
          </a>
          <Switcher current={current} page={page} />
          <button class="find" onClick={() => (paletteOpen.value = true)}>
            <Icon name="search" />
            {t("nav.search")} <kbd>{PALETTE_KEYS.join(" ")}</kbd>
          </button>
          <button class="btn sq quiet menu-button" popovertarget="nav" aria-label={t("nav.menu")}>
            <Icon name="menu" />
          </button>
          <Navigation items={items} siteKey={siteKey} />
          <ReaderMenu />
        </header>
        <main id="main">{children}</main>
        <Palette commands={commands} />
        <KeySheet />
        <Toasts />
      </div>
    </>
  );
}

/** A route change moves the focus to the new page's title, once it is there. */
function useFocusOnRoute(path: string): void {
  const first = useRef(true);
  useEffect(() => {
    if (first.current) {
      first.current = false;
      return;
    }
    let tries = 0;
    const timer = setInterval(() => {
      const title = document.querySelector<HTMLElement>("main h1");
      if (title || ++tries > 20) clearInterval(timer);
      title?.focus({ preventScroll: true });
    }, 30);
    window.scrollTo(0, 0);
    return () => clearInterval(timer);
  }, [path]);
}
