/** /account: the password, the sessions and the second factor of the signed-in user. */
import {
  accountSchema,
  accountSessionSchema,
  recoveryCodesSchema,
  totpEnrollmentSchema,
} from "../../../contract/admin/account.ts";
import { listBounds } from "../../../contract/admin/list-bounds.ts";
import { pageSchema } from "../../../contract/admin/page.ts";
import type {
  Account,
  AccountSession,
  RecoveryCodes,
  TotpEnrollment,
} from "../../../contract/admin.ts";
import { message } from "../../../contract/messages/message.ts";
import {
  changedPasswordBody,
  confirmBody,
  enableTotpBody,
} from "../../../contract/schemas/users.ts";
import { GatewayError } from "../../lib/gateway-error.ts";
import type { StoredSession } from "../../storage/sql/session-store.ts";
import type { StoredUser } from "../../storage/sql/user-store.ts";
import type { SignInDependencies } from "../admin-dependencies.ts";
import {
  type AdminApiContext,
  type AdminOperation,
  type AdminRoute,
  senderOf,
} from "../admin-route.ts";
import { setDeviceCookie } from "../cookies.ts";
import { readBody } from "../read-body.ts";
import { confirmPassword } from "../sign-in/confirm-password.ts";
import type { ActiveSession } from "../sign-in/sessions.ts";
import { shownUser } from "./users.ts";

/** Every user has an account, whatever the role. */
const ownAccount = { needs: "view", scope: "gateway" } as const satisfies Partial<AdminOperation>;

export function accountRoutes(options: SignInDependencies): readonly AdminRoute[] {
  const { users, sessions, tokens, passwords, secondFactor, audit } = options;

  const record = (context: AdminApiContext, action: string): Promise<void> =>
    audit.record({ ...senderOf(context), action, subject: context.get("actor").name });

  const confirm = (context: AdminApiContext, password: string): Promise<StoredUser> =>
    confirmPassword(requireSession(context), password, options);

  const show = async (context: AdminApiContext): Promise<Response> => {
    const { user } = requireSession(context);
    const shown: Account = {
      object: "account",
      user: shownUser(user),
      recovery_codes_left: user.totp?.recoveryHashes.length ?? null,
    };
    return context.json(shown);
  };

  const changePassword = async (context: AdminApiContext): Promise<Response> => {
    const body = await readBody(context, changedPasswordBody);
    const { id } = await confirm(context, body.current_password);
    if (body.new_password === body.current_password) {
      throw new GatewayError("invalid_value", message("password_unchanged"), {
        param: "new_password",
      });
    }
    const passwordHash = await passwords.hash(body.new_password);
    await users.update(id, { passwordHash, mustChangePassword: false, invite: null });
    await sessions.endOfUser(id, context.get("session")?.tokenHash);
    await tokens.revokeOfUser(id);
    // The device cookie is signed with the password hash.
    setDeviceCookie(context, passwordHash);
    await record(context, "account.password_changed");
    return context.body(null, 204);
  };

  const listSessions = async (context: AdminApiContext): Promise<Response> => {
    const { user, id } = requireSession(context);
    const data = (await sessions.listOfUser(user.id)).map((stored) => shownSession(stored, id));
    return context.json({ object: "list", data, next_cursor: null });
  };

  const endSession = async (context: AdminApiContext): Promise<Response> => {
    const { user } = requireSession(context);
    if (!(await sessions.endOne(user.id, context.req.param("id") ?? ""))) {
      throw new GatewayError("entity_not_found", message("no_such_session"));
    }
    await record(context, "session.ended");
    return context.body(null, 204);
  };

  const beginTotp = async (context: AdminApiContext): Promise<Response> => {
    const { password } = await readBody(context, confirmBody);
    const user = await confirm(context, password);
    const shown: TotpEnrollment = { object: "totp_enrollment", ...secondFactor.begin(user) };
    return context.json(shown);
  };

  const enableTotp = async (context: AdminApiContext): Promise<Response> => {
    const { enrollment, code } = await readBody(context, enableTotpBody);
    const { id } = requireSession(context).user;
    const codes = await secondFactor.enable(id, enrollment, code);
    await sessions.endOfUser(id, context.get("session")?.tokenHash);
    await record(context, "account.two_factor_enabled");
    return context.json(shownCodes(codes));
  };

  const disableTotp = async (context: AdminApiContext): Promise<Response> => {
    const { password } = await readBody(context, confirmBody);
    const { id } = await confirm(context, password);
    await users.update(id, { totp: null });
    await record(context, "account.two_factor_disabled");
    return context.body(null, 204);
  };

  const renewCodes = async (context: AdminApiContext): Promise<Response> => {
    const { password } = await readBody(context, confirmBody);
    const { id, totp } = await confirm(context, password);
    const codes = totp && (await secondFactor.renewRecoveryCodes(id, totp));
    if (!codes) {
      throw new GatewayError("invalid_value", message("no_second_factor"));
    }
    await record(context, "account.recovery_codes_renewed");
    return context.json(shownCodes(codes));
  };

  return [
    {
      ...ownAccount,
      method: "GET",
      path: "/account",
      summary: "Get your account.",
      response: accountSchema,
      handle: show,
    },
    {
      ...ownAccount,
      method: "POST",
      path: "/account/password",
      isForPasswordChange: true,
      summary: "Change your password. Your other sessions and your tokens end.",
      body: changedPasswordBody,
      response: null,
      handle: changePassword,
    },
    {
      ...ownAccount,
      method: "GET",
      path: "/account/sessions",
      summary: "List your sessions.",
      response: pageSchema(accountSessionSchema, listBounds.sessions),
      handle: listSessions,
    },
    {
      ...ownAccount,
      method: "DELETE",
      path: "/account/sessions/:id",
      summary: "End one of your sessions.",
      response: null,
      handle: endSession,
    },
    {
      ...ownAccount,
      method: "POST",
      path: "/account/totp",
      summary: "Get a new secret for an authenticator app. It is not in force yet.",
      body: confirmBody,
      response: totpEnrollmentSchema,
      handle: beginTotp,
    },
    {
      ...ownAccount,
      method: "PUT",
      path: "/account/totp",
      summary: "Turn the second factor on with the first code, and get recovery codes.",
      body: enableTotpBody,
      response: recoveryCodesSchema,
      handle: enableTotp,
    },
    {
      ...ownAccount,
      method: "POST",
      path: "/account/totp/disable",
      summary: "Turn the second factor off.",
      body: confirmBody,
      response: null,
      handle: disableTotp,
    },
    {
      ...ownAccount,
      method: "POST",
      path: "/account/recovery-codes",
      summary: "Replace the recovery codes.",
      body: confirmBody,
      response: recoveryCodesSchema,
      handle: renewCodes,
    },
  ];
}

/** A token cannot change the account that it belongs to. */
export function requireSession(context: AdminApiContext): ActiveSession {
  const session = context.get("session");
  if (session) return session;
  throw new GatewayError("permission_denied", message("only_signed_in_users"));
}

const shownSession = (stored: StoredSession, current: string): AccountSession => ({
  object: "account_session",
  id: stored.id,
  is_current: stored.id === current,
  address: stored.address,
  user_agent: stored.userAgent,
  signed_in_at: new Date(stored.signedInAt).toISOString(),
  last_seen_at: new Date(stored.lastSeenAt).toISOString(),
});

const shownCodes = (codes: readonly string[]): RecoveryCodes => ({
  object: "recovery_codes",
  codes,
});
