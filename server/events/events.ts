/**
 * Emits events (alerts and change notifications; the audit log is `admin/audit.ts`): each is recorded at once, in
 * order, and queued for the webhooks that subscribe to it. Emitting never fails and never waits: an event that cannot
 * be written stays in memory, is sent without a record, and is written as soon as possible. The events of jobs wait in
 * the rows of their jobs instead.
 */
import type { Emit, EmittedEvent, EventType, RecordJobEvent } from "../../contract/events.ts";
import type { Webhook } from "../config/snapshot.ts";
import { errorMessage } from "../lib/error-code.ts";
import { matchesGlob } from "../lib/glob.ts";
import { backgroundTimers } from "../lib/timers.ts";
import {
  type EventStore,
  maxRecordedAtOnce,
  type NewEvent,
  type RecordedEvent,
  type StoredEvent,
} from "../storage/sql/event-store.ts";
import type { ClientWebhooks } from "./client-webhooks.ts";
import type { DeliveryQueue } from "./delivery-queue.ts";

interface EventsOptions {
  readonly store: Pick<EventStore, "recordAll">;
  readonly deliver: Pick<DeliveryQueue, "wake" | "attempt" | "isGone">;
  /** Those of the operator. */
  readonly webhooks: () => ReadonlyMap<string, Webhook>;
  /** Whether a webhook gets this event. Undefined: if it subscribes to the type. */
  readonly isReceiver?: (webhook: Webhook, event: StoredEvent) => boolean | undefined;
  readonly clientWebhooks: Pick<ClientWebhooks, "subscribers">;
  /** Unix milliseconds. */
  readonly now: () => number;
  readonly newId: () => string;
  readonly report: (emitted: EventsReport) => void;
  /** Called for each event of the operator that is recorded: once by all replicas, for an event that occurs once. */
  readonly onRecorded: (event: StoredEvent) => void;
}

export interface EventsReport {
  /** The event is not recorded yet, was lost, or replaced the oldest event in the full queue of a webhook. */
  readonly kind: "not-recorded" | "lost" | "queue-full";
  readonly type: string;
  readonly problem: string;
  readonly webhook?: string;
}

export interface Events {
  readonly emit: Emit;
  readonly recordJobEvent: RecordJobEvent;
  /** An event of type `webhook.test`, which is not recorded. */
  testEvent(webhook: Webhook): StoredEvent;
  /** Waits until the events that were emitted are recorded, or until recording fails: then it returns false. */
  flush(): Promise<boolean>;
  close(): Promise<void>;
}

/** The most events in memory: while the store accepts them, and while it does not. */
const maxQueued = 10_000;
const maxUnrecorded = 100;
const retryMs = 5000;
/** The most characters of a text in an event, so that payloads stay small. */
const maxTextLength = 1000;
const maxEntries = 20;

const subscribes = ({ events }: Webhook, { type }: StoredEvent): boolean =>
  events.some((glob) => matchesGlob(glob, type));

interface QueuedEvent {
  readonly event: NewEvent;
  /** The IDs of the webhooks that received it already. */
  readonly deliveredTo: Set<string>;
  /** It was sent to the webhooks without a record. */
  isSent: boolean;
}

