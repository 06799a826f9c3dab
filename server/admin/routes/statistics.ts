/** /statistics: requests in flight and queued, the embedding cache, micro-batching. */
import type { Statistics } from "../../../contract/admin.ts";
import type { AdminRoute } from "../admin-route.ts";
import type { ShownStatistics } from "../reads/merge-workers.ts";

export interface StatisticsRoutesOptions {
  readonly statistics: () => Promise<ShownStatistics>;
}

export const statisticsRoutes = ({
  statistics,
}: StatisticsRoutesOptions): readonly AdminRoute[] => [
  {
    method: "GET",
    path: "/statistics",
    role: "viewer",
    scope: "gateway",
    summary: "Show statistics of the embedding cache, micro-batching and queues.",
    response: "Statistics",
    handle: async (context) => {
      const shown: Statistics = { object: "statistics", ...(await statistics()) };
      return context.json(shown);
    },
  },
];
