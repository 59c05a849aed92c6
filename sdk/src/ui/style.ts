/**
 * The widget's looks, as rules: they go into the shadow root in whichever way the page's policy and the browser allow.
 */

import { make } from "../page";

const DARK =
  "--b:#1c2128;--f:#f0f3f6;--l:#8b949e;--m:#b1bac4;--p:#2d333b;--k:#a8c7fa;" +
  "--t:#a8c7fa;--o:#062e6f;--g:#6fdd8b;--r:#ffb3ad;color-scheme:dark";

/** Background, foreground, line, key color and what stands on it, good (green) and bad (red). */
const RULES = [
  `.box{--b:#fff;--f:#1f2328;--l:#6e7781;--m:#57606a;--p:#f0f2f5;--k:#0b57d0;--t:#0b57d0;--o:#fff;` +
    `--g:#116329;--r:#b3261e;all:initial;position:relative;display:block;box-sizing:border-box;` +
    `font:15px/1.4 system-ui,sans-serif;color:var(--f);background:var(--b);border:1px solid var(--l);` +
    `border-radius:8px;padding:10px 14px;inline-size:300px;max-inline-size:100%;overflow-wrap:anywhere}`,
  `.dark{${DARK}}`,
  `@media (prefers-color-scheme:dark){.auto{${DARK}}}`,
  `.compact{inline-size:180px;padding:8px 10px;font-size:14px}`,
  `.flexible{inline-size:100%}`,
  `.idle{display:none}`,
  `.row{display:flex;align-items:center;gap:10px;min-block-size:24px}`,
  `.interactive .row{position:absolute;inline-size:1px;overflow:hidden;clip-path:inset(50%);white-space:nowrap}`,
  `p{margin:0}`,
  `.hint,.help{margin-block-start:4px;font-size:14px}`,
  `svg{flex:none;inline-size:22px;fill:none;stroke:currentColor;stroke-width:2.5;stroke-linecap:round;` +
    `stroke-linejoin:round}`,
  `.verified svg{color:var(--g)}`,
  `.failed svg,.expired svg{color:var(--r)}`,
  `.checking svg{color:var(--k);animation:turn 1s linear infinite}`,
  `@keyframes turn{to{transform:rotate(1turn)}}`,
  `button,summary{font:inherit;box-sizing:border-box;min-block-size:44px;min-inline-size:44px;` +
    `border-radius:6px;cursor:pointer;color:var(--t);background:0;border:0;padding:8px}`,
  `.head{display:flex;align-items:center;gap:8px;color:var(--m);font-size:13px}`,
  `.head svg{inline-size:20px;stroke-width:2;color:var(--k)}`,
  `.lead{margin-block-start:6px;font-size:17px;font-weight:600;line-height:1.3}`,
  `.hint{color:var(--m)}`,
  `.field{--s:56px;position:relative;box-sizing:border-box;block-size:128px;margin-block-start:12px;` +
    `border-radius:10px;background:var(--p)}`,
  `.press{position:absolute;inline-size:var(--s);block-size:var(--s);padding:0;border-radius:50%;` +
    `border:2px solid #0000;display:grid;place-items:center;color:var(--o);background:var(--k);` +
    `touch-action:manipulation}`,
  `.press svg{inline-size:26px;stroke-width:3}`,
  `.press i{position:absolute;inset:-2px;border-radius:50%;border:3px solid var(--k);` +
    `border-inline-start-color:#0000;opacity:0;pointer-events:none}`,
  `.press[aria-disabled=true]{color:var(--m);background:var(--b);border-color:var(--p)}`,
  `.press[aria-disabled=true] i{opacity:1;inline-size:auto;transition:none;animation:turn var(--wait) linear}`,
  `.main{inline-size:100%;margin-block-start:8px;font-weight:600;color:var(--o);background:var(--k);` +
    `border:1px solid #0000;position:relative;overflow:hidden}`,
  `[aria-disabled=true]{cursor:progress}`,
  `.foot{display:flex;flex-wrap:wrap;justify-content:space-between;align-items:start;` +
    `margin:4px -8px -6px;font-size:14px}`,
  `summary{list-style:none;text-decoration:underline;display:flex;align-items:center}`,
  `summary::-webkit-details-marker{display:none}`,
  `.help{margin:0 8px 8px}`,
  `:focus-visible{outline:3px solid var(--t);outline-offset:2px}`,
  `.open,dialog{position:absolute;z-index:999999999}`,
  `dialog{position:fixed;inset:0;margin:auto;padding:6px;border:0;background:0;block-size:fit-content;` +
    `inline-size:fit-content;max-inline-size:100%;box-sizing:border-box}`,
  `dialog::backdrop{background:#0008}`,
  `@media (prefers-reduced-motion){.checking svg,.press i{animation:none!important}}`,
  `@media (forced-colors:active){.main,.press{border-color:ButtonText}i{forced-color-adjust:none;` +
    `border-color:Highlight}}`,
];
const PLAIN = /^([^@:{]+)\{([^]*)\}$/;

const COLOR = /^#([\da-f]{2})([\da-f]{2})([\da-f]{2})$/i;

/** Let the page's own color be the key color; what stands on it is black or white, whichever is easier to read. */
export function tint(box: HTMLElement, accent: string | undefined): void {
  const parts = COLOR.exec(accent ?? "");
  if (!parts) return;
  let light = 0;
  for (let i = 1; i < 4; i++) {
    const part = parseInt(parts[i]!, 16) / 255;
    light += [0, 0.2126, 0.7152, 0.0722][i]! * (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
  }
  box.style.setProperty("--k", accent!);
  box.style.setProperty("--o", light > 0.179 ? "#000" : "#fff");
}

let shared: CSSStyleSheet | undefined;

/** Give the rules to a shadow root. Gives back what has to be called whenever the content has changed, if anything. */
export function applyStyle(root: ShadowRoot, nonce: string): (() => void) | undefined {
  const fill = (sheet: CSSStyleSheet): CSSStyleSheet => {
    for (const rule of RULES) sheet.insertRule(rule, sheet.cssRules.length);
    return sheet;
  };
  try {
    // A constructed sheet passes any policy.
    root.adoptedStyleSheets = [(shared ??= fill(new CSSStyleSheet()))];
    return undefined;
  } catch {
    // Safari before 16.4 has none.
  }
  const style = make("style");
  style.nonce = nonce;
  root.appendChild(style);
  if (style.sheet) fill(style.sheet);
  // The policy forbids even that. Properties that are set one by one are always allowed.
  else return () => applyOneByOne(root);
  return undefined;
}

function applyOneByOne(root: ShadowRoot): void {
  for (const rule of RULES) {
    const [, selector, declarations] = PLAIN.exec(rule) ?? [];
    if (!selector) continue;
    for (const element of root.querySelectorAll<HTMLElement>(selector)) element.style.cssText += declarations;
  }
}
