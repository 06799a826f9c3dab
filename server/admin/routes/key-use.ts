/** /key-use: what some API keys were used for in the last 30 days, for the list of keys. */
import { z } from "zod";
import { keyUseSchema } from "../../../contract/admin/keys.ts";
import { listBounds } from "../../../contract/admin/list-bounds.ts";
import { pageSchema } from "../../../contract/admin/page.ts";
import type { KeyUse } from "../../../contract/admin.ts";
import { roundDollars } from "../../lib/nano-dollars.ts";
import { dayMs } from "../../lib/timers.ts";
import type { LedgerQueries, UsageGroup } from "../../storage/ports/ledger-queries.ts";
import type { AdminDependencies } from "../admin-dependencies.ts";
import type { AdminApiContext, AdminRoute } from "../admin-route.ts";
import { readQuery } from "../read-query.ts";

/** The keys with the most requests. */
const maxGroups = 20_000;
/** A page of the list of keys. */
const maxKeys = 200;

const query = z.object({
  ids: z
    .string()
    .max(20_000)
    .describe(`The ids of up to ${maxKeys} keys, with commas between them.`),
});

export function keyUseRoutes({
  queries,
  now,
}: Pick<AdminDependencies, "queries" | "now">): readonly AdminRoute[] {
  const list = async (context: AdminApiContext): Promise<Response> => {
    const ids = readQuery(context, query).ids.split(",").slice(0, maxKeys);
    const { projects } = context.get("actor");
    const [day, week, month] = await Promise.all(
      ([1, 7, 30] as const).map((days) => usesWithin(queries, now(), days, projects)),
    );
    const data = ids.map((id): KeyUse => {
      const { requests = 0, cost = 0, estimatedCost = 0 } = month?.get(id) ?? {};
      const used_within_days =
        (day?.has(id) && 1) || (week?.has(id) && 7) || (month?.has(id) && 30);
      const charged = roundDollars(cost + estimatedCost);
      return {
        object: "key_use",
        id,
        requests,
        charged,
        used_within_days: used_within_days || null,
      };
    });
    return context.json({ object: "list", data, next_cursor: null });
  };
  return [
    {
      method: "GET",
      path: "/key-use",
      needs: "develop",
      scope: "project",
      summary: "Show requests, cost and last use of API keys in the last 30 days.",
      query,
      response: pageSchema(keyUseSchema, listBounds.page),
      handle: list,
    },
  ];
}

/** The usage of each key. One query for all keys is cheaper than one for each. */
async function usesWithin(
  queries: Pick<LedgerQueries, "usage">,
  to: number,
  days: number,
  projects: readonly string[] | null,
): Promise<ReadonlyMap<string, UsageGroup>> {
  const { groups } = await queries.usage({
    from: to - days * dayMs,
    to,
    interval: "total",
    groupBy: ["keyId"],
    limit: maxGroups,
    ...(projects && { projects }),
  });
  return new Map(groups.map((group) => [group.keyId ?? "", group]));
}
