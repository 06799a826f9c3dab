/**
 * Authenticates a request to the admin API: by the admin token of a script, by a token of a user, or by the session of
 * a user, whose changes must also carry the CSRF token.
 */
import { isDeepStrictEqual } from "node:util";
import { parse as parseCookies } from "hono/utils/cookie";
import { message } from "../../../contract/messages/message.ts";
import { GatewayError } from "../../lib/gateway-error.ts";
import { isSameSecret } from "../../lib/secret-hash.ts";
import type { StoredUser } from "../../storage/sql/user-store.ts";
import { type Actor, adminTokenActor } from "../actor.ts";
import type { Audit } from "../audit.ts";
import { bearerToken, isAdminToken } from "./admin-token.ts";
import type { ActiveSession, Sessions } from "./sessions.ts";
import type { SignInThrottle } from "./sign-in-throttle.ts";
import { isUserToken, type UserTokens } from "./user-tokens.ts";

export const sessionCookie = "vexel_session";
const csrfHeader = "x-csrf-token";

export interface AuthenticationOptions {
  /** Undefined if the console is off, and users cannot sign in. */
  readonly sessions: Pick<Sessions, "find" | "rotate"> | undefined;
  /** Undefined if the console is off, and there are no users. */
  readonly tokens: Pick<UserTokens, "find"> | undefined;
  /** VEXEL_ADMIN_TOKEN. Empty: scripts have no access. */
  readonly adminToken: string;
  readonly throttle: SignInThrottle;
  readonly audit: Audit;
}

/** The parts of a request that authenticate it. */
interface RequestCredentials {
  readonly method: string;
  header(name: string): string | undefined;
  /** The client's IP address. */
  readonly address: string;
}

export interface Authenticated {
  readonly actor: Actor;
  /** Undefined for a token. */
  readonly session: ActiveSession | undefined;
  /** Whether the session or the token is still valid, with the same role and projects. */
  readonly isStillAllowed: () => Promise<boolean>;
}

/** Throws GatewayError. */
export async function authenticateActor(
  request: RequestCredentials,
  options: AuthenticationOptions,
): Promise<Authenticated> {
  const token = bearerToken(request.header("authorization"));
  if (token === undefined) return authenticateSession(request, options);
  const own = isUserToken(token) ? await options.tokens?.find(token) : undefined;
  if (own) {
    refuseOldPassword(own.user);
    const actor = actorOf(own.user, `${own.user.name} (token ${own.token.name})`);
    const isStillAllowed = () =>
      hasSameAccess(own.user, async () => {
        const found = await options.tokens?.find(token);
        return found && !needsNewPassword(found.user) ? found : undefined;
      });
    return { actor, session: undefined, isStillAllowed };
  }
  await checkAdminToken(token, request, options);
  return { actor: adminTokenActor, session: undefined, isStillAllowed: async () => true };
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
  throw new GatewayError("invalid_api_key", message("wrong_admin_token"));
}

/** The entries of a long series of wrong tokens are few, so that they cannot fill the audit log. */
const isPowerOfTen = (count: number): boolean => /^10*$/.test(String(count));

async function authenticateSession(
  request: RequestCredentials,
  { sessions }: AuthenticationOptions,
): Promise<Authenticated> {
  const token = sessionToken(request) ?? "";
  const session = token ? await sessions?.find(token) : undefined;
  if (!session) throw notSignedIn();
  // A page of another site can send the cookie, but cannot read the CSRF token.
  if (
    request.method !== "GET" &&
    !isSameSecret(request.header(csrfHeader) ?? "", session.csrfToken)
  ) {
    throw new GatewayError(
      "invalid_csrf_token",
      message("wrong_csrf_token", { header: csrfHeader }),
    );
  }
  const isStillAllowed = () => hasSameAccess(session.user, async () => sessions?.find(token));
  return { actor: actorOf(session.user), session, isStillAllowed };
}

const actorOf = (user: StoredUser, name = user.name): Actor => ({
  name,
  userId: user.id,
  role: user.role,
  project_roles: user.projectRoles,
  projects: user.projects,
});

/**
 * Whether a session or a token is still valid, with the same role and projects. True while the store cannot be read.
 */
async function hasSameAccess(
  before: StoredUser,
  find: () => Promise<{ readonly user: StoredUser } | undefined>,
): Promise<boolean> {
  try {
    const current = (await find())?.user;
    const accessOf = ({ role, projects, projectRoles }: StoredUser) => [
      role,
      projects,
      projectRoles,
    ];
    return current !== undefined && isDeepStrictEqual(accessOf(current), accessOf(before));
  } catch (error) {
    if (error instanceof GatewayError && error.kind === "storage_unavailable") return true;
    throw error;
  }
}

/** A user of OpenID Connect has no password to change. */
export const needsNewPassword = ({ mustChangePassword, passwordHash }: StoredUser): boolean =>
  mustChangePassword && passwordHash !== null;

/** A user whose password an administrator has declared to be old may do nothing but choose a new one. */
export function refuseOldPassword(user: StoredUser | undefined): void {
  if (!user || !needsNewPassword(user)) return;
  throw new GatewayError("password_change_required", message("choose_password_first"));
}

export const notSignedIn = (): GatewayError =>
  new GatewayError("not_signed_in", message("not_signed_in"));

const sessionToken = (request: RequestCredentials): string | undefined =>
  parseCookies(request.header("cookie") ?? "", sessionCookie)[sessionCookie];
