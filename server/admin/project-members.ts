/** The members of a project: users who see only their own projects, with a role in this one. */
import {
  includesRole,
  type ProjectEntity,
  type Role,
  roleIn,
  type UserRoles,
} from "../../contract/admin.ts";
import { message } from "../../contract/messages/message.ts";
import { membersBody } from "../../contract/schemas/keys.ts";
import { memberBody } from "../../contract/schemas/users.ts";
import { GatewayError } from "../lib/gateway-error.ts";
import { rolesWithin, type StoredUser } from "../storage/sql/user-store.ts";
import type { AdminDependencies } from "./admin-dependencies.ts";
import { type AdminApiContext, senderOf } from "./admin-route.ts";
import { readBody } from "./read-body.ts";

export function projectMembers({ users, audit }: Pick<AdminDependencies, "users" | "audit">) {
  /** Returns the members before and after. */
  const replace = async (project: string, ids: readonly string[]) => {
    const all = await users.list();
    const listed = ids.map((id) => restricted(found(all, id)));
    for (const user of all) {
      const isListed = listed.includes(user);
      if (user.projects === null || isListed === isMember(project)(user)) continue;
      await users.update(user.id, changed(user, project, isListed));
    }
    return { before: all.filter(isMember(project)), after: listed };
  };

  const record = (
    context: AdminApiContext,
    project: string,
    [before, after]: readonly (readonly string[])[],
  ): Promise<void> =>
    audit.record({
      ...senderOf(context),
      action: "project.members_updated",
      subject: project,
      before,
      after,
    });

  const putAll = async (context: AdminApiContext, project: string): Promise<void> => {
    const { users: ids } = await readBody(context, membersBody);
    const { before, after } = await replace(project, ids);
    const names = (members: readonly StoredUser[]) => members.map(({ name }) => name).sort();
    await record(context, project, [names(before), names(after)]);
  };

  /** Adds, changes or, without a role, removes the user of the path. */
  const change = async (
    context: AdminApiContext,
    project: string,
    role: Role | null | undefined,
  ): Promise<void> => {
    const given = context.req.param("user") ?? "";
    const user = (await users.findById(given)) ?? (await users.findByName(given));
    if (!user) throw new GatewayError("entity_not_found", message("no_such_user"));
    const changes = changed(restricted(user), project, role !== undefined, role);
    const states = [user, { ...user, ...changes }].map((each) => rolesAs(each, project));
    for (const state of states) requireOwnRoles(context.get("actor"), state, project);
    await users.update(user.id, changes);
    const [before = [], after = []] = states.map((state) =>
      state.map((each) => `${user.name} (${each})`),
    );
    await record(context, project, [before, after]);
  };

  return {
    replace,
    putAll,
    put: async (context: AdminApiContext, project: string): Promise<void> =>
      change(context, project, (await readBody(context, memberBody)).role),
    remove: (context: AdminApiContext, project: string): Promise<void> =>
      change(context, project, undefined),
  };
}

/** The role of the user in the project, if the user is a member. */
const rolesAs = (user: StoredUser, project: string): readonly string[] =>
  isMember(project)(user) ? [roleIn(rolesOf(user), project)] : [];

/** A lead gives and takes no role that may do more than the own one, such as change budgets. */
function requireOwnRoles(actor: UserRoles, given: readonly string[], project: string): void {
  const role = given.find((each) => !includesRole(roleIn(actor, project), each));
  if (role === undefined) return;
  throw new GatewayError("permission_denied", message("role_above_own", { role }), {
    param: "role",
  });
}

const rolesOf = ({ role, projectRoles }: StoredUser): UserRoles => ({
  role,
  project_roles: projectRoles,
});

const isMember =
  (project: string) =>
  (user: StoredUser): boolean =>
    user.projects?.includes(project) ?? false;

/** `role`: in the project. Null removes it, so that the general role applies. If undefined, it stays. */
function changed(
  user: StoredUser,
  project: string,
  isListed: boolean,
  role?: Role | null,
): Pick<StoredUser, "projects" | "projectRoles"> {
  const others = user.projects?.filter((name) => name !== project) ?? [];
  const projects = isListed ? [...others, project] : others;
  const { [project]: before, ...otherRoles } = user.projectRoles;
  const own = role === undefined ? before : role;
  return {
    projects,
    projectRoles: rolesWithin(own ? { ...otherRoles, [project]: own } : otherRoles, projects),
  };
}

function found(users: readonly StoredUser[], id: string): StoredUser {
  const user = users.find((each) => each.id === id);
  if (user) return user;
  throw new GatewayError("invalid_value", message("unknown_user", { id: JSON.stringify(id) }), {
    param: "users",
  });
}

/** The user, if it sees only its own projects. */
function restricted(user: StoredUser): StoredUser {
  if (user.projects !== null) return user;
  throw new GatewayError("invalid_value", message("user_sees_all_projects", { name: user.name }), {
    param: "users",
  });
}

export const shownMembers = (
  users: readonly StoredUser[],
  project: string,
): ProjectEntity["members"] =>
  users.filter(isMember(project)).map((user) => ({
    id: user.id,
    name: user.name,
    role: roleIn(rolesOf(user), project) as Role,
  }));
