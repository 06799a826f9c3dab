/** The HTTP listener: starts the HTTP server with the idle timeout of clients, and hands its requests to `dispatch`. */
import { GatewayError } from "../lib/gateway-error.ts";
import { createSerialize } from "../lib/tasks.ts";
import { toErrorResponse } from "../request/error-response.ts";
import type { OutgoingResponse } from "../request/http-types.ts";
import { createBodyTimeout } from "./body-timeout.ts";
import { createClientAddress, createForwardedScheme } from "./client-address.ts";
import { createDispatch, type DispatchOptions, matchPath, routeName } from "./dispatch.ts";
import { type BodyLimits, newRequestId } from "./received-request.ts";
import type { RouteName } from "./routes.ts";
import type { HttpServer, HttpServerOptions } from "./server/http-server.ts";
import { startServer } from "./server/socket-server.ts";

type ServerOption = "host" | "port" | "reusePort" | "tls" | "onConnectionsRefused";

export interface ListenOptions
  extends BodyLimits,
    DispatchOptions,
    Pick<HttpServerOptions, ServerOption> {
  /** The public base URL. Empty: taken from the request's `host` header. */
  readonly publicUrl: string;
  /** Addresses and networks, separated by commas. */
  readonly trustedProxies: string;
  /** The longest wait for the next bytes of a request body. */
  readonly bodyMs: number;
  /** Minimum average rate of a body, in bytes per second. The default applies if absent. 0: no minimum. */
  readonly minBodyRate?: number | undefined;
  readonly maxConnections: number;
}

export interface Listener extends Omit<HttpServer, "port"> {
  readonly url: string;
}

/**
 * Probe routes, served even on a connection beyond the maximum: a supervisor must not restart a gateway that is only
 * busy.
 */
const probes: ReadonlySet<RouteName | "unknown"> = new Set<RouteName>(["health", "ready"]);

/** Idle timeout of a connection: longer than the keep-alive timeout of most proxies. */
const idleMs = 255_000;

export function listen(options: ListenOptions): Listener {
  const { host, clock } = options;
  const bodyTimeout = createBodyTimeout({
    idleMs: options.bodyMs,
    minRate: options.minBodyRate,
    clock,
  });
  const scheme = options.tls ? ("https" as const) : ("http" as const);
  const requestOptions = {
    ...options,
    scheme,
    clientAddress: createClientAddress(options.trustedProxies),
    forwardedScheme: createForwardedScheme(options.trustedProxies),
    bodyTimeout,
    parseInTurn: createSerialize(),
  };
  const server = startServer({
    ...options,
    limits: { maxConnections: options.maxConnections, bodyMs: options.bodyMs, idleMs },
    onRequest: createDispatch(requestOptions),
    ...createRefusals(options),
    isProbe: (path) => probes.has(routeName(matchPath(path), "GET")),
    onError: (error) => options.onInternalError("-", error),
  });
  return {
    ...server,
    url: `${scheme}://${host.includes(":") ? `[${host}]` : host}:${server.port}`,
  };
}

/** Responses to invalid bytes, and to connections beyond the maximum. */
function createRefusals({ maxConnections, report, replica }: ListenOptions) {
  const withIds = (response: OutgoingResponse, requestId: string): OutgoingResponse => ({
    ...response,
    headers: { ...response.headers, "x-request-id": requestId, "vexel-replica": replica },
  });
  const tooMany = toErrorResponse(tooManyConnections(maxConnections));
  return {
    refuseConnection: (): OutgoingResponse => withIds(tooMany, newRequestId()),
    refuse: (error: GatewayError, remoteAddress?: string): OutgoingResponse => {
      const requestId = newRequestId();
      const refusal = toErrorResponse(error);
      report({
        requestId,
        method: "-",
        route: "unknown",
        status: refusal.status,
        latencyMs: 0,
        ...(remoteAddress !== undefined && { clientAddress: remoteAddress }),
        error: error.kind,
      });
      return withIds(refusal, requestId);
    },
  };
}

const tooManyConnections = (max: number): GatewayError =>
  new GatewayError(
    "overloaded",
    `Too many connections: the gateway serves up to ${max} at once. Retry in 1 s, and reuse connections (keep-alive) where you can.`,
    { retryAfterMs: 1000 },
  );
