/** An OTLP/HTTP receiver for tests: decodes the JSON protocol and keeps every span, and the last metrics. */

export interface ReceivedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly status: { readonly code: number };
  readonly attributes: Readonly<Record<string, unknown>>;
}

interface KeyValue {
  readonly key: string;
  readonly value: Readonly<Record<string, unknown>>;
}

interface ExportRequest {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly KeyValue[] };
    readonly scopeSpans: readonly {
      readonly spans: readonly (Omit<ReceivedSpan, "attributes"> & {
        readonly attributes: readonly KeyValue[];
      })[];
    }[];
  }[];
}

interface DataPoint {
  readonly attributes: readonly KeyValue[];
  readonly asDouble?: number;
  readonly count?: number;
  readonly sum?: number;
  readonly explicitBounds?: readonly number[];
}

interface MetricsRequest {
  readonly resourceMetrics: readonly {
    readonly resource: { readonly attributes: readonly KeyValue[] };
    readonly scopeMetrics: readonly {
      readonly metrics: readonly {
        readonly name: string;
        readonly unit: string;
        readonly sum?: { readonly dataPoints: readonly DataPoint[] };
        readonly gauge?: { readonly dataPoints: readonly DataPoint[] };
        readonly histogram?: { readonly dataPoints: readonly DataPoint[] };
      }[];
    }[];
  }[];
}

/** One data point of the last export. */
interface ReceivedPoint extends Omit<DataPoint, "attributes"> {
  readonly unit: string;
  readonly attributes: Readonly<Record<string, unknown>>;
}

export interface Collector {
  readonly url: string;
  /** The points of the last export of metrics, by name. */
  points(name: string): readonly ReceivedPoint[];
  readonly spans: ReceivedSpan[];
  /** The bodies of all export requests. */
  text(): string;
  resource(): Readonly<Record<string, unknown>>;
  close(): Promise<void>;
}

const valuesOf = (attributes: readonly KeyValue[]): Record<string, unknown> =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));

/** `respond`: absent for a collector that accepts everything. */
export function startCollector(respond?: () => Promise<Response>): Collector {
  const spans: ReceivedSpan[] = [];
  let text = "";
  let resource: Record<string, unknown> = {};
  let metrics: MetricsRequest = { resourceMetrics: [] };
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: async (request) => {
      if (respond) return respond();
      const { pathname } = new URL(request.url);
      if (pathname === "/v1/metrics") {
        metrics = (await request.json()) as MetricsRequest;
        for (const group of metrics.resourceMetrics) resource = valuesOf(group.resource.attributes);
        return Response.json({});
      }
      if (pathname !== "/v1/traces") return new Response("", { status: 404 });
      const body = await request.text();
      text += body;
      for (const group of (JSON.parse(body) as ExportRequest).resourceSpans) {
        resource = valuesOf(group.resource.attributes);
        for (const span of group.scopeSpans.flatMap((scope) => scope.spans))
          spans.push({ ...span, attributes: valuesOf(span.attributes) });
      }
      return Response.json({});
    },
  });
  return {
    url: `http://127.0.0.1:${server.port}`,
    spans,
    points: (name) =>
      metrics.resourceMetrics
        .flatMap(({ scopeMetrics }) => scopeMetrics.flatMap((scope) => scope.metrics))
        .filter((metric) => metric.name === name)
        .flatMap(({ unit, sum, gauge, histogram }) =>
          ((sum ?? gauge ?? histogram)?.dataPoints ?? []).map((point) => ({
            ...point,
            unit,
            attributes: valuesOf(point.attributes),
          })),
        ),
    text: () => text,
    resource: () => resource,
    close: () => server.stop(true),
  };
}
