/** The cost of playground requests, from their rows in the ledger. Streams have no header that could report it. */
import { queryOptions } from "@tanstack/react-query";
import type { ShownRequest } from "../../../contract/admin.ts";
import { ApiError, call } from "./client.ts";

export const requestIdOf = (response: Response): string =>
  response.headers.get("x-request-id") ?? "";

/** Rows are written in batches, so the row of a request that has just ended may be missing for a moment. */
const delaysMs = [100, 300, 600, 1000, 2000];

/** US dollars. `null`: unknown. */
export async function requestCost(id: string): Promise<number | null> {
  for (const delayMs of delaysMs) {
    await new Promise((resolve) => setTimeout(resolve, delayMs));
    try {
      const { cost, estimated_cost } = await call<ShownRequest>(`/requests/${id}`);
      return cost ?? estimated_cost;
    } catch (error) {
      // A result is worth showing without its cost.
      if (!(error instanceof ApiError && error.status === 404)) return null;
    }
  }
  return null;
}

/** The cost of several requests together. `null`: one of them is unknown. */
export const requestCostsQuery = (ids: readonly string[]) =>
  queryOptions({
    queryKey: ["request-costs", ids],
    queryFn: async (): Promise<number | null> => {
      const costs = await Promise.all(ids.map(requestCost));
      return costs.reduce(
        (total, cost) => (total === null || cost === null ? null : total + cost),
        0,
      );
    },
    staleTime: Number.POSITIVE_INFINITY,
  });
