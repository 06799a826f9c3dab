/** /admin: what the operator alone may see and do, with a key of its own. Without that key in the settings it is off. */
import { timingSafeEqual } from "node:crypto";
import { z } from "zod";
import { eventTypes } from "../../contract/events.ts";
import { type EventViews, matchingTypes } from "../events/show-events.ts";
import { decodePathSegment, json } from "../http/json-response.ts";
import type { Handler } from "../http/listen.ts";
import { parse } from "../http/validate-body.ts";
import { GatewayError } from "../lib/gateway-error.ts";
import { keyHash } from "../lib/key-hash.ts";
import type { IncomingRequest, OutgoingResponse } from "../request/http-types.ts";
import type { ShownTarget } from "../routing/show-target.ts";

export interface AdminApiOptions {
  /** Empty: the admin API is off. */
  readonly key: string;
  readonly views: EventViews;
  readonly targets: () => readonly ShownTarget[];
}

const pageSizes = { least: 1, most: 100, usual: 20 } as const;

/** What may stand behind the question mark of GET /admin/events. */
export const eventsQuery = z.object({
  after: z
    .string()
    .regex(/^evt_[0-9a-f]{32}$/, "it is not the id of an event")
    .optional()
    .describe("The `last_id` of the page before."),
  type: z
    .string()
    .max(200)
    .refine(
      (glob) => matchingTypes(glob).length > 0,
      `no event is of such a type. There are: ${Object.keys(eventTypes).join(", ")}`,
    )
    .optional()
    .describe("A glob over types, such as `budget.*`."),
  limit: z
    .int()
    .min(pageSizes.least)
    .max(pageSizes.most)
    .optional()
    .describe(`How many, from 1 to ${pageSizes.most}. ${pageSizes.usual} if not said.`),
});

/** For whoever asked, and for no cache on the way. */
const uncachedJson = (value: unknown): OutgoingResponse => {
  const { headers, ...answer } = json(value);
  return { ...answer, headers: { ...headers, "cache-control": "no-store" } };
};

/** All text, but for what is a number. */
const parseQuery = (search: string): Record<string, unknown> =>
  Object.fromEntries(
    [...new URLSearchParams(search)].map(([name, value]) => [
      name,
      name === "limit" && /^-?\d{1,9}$/.test(value) ? Number(value) : value,
    ]),
  );

export function createAdminHandlers({ key, views: show, targets }: AdminApiOptions) {
  const right = Buffer.from(keyHash(key));
  /** Hashes are all of one length, so how long a wrong key takes to refuse tells nothing of the right one. */
  const permit = ({ headers }: IncomingRequest): void => {
    if (key === "") {
      throw new GatewayError(
        "unknown_url",
        "The admin API is off. Whoever runs this gateway can turn it on with VEXEL_ADMIN_KEY.",
      );
    }
    const presented = /^bearer +(\S+) *$/i.exec(headers.get("authorization") ?? "")?.[1];
    if (!presented) {
      throw new GatewayError(
        "missing_api_key",
        "You didn't provide the admin key. It goes into a header: Authorization: Bearer KEY.",
      );
    }
    if (!timingSafeEqual(Buffer.from(keyHash(presented)), right)) {
      throw new GatewayError(
        "invalid_api_key",
        "This is not the admin key. It is what VEXEL_ADMIN_KEY was set to when the gateway started.",
      );
    }
  };

  const events: Handler = (incoming) => {
    permit(incoming);
    const { limit = pageSizes.usual, ...filter } = parse(eventsQuery, parseQuery(incoming.search));
    const page = show.events({ ...filter, limit });
    if (page) return uncachedJson(page);
    throw new GatewayError(
      "invalid_value",
      "Invalid 'after': no event that is kept has this id. Begin anew without it.",
      { param: "after" },
    );
  };
  const allTargets: Handler = (incoming) => {
    permit(incoming);
    return uncachedJson({ object: "list", data: targets() });
  };
  const webhooks: Handler = (incoming) => {
    permit(incoming);
    return uncachedJson(show.webhooks());
  };
  const webhookTest: Handler = async (incoming, part) => {
    permit(incoming);
    const tested = await show.testWebhook(decodePathSegment(part));
    if (tested) return uncachedJson(tested);
    throw new GatewayError(
      "unknown_url",
      "No webhook has this id. GET /admin/webhooks lists those there are.",
    );
  };
  return {
    adminTargets: allTargets,
    adminEvents: events,
    adminWebhooks: webhooks,
    adminWebhookTest: webhookTest,
  };
}
