/** Passkeys in the browser: an authenticator signs challenges of the service. Loaded only where they are used. */

import type { PasskeyAssertion, PasskeyChallenge, PasskeyInput } from "../api/types.gen";

const CHALLENGE = "/v1/account/mfa/passkeys/challenge";

/** Algorithms of COSE: ES256, EdDSA, RS256. */
const ALGORITHMS = [-7, -8, -257];

const bytesOf = (text: string) =>
  Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (each) => each.charCodeAt(0));

const textOf = (bytes: ArrayBuffer) =>
  btoa(String.fromCharCode(...new Uint8Array(bytes)))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replaceAll("=", "");

const described = (ids: string[]): PublicKeyCredentialDescriptor[] =>
  ids.map((id) => ({ type: "public-key", id: bytesOf(id) }));

/** Says whether this page may use passkeys: it needs HTTPS or `localhost`, and a name instead of an address. */
export const canUsePasskeys = () => "PublicKeyCredential" in window && !/^[\d.]+$|:/.test(location.hostname);

/** Asks for a challenge. `send` adds the session's CSRF token in the console. */
export type Send = (path: string) => Promise<PasskeyChallenge>;

/** Has an authenticator create a passkey; returns what the service needs of it. */
export async function createPasskey(
  send: Send,
  user: { id: string; email: string },
): Promise<Omit<PasskeyInput, "name" | "password">> {
  const { challenge, credentialIds } = await send(CHALLENGE);
  const made = (await navigator.credentials.create({
    publicKey: {
      challenge: bytesOf(challenge),
      rp: { id: location.hostname, name: "AgentGate" },
      user: { id: new TextEncoder().encode(user.id), name: user.email, displayName: user.email },
      pubKeyCredParams: ALGORITHMS.map((alg) => ({ type: "public-key", alg })),
      excludeCredentials: described(credentialIds),
      authenticatorSelection: { residentKey: "discouraged", userVerification: "required" },
      attestation: "none",
    },
  })) as PublicKeyCredential;
  const response = made.response as AuthenticatorAttestationResponse;
  return {
    clientData: textOf(response.clientDataJSON),
    authenticatorData: textOf(response.getAuthenticatorData()),
    publicKey: textOf(response.getPublicKey()!),
  };
}

/** Has one of the user's passkeys sign; null if the user has none. */
export async function signWithPasskey(send: Send): Promise<PasskeyAssertion | null> {
  const { challenge, credentialIds } = await send(CHALLENGE);
  if (!credentialIds.length) return null;
  const signed = (await navigator.credentials.get({
    publicKey: {
      challenge: bytesOf(challenge),
      rpId: location.hostname,
      allowCredentials: described(credentialIds),
      userVerification: "required",
    },
  })) as PublicKeyCredential;
  const response = signed.response as AuthenticatorAssertionResponse;
  return {
    credentialId: textOf(signed.rawId),
    clientData: textOf(response.clientDataJSON),
    authenticatorData: textOf(response.authenticatorData),
    signature: textOf(response.signature),
  };
}

/** Asks from a page without the console: a session that lacks its second factor has no CSRF token yet. */
const fromPage: Send = async (path) => {
  const response = await fetch(path, { method: "POST" });
  if (!response.ok) throw new Error(String(response.status));
  return (await response.json()) as PasskeyChallenge;
};

/** Shows the button of the sign-in page if the user has a passkey, and sends the form once it has signed. */
export async function offerPasskey(button: HTMLButtonElement): Promise<void> {
  const form = button.form!;
  if (!canUsePasskeys() || !(await fromPage(CHALLENGE)).credentialIds.length) return;
  const failed = form.querySelector<HTMLElement>("[data-passkey-failed]")!;
  button.hidden = false;
  button.addEventListener("click", () => {
    failed.hidden = true;
    void signWithPasskey(fromPage)
      .then((signed) => {
        form.querySelector<HTMLInputElement>("input[name=passkey]")!.value = JSON.stringify(signed);
        form.submit();
      })
      .catch(() => (failed.hidden = false));
  });
}
