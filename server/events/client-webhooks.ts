/**
 * The webhook endpoints of clients as receivers of events: those of one owner for a new event, and those with pending
 * deliveries for the delivery queue. Their number is not bounded by memory.
 */
import type { Webhook } from "../config/snapshot.ts";
import { errorMessage } from "../lib/error-code.ts";
import type { Log } from "../lib/log.ts";
import type { SecretBox } from "../storage/encrypt-secret.ts";
import type {
  StoredWebhookEndpoint,
  WebhookEndpointStore,
} from "../storage/sql/webhook-endpoint-store.ts";

interface ClientWebhooksOptions {
  readonly store: Pick<WebhookEndpointStore, "list" | "withPendingDeliveries">;
  readonly secrets: Pick<SecretBox, "decrypt">;
  readonly log: Pick<Log, "error">;
  /** Unix milliseconds. */
  readonly now: () => number;
}

/** The most endpoints of one owner. */
export const maxEndpoints = 20;

export type ClientWebhooks = ReturnType<typeof createClientWebhooks>;

export function createClientWebhooks(options: ClientWebhooksOptions) {
  const { store, secrets, log, now } = options;
  let pending = new Map<string, Webhook>();
  /** The version of each pending endpoint: an unchanged endpoint stays the same object. */
  let versions = new Map<string, string>();

  const webhookOf = (endpoint: StoredWebhookEndpoint): Webhook[] => {
    const { id, owner, url, eventTypes, secret, previousSecret } = endpoint;
    try {
      const decrypt = (encrypted: string): string => secrets.decrypt(encrypted, id);
      return [
        {
          id,
          owner,
          url,
          events: eventTypes,
          secret: decrypt(secret),
          ...(previousSecret !== null &&
            isInOverlap(endpoint, now()) && { previousSecret: decrypt(previousSecret) }),
        },
      ];
    } catch (error) {
      log.error("webhook-secret-unreadable", { webhook: id, reason: errorMessage(error) });
      return [];
    }
  };

  return {
    /** Endpoints with pending deliveries, as of the last `refresh`, by id. */
    pending: (): ReadonlyMap<string, Webhook> => pending,
    refresh: async (): Promise<void> => {
      const stored = await store.withPendingDeliveries();
      const next = new Map<string, Webhook>();
      const nextVersions = new Map<string, string>();
      for (const endpoint of stored) {
        const version = `${endpoint.updatedAt} ${isInOverlap(endpoint, now())}`;
        const known = versions.get(endpoint.id) === version ? pending.get(endpoint.id) : undefined;
        for (const webhook of known ? [known] : webhookOf(endpoint)) {
          next.set(webhook.id, webhook);
          nextVersions.set(webhook.id, version);
        }
      }
      [pending, versions] = [next, nextVersions];
    },
    /** The endpoints of the owner that subscribe to the event type, or the one endpoint that its job names. */
    subscribers: async (
      owner: string,
      type: string,
      named?: string,
    ): Promise<readonly Webhook[]> => {
      const endpoints = await store.list(owner, { limit: maxEndpoints });
      return endpoints
        .filter(({ id, eventTypes }) =>
          named === undefined ? eventTypes.includes(type) : id === named,
        )
        .flatMap(webhookOf);
    },
  };
}

const isInOverlap = ({ previousUntil }: StoredWebhookEndpoint, now: number): boolean =>
  previousUntil !== null && previousUntil > now;
