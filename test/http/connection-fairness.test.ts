/** Fair shares of a full connection table: one API key, or one flood of connections, does not lock out the others. */

import { describe, expect, test } from "bun:test";
import { until } from "../until.ts";
import {
  embeddingsText,
  jsonHeaders,
  RawConnection,
  startGatewayWithFake,
  toHttpText,
} from "./gateway-fixture.ts";
import {
  gate,
  get,
  type Handle,
  keyed,
  keyIdOf,
  readBody,
  respondWith,
  serve,
} from "./http-server-fixture.ts";

const otherKey = "sk-other-0123456789abcdef";

/** A request whose body never arrives whole. */
const silentBody = (key: string): string =>
  `POST /v1/embeddings HTTP/1.1\r\nhost: x\r\nauthorization: ${key}\r\ncontent-length: 1000\r\n\r\n{`;

/** Keeps a number of connections with a silent body open: a closed connection is replaced immediately. */
function floodWithSilentBodies(url: string, count: number): { stop(): Promise<void> } {
  let isStopped = false;
  const open = new Set<RawConnection>();
  const headers = { ...jsonHeaders, "content-length": "1000" };
  const request = toHttpText({ method: "POST", path: "/v1/embeddings", headers });
  const keepOne = async (): Promise<void> => {
    while (!isStopped) {
      const connection = await RawConnection.open(url);
      open.add(connection);
      connection.send(request, "{");
      // Without polling, which would take the CPU time of the gateway in the same process.
      if (!isStopped) await connection.response().catch(() => undefined);
      // The next connection follows when the gateway has closed this one: there are never more than `count`.
      connection.endInput();
      await connection.closed;
      open.delete(connection);
    }
  };
  const all = Array.from({ length: count }, keepOne);
  return {
    stop: async () => {
      isStopped = true;
      for (const connection of open) connection.disconnect();
      await Promise.all(all);
    },
  };
}

describe("a full connection table", () => {
  test("serves every request of an API key while another key floods it with silent bodies", async () => {
    await using edge = startGatewayWithFake({
      settings: { VEXEL_MAX_CONNECTIONS: "8" },
      yaml: `  - { name: other, key: ${otherKey} }\n`,
    });
    const flood = floodWithSilentBodies(edge.gateway.url, 16);
    try {
      await until(() => edge.gateway.inFlight() >= 8);
      const statuses: number[] = [];
      for (let at = 0; at < 40; at++) {
        const text = embeddingsText(`text ${at}`, otherKey);
        const connection = await RawConnection.open(edge.gateway.url, text);
        statuses.push((await connection.response()).status);
        connection.endInput();
        await connection.closed;
      }
      expect(statuses).toEqual(Array(40).fill(200));
    } finally {
      await flood.stop();
    }
  });

  const echoBody: Handle = async (request) => respondWith(await readBody(request));
  /** The clock stands still: no connection has been silent for a second. */
  const options = { maxConnections: 3, clock: () => 0, keyIdOf };
  const fill = async (served: ReturnType<typeof serve>, keys: readonly string[]) => {
    const connections: RawConnection[] = [];
    for (const key of keys) {
      connections.push(await served.connect(silentBody(key)));
    }
    await until(() => served.server.pending() === keys.length);
    return connections;
  };

  test("evicts the oldest silent body of the key with the most connections, with 408", async () => {
    await using served = serve(echoBody, options);
    const [one, two, third] = await fill(served, ["one", "two", "two"]);
    expect(await served.statusFor(keyed("three"))).toBe(200);
    expect((await two!.response()).status).toBe(408);
    expect([one!.received, third!.received]).toEqual(["", ""]);
  });

  test("never evicts a connection for its own request, however long it was open before that", async () => {
    let now = 0;
    let readings = 0;
    const clock = (): number => {
      readings++;
      return now;
    };
    // The server reads the clock four times in `bodyMs`.
    await using served = serve(echoBody, { ...options, clock, bodyMs: 40 });
    await fill(served, ["one", "one", "one"]);
    const late = await served.connect();
    await until(() => served.server.connections().open === 4);
    now = 1000;
    const before = readings;
    await until(() => readings > before);
    late.send(keyed("two"));
    expect((await late.response()).status).toBe(200);
  });

  test("evicts no body for a key that would hold more connections than the evicted one", async () => {
    await using served = serve(echoBody, options);
    const bodies = await fill(served, ["one", "two", "three"]);
    for (const key of ["one", "four"]) expect(await served.statusFor(keyed(key))).toBe(503);
    expect(bodies.map(({ received }) => received)).toEqual(["", "", ""]);
  });

  test("evicts no body of an API key for a client without a valid key", async () => {
    await using served = serve(echoBody, options);
    const bodies = await fill(served, ["one", "one", "one"]);
    expect(await served.statusFor(get("/"))).toBe(503);
    expect(bodies.map(({ received }) => received)).toEqual(["", "", ""]);
  });

  test("evicts a connection without a request for the request of an API key", async () => {
    await using served = serve(echoBody, options);
    const silent = [await served.connect(), await served.connect(), await served.connect()];
    silent[0]!.send("GET / HT");
    await until(() => served.server.connections().open === 3);
    expect(await served.statusFor(keyed("one"))).toBe(200);
    await until(() => silent.some(({ isClosed }) => isClosed));
  });

  test("serves probes beyond the maximum while hundreds of surplus connections are open", async () => {
    const go = gate();
    const response: Handle = async ({ head }) => {
      if (head.path !== "/healthz") await go.opened;
      return respondWith("served");
    };
    await using served = serve(response, {
      ...options,
      maxConnections: 1,
      isProbe: (path) => path === "/healthz",
    });
    const busy = await served.connect(keyed("one"));
    await until(() => served.server.pending() === 1);
    for (let round = 0; round < 4; round++) {
      // Some send nothing, others do not read their refusal.
      for (let at = 0; at < 100; at++) {
        const surplus = await served.connect();
        if (at % 2 === 0) surplus.send(keyed("two"));
      }
      expect(await served.statusFor(get("/healthz"))).toBe(200);
      expect(served.server.connections().open).toBeLessThan(100);
    }
    go.open();
    expect((await busy.response()).body).toBe("served");
  });
});
