/** What verifying asks. */
export interface Question {
  token: string;
  expectedAction: string;
  expectedOrigin?: string;
  /** 1 to 128 of `[A-Za-z0-9._:-]`; made when absent. The same one gets the same answer for 24 hours. */
  requestId?: string;
  remoteAddress?: string;
  contentDigest?: string;
}

/** A token that was accepted: by the service, by its signature alone, or (`failOpen`) by nobody. */
export interface Verified {
  source: "service" | "offline" | "unchecked";
  action: string;
  requestId: string;
  siteKey?: string;
  kind?: "browser" | "agent" | "handoff";
  decisionId?: string;
  issuedAt?: string;
  expiresAt?: string;
  origin?: string;
  visitorId?: string;
  agent?: string;
  cData?: string;
  test?: true;
}

export class VerificationFailed extends Error {
  constructor(code: string, message: string);
  readonly code: string;
  /** What to show to the visitor. */
  readonly visitorMessage: string;
  /** Whether the caller's secret or parameters are at fault. */
  readonly isMisconfiguration: boolean;
}

export class Unavailable extends Error {
  constructor(message: string, requestId: string);
  readonly requestId: string;
}

export interface ClientOptions {
  baseUrl: string;
  secret: string;
  /** Needed for `offline` and `verifyOffline`. */
  siteKey?: string;
  /** Of one attempt; 1000. */
  timeoutMs?: number;
  /** After the first attempt; 2. */
  retries?: number;
  /** Let requests pass unchecked while the service is away; false. */
  failOpen?: boolean;
  /** Accept tokens by their signature while the service is away; false. */
  offline?: boolean;
  /** Called before a token is accepted offline; keep the question, and give it to `reconcile` later. */
  onOffline?: (question: Question & { requestId: string }, verified: Verified) => void | Promise<void>;
  /** Milliseconds since 1970. */
  now?: () => number;
}

export interface Client {
  verify(question: Question): Promise<Verified>;
  reconcile(question: Question): Promise<Verified>;
  verifyOffline(question: Question): Promise<Verified>;
  refreshKeys(): Promise<boolean>;
}

export function createClient(options: ClientOptions): Client;

export interface OfflineVerifier {
  verify(question: Question): Promise<Verified>;
  refresh(): Promise<boolean>;
}

export function createOfflineVerifier(options: {
  baseUrl?: string;
  /** A JSON Web Key Set, instead of `baseUrl`. */
  keys?: { keys: readonly object[] };
  siteKey: string;
  now?: () => number;
  monotonic?: () => number;
  capacity?: number;
}): OfflineVerifier;

export interface GuardOptions {
  action: string;
  expectedOrigin?: string;
}

type Headers = Record<string, string | string[] | undefined>;

export function expressGuard(
  client: Pick<Client, "verify">,
  options: GuardOptions,
): (
  req: { headers: Headers; body?: unknown; agentgate?: Verified },
  res: { writeHead(status: number, headers: Record<string, string>): unknown; end(body: string): unknown },
  next: (error?: unknown) => void,
) => Promise<void>;

/** The part of Fastify's reply that is used. */
export interface FastifyReplyLike {
  code(status: number): this;
  headers(headers: Record<string, string>): this;
  send(body: string): unknown;
}

export function fastifyGuard(
  client: Pick<Client, "verify">,
  options: GuardOptions,
): (request: { headers: Headers; body: unknown; agentgate?: Verified }, reply: FastifyReplyLike) => Promise<unknown>;

/** A `Request` has no address: `visitorAddress` returns it from the further arguments of the platform's handler. */
export interface FetchGuardOptions<Rest extends unknown[]> extends GuardOptions {
  visitorAddress?: (request: Request, ...rest: Rest) => string | undefined;
}

export function fetchGuard<Rest extends unknown[]>(
  client: Pick<Client, "verify">,
  options: FetchGuardOptions<Rest>,
  handler: (request: Request, verified: Verified, ...rest: Rest) => Response | Promise<Response>,
): (request: Request, ...rest: Rest) => Promise<Response>;
