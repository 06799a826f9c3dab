/** Events and webhooks as the operator sees them: in JSON, without secrets. */
import { eventTypes } from "../../contract/events.ts";
import type { Webhook } from "../config/snapshot.ts";
import { matchesGlob } from "../lib/glob.ts";
import type { Deliveries } from "../storage/deliveries.ts";
import type { EventDelivery, EventStore, ListedEvent } from "../storage/events.ts";
import { payloadOf } from "./attempt-delivery.ts";
import type { DeliveryQueue } from "./delivery-queue.ts";
import type { Events } from "./events.ts";

export interface EventViewsOptions {
  readonly store: Pick<EventStore, "list">;
  readonly queue: Pick<Deliveries, "status">;
  readonly deliver: Pick<DeliveryQueue, "attempt" | "isGone" | "failures">;
  readonly events: Pick<Events, "testEvent">;
  readonly webhooks: () => ReadonlyMap<string, Webhook>;
  /** Milliseconds, monotonic. */
  readonly clock: () => number;
}

export interface EventPageQuery {
  readonly after?: string | undefined;
  /** A glob over types. */
  readonly type?: string | undefined;
  readonly limit: number;
}

export type EventViews = ReturnType<typeof createEventViews>;

export function createEventViews({
  store,
  queue,
  deliver,
  events,
  webhooks,
  clock,
}: EventViewsOptions) {
  return {
    /** Newest first. Undefined where `after` is not known. */
    events: ({ after, type, limit }: EventPageQuery) => {
      const types = type === undefined ? undefined : matchingTypes(type);
      // One more than was asked for tells whether there are more.
      const found = store.list({ after, types, limit: limit + 1 });
      if (!found) return undefined;
      const page = found.slice(0, limit).map(showEvent);
      return {
        object: "list",
        data: page,
        last_id: page.at(-1)?.id ?? null,
        has_more: found.length > limit,
      };
    },
    webhooks: () => ({
      object: "list",
      data: [...webhooks().values()].map((webhook) => showWebhook(webhook, queue, deliver)),
    }),
    /** Sends one and tells what came of it. Undefined where there is no such webhook. */
    testWebhook: async (id: string) => {
      const webhook = webhooks().get(id);
      if (!webhook) return undefined;
      const event = events.testEvent(webhook);
      const began = clock();
      const { delivered, status, problem } = await deliver.attempt(webhook, event);
      return {
        object: "webhook.test",
        webhook: id,
        event: event.id,
        delivered,
        status,
        problem,
        duration_ms: Math.round(clock() - began),
      };
    },
  };
}

/** Of those that there are. */
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

function showWebhook(
  webhook: Webhook,
  queue: Pick<Deliveries, "status">,
  deliver: Pick<DeliveryQueue, "isGone" | "failures">,
) {
  const { waiting, delivered, givenUp, last } = queue.status(webhook.id);
  return {
    object: "webhook",
    id: webhook.id,
    url: shownUrl(webhook.url),
    events: webhook.events,
    state: deliver.isGone(webhook) ? "gone" : "active",
    waiting,
    delivered,
    given_up: givenUp,
    failures_in_a_row: deliver.failures(webhook),
    last_attempt: last
      ? {
          event: last.event,
          at: timeOf(last.at),
          delivered: last.state === "delivered",
          status: last.status,
          problem: last.problem,
        }
      : null,
  };
}

/** What stands behind the question mark is often a token. */
function shownUrl(text: string): string {
  const { origin, pathname, search } = new URL(text);
  return `${origin}${pathname}${search && "?…"}`;
}

const timeOf = (at: number | null): string | null =>
  at === null ? null : new Date(at).toISOString();
