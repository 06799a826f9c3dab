/** /session: sign-in, the first administrator, sign-out. */
import {
  sessionSchema,
  signedOutSchema,
  signInOptionsSchema,
} from "../../../contract/admin/session.ts";
import type { Session, SignedOut, SignInOptions } from "../../../contract/admin.ts";
import { message } from "../../../contract/messages/message.ts";
import { setupBody, signInBody } from "../../../contract/schemas/users.ts";
import { GatewayError } from "../../lib/gateway-error.ts";
import type { StoredUser } from "../../storage/sql/user-store.ts";
import type { SignInDependencies } from "../admin-dependencies.ts";
import { type AdminApiContext, type AdminRoute, senderOf } from "../admin-route.ts";
import { readDeviceCookie, setDeviceCookie } from "../cookies.ts";
import { newUser } from "../new-user.ts";
import { readBody } from "../read-body.ts";
import { needsNewPassword } from "../sign-in/authenticate-actor.ts";
import { deviceOf } from "../sign-in/device-cookie.ts";
import type { ActiveSession } from "../sign-in/sessions.ts";
import { startSession } from "../sign-in/start-session.ts";

export function sessionRoutes(options: SignInDependencies): readonly AdminRoute[] {
  const { users, sessions, passwords, secondFactor, throttle, setupToken } = options;
  const { audit, oidc, now } = options;

  const signIn = async (context: AdminApiContext): Promise<Response> => {
    const address = context.env.address;
    const cookie = readDeviceCookie(context);
    // A device cookie belongs to a user, whose name is in the body.
    if (cookie === undefined) await throttle.waitInLine(address);
    const { name, password, code } = await readBody(context, signInBody);
    const user = await users.findByName(name);
    const device = deviceOf(cookie, user?.passwordHash);
    if (cookie !== undefined && device === undefined) await throttle.waitInLine(address);
    const attempt = { name, device };
    throttle.check(attempt);
    // Counted before the slow comparison, so that concurrent guesses are counted as well.
    throttle.fail(attempt);
    // Verified for an unknown name as well, so that the duration does not reveal whether the user exists.
    const matches = await passwords.verify(password, user?.passwordHash);
    if (!user?.passwordHash || !matches) {
      await recordRefusal(name, address);
      throw new GatewayError("invalid_credentials", message("wrong_credentials"));
    }
    refuseDisabled(user);
    await checkCode(user, code, address);
    throttle.succeed(attempt);
    const session = await startSession(context, user, options);
    if (device === undefined) setDeviceCookie(context, user.passwordHash);
    return context.json(shownSession(session));
  };

  const recordRefusal = (name: string, address: string): Promise<void> =>
    audit.record({ actor: name.slice(0, 200), action: "session.refused", address });

  /** The attempt stays counted if the code is missing: otherwise a guess could follow each attempt without a code. */
  const checkCode = async (user: StoredUser, code: string | undefined, address: string) => {
    if (!user.totp) return;
    if (code === undefined) {
      throw new GatewayError("second_factor_required", message("code_needed"), { param: "code" });
    }
    if (await secondFactor.accept(user, code)) return;
    await recordRefusal(user.name, address);
    throw new GatewayError("invalid_credentials", message("wrong_code"), { param: "code" });
  };

  const setUp = async (context: AdminApiContext): Promise<Response> => {
    const address = context.env.address;
    await throttle.waitInLine(address);
    const { name, password, token } = await readBody(context, setupBody);
    if (!setupToken.matches(token)) {
      throw new GatewayError("invalid_credentials", message("setup_link_invalid"));
    }
    const passwordHash = await passwords.hash(password);
    const user = newUser({
      name,
      role: "admin",
      projects: null,
      passwordHash,
      createdAt: now(),
    });
    if (!(await users.createFirst(user))) {
      throw new GatewayError("invalid_credentials", message("setup_link_used"));
    }
    await audit.record({ actor: name, action: "user.created", subject: name, address });
    const session = await startSession(context, user, options);
    setDeviceCookie(context, passwordHash);
    return context.json(shownSession(session));
  };

  const show = async (context: AdminApiContext): Promise<Response> => {
    const session = context.get("session");
    if (session) return context.json(shownSession(session));
    throw new GatewayError("not_signed_in", message("token_has_no_session"));
  };

  /** Ends all sessions of the user, also sessions on other devices and tokens that were rotated a moment ago. */
  const signOut = async (context: AdminApiContext): Promise<Response> => {
    const user = context.get("session")?.user;
    if (user) await sessions.endOfUser(user.id);
    await audit.record({
      ...senderOf(context),
      action: "session.ended",
    });
    const isOidcUser = user?.passwordHash === null;
    const signedOut: SignedOut = {
      object: "signed_out",
      continue_at: isOidcUser ? await issuerSignOut(context) : null,
    };
    return context.json(signedOut);
  };

  /** The user is signed out here, whether the issuer responds or not. */
  const issuerSignOut = async (context: AdminApiContext): Promise<string | null> => {
    try {
      const returnTo = `${context.env.incoming.publicUrl}/console/sign-in`;
      return (await oidc?.client.signOutUrl(returnTo)) ?? null;
    } catch {
      return null;
    }
  };

  const signInOptions = async (context: AdminApiContext): Promise<Response> => {
    const shown: SignInOptions = {
      object: "sign_in_options",
      needs_setup: await users.isEmpty(),
      oidc: oidc ? { name: oidc.settings.name } : null,
    };
    return context.json(shown);
  };

  return [
    {
      method: "GET",
      path: "/session/options",
      needs: "anyone",
      scope: "gateway",
      summary: "Get the ways to sign in.",
      response: signInOptionsSchema,
      handle: signInOptions,
    },
    {
      method: "POST",
      path: "/session",
      needs: "anyone",
      scope: "gateway",
      summary: "Sign in with a name and a password. The session is a cookie.",
      body: signInBody,
      response: sessionSchema,
      handle: signIn,
    },
    {
      method: "POST",
      path: "/session/setup",
      needs: "anyone",
      scope: "gateway",
      summary: "Create the first administrator with the token of the one-time link, and sign in.",
      body: setupBody,
      response: sessionSchema,
      handle: setUp,
    },
    {
      method: "GET",
      path: "/session",
      needs: "view",
      scope: "gateway",
      isForPasswordChange: true,
      hasSecret: true,
      summary: "Get your session, with its CSRF token.",
      response: sessionSchema,
      handle: show,
    },
    {
      method: "DELETE",
      path: "/session",
      needs: "view",
      scope: "gateway",
      isForPasswordChange: true,
      summary: "Sign out: all sessions of the user end.",
      response: signedOutSchema,
      handle: signOut,
    },
  ];
}

/** After the password was verified: otherwise a stranger could find out which names exist. */
function refuseDisabled({ disabledAt }: StoredUser): void {
  if (disabledAt === null) return;
  throw new GatewayError("invalid_credentials", message("user_disabled"));
}

const shownSession = ({ user, csrfToken, expiresAt }: ActiveSession): Session => ({
  object: "session",
  user: {
    id: user.id,
    name: user.name,
    role: user.role,
    projects: user.projects,
    project_roles: user.projectRoles,
    must_change_password: needsNewPassword(user),
  },
  csrf_token: csrfToken,
  expires_at: new Date(expiresAt).toISOString(),
});
