/** The number of connections is bounded, and a connection beyond the bound gets an error that says why. */

import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import type { Holder } from "../../server/http/server/connection-holders.ts";
import { ConnectionLimit } from "../../server/http/server/connection-limit.ts";
import type { ConnectionReport } from "../../server/http/server/http-server.ts";
import { readSettings } from "../../server/settings.ts";
import { maxConnections } from "../../server/wiring/max-connections.ts";
import { startProcess, temporaryFolder, testKey } from "../harness.ts";
import { until } from "../until.ts";
import {
  embeddingsText,
  expectError,
  jsonHeaders,
  RawConnection,
  type RawResponse,
  startGatewayWithFake,
  toHttpText,
} from "./gateway-fixture.ts";
import { afterGate, gate, get, respondWith, serve } from "./http-server-fixture.ts";

describe("a server at its maximum number of connections", () => {
  test("refuses the next connection with 503 and keeps serving the others", async () => {
    const go = gate();
    await using served = serve(
      afterGate(go, () => respondWith("served")),
      { maxConnections: 2 },
    );
    const first = [await served.connect(), await served.connect()];
    for (const connection of first) connection.send(get("/"));
    await until(() => served.server.pending() === 2);
    const third = await served.connect(get("/"));
    const { status, headers, body } = await third.response();
    expect([status, headers.get("connection")]).toEqual([503, "close"]);
    expect(JSON.parse(body).error.code).toBe("server_is_overloaded");
    await third.closed;
    await until(() => served.server.connections().open === 2);
    expect(served.server.connections()).toMatchObject({ open: 2, max: 2, refused: 1, evicted: 0 });
    go.open();
    for (const connection of first) expect((await connection.response()).body).toBe("served");
    for (const connection of first) connection.disconnect();
    await until(() => served.server.connections().open === 0);
    const fourth = await served.connect(get("/"));
    expect((await fourth.response()).body).toBe("served");
  });

  test("closes the longest idle connection to free capacity", async () => {
    let now = 0;
    // The server reads the clock four times in `bodyMs`.
    const times = { idleMs: 1e9, bodyMs: 40, clock: () => now };
    await using served = serve(() => respondWith("served"), { maxConnections: 2, ...times });
    const [older, newer] = [await served.connect(), await served.connect()];
    const use = async (connection: RawConnection): Promise<void> => {
      connection.send(get("/"));
      expect((await connection.response()).body).toBe("served");
    };
    for (const connection of [newer, older, newer]) {
      await use(connection);
      now += 5_000;
      await Bun.sleep(50);
    }
    await use(await served.connect());
    await older.closed;
    await use(newer);
    await until(() => served.server.connections().open === 2);
    expect(served.server.connections()).toMatchObject({ open: 2, refused: 0, evicted: 1 });
  });

  test("reports the number of refusals, not each refusal", () => {
    const reports: ConnectionReport[] = [];
    const limit = limitOf(1, (report) => reports.push(report));
    for (let at = 0; at < 50; at++) limit.countRefused();
    for (const now of [1000, 2000, 3000]) limit.check(now);
    expect(reports.map(({ refused }) => refused)).toEqual([50]);
    limit.countRefused();
    for (const now of [4000, 5000, 6000, 7000]) limit.check(now);
    expect(reports.map(({ refused }) => refused)).toEqual([50, 1]);
    limit.close();
  });

  test("evicts idle connections, the longest idle first, and none that was used in the last second", () => {
    const dropped: string[] = [];
    const limit = limitOf(4);
    const named = (name: string, lastActivityAt: number, isIdle = true) =>
      member({ lastActivityAt, isIdle, drop: () => void dropped.push(name) });
    for (const one of [
      named("b", 2000),
      named("a", 1000),
      named("busy", 0, false),
      named("new", 9500),
    ]) {
      expect(limit.add(one)).toBe("serve");
    }
    limit.check(10_000);
    const admitted = ["x", "y", "z"].map((name) => {
      const surplus = named(name, 10_000, false);
      expect(limit.add(surplus)).toBe("surplus");
      return limit.admit(surplus, "key k");
    });
    expect(admitted).toEqual([true, true, false]);
    expect(dropped).toEqual(["a", "b"]);
    expect(limit.counts).toEqual({ open: 5, max: 4, refused: 0, evicted: 2 });
    limit.close();
  });

  test("closes silent bodies of the key with the most connections, the longest silent first", () => {
    const abandoned: string[] = [];
    const limit = limitOf(5);
    const silent = (holder: Holder, lastActivityAt: number) =>
      member({
        isIdle: false,
        isAwaitingBody: true,
        isAwaitingClient: true,
        holder,
        lastActivityAt,
        abandonBody: () => void abandoned.push(`${holder} ${lastActivityAt}`),
      });
    for (const one of [
      silent("key b", 1),
      silent("key a", 3),
      silent("key a", 2),
      silent("key a", 9500),
    ]) {
      expect(limit.add(one)).toBe("serve");
    }
    limit.add(member({ isIdle: false }));
    limit.check(10_000);
    const admits = (): boolean => {
      const busy = member({ isIdle: false, holder: "key c", lastActivityAt: 10_000 });
      limit.add(busy);
      return limit.admit(busy, "key c");
    };
    expect([admits(), admits(), admits()]).toEqual([true, true, true]);
    expect(abandoned).toEqual(["key a 2", "key a 3", "key b 1"]);
    // The last silent connection has sent bytes half a second ago, and its key holds fewer connections than the
    // newcomer's.
    expect(admits()).toBe(false);
    limit.close();
  });

  test("keeps a bounded number of surplus connections, and closes the oldest for a new one", () => {
    const limit = limitOf(1);
    limit.add(member({ isIdle: false }));
    const dropped: number[] = [];
    const decisions = Array.from({ length: 1000 }, (_, at) =>
      limit.add(member({ isAwaitingClient: true, drop: () => void dropped.push(at) })),
    );
    expect(new Set(decisions)).toEqual(new Set(["surplus"]));
    expect(limit.counts.open).toBeLessThan(200);
    expect(dropped).toEqual(Array.from({ length: 1001 - limit.counts.open }, (_, at) => at));
    limit.close();
  });

  test("closes new connections when every surplus connection serves a probe", () => {
    const limit = limitOf(1);
    limit.add(member({ isIdle: false }));
    const decisions = Array.from({ length: 1000 }, () => limit.add(member({ isIdle: false })));
    expect(decisions.filter((decision) => decision === "surplus").length).toBeLessThan(200);
    expect(decisions.at(-1)).toBe("close");
    limit.close();
  });
});

