/** /budgets and /limits: the used, reserved and remaining amounts, and when they reset. */
import { shownBudgetSchema, shownLimitSchema } from "../../../contract/admin/budgets.ts";
import { pageSchema } from "../../../contract/admin/page.ts";
import type { ShownBudget, ShownLimit } from "../../../contract/admin.ts";
import type { AdminDependencies } from "../admin-dependencies.ts";
import type { AdminApiContext, AdminRoute } from "../admin-route.ts";
import { nextCursor, pageQuery, readPage } from "../read-page.ts";
import { budgetOwners, limitOwners, showBudgets, showLimits } from "../reads/budget-status.ts";

export function budgetRoutes(dependencies: AdminDependencies): readonly AdminRoute[] {
  const { snapshot, budgets, now } = dependencies;
  /**
   * Responds with a page of owners, each with up to five lines. The sums are read on this thread, so pages are small.
   */
  const respond = async <Owner, Line>(
    context: AdminApiContext,
    owners: Iterable<Owner>,
    linesOf: (owner: Owner) => Promise<readonly Line[]>,
  ): Promise<Response> => {
    const { cursor = "0", limit } = readPage(context);
    const start = Number(cursor);
    const page: Owner[] = [];
    let position = 0;
    let next_cursor: string | null = null;
    for (const owner of owners) {
      if (position >= start + limit) {
        next_cursor = nextCursor(context, String(position));
        break;
      }
      if (position++ >= start) page.push(owner);
    }
    const data = (await Promise.all(page.map(linesOf))).flat();
    return context.json({ object: "list", data, next_cursor });
  };

  const listBudgets = async (context: AdminApiContext): Promise<Response> => {
    const at = now();
    const owners = budgetOwners(snapshot(), context.get("actor"));
    return respond(
      context,
      owners,
      async (owner): Promise<ShownBudget[]> => showBudgets(owner, budgets, at),
    );
  };

  const listLimits = async (context: AdminApiContext): Promise<Response> => {
    const owners = limitOwners(snapshot(), context.get("actor"));
    return respond(
      context,
      owners,
      (owner): Promise<ShownLimit[]> => showLimits(owner, dependencies),
    );
  };

  const route = { method: "GET", role: "viewer", scope: "project", query: pageQuery } as const;
  return [
    {
      ...route,
      path: "/budgets",
      summary: "List the budgets of projects and keys with the amounts spent, reserved and left.",
      response: pageSchema(shownBudgetSchema),
      handle: listBudgets,
    },
    {
      ...route,
      path: "/limits",
      summary: "List the limits of projects, models and keys with the amounts used and left.",
      response: pageSchema(shownLimitSchema),
      handle: listLimits,
    },
  ];
}
