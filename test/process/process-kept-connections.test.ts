/** Stopping while callers keep their connections: nobody who was already there loses a call. */
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

test("callers with kept connections lose no call when the gateway stops, and are told to go", async () => {
  const gateway = await startProcess({ folder: folder.path, yaml: configFor(fake.url) });
  const body = { model: "text-embedding-3-small", input: "hello" };
  let told = 0;
  let answered = 0;
  const broken: string[] = [];
  const call = async (): Promise<void> => {
    for (;;) {
      const response = await post(`${gateway.url}/v1/embeddings`, body).catch((error: Error) => {
        broken.push(error.message);
        return undefined;
      });
      if (!response) return;
      await response.bytes();
      if (response.status !== 200) broken.push(String(response.status));
      answered++;
      // Told to go: a caller would now turn to another gateway.
      if (response.headers.get("connection") === "close") {
        told++;
        return;
      }
    }
  };
  const callers = Array.from({ length: 8 }, call);
  while (answered <= 20) await Bun.sleep(5);
  gateway.kill("SIGTERM");
  expect(await gateway.exited).toBe(0);
  await Promise.all(callers);
  expect(broken).toEqual([]);
  expect(told).toBe(callers.length);
});
