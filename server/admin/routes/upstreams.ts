/** /upstreams: the vendors and servers of models, and /upstream-kinds. The credentials of upstreams are write-only. */
import { z } from "zod";
import { upstreamEntitySchema } from "../../../contract/admin/entities.ts";
import { listBounds } from "../../../contract/admin/list-bounds.ts";
import { pageSchema } from "../../../contract/admin/page.ts";
import { upstreamKindSchema } from "../../../contract/admin/upstreams.ts";
import type { UpstreamValue } from "../../../contract/admin.ts";
import type { AdminDependencies } from "../admin-dependencies.ts";
import type { AdminRoute } from "../admin-route.ts";
import { entityChanges } from "../entities/change-entities.ts";
import { entityRoutes } from "../entities/entity-routes.ts";
import { shownEntity } from "../entities/show-entity.ts";
import { respondWithList } from "../respond-with-list.ts";
import { upstreamKinds } from "../upstream-kinds.ts";

const body = z.looseObject({
  id: z.string().describe("The name by which models refer to the upstream."),
  kind: z.string().describe("GET /admin/api/upstream-kinds lists the kinds with their members."),
  baseUrl: z.string().optional(),
  apiKey: z.string().optional().describe('Write-only. {"$secret": true} keeps the stored one.'),
});

export function upstreamRoutes(options: AdminDependencies): readonly AdminRoute[] {
  const routes = entityRoutes({
    changes: entityChanges("upstream", options),
    path: "/upstreams",
    noun: "an upstream",
    entity: upstreamEntitySchema,
    body,
    maxEntries: listBounds.upstreams,
    scope: "all-projects",
    show: (view) => shownEntity<UpstreamValue>(view),
  });
  return [
    {
      method: "GET",
      path: "/upstream-kinds",
      needs: "view",
      scope: "gateway",
      summary: "List the kinds of upstreams with the fields of their forms.",
      response: pageSchema(upstreamKindSchema, listBounds.upstreamKinds),
      handle: async (context) => respondWithList(context, await upstreamKinds(), (kind) => kind),
    },
    ...Object.values(routes),
  ];
}
