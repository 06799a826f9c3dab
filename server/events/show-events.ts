/** Events and webhooks as JSON for the admin API, without secrets; and redelivery of an event. */
import type { ShownWebhook } from "../../contract/admin.ts";
import { eventTypes } from "../../contract/events.ts";
import type { Webhook } from "../config/snapshot.ts";
import { matchesGlob } from "../lib/glob.ts";
import type { DeliveryStore } from "../storage/sql/delivery-store.ts";
import type { EventDelivery, EventStore, ListedEvent } from "../storage/sql/event-store.ts";
import { payloadOf } from "./attempt-delivery.ts";
import type { DeliveryQueue } from "./delivery-queue.ts";
import type { Events } from "./events.ts";

interface EventViewsOptions {
  readonly store: Pick<EventStore, "list">;
  readonly queue: Pick<DeliveryStore, "status" | "requeue">;
  readonly deliver: Pick<DeliveryQueue, "attempt" | "isGone" | "failures" | "wake">;
  readonly events: Pick<Events, "testEvent">;
  readonly webhooks: () => ReadonlyMap<string, Webhook>;
  /** Milliseconds, monotonic. */
  readonly clock: () => number;
  /** Unix milliseconds. */
  readonly now: () => number;
}

interface EventPageQuery {
  /** The id of the last event of the previous page. */
  readonly cursor?: string | undefined;
  /** A glob pattern for event types. */
  readonly type?: string | undefined;
  /** What the events are about. */
  readonly about?: EventSubject | undefined;
  readonly limit: number;
}

/** One of them. */
export interface EventSubject {
  readonly project?: string | undefined;
  /** The id of an API key. */
  readonly key?: string | undefined;
  readonly upstream?: string | undefined;
}

/** What the data of the events contains. */
function textsOf({ project, key, upstream }: EventSubject): readonly string[] | undefined {
  const member = (name: string, value: string): string =>
    JSON.stringify({ [name]: value }).slice(1, -1);
  if (key !== undefined) return [member("id", key)];
  if (upstream !== undefined) return [member("upstream", upstream)];
  if (project === undefined) return undefined;
  return [member("project", project), `${member("scope", "project")},${member("id", project)}`];
}

export type EventViews = ReturnType<typeof createEventViews>;

export function createEventViews({
  store,
  queue,
  deliver: deliveryQueue,
  events,
  webhooks,
  clock,
  now,
}: EventViewsOptions) {
  return {
    /** Newest first. Undefined if no event has the ID `cursor`. */
    events: async ({ cursor, type, about, limit }: EventPageQuery) => {
      const types = type === undefined ? undefined : matchingTypes(type);
      // One more than the limit shows whether there is another page.
      const texts = about && textsOf(about);
      const found = await store.list({ after: cursor, types, texts, limit: limit + 1 });
      if (!found) return undefined;
      const page = found.slice(0, limit).map(showEvent);
      return {
        object: "list",
        data: page,
        next_cursor: found.length > limit ? (page.at(-1)?.id ?? null) : null,
      };
    },
    webhooks: async () => ({
      object: "list",
      data: await Promise.all(
        [...webhooks().values()].map((webhook) => showWebhook(webhook, queue, deliveryQueue)),
      ),
      next_cursor: null,
    }),
    /** Queues the delivery of an event to a webhook again. False: the webhook did not get this event. */
    redeliver: async (eventId: string, webhookId: string): Promise<boolean> => {
      const isQueued =
        webhooks().has(webhookId) && (await queue.requeue(webhookId, eventId, now()));
      if (isQueued) deliveryQueue.wake();
      return isQueued;
    },
    /** Sends a test event and returns the result. Undefined if there is no such webhook. */
    testWebhook: async (id: string) => {
      const webhook = webhooks().get(id);
      if (!webhook) return undefined;
      const event = events.testEvent(webhook);
      const startedAt = clock();
      const { delivered, status, problem } = await deliveryQueue.attempt(webhook, event);
      return {
        object: "webhook.test",
        webhook: id,
        event: event.id,
        delivered,
        status,
        problem,
        duration_ms: Math.round(clock() - startedAt),
      };
    },
  };
}

/** The event types that match a glob pattern. */
export const matchingTypes = (glob: string): string[] =>
  Object.keys(eventTypes).filter((type) => matchesGlob(glob, type));

const showEvent = (event: ListedEvent) => ({
  object: "event",
  ...payloadOf(event),
  deliveries: event.deliveries.map(showDelivery),
});

const showDelivery = ({
  webhook,
  state,
  attempts,
  due,
  lastAt,
  status,
  problem,
}: EventDelivery) => ({
  webhook,
  state,
  attempts,
  last_attempt_at: timeOf(lastAt),
  next_attempt_at: state === "waiting" ? timeOf(due) : null,
  status,
  problem,
});

async function showWebhook(
  webhook: Webhook,
  queue: Pick<DeliveryStore, "status">,
  deliveryQueue: Pick<DeliveryQueue, "isGone" | "failures">,
): Promise<ShownWebhook> {
  const { waiting, delivered, abandoned, failures, last } = await queue.status(webhook.id);
  return {
    object: "webhook",
    id: webhook.id,
    url: shownUrl(webhook.url),
    format: webhook.url.startsWith("mailto:") ? "email" : (webhook.format ?? "standard"),
    events: webhook.events,
    state: deliveryQueue.isGone(webhook) ? "gone" : "active",
    waiting,
    delivered,
    abandoned,
    // Tests are counted in memory only.
    consecutive_failures: Math.max(failures, deliveryQueue.failures(webhook)),
    last_attempt: last
      ? {
          event: last.event,
          at: new Date(last.at).toISOString(),
          delivered: last.state === "delivered",
          status: last.status,
          problem: last.problem,
        }
      : null,
  };
}

/** The URL without its query string, which often contains a token. */
function shownUrl(text: string): string {
  const { protocol, origin, pathname, search } = new URL(text);
  if (protocol === "mailto:") return text;
  return `${origin}${pathname}${search && "?…"}`;
}

const timeOf = (at: number | null): string | null =>
  at === null ? null : new Date(at).toISOString();
