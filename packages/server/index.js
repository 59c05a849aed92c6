// Verifying AgentGate tokens: with the service, without it, and in front of routes.

export { createClient } from "./client.js";
export { Unavailable, VerificationFailed } from "./errors.js";
export { expressGuard, fastifyGuard, fetchGuard } from "./guards.js";
export { createOfflineVerifier } from "./offline.js";
