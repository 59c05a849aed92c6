/** The published types, used as pages use them. `npm run types` reads this; it is never run. */

import { load, type AgentGate, type AgentGateError, type Options, type Result } from "../types/index";

export async function useEverything(): Promise<string | undefined> {
  const agentgate: AgentGate = await load("https://gate.example/sdk/v1/agentgate.js");
  const options: Options = {
    sitekey: "site_ab12",
    action: "signup",
    mode: "managed",
    theme: "auto",
    size: "flexible",
    language: "ar",
    cData: "order-7",
    timeout: 10_000,
    checkTimeout: 60_000,
    signal: new AbortController().signal,
    retry: "never",
    refreshExpired: "manual",
    callback: (token: string, result: Result) => void [token, result.expiresAt],
    errorCallback: (error: AgentGateError) => void [error.code === "rate_limited", error.retryAfter, error.decisionId],
    expiredCallback: () => undefined,
  };
  const id: string = agentgate.render("#check", options);
  const { token, expiresAt }: Result = await agentgate.execute(id);
  await agentgate.execute({ sitekey: "site_ab12", action: "signup" });
  const response: Response = await agentgate.fetch("/orders", { method: "POST", action: "order", body: "{}" });
  agentgate.reset(id);
  agentgate.remove(document.body);
  // @ts-expect-error a mode that there is not
  agentgate.render("#check", { sitekey: "site_ab12", mode: "visible" });
  const element = document.createElement("agentgate-check");
  element.required = true;
  return agentgate.isExpired() ? undefined : `${token}${expiresAt}${response.status}${element.value}`;
}
