/** /overview: totals, a series for the charts, conditions that need attention, and the first-run guide. */
import { z } from "zod";
import { listBounds } from "../../../contract/admin/list-bounds.ts";
import { overviewSchema } from "../../../contract/admin/overview.ts";
import type { Overview } from "../../../contract/admin.ts";
import { message } from "../../../contract/messages/message.ts";
import { internalName } from "../../auth/authenticate.ts";
import type { Snapshot } from "../../config/snapshot.ts";
import { originOf } from "../../config/snapshot.ts";
import { GatewayError } from "../../lib/gateway-error.ts";
import { dayMs } from "../../lib/timers.ts";
import type { LedgerFilter } from "../../storage/ports/ledger-queries.ts";
import { type Actor, inProject, maySeeProject } from "../actor.ts";
import type { AdminDependencies } from "../admin-dependencies.ts";
import type { AdminApiContext, AdminRoute } from "../admin-route.ts";
import { readQuery } from "../read-query.ts";
import { createAttention } from "../reads/attention.ts";
import { projectText, time } from "../reads/request-filter.ts";
import { noUsage, showSums, showUsage } from "../reads/show-usage.ts";

/** A range up to this length has hourly points, a longer range daily points. */
const hourlyMs = 7 * dayMs;

const overviewQuery = z.object({
  from: time("ISO 8601, rounded down to a whole hour. Default: 24 hours before `to`."),
  to: time("ISO 8601, exclusive. Default: now."),
  project: projectText,
});

export function overviewRoutes(options: AdminDependencies): readonly AdminRoute[] {
  const { queries, snapshot, now } = options;
  const attention = createAttention(options);

  const show = async (context: AdminApiContext): Promise<Response> => {
    const given = readQuery(context, overviewQuery);
    const actor = inProject(context.get("actor"), given.project);
    const { to = now(), from = to - dayMs } = given;
    if (from >= to) {
      throw new GatewayError("invalid_value", message("from_after_to"), {
        param: "from",
      });
    }
    const filter: LedgerFilter = {
      exceptProject: internalName,
      ...(actor.projects !== null && { projects: actor.projects }),
    };
    const interval = to - from <= hourlyMs ? "hour" : "day";
    const [series, total] = await Promise.all([
      queries.usage({ ...filter, from, to, interval, limit: listBounds.points }),
      queries.usage({ ...filter, from, to, interval: "total", limit: 1 }),
    ]);
    const totals = total.groups[0] ? showSums(total.groups[0]) : noUsage;
    const hasRequest =
      totals.requests > 0 || (await queries.list({ ...filter, limit: 1 })).entries.length > 0;
    const shown: Overview = {
      object: "overview",
      from: new Date(from).toISOString(),
      to: new Date(to).toISOString(),
      interval,
      totals,
      series: series.groups.map((group) => showUsage(group, [], new Map())).reverse(),
      attention: await attention(actor),
      guide: {
        has_key: hasKey(snapshot(), actor),
        has_request: hasRequest,
        has_upstream: hasUpstream(snapshot()),
      },
    };
    return context.json(shown);
  };

  return [
    {
      method: "GET",
      path: "/overview",
      needs: "view",
      scope: "project",
      summary: "Show totals, charts, and conditions that need attention.",
      query: overviewQuery,
      response: overviewSchema,
      handle: show,
    },
  ];
}

const hasKey = ({ keys }: Snapshot, actor: Actor): boolean =>
  keys.values().some(({ project = null }) => maySeeProject(actor, project));

/** Whether the operator has added an upstream. The built-in models work without one. */
const hasUpstream = (snapshot: Snapshot): boolean =>
  snapshot.upstreams.keys().some((id) => originOf(snapshot, "upstream", id)?.source !== "built-in");
