/** /statistics: requests in flight and queued, the embedding cache, micro-batching. */
import { statisticsSchema } from "../../../contract/admin/statistics.ts";
import type { Statistics } from "../../../contract/admin.ts";
import type { AdminDependencies } from "../admin-dependencies.ts";
import type { AdminRoute } from "../admin-route.ts";

export const statisticsRoutes = ({ statistics }: AdminDependencies): readonly AdminRoute[] => [
  {
    method: "GET",
    path: "/statistics",
    needs: "view",
    scope: "gateway",
    summary: "Show statistics of the embedding cache, micro-batching and queues.",
    response: statisticsSchema,
    handle: async (context) => {
      const shown: Statistics = { object: "statistics", ...(await statistics()) };
      return context.json(shown);
    },
  },
];
