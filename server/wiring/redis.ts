/** Opens the connection to the Redis server that replicas share. Loaded only with `REDIS_URL` or `REDIS_URL_FILE`. */
import { readFileSync } from "node:fs";
import { type Settings, SettingsError } from "../settings.ts";
import { RedisConnection } from "../storage/redis/client.ts";

/**
 * Resolves after the first attempt to connect: a gateway that starts while Redis is unavailable serves, and connects
 * later.
 */
export async function openRedis(
  settings: Pick<Settings, "REDIS_URL" | "REDIS_URL_FILE">,
): Promise<RedisConnection> {
  const connection = new RedisConnection({ url: readUrl(settings) });
  await connection.attempted();
  return connection;
}

function readUrl({ REDIS_URL, REDIS_URL_FILE: file }: Parameters<typeof openRedis>[0]): string {
  if (REDIS_URL !== "") return REDIS_URL;
  let url: string;
  try {
    url = readFileSync(file, "utf8").trim();
  } catch (cause) {
    throw new SettingsError(`REDIS_URL_FILE=${file} cannot be read: ${String(cause)}`, { cause });
  }
  if (!/^(redis|valkey)s?:\/\/\S+$/.test(url)) {
    throw new SettingsError(`REDIS_URL_FILE=${file} must hold a redis:// or rediss:// URL.`);
  }
  return url;
}
