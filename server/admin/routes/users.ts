/** /users: the users who may sign in to the console. */
import type { z } from "zod";
import { listBounds } from "../../../contract/admin/list-bounds.ts";
import { pageSchema } from "../../../contract/admin/page.ts";
import { userSchema } from "../../../contract/admin/users.ts";
import { can, type Role, type User } from "../../../contract/admin.ts";
import { message } from "../../../contract/messages/message.ts";
import { changedUserBody, newUserBody } from "../../../contract/schemas/users.ts";
import { GatewayError } from "../../lib/gateway-error.ts";
import {
  LastAdministrator,
  rolesWithin,
  type StoredUser,
  type UserChanges,
} from "../../storage/sql/user-store.ts";
import type { SignInDependencies } from "../admin-dependencies.ts";
import { type AdminApiContext, type AdminRoute, senderOf } from "../admin-route.ts";
import { newUser } from "../new-user.ts";
import { readBody } from "../read-body.ts";

export function userRoutes({
  snapshot,
  users,
  sessions,
  tokens,
  passwords,
  audit,
  now,
}: SignInDependencies): readonly AdminRoute[] {
  const record = (
    context: AdminApiContext,
    action: string,
    before?: StoredUser,
    after?: StoredUser,
  ) =>
    audit.record({
      ...senderOf(context),
      action,
      subject: (after ?? before)?.name ?? null,
      before: before && shownUser(before),
      after: after && shownUser(after),
    });

  const find = async (context: AdminApiContext): Promise<StoredUser> => {
    const user = await users.findById(context.req.param("id") ?? "");
    if (user) return user;
    throw new GatewayError("entity_not_found", message("no_such_user"));
  };

  const list = async (context: AdminApiContext): Promise<Response> =>
    context.json({
      object: "list",
      data: (await users.list()).map(shownUser),
      next_cursor: null,
    });

  const create = async (context: AdminApiContext): Promise<Response> => {
    const { password, name, role, projects, ...body } = await readBody(context, newUserBody);
    requireProjects(projects, []);
    const visible = projectsFor(role, projects);
    requireRolesWithin(body.project_roles, visible);
    const user = newUser({
      name,
      role,
      projects: visible,
      projectRoles: body.project_roles,
      passwordHash: password === undefined ? null : await passwords.hash(password),
      mustChangePassword: body.must_change_password,
      createdAt: now(),
    });
    if (!(await users.create(user))) throw nameTaken();
    await record(context, "user.created", undefined, user);
    return context.json(shownUser(user), 201);
  };

  const update = async (context: AdminApiContext): Promise<Response> => {
    const body = await readBody(context, changedUserBody);
    const { password, name } = body;
    const passwordHash = password === undefined ? undefined : await passwords.hash(password);
    // After the slow hash: the role may have changed in the meantime.
    const user = await find(context);
    // The user may still belong to a project that the configuration file no longer has.
    requireProjects(body.projects, user.projects ?? []);
    // Only what the body has is written: a new password must not restore a role that another request has changed.
    const changes: UserChanges = {
      ...(name !== undefined && { name }),
      ...accessChanges(body, user),
      // A password replaces the invitation, which could otherwise replace the password.
      ...(passwordHash !== undefined && { passwordHash, invite: null }),
      ...accountChanges(body, user, now()),
    };
    const changed = { ...user, ...changes };
    if (!(await users.update(user.id, changes).catch(refuseLastAdministrator))) throw nameTaken();
    // A new password or a smaller role must not leave old sessions behind. The session of this request stays.
    await sessions.endOfUser(user.id, context.get("session")?.tokenHash);
    if (changed.disabledAt !== null || passwordHash !== undefined)
      await tokens.revokeOfUser(user.id);
    await record(context, "user.updated", user, changed);
    return context.json(shownUser(changed));
  };

  const remove = async (context: AdminApiContext): Promise<Response> => {
    const user = await find(context);
    await users.delete(user.id).catch(refuseLastAdministrator);
    await record(context, "user.deleted", user);
    return context.body(null, 204);
  };

  const requireProjects = (given: User["projects"] = [], before: readonly string[]): void => {
    const known = [...(snapshot().projects?.keys() ?? []), ...before];
    const unknown = given === "all" ? undefined : given.find((name) => !known.includes(name));
    if (unknown === undefined) return;
    throw new GatewayError(
      "invalid_value",
      message("unknown_project_of_user", { project: JSON.stringify(unknown) }),
      { param: "projects" },
    );
  };

  return [
    {
      method: "GET",
      path: "/users",
      needs: "administer",
      scope: "all-projects",
      summary: "List the users of the console.",
      response: pageSchema(userSchema, listBounds.users),
      handle: list,
    },
    {
      method: "POST",
      path: "/users",
      needs: "administer",
      scope: "all-projects",
      summary: "Create a user, with a password or for an invitation.",
      body: newUserBody,
      response: userSchema,
      status: 201,
      handle: create,
    },
    {
      method: "PATCH",
      path: "/users/:id",
      needs: "administer",
      scope: "all-projects",
      summary:
        "Change or disable a user, or remove the second factor. The other sessions of the user end.",
      body: changedUserBody,
      response: userSchema,
      handle: update,
    },
    {
      method: "DELETE",
      path: "/users/:id",
      needs: "administer",
      scope: "all-projects",
      summary: "Delete a user. The sessions and tokens of the user end.",
      response: null,
      handle: remove,
    },
  ];
}

