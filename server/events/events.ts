/**
 * Emits events (the audit log of API keys and configuration, and alerts): each is recorded at once and queued for the
 * webhooks that subscribe to it. Emitting never fails and never waits: an event that cannot be written is buffered in
 * memory, sent without a record, and written as soon as possible.
 */
import type { EventData, EventType } from "../../contract/events.ts";
import type { Webhook } from "../config/snapshot.ts";
import { matchesGlob } from "../lib/glob.ts";
import type { EventStore, NewEvent, StoredEvent } from "../storage/sqlite/event-store.ts";
import type { DeliveryQueue } from "./delivery-queue.ts";

export interface EmittedEvent<T extends EventType> {
  readonly type: T;
  readonly data: EventData[T];
  /** Deduplication key of an event that occurs once, such as a threshold in one month: a second one is not recorded. */
  readonly once?: string;
}

/** The only part of events that other features use. */
export type Emit = <T extends EventType>(emitted: EmittedEvent<T>) => void;

export interface EventsOptions {
  readonly store: Pick<EventStore, "record">;
  readonly deliver: Pick<DeliveryQueue, "wake" | "attempt" | "isGone">;
  readonly webhooks: () => ReadonlyMap<string, Webhook>;
  /** Unix milliseconds. */
  readonly now: () => number;
  readonly newId: () => string;
  readonly report: (emitted: EventsReport) => void;
}

export interface EventsReport {
  /** The event is not recorded yet, was lost, or replaced the oldest event in the full queue of a webhook. */
  readonly what: "not-recorded" | "lost" | "queue-full";
  readonly type: string;
  readonly problem: string;
  readonly webhook?: string;
}

export interface Events {
  readonly emit: Emit;
  /** An event of type `webhook.test`, which is not recorded. */
  testEvent(webhook: Webhook): StoredEvent;
  close(): void;
}

const maxBuffered = 100;
const retryMs = 5000;
/** The most characters of a text in an event, so that payloads stay small. */
const maxTextLength = 1000;
const maxEntries = 20;

interface BufferedEvent {
  readonly event: NewEvent;
  /** The IDs of the webhooks that received it already. */
  readonly deliveredTo: Set<string>;
}

export function createEvents(options: EventsOptions): Events {
  const { store, deliver, webhooks, now, newId, report } = options;
  let buffered: BufferedEvent[] = [];
  let timer: ReturnType<typeof setTimeout> | undefined;
  let closed = false;

  const subscribers = ({ type }: StoredEvent): Webhook[] =>
    [...webhooks().values()].filter(
      (webhook) =>
        !deliver.isGone(webhook) && webhook.events.some((glob) => matchesGlob(glob, type)),
    );

  const record = ({ event, deliveredTo }: BufferedEvent): void => {
    const receivers = subscribers(event).filter(({ id }) => !deliveredTo.has(id));
    const { isNew, crowded } = store.record(
      event,
      receivers.map(({ id }) => id),
    );
    for (const webhook of crowded) {
      report({
        what: "queue-full",
        type: event.type,
        webhook,
        problem: "too many events were waiting",
      });
    }
    if (isNew && receivers.length > 0) deliver.wake();
  };

  /** In the order in which the events occurred. */
  const recordBuffered = (): void => {
    for (let first = buffered[0]; first; first = buffered[0]) {
      record(first);
      buffered = buffered.slice(1);
    }
  };

  const retry = (): void => {
    timer = undefined;
    try {
      recordBuffered();
    } catch {
      // Only the first failure is reported.
      timer = setTimeout(retry, retryMs);
      timer.unref();
    }
  };

  /** The event may be about the file that cannot be written, so the webhooks get it without a record. */
  const sendUnrecorded = async ({ event, deliveredTo }: BufferedEvent): Promise<void> => {
    await Promise.all(
      subscribers(event).map(async (webhook) => {
        const { delivered } = await deliver.attempt(webhook, event);
        if (delivered) deliveredTo.add(webhook.id);
      }),
    );
  };

  const bufferEvent = (entry: BufferedEvent, error: unknown): void => {
    const problem = error instanceof Error ? error.message : String(error);
    const { type } = entry.event;
    if (buffered.length === 0) report({ what: "not-recorded", type, problem });
    const [oldest] = buffered;
    if (buffered.length >= maxBuffered && oldest) {
      report({ what: "lost", type: oldest.event.type, problem });
      buffered = buffered.slice(1);
    }
    buffered.push(entry);
    timer ??= setTimeout(retry, retryMs);
    timer.unref();
    void sendUnrecorded(entry);
  };

  const createEvent = <T extends EventType>({ type, data, once }: EmittedEvent<T>): NewEvent => ({
    id: newId(),
    type,
    at: now(),
    data: truncated(data) as Readonly<Record<string, unknown>>,
    ...(once !== undefined && { once }),
  });

  return {
    emit: (emitted) => {
      // File watchers stop slightly later than the events.
      if (closed) return;
      const entry: BufferedEvent = { event: createEvent(emitted), deliveredTo: new Set() };
      try {
        recordBuffered();
        record(entry);
      } catch (error) {
        bufferEvent(entry, error);
      }
    },
    testEvent: (webhook) => createEvent({ type: "webhook.test", data: { webhook: webhook.id } }),
    close: () => {
      closed = true;
      clearTimeout(timer);
      try {
        recordBuffered();
      } catch (error) {
        const problem = error instanceof Error ? error.message : String(error);
        for (const { event } of buffered) report({ what: "lost", type: event.type, problem });
      }
    },
  };
}

/** Truncates long texts and lists: an event says that something happened, the log has the details. */
function truncated(value: unknown): unknown {
  if (typeof value === "string") {
    return value.length > maxTextLength ? `${value.slice(0, maxTextLength - 1)}…` : value;
  }
  if (Array.isArray(value)) return value.slice(0, maxEntries).map(truncated);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name, truncated(member)]),
  );
}
