/**
 * One-time links with which a user chooses a password: /users/:id/invite creates one, /session/invite uses it. Only the
 * hash of the token is stored. The link does not sign in: a user with a second factor also needs a code.
 */
import { randomBytes } from "node:crypto";
import { inviteSchema, shownInviteSchema } from "../../../contract/admin/account.ts";
import type { Invite, InvitePreview } from "../../../contract/admin.ts";
import { message } from "../../../contract/messages/message.ts";
import {
  acceptedInviteBody,
  inviteTokenBody,
  newInviteBody,
} from "../../../contract/schemas/users.ts";
import { errorMessage } from "../../lib/error-code.ts";
import { GatewayError } from "../../lib/gateway-error.ts";
import { secretHash } from "../../lib/secret-hash.ts";
import { hourMs } from "../../lib/timers.ts";
import type { StoredInvite, StoredUser } from "../../storage/sql/user-store.ts";
import type { SignInDependencies } from "../admin-dependencies.ts";
import { type AdminApiContext, type AdminRoute, senderOf } from "../admin-route.ts";
import { readBody } from "../read-body.ts";

const tokenBytes = 32;
/** The administrator waits for the response. */
const mailTimeoutMs = 20_000;

export function inviteRoutes(options: SignInDependencies): readonly AdminRoute[] {
  const { users, sessions, tokens, passwords, throttle, mayLinkTo, sendMessage, audit, now } =
    options;

  const create = async (context: AdminApiContext): Promise<Response> => {
    const { expires_in_hours: hours, email } = await readBody(context, newInviteBody);
    const user = await users.findById(context.req.param("id") ?? "");
    if (!user) throw new GatewayError("entity_not_found", message("no_such_user"));
    refuseWithoutPassword(user);
    const { headers, publicUrl } = context.env.incoming;
    const host = headers.get("host");
    if (publicUrl === "" || !mayLinkTo(host)) throw unknownHost(host ?? "");
    const token = randomBytes(tokenBytes).toString("base64url");
    const expiresAt = now() + hours * hourMs;
    await users.update(user.id, { invite: { hash: secretHash(token), expiresAt } });
    await audit.record({ ...senderOf(context), action: "user.invited", subject: user.name });
    const link = {
      url: `${publicUrl}/console/invite#${token}`,
      expires_at: new Date(expiresAt).toISOString(),
    };
    const sent = await mail(user, email, link);
    const shown: Invite = { object: "invite", user: user.id, ...link, ...sent };
    return context.json(shown, 201);
  };

  /** The link is in the response, too, so a mail server that fails does not prevent the invitation. */
  const mail = async (
    { id, name, role, projects }: StoredUser,
    email: string | undefined,
    { url, expires_at }: Pick<Invite, "url" | "expires_at">,
  ): Promise<Pick<Invite, "sent_to" | "mail_problem">> => {
    if (email === undefined || !sendMessage) return { sent_to: null, mail_problem: null };
    const visible = projects === null ? "all projects" : projects.join(", ") || "no project yet";
    const lines = [
      `You can sign in to Vexel as ${name}, with the role ${role} (${visible}).`,
      `Open this link to choose your password:`,
      url,
      `It works once, until ${expires_at}.`,
    ];
    const message = {
      to: [email],
      subject: "[Vexel] Your invitation",
      text: `${lines.join("\n\n")}\n`,
      messageId: `<${id}.${Date.parse(expires_at)}@vexel>`,
    };
    try {
      await sendMessage(message, AbortSignal.timeout(mailTimeoutMs));
      return { sent_to: email, mail_problem: null };
    } catch (error) {
      return { sent_to: null, mail_problem: errorMessage(error) };
    }
  };

  const find = async (token: string): Promise<StoredUser & { readonly invite: StoredInvite }> => {
    const user = await users.findByInvite(secretHash(token));
    if (user?.invite && user.disabledAt === null && user.invite.expiresAt > now()) {
      return { ...user, invite: user.invite };
    }
    throw invalidLink();
  };

  const preview = async (context: AdminApiContext): Promise<Response> => {
    await throttle.waitInLine(context.env.address);
    const { token } = await readBody(context, inviteTokenBody);
    const { name, invite } = await find(token);
    const shown: InvitePreview = {
      object: "invite_preview",
      name,
      expires_at: new Date(invite.expiresAt).toISOString(),
    };
    return context.json(shown);
  };

  const accept = async (context: AdminApiContext): Promise<Response> => {
    const { address } = context.env;
    await throttle.waitInLine(address);
    const { token, password } = await readBody(context, acceptedInviteBody);
    const { id, name, invite } = await find(token);
    const passwordHash = await passwords.hash(password);
    if (!(await users.acceptInvite(id, invite.hash, passwordHash))) throw invalidLink();
    await sessions.endOfUser(id);
    await tokens.revokeOfUser(id);
    await audit.record({ actor: name, action: "user.invite_accepted", subject: name, address });
    return context.body(null, 204);
  };

  return [
    {
      method: "POST",
      path: "/users/:id/invite",
      needs: "administer",
      scope: "all-projects",
      summary: "Create the one-time link with which a user chooses a password.",
      body: newInviteBody,
      response: inviteSchema,
      status: 201,
      handle: create,
    },
    {
      method: "POST",
      path: "/session/invite",
      needs: "anyone",
      scope: "gateway",
      summary: "Get the name of the user of a one-time link.",
      body: inviteTokenBody,
      response: shownInviteSchema,
      handle: preview,
    },
    {
      method: "POST",
      path: "/session/invite/accept",
      needs: "anyone",
      scope: "gateway",
      summary: "Choose a password with a one-time link. The sessions and tokens of the user end.",
      body: acceptedInviteBody,
      response: null,
      handle: accept,
    },
  ];
}

function refuseWithoutPassword({ disabledAt, oidcSubject, passwordHash }: StoredUser): void {
  if (disabledAt !== null) {
    throw new GatewayError("invalid_value", message("enable_user_first"));
  }
  if (oidcSubject === null || passwordHash !== null) return;
  throw new GatewayError("invalid_value", message("user_needs_no_password"));
}

const unknownHost = (host: string): GatewayError =>
  new GatewayError("invalid_value", message("unknown_link_host", { host: host.slice(0, 200) }));

const invalidLink = (): GatewayError =>
  new GatewayError("invalid_credentials", message("invite_link_invalid"));
