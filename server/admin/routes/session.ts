/** /session: sign-in, the first administrator, sign-out. */
import { z } from "zod";
import type { Session, SignInOptions } from "../../../contract/admin.ts";
import { GatewayError } from "../../lib/gateway-error.ts";
import type { StoredUser, UserStore } from "../../storage/ports/user-store.ts";
import { setSessionCookie } from "../admin-api.ts";
import { type AdminApiContext, type AdminRoute, addressOf } from "../admin-route.ts";
import type { Audit } from "../audit.ts";
import { readBody } from "../read-body.ts";
import type { Passwords } from "../sign-in/passwords.ts";
import type { ActiveSession, Sessions } from "../sign-in/sessions.ts";
import type { SetupToken } from "../sign-in/setup-token.ts";
import type { SignInThrottle } from "../sign-in/sign-in-throttle.ts";
import { newUser, userName } from "./users.ts";

export interface SessionRoutesOptions {
  readonly users: UserStore;
  readonly sessions: Sessions;
  readonly passwords: Passwords;
  readonly throttle: SignInThrottle;
  readonly setupToken: SetupToken;
  readonly audit: Audit;
  /** Unix milliseconds. */
  readonly now: () => number;
}

const credentials = z.strictObject({ name: z.string().max(200), password: z.string() });
const setup = z.strictObject({ name: userName, password: z.string(), token: z.string().max(200) });

export function sessionRoutes(options: SessionRoutesOptions): readonly AdminRoute[] {
  const { users, sessions, passwords, throttle, setupToken, audit, now } = options;

  const signIn = async (context: AdminApiContext): Promise<Response> => {
    const { name, password } = await readBody(context, credentials);
    const address = addressOf(context);
    throttle.check(name, address);
    const user = await users.findByName(name);
    if (!user || !(await passwords.verify(password, user.passwordHash))) {
      // Also for an unknown name, so that the duration does not tell whether it exists.
      if (!user) await passwords.verify(password, undefined);
      throttle.fail(name, address);
      await audit.record({ actor: name.slice(0, 200), action: "session.refused", address });
      throw new GatewayError("invalid_credentials", "The user name or the password is wrong.");
    }
    throttle.succeed(name);
    return start(context, user);
  };

  const setUp = async (context: AdminApiContext): Promise<Response> => {
    const { name, password, token } = await readBody(context, setup);
    const address = addressOf(context);
    throttle.check("setup", address);
    if (!setupToken.matches(token)) {
      throttle.fail("setup", address);
      throw new GatewayError(
        "invalid_credentials",
        "This link is not valid. Use the link that the gateway printed when it started last.",
      );
    }
    const passwordHash = await passwords.hash(password);
    const user = newUser({ name, role: "admin", projects: null, passwordHash, createdAt: now() });
    if (!(await users.createFirst(user))) {
      throw new GatewayError(
        "invalid_credentials",
        "This link was used before. Sign in, or ask an administrator to create a user for you.",
      );
    }
    await audit.record({ actor: name, action: "user.created", subject: name, address });
    return start(context, user);
  };

  const start = async (context: AdminApiContext, user: StoredUser): Promise<Response> => {
    const issued = await sessions.issue(user);
    setSessionCookie(context, issued);
    await audit.record({
      actor: user.name,
      action: "session.created",
      address: addressOf(context),
    });
    return context.json(shownSession(issued));
  };

  const show = async (context: AdminApiContext): Promise<Response> => {
    const session = context.get("session");
    if (session) return context.json(shownSession(session));
    throw new GatewayError("not_signed_in", "The admin token has no session.");
  };

  const signOut = async (context: AdminApiContext): Promise<Response> => {
    const session = context.get("session");
    if (session) await sessions.end(session.tokenHash);
    await audit.record({
      actor: context.get("actor").name,
      action: "session.ended",
      address: addressOf(context),
    });
    return context.body(null, 204);
  };

  const signInOptions = async (context: AdminApiContext): Promise<Response> => {
    const shown: SignInOptions = {
      object: "sign_in_options",
      needs_setup: await users.isEmpty(),
      oidc: null,
    };
    return context.json(shown);
  };

  return [
    {
      method: "GET",
      path: "/session/options",
      role: "anyone",
      scope: "gateway",
      summary: "Get the ways to sign in.",
      response: "SignInOptions",
      handle: signInOptions,
    },
    {
      method: "POST",
      path: "/session",
      role: "anyone",
      scope: "gateway",
      summary: "Sign in with a name and a password. The session is a cookie.",
      body: credentials,
      response: "Session",
      handle: signIn,
    },
    {
      method: "POST",
      path: "/session/setup",
      role: "anyone",
      scope: "gateway",
      summary: "Create the first administrator with the token of the one-time link, and sign in.",
      body: setup,
      response: "Session",
      handle: setUp,
    },
    {
      method: "GET",
      path: "/session",
      role: "viewer",
      scope: "gateway",
      summary: "Get the own session with its CSRF token.",
      response: "Session",
      handle: show,
    },
    {
      method: "DELETE",
      path: "/session",
      role: "viewer",
      scope: "gateway",
      summary: "Sign out.",
      response: null,
      handle: signOut,
    },
  ];
}

const shownSession = ({ user, csrfToken, expiresAt }: ActiveSession): Session => ({
  object: "session",
  user: { id: user.id, name: user.name, role: user.role, projects: user.projects },
  csrf_token: csrfToken,
  expires_at: new Date(expiresAt).toISOString(),
});
