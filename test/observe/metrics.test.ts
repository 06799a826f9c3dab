/**
 * Metrics: what a scrape reports after real requests, who may scrape, and that labels and merging are bounded and
 * right.
 */
import { expect, test } from "bun:test";
import type { ShownTarget } from "../../contract/admin.ts";
import { formatMetrics } from "../../server/observe/metrics/format-metrics.ts";
import { targetGauges } from "../../server/observe/metrics/gateway-gauges.ts";
import { readGauge } from "../../server/observe/metrics/gauge.ts";
import { Counter, Histogram } from "../../server/observe/metrics/instruments.ts";
import { type MetricSnapshot, mergeMetrics } from "../../server/observe/metrics/metric-snapshot.ts";
import { closeAfterAll } from "../clean-up.ts";
import { startFake } from "../fake-upstream.ts";
import { configFor, startGateway, testKey } from "../harness.ts";

const token = "metrics-token-0123456789";
const fake = startFake();
const freePort = (): number => {
  const server = Bun.serve({ port: 0, fetch: () => new Response() });
  const { port } = server;
  void server.stop(true);
  return port ?? 0;
};
const metricsPort = freePort();
const gateway = startGateway({
  yaml: configFor(fake.url),
  settings: {
    VEXEL_METRICS_TOKEN: token,
    VEXEL_METRICS_PORT: String(metricsPort),
    VEXEL_CACHE_BYTES: "1048576",
  },
});
closeAfterAll(gateway, fake);

const scrape = async (): Promise<string> => {
  const response = await fetch(`${gateway.url}/metrics`, {
    headers: { authorization: `Bearer ${token}` },
  });
  expect(response.status).toBe(200);
  return response.text();
};

/** The value of one line, by the start of the line. */
const sampleOf = (text: string, series: string): number | undefined => {
  const line = text.split("\n").find((each) => each.startsWith(`${series} `));
  return line === undefined ? undefined : Number(line.slice(series.length + 1).split(" ")[0]);
};

test("a scrape reports requests, stages, attempts, tokens, images, cost and cache hits", async () => {
  fake.clear();
  const embed = (input: string) =>
    gateway.post("/v1/embeddings", { model: "text-embedding-3-small", input });
  await embed("an otter");
  await embed("an otter");
  await gateway.post("/v1/images/generations", { model: "gpt-image-2", prompt: "an otter" });
  fake.script({ response: { status: 503, body: "{}" } }, { times: 9 });
  expect((await embed("a boat")).status).toBeGreaterThanOrEqual(500);
  await gateway.post("/v1/embeddings", { model: "no-such-model", input: "x" });
  const text = await scrape();

  const model = "text-embedding-3-small";
  const requests = (rest: string) => sampleOf(text, `vexel_requests_total{${rest}}`);
  expect(requests(`endpoint="embeddings",model="${model}",status="200",error=""`)).toBe(2);
  expect(requests(`endpoint="generations",model="gpt-image-2",status="200",error=""`)).toBe(1);
  expect(requests(`endpoint="embeddings",model="",status="404",error="model_not_found"`)).toBe(1);
  const count = (name: string, labels: string) => sampleOf(text, `${name}_count{${labels}}`);
  const embeddings = `endpoint="embeddings",model="${model}"`;
  expect(count("vexel_request_duration_seconds", embeddings)).toBe(3);
  const stage = (name: string) =>
    count("vexel_request_stage_duration_seconds", `endpoint="embeddings",stage="${name}"`);
  expect([stage("receive"), stage("upstream"), stage("ledger")]).toEqual([4, 2, 4]);
  const attempts = (outcome: string) =>
    sampleOf(
      text,
      `vexel_upstream_attempts_total{upstream="fake",model="${model}",outcome="${outcome}"}`,
    );
  expect(attempts("success")).toBe(1);
  expect(attempts("upstream_overloaded")).toBeGreaterThan(0);
  const inputs = (source: string) =>
    sampleOf(text, `vexel_embedding_inputs_total{model="${model}",source="${source}"}`);
  expect(inputs("cache")).toBe(1);
  expect(inputs("upstream")).toBe(2);
  expect(sampleOf(text, `vexel_tokens_total{model="${model}",direction="input"}`)).toBeGreaterThan(
    0,
  );
  expect(sampleOf(text, `vexel_images_total{model="gpt-image-2"}`)).toBe(1);
  expect(text).toMatch(/^vexel_cost_dollars_total\{model="gpt-image-2",upstream="fake"\} 0\.\d+/m);
  const state = `upstream="fake",model="${model}",state`;
  const states = ["healthy", "cooling", "half_open", "ejected"].map(
    (each) => sampleOf(text, `vexel_target_state{${state}="${each}"}`) ?? 0,
  );
  expect(states.reduce((sum, each) => sum + each, 0)).toBe(1);
  for (const gauge of ["vexel_requests_queued", "vexel_outbox_rows", "vexel_ready"])
    expect(sampleOf(text, gauge)).toBeGreaterThanOrEqual(0);

  expect(text).toContain("# TYPE vexel_requests_total counter");
});

