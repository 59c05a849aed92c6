/** Traces that programs which drive browsers leave in the page. */

import { ofDocument } from "../safe";

/** Names in full or with marks that no page gives: a page's own global that looks alike would lock people out. */
const GLOBAL =
  /^(_phantom|callPhantom|__nightmare|_selenium|callSelenium|_Selenium_IDE_Recorder|__(webdriver|selenium|driver|fxdriver|puppeteer)_.*|__playwright__.*|__pwInitScripts|__pw_.*|domAutomation(Controller)?|\$chrome_asyncScriptInfo|\$?[a-z]dc_[a-zA-Z\d]{22}_.*)$/;
const ATTRIBUTES = ["webdriver", "selenium", "driver"];

export function findAutomation(): string[] {
  const found: string[] = [];
  for (const name of Object.getOwnPropertyNames(window)) if (GLOBAL.test(name)) found[found.length] = name;
  for (const name of ATTRIBUTES) if (ofDocument("documentElement").hasAttribute(name)) found[found.length] = name;
  return found;
}
