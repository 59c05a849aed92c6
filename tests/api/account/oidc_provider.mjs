// A real OpenID provider (npm oidc-provider) that signs everyone in as the user of the settings.
// Usage: node oidc_provider.mjs PORT SETTINGS. Prints "ready" when it listens.
import Provider from "oidc-provider";

const [port, settings] = process.argv.slice(2);
const { clientId, secret, redirectUri, claims } = JSON.parse(settings);
const provider = new Provider(`http://127.0.0.1:${port}`, {
  clients: [{ client_id: clientId, client_secret: secret, redirect_uris: [redirectUri] }],
  claims: { openid: ["sub"], email: ["email", "email_verified"], profile: ["groups"] },
  pkce: { required: () => true },
  findAccount: (_context, id) => ({ accountId: id, claims: () => ({ sub: id, ...claims }) }),
  interactions: { url: (_context, interaction) => `/interaction/${interaction.uid}` },
  features: { devInteractions: { enabled: false } },
});
provider.use(async (context, next) => {
  if (!context.path.startsWith("/interaction/")) return next();
  const { prompt, params, session } = await provider.interactionDetails(context.req, context.res);
  let result = { login: { accountId: "person-1" } };
  if (prompt.name === "consent") {
    const grant = new provider.Grant({ accountId: session.accountId, clientId: params.client_id });
    grant.addOIDCScope("openid email profile");
    result = { consent: { grantId: await grant.save() } };
  }
  await provider.interactionFinished(context.req, context.res, result, { mergeWithLastSubmission: true });
});
provider.listen(Number(port), "127.0.0.1", () => console.log("ready"));
