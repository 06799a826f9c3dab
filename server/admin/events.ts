/** GET /admin/events: recorded events, newest first, page by page. */
import { Hono } from "hono";
import { z } from "zod";
import { eventTypes } from "../../contract/events.ts";
import { type EventViews, matchingTypes } from "../events/show-events.ts";
import { parse } from "../http/validate-body.ts";
import { GatewayError } from "../lib/gateway-error.ts";
import { type AdminEnv, uncachedJson } from "./admin-env.ts";

export interface EventsApiOptions {
  readonly events: Pick<EventViews, "events">;
}

const pageSizes = { min: 1, max: 100, default: 20 } as const;

/** The query parameters. */
export const eventsQuery = z.object({
  after: z
    .string()
    .regex(/^evt_[0-9a-f]{32}$/, "it is not an event ID")
    .optional()
    .describe("The `last_id` of the previous page."),
  type: z
    .string()
    .max(200)
    .refine(
      (glob) => matchingTypes(glob).length > 0,
      `no event type matches. The event types are: ${Object.keys(eventTypes).join(", ")}`,
    )
    .optional()
    .describe("A glob pattern for event types, such as `budget.*`."),
  limit: z
    .int()
    .min(pageSizes.min)
    .max(pageSizes.max)
    .optional()
    .describe(`The number of events, from 1 to ${pageSizes.max}. Default: ${pageSizes.default}.`),
});

export const eventsApi = ({ events }: EventsApiOptions): Hono<AdminEnv> =>
  new Hono<AdminEnv>().get("/", (context) => {
    const query = parse(eventsQuery, parseQuery(context.env.incoming.search));
    const { limit = pageSizes.default, ...filter } = query;
    const page = events.events({ ...filter, limit });
    if (page) return uncachedJson(context, page);
    throw new GatewayError(
      "invalid_value",
      "Invalid 'after': no stored event has this ID. Start again without 'after'.",
      { param: "after" },
    );
  });

/** Query parameters are text; `limit` is parsed as a number. */
const parseQuery = (search: string): Record<string, unknown> =>
  Object.fromEntries(
    [...new URLSearchParams(search)].map(([name, value]) => [
      name,
      name === "limit" && /^-?\d{1,9}$/.test(value) ? Number(value) : value,
    ]),
  );
