/** The number of connections is bounded, and a connection beyond the bound gets an error that says why. */

import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { maxConnections } from "../../server/http/max-connections.ts";
import { readSettings } from "../../server/settings.ts";
import { startProcess, temporaryFolder } from "../harness.ts";
import { until } from "../until.ts";
import {
  embeddingsText,
  expectError,
  RawConnection,
  startGatewayWithFake,
} from "./gateway-fixture.ts";
import {
  afterGate,
  gate,
  get,
  type Handle,
  post,
  respondWith,
  serve,
} from "./http-server-fixture.ts";

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
    await using served = serve(() => respondWith("served"), { maxConnections: 2 });
    const [older, newer] = [await served.connect(), await served.connect()];
    const use = async (connection: RawConnection): Promise<void> => {
      connection.send(get("/"));
      expect((await connection.response()).body).toBe("served");
    };
    for (const connection of [newer, older, newer]) await use(connection);
    await use(await served.connect());
    await older.closed;
    await use(newer);
    await until(() => served.server.connections().open === 2);
    expect(served.server.connections()).toMatchObject({ open: 2, refused: 0, evicted: 1 });
  });

  test.each([
    ["no request", ""],
    ["an unfinished request head", "GET / HT"],
    ["an unfinished body after the response", post("/", "hello").slice(0, -1)],
  ])("serves a request while clients hold every connection with %s", async (_, text) => {
    await using served = serve(() => respondWith("served"), { maxConnections: 3 });
    const silent = await Promise.all(Array.from({ length: 3 }, () => served.connect(text)));
    await until(() => served.server.connections().open === 3 && served.server.pending() === 0);
    expect(await served.statusFor(get("/"))).toBe(200);
    await until(() => silent.filter(({ isClosed }) => isClosed).length === 1);
    expect(served.server.connections().evicted).toBe(1);
  });

  test("never closes a connection for its own request, however long it was open before that", async () => {
    const go = gate();
    await using served = serve(
      afterGate(go, () => respondWith("served")),
      { maxConnections: 2 },
    );
    const [busy, idle] = [await served.connect(get("/")), await served.connect()];
    await until(() => served.server.pending() === 1 && served.server.connections().open === 2);
    const late = await served.connect();
    await until(() => served.server.connections().open === 3);
    late.send(get("/"));
    await until(() => served.server.pending() === 2);
    await idle.closed;
    go.open();
    expect((await late.response()).status).toBe(200);
    expect((await busy.response()).status).toBe(200);
    expect(served.server.connections()).toMatchObject({ open: 2, refused: 0, evicted: 1 });
  });

  test("serves probes while hundreds of connections beyond it are open", async () => {
    const go = gate();
    const response: Handle = async ({ head }) => {
      if (head.path !== "/healthz") await go.opened;
      return respondWith("served");
    };
    await using served = serve(response, {
      maxConnections: 1,
      clock: () => 0,
      isProbe: (path) => path === "/healthz",
    });
    const busy = await served.connect(get("/"));
    await until(() => served.server.pending() === 1);
    for (let round = 0; round < 4; round++) {
      // Some send nothing, others do not read their refusal.
      for (let at = 0; at < 100; at++) {
        const surplus = await served.connect();
        if (at % 2 === 0) surplus.send(get("/"));
      }
      expect(await served.statusFor(get("/healthz"))).toBe(200);
      expect(served.server.connections().open).toBeLessThan(100);
    }
    go.open();
    expect((await busy.response()).body).toBe("served");
  });
});

const ofSettings = (env: Record<string, string>) => {
  const { VEXEL_MAX_CONNECTIONS: configured, VEXEL_MAX_CONCURRENT: maxConcurrent } =
    readSettings(env);
  return { configured, maxConcurrent };
};

describe("the maximum", () => {
  test.each([
    [1024, 384],
    [20_000, 10_000],
    [8_192, 3968],
    [1_048_576, 10_000],
    [64, 24],
  ])("of a process with %i descriptors is %i by default", (limit, expected) => {
    expect(maxConnections(ofSettings({}), limit)).toBe(expected);
  });

  test("leaves a descriptor for every upstream connection if that is possible", () => {
    expect(maxConnections(ofSettings({ VEXEL_MAX_CONCURRENT: "100" }), 2000)).toBe(2000 - 356);
  });

  test("leaves the gateway's own descriptors even if each connection has one upstream connection", () => {
    for (const limit of [256, 300, 1024, 4096, 8192]) {
      const left = limit - 2 * maxConnections(ofSettings({}), limit);
      expect(left).toBeGreaterThanOrEqual(Math.min(256, limit / 4));
    }
  });

  test("is the value of the setting, if it is set", () => {
    expect(maxConnections(ofSettings({ VEXEL_MAX_CONNECTIONS: "7" }), 1024)).toBe(7);
  });
});

describe("the gateway", () => {
  test("refuses a connection beyond VEXEL_MAX_CONNECTIONS in OpenAI's shape, and says so in /readyz", async () => {
    await using edge = startGatewayWithFake({ settings: { VEXEL_MAX_CONNECTIONS: "1" } });
    const { fake, gateway } = edge;
    const { url } = gateway;
    fake.script({ hang: "headers" });
    const busy = await RawConnection.open(url, embeddingsText("a"));
    await fake.arrived(1);
    const refused = await RawConnection.open(url, get("/"));
    const response = await refused.response();
    expect(response.headers.get("retry-after")).toBe("1");
    expect(response.headers.get("connection")).toBe("close");
    expect(await expectError(response, "overloaded")).toContain("connections");
    await refused.closed;
    const probe = await RawConnection.open(url, get("/readyz"));
    const ready = JSON.parse((await probe.response()).body);
    expect(ready.connections).toMatchObject({ max: 1, refused: 1, evicted: 0 });
    busy.disconnect();
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
