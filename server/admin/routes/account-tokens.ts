/** /account/tokens: the signed-in user's own tokens of the admin API. */
import { adminTokenSchema, createdAdminTokenSchema } from "../../../contract/admin/account.ts";
import { listBounds } from "../../../contract/admin/list-bounds.ts";
import { pageSchema } from "../../../contract/admin/page.ts";
import type { AdminToken, CreatedAdminToken } from "../../../contract/admin.ts";
import { message } from "../../../contract/messages/message.ts";
import { newTokenBody } from "../../../contract/schemas/users.ts";
import { GatewayError } from "../../lib/gateway-error.ts";
import { dayMs } from "../../lib/timers.ts";
import type { StoredAdminToken } from "../../storage/sql/admin-token-store.ts";
import type { StoredUser } from "../../storage/sql/user-store.ts";
import type { SignInDependencies } from "../admin-dependencies.ts";
import { type AdminApiContext, type AdminRoute, senderOf } from "../admin-route.ts";
import { readBody } from "../read-body.ts";
import { confirmPassword } from "../sign-in/confirm-password.ts";
import { requireSession } from "./account.ts";

export function accountTokenRoutes(options: SignInDependencies): readonly AdminRoute[] {
  const { users, tokens, audit, now } = options;

  /**
   * Checked after the token is stored: a change of the password that is not visible here ends the stored token.
   */
  const refuseChangedPassword = async (user: StoredUser, token: StoredAdminToken) => {
    if ((await users.findById(user.id))?.passwordHash === user.passwordHash) return;
    await tokens.revoke(user.id, token.id);
    throw new GatewayError("invalid_credentials", message("user_changed"));
  };

  const list = async (context: AdminApiContext): Promise<Response> => {
    const { user } = requireSession(context);
    const data = (await tokens.listOfUser(user.id)).map(shownToken);
    return context.json({ object: "list", data, next_cursor: null });
  };

  const create = async (context: AdminApiContext): Promise<Response> => {
    const { name, expires_in_days: days, password } = await readBody(context, newTokenBody);
    const session = requireSession(context);
    const { user } = session;
    // A user of OpenID Connect has no password.
    if (user.passwordHash !== null) {
      if (password === undefined) throw passwordNeeded();
      await confirmPassword(session, password, options);
    }
    const { text, token } = await tokens.create(user.id, name, now() + days * dayMs);
    await refuseChangedPassword(user, token);
    const after = shownToken(token);
    await audit.record({
      ...senderOf(context),
      action: "admin_token.created",
      subject: name,
      after,
    });
    const shown: CreatedAdminToken = { ...after, token: text };
    return context.json(shown, 201);
  };

  const revoke = async (context: AdminApiContext): Promise<Response> => {
    const { user } = requireSession(context);
    const token = await tokens.revoke(user.id, context.req.param("id") ?? "");
    if (!token) throw new GatewayError("entity_not_found", message("no_such_token"));
    await audit.record({
      ...senderOf(context),
      action: "admin_token.revoked",
      subject: token.name,
      before: shownToken(token),
    });
    return context.body(null, 204);
  };

  return [
    {
      method: "GET",
      path: "/account/tokens",
      needs: "view",
      scope: "gateway",
      summary: "List your tokens.",
      response: pageSchema(adminTokenSchema, listBounds.tokens),
      handle: list,
    },
    {
      method: "POST",
      path: "/account/tokens",
      needs: "view",
      scope: "gateway",
      summary: "Create a token with your role and your projects. Needs your password.",
      body: newTokenBody,
      response: createdAdminTokenSchema,
      status: 201,
      handle: create,
    },
    {
      method: "DELETE",
      path: "/account/tokens/:id",
      needs: "view",
      scope: "gateway",
      summary: "Revoke one of your tokens.",
      response: null,
      handle: revoke,
    },
  ];
}

const passwordNeeded = (): GatewayError =>
  new GatewayError("invalid_value", message("password_needed"), { param: "password" });

const shownToken = (token: StoredAdminToken): AdminToken => ({
  object: "admin_token",
  id: token.id,
  name: token.name,
  hint: token.hint,
  created_at: new Date(token.createdAt).toISOString(),
  expires_at: new Date(token.expiresAt).toISOString(),
  last_used_at: token.lastUsedAt === null ? null : new Date(token.lastUsedAt).toISOString(),
});
