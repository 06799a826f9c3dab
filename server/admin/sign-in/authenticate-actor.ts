/**
 * Authenticates a request to the admin API: by the admin token of a script, or by the session of a user, whose changes
 * must also carry the CSRF token.
 */
import { parse as parseCookies } from "hono/utils/cookie";
import { GatewayError } from "../../lib/gateway-error.ts";
import { isSameSecret } from "../../lib/secret-hash.ts";
import { type Actor, adminTokenActor } from "../actor.ts";
import type { Audit } from "../audit.ts";
import { bearerToken, isAdminToken } from "./admin-token.ts";
import type { ActiveSession, Sessions } from "./sessions.ts";
import type { SignInThrottle } from "./sign-in-throttle.ts";

export const sessionCookie = "vexel_session";
const csrfHeader = "x-csrf-token";

export interface AuthenticationOptions {
  /** Undefined: the console is off, and users cannot sign in. */
  readonly sessions: Pick<Sessions, "find" | "rotate" | "isCurrent"> | undefined;
  /** VEXEL_ADMIN_TOKEN. Empty: scripts have no access. */
  readonly adminToken: string;
  readonly throttle: SignInThrottle;
  readonly audit: Audit;
}

/** The parts of a request that authenticate it. */
export interface RequestCredentials {
  readonly method: string;
  header(name: string): string | undefined;
  /** The client's IP address. */
  readonly address: string;
}

export interface Authenticated {
  readonly actor: Actor;
  /** Undefined for the admin token. */
  readonly session: ActiveSession | undefined;
}

/** Throws GatewayError. */
export async function authenticateActor(
  request: RequestCredentials,
  options: AuthenticationOptions,
): Promise<Authenticated> {
  const token = bearerToken(request.header("authorization"));
  if (token === undefined) return authenticateSession(request, options);
  await checkAdminToken(token, request, options);
  return { actor: adminTokenActor, session: undefined };
}

async function checkAdminToken(
  presented: string,
  { address }: RequestCredentials,
  { adminToken, throttle, audit }: AuthenticationOptions,
): Promise<void> {
  // Compared first: wrong tokens of others, who may share the address, do not lock out scripts with the right one.
  if (isAdminToken(presented, adminToken)) return;
  const attempts = throttle.countWrongToken(address);
  if (isPowerOfTen(attempts)) {
    await audit.record({
      actor: adminTokenActor.name,
      action: "admin_token.refused",
      after: { attempts },
      address,
    });
  }
  throttle.refuseWrongTokens(address);
  throw new GatewayError(
    "invalid_api_key",
    "Incorrect admin token. The admin token is the value of VEXEL_ADMIN_TOKEN when the gateway started.",
  );
}

/** The entries of a long series of wrong tokens are few, so that they cannot fill the audit log. */
const isPowerOfTen = (count: number): boolean => /^10*$/.test(String(count));

async function authenticateSession(
  request: RequestCredentials,
  { sessions }: AuthenticationOptions,
): Promise<Authenticated> {
  const token = sessionToken(request);
  const session = token ? await sessions?.find(token) : undefined;
  if (!session) throw notSignedIn();
  // A page of another site can send the cookie, but cannot read the CSRF token.
  if (
    request.method !== "GET" &&
    !isSameSecret(request.header(csrfHeader) ?? "", session.csrfToken)
  ) {
    throw new GatewayError(
      "invalid_csrf_token",
      `The header ${csrfHeader} is missing or wrong. It must be the csrf_token of GET /admin/api/session.`,
    );
  }
  const { id, name, role, projects } = session.user;
  return { actor: { name, userId: id, role, projects }, session };
}

export const notSignedIn = (): GatewayError =>
  new GatewayError(
    "not_signed_in",
    "You are not signed in, or your session has ended. Sign in, or send the admin token in the header Authorization: Bearer TOKEN.",
  );

const sessionToken = (request: RequestCredentials): string | undefined =>
  parseCookies(request.header("cookie") ?? "", sessionCookie)[sessionCookie];
