/** Reservations of a killed gateway are recovered and charged once. */

import { expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { startFake } from "../fake-upstream.ts";
import { readLedger, startProcess, temporaryFolder } from "../harness.ts";
import { until } from "../until.ts";

const key = "sk-test-killed-000000000";

/** A gateway process with one model, dall-e-3 at four cents an image, that can be killed and started again. */
function arrangeProcess(keys: string) {
  const folder = temporaryFolder();
  const fake = startFake();
  const yaml = `
upstreams:
  - { id: fake, kind: openai, baseUrl: "${fake.url}", apiKey: sk-fake }
models:
  - { id: dall-e-3, kind: image, targets: [{ upstream: fake, model: dall-e-3 }] }
${keys}`;
  const start = () => startProcess({ folder: folder.path, yaml });
  type Gateway = Awaited<ReturnType<typeof start>>;
  return {
    fake,
    data: join(folder.path, "data"),
    start,
    generate: async (gateway: Gateway): Promise<number> => {
      const body = { model: "dall-e-3", prompt: "an otter" };
      const headers = { authorization: `Bearer ${key}` };
      const response = await gateway.post("/v1/images/generations", body, headers);
      await response.text();
      return response.status;
    },
    end: async (gateway: Gateway, signal: NodeJS.Signals): Promise<void> => {
      gateway.kill(signal);
      await gateway.exited;
    },
    [Symbol.dispose]: () => {
      fake.close();
      folder[Symbol.dispose]();
    },
  };
}

test("image requests that were served before the gateway was killed, or in flight, are charged after its restart", async () => {
  using arranged = arrangeProcess(`
keys:
  - { name: killed, key: ${key}, project: web }
projects:
  - { name: web, budget: { total: 0.12 } }
`);
  const { fake, data, start, generate, end } = arranged;
  const first = await start();
  expect(await generate(first)).toBe(200);
  fake.script({ hang: "headers" });
  const cut = generate(first).catch(() => "cut off");
  await until(() => fake.requests.filter(({ method }) => method === "POST").length === 2);
  await end(first, "SIGKILL");
  expect(await cut).toBe("cut off");
  fake.clear();

  const second = await start();
  expect(second.output()).toContain('"in-flight-recovered","requests":1,');
  expect(await generate(second)).toBe(200);
  expect(await generate(second)).toBe(429);
  await end(second, "SIGTERM");
  const recoveredRow = readLedger(data).filter(({ estimatedCost: estimate }) => estimate !== null);
  expect(recoveredRow).toMatchObject([
    {
      project: "web",
      model: "dall-e-3",
      status: 500,
      error: "internal",
      cost: null,
      estimatedCost: 0.04,
    },
  ]);

  const third = await start();
  expect(third.output()).not.toContain('"in-flight-recovered"');
  await end(third, "SIGTERM");
  expect(readdirSync(data).filter((file) => file.startsWith("outbox-"))).toEqual([]);
});

test("requests of a key without a budget, and requests without a price, have a ledger row after the gateway was killed", async () => {
  using folder = temporaryFolder();
  const fake = startFake();
  using closing = new DisposableStack();
  closing.defer(() => fake.close());
  const yaml = `
upstreams:
  - { id: fake, kind: openai, baseUrl: "${fake.url}", apiKey: sk-fake }
  - { id: local, kind: openai-compatible, baseUrl: "${fake.url}" }
models:
  - { id: priced, kind: embedding, targets: [{ upstream: fake, model: text-embedding-3-small }] }
  - { id: unpriced, kind: embedding, targets: [{ upstream: local, model: of-nobody }] }
keys:
  - { name: killed, key: ${key} }
`;
  const first = await startProcess({ folder: folder.path, yaml });
  fake.script({ hang: "headers" }, { times: 2 });
  const headers = { authorization: `Bearer ${key}` };
  const ends = ["priced", "unpriced"].map((model) =>
    first.post("/v1/embeddings", { model, input: "an otter" }, headers).catch(() => "cut off"),
  );
  await until(() => fake.requests.filter(({ method }) => method === "POST").length === 2);
  first.kill("SIGKILL");
  expect(await Promise.all(ends)).toEqual(["cut off", "cut off"]);

  const second = await startProcess({ folder: folder.path, yaml });
  second.kill("SIGTERM");
  await second.exited;
  const rows = readLedger(join(folder.path, "data"));
  const killed = { status: 500, error: "internal", cost: null };
  expect(rows.toSorted((a, b) => String(a.model).localeCompare(String(b.model)))).toMatchObject([
    { ...killed, model: "priced", estimatedCost: 0.00000004 },
    { ...killed, model: "unpriced", estimatedCost: null },
  ]);
});
