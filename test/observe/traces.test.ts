/**
 * Traces: spans as a real OTLP/HTTP receiver gets them, W3C context in and out, sampling, and a collector that is away.
 */
import { describe, expect, test } from "bun:test";
import { createLog } from "../../server/lib/log.ts";
import { openTracing } from "../../server/observe/otlp/open-tracing.ts";
import { readSettings } from "../../server/settings.ts";
import { type Fake, startFake } from "../fake-upstream.ts";
import { configFor, startGateway, type TestGateway } from "../harness.ts";
import { sources, textOf } from "../laws/tree.ts";
import { type Collector, type ReceivedSpan, startCollector } from "./otlp-collector.ts";

const metricsToken = "metrics-token-0123456789";
const model = "text-embedding-3-small";

interface Traced extends AsyncDisposable {
  readonly gateway: TestGateway;
  readonly fake: Fake;
  readonly collector: Collector;
  /** Stops the gateway, which exports its last spans, and returns those of one trace. */
  spans(traceId: string): Promise<readonly ReceivedSpan[]>;
}

async function traced(
  sampler: string,
  {
    collector = startCollector(),
    ...settings
  }: { collector?: Collector; [name: string]: unknown } = {},
): Promise<Traced> {
  const fake = startFake();
  const silent = createLog({
    level: "silent",
    format: "json",
    now: () => new Date(),
    write: () => undefined,
  });
  const tracingSettings = readSettings({
    OTEL_EXPORTER_OTLP_ENDPOINT: `${collector.url}/`,
    OTEL_TRACES_SAMPLER: sampler,
  });
  const tracing = openTracing({
    endpoint: tracingSettings.OTEL_EXPORTER_OTLP_ENDPOINT,
    protocol: tracingSettings.OTEL_EXPORTER_OTLP_PROTOCOL,
    sampler,
    share: tracingSettings.OTEL_TRACES_SAMPLER_ARG,
    version: "0.0.0",
    replica: "replica-1",
    log: silent,
    clock: () => performance.now(),
    random: Math.random,
  });
  const gateway = startGateway({
    yaml: configFor(fake.url),
    settings: { VEXEL_METRICS_TOKEN: metricsToken, ...(settings as Record<string, string>) },
    tracing,
  });
  let closing: Promise<void> | undefined;
  const closeGateway = (): Promise<void> => {
    closing ??= gateway.close();
    return closing;
  };
  return {
    gateway,
    fake,
    collector,
    spans: async (traceId) => {
      await closeGateway();
      return collector.spans.filter((span) => span.traceId === traceId);
    },
    [Symbol.asyncDispose]: async () => {
      await closeGateway();
      fake.close();
      await collector.close();
    },
  };
}

const embed = (gateway: TestGateway, input: string, headers: Record<string, string> = {}) =>
  gateway.post("/v1/embeddings", { model, input }, headers);

const metrics = async (gateway: TestGateway): Promise<string> => {
  const authorization = `Bearer ${metricsToken}`;
  return (await fetch(`${gateway.url}/metrics`, { headers: { authorization } })).text();
};

/** The trace of a request without a client's trace. */
const traceOf = ({ headers }: Response): string =>
  headers.get("x-request-id")!.slice("req_".length);

const clientTrace = "0af7651916cd43dd8448eb211c80319c";
const clientSpan = "b7ad6b7169203331";

