/**
 * Events: changes people wait for are recorded at once, and sent to the webhooks that want them. Telling of one never
 * fails and never waits: what cannot be written is held in memory, sent without a record, and written when it can be.
 */
import type { EventData, EventType } from "../../contract/events.ts";
import type { Webhook } from "../config/snapshot.ts";
import { matchesGlob } from "../lib/glob.ts";
import type { EventStore, NewEvent, StoredEvent } from "../storage/events.ts";
import type { DeliveryQueue } from "./delivery-queue.ts";

export interface EmittedEvent<T extends EventType> {
  readonly type: T;
  readonly data: EventData[T];
  /** What happens once only, such as a threshold in one month: told a second time, it is not recorded. */
  readonly once?: string;
}

/** What everyone else sees of it. */
export type Emit = <T extends EventType>(told: EmittedEvent<T>) => void;

export interface EventsOptions {
  readonly store: Pick<EventStore, "record">;
  readonly deliver: Pick<DeliveryQueue, "wake" | "attempt" | "isGone">;
  readonly webhooks: () => ReadonlyMap<string, Webhook>;
  /** Unix milliseconds. */
  readonly now: () => number;
  readonly newId: () => string;
  readonly report: (told: EventsReport) => void;
}

export interface EventsReport {
  /** It cannot be written down, it was never, or one that waited for a webhook had to go for it. */
  readonly what: "unrecorded" | "lost" | "crowded";
  readonly type: string;
  readonly problem: string;
  readonly webhook?: string;
}

export interface Events {
  readonly emit: Emit;
  /** Of type `webhook.test`; it is nowhere. */
  testEvent(webhook: Webhook): StoredEvent;
  close(): void;
}

const maxBuffered = 100;
const retryMs = 5000;
/** Of each text in an event, so that no event is larger than receivers like. */
const maxTextLength = 1000;
const maxEntries = 20;

interface BufferedEvent {
  readonly event: NewEvent;
  /** Webhooks that have it already. */
  readonly deliveredTo: Set<string>;
}

export function createEvents(options: EventsOptions): Events {
  const { store, deliver, webhooks, now, newId, report } = options;
  let held: BufferedEvent[] = [];
  let timer: ReturnType<typeof setTimeout> | undefined;
  let closed = false;

  const wanting = ({ type }: StoredEvent): Webhook[] =>
    [...webhooks().values()].filter(
      (webhook) =>
        !deliver.isGone(webhook) && webhook.events.some((glob) => matchesGlob(glob, type)),
    );

  const record = ({ event, deliveredTo: sent }: BufferedEvent): void => {
    const to = wanting(event).filter(({ id }) => !sent.has(id));
    const { isNew, crowded } = store.record(
      event,
      to.map(({ id }) => id),
    );
    for (const webhook of crowded) {
      report({ what: "crowded", type: event.type, webhook, problem: "too many were waiting" });
    }
    if (isNew && to.length > 0) deliver.wake();
  };

  /** In the order in which they happened. */
  const writeHeld = (): void => {
    for (let first = held[0]; first; first = held[0]) {
      record(first);
      held = held.slice(1);
    }
  };

  const again = (): void => {
    timer = undefined;
    try {
      writeHeld();
    } catch {
      // It was told when it began.
      timer = setTimeout(again, retryMs);
      timer.unref();
    }
  };

  /** The file may be what the event is about: whoever waits for it hears of it all the same. */
  const sendUnrecorded = async ({ event, deliveredTo: sent }: BufferedEvent): Promise<void> => {
    await Promise.all(
      wanting(event).map(async (webhook) => {
        const { delivered } = await deliver.attempt(webhook, event);
        if (delivered) sent.add(webhook.id);
      }),
    );
  };

  const hold = (entry: BufferedEvent, error: unknown): void => {
    const problem = error instanceof Error ? error.message : String(error);
    const { type } = entry.event;
    if (held.length === 0) report({ what: "unrecorded", type, problem });
    const [oldest] = held;
    if (held.length >= maxBuffered && oldest) {
      report({ what: "lost", type: oldest.event.type, problem });
      held = held.slice(1);
    }
    held.push(entry);
    timer ??= setTimeout(again, retryMs);
    timer.unref();
    void sendUnrecorded(entry);
  };

  const make = <T extends EventType>({ type, data, once }: EmittedEvent<T>): NewEvent => ({
    id: newId(),
    type,
    at: now(),
    data: truncated(data) as Readonly<Record<string, unknown>>,
    ...(once !== undefined && { once }),
  });

  return {
    emit: (told) => {
      // Those who follow files stop a moment later than this.
      if (closed) return;
      const entry: BufferedEvent = { event: make(told), deliveredTo: new Set() };
      try {
        writeHeld();
        record(entry);
      } catch (error) {
        hold(entry, error);
      }
    },
    testEvent: (webhook) => make({ type: "webhook.test", data: { webhook: webhook.id } }),
    close: () => {
      closed = true;
      clearTimeout(timer);
      try {
        writeHeld();
      } catch (error) {
        const problem = error instanceof Error ? error.message : String(error);
        for (const { event } of held) report({ what: "lost", type: event.type, problem });
      }
    },
  };
}

/** Long texts and lists are cut: an event tells that something happened, the log has the rest. */
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
