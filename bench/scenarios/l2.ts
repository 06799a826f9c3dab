/**
 * The second cache level: the same texts from the local cache of a gateway, from Redis after a local miss, and from the
 * upstream. The gateway with Redis has a local cache of a few texts, so that each of its requests looks in Redis.
 */

import { startRedis } from "../../test/storage/redis-server.ts";
import { alternate, cpuRatios, ratioLine } from "../compare.ts";
import type { RunScenario } from "../context.ts";
import { medians, underLoad, warmUp } from "../measure.ts";
import { atMost } from "../result.ts";
import { cacheBytes, repeatedTexts, targets } from "../scenarios.ts";
import { figureTable } from "../table.ts";

const warmSeconds = 2;
/** Space for a few texts. */
const smallCacheBytes = 64 * 1024;

export const l2: RunScenario = async (context) => {
  const redis = await startRedis();
  const gateways = {
    local: await context.vexel({ VEXEL_CACHE_BYTES: String(cacheBytes) }),
    Redis: await context.vexel({
      VEXEL_CACHE_BYTES: String(smallCacheBytes),
      REDIS_URL: redis.url,
    }),
    uncached: await context.vexel({ VEXEL_CACHE_BYTES: "0" }),
  };
  const proxies = Object.values(gateways);
  context.log(`${repeatedTexts.name}: warming up`);
  for (const proxy of proxies)
    await warmUp(
      async () => (await underLoad(context, proxy, repeatedTexts, warmSeconds)).cpuUsPerRequest,
    );
  const rounds = await alternate(context, repeatedTexts, proxies);
  const [local = [], fromRedis = [], uncached = []] = proxies.map((proxy) => rounds.get(proxy));
  const columns = {
    local: medians(local),
    Redis: medians(fromRedis),
    uncached: medians(uncached),
  };
  const ratios = {
    local: cpuRatios(fromRedis, local),
    uncached: cpuRatios(fromRedis, uncached),
  };
  for (const proxy of proxies) await proxy.process.stop();
  await redis.stop();
  return {
    text: [
      `${repeatedTexts.name}: from the local cache, from Redis, and from the upstream`,
      figureTable(columns),
      `a hit in Redis: ${ratioLine(ratios.local, "a local hit")}`,
      `a hit in Redis: ${ratioLine(ratios.uncached, "an uncached text")}`,
    ].join("\n"),
    figures: { name: "second cache level", columns, ratios },
    verdicts: [
      atMost(
        "upstream requests per request that Redis has",
        columns.Redis.upstreamRequests,
        targets.upstreamRequestsPerRedisHit,
        "",
      ),
    ],
  };
};
