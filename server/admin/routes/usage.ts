/**
 * /usage, the usage report: by hour, day or month, and by model, key, project, target and others. Also as CSV.
 */
import { z } from "zod";
import { listBounds } from "../../../contract/admin/list-bounds.ts";
import { usagePageSchema } from "../../../contract/admin/usage.ts";
import {
  type UsageDimension,
  type UsagePage,
  type UsageRow,
  usageDimensions,
  usageIntervals,
} from "../../../contract/admin.ts";
import { message } from "../../../contract/messages/message.ts";
import { GatewayError } from "../../lib/gateway-error.ts";
import { isTimeZone, LocalPeriods } from "../../lib/local-periods.ts";
import { dayMs, hourMs } from "../../lib/timers.ts";
import type { UsageQuery } from "../../storage/ports/ledger-queries.ts";
import type { AdminDependencies } from "../admin-dependencies.ts";
import type { AdminApiContext, AdminRoute } from "../admin-route.ts";
import { readQuery } from "../read-query.ts";
import { readUsage } from "../reads/read-usage.ts";
import { ownerFilter, ownerFilters, time } from "../reads/request-filter.ts";
import { showUsage } from "../reads/show-usage.ts";
import { csvHead, csvRow } from "../reads/usage-csv.ts";
import { respondWithCsv } from "../respond-with-csv.ts";

/** Rows of one response. They cross from the query thread to the one that serves requests, so there are few. */
const maxRows = listBounds.usage;
/** Days of one CSV file by hour or day. */
const maxCsvDays = 400;
const groupNames = usageDimensions.join(", ");

/** They are computed from other sums, so they are not combined with other dimensions. */
const singleDimensions: readonly UsageDimension[] = ["status", "user"];

const csvQuery = z.object({
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
  time_zone: z
    .string()
    .max(60)
    .refine(isTimeZone, "it must be a time zone such as Europe/Berlin")
    .optional()
    .describe("The time zone of days and months, such as `Europe/Berlin`. Default: UTC."),
  ...ownerFilters,
});

const usageQuery = csvQuery.extend({
  top: z
    .string()
    .regex(/^(?:[1-9]|[1-4]\d|50)$/, "it must be a number from 1 to 50")
    .transform(Number)
    .optional()
    .describe(
      "The number of groups with rows of their own: those with the largest share of requests, tokens, images or cost of the whole time. All others are summed as `(other)`.",
    ),
});

/** How many of tag, end user and status the query groups or filters by. */
const countOfTagEndUserStatus = (
  dimensions: readonly UsageDimension[],
  given: { readonly tag?: string | undefined; readonly end_user?: string | undefined },
): number =>
  (["tag", "end_user", "status"] as const).filter(
    (name) => dimensions.includes(name) || (name !== "status" && given[name] !== undefined),
  ).length;

export function usageRoutes({
  queries,
  keyNames,
  endUserOf,
  users,
  keys,
  now,
}: AdminDependencies): readonly AdminRoute[] {
  const read = async (context: AdminApiContext) => {
    const given = readQuery(context, usageQuery);
    const { to = now(), from = to - 7 * dayMs, interval = "day" } = given;
    if (from >= to) {
      throw new GatewayError("invalid_value", message("from_after_to"), {
        param: "from",
      });
    }
    const dimensions: readonly UsageDimension[] = [...new Set(given.group_by ?? [])];
    if (countOfTagEndUserStatus(dimensions, given) > 1) {
      throw new GatewayError("invalid_value", message("one_of_tag_end_user_status"), {
        param: "group_by",
      });
    }
    const single = dimensions.find((name) => singleDimensions.includes(name));
    if (single !== undefined && dimensions.length > 1) {
      throw new GatewayError("invalid_value", message("single_dimension", { dimension: single }), {
        param: "group_by",
      });
    }
    const query: UsageQuery = {
      ...(await ownerFilter(given, context.get("actor"), { keyNames, endUserOf, keys })),
      from,
      to,
      interval,
      limit: maxRows,
      ...(given.time_zone !== undefined && { timeZone: given.time_zone }),
    };
    return { query, dimensions, top: given.top };
  };

  const rowsOf = async (query: UsageQuery, dimensions: readonly UsageDimension[], top?: number) => {
    const report = await readUsage({ queries, users }, query, dimensions, top);
    const { groups, hasMore } = report;
    const names = await keyNames.of(groups.flatMap(({ keyId }) => (keyId ? [keyId] : [])));
    const rows = groups.map((group): UsageRow => showUsage(group, dimensions, names));
    return { rows, hasMore };
  };

  const list = async (context: AdminApiContext): Promise<Response> => {
    const { query, dimensions, top } = await read(context);
    const { rows, hasMore } = await rowsOf(query, dimensions, top);
    const page: UsagePage = {
      object: "list",
      data: rows,
      next_cursor: null,
      has_more: hasMore,
    };
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
    return respondWithCsv(context, "usage.csv", csvLines(query, dimensions));
  };

  const route = { method: "GET", needs: "view", scope: "project" } as const;
  return [
    {
      ...route,
      path: "/usage",
      query: usageQuery,
      summary: "Show usage by period and group.",
      response: usagePageSchema,
      handle: list,
    },
    {
      ...route,
      path: "/usage.csv",
      query: csvQuery,
      summary: "Download usage as CSV.",
      response: "text/csv",
      handle: download,
    },
  ];
}

/** The newest first, at most `maxCsvDays`. The sum over the whole time, and over months, is one query. */
function* csvRanges({
  from,
  to,
  interval,
  timeZone = "UTC",
}: UsageQuery): Generator<{ from: number; to: number }> {
  if (interval === "total" || interval === "month") {
    yield { from, to };
    return;
  }
  let end = to;
  const days = new LocalPeriods(timeZone, "day");
  for (let day = 0; day < maxCsvDays && end > from; day++) {
    const lastHour = Math.floor((end - 1) / hourMs) * hourMs;
    const start = Math.max(from, days.startOf(lastHour));
    yield { from: start, to: end };
    end = start;
  }
}