export function createEvents(options: EventsOptions): Events {
  const { store, deliver, webhooks, isReceiver = subscribes, now, newId, report } = options;
  /** Events that are not recorded yet, oldest first. */
  const queue: QueuedEvent[] = [];
  let recording: Promise<void> | undefined;
  /** Why the store does not accept events. */
  let failure: string | undefined;
  let timer: unknown;
  let closed = false;

  const subscribers = (event: StoredEvent): Webhook[] =>
    [...webhooks().values()].filter(
      (webhook) =>
        !deliver.isGone(webhook) && (isReceiver(webhook, event) ?? subscribes(webhook, event)),
    );

  /** Returns the ids of the events that were not recorded before. */
  const record = async (events: readonly RecordedEvent[]): Promise<ReadonlySet<string>> => {
    const { ids, overflowed } = await store.recordAll(events);
    for (const webhook of overflowed) {
      report({
        kind: "queue-full",
        type: events.findLast(({ webhooks }) => webhooks.includes(webhook))?.event.type ?? "",
        webhook,
        problem: "too many events were waiting",
      });
    }
    const isNew = new Set(ids);
    if (events.some(({ event, webhooks }) => webhooks.length > 0 && isNew.has(event.id))) {
      deliver.wake();
    }
    return isNew;
  };
  const withReceivers = ({ event, deliveredTo }: QueuedEvent): RecordedEvent => ({
    event,
    webhooks: subscribers(event).flatMap(({ id }) => (deliveredTo.has(id) ? [] : [id])),
  });

  /** Many events at once, such as those of thousands of new keys, are few transactions. */
  const recordQueued = async (): Promise<void> => {
    for (let next = queue[0]; next; next = queue[0]) {
      const events = queue.splice(0, maxRecordedAtOnce);
      try {
        const isNew = await record(events.map(withReceivers));
        failure = undefined;
        for (const { event } of events) if (isNew.has(event.id)) options.onRecorded(event);
      } catch (error) {
        queue.unshift(...events);
        onFailure(next, error);
        return;
      }
    }
  };
  /** One writer at a time, so that events are recorded in the order in which they occurred. */
  const flush = async (): Promise<boolean> => {
    do {
      recording ??= recordQueued().finally(() => {
        recording = undefined;
      });
      await recording;
    } while (queue.length > 0 && failure === undefined);
    return failure === undefined;
  };

  const onFailure = ({ event }: QueuedEvent, error: unknown): void => {
    const problem = errorMessage(error);
    // Only the first failure is reported.
    if (failure === undefined) report({ kind: "not-recorded", type: event.type, problem });
    failure = problem;
    limitQueue(maxUnrecorded);
    // The event may be about the storage that cannot be written, so the webhooks get it without a record.
    for (const entry of queue) {
      if (!entry.isSent) void sendUnrecorded(entry);
    }
    if (closed) return;
    backgroundTimers.stop(timer);
    timer = backgroundTimers.start(retryMs, () => void flush());
  };

  const limitQueue = (max: number): void => {
    const excess = queue.length - max;
    if (excess <= 0) return;
    const problem = failure ?? "too many events occurred at once";
    for (const { event } of queue.splice(0, excess))
      report({ kind: "lost", type: event.type, problem });
  };

  const sendUnrecorded = async (entry: QueuedEvent): Promise<void> => {
    entry.isSent = true;
    const { event, deliveredTo } = entry;
    await Promise.all(
      subscribers(event).map(async (webhook) => {
        const { delivered } = await deliver.attempt(webhook, event);
        if (delivered) deliveredTo.add(webhook.id);
      }),
    );
  };

  const createEvent = <T extends EventType>({
    type,
    data,
    deduplicationKey,
  }: EmittedEvent<T>): NewEvent => ({
    id: newId(),
    type,
    at: now(),
    data: truncated(data) as Readonly<Record<string, unknown>>,
    ...(deduplicationKey !== undefined && { deduplicationKey }),
  });

  return {
    emit: (emitted) => {
      // File watchers stop slightly later than the events.
      if (closed) return;
      queue.push({ event: createEvent(emitted), deliveredTo: new Set(), isSent: false });
      limitQueue(maxQueued);
      void flush();
    },
    recordJobEvent: async ({ type, owner, id, webhook }) => {
      const receivers = await options.clientWebhooks.subscribers(owner, type, webhook);
      // Jobs have many events. The operator's list has only events that a webhook delivers.
      if (receivers.length === 0) return;
      const deduplicationKey = `${type} ${id}`;
      const event = { id: newId(), owner, type, at: now(), data: { id }, deduplicationKey };
      await record([{ event, webhooks: receivers.map((each) => each.id) }]);
    },
    testEvent: (webhook) => createEvent({ type: "webhook.test", data: { webhook: webhook.id } }),
    flush,
    close: async () => {
      closed = true;
      backgroundTimers.stop(timer);
      await flush();
      const problem = failure ?? "the gateway stopped";
      for (const { event } of queue.splice(0)) report({ kind: "lost", type: event.type, problem });
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
