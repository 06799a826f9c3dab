/** /webhooks: the webhooks with the state of their deliveries, and a test of one. */
import type { EventViews } from "../../events/show-events.ts";
import { GatewayError } from "../../lib/gateway-error.ts";
import type { AdminApiContext, AdminRoute } from "../admin-route.ts";

export interface WebhookRoutesOptions {
  readonly webhooks: Pick<EventViews, "webhooks" | "testWebhook">;
}

export function webhookRoutes({ webhooks }: WebhookRoutesOptions): readonly AdminRoute[] {
  const testOne = async (context: AdminApiContext): Promise<Response> => {
    const result = await webhooks.testWebhook(context.req.param("id") ?? "");
    if (result) return context.json(result);
    throw new GatewayError("entity_not_found", "No webhook has this ID.");
  };
  return [
    {
      method: "GET",
      path: "/webhooks",
      role: "viewer",
      scope: "all-projects",
      summary: "List the webhooks with the state of their deliveries.",
      response: "Page<ShownWebhook>",
      handle: async (context) => context.json(await webhooks.webhooks()),
    },
    {
      method: "POST",
      path: "/webhooks/:id/test",
      role: "admin",
      scope: "all-projects",
      summary: "Send an event of type webhook.test to one webhook now.",
      response: "WebhookTest",
      handle: testOne,
    },
  ];
}
