/** /budgets and /limits: the used, reserved and remaining amounts, and when they reset. */
import { z } from "zod";
import { shownBudgetSchema, shownLimitSchema } from "../../../contract/admin/budgets.ts";
import { listBounds } from "../../../contract/admin/list-bounds.ts";
import { pageSchema } from "../../../contract/admin/page.ts";
import type { ShownBudget, ShownLimit } from "../../../contract/admin.ts";
import { message } from "../../../contract/messages/message.ts";
import { GatewayError } from "../../lib/gateway-error.ts";
import type { AdminDependencies } from "../admin-dependencies.ts";
import type { AdminApiContext, AdminRoute } from "../admin-route.ts";
import { nextCursor, pageQuery, readPage } from "../read-page.ts";
import { readQuery } from "../read-query.ts";
import {
  budgetOwners,
  type EndUserOrTagQuery,
  endUserOrTagOwner,
  limitOwners,
  type Owner,
  showBudgets,
  showEndUserOrTagBudgets,
  showLimits,
} from "../reads/budget-status.ts";

const text = (description: string) => z.string().min(1).max(1000).optional().describe(description);

const listQuery = pageQuery.extend({
  search: text("Only owners with this text in their name, in any case."),
  project: text("Only this project, and its keys. Needed with `end_user` or `tag`."),
  end_user: text("Only this end user, as the client sent it or as the ledger has it."),
  tag: text("Only this tag."),
  key: text("Only the API key with this id."),
});

const projectNeededError = (): GatewayError =>
  new GatewayError("invalid_value", message("project_of_end_user_or_tag_needed"), {
    param: "project",
  });

function matcherOf({ search = "", project, key }: z.output<typeof listQuery>) {
  const text = search.toLowerCase();
  return (owner: Owner): boolean =>
    owner.name.toLowerCase().includes(text) &&
    (project === undefined || owner.project === project) &&
    (key === undefined || (owner.scope === "key" && owner.id === key));
}

export function budgetRoutes(dependencies: AdminDependencies): readonly AdminRoute[] {
  const { snapshot, budgets, endUserOf, now } = dependencies;
  /**
   * Responds with a page of owners, each with up to five lines. The sums are read on this thread, so pages are small.
   */
  const respond = async <Listed extends Owner, Line>(
    context: AdminApiContext,
    owners: Iterable<Listed>,
    linesOf: (page: readonly Listed[]) => Promise<readonly Line[]>,
  ): Promise<Response> => {
    const { cursor = "0", limit } = readPage(context);
    const isListed = matcherOf(readQuery(context, listQuery));
    const start = Number(cursor);
    const page: Listed[] = [];
    let position = 0;
    let next_cursor: string | null = null;
    for (const owner of owners) {
      if (!isListed(owner)) continue;
      if (position >= start + limit) {
        next_cursor = nextCursor(context, String(position));
        break;
      }
      if (position++ >= start) page.push(owner);
    }
    return context.json({ object: "list", data: await linesOf(page), next_cursor });
  };

  /** Undefined if the list has no end user and no tag. */
  const endUserOrTagIn = (context: AdminApiContext): EndUserOrTagQuery | undefined => {
    const { project, end_user, tag } = readQuery(context, listQuery);
    if (end_user === undefined && tag === undefined) return undefined;
    if (project === undefined || (end_user !== undefined && tag !== undefined))
      throw projectNeededError();
    return { project, tag, endUser: end_user === undefined ? undefined : endUserOf(end_user) };
  };
  const one = <Line>(context: AdminApiContext, data: readonly Line[]): Response =>
    context.json({ object: "list", data, next_cursor: null });

  const listBudgets = async (context: AdminApiContext): Promise<Response> => {
    const at = now();
    const endUserOrTag = endUserOrTagIn(context);
    if (endUserOrTag) {
      const owner = endUserOrTagOwner(snapshot(), context.get("actor"), endUserOrTag);
      return one(context, owner ? await showEndUserOrTagBudgets(owner, budgets, at) : []);
    }
    const owners = budgetOwners(snapshot(), context.get("actor"));
    return respond(
      context,
      owners,
      (page): Promise<ShownBudget[]> => showBudgets(page, budgets, at),
    );
  };

  const listLimits = async (context: AdminApiContext): Promise<Response> => {
    const endUserOrTag = endUserOrTagIn(context);
    if (endUserOrTag) {
      const owner = endUserOrTagOwner(snapshot(), context.get("actor"), endUserOrTag);
      const limits = owner?.limits;
      return one(context, limits ? await showLimits({ ...owner, limits }, dependencies) : []);
    }
    const owners = limitOwners(snapshot(), context.get("actor"));
    return respond(context, owners, async (page): Promise<ShownLimit[]> => {
      const lines = await Promise.all(page.map((owner) => showLimits(owner, dependencies)));
      return lines.flat();
    });
  };

  const route = { method: "GET", needs: "view", scope: "project", query: listQuery } as const;
  return [
    {
      ...route,
      path: "/budgets",
      summary: "List budgets with the amounts spent, reserved and left.",
      response: pageSchema(shownBudgetSchema, listBounds.ownerLines),
      handle: listBudgets,
    },
    {
      ...route,
      path: "/limits",
      summary: "List limits with the amounts used and left.",
      response: pageSchema(shownLimitSchema, listBounds.ownerLines),
      handle: listLimits,
    },
  ];
}
