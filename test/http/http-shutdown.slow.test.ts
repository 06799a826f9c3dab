/** Graceful shutdown: clients see a complete response or an orderly close, not a reset. */

import { describe, expect, test } from "bun:test";
import { connect } from "node:net";
import { startFake } from "../fake-upstream.ts";
import { configFor, startProcess, temporaryFolder } from "../harness.ts";
import { until } from "../until.ts";
import { embeddingsText } from "./gateway-fixture.ts";
import { afterGate, gate, get, post, respondWith, serve } from "./http-server-fixture.ts";

/** A client that records how its connection ends, and keeps its own side open. */
class Client {
  received = "";
  ended = false;
  errors: string[] = [];
  readonly #socket;

  constructor(port: number) {
    this.#socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
    this.#socket.setNoDelay(true);
    this.#socket.on("data", (bytes) => {
      this.received += bytes.toString("latin1");
    });
    this.#socket.on("end", () => {
      this.ended = true;
    });
    this.#socket.on("error", (error: NodeJS.ErrnoException) => this.errors.push(error.code ?? ""));
  }

  say(text: string): void {
    this.#socket.write(text);
  }

  close(): void {
    this.#socket.destroy();
  }
}

/** A client that has had one response on its connection. */
async function servedClient(port: number): Promise<Client> {
  const client = new Client(port);
  client.say(get("/"));
  await until(() => client.received.endsWith("served"));
  return client;
}

describe("a server that stops", () => {
  test("closes an idle connection with FIN, also if a request crosses it in the network", async () => {
    await using served = serve(() => respondWith("served"));
    const client = await servedClient(served.server.port);
    const stopping = served.server.stop(false);
    await until(() => client.ended);
    // Sent before the client could know.
    client.received = "";
    for (let at = 0; at < 5; at++) {
      client.say(post("/", "x".repeat(100_000)));
      await Bun.sleep(10);
    }
    expect([client.received, client.errors]).toEqual(["", []]);
    client.close();
    await stopping;
  });

  test("immediately gives a request that crosses its FIN a short time as well", async () => {
    await using served = serve(() => respondWith("served"));
    const client = await servedClient(served.server.port);
    const stopping = served.server.stop(true);
    await until(() => client.ended);
    client.say(get("/"));
    await Bun.sleep(20);
    expect(client.errors).toEqual([]);
    client.close();
    await stopping;
  });

  test("does not wait without a limit for clients that do not close their side", async () => {
    await using served = serve(() => respondWith("served"));
    const client = await servedClient(served.server.port);
    await served.server.stop(true);
    expect([client.ended, client.errors]).toEqual([true, []]);
    client.close();
  });

  test("completes a response in flight with connection: close, and does not reset the connection after it", async () => {
    const go = gate();
    await using served = serve(afterGate(go, () => respondWith("x".repeat(3_000_000))));
    const client = new Client(served.server.port);
    client.say(get("/"));
    await until(() => served.server.pending() === 1);
    const stopping = served.server.stop(false);
    go.open();
    client.say(get("/behind"));
    await until(() => client.ended);
    client.say(get("/late"));
    await Bun.sleep(20);
    expect(client.received).toContain("connection: close\r\n");
    expect(client.received.slice(client.received.indexOf("\r\n\r\n") + 4)).toHaveLength(3_000_000);
    expect(client.errors).toEqual([]);
    client.close();
    await stopping;
  });
});

test("SIGTERM resets no client: each gets a response or an orderly close", async () => {
  using folder = temporaryFolder();
  const fake = startFake();
  const gateway = await startProcess({ folder: folder.path, yaml: configFor(fake.url) });
  try {
    const port = Number(new URL(gateway.url).port);
    const clients = Array.from({ length: 20 }, () => new Client(port));
    const request = embeddingsText("a");
    for (const client of clients) client.say(request);
    await until(() => clients.every(({ received }) => received.includes("embedding")));
    fake.clear();
    fake.script({ delayMs: 300 }, { times: 5 });
    const slow = clients.slice(0, 5);
    for (const [at, client] of slow.entries()) {
      client.received = "";
      client.say(request.replaceAll('"a"', `"${at}"`));
    }
    // They may go upstream as one batch.
    await fake.arrived(1);
    await Bun.sleep(50);
    gateway.kill("SIGTERM");
    // Others send their next request at all moments of the shutdown, until they see that it is over.
    for (const client of clients.slice(5)) {
      client.received = "";
      setTimeout(() => !client.ended && client.say(request), Math.random() * 600);
    }
    await until(() => clients.every(({ ended }) => ended));
    for (const client of clients) client.close();
    expect(await gateway.exited).toBe(0);
    expect(clients.flatMap(({ errors }) => errors)).toEqual([]);
    for (const { received } of slow) expect(received).toStartWith("HTTP/1.1 200");
    for (const { received } of clients) {
      if (received !== "") expect(received).toContain("connection: close");
    }
  } finally {
    gateway.kill("SIGKILL");
    await gateway.exited;
    await fake.close();
  }
});
