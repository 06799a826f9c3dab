/** /events: recorded events, newest first, page by page. */
import { z } from "zod";
import { shownEventSchema } from "../../../contract/admin/events.ts";
import { listBounds } from "../../../contract/admin/list-bounds.ts";
import { pageSchema } from "../../../contract/admin/page.ts";
import { eventTypes } from "../../../contract/events.ts";
import { message } from "../../../contract/messages/message.ts";
import { matchingTypes } from "../../events/show-events.ts";
import { GatewayError } from "../../lib/gateway-error.ts";
import type { AdminDependencies } from "../admin-dependencies.ts";
import { type AdminApiContext, type AdminRoute, senderOf } from "../admin-route.ts";
import { defaultLimit, pageQuery } from "../read-page.ts";
import { readQuery } from "../read-query.ts";
import { text } from "../reads/request-filter.ts";

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
  project: text("Only events of this project: its budgets and alerts, and its API keys."),
  key: text("Only events of the API key with this id."),
  upstream: text("Only events of the targets and alerts of this upstream."),
});

export function eventRoutes({ eventViews, audit }: AdminDependencies): readonly AdminRoute[] {
  const list = async (context: AdminApiContext): Promise<Response> => {
    const { limit = defaultLimit, cursor, type, ...about } = readQuery(context, eventsQuery);
    if (Object.keys(about).length > 1) {
      throw new GatewayError("invalid_value", message("one_event_subject"));
    }
    const page = await eventViews.events({ cursor, type, about, limit });
    if (page) return context.json(page);
    throw new GatewayError("invalid_value", message("wrong_event_cursor"), { param: "cursor" });
  };
  const redeliver = async (context: AdminApiContext): Promise<Response> => {
    const { id = "", webhook = "" } = context.req.param();
    if (!(await eventViews.redeliver(id, webhook))) {
      throw new GatewayError("entity_not_found", message("no_such_delivery"));
    }
    await audit.record({
      ...senderOf(context),
      action: "event.redelivered",
      subject: id,
      after: { webhook },
    });
    return context.body(null, 204);
  };
  return [
    {
      method: "POST",
      path: "/events/:id/deliveries/:webhook",
      needs: "administer",
      scope: "all-projects",
      summary: "Redeliver an event to a webhook.",
      response: null,
      handle: redeliver,
    },
    {
      method: "GET",
      path: "/events",
      needs: "view",
      scope: "all-projects",
      summary: "List events, newest first.",
      query: eventsQuery,
      response: pageSchema(shownEventSchema, listBounds.page),
      handle: list,
    },
  ];
}
