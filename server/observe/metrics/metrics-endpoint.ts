/**
 * `GET /metrics`, which Prometheus scrapes: on the gateway's own port with a token, or on a port of its own. A parent
 * process serves the merged metrics of its workers with the same functions.
 */
import { GatewayError } from "../../lib/gateway-error.ts";
import { isSameSecret } from "../../lib/secret-hash.ts";
import { toErrorResponse, toGatewayError } from "../../request/error-response.ts";
import type { RequestHeaders } from "../../request/http-types.ts";
import { formatMetrics, metricsContentType } from "./format-metrics.ts";
import type { MetricSnapshot } from "./metric-snapshot.ts";

interface MetricsEndpointOptions {
  /** Empty: no token is needed. */
  readonly token: string;
  readonly collect: () => Promise<readonly MetricSnapshot[]>;
}

export interface MetricsResponse {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly body: string;
}

/** Throws GatewayError. */
export async function respondWithMetrics(
  headers: RequestHeaders,
  { token, collect }: MetricsEndpointOptions,
): Promise<MetricsResponse> {
  const presented = /^bearer +(\S+) *$/i.exec(headers.get("authorization") ?? "")?.[1] ?? "";
  if (token !== "" && !isSameSecret(presented, token)) {
    throw new GatewayError(
      "invalid_api_key",
      "Incorrect metrics token. Send the value of VEXEL_METRICS_TOKEN in the header Authorization: Bearer TOKEN.",
    );
  }
  return {
    status: 200,
    headers: { "content-type": metricsContentType, "cache-control": "no-store" },
    body: formatMetrics(await collect()),
  };
}

interface MetricsServer {
  readonly port: number;
  close(): Promise<void>;
}

/** Listens on a separate port that serves only metrics. Throws if the port cannot be opened. */
export function serveMetrics(
  { host, port }: { readonly host: string; readonly port: number },
  options: MetricsEndpointOptions,
): MetricsServer {
  const server = Bun.serve({
    hostname: host,
    port,
    fetch: async ({ method, url, headers }) => {
      try {
        if (method !== "GET" || new URL(url).pathname !== "/metrics")
          throw new GatewayError("unknown_url", "This port serves GET /metrics only.");
        const { body, ...init } = await respondWithMetrics(headers, options);
        return new Response(body, init);
      } catch (thrown) {
        const { body, ...init } = toErrorResponse(toGatewayError(thrown, undefined));
        return new Response(body, init);
      }
    },
  });
  return { port: server.port ?? port, close: () => server.stop(true) };
}