type Member = ReturnType<typeof member>;

const limitOf = (max: number, report: (report: ConnectionReport) => void = () => undefined) =>
  new ConnectionLimit<Member>(max, 0, report);

const member = (options: {
  isIdle?: boolean;
  isAwaitingBody?: boolean;
  isAwaitingClient?: boolean;
  holder?: Holder;
  lastActivityAt?: number;
  drop?: () => void;
  abandonBody?: () => void;
}) => ({
  isIdle: true,
  isAwaitingBody: false,
  isAwaitingClient: false,
  holder: "address ::1" as Holder,
  isReadingSlowly: false,
  abandonBody: () => undefined,
  resume: () => undefined,
  lastActivityAt: 0,
  drop: () => undefined,
  ...options,
});

describe("the maximum", () => {
  test.each([
    [1024, 384],
    [20_000, 10_000],
    [8_192, 3968],
    [1_048_576, 10_000],
    [64, 24],
  ])("of a process with %i descriptors is %i by default", (limit, expected) => {
    expect(maxConnections(readSettings({}), limit)).toBe(expected);
  });

  test("leaves a descriptor for every upstream connection if that is possible", () => {
    expect(maxConnections(readSettings({ VEXEL_MAX_CONCURRENT: "100" }), 2000)).toBe(2000 - 356);
  });

  test("leaves the gateway's own descriptors even if each connection has one upstream connection", () => {
    for (const limit of [256, 300, 1024, 4096, 8192]) {
      const left = limit - 2 * maxConnections(readSettings({}), limit);
      expect(left).toBeGreaterThanOrEqual(Math.min(256, limit / 4));
    }
  });

  test("is the value of the setting, if it is set", () => {
    expect(maxConnections(readSettings({ VEXEL_MAX_CONNECTIONS: "7" }), 1024)).toBe(7);
  });
});

