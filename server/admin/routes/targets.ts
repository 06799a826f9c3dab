/** /targets: the health of every target. */

import { listBounds } from "../../../contract/admin/list-bounds.ts";
import { shownTargetSchema } from "../../../contract/admin/models.ts";
import { pageSchema } from "../../../contract/admin/page.ts";
import type { AdminDependencies } from "../admin-dependencies.ts";
import type { AdminRoute } from "../admin-route.ts";

export const targetRoutes = ({ targets }: AdminDependencies): readonly AdminRoute[] => [
  {
    method: "GET",
    path: "/targets",
    needs: "view",
    scope: "gateway",
    summary: "List every target with its health.",
    response: pageSchema(shownTargetSchema, listBounds.targets),
    handle: async (context) =>
      context.json({ object: "list", data: await targets(), next_cursor: null }),
  },
];
