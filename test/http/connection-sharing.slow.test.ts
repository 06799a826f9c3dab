/** A full connection table is shared also with clients that send requests without a pause, or read very slowly. */
import { describe, expect, test } from "bun:test";
import { ReadRate } from "../../server/http/server/socket-writer.ts";
import { until } from "../until.ts";
import type { RawConnection } from "./gateway-fixture.ts";
import {
  afterGate,
  gate,
  get,
  type Handle,
  keyed,
  keyIdOf,
  respondWith,
  serve,
} from "./http-server-fixture.ts";

describe("a client that sends requests without a pause", () => {
  const quick: Handle = () => respondWith("quick");

  /**
   * Sends one request after the other on a connection, until the server closes it. Returns the `connection` headers.
   */
  async function keepBusy(connection: RawConnection, key: string, onServed = () => {}) {
    const headers: (string | null)[] = [];
    while (!connection.isClosed && headers.at(-1) !== "close") {
      connection.send(keyed(key));
      try {
        const response = await connection.response();
        headers.push(response.headers.get("connection"));
        if (response.status === 200) onServed();
      } catch {
        break;
      }
      await Bun.sleep(20);
    }
    connection.endInput();
    return headers;
  }

  test("loses a connection after a response when another key waits, and the other key is served", async () => {
    await using served = serve(quick, { maxConnections: 4, keyIdOf });
    const connections = await Promise.all(Array.from({ length: 4 }, () => served.connect()));
    const busy = connections.map((connection) => keepBusy(connection, "one"));
    await until(() => served.server.connections().open === 4);
    expect(await served.statusFor(keyed("two"))).toBe(200);
    // One connection was closed in order: its last response said so, and none was lost.
    const first = await Promise.race(busy);
    expect(first.at(-1)).toBe("close");
    expect(first.slice(0, -1).every((header) => header === null)).toBeTrue();
    expect(connections.filter(({ isClosed }) => isClosed).length).toBeLessThanOrEqual(1);
    expect(served.server.connections().evicted).toBe(1);
    for (const connection of connections) connection.disconnect();
    await Promise.all(busy);
  });

  test("has half of the table in the end, although it reconnects immediately", async () => {
    await using served = serve(quick, { maxConnections: 6, keyIdOf });
    let isStopped = false;
    /** Connections on which a request was served. */
    const holding = { one: new Set<RawConnection>(), two: new Set<RawConnection>() };
    const client = async (key: "one" | "two"): Promise<void> => {
      while (!isStopped) {
        const connection = await served.connect();
        await keepBusy(connection, key, () => {
          holding[key].add(connection);
          // It was waiting for its first response when the others were disconnected.
          if (isStopped) connection.disconnect();
        });
        holding[key].delete(connection);
        connection.disconnect();
        await Bun.sleep(10);
      }
    };
    const clients = Array.from({ length: 6 }, () => client("one"));
    await until(() => holding.one.size === 6);
    clients.push(...Array.from({ length: 6 }, () => client("two")));
    await until(() => holding.one.size === 3 && holding.two.size === 3);
    isStopped = true;
    for (const connection of [...holding.one, ...holding.two]) connection.disconnect();
    await Promise.all(clients);
  });

  test("keeps its connections if the other client has no valid API key", async () => {
    await using served = serve(quick, { maxConnections: 3, keyIdOf });
    const connections = await Promise.all(Array.from({ length: 3 }, () => served.connect()));
    const busy = connections.map((connection) => keepBusy(connection, "one"));
    await until(() => served.server.connections().open === 3);
    await until(() => connections.every((each) => !each.isClosed));
    expect(await served.statusFor(get("/"))).toBe(503);
    expect(connections.map(({ isClosed }) => isClosed)).toEqual([false, false, false]);
    for (const connection of connections) connection.disconnect();
    await Promise.all(busy);
  });

  test("keeps its connections when its requests take longer than another key waits", async () => {
    const release = gate();
    const slow = afterGate(release, () => respondWith("slow"));
    await using served = serve(slow, { maxConnections: 2, keyIdOf });
    const connections = [await served.connect(), await served.connect()];
    for (const connection of connections) connection.send(keyed("one"));
    await until(() => served.server.pending() === 2);
    expect(await served.statusFor(keyed("two"))).toBe(503);
    await Bun.sleep(1100);
    release.open();
    for (const connection of connections) {
      const { headers, body } = await connection.response();
      expect([headers.get("connection"), body]).toEqual([null, "slow"]);
    }
    // The rejected request holds no slot: both connections are still served, and there is no third.
    for (const connection of connections) connection.disconnect();
    await until(() => served.server.connections().open <= 1);
    expect(await served.statusFor(keyed("two"))).toBe(200);
    expect(await served.statusFor(keyed("three"))).toBe(200);
  });
});

test("a connection beyond the limit has one second to send its request, however often it is checked meanwhile", async () => {
  let now = 0;
  let checks = 0;
  const release = gate();
  const slow = afterGate(release, () => respondWith("slow"));
  await using served = serve(slow, {
    maxConnections: 1,
    keyIdOf,
    // The server checks its connections at a quarter of this interval, and reads the clock each time.
    idleMs: 20,
    clock: () => {
      checks++;
      return now;
    },
  });
  const first = await served.connect(keyed("one"));
  await until(() => served.server.pending() === 1);
  const second = await served.connect();
  await until(() => served.server.connections().open === 2);
  const before = checks;
  await until(() => checks > before + 5);
  expect(second.isClosed).toBeFalse();
  now = 2000;
  await until(() => second.isClosed);
  release.open();
  expect((await first.response()).status).toBe(200);
});

describe("a client that reads large responses very slowly", () => {
  const large = Buffer.alloc(24 * 1024 * 1024, "large");

  test("loses a connection to another key when it holds more than its share", async () => {
    let offset = 0;
    await using served = serve(
      ({ head }) => respondWith(head.path === "/large" ? large : "small"),
      { maxConnections: 3, keyIdOf, clock: () => performance.now() + offset },
    );
    const slow = await Promise.all(Array.from({ length: 3 }, () => served.connect()));
    for (const connection of slow) {
      connection.pause();
      connection.send(keyed("one", "/large"));
    }
    await until(() => served.server.pending() === 3);
    // It may still read: nothing has been measured yet.
    expect(await served.statusFor(keyed("two"))).toBe(503);
    offset += 11_000;
    await until(async () => (await served.statusFor(keyed("two"))) === 200);
    expect(served.server.connections().evicted).toBeGreaterThan(0);
    for (const connection of slow) connection.resume();
    await until(() => slow.some(({ isClosed }) => isClosed));
    const whole = slow.filter(({ received }) => received.length > large.length);
    expect(whole.length).toBeLessThan(3);
  });

  test.each<[string, number, boolean]>([
    ["nothing", 0, true],
    ["4 KB a second", 4096, true],
    ["16 KB a second", 16_384, false],
  ])(
    "counts as slow if it reads less than 8 KB a second over ten seconds: %s",
    (_, perSecond, isSlow) => {
      const rate = new ReadRate();
      let sentBytes = 1000;
      for (let second = 0; second <= 10; second++) {
        rate.sample(second * 1000, { sentBytes, isBlocked: true });
        if (second < 10) expect(rate.isSlow).toBeFalse();
        sentBytes += perSecond;
      }
      expect(rate.isSlow).toBe(isSlow);
      rate.sample(11_000, { sentBytes, isBlocked: false });
      expect(rate.isSlow).toBeFalse();
    },
  );
});
