/** The widget's looks, as rules: they go into the shadow root in whichever way the page's policy and the browser allow. */

import { make } from "../page";

const DARK = "--b:#1c2128;--f:#f0f3f6;--l:#8b949e;--k:#a8c7fa;--o:#062e6f;--g:#6fdd8b;--r:#ffb3ad;color-scheme:dark";

/** Background, foreground, line, key colour and what stands on it, good (green) and bad (red). */
const RULES = [
  `.box{--b:#fff;--f:#1f2328;--l:#6e7781;--k:#0b57d0;--o:#fff;--g:#116329;--r:#b3261e;all:initial;position:relative;display:block;box-sizing:border-box;font:15px/1.4 system-ui,sans-serif;color:var(--f);background:var(--b);border:1px solid var(--l);border-radius:8px;padding:10px 14px;inline-size:300px;max-inline-size:100%;overflow-wrap:anywhere}`,
  `.dark{${DARK}}`,
  `@media (prefers-color-scheme:dark){.auto{${DARK}}}`,
  `.compact{inline-size:180px;padding:8px 10px;font-size:14px}`,
  `.flexible{inline-size:100%}`,
  `.idle{display:none}`,
  `.row{display:flex;align-items:center;gap:10px;min-block-size:24px}`,
  `.interactive .row{position:absolute;inline-size:1px;overflow:hidden;clip-path:inset(50%);white-space:nowrap}`,
  `p{margin:0}`,
  `.hint,.help{margin-block-start:4px;font-size:14px}`,
  `svg{flex:none;inline-size:22px;fill:none;stroke:currentColor;stroke-width:2.5;stroke-linecap:round;stroke-linejoin:round}`,
  `.verified svg{color:var(--g)}`,
  `.failed svg,.expired svg{color:var(--r)}`,
  `.checking svg{color:var(--k);animation:turn 1s linear infinite}`,
  `@keyframes turn{to{transform:rotate(1turn)}}`,
  `button,summary{font:inherit;box-sizing:border-box;min-block-size:44px;min-inline-size:44px;border-radius:6px;cursor:pointer;color:var(--k);background:0;border:0;padding:8px}`,
  `.main{inline-size:100%;margin-block-start:8px;font-weight:600;color:var(--o);background:var(--k);border:1px solid #0000;position:relative;overflow:hidden}`,
  `[aria-disabled=true]{color:var(--f);background:0;border-color:var(--l);cursor:progress}`,
  `.main i{position:absolute;inset-block-end:0;inset-inline-start:0;block-size:4px;inline-size:0;background:var(--k)}`,
  `[aria-disabled=true] i{inline-size:100%;transition:inline-size var(--wait) linear}`,
  `.foot{display:flex;flex-wrap:wrap;justify-content:space-between;align-items:start;margin:4px -8px -6px}`,
  `summary{list-style:none;text-decoration:underline;display:flex;align-items:center}`,
  `summary::-webkit-details-marker{display:none}`,
  `.help{margin:0 8px 8px}`,
  `:focus-visible{outline:3px solid var(--k);outline-offset:2px}`,
  `.open,dialog{position:absolute;z-index:999999999}`,
  `dialog{position:fixed;inset:0;margin:auto;padding:6px;border:0;background:0;block-size:fit-content;inline-size:fit-content;max-inline-size:100%;box-sizing:border-box}`,
  `dialog::backdrop{background:#0008}`,
  `@media (prefers-reduced-motion){.checking svg{animation:none}i{transition:none!important}}`,
  `@media (forced-colors:active){.main{border-color:ButtonText}i{forced-color-adjust:none;background:Highlight}}`,
];
const PLAIN = /^([^@:{]+)\{([^]*)\}$/;

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