describe("traces", () => {
  test("a request continues its client's trace, with a span for it, each stage and each attempt", async () => {
    await using setup = await traced("parentbased_always_off");
    const { gateway, fake, collector } = setup;
    fake.script({ response: { status: 503, body: "{}" } }, { times: 1 });
    const response = await embed(gateway, "an otter", {
      traceparent: `00-${clientTrace}-${clientSpan}-01`,
      tracestate: "vendor=value",
    });
    expect(response.status).toBe(200);
    const requestId = response.headers.get("x-request-id");
    expect(gateway.log()).toContain(`"requestId":"${requestId}","traceId":"${clientTrace}"`);

    const spans = await setup.spans(clientTrace);
    expect(spans).toHaveLength(collector.spans.length);
    const root = spans.find(({ kind }) => kind === 2)!;
    expect(root).toMatchObject({ name: `embeddings ${model}`, parentSpanId: clientSpan });
    expect(root.attributes).toMatchObject({
      "gen_ai.operation.name": "embeddings",
      "gen_ai.request.model": model,
      "gen_ai.provider.name": "openai",
      "gen_ai.usage.input_tokens": 2,
      "http.request.method": "POST",
      "http.route": "/v1/embeddings",
      "http.response.status_code": 200,
      "vexel.request_id": requestId,
      "vexel.attempts": 2,
    });
    const attempts = spans.filter(({ kind }) => kind === 3);
    expect(attempts.map(({ status }) => status.code)).toEqual([2, 0]);
    expect(attempts[0]!.attributes["error.type"]).toBe("upstream_overloaded");
    const { hostname, port } = new URL(fake.url);
    for (const { attributes, parentSpanId } of attempts) {
      expect(parentSpanId).toBe(root.spanId);
      expect(attributes).toMatchObject({ "server.address": hostname, "server.port": Number(port) });
    }
    const stages = spans.filter(({ kind }) => kind === 1);
    expect(stages.map(({ name }) => name)).toEqual(["receive", "prepare", "respond", "ledger"]);
    for (const span of spans) {
      expect(BigInt(span.endTimeUnixNano) >= BigInt(span.startTimeUnixNano)).toBeTrue();
      expect(BigInt(span.startTimeUnixNano) >= BigInt(root.startTimeUnixNano)).toBeTrue();
      expect(BigInt(span.endTimeUnixNano) <= BigInt(root.endTimeUnixNano)).toBeTrue();
    }
    expect(new Set(spans.map(({ spanId }) => spanId)).size).toBe(spans.length);

    // Each upstream request has the span of its attempt as its parent.
    expect(fake.requests.map(({ headers }) => headers.traceparent)).toEqual(
      attempts.map(({ spanId }) => `00-${clientTrace}-${spanId}-01`),
    );
    expect(fake.requests[0]!.headers.tracestate).toBe("vendor=value");
    expect(collector.resource()).toMatchObject({
      "service.name": "vexel",
      "service.instance.id": "replica-1",
    });
  });

  test("without a client's trace, the trace id is that of the request, and images are traced as well", async () => {
    await using setup = await traced("always_on");
    const { gateway, fake } = setup;
    const body = { model: "gpt-image-2", prompt: "an otter", n: 2 };
    const response = await gateway.post("/v1/images/generations", body);
    const traceId = traceOf(response);
    const [root] = await setup.spans(traceId);
    expect(root).toMatchObject({ name: "generate_content gpt-image-2" });
    expect(root!.parentSpanId).toBeUndefined();
    expect(root!.attributes).toMatchObject({ "gen_ai.output.type": "image", "vexel.images": 2 });
    expect(fake.requests[0]!.headers.traceparent).toStartWith(`00-${traceId}-`);
  });

  test("a request that is not sampled is traced if it ends with a server error, and only then", async () => {
    await using setup = await traced("always_off");
    const { gateway, fake, collector } = setup;
    expect((await embed(gateway, "an otter")).status).toBe(200);
    expect(fake.requests[0]!.headers.traceparent).toEndWith("-00");
    expect((await gateway.post("/v1/embeddings", { model: "none", input: "x" })).status).toBe(404);
    fake.script({ response: { status: 503, body: "{}" } }, { times: 9 });
    const failed = await embed(gateway, "a boat");
    expect(failed.status).toBeGreaterThanOrEqual(500);
    const spans = await setup.spans(traceOf(failed));
    expect(spans.length).toBeGreaterThan(0);
    expect(spans).toHaveLength(collector.spans.length);
  });

  test("an invalid traceparent starts a new trace", async () => {
    await using setup = await traced("always_off");
    const { gateway, fake } = setup;
    for (const traceparent of [
      "",
      "00-0-0-01",
      `00-${"0".repeat(32)}-${clientSpan}-01`,
      "x".repeat(9000),
    ]) {
      fake.clear();
      const response = await embed(gateway, `otter ${traceparent.length}`, { traceparent });
      const traceId = traceOf(response);
      expect(fake.requests[0]!.headers.traceparent).toStartWith(`00-${traceId}-`);
    }
  });

  test("a collector that never responds loses spans within a bound, and no request", async () => {
    const hanging = startCollector(() => new Promise(() => undefined));
    const setup = await traced("always_on", { collector: hanging, VEXEL_CACHE_BYTES: "1048576" });
    const { gateway } = setup;
    // Over 4 spans for each request, and at most 4096 spans wait.
    for (let batch = 0; batch < 30; batch++) {
      const responses = await Promise.all(
        Array.from({ length: 50 }, () => embed(gateway, "otter")),
      );
      expect(responses.every(({ status }) => status === 200)).toBeTrue();
    }
    const text = await metrics(gateway);
    const dropped = Number(/^vexel_trace_requests_dropped_total (\d+)$/m.exec(text)?.[1]);
    expect(dropped).toBeGreaterThan(400);
    await setup[Symbol.asyncDispose]();
  });

  test("the packages of OpenTelemetry are loaded on demand only", () => {
    const folder = "server/observe/otlp/";
    const loading = sources()
      .filter((file) => !file.startsWith(folder))
      .filter((file) =>
        /^import (?!type\b)[^;]*(?:@opentelemetry|observe\/otlp)/m.test(textOf(file)),
      );
    expect(loading).toEqual([]);
  });
});
