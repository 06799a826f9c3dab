/** /replicas: the processes that serve. */
import { listBounds } from "../../../contract/admin/list-bounds.ts";
import { pageSchema } from "../../../contract/admin/page.ts";
import { shownReplicaSchema } from "../../../contract/admin/replicas.ts";
import type { AdminDependencies } from "../admin-dependencies.ts";
import type { AdminRoute } from "../admin-route.ts";

export const replicaRoutes = ({ replicas }: AdminDependencies): readonly AdminRoute[] => [
  {
    method: "GET",
    path: "/replicas",
    needs: "view",
    scope: "gateway",
    summary: "List the processes that serve, with their version, load and health.",
    response: pageSchema(shownReplicaSchema, listBounds.replicas),
    handle: async (context) =>
      context.json({ object: "list", data: await replicas(), next_cursor: null }),
  },
];
