/** Shutdown with keep-alive connections: no request of an open connection is lost. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { startFake } from "../fake-upstream.ts";
import { configFor, post, startProcess, temporaryFolder } from "../harness.ts";

const fake = startFake();
const folder = temporaryFolder();
beforeAll(() => fake.clear());
afterAll(async () => {
  await fake.close();
  folder[Symbol.dispose]();
});

test('clients with keep-alive connections lose no request at shutdown, and get "connection: close"', async () => {
  const gateway = await startProcess({ folder: folder.path, yaml: configFor(fake.url) });
  const body = { model: "text-embedding-3-small", input: "hello" };
  let closed = 0;
  let completed = 0;
  const failures: string[] = [];
  const sendUntilClosed = async (): Promise<void> => {
    for (;;) {
      const response = await post(`${gateway.url}/v1/embeddings`, body).catch((error: Error) => {
        failures.push(error.message);
        return undefined;
      });
      if (!response) return;
      await response.bytes();
      if (response.status !== 200) failures.push(String(response.status));
      completed++;
      // The client closes its connection, and would now connect to another gateway.
      if (response.headers.get("connection") === "close") {
        closed++;
        return;
      }
    }
  };
  const clients = Array.from({ length: 8 }, sendUntilClosed);
  while (completed <= 20) await Bun.sleep(5);
  gateway.kill("SIGTERM");
  expect(await gateway.exited).toBe(0);
  await Promise.all(clients);
  expect(failures).toEqual([]);
  expect(closed).toBe(clients.length);
});
