/** /events: recorded events, newest first, page by page. */
import { z } from "zod";
import { eventTypes } from "../../../contract/events.ts";
import { type EventViews, matchingTypes } from "../../events/show-events.ts";
import { GatewayError } from "../../lib/gateway-error.ts";
import type { AdminApiContext, AdminRoute } from "../admin-route.ts";
import { pageQuery, readPage } from "../read-page.ts";
import { readQuery } from "../read-query.ts";

export interface EventRoutesOptions {
  readonly events: Pick<EventViews, "events">;
}

const eventsQuery = pageQuery.extend({
  cursor: z
    .string()
    .regex(/^evt_[0-9a-f]{32}$/, "it is not an event ID")
    .optional()
    .describe("The `next_cursor` of the previous page."),
  type: z
    .string()
    .max(200)
    .refine(
      (glob) => matchingTypes(glob).length > 0,
      `no event type matches. The event types are: ${Object.keys(eventTypes).join(", ")}`,
    )
    .optional()
    .describe("A glob pattern for event types, such as `budget.*`."),
});

export function eventRoutes({ events }: EventRoutesOptions): readonly AdminRoute[] {
  const list = async (context: AdminApiContext): Promise<Response> => {
    const { type } = readQuery(context, eventsQuery);
    const page = await events.events({ type, ...readPage(context) });
    if (page) return context.json(page);
    throw new GatewayError(
      "invalid_value",
      "Invalid 'cursor': no stored event has this ID. Start again without 'cursor'.",
      { param: "cursor" },
    );
  };
  return [
    {
      method: "GET",
      path: "/events",
      role: "viewer",
      scope: "all-projects",
      summary: "List events, newest first.",
      query: eventsQuery,
      response: "Page<ShownEvent>",
      handle: list,
    },
  ];
}
