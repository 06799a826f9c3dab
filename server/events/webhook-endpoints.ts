/** The webhook endpoints that clients manage: created, changed, rotated, tested and deleted by their owner. */
import { randomBytes } from "node:crypto";
import type { JobEventType } from "../../contract/events.ts";
import type { Webhook } from "../config/snapshot.ts";
import { GatewayError } from "../lib/gateway-error.ts";
import { newId } from "../lib/new-id.ts";
import type { SecretBox } from "../storage/encrypt-secret.ts";
import type {
  StoredWebhookEndpoint,
  WebhookEndpointStore,
} from "../storage/sql/webhook-endpoint-store.ts";
import { checkPublicUrl, systemResolve } from "../upstream/download/index.ts";
import type { AttemptResult } from "./attempt-delivery.ts";
import { maxEndpoints } from "./client-webhooks.ts";

interface WebhookEndpointsOptions {
  readonly store: WebhookEndpointStore;
  readonly secrets: Pick<SecretBox, "encrypt" | "decrypt">;
  /** Private hosts that are allowed, also with http, as `host` or `host:port`. */
  readonly trustedHosts: readonly string[];
  readonly attempt: (
    webhook: Webhook,
    event: { id: string; type: string; at: number; data: { id: string } },
  ) => Promise<AttemptResult>;
  readonly newEventId: () => string;
  /** Unix milliseconds. */
  readonly now: () => number;
}

interface EndpointFields {
  readonly name: string;
  readonly url: string;
  readonly eventTypes: readonly JobEventType[];
}

/** An endpoint with its secret, which only its creation and its rotation show. */
interface EndpointWithSecret {
  readonly endpoint: StoredWebhookEndpoint;
  readonly secret: string;
}

export type WebhookEndpoints = ReturnType<typeof createWebhookEndpoints>;
export type { StoredWebhookEndpoint };

/** How long the previous secret signs as well. */
const overlapMs = 24 * 3_600_000;

export function createWebhookEndpoints(options: WebhookEndpointsOptions) {
  const { store, secrets, trustedHosts, attempt, newEventId, now } = options;

  const find = async (owner: string, id: string): Promise<StoredWebhookEndpoint> => {
    const found = await store.find(owner, id);
    if (!found) throw notFound(id);
    return found;
  };
  const update = async (
    owner: string,
    id: string,
    changes: Parameters<WebhookEndpointStore["update"]>[2],
  ): Promise<StoredWebhookEndpoint> => {
    const updated = await store.update(owner, id, { ...changes, updatedAt: now() });
    if (!updated) throw notFound(id);
    return updated;
  };

  return {
    find,
    /** The id of the endpoint that a job names by its id or its name. Throws GatewayError. */
    named: async (owner: string, given: string): Promise<string> => {
      const endpoints = await store.list(owner, { limit: maxEndpoints });
      const found = endpoints.filter(({ id, name }) => id === given || name === given);
      const [only] = found;
      if (only && found.length === 1) return only.id;
      const problem = only
        ? "several webhook endpoints have this name; use the id"
        : "there is no such webhook endpoint; create it with POST /v1/webhook_endpoints";
      throw new GatewayError("invalid_value", `Invalid 'metadata.vexel.webhook': ${problem}.`, {
        param: "metadata.vexel.webhook",
      });
    },
    create: async (owner: string, fields: EndpointFields): Promise<EndpointWithSecret> => {
      await checkUrl(fields.url, trustedHosts);
      const at = now();
      const id = newId("whe_", at);
      const secret = newSecret();
      const endpoint: StoredWebhookEndpoint = {
        ...fields,
        id,
        owner,
        secret: secrets.encrypt(secret, id),
        hint: hintOf(secret),
        previousSecret: null,
        previousUntil: null,
        createdAt: at,
        updatedAt: at,
      };
      if (await store.create(endpoint, maxEndpoints)) return { endpoint, secret };
      throw new GatewayError(
        "invalid_value",
        `The project has ${maxEndpoints} webhook endpoints, which is the maximum. Delete one of them.`,
      );
    },
    list: (owner: string, page: Parameters<WebhookEndpointStore["list"]>[1]) =>
      store.list(owner, page),
    update: async (
      owner: string,
      id: string,
      fields: Partial<EndpointFields>,
    ): Promise<StoredWebhookEndpoint> => {
      if (fields.url !== undefined) await checkUrl(fields.url, trustedHosts);
      return Object.keys(fields).length === 0 ? find(owner, id) : update(owner, id, fields);
    },
    remove: async (owner: string, id: string): Promise<void> => {
      if (!(await store.remove(owner, id))) throw notFound(id);
    },
    rotate: async (owner: string, id: string, keepOld: boolean): Promise<EndpointWithSecret> => {
      const before = await find(owner, id);
      const secret = newSecret();
      const endpoint = await update(owner, id, {
        secret: secrets.encrypt(secret, id),
        hint: hintOf(secret),
        previousSecret: keepOld ? before.secret : null,
        previousUntil: keepOld ? now() + overlapMs : null,
      });
      return { endpoint, secret };
    },
    /** Sends a sample event. Returns the status of the response. */
    test: async (owner: string, id: string, type: JobEventType): Promise<number> => {
      const { url, secret, eventTypes } = await find(owner, id);
      const webhook = { id, owner, url, events: eventTypes, secret: secrets.decrypt(secret, id) };
      const sample = { id: type.startsWith("batch.") ? "batch_test" : "imgjob_test" };
      const { status, problem } = await attempt(webhook, {
        id: newEventId(),
        type,
        at: now(),
        data: sample,
      });
      if (status !== null) return status;
      throw new GatewayError(
        "invalid_value",
        `The webhook endpoint did not respond: ${problem}. Check its URL.`,
        { param: "url" },
      );
    },
  };
}

/** `whsec_` and the key in base64, as Standard Webhooks has it. */
const newSecret = (): string => `whsec_${randomBytes(32).toString("base64")}`;
const hintOf = (secret: string): string => `whsec_...${secret.slice(-5)}`;

async function checkUrl(text: string, trusted: readonly string[]): Promise<void> {
  const url = URL.parse(text);
  const isTrusted = url !== null && [url.host, url.hostname].some((name) => trusted.includes(name));
  const problem =
    url && (url.protocol === "https:" || isTrusted)
      ? await checkPublicUrl(url, trusted, systemResolve)
      : "it is not an https URL";
  if (problem === undefined) return;
  throw new GatewayError("invalid_value", `Invalid 'url': ${problem}.`, { param: "url" });
}

const notFound = (id: string): GatewayError =>
  new GatewayError("object_not_found", `No such WebhookEndpoint object: ${id.slice(0, 100)}`, {
    param: "id",
  });
