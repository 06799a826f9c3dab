/** /v1/webhook_endpoints: the webhook endpoints of the project of an API key, as OpenAI manages them. */
import { z } from "zod";
import { jobEventTypes } from "../../contract/events.ts";
import { ownerOf } from "../auth/owner.ts";
import type { StoredWebhookEndpoint, WebhookEndpoints } from "../events/webhook-endpoints.ts";
import { validate } from "../http/read-body.ts";
import { decodePathSegment, json } from "../http/route.ts";
import type { Handlers } from "../http/routes.ts";
import type { IncomingRequest } from "../request/http-types.ts";
import { createSendList, type ListMemory } from "./send-list.ts";
import {
  type AuthenticationOptions,
  createCallerOf,
  pageQuery,
  queryOf,
  readStoredBody,
  showPage,
} from "./stored-requests.ts";

interface WebhookEndpointHandlerOptions extends AuthenticationOptions, ListMemory {
  readonly endpoints: WebhookEndpoints;
}

/** Of one endpoint in a list: its name and its URL, whose characters may all be escaped, with the other members. */
const maxListedBytes = 15 * 1024;

const name = z.string().min(1).max(200).describe("A name for people.");
const url = z.string().max(2048).describe("The https URL that receives the events.");
const eventTypes = z
  .array(z.enum(jobEventTypes))
  .min(1)
  .max(jobEventTypes.length)
  .describe("The event types that are delivered.");

export const createEndpointBody = z.strictObject({ name, url, event_types: eventTypes });
export const updateEndpointBody = createEndpointBody.partial();
export const rotateSecretBody = z.strictObject({
  keep_old_secret_active_for_24_hours: z
    .boolean()
    .optional()
    .describe("Whether deliveries are signed with the old secret as well, for 24 hours."),
});
export const testEndpointBody = z.strictObject({
  event_type: z.enum(jobEventTypes).describe("The type of the sample event."),
});

type EndpointHandlers = Pick<
  Handlers,
  | "createWebhookEndpoint"
  | "webhookEndpoints"
  | "webhookEndpoint"
  | "updateWebhookEndpoint"
  | "deleteWebhookEndpoint"
  | "rotateWebhookSecret"
  | "testWebhookEndpoint"
  | "webhookEventTypes"
>;

export function createWebhookEndpointHandlers(
  options: WebhookEndpointHandlerOptions,
): EndpointHandlers {
  const { endpoints } = options;
  const sendList = createSendList(options);
  const callerOf = createCallerOf(options);
  const ownerOfRequest = (incoming: IncomingRequest): string => ownerOf(callerOf(incoming));
  const read = <S extends z.ZodType>(incoming: IncomingRequest, schema: S) =>
    readStoredBody(incoming, callerOf(incoming), schema);
  return {
    createWebhookEndpoint: async (incoming) => {
      const owner = ownerOfRequest(incoming);
      const { event_types, ...fields } = await read(incoming, createEndpointBody);
      return json(
        showWithSecret(await endpoints.create(owner, { ...fields, eventTypes: event_types })),
      );
    },
    webhookEndpoints: async (incoming) => {
      const caller = callerOf(incoming);
      const { after, limit } = validate(pageQuery, queryOf(incoming));
      return sendList(incoming, {
        keyId: caller.id,
        maxBytes: limit * maxListedBytes,
        read: async () => {
          const found = await endpoints.list(ownerOf(caller), { after, limit: limit + 1 });
          return showPage(found.slice(0, limit).map(show), found.length > limit);
        },
      });
    },
    webhookEndpoint: async (incoming, { id }) =>
      json(show(await endpoints.find(ownerOfRequest(incoming), decodePathSegment(id)))),
    updateWebhookEndpoint: async (incoming, { id }) => {
      const owner = ownerOfRequest(incoming);
      const { event_types, name, url } = await read(incoming, updateEndpointBody);
      const changes = {
        ...(name !== undefined && { name }),
        ...(url !== undefined && { url }),
        ...(event_types && { eventTypes: event_types }),
      };
      return json(show(await endpoints.update(owner, decodePathSegment(id), changes)));
    },
    deleteWebhookEndpoint: async (incoming, { id: encoded }) => {
      const id = decodePathSegment(encoded);
      await endpoints.remove(ownerOfRequest(incoming), id);
      return json({ id, object: "webhook_endpoint.deleted", deleted: true });
    },
    rotateWebhookSecret: async (incoming, { id }) => {
      const owner = ownerOfRequest(incoming);
      const body = hasBody(incoming) ? await read(incoming, rotateSecretBody) : {};
      const keepOld = body.keep_old_secret_active_for_24_hours ?? false;
      return json(showWithSecret(await endpoints.rotate(owner, decodePathSegment(id), keepOld)));
    },
    testWebhookEndpoint: async (incoming, { id: encoded }) => {
      const owner = ownerOfRequest(incoming);
      const id = decodePathSegment(encoded);
      const { event_type } = await read(incoming, testEndpointBody);
      const status_code = await endpoints.test(owner, id, event_type);
      return json({
        object: "webhook_endpoint.test",
        webhook_endpoint_id: id,
        event_type,
        status_code,
        success: true,
      });
    },
    webhookEventTypes: async (incoming) => {
      callerOf(incoming);
      return json({ object: "list", data: jobEventTypes });
    },
  };
}

/** OpenAI's SDKs send no body for a rotation without options. */
const hasBody = ({ headers }: IncomingRequest): boolean =>
  headers.get("transfer-encoding") !== null || Number(headers.get("content-length") ?? 0) > 0;

const show = (endpoint: StoredWebhookEndpoint) => ({
  id: endpoint.id,
  object: "webhook_endpoint",
  name: endpoint.name,
  url: endpoint.url,
  event_types: endpoint.eventTypes,
  signing_secret_hint: endpoint.hint,
  created_at: Math.floor(endpoint.createdAt / 1000),
  updated_at: Math.floor(endpoint.updatedAt / 1000),
});

const showWithSecret = ({
  endpoint,
  secret,
}: {
  readonly endpoint: StoredWebhookEndpoint;
  readonly secret: string;
}) => ({ ...show(endpoint), signing_secret: secret });
