/** One API key cannot hold all connections with requests that hang. */
import { expect, test } from "bun:test";
import { testKey } from "../harness.ts";
import { until } from "../until.ts";
import { embeddingsText, RawConnection, startGatewayWithFake } from "./gateway-fixture.ts";

const otherKey = "sk-other-0123456789abcdef";
const maxConnections = 12;

const start = () =>
  startGatewayWithFake({
    settings: { VEXEL_MAX_CONNECTIONS: String(maxConnections), VEXEL_BATCH_WAIT_MS: "0" },
    yaml: `  - { name: other, key: ${otherKey} }\n`,
  });

/** The status of a request on a new connection. A refusal is retried after a second, as SDKs do. */
async function statusWithRetry(url: string, key: string): Promise<number> {
  for (let attempt = 0; ; attempt++) {
    const connection = await RawConnection.open(url, embeddingsText("a cat", key));
    const { status } = await connection.response();
    connection.disconnect();
    if (status !== 503 || attempt === 4) return status;
    await Bun.sleep(1000);
  }
}

test("another key is served while the requests of one key hang on as many connections as it can open", async () => {
  await using edge = start();
  const { fake, gateway } = edge;
  const hanging = Promise.withResolvers<void>();
  fake.script({ until: hanging.promise }, { times: maxConnections / 2 });
  const connections = await Promise.all(
    Array.from({ length: maxConnections }, (_, at) =>
      RawConnection.open(gateway.url, embeddingsText(`text ${at}`, testKey)),
    ),
  );
  await fake.arrived(maxConnections / 2);
  const refused = () => connections.filter(({ received }) => received.includes("\r\n\r\n"));
  await until(() => refused().length === maxConnections / 2);
  for (const connection of refused()) {
    const { status, headers, body } = await connection.response();
    expect([status, headers.get("retry-after")]).toEqual([429, "1"]);
    expect(JSON.parse(body).error.message).toContain("half of the connections");
  }
  expect(await statusWithRetry(gateway.url, otherKey)).toBe(200);
  // The requests in flight are completed.
  hanging.resolve();
  const ended = connections.filter(({ isClosed }) => !isClosed);
  await until(() => gateway.rows().filter(({ status }) => status === 200).length === 7);
  for (const connection of ended) connection.disconnect();
});

test("a key is served while clients without a key hold every connection with unfinished requests", async () => {
  await using edge = start();
  const { gateway } = edge;
  for (const text of ["POST /v1/embeddings HT", embeddingsText("a", "sk-wrong").slice(0, -5)]) {
    const connections = await Promise.all(
      Array.from({ length: maxConnections }, () => RawConnection.open(gateway.url, text)),
    );
    expect(await statusWithRetry(gateway.url, otherKey)).toBe(200);
    for (const connection of connections) connection.disconnect();
  }
});

test("a key is served while another key holds every connection with unfinished bodies", async () => {
  await using edge = start();
  const { gateway } = edge;
  const text = embeddingsText("a", testKey).slice(0, -5);
  const connections = await Promise.all(
    Array.from({ length: maxConnections }, () => RawConnection.open(gateway.url, text)),
  );
  expect(await statusWithRetry(gateway.url, otherKey)).toBe(200);
  for (const connection of connections) connection.disconnect();
});
