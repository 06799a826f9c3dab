/**
 * Replica registry, the replicas that use this Redis: each reports itself at an interval; there is no leader election.
 * A limit is divided by their number while Redis is unavailable. Each also publishes a report for the console.
 */
import { type RedisConnection, redisScript } from "./client.ts";

const key = "vexel:replicas";
const reportKey = (replica: string): string => `vexel:replica:${replica}`;

const script = redisScript(`
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZADD', KEYS[1], now, ARGV[1])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - tonumber(ARGV[2]))
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return redis.call('ZCARD', KEYS[1])
`);

/** A replica that did not report itself for this long is gone. */
const goneAfterMs = 10_000;

export class ReplicaRegistry {
  readonly #redis: RedisConnection;
  readonly #replica: string;
  #count = 1;

  constructor(redis: RedisConnection, replica: string) {
    this.#redis = redis;
    this.#replica = replica;
  }

  /** As last known; 1 until Redis reports it. */
  get count(): number {
    return this.#count;
  }

  /** Rejects while Redis is unavailable. */
  async report(): Promise<void> {
    const count = Number(await this.#redis.evaluate(script, [key], [this.#replica, goneAfterMs]));
    this.#count = Math.max(1, count);
  }

  /** The report expires with the entry of the replica. Rejects while Redis is unavailable. */
  async publish(report: string): Promise<void> {
    const command = [reportKey(this.#replica), report, "PX", String(goneAfterMs)];
    await this.#redis.run((client) => client.send("SET", command));
  }

  /** The reports of the other replicas. Rejects while Redis is unavailable. */
  others(): Promise<readonly string[]> {
    return this.#redis.run(async (client) => {
      const replicas = (await client.send("ZRANGE", [key, "0", "-1"])) as string[];
      const keys = replicas.filter((each) => each !== this.#replica).map(reportKey);
      const reports = keys.length === 0 ? [] : await client.send("MGET", keys);
      return (reports as (string | null)[]).filter((report) => report !== null);
    });
  }

  /** At shutdown: the other replicas stop counting this one at once, not after `goneAfterMs`. */
  async leave(): Promise<void> {
    await this.#redis.run((client) =>
      Promise.all([
        client.send("ZREM", [key, this.#replica]),
        client.send("DEL", [reportKey(this.#replica)]),
      ]),
    );
  }
}
