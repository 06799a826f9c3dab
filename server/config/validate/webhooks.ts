/** The webhooks of `vexel.yaml`: their URLs, signing secrets and event types. */

import { z } from "zod";
import { maxWebhooks } from "../../../contract/admin/list-bounds.ts";
import { eventTypes } from "../../../contract/events.ts";
import { schemaText } from "../../../contract/messages/schema-messages.ts";
import { webhook as webhookSchema } from "../../../contract/schemas/webhooks.ts";
import { deepFreeze } from "../../lib/deep-freeze.ts";
import { nearestMatch } from "../../lib/edit-distance.ts";
import { matchesGlob } from "../../lib/glob.ts";
import { secretHash } from "../../lib/secret-hash.ts";
import type { Webhook } from "../snapshot.ts";

const types = Object.keys(eventTypes);

/** A glob that matches no event type is a mistake: nothing would ever be sent for it. */
const glob = webhookSchema.shape.events.unwrap().element.superRefine((text, context) => {
  if (types.some((type) => matchesGlob(text, type))) return;
  const meant = nearestMatch(text, types);
  const hint = meant === undefined ? `; known: ${types.join(", ")}` : ` (did you mean ${meant}?)`;
  context.addIssue({ code: "custom", message: `matches no event type${hint}` });
});

export const webhookEntry = webhookSchema
  .extend({
    events: z.array(glob).min(1).max(100).default(["*"]),
  })
  .superRefine(({ url, secret, format }, context) => {
    const isSigned = format === "standard" && !url.startsWith("mailto:");
    if (isSigned && secret === undefined) {
      context.addIssue({
        code: "custom",
        path: ["secret"],
        message: schemaText("webhook_secret_missing"),
      });
    }
    if (format !== "standard" && url.startsWith("mailto:")) {
      context.addIssue({
        code: "custom",
        path: ["format"],
        message: schemaText("webhook_secret_absent"),
      });
    }
  });

export const webhooksSchema = z.array(webhookEntry).max(maxWebhooks).default([]);

/** Derived from the URL, so that pending deliveries find their webhook after a reload or a restart. */
export const webhookId = (address: string): string => `wh_${secretHash(address).slice(0, 16)}`;

export const buildWebhook = (row: z.output<typeof webhookEntry>): Webhook =>
  deepFreeze({ id: webhookId(row.url), ...row });
