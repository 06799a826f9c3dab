/**
 * Notices of changed API keys and entities between replicas, by pub/sub in Redis. A replica that misses a notice reads
 * the change at its next poll of the database.
 */
import { ignoreRejection } from "../../lib/tasks.ts";
import type { RedisConnection } from "./client.ts";

const channel = "vexel:config-changed";

export type ConfigNotices = ReturnType<typeof watchConfigNotices>;

/**
 * `onNotice`: the configuration may have changed. Also called after a reconnection, which may have missed notices. One
 * call at a time: notices during a call cause one more.
 */
export function watchConfigNotices(redis: RedisConnection, onNotice: () => Promise<unknown>) {
  let isRunning = false;
  let isPending = false;
  const apply = async (): Promise<void> => {
    isRunning = true;
    while (isPending) {
      isPending = false;
      await onNotice().catch(ignoreFailure);
    }
    isRunning = false;
  };
  const notify = (): void => {
    isPending = true;
    if (!isRunning) void apply();
  };
  const subscription = redis.another((client) => client.subscribe(channel, notify));
  subscription.onChange(({ isAvailable }) => {
    if (isAvailable) notify();
  });
  return {
    /** Notifies all replicas that keys or entities have changed in the database. */
    publish: (): void => ignoreRejection(redis.run((client) => client.publish(channel, ""))),
    close: (): void => subscription.close(),
  };
}

/** The database is unreachable: its next poll reads the change. */
const ignoreFailure = (): void => undefined;
