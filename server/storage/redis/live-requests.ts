/**
 * The live tail over all replicas, by pub/sub in Redis. A replica with viewers publishes their filter every second.
 * Each other replica then publishes the requests that match it, until the filter is not published any more. Without
 * viewers nothing is published.
 */
import { ignoreRejection } from "../../lib/tasks.ts";
import { repeat } from "../../lib/timers.ts";
import type { RedisConnection } from "./client.ts";

const [filterChannel, batchChannel] = ["vexel:live-filter", "vexel:live-requests"];
const askEveryMs = 1000;
/** A filter that was not published again for this long has no viewers any more. */
const viewersGoneMs = 2500;
const sendEveryMs = 200;
/** Bounds of what Redis delivers: filters of other replicas, and batches that no viewer has taken yet. */
const [maxFilters, maxBatches] = [100, 100];

interface LiveRequestsOptions {
  readonly redis: RedisConnection;
  readonly replica: string;
  /** The requests of this replica that match a filter and have ended since the last call. */
  readonly collect: (filter: string) => Promise<string | undefined>;
  /** Milliseconds, monotonic. */
  readonly clock: () => number;
}

interface Message {
  readonly replica: string;
  readonly filter: string;
  readonly batch: string;
}

export function shareLiveRequests(options: LiveRequestsOptions) {
  const { redis, replica, collect, clock } = options;
  /** Filters of this replica's viewers. */
  const own = new Map<string, { askedAt: number; batches: string[] }>();
  /** Filters of other replicas' viewers, and when each was last published. */
  const others = new Map<string, number>();
  let stopSending: (() => Promise<void>) | undefined;

  const publish = (channel: string, message: Partial<Message>): void =>
    ignoreRejection(
      redis.run((client) => client.publish(channel, JSON.stringify({ replica, ...message }))),
    );
  const sendBatch = async (filter: string): Promise<void> => {
    const batch = await collect(filter);
    if (batch !== undefined) publish(batchChannel, { filter, batch });
  };
  const send = async (): Promise<void> => {
    for (const [filter, askedAt] of others) {
      if (clock() - askedAt > viewersGoneMs) others.delete(filter);
      else ignoreRejection(sendBatch(filter));
    }
    if (others.size > 0) return;
    void stopSending?.();
    stopSending = undefined;
  };
  const onMessage = (text: string, channel: string): void => {
    const message = readMessage(text);
    if (!message || message.replica === replica) return;
    const { filter, batch } = message;
    if (channel === batchChannel) {
      const { batches } = own.get(filter) ?? {};
      if (batches && batches.length < maxBatches) batches.push(batch);
    } else if (others.has(filter) || others.size < maxFilters) {
      others.set(filter, clock());
      stopSending ??= repeat({ everyMs: sendEveryMs }, send);
    }
  };
  const subscription = redis.another((client) =>
    client.subscribe([filterChannel, batchChannel], onMessage),
  );
  return {
    /** The batches of other replicas since the last call with this filter. */
    take: (filter: string): readonly string[] => {
      for (const [each, { askedAt }] of own)
        if (clock() - askedAt > viewersGoneMs) own.delete(each);
      const { askedAt, batches } = own.get(filter) ?? { askedAt: 0, batches: [] };
      const isDue = !own.has(filter) || clock() - askedAt >= askEveryMs;
      if (isDue) publish(filterChannel, { filter });
      own.set(filter, { askedAt: isDue ? clock() : askedAt, batches: [] });
      return batches;
    },
    close: (): void => {
      void stopSending?.();
      subscription.close();
    },
  };
}

/** Undefined if not written by a replica. */
function readMessage(text: string): Message | undefined {
  try {
    const message = JSON.parse(text) as Partial<Message> | null;
    const { replica = "", filter, batch = "" } = message ?? {};
    return typeof filter === "string" ? { replica, filter, batch: String(batch) } : undefined;
  } catch {
    return undefined;
  }
}