test("metrics need their token on both ports, and no API key opens them", async () => {
  const status = async (url: string, secret?: string) => {
    const headers = secret === undefined ? {} : { authorization: `Bearer ${secret}` };
    return (await fetch(url, { headers })).status;
  };
  for (const url of [`${gateway.url}/metrics`, `http://127.0.0.1:${metricsPort}/metrics`]) {
    expect(await status(url)).toBe(401);
    expect(await status(url, testKey)).toBe(401);
    expect(await status(url, token)).toBe(200);
  }
  expect(await status(`http://127.0.0.1:${metricsPort}/v1/models`, token)).toBe(404);
});

test("without a metrics setting, a gateway has no metrics", async () => {
  const plain = startGateway({ yaml: configFor(fake.url) });
  try {
    const response = await fetch(`${plain.url}/metrics`);
    expect(response.status).toBe(404);
    expect(await response.text()).toContain("set VEXEL_METRICS_TOKEN");
  } finally {
    await plain.close();
  }
});

test("a port for metrics that is in use stops the start, and the message names the setting", () => {
  const start = () =>
    startGateway({
      yaml: configFor(fake.url),
      settings: { VEXEL_METRICS_PORT: String(metricsPort) },
    });
  expect(start).toThrow(`VEXEL_METRICS_PORT=${metricsPort} on 127.0.0.1 cannot be used.`);
});

test("an ejected target is in the metrics, however many targets there are", () => {
  const targets = Array.from({ length: 1500 }, (_, number) => ({
    upstream: "u",
    model: `m${number}`,
    surface: null,
    state: number === 1400 ? "ejected" : "healthy",
    in_flight: 0,
    limit: null,
  })) as unknown as ShownTarget[];
  const text = formatMetrics(targetGauges(() => targets).map(readGauge));
  const state = (model: string, each: string) =>
    sampleOf(text, `vexel_target_state{upstream="u",model="${model}",state="${each}"}`);
  expect([state("m1400", "ejected"), state("m1400", "healthy")]).toEqual([1, 0]);
  expect([state("m900", "ejected"), state("m900", "healthy")]).toEqual([0, 1]);
  expect(state("m1499", "healthy")).toBeUndefined();
});

test("label sets beyond the maximum of a metric are counted as other", () => {
  const options = { help: "h", labelNames: ["model", "status"], maxSeries: 3 };
  const counter = new Counter({ name: "c", ...options });
  const histogram = new Histogram({ name: "h", ...options, bounds: [1] });
  for (let index = 0; index < 10; index++) {
    counter.add(1, `model-${index}`, "200");
    counter.add(1, "model-0", "200");
    histogram.observe(index, `model-${index}`, "200");
  }
  const text = formatMetrics([counter.snapshot(), histogram.snapshot()]);
  expect(text.match(/^c_total/gm)).toHaveLength(4);
  expect(sampleOf(text, `c_total{model="model-0",status="200"}`)).toBe(11);
  expect(sampleOf(text, `c_total{model="other",status="other"}`)).toBe(7);
  expect(text.match(/^h_count/gm)).toHaveLength(4);
  expect(sampleOf(text, `h_count{model="other",status="other"}`)).toBe(7);
});

test("merged metrics of several processes are sums", () => {
  const processOf = (requests: number, seconds: readonly number[], ready: number) => {
    const counter = new Counter({ name: "requests", help: "h", labelNames: ["model"] });
    counter.add(requests, "a");
    const histogram = new Histogram({ name: "seconds", help: "h", labelNames: [], bounds: [1, 2] });
    for (const value of seconds) histogram.observe(value);
    const gauge: MetricSnapshot = {
      name: "ready",
      help: "h",
      type: "gauge",
      labelNames: [],
      merge: "min",
      series: [{ labels: [], value: ready }],
    };
    // Workers send their metrics as JSON.
    const metrics = [counter.snapshot(), histogram.snapshot(), gauge];
    return JSON.parse(JSON.stringify(metrics)) as MetricSnapshot[];
  };
  const text = formatMetrics(
    mergeMetrics([processOf(1, [0.5], 1), processOf(2, [0.1, 0.2, 9], 0)]),
  );
  expect(sampleOf(text, `requests_total{model="a"}`)).toBe(3);
  expect(sampleOf(text, `seconds_bucket{le="1.0"}`)).toBe(3);
  expect(sampleOf(text, `seconds_bucket{le="+Inf"}`)).toBe(4);
  expect(sampleOf(text, "seconds_sum")).toBeCloseTo(9.8);
  expect(sampleOf(text, "ready")).toBe(0);
});
