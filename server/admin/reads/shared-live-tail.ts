/** The part of the live tail that other replicas have: what they publish is checked before it is shown. */
import type { LiveBatch } from "../../../contract/admin.ts";
import type { RedisConnection } from "../../storage/redis/client.ts";
import { shareLiveRequests } from "../../storage/redis/live-requests.ts";
import type { LiveTail, LiveTailOptions } from "./live-tail.ts";

interface SharedLiveTailOptions {
  readonly redis: RedisConnection;
  readonly replica: string;
  readonly live: () => Pick<LiveTail, "collect">;
  /** Milliseconds, monotonic. */
  readonly clock: () => number;
  readonly resources: AsyncDisposableStack;
}

export function openSharedLiveTail(
  options: SharedLiveTailOptions,
): NonNullable<LiveTailOptions["others"]> {
  const { live, resources } = options;
  const isEmpty = ({ data, skipped }: LiveBatch): boolean => data.length + skipped === 0;
  const shared = shareLiveRequests({
    ...options,
    collect: async (text) => {
      const { readLiveFilter } = await import("./read-live.ts");
      const filter = readLiveFilter(text);
      const batch = filter && live().collect(filter);
      return batch && !isEmpty(batch) ? JSON.stringify(batch) : undefined;
    },
  });
  resources.defer(() => shared.close());
  return async (filter) => {
    const batches = shared.take(JSON.stringify(filter));
    if (batches.length === 0) return [];
    const { readLiveBatch } = await import("./read-live.ts");
    return batches.flatMap(readLiveBatch);
  };
}
