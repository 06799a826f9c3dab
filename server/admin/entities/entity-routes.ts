/** The five routes of one kind of entity: list, create, get, replace, delete. */
import type { z } from "zod";
import type { Infer } from "../../../contract/admin/infer.ts";
import { pageSchema } from "../../../contract/admin/page.ts";
import type { EntityView } from "../../config/entities/entity-views.ts";
import type { AdminApiContext, AdminOperation, AdminRoute } from "../admin-route.ts";
import { setEtag } from "../if-match.ts";
import { respondWithList } from "../respond-with-list.ts";
import { type EntityChanges, removalQuery } from "./change-entities.ts";

interface EntityRoutesOptions<Schema extends z.ZodType> {
  readonly changes: EntityChanges;
  /** Such as `/upstreams`. */
  readonly path: `/${string}`;
  /** With its article, such as `an upstream`. */
  readonly noun: string;
  readonly entity: Schema;
  /** The documented members of a body. */
  readonly body: z.ZodType;
  readonly scope: AdminOperation["scope"];
  /** Of the list. */
  readonly maxEntries: number;
  readonly show: (
    view: EntityView,
    context: AdminApiContext,
  ) => Infer<Schema> | Promise<Infer<Schema>>;
}

type Method = "list" | "create" | "get" | "replace" | "remove";

export function entityRoutes<Schema extends z.ZodType>(
  options: EntityRoutesOptions<Schema>,
): Readonly<Record<Method, AdminRoute>> {
  const { changes, path, noun, entity, body, scope, maxEntries, show } = options;
  const one = `${path}/:id` as const;
  return {
    list: {
      method: "GET",
      path,
      needs: "administer",
      scope,
      summary: `List every ${noun.replace(/^an? /, "")}, with its origin.`,
      response: pageSchema(entity, maxEntries),
      handle: async (context) =>
        respondWithList(context, await changes.list(), (view) => show(view, context)),
    },
    create: {
      method: "POST",
      path,
      needs: "administer",
      scope,
      summary: `Create ${noun}.`,
      body,
      response: entity,
      status: 201,
      handle: async (context) =>
        context.json(await show(await changes.create(context), context), 201),
    },
    get: {
      method: "GET",
      path: one,
      needs: "administer",
      scope,
      summary: `Show ${noun}.`,
      response: entity,
      handle: async (context) => {
        const view = await changes.find(context);
        setEtag(context, view.version);
        return context.json(await show(view, context));
      },
    },
    replace: {
      method: "PUT",
      path: one,
      needs: "administer",
      scope,
      summary: `Replace ${noun}. Accepts if-match.`,
      body,
      response: entity,
      handle: async (context) => context.json(await show(await changes.replace(context), context)),
    },
    remove: {
      method: "DELETE",
      path: one,
      needs: "administer",
      scope,
      summary: `Delete ${noun}, unless another entity refers to it.`,
      query: removalQuery,
      response: null,
      handle: async (context) => {
        await changes.remove(context);
        return context.body(null, 204);
      },
    },
  };
}