describe("the gateway", () => {
  test("refuses a connection beyond VEXEL_MAX_CONNECTIONS in OpenAI's shape, and says so in /readyz", async () => {
    await using edge = startGatewayWithFake({ settings: { VEXEL_MAX_CONNECTIONS: "2" } });
    const { url } = edge.gateway;
    const [first, second] = [await RawConnection.open(url), await RawConnection.open(url)];
    const refused = await RawConnection.open(url);
    const response = await refused.response();
    expect(response.headers.get("retry-after")).toBe("1");
    expect(response.headers.get("connection")).toBe("close");
    expect(await expectError(response, "overloaded")).toContain("connections");
    await refused.closed;
    first.send(get("/readyz"));
    const ready = JSON.parse((await first.response()).body);
    expect(ready.connections).toMatchObject({ max: 2, refused: 1, evicted: 0 });
    for (const connection of [first, second]) connection.disconnect();
  });

  test("evicts a request whose body does not arrive for another API key, with 408", async () => {
    const [secondKey, otherKey] = ["sk-second-0123456789abcdef", "sk-other-0123456789abcdef"];
    await using edge = startGatewayWithFake({
      settings: { VEXEL_MAX_CONNECTIONS: "4" },
      yaml: `  - { name: second, key: ${secondKey} }\n  - { name: other, key: ${otherKey} }\n`,
    });
    const silent: RawConnection[] = [];
    // One key may have requests on half of the connections.
    for (const key of [testKey, testKey, secondKey, secondKey]) {
      const authorization = `Bearer ${key}`;
      const headers = { ...jsonHeaders, authorization, "content-length": "1000" };
      const head = toHttpText({ method: "POST", path: "/v1/embeddings", headers });
      silent.push(await RawConnection.open(edge.gateway.url, head, "{"));
    }
    let response: RawResponse | undefined;
    for (let at = 0; at < 50 && response?.status !== 200; at++) {
      const connection = await RawConnection.open(edge.gateway.url, embeddingsText("a", otherKey));
      response = await connection.response();
      if (response.status !== 200) await Bun.sleep(100);
      connection.disconnect();
    }
    expect(response?.status).toBe(200);
    await until(() => silent.some(({ received }) => received.includes("\r\n\r\n")));
    const evicted = await silent.find(({ received }) => received !== "")!.response();
    expect([evicted.status, evicted.headers.get("connection")]).toEqual([408, "close"]);
    expect(JSON.parse(evicted.body).error.message).toContain("connections");
    for (const connection of silent) connection.disconnect();
  });

  test("serves /healthz and /readyz beyond VEXEL_MAX_CONNECTIONS, and nothing else", async () => {
    await using edge = startGatewayWithFake({ settings: { VEXEL_MAX_CONNECTIONS: "1" } });
    const { fake, gateway } = edge;
    // A request in flight, whose connection cannot be evicted.
    fake.script({ hang: "headers" });
    const open = await RawConnection.open(gateway.url, embeddingsText("a"));
    await fake.arrived(1);
    const statusOf = async (path: string): Promise<unknown[]> => {
      const connection = await RawConnection.open(gateway.url, get(path));
      const { status, headers } = await connection.response();
      await connection.closed;
      return [status, headers.get("connection")];
    };
    const statuses = await Promise.all(["/healthz", "/readyz", "/v1/models", "/"].map(statusOf));
    expect(statuses).toEqual([
      [200, "close"],
      [200, "close"],
      [503, "close"],
      [503, "close"],
    ]);
    open.disconnect();
  });

  const cpuTicks = (pid: number): number => {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return Number(fields[11]) + Number(fields[12]);
  };

  test("logs that it has no file descriptors, does not spin, and recovers", async () => {
    using folder = temporaryFolder();
    const gateway = await startProcess({
      folder: folder.path,
      env: { VEXEL_MAX_CONNECTIONS: "1000" },
      openFiles: 100,
    });
    const connections: RawConnection[] = [];
    try {
      for (let at = 0; at < 200; at++) {
        connections.push(await RawConnection.open(gateway.url));
        // A head that never ends.
        connections.at(-1)?.send("GET / HTTP/1.1\r\n");
      }
      await until(() => gateway.output().includes('"outOfDescriptors":true'));
      const before = cpuTicks(gateway.pid);
      await Bun.sleep(2000);
      // Ticks of 10 ms: a loop that spins takes all of the 2 s.
      expect((cpuTicks(gateway.pid) - before) * 10).toBeLessThan(1500);
      for (const connection of connections) connection.disconnect();
      let status = 0;
      for (let at = 0; at < 50 && status !== 200; at++) {
        status = await fetch(`${gateway.url}/healthz`).then(
          (response) => response.status,
          () => 0,
        );
        if (status !== 200) await Bun.sleep(100);
      }
      expect(status).toBe(200);
    } finally {
      gateway.kill("SIGKILL");
      await gateway.exited;
    }
  });
});
