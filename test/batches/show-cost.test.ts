/** Who sees the costs of a batch: the API key that reads it decides, or its model. */
import { expect, test } from "bun:test";
import { startFake } from "../fake-upstream.ts";
import { configFor, startGateway } from "../harness.ts";
import { embeddingLine, endOfBatch, sdkOf, uploadLines } from "./lines.ts";
import type { VexelBatch } from "./vendor/vendor-fixture.ts";

const keys = { accountant: "sk-first-0123456789abcdef", mate: "sk-mate-0123456789abcdef" };
const yamlOf = (upstream: string, model = ""): string =>
  `${configFor(upstream)}
  - { name: accountant, key: ${keys.accountant}, project: one, showCost: true }
  - { name: mate, key: ${keys.mate}, project: one }
projects:
  - { name: one }
`.replace("id: embedding-model,", `id: embedding-model,${model}`);

test("an API key without showCost sees no cost of a batch, whichever key has created it", async () => {
  const fake = startFake();
  const gateway = startGateway({ yaml: yamlOf(fake.url) });
  try {
    const accountant = sdkOf(gateway.baseURL, keys.accountant);
    const mate = sdkOf(gateway.baseURL, keys.mate);
    const create = async (client: typeof mate, text: string): Promise<string> => {
      const { id } = await client.batches.create({
        input_file_id: await uploadLines(client, embeddingLine(text)),
        endpoint: "/v1/embeddings",
        completion_window: "24h",
      });
      return (await endOfBatch(client, id)).id;
    };
    const shown = async (client: typeof mate, id: string) => {
      const { vexel } = (await client.batches.retrieve(id)) as VexelBatch;
      const listed = (await client.batches.list()).data.find((batch) => batch.id === id);
      expect((listed as VexelBatch).vexel).toEqual(vexel);
      return vexel;
    };
    const hidden = { batch: "now", estimated_cost: null, cost: null, waiting: null };
    const visible = {
      batch: "now",
      estimated_cost: { now: expect.any(Number), vendor: expect.any(Number) },
      cost: { actual: expect.any(Number), now: expect.any(Number) },
      waiting: null,
    };
    for (const creator of [accountant, mate]) {
      const id = await create(creator, `by ${keys.mate === creator.apiKey ? "mate" : "other"}`);
      expect(await shown(mate, id)).toEqual(hidden);
      expect(await shown(accountant, id)).toEqual(visible);
    }
    gateway.reload(yamlOf(fake.url, " showCost: true,"));
    const [{ id } = { id: "" }] = (await mate.batches.list()).data;
    expect(await shown(mate, id)).toEqual(visible);
  } finally {
    await gateway.close();
    fake.close();
  }
});