/** Nothing if the body has neither a role nor projects. */
function accessChanges(
  { role, projects, project_roles: roles }: z.output<typeof changedUserBody>,
  user: StoredUser,
): UserChanges {
  if (role === undefined && projects === undefined && roles === undefined) return {};
  const visible = projectsFor(role ?? user.role, projects ?? user.projects ?? "all");
  if (roles) requireRolesWithin(roles, visible);
  return {
    ...(role !== undefined && { role }),
    projects: visible,
    projectRoles: rolesWithin(roles ?? user.projectRoles, visible),
  };
}

function accountChanges(
  body: z.output<typeof changedUserBody>,
  user: StoredUser,
  at: number,
): UserChanges {
  const { must_change_password: mustChangePassword, disabled, two_factor: keepsTotp } = body;
  return {
    ...(mustChangePassword !== undefined && { mustChangePassword }),
    ...(disabled !== undefined && { disabledAt: disabled ? (user.disabledAt ?? at) : null }),
    ...(disabled === true && { invite: null }),
    ...(keepsTotp === false && { totp: null }),
  };
}

function requireRolesWithin(
  roles: Readonly<Record<string, Role>>,
  projects: StoredUser["projects"],
): void {
  const outside = Object.keys(roles).find((project) => !projects?.includes(project));
  if (outside === undefined) return;
  throw new GatewayError(
    "invalid_value",
    message("role_outside_projects", { project: JSON.stringify(outside) }),
    { param: "project_roles" },
  );
}

function refuseLastAdministrator(error: unknown): never {
  if (!(error instanceof LastAdministrator)) throw error;
  throw new GatewayError("invalid_value", message("last_admin"), { param: "role" });
}

/** Administrators can change their own membership, so a restriction to projects would restrict nothing. */
const projectsFor = (role: Role, visible: User["projects"]): StoredUser["projects"] =>
  can(role, "administer") || visible === "all" ? null : visible;

const nameTaken = (): GatewayError =>
  new GatewayError("invalid_value", message("user_name_taken"), {
    param: "name",
  });

function statusOf({ disabledAt, passwordHash, oidcSubject }: StoredUser): User["status"] {
  if (disabledAt !== null) return "disabled";
  return passwordHash === null && oidcSubject === null ? "invited" : "active";
}

export const shownUser = (user: StoredUser): User => ({
  object: "user",
  id: user.id,
  name: user.name,
  role: user.role,
  projects: user.projects ?? "all",
  project_roles: user.projectRoles,
  sign_in: user.passwordHash === null && user.oidcSubject !== null ? "oidc" : "password",
  status: statusOf(user),
  must_change_password: user.mustChangePassword,
  two_factor: user.totp !== null,
  invite_expires_at: user.invite && new Date(user.invite.expiresAt).toISOString(),
  created_at: new Date(user.createdAt).toISOString(),
  last_sign_in_at: user.lastSignInAt === null ? null : new Date(user.lastSignInAt).toISOString(),
});
