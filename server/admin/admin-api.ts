/** The admin API (/admin), for the operator, with its own key. It is off unless VEXEL_ADMIN_KEY is set. */
import { timingSafeEqual } from "node:crypto";
import { z } from "zod";
import { eventTypes } from "../../contract/events.ts";
import { type EventViews, matchingTypes } from "../events/show-events.ts";
import { decodePathSegment, json } from "../http/json-response.ts";
import type { Handler } from "../http/route.ts";
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

const pageSizes = { min: 1, max: 100, default: 20 } as const;

/** The query parameters of GET /admin/events. */
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

/** Admin responses must not be stored by caches between the gateway and the operator. */
const uncachedJson = (value: unknown): OutgoingResponse => {
  const { headers, ...response } = json(value);
  return { ...response, headers: { ...headers, "cache-control": "no-store" } };
};

/** Query parameters are text; `limit` is parsed as a number. */
const parseQuery = (search: string): Record<string, unknown> =>
  Object.fromEntries(
    [...new URLSearchParams(search)].map(([name, value]) => [
      name,
      name === "limit" && /^-?\d{1,9}$/.test(value) ? Number(value) : value,
    ]),
  );

export function createAdminHandlers({ key, views, targets }: AdminApiOptions) {
  const expectedHash = Buffer.from(keyHash(key));
  /** Timing-safe: it compares hashes of one length in constant time, so the time reveals nothing about the key. */
  const authenticateAdmin = ({ headers }: IncomingRequest): void => {
    if (key === "") {
      throw new GatewayError(
        "unknown_url",
        "The admin API is off. The operator can turn it on by setting VEXEL_ADMIN_KEY.",
      );
    }
    const presented = /^bearer +(\S+) *$/i.exec(headers.get("authorization") ?? "")?.[1];
    if (!presented) {
      throw new GatewayError(
        "missing_api_key",
        "You didn't provide the admin key. Send it in the header Authorization: Bearer KEY.",
      );
    }
    if (!timingSafeEqual(Buffer.from(keyHash(presented)), expectedHash)) {
      throw new GatewayError(
        "invalid_api_key",
        "Incorrect admin key provided. The admin key is the value of VEXEL_ADMIN_KEY when the gateway started.",
      );
    }
  };

  const events: Handler = (incoming) => {
    authenticateAdmin(incoming);
    const { limit = pageSizes.default, ...filter } = parse(
      eventsQuery,
      parseQuery(incoming.search),
    );
    const page = views.events({ ...filter, limit });
    if (page) return uncachedJson(page);
    throw new GatewayError(
      "invalid_value",
      "Invalid 'after': no stored event has this ID. Start again without 'after'.",
      { param: "after" },
    );
  };
  const allTargets: Handler = (incoming) => {
    authenticateAdmin(incoming);
    return uncachedJson({ object: "list", data: targets() });
  };
  const webhooks: Handler = (incoming) => {
    authenticateAdmin(incoming);
    return uncachedJson(views.webhooks());
  };
  const webhookTest: Handler<"id"> = async (incoming, { id }) => {
    authenticateAdmin(incoming);
    const tested = await views.testWebhook(decodePathSegment(id));
    if (tested) return uncachedJson(tested);
    throw new GatewayError(
      "unknown_url",
      "No webhook has this ID. GET /admin/webhooks lists the webhooks.",
    );
  };
  return {
    adminTargets: allTargets,
    adminEvents: events,
    adminWebhooks: webhooks,
    adminWebhookTest: webhookTest,
  };
}
