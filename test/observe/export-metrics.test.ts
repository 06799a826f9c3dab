/** Metrics over OTLP as a real receiver gets them: the GenAI conventions, the gateway's own, and the shared stores. */
import { expect, test } from "bun:test";
import { closeAfterAll } from "../clean-up.ts";
import { startFake } from "../fake-upstream.ts";
import { configFor, startProcess, temporaryFolder } from "../harness.ts";
import { until } from "../until.ts";
import { startCollector } from "./otlp-collector.ts";

const fake = startFake();
const collector = startCollector();
closeAfterAll(fake, collector);
const model = "text-embedding-3-small";

test("the collector gets the GenAI metrics of requests, attempts and tokens beside the gateway's own", async () => {
  using folder = temporaryFolder();
  await using resources = new AsyncDisposableStack();
  const gateway = await startProcess({
    folder: folder.path,
    yaml: configFor(fake.url),
    env: { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url },
  });
  resources.defer(() => gateway.close());
  const embed = (named: string) =>
    gateway.post("/v1/embeddings", { model: named, input: "an otter" });
  expect((await embed(model)).status).toBe(200);
  expect((await embed("embedding-model")).status).toBe(200);
  fake.script({ response: { status: 400, body: "{}" } }, { times: 1 });
  expect((await embed("text-embedding-ada-002")).status).toBe(400);
  // The last values are exported at the shutdown.
  gateway.kill("SIGTERM");
  await gateway.exited;
  const common = { "gen_ai.operation.name": "embeddings", "gen_ai.provider.name": "openai" };
  const requests = collector.points("gen_ai.server.request.duration");
  expect(requests.map(({ attributes }) => attributes)).toContainEqual({
    ...common,
    "gen_ai.request.model": "embedding-model",
    "http.route": "/v1/embeddings",
  });
  expect(requests.every(({ unit, count }) => unit === "s" && count === 1)).toBeTrue();
  const failed = requests.find(({ attributes }) => attributes["error.type"] !== undefined);
  expect(failed?.attributes["gen_ai.request.model"]).toBe("text-embedding-ada-002");
  // The name of the model at the upstream.
  expect(
    collector.points("gen_ai.client.operation.duration").map(({ attributes }) => attributes),
  ).toContainEqual({ ...common, "gen_ai.request.model": "text-embedding-3-large" });
  const [tokens] = collector.points("gen_ai.client.token.usage");
  expect(tokens?.attributes).toEqual({
    ...common,
    "gen_ai.request.model": model,
    "gen_ai.token.type": "input",
  });
  expect([tokens?.unit, tokens?.explicitBounds?.at(-1)]).toEqual(["{token}", 67_108_864]);
  expect(tokens?.sum).toBeGreaterThan(0);
  const own = collector.points("vexel_requests").map(({ asDouble }) => asDouble);
  expect(own.reduce((sum = 0, each = 0) => sum + each)).toBe(3);
  expect(collector.points("vexel_ready")).toHaveLength(1);
  expect(collector.resource()).toMatchObject({
    "service.name": "vexel",
    "service.instance.id": expect.any(String),
  });
});

test("an unavailable object store is a metric and an event, and its calls are timed", async () => {
  using folder = temporaryFolder();
  const token = "metrics-token-0123456789";
  await using resources = new AsyncDisposableStack();
  const gateway = await startProcess({
    folder: folder.path,
    yaml: configFor(fake.url),
    env: {
      // Port 9 (discard) has no server.
      BLOB_URL: "s3://the-id:the-secret@bucket?endpoint=http://127.0.0.1:9",
      VEXEL_SECRET: "the-secret-of-all-replicas",
      VEXEL_METRICS_TOKEN: token,
      VEXEL_ADMIN_TOKEN: token,
    },
  });
  resources.defer(() => gateway.close());
  const authorization = `Bearer ${token}`;
  await until(() => gateway.output().includes("object-store-unavailable"));
  const events = await fetch(`${gateway.url}/admin/api/events`, { headers: { authorization } });
  expect(await events.text()).toContain('"object_store.unavailable"');
  const metrics = await fetch(`${gateway.url}/metrics`, { headers: { authorization } });
  const text = await metrics.text();
  expect(text).toContain("vexel_object_store_available 0\n");
  expect(text).toMatch(
    /vexel_store_call_duration_seconds_count{store="object_store",outcome="error"} [1-9]/,
  );
});
