/**
 * What a script adds to the account pages, which work without it: the secret of a link is taken from behind the `#`,
 * and a password says how strong it is before it is sent.
 */

import type { InviteInfo } from "./api/types.gen";

interface Sdk {
  execute(options: { sitekey: string; action: string }): Promise<{ token: string }>;
}

// A form behind the service's own browser check is sent once the check has given its token. Where the check cannot
// run, the form is sent without one: the service then says what to do.
const checked = document.querySelector<HTMLFormElement>("form[data-check-site]");
const checkToken = checked?.querySelector<HTMLInputElement>("input[name=checkToken]");
if (checked && checkToken) {
  let sent = false;
  checked.addEventListener("submit", (event) => {
    if (sent) return;
    event.preventDefault();
    const button = checked.querySelector("button");
    if (button?.getAttribute("aria-busy") === "true") return;
    button?.setAttribute("aria-busy", "true");
    const sdk = (window as unknown as { agentgate?: Sdk }).agentgate;
    const run = sdk
      ? sdk.execute({ sitekey: checked.dataset["checkSite"]!, action: checked.dataset["checkAction"]! })
      : Promise.reject(new Error("no check"));
    void run
      .then((found) => (checkToken.value = found.token))
      .catch(() => undefined)
      .finally(() => {
        sent = true;
        checked.submit();
      });
  });
}

// How long to wait is counted down where it is said.
const waiting = document.querySelector<HTMLElement>("[data-retry]");
const said = waiting?.querySelector("p");
if (waiting && said?.textContent) {
  const text = said.textContent;
  const total = waiting.dataset["retry"]!;
  const until = Date.now() + Number(total) * 1000;
  const timer = setInterval(() => {
    const left = Math.max(0, Math.ceil((until - Date.now()) / 1000));
    said.textContent = text.replace(total, String(left));
    if (left === 0) clearInterval(timer);
  }, 1000);
}

const token = document.querySelector<HTMLInputElement>("input[name=token]");
if (token && location.hash.length > 1) {
  token.value = location.hash.slice(1);
  document.querySelectorAll<HTMLElement>("[data-link]").forEach((each) => (each.hidden = true));
  // The secret must not stay in the history.
  history.replaceState(null, "", location.pathname);
  const form = token.form;
  const who = document.querySelector<HTMLElement>("[data-invite]");
  if (form && who) {
    void fetch(`/v1/account/invite/${encodeURIComponent(token.value)}`)
      .then(async (response) => (response.ok ? ((await response.json()) as InviteInfo) : null))
      .then((invite) => {
        if (!invite) return;
        if (invite.hasPassword) {
          form.querySelectorAll<HTMLElement>(".field, button").forEach((each) => (each.hidden = true));
          form.querySelectorAll<HTMLElement>("[data-known]").forEach((each) => (each.hidden = false));
        }
        who.textContent = `${invite.email} · ${invite.accountName} · ${invite.role}`;
        who.hidden = false;
      });
  }
}

// `agentgate serve --demo` prints such an address; only its own user can be filled in.
const demo = /^#demo:([\w-]{16,64})$/.exec(location.hash);
const email = document.querySelector<HTMLInputElement>("input[name=email]");
if (demo && email?.form) {
  email.value = "demo@agentgate.example";
  email.form.querySelector<HTMLInputElement>("input[name=password]")!.value = demo[1]!;
  history.replaceState(null, "", location.pathname);
}

const password = document.querySelector<HTMLInputElement>("input[autocomplete=new-password]");
const meter = document.querySelector<HTMLProgressElement>("progress[data-strength]");
if (password && meter) {
  password.addEventListener("input", () => {
    const kinds = [/[a-z]/, /[A-Z]/, /\d/, /[^\w]/].filter((kind) => kind.test(password.value)).length;
    meter.value =
      password.value.length < 12
        ? Math.min(1, password.value.length / 12)
        : Math.min(4, 2 + (password.value.length > 16 ? 1 : 0) + (kinds > 2 ? 1 : 0));
    meter.dataset["o"] = meter.value < 2 ? "block" : meter.value < 3 ? "challenge" : "allow";
  });
}

const passkey = document.querySelector<HTMLButtonElement>("button[data-passkey]");
if (passkey) void import("./lib/passkeys").then(({ offerPasskey }) => offerPasskey(passkey)).catch(() => undefined);
