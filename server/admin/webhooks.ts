/** GET /admin/webhooks and POST /admin/webhooks/{id}/test. */
import { Hono } from "hono";
import type { EventViews } from "../events/show-events.ts";
import { GatewayError } from "../lib/gateway-error.ts";
import { type AdminEnv, uncachedJson } from "./admin-env.ts";

export interface WebhooksApiOptions {
  readonly webhooks: Pick<EventViews, "webhooks" | "testWebhook">;
}

export const webhooksApi = ({ webhooks }: WebhooksApiOptions): Hono<AdminEnv> =>
  new Hono<AdminEnv>()
    .get("/", (context) => uncachedJson(context, webhooks.webhooks()))
    .post("/:id/test", async (context) => {
      const result = await webhooks.testWebhook(context.req.param("id"));
      if (result) return uncachedJson(context, result);
      throw new GatewayError(
        "unknown_url",
        "No webhook has this ID. GET /admin/webhooks lists the webhooks.",
      );
    });
