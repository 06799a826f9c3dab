/** /projects: groups of keys with shared limits and budgets, and the users that belong to them. */

import { projectEntitySchema } from "../../../contract/admin/entities.ts";
import { listBounds } from "../../../contract/admin/list-bounds.ts";
import { can, type ProjectEntity, type ProjectValue } from "../../../contract/admin.ts";
import { message } from "../../../contract/messages/message.ts";
import { membersBody, project } from "../../../contract/schemas/keys.ts";
import type { EntityView } from "../../config/entities/entity-views.ts";
import type { Snapshot } from "../../config/snapshot.ts";
import { GatewayError } from "../../lib/gateway-error.ts";
import type { StoredUser } from "../../storage/sql/user-store.ts";
import { maySeeProject } from "../actor.ts";
import type { AdminDependencies } from "../admin-dependencies.ts";
import { type AdminApiContext, type AdminRoute, senderOf } from "../admin-route.ts";
import { entityChanges, idOf } from "../entities/change-entities.ts";
import { inUse, notFound } from "../entities/entity-errors.ts";
import { entityRoutes } from "../entities/entity-routes.ts";
import { shownEntity } from "../entities/show-entity.ts";
import { readBody } from "../read-body.ts";
import { respondWithList } from "../respond-with-list.ts";

export function projectRoutes(options: AdminDependencies): readonly AdminRoute[] {
  const { snapshot, users, audit } = options;
  const projects = entityChanges("project", options);

  /** Reads keys and users once for any number of projects. */
  const shownFor = async (
    context: AdminApiContext,
  ): Promise<(view: EntityView) => ProjectEntity> => {
    const isAdmin = can(context.get("actor").role, "administer");
    const all = isAdmin ? await users.list() : [];
    const keys = countKeys(snapshot());
    return (view) => ({
      ...shownEntity<ProjectValue>(view),
      keys: keys.get(view.id) ?? 0,
      members: all.filter(isMember(view.id)).map(({ id, name }) => ({ id, name })),
    });
  };

  const showOne = async (view: EntityView, context: AdminApiContext) =>
    (await shownFor(context))(view);

  const list = async (context: AdminApiContext): Promise<Response> => {
    const visible = (await projects.list()).filter(({ id }) =>
      maySeeProject(context.get("actor"), id),
    );
    return respondWithList(context, visible, await shownFor(context));
  };

  const get = async (context: AdminApiContext): Promise<Response> => {
    // A project that the actor may not see is reported as not found.
    const id = idOf(context);
    if (!maySeeProject(context.get("actor"), id)) throw notFound({ kind: "project", id });
    return context.json(await showOne(await projects.find(context), context));
  };

  const remove = async (context: AdminApiContext): Promise<Response> => {
    const { id } = await projects.findWritable(context);
    const keysOfProject = [...snapshot().keys.values()].filter(({ project }) => project === id);
    if (keysOfProject.length > 0) {
      const usedBy = keysOfProject.map((key) => ({
        kind: "key" as const,
        id: key.id,
        name: key.name,
      }));
      throw inUse({ kind: "project", id }, usedBy);
    }
    await projects.remove(context);
    // A later project of the same name must not have the members of this one.
    await setMembers(id, []);
    return context.body(null, 204);
  };

  const putMembers = async (context: AdminApiContext): Promise<Response> => {
    const view = await projects.find(context);
    const { users: ids } = await readBody(context, membersBody);
    const { before, after } = await setMembers(view.id, ids);
    await audit.record({
      ...senderOf(context),
      action: "project.members_updated",
      subject: view.id,
      before,
      after,
    });
    return context.json(await showOne(view, context));
  };

  /** Returns the names of the members before and after. */
  const setMembers = async (project: string, ids: readonly string[]) => {
    const all = await users.list();
    const listed = ids.map((id) => requireUser(all, id));
    for (const user of all) {
      const others = user.projects?.filter((name) => name !== project);
      const isListed = listed.includes(user);
      if (others === undefined || isListed === isMember(project)(user)) continue;
      await users.update(user.id, { projects: isListed ? [...others, project] : others });
    }
    const names = (members: readonly StoredUser[]) => members.map(({ name }) => name).sort();
    return { before: names(all.filter(isMember(project))), after: names(listed) };
  };

  const entities = entityRoutes({
    changes: projects,
    path: "/projects",
    noun: "a project",
    entity: projectEntitySchema,
    body: project,
    maxEntries: listBounds.projects,
    scope: "all-projects",
    show: showOne,
  });
  return [
    { ...entities.list, needs: "view", scope: "project", handle: list },
    entities.create,
    { ...entities.get, needs: "view", scope: "project", handle: get },
    entities.replace,
    {
      method: "PUT",
      path: "/projects/:id/members",
      needs: "administer",
      scope: "all-projects",
      summary: "Replace the members of a project: users who see only their own projects.",
      body: membersBody,
      response: projectEntitySchema,
      handle: putMembers,
    },
    {
      ...entities.remove,
      summary: "Delete a project, unless an API key belongs to it.",
      handle: remove,
    },
  ];
}

const isMember =
  (project: string) =>
  (user: StoredUser): boolean =>
    user.projects?.includes(project) ?? false;

function requireUser(users: readonly StoredUser[], id: string): StoredUser {
  const user = users.find((each) => each.id === id);
  if (!user) {
    throw new GatewayError("invalid_value", message("unknown_user", { id: JSON.stringify(id) }), {
      param: "users",
    });
  }
  if (user.projects !== null) return user;
  throw new GatewayError("invalid_value", message("user_sees_all_projects", { name: user.name }), {
    param: "users",
  });
}

function countKeys({ keys }: Snapshot): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { project } of keys.values()) {
    if (project !== undefined) counts.set(project, (counts.get(project) ?? 0) + 1);
  }
  return counts;
}
