/** Gateways in the process of a test that share limits through one Redis. */
import { RedisConnection } from "../../server/storage/redis/client.ts";
import { configFor, startGateway, type TestGateway, testKey } from "../harness.ts";
import { until } from "../until.ts";

interface GatewaysOptions {
  readonly count?: number;
  readonly redisUrl: string;
  readonly fakeUrl: string;
  /** Settings of the API key, in YAML. */
  readonly key: string;
  readonly settings?: Readonly<Record<string, string>>;
}

/** Gateways in this process that share Redis, each of which knows all of them. */
export async function startGateways({
  count = 3,
  redisUrl,
  fakeUrl,
  key,
  settings = {},
}: GatewaysOptions) {
  const connections = Array.from({ length: count }, () => new RedisConnection({ url: redisUrl }));
  await Promise.all(connections.map((connection) => connection.attempted()));
  const yaml = configFor(fakeUrl).replace(`key: ${testKey}`, `key: ${testKey}, ${key}`);
  const gateways = connections.map((connection) =>
    startGateway({ yaml, redis: connection, settings }),
  );
  const knowsAll = async ({ url }: TestGateway): Promise<boolean> =>
    ((await (await fetch(`${url}/readyz`)).json()) as { replicas: number }).replicas === count;
  for (const gateway of gateways) await until(() => knowsAll(gateway));
  return {
    at: (number: number): TestGateway => gateways[number % count] as TestGateway,
    [Symbol.asyncDispose]: async () => {
      for (const gateway of gateways) await gateway.close();
      for (const connection of connections) connection.close();
    },
  };
}
