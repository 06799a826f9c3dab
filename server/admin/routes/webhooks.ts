/** /webhooks: the webhooks with the state of their deliveries, and a test delivery. */

import { z } from "zod";
import { webhookEntitySchema } from "../../../contract/admin/entities.ts";
import { webhookTestSchema } from "../../../contract/admin/events.ts";
import { listBounds } from "../../../contract/admin/list-bounds.ts";
import { can } from "../../../contract/admin/roles.ts";
import {
  type ShownWebhook,
  type WebhookEntity,
  type WebhookValue,
  webhookFormats,
} from "../../../contract/admin.ts";
import { message } from "../../../contract/messages/message.ts";
import type { EntityView } from "../../config/entities/entity-views.ts";
import { GatewayError } from "../../lib/gateway-error.ts";
import type { AdminDependencies } from "../admin-dependencies.ts";
import type { AdminApiContext, AdminRoute } from "../admin-route.ts";
import { entityChanges } from "../entities/change-entities.ts";
import { entityRoutes } from "../entities/entity-routes.ts";
import { shownEntity } from "../entities/show-entity.ts";
import { webhookHost } from "../webhook-host.ts";

const body = z.looseObject({
  name: z.string().optional().describe("The name in the store. If absent, generated."),
  url: z.string().describe('Write-only. {"$secret": true} keeps the stored one.'),
  secret: z
    .string()
    .optional()
    .describe("The signing secret: whsec_ and 24 to 64 random bytes in base64."),
  format: z
    .enum(webhookFormats)
    .optional()
    .describe("How events are written. The default is `standard`, or e-mail with a `mailto:` URL."),
  events: z
    .array(z.string())
    .optional()
    .describe("Globs over event types. The default is all events."),
});

export function webhookRoutes(options: AdminDependencies): readonly AdminRoute[] {
  const { eventViews } = options;

  const show = async (view: EntityView, context: AdminApiContext): Promise<WebhookEntity> => {
    const { id: name, object: _, ...entity } = shownEntity<WebhookValue>(view);
    const inForce = (await eventViews.webhooks()).data.find(({ id }) => id === view.webhookId);
    const status = inForce ?? webhookNotInForce(view);
    const { name: nameInFile = null } = entity.value;
    const shown = { ...status, name: view.readOnly ? nameInFile : name, ...entity };
    return can(context.get("actor").role, "administer") ? shown : withoutPath(shown);
  };

  const testOne = async (context: AdminApiContext): Promise<Response> => {
    const result = await eventViews.testWebhook(context.req.param("id") ?? "");
    if (result) return context.json(result);
    throw new GatewayError("entity_not_found", message("no_such_webhook"));
  };

  const { list, ...others } = entityRoutes({
    changes: entityChanges("webhook", options),
    path: "/webhooks",
    noun: "a webhook",
    entity: webhookEntitySchema,
    body,
    maxEntries: listBounds.webhooks,
    scope: "all-projects",
    show,
  });
  return [
    {
      ...list,
      needs: "view",
      summary: "List the webhooks with the state of their deliveries.",
    },
    ...Object.values(others),
    {
      method: "POST",
      path: "/webhooks/:id/test",
      needs: "administer",
      scope: "all-projects",
      summary: "Send an event of type webhook.test to one webhook now.",
      response: webhookTestSchema,
      handle: testOne,
    },
  ];
}

/** Only administrators see the path. */
const withoutPath = ({ url, value, ...shown }: WebhookEntity): WebhookEntity => ({
  ...shown,
  url: webhookHost(url),
  value: { ...value, url: { $secret: true } },
});

/** A stored webhook that is not in force. */
const webhookNotInForce = ({ id, webhookId = id, value }: EntityView): ShownWebhook => ({
  object: "webhook",
  id: webhookId,
  url: "",
  format: "standard",
  events: Array.isArray(value.events) ? value.events.map(String) : ["*"],
  state: "gone",
  waiting: 0,
  delivered: 0,
  abandoned: 0,
  consecutive_failures: 0,
  last_attempt: null,
});
