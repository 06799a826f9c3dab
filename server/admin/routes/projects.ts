/** /projects: groups of keys with shared limits and budgets, and the users that belong to them. */
import { z } from "zod";
import { projectEntitySchema } from "../../../contract/admin/entities.ts";
import { listBounds } from "../../../contract/admin/list-bounds.ts";
import {
  canIn,
  canSomewhere,
  type ProjectEntity,
  type ProjectValue,
} from "../../../contract/admin.ts";
import { budgetsBody, membersBody, project } from "../../../contract/schemas/keys.ts";
import { memberBody } from "../../../contract/schemas/users.ts";
import type { EntityView } from "../../config/entities/entity-views.ts";
import type { Snapshot } from "../../config/snapshot.ts";
import { maySeeProject } from "../actor.ts";
import type { AdminDependencies } from "../admin-dependencies.ts";
import type { AdminApiContext, AdminRoute } from "../admin-route.ts";
import { entityChanges, idOf } from "../entities/change-entities.ts";
import { inUse, notFound } from "../entities/entity-errors.ts";
import { entityRoutes } from "../entities/entity-routes.ts";
import { shownEntity } from "../entities/show-entity.ts";
import { withBudgets } from "../project-budgets.ts";
import { projectMembers, shownMembers } from "../project-members.ts";
import { readBody } from "../read-body.ts";
import { readQuery } from "../read-query.ts";
import { respondWithList } from "../respond-with-list.ts";

const projectsQuery = z.object({
  archived: z
    .enum(["true", "false"])
    .optional()
    .describe("`true`: the archived projects. By default, the others."),
});

export function projectRoutes(options: AdminDependencies): readonly AdminRoute[] {
  const { snapshot, users } = options;
  const projects = entityChanges("project", options);
  const members = projectMembers(options);

  /** Reads keys and users once for any number of projects. */
  const shownFor = async (
    context: AdminApiContext,
  ): Promise<(view: EntityView) => ProjectEntity> => {
    const actor = context.get("actor");
    const all = canSomewhere(actor, "lead") ? await users.list() : [];
    const keys = countKeys(snapshot());
    return (view) => ({
      ...shownEntity<ProjectValue>(view),
      keys: keys.get(view.id) ?? 0,
      members: canIn(actor, view.id, "lead") ? shownMembers(all, view.id) : [],
    });
  };

  const showOne = async (view: EntityView, context: AdminApiContext) =>
    (await shownFor(context))(view);

  const list = async (context: AdminApiContext): Promise<Response> => {
    const { archived } = readQuery(context, projectsQuery);
    const visible = (await projects.list()).filter(
      ({ id, value }) =>
        maySeeProject(context.get("actor"), id) &&
        (value.archived === true) === (archived === "true"),
    );
    return respondWithList(context, visible, await shownFor(context));
  };

  /** The project of the path. One that the actor may not see is reported as not found. */
  const find = (context: AdminApiContext): Promise<EntityView> => {
    const id = idOf(context);
    if (!maySeeProject(context.get("actor"), id)) throw notFound({ kind: "project", id });
    return projects.find(context);
  };

  const respond = async (context: AdminApiContext, view: EntityView): Promise<Response> =>
    context.json(await showOne(view, context));

  const get = async (context: AdminApiContext): Promise<Response> =>
    respond(context, await find(context));

  const putMembers = async (context: AdminApiContext): Promise<Response> => {
    const view = await projects.find(context);
    await members.putAll(context, view.id);
    return respond(context, view);
  };

  const putMember = async (context: AdminApiContext): Promise<Response> => {
    const view = await find(context);
    await members.put(context, view.id);
    return respond(context, view);
  };

  const removeMember = async (context: AdminApiContext): Promise<Response> => {
    const view = await find(context);
    await members.remove(context, view.id);
    return respond(context, view);
  };

  const putBudgets = async (context: AdminApiContext): Promise<Response> => {
    await find(context);
    const body = await readBody(context, budgetsBody);
    return respond(context, await projects.update(context, (value) => withBudgets(value, body)));
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
    await members.replace(id, []);
    return context.body(null, 204);
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
    { ...entities.list, needs: "view", scope: "project", query: projectsQuery, handle: list },
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
      method: "PUT",
      path: "/projects/:id/members/:user",
      needs: "lead",
      scope: "project",
      summary: "Add a user, by name or id, to a project, or change the role there.",
      body: memberBody,
      response: projectEntitySchema,
      handle: putMember,
    },
    {
      method: "DELETE",
      path: "/projects/:id/members/:user",
      needs: "lead",
      scope: "project",
      summary: "Remove a user, by name or id, from a project.",
      response: projectEntitySchema,
      handle: removeMember,
    },
    {
      method: "PUT",
      path: "/projects/:id/budgets",
      needs: "bill",
      scope: "project",
      summary: "Replace the budgets of a project, its end users and its tags. Accepts if-match.",
      body: budgetsBody,
      response: projectEntitySchema,
      handle: putBudgets,
    },
    {
      ...entities.remove,
      summary: "Delete a project, unless an API key belongs to it.",
      handle: remove,
    },
  ];
}

function countKeys({ keys }: Snapshot): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { project } of keys.values()) {
    if (project !== undefined) counts.set(project, (counts.get(project) ?? 0) + 1);
  }
  return counts;
}
