/**
 * /usage, the usage report: by hour, day or month and by any combination of key, project, model and target. Also as
 * CSV.
 */
import { z } from "zod";
import { usagePageSchema } from "../../../contract/admin/usage.ts";
import {
  type UsageDimension,
  type UsagePage,
  type UsageRow,
  usageDimensions,
  usageIntervals,
} from "../../../contract/admin.ts";
import { GatewayError } from "../../lib/gateway-error.ts";
import type { UsageQuery } from "../../storage/ports/ledger-queries.ts";
import type { AdminDependencies } from "../admin-dependencies.ts";
import type { AdminApiContext, AdminRoute } from "../admin-route.ts";
import { readQuery } from "../read-query.ts";
import { ownerFilter, ownerFilters, time } from "../reads/request-filter.ts";
import { ledgerDimensionsOf, showUsage } from "../reads/show-usage.ts";
import { csvHead, csvRow } from "../reads/usage-csv.ts";

const dayMs = 86_400_000;
/** Rows of one response. They cross from the query thread to the one that serves requests, so there are few. */
const maxRows = 2000;
/** Days of one CSV file by hour or day. */
const maxCsvDays = 400;
const groupNames = usageDimensions.join(", ");

const usageQuery = z.object({
  from: time("ISO 8601, rounded down to a whole hour. Default: 7 days before `to`."),
  to: time("ISO 8601, exclusive. Default: now."),
  interval: z.enum(usageIntervals).optional().describe("Default: `day`."),
  group_by: z
    .string()
    .max(100)
    .refine(
      (value) => value.split(",").every((name) => z.enum(usageDimensions).safeParse(name).success),
      `it must be one or more of ${groupNames}, separated by commas`,
    )
    .transform((value) => value.split(",") as UsageDimension[])
    .optional()
    .describe(`Any of ${groupNames}, separated by commas.`),
  ...ownerFilters,
});

/** The kinds of labels, tags and end users, that a query groups or filters by. */
const countLabels = (
  dimensions: readonly UsageDimension[],
  given: { readonly tag?: string | undefined; readonly end_user?: string | undefined },
): number =>
  (["tag", "end_user"] as const).filter(
    (name) => dimensions.includes(name) || given[name] !== undefined,
  ).length;

export function usageRoutes({
  queries,
  keyNames,
  endUserOf,
  now,
}: AdminDependencies): readonly AdminRoute[] {
  const read = async (context: AdminApiContext) => {
    const given = readQuery(context, usageQuery);
    const { to = now(), from = to - 7 * dayMs, interval = "day" } = given;
    if (from >= to) {
      throw new GatewayError("invalid_value", "Invalid 'from': it must be before 'to'.", {
        param: "from",
      });
    }
    const dimensions: readonly UsageDimension[] = [...new Set(given.group_by ?? [])];
    if (countLabels(dimensions, given) > 1) {
      throw new GatewayError(
        "invalid_value",
        "Usage is summed by tag or by end user, not by both: give 'tag' or 'end_user' in 'group_by' or as a filter.",
        { param: "group_by" },
      );
    }
    const query: UsageQuery = {
      ...(await ownerFilter(given, context.get("actor"), { keyNames, endUserOf })),
      from,
      to,
      interval,
      limit: maxRows,
      groupBy: dimensions.flatMap((name) => ledgerDimensionsOf[name]),
    };
    return { query, dimensions };
  };

  const rowsOf = async (query: UsageQuery, dimensions: readonly UsageDimension[]) => {
    const { groups, hasMore } = await queries.usage(query);
    const names = await keyNames.of(groups.flatMap(({ keyId }) => (keyId ? [keyId] : [])));
    const rows = groups.map((group): UsageRow => showUsage(group, dimensions, names));
    return { rows, hasMore };
  };

  const list = async (context: AdminApiContext): Promise<Response> => {
    const { query, dimensions } = await read(context);
    const { rows, hasMore } = await rowsOf(query, dimensions);
    const page: UsagePage = { object: "list", data: rows, next_cursor: null, has_more: hasMore };
    return context.json(page);
  };

  /** One query per day, so that no response of the query thread is large. */
  async function* csvLines(
    query: UsageQuery,
    dimensions: readonly UsageDimension[],
  ): AsyncGenerator<string> {
    yield csvHead(dimensions);
    let earliest = query.to;
    for (const { from, to } of csvRanges(query)) {
      earliest = from;
      const { rows, hasMore } = await rowsOf({ ...query, from, to }, dimensions);
      if (rows.length > 0) yield rows.map((row) => csvRow(row, dimensions)).join("");
      if (hasMore) yield `more than ${maxRows} rows in this period: group by less\r\n`;
    }
    if (earliest > query.from) {
      yield `only the latest ${maxCsvDays} days are in this file: choose a shorter time or the interval month\r\n`;
    }
  }

  const download = async (context: AdminApiContext): Promise<Response> => {
    const { query, dimensions } = await read(context);
    const lines = csvLines(query, dimensions);
    const encoder = new TextEncoder();
    const stream = new ReadableStream<Uint8Array>(
      {
        pull: async (controller) => {
          const { done, value } = await lines.next();
          if (done) controller.close();
          else controller.enqueue(encoder.encode(value));
        },
        cancel: async () => {
          await lines.return(undefined);
        },
      },
      { highWaterMark: 0 },
    );
    return context.body(stream, 200, {
      "content-type": "text/csv; charset=utf-8",
      "content-disposition": 'attachment; filename="usage.csv"',
    });
  };

  const route = { method: "GET", role: "viewer", scope: "project", query: usageQuery } as const;
  return [
    {
      ...route,
      path: "/usage",
      summary: "Show usage by period and group.",
      response: usagePageSchema,
      handle: list,
    },
    {
      ...route,
      path: "/usage.csv",
      summary: "Download usage as CSV.",
      response: "text/csv",
      handle: download,
    },
  ];
}

/** The newest first, at most `maxCsvDays`. The sum over the whole time, and over months, is one query. */
function* csvRanges({ from, to, interval }: UsageQuery): Generator<{ from: number; to: number }> {
  if (interval === "total" || interval === "month") {
    yield { from, to };
    return;
  }
  let end = to;
  for (let day = 0; day < maxCsvDays && end > from; day++) {
    const start = Math.max(from, Math.floor((end - 1) / dayMs) * dayMs);
    yield { from: start, to: end };
    end = start;
  }
}
