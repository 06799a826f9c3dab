/** Sums of usage. A file of its own: the overview needs nothing else of the usage page. */
import { keepPreviousData, queryOptions } from "@tanstack/react-query";
import type { UsagePage } from "../../../../contract/admin.ts";
import { call, pathWithQuery, type Query } from "../../api/client.ts";

/** New requests are shown within this time. */
const refreshMs = 4000;
/**
 * A query that takes long is repeated less often, so that an open page takes at most this share of the server's time.
 */
const maxTimeShare = 1 / 20;

export const usageQuery = (query: Query, refreshes = true) =>
  queryOptions({
    queryKey: ["/usage", query],
    queryFn: async ({ signal }) => {
      const startedAt = performance.now();
      const usage = await call<UsagePage>(pathWithQuery("/usage", query), { signal });
      return { ...usage, durationMs: performance.now() - startedAt };
    },
    placeholderData: keepPreviousData,
    staleTime: 0,
    refetchInterval: ({ state }) =>
      refreshes && Math.max(refreshMs, (state.data?.durationMs ?? 0) / maxTimeShare),
  });
