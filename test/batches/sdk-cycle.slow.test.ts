/** The official SDKs do the whole cycle over HTTP: webhook endpoint, file, batch, results and the verified event. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { join } from "node:path";
import OpenAI, { toFile } from "openai";
import { startReceiver } from "../events/webhooks-fixture.ts";
import { type Fake, startFake } from "../fake-upstream.ts";
import {
  configFor,
  type GatewayProcess,
  startProcess,
  temporaryFolder,
  testKey,
} from "../harness.ts";
import { testIf } from "../programs.ts";
import { pythonWithOpenai, withPython } from "../python.ts";
import { until } from "../until.ts";
import { embeddingLine, resultLines } from "./lines.ts";

let fake: Fake;
let gateway: GatewayProcess;
const folder = temporaryFolder();
beforeAll(async () => {
  fake = startFake();
  gateway = await startProcess({
    folder: folder.path,
    yaml: configFor(fake.url),
    env: { VEXEL_WEBHOOK_PRIVATE: "127.0.0.1" },
  });
});
afterAll(async () => {
  await gateway.close();
  fake.close();
  folder[Symbol.dispose]();
});

const ids = Array.from({ length: 20 }, (_, at) => `line-${at}`);

test("OpenAI for Node", async () => {
  const client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: testKey, maxRetries: 0 });
  const receiver = startReceiver();
  const endpoint = await client.webhooks.create({
    name: "cycle",
    url: receiver.url,
    event_types: ["batch.completed", "batch.failed"],
  });
  const lines = Buffer.from(ids.map((id) => embeddingLine(id)).join(""));
  const file = await client.files.create({
    file: await toFile(lines, "lines.jsonl"),
    purpose: "batch",
  });
  const created = await client.batches.create({
    input_file_id: file.id,
    endpoint: "/v1/embeddings",
    completion_window: "24h",
  });
  await until(() => receiver.received.length > 0);
  const [received] = receiver.received;
  const event = await client.webhooks.unwrap(
    received?.body ?? "",
    received?.headers ?? {},
    endpoint.signing_secret,
  );
  expect(event).toMatchObject({ type: "batch.completed", data: { id: created.id } });
  const batch = await client.batches.retrieve(created.id);
  expect(batch).toMatchObject({
    status: "completed",
    request_counts: { total: 20, completed: 20, failed: 0 },
  });
  const results = await resultLines(client, batch.output_file_id as string);
  expect(results.map(({ custom_id }) => custom_id).sort()).toEqual(ids.toSorted());
  await client.webhooks.delete(endpoint.id);
  receiver.close();
});

testIf(withPython)("OpenAI for Python", async () => {
  const script = join(import.meta.dir, "cycle.py");
  const child = Bun.spawn([pythonWithOpenai ?? "python3", script, `${gateway.url}/v1`, testKey], {
    stdout: "pipe",
    stderr: "pipe",
  });
  const [output, errors] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  expect(`${await child.exited} ${errors}`).toBe("0 ");
  expect(JSON.parse(output)).toEqual({
    event: "batch.completed",
    same: true,
    status: "completed",
    counts: { total: 20, completed: 20, failed: 0 },
    ids: ids.toSorted(),
    dimensions: 8,
    listed: true,
  });
});
