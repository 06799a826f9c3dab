/** Opens the connection to the Redis server that replicas share. Loaded only with `REDIS_URL`. */
import type { Settings } from "../settings.ts";
import { RedisConnection } from "../storage/redis/client.ts";

/**
 * Resolves after the first attempt to connect: a gateway that starts while Redis is unavailable serves, and connects
 * later.
 */
export async function openRedis(settings: Pick<Settings, "REDIS_URL">): Promise<RedisConnection> {
  const connection = new RedisConnection({ url: settings.REDIS_URL });
  await connection.attempted();
  return connection;
}
